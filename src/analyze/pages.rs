//! Owns the hot pages: which pages in memory tasks were seen to wait for, and what kind of page each is.

use crate::model::{Evidence, PageRow};

/// The hot pages of the evidence, descending.
pub fn pages(_evidence: &Evidence) -> Vec<PageRow> {
    Vec::new()
}
