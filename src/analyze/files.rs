//! Owns how files did over the window: virtual file statistics differenced, named, and as a series.

use super::measures::Measures;
use crate::model::{Evidence, FileRow, Problem};

/// The files of a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Files {
    /// Files with I/O, and marked ones, by time spent in I/O, descending; `None` where the view was not read.
    pub rows: Option<Vec<FileRow>>,
    /// Resets and what else went other than it should have.
    pub problems: Vec<Problem>,
}

/// The files of the evidence.
pub fn files(_evidence: &Evidence, _measures: &Measures) -> Files {
    Files::default()
}
