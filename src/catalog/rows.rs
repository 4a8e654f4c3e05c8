//! Owns by which columns saved rows are known.

use super::Checked;
use crate::model::KnownTable;
use serde::Deserialize;

/// The tables whose saved rows are understood; the first whose columns are there counts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowColumns {
    #[serde(rename = "table")]
    tables: Vec<KnownTable>,
}

impl RowColumns {
    /// In the order in which they are tried.
    pub fn tables(&self) -> &[KnownTable] {
        &self.tables
    }
}

impl Checked for RowColumns {
    fn fault(&self) -> Option<(String, String)> {
        self.tables.iter().enumerate().find_map(|(index, table)| {
            let has = |name: &String| table.columns.iter().any(|column| column.name == *name);
            let told =
                !table.told_by.is_empty() && table.told_by.iter().all(|set| !set.is_empty() && set.iter().all(has));
            (!told).then(|| {
                let message = "must name columns of the table, at least one in each set";
                (format!("table[{index}].told_by"), message.to_owned())
            })
        })
    }
}
