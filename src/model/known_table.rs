//! Owns how a counter table is known by its columns, whoever saved it.

use serde::Deserialize;

/// A counter table and the names that its columns go by.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownTable {
    /// Its name in snapshots, for example `dm_os_wait_stats`.
    pub name: String,
    /// Further names in snapshots of the same rows.
    #[serde(default)]
    pub also: Vec<String>,
    /// Columns that tell it: all of one of these sets.
    pub told_by: Vec<Vec<String>>,
    /// Its columns; others are kept as they are.
    #[serde(rename = "column")]
    pub columns: Vec<KnownColumn>,
}

/// A column and the names that it goes by. Names are compared by their letters and digits alone, without regard to case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownColumn {
    /// Its name in the view.
    pub name: String,
    /// Names that people and tools give it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Names under which tools give it in seconds, where the view has milliseconds.
    #[serde(default)]
    pub seconds: Vec<String>,
    /// Whether its values are text, even where they look like numbers; false.
    #[serde(default)]
    pub text: bool,
}
