//! Owns which part of the engine a frame belongs to.

use super::{Checked, Entry, found, pattern::any_matches};
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
    pub(super) area: Vec<Area>,
}

impl Areas {
    /// The area of a function.
    pub fn of(&self, symbol: &str) -> Option<&str> {
        self.area.iter().find(|area| any_matches(&area.frames, symbol)).map(|area| area.name.as_str())
    }
}

impl Checked for Areas {
    fn fault(&self) -> Option<(String, String)> {
        self.area.iter().enumerate().find_map(|(index, area)| {
            let (key, message) = area.faults().into_iter().next()?;
            Some((format!("area[{index}].{key}"), message.to_owned()))
        })
    }
}

impl Entry for Area {
    const LIST: &'static str = "area";

    fn faults(&self) -> Vec<(&'static str, &'static str)> {
        found([
            (self.name.trim().is_empty(), "name", "an area needs a name"),
            (self.frames.is_empty(), "frames", "an area needs at least one frame"),
        ])
    }
}
