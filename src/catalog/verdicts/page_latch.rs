//! Owns the thresholds of scenario `pagelatch`.

use super::{NoContentionSettings, Settings, outside_0_to_1};
use crate::catalog::{Pattern, pattern::any_matches};
use serde::Deserialize;

/// When the gates of `latch_contention` on pages are met, and what the pages are told for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageLatchGateSettings {
    /// Share of the wait time that is not idle.
    pub wait_share: f64,
    /// Waits in the window.
    pub waits: u64,
    /// Low bound of the share of one database's pages.
    pub database_share_low: f64,
    /// Low bound of the share of one page, or of the allocation pages of tempdb, that makes them hot.
    pub page_share_low: f64,
    /// Low bound of the share of stacks with the frames of an insert.
    pub insert_share_low: f64,
    /// How far the BUFFER latch class and the waits for pages may be apart.
    pub reconciled_within: f64,
}

/// What an insert into an index looks like.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InsertSettings {
    frames: Vec<Pattern>,
}

impl InsertSettings {
    /// Whether a function runs where a row is put into an index.
    pub fn is_insert(&self, symbol: &str) -> bool {
        any_matches(&self.frames, symbol)
    }
}

/// Thresholds of scenario `pagelatch`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageLatchSettings {
    /// Gates.
    pub gates: PageLatchGateSettings,
    /// Inserts.
    pub inserts: InsertSettings,
    /// Nothing to explain.
    pub no_contention: NoContentionSettings,
}

impl Settings for PageLatchSettings {
    fn faults(&self) -> Vec<(String, String)> {
        let shares = [
            ("gates.wait_share", self.gates.wait_share),
            ("gates.database_share_low", self.gates.database_share_low),
            ("gates.page_share_low", self.gates.page_share_low),
            ("gates.insert_share_low", self.gates.insert_share_low),
            ("gates.reconciled_within", self.gates.reconciled_within),
        ];
        outside_0_to_1(&shares).chain(self.no_contention.faults()).collect()
    }
}
