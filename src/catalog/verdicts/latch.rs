//! Owns the thresholds of scenario `latch`.

use super::{NoContentionSettings, Settings, outside_0_to_1};
use serde::Deserialize;

/// When the gates of `latch_contention` on a latch class are met.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatchGateSettings {
    /// Share of the wait time that is not idle.
    pub wait_share: f64,
    /// Waits in the window.
    pub waits: u64,
    /// Share of one class in the latch wait time of all classes other than BUFFER.
    pub class_share: f64,
    /// How far the wait time of these classes and that of the LATCH waits may be apart.
    pub reconciled_within: f64,
}

/// Thresholds of scenario `latch`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatchSettings {
    /// Gates.
    pub gates: LatchGateSettings,
    /// Nothing to explain.
    pub no_contention: NoContentionSettings,
}

impl Settings for LatchSettings {
    fn faults(&self) -> Vec<(String, String)> {
        let shares = [
            ("gates.wait_share", self.gates.wait_share),
            ("gates.class_share", self.gates.class_share),
            ("gates.reconciled_within", self.gates.reconciled_within),
        ];
        outside_0_to_1(&shares).chain(self.no_contention.faults()).collect()
    }
}
