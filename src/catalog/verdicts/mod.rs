//! Owns the thresholds of verdicts. They are this project's own unless a source is named, and are printed with the verdict.

mod file_latency;
mod latch;
mod log_write;
mod page_latch;
mod snapshot;
mod spinlock;
mod waits;
mod yields;

pub use file_latency::{FileGateSettings, FileLatencySettings, IoWaitSettings, MaintenanceSettings};
pub use latch::{LatchGateSettings, LatchSettings};
pub use log_write::{LogFileSettings, LogWriteGateSettings, LogWriteSettings};
pub use page_latch::{InsertSettings, PageLatchGateSettings, PageLatchSettings};
pub use snapshot::{SnapshotGateSettings, SnapshotSettings, WriterFrames};
pub use spinlock::{BucketSettings, NoBackoffSettings, ObserverSettings, SpinlockGateSettings, SpinlockSettings};
pub use waits::WaitsSettings;
pub use yields::{AgreementSettings, GateSettings, ShareSettings, SpinSettings, YieldSettings};

use super::Checked;
use serde::Deserialize;

/// When there is nothing to explain.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoContentionSettings {
    /// Share of non-idle wait time below which the target wait does not matter.
    pub wait_share: f64,
    /// Waits a second below which it does not matter.
    pub events_per_second: f64,
}

impl NoContentionSettings {
    fn faults(&self) -> impl Iterator<Item = (String, String)> {
        let shares = outside_0_to_1(&[("no_contention.wait_share", self.wait_share)]);
        shares.chain(not_above_0(&[("no_contention.events_per_second", self.events_per_second)]))
    }
}

/// Thresholds of a scenario.
pub(super) trait Settings {
    /// All faults: where, and what.
    fn faults(&self) -> Vec<(String, String)>;
}

impl<S: Settings> Checked for S {
    fn fault(&self) -> Option<(String, String)> {
        self.faults().into_iter().next()
    }
}

fn outside_0_to_1(values: &[(&str, f64)]) -> impl Iterator<Item = (String, String)> + use<> {
    let outside = values.iter().filter(|(_, value)| !(0.0..=1.0).contains(value));
    let faults: Vec<_> = outside.map(|(path, _)| fault(path, "must be between 0 and 1")).collect();
    faults.into_iter()
}

fn not_above_0(values: &[(&str, f64)]) -> impl Iterator<Item = (String, String)> + use<> {
    let not_above = values.iter().filter(|(_, value)| !(value.is_finite() && *value > 0.0));
    let faults: Vec<_> = not_above.map(|(path, _)| fault(path, "must be above 0")).collect();
    faults.into_iter()
}

fn fault(path: &str, message: &str) -> (String, String) {
    (path.to_owned(), message.to_owned())
}
