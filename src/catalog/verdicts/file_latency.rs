//! Owns the thresholds of scenario `file-latency`.

use super::{Settings, not_above_0, outside_0_to_1};
use crate::catalog::{Pattern, pattern::any_matches};
use serde::Deserialize;

/// When the gates of `file_latency` are met.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileGateSettings {
    /// I/Os that a mean is taken over, at least.
    pub operations: u64,
    /// Mean time of an I/O above which a file that is no log is slow, ms.
    pub data_latency_ms: f64,
    /// The same for a log, ms.
    pub log_latency_ms: f64,
    /// Share of waits for I/O in all wait time that is not idle, at least.
    pub io_wait_share: f64,
    /// Share of the samples with finished I/Os that wait for SQL Server, from which on they are delayed.
    pub awaiting_notice_share: f64,
    /// Factor from which on the window and the time since the counters began differ.
    pub cumulative_factor: f64,
}

/// Wait types of file I/O.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IoWaitSettings {
    io: Vec<Pattern>,
}

impl IoWaitSettings {
    /// Whether tasks in this wait are waiting for a file.
    pub fn is_io(&self, wait_type: &str) -> bool {
        any_matches(&self.io, wait_type)
    }
}

/// Requests that explain much I/O.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaintenanceSettings {
    commands: Vec<Pattern>,
}

impl MaintenanceSettings {
    /// Whether a request's command reads or writes much.
    pub fn is_maintenance(&self, command: &str) -> bool {
        any_matches(&self.commands, command)
    }
}

/// Thresholds of scenario `file-latency`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileLatencySettings {
    /// Gates.
    pub gates: FileGateSettings,
    /// Waits.
    pub waits: IoWaitSettings,
    /// Maintenance.
    pub maintenance: MaintenanceSettings,
}

impl Settings for FileLatencySettings {
    fn faults(&self) -> Vec<(String, String)> {
        let gates = &self.gates;
        let shares = [
            ("gates.io_wait_share", gates.io_wait_share),
            ("gates.awaiting_notice_share", gates.awaiting_notice_share),
        ];
        let positive = [
            ("gates.operations", gates.operations as f64),
            ("gates.data_latency_ms", gates.data_latency_ms),
            ("gates.log_latency_ms", gates.log_latency_ms),
        ];
        let factor = || {
            let fits = gates.cumulative_factor.is_finite() && gates.cumulative_factor > 1.0;
            (!fits).then(|| ("gates.cumulative_factor".to_owned(), "must be above 1".to_owned()))
        };
        outside_0_to_1(&shares).chain(not_above_0(&positive)).chain(factor()).collect()
    }
}
