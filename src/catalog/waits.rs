//! Owns the categories of wait types, and which waits are idle.

use super::{Checked, Entry, found, pattern::any_matches};
use crate::catalog::Pattern;
use serde::Deserialize;

/// Wait types that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitCategory {
    /// Its name, for example `lock`.
    pub name: String,
    /// Whether tasks in these waits have nothing to do: left out of shares of wait time.
    #[serde(default)]
    pub idle: bool,
    /// Wait types.
    wait_types: Vec<Pattern>,
}

/// All categories; the first that matches counts, so the idle ones stand first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitCategories {
    /// Date of the selection, printed with what it leaves out.
    pub version: String,
    pub(super) category: Vec<WaitCategory>,
}

impl WaitCategories {
    /// The category of a wait type; `None` for one that no category names.
    pub fn of(&self, wait_type: &str) -> Option<&WaitCategory> {
        self.category.iter().find(|category| any_matches(&category.wait_types, wait_type))
    }

    /// Whether a wait type is known to be idle.
    pub fn is_idle(&self, wait_type: &str) -> bool {
        self.of(wait_type).is_some_and(|category| category.idle)
    }
}

impl Checked for WaitCategories {
    fn fault(&self) -> Option<(String, String)> {
        if self.version.trim().is_empty() {
            return Some(("version".to_owned(), "cannot be empty".to_owned()));
        }
        self.category.iter().enumerate().find_map(|(index, category)| {
            let (key, message) = category.faults().into_iter().next()?;
            Some((format!("category[{index}].{key}"), message.to_owned()))
        })
    }
}

impl Entry for WaitCategory {
    const LIST: &'static str = "category";

    fn faults(&self) -> Vec<(&'static str, &'static str)> {
        found([
            (self.name.trim().is_empty(), "name", "a category needs a name"),
            (self.wait_types.is_empty(), "wait_types", "a category needs at least one wait type"),
        ])
    }
}
