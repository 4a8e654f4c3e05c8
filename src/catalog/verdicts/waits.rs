//! Owns the thresholds of a site's own scenarios, all of which may be left out.

use super::{NoContentionSettings, Settings, not_above_0, outside_0_to_1};
use serde::Deserialize;

/// Thresholds of a site's own scenario: below both there is nothing to explain.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WaitsSettings {
    /// Share of the wait time that is not idle; 0.01.
    pub share_of_wait_time: f64,
    /// Waits a second; 10.
    pub events_per_second: f64,
}

impl Default for WaitsSettings {
    fn default() -> Self {
        Self { share_of_wait_time: 0.01, events_per_second: 10.0 }
    }
}

impl WaitsSettings {
    /// As every question of waits is judged by.
    pub fn no_contention(&self) -> NoContentionSettings {
        NoContentionSettings { wait_share: self.share_of_wait_time, events_per_second: self.events_per_second }
    }
}

impl Settings for WaitsSettings {
    fn faults(&self) -> Vec<(String, String)> {
        let share = outside_0_to_1(&[("share_of_wait_time", self.share_of_wait_time)]);
        share.chain(not_above_0(&[("events_per_second", self.events_per_second)])).collect()
    }
}
