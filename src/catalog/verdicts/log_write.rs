//! Owns the thresholds of scenario `log-write`.

use super::{NoContentionSettings, Settings, not_above_0, outside_0_to_1};
use serde::Deserialize;

/// When the gates of `log_write_bound` are met.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogWriteGateSettings {
    /// WRITELOG's share of the time of the sessions that commit, at least.
    pub commit_wait_share: f64,
    /// WRITELOG's share of all wait time that is not idle, at least.
    pub writelog_share: f64,
    /// Share of the transactions that waited for a flush, at least.
    pub flushed_commits_share: f64,
    /// Bytes of a flush, at most.
    pub bytes_per_flush: u64,
    /// Share of WRITELOG's time that is signal time, below this.
    pub signal_share: f64,
}

/// What the log file alone must show, where no waits were given.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogFileSettings {
    /// Time of its writes, as a share of the elapsed time, at least.
    pub write_stall_share: f64,
    /// Writes a second, at least.
    pub writes_per_second: f64,
}

/// Thresholds of scenario `log-write`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogWriteSettings {
    /// Gates.
    pub gates: LogWriteGateSettings,
    /// The log file alone.
    pub files_alone: LogFileSettings,
    /// Nothing to explain.
    pub no_contention: NoContentionSettings,
}

impl Settings for LogWriteSettings {
    fn faults(&self) -> Vec<(String, String)> {
        let shares = [
            ("gates.commit_wait_share", self.gates.commit_wait_share),
            ("gates.writelog_share", self.gates.writelog_share),
            ("gates.flushed_commits_share", self.gates.flushed_commits_share),
            ("gates.signal_share", self.gates.signal_share),
            ("no_contention.wait_share", self.no_contention.wait_share),
        ];
        let positive = [
            ("gates.bytes_per_flush", self.gates.bytes_per_flush as f64),
            ("files_alone.write_stall_share", self.files_alone.write_stall_share),
            ("files_alone.writes_per_second", self.files_alone.writes_per_second),
            ("no_contention.events_per_second", self.no_contention.events_per_second),
        ];
        outside_0_to_1(&shares).chain(not_above_0(&positive)).collect()
    }
}
