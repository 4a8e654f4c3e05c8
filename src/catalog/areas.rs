//! Owns which part of the engine a frame belongs to.

use super::{Checked, pattern::any_matches};
use crate::catalog::Pattern;
use serde::Deserialize;

/// One part of the engine and the names of its functions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Area {
    /// Its name in reports, for example `access methods`.
    pub name: String,
    /// Names of its functions.
    frames: Vec<Pattern>,
}

/// All areas; the first that matches a frame is its area.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Areas {
    area: Vec<Area>,
}

impl Areas {
    /// The area of a function.
    pub fn of(&self, symbol: &str) -> Option<&str> {
        self.area.iter().find(|area| any_matches(&area.frames, symbol)).map(|area| area.name.as_str())
    }
}

impl Checked for Areas {
    fn fault(&self) -> Option<(String, String)> {
        let empty = self.area.iter().position(|area| area.name.trim().is_empty() || area.frames.is_empty())?;
        Some((format!("area[{empty}]"), "an area needs a name and at least one frame".to_owned()))
    }
}
