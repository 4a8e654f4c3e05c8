//! Owns the thresholds of scenario `snapshot`.

use super::{NoContentionSettings, Settings, not_above_0, outside_0_to_1};
use crate::catalog::{Pattern, pattern::any_matches};
use serde::Deserialize;

/// When the gates of `snapshot_copy_on_write` are met.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotGateSettings {
    /// The waits' share of all wait time that is not idle, at least.
    pub wait_share: f64,
    /// Proven share of the events with copy-on-write frames, at least.
    pub copy_on_write_share: f64,
}

/// Functions that tell who writes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriterFrames {
    copy_on_write: Vec<Pattern>,
    trace: Vec<Pattern>,
}

impl WriterFrames {
    /// Whether a function copies a page for a snapshot before it changes.
    pub fn is_copy_on_write(&self, symbol: &str) -> bool {
        any_matches(&self.copy_on_write, symbol)
    }

    /// Whether a function belongs to SQL Trace.
    pub fn is_trace(&self, symbol: &str) -> bool {
        any_matches(&self.trace, symbol)
    }
}

/// Thresholds of scenario `snapshot`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotSettings {
    /// Gates.
    pub gates: SnapshotGateSettings,
    /// Functions.
    pub frames: WriterFrames,
    /// Nothing to explain.
    pub no_contention: NoContentionSettings,
}

impl Settings for SnapshotSettings {
    fn faults(&self) -> Vec<(String, String)> {
        let shares = [
            ("gates.wait_share", self.gates.wait_share),
            ("gates.copy_on_write_share", self.gates.copy_on_write_share),
            ("no_contention.wait_share", self.no_contention.wait_share),
        ];
        let positive = [("no_contention.events_per_second", self.no_contention.events_per_second)];
        let empty = self.frames.copy_on_write.is_empty();
        let no_frames = || empty.then(|| ("frames.copy_on_write".to_owned(), "cannot be empty".to_owned()));
        outside_0_to_1(&shares).chain(not_above_0(&positive)).chain(no_frames()).collect()
    }
}
