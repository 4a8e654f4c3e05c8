//! Owns what the window shows of the databases: their settings that matter, their logs, their row versions; and of the work
//! of the whole server.

use super::measures::Measures;
use crate::model::{DatabaseRow, Evidence, Problem};

/// Databases and server-wide work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Databases {
    /// Databases, by id; `None` where the view was not read.
    pub rows: Option<Vec<DatabaseRow>>,
    /// Index searches a second, the throughput of a load of endless batches.
    pub index_searches_per_second: Option<f64>,
    /// Row versions generated in tempdb in the window, KB (`Version Generation rate (KB/s)`, which counts KB).
    pub versions_generated_kb: Option<u64>,
    /// Resets and what else went other than it should have.
    pub problems: Vec<Problem>,
}

/// The databases of the evidence.
pub fn databases(_evidence: &Evidence, _measures: &Measures) -> Databases {
    Databases::default()
}
