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

impl Checked for NoContentionSettings {
    fn fault(&self) -> Option<(String, String)> {
        let share = outside_0_to_1(&[("no_contention.wait_share", self.wait_share)]);
        share.or_else(|| not_above_0(&[("no_contention.events_per_second", self.events_per_second)]))
    }
}

fn outside_0_to_1(values: &[(&str, f64)]) -> Option<(String, String)> {
    let (path, _) = values.iter().find(|(_, value)| !(0.0..=1.0).contains(value))?;
    Some(((*path).to_owned(), "must be between 0 and 1".to_owned()))
}

fn not_above_0(values: &[(&str, f64)]) -> Option<(String, String)> {
    let (path, _) = values.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0))?;
    Some(((*path).to_owned(), "must be above 0".to_owned()))
}
