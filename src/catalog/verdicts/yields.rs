//! Owns the thresholds of scenario `sos-yield`.

use super::{NoContentionSettings, Settings, not_above_0, outside_0_to_1};
use serde::Deserialize;

/// How shares of events become a kind of verdict.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareSettings {
    /// `cpu_bound_yields` needs at least this low bound of class `cpu_yield`.
    pub cpu_yield_low: f64,
    /// `cpu_bound_yields` needs at most this high bound of class `spinlock_backoff`.
    pub spinlock_backoff_high: f64,
    /// `spinlock_backoff` needs at least this low bound of its class.
    pub spinlock_backoff_low: f64,
    /// Below this many events intervals are widened.
    pub few_events: u64,
    /// Standard score of the widening (Wilson interval); 1.96 is 95 %.
    pub wilson_z: f64,
    /// Size of the smallest event, bytes: bounds the events in a dropped buffer.
    pub smallest_event_bytes: u64,
}

/// When the gates of `cpu_bound_yields` are met.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateSettings {
    /// Yields in the window.
    pub yields: u64,
    /// SQL Server's share of the online schedulers' time.
    pub sql_cpu_share: f64,
    /// Samples of the runnable queues.
    pub runnable_samples: u64,
    /// Share of the samples in which a scheduler has a queue, and of a node's schedulers that do.
    pub runnable_most: f64,
    /// The quantum, milliseconds (4 ms, SQL Server documentation of SOS_SCHEDULER_YIELD).
    pub quantum_ms: f64,
    /// How far yields a second may exceed schedulers x 1000 / quantum.
    pub quantum_tolerance: f64,
    /// Factor within which the mean wait must be quantum x runnable tasks ahead.
    pub mean_wait_factor: f64,
    /// Below this mean wait, with an empty queue, quanta are used up without pressure; milliseconds.
    pub short_wait_ms: f64,
}

/// What spins cost.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpinSettings {
    /// Cycles a spin, at least.
    pub cycles_per_spin_low: f64,
    /// Cycles a spin, at most.
    pub cycles_per_spin_high: f64,
    /// High bound of all shares from which spinning cannot be ruled out as the CPU's consumer.
    pub undecided_from: f64,
    /// Low bound of all shares from which spinning is what most of the CPU went into.
    pub spinning_from: f64,
}

/// How well events and counters must agree.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgreementSettings {
    /// Difference between events and the counter above which it is a problem.
    pub events_difference: f64,
}

/// Thresholds of scenario `sos-yield`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YieldSettings {
    /// Shares.
    pub shares: ShareSettings,
    /// Gates.
    pub gates: GateSettings,
    /// Spins.
    pub spins: SpinSettings,
    /// Nothing to explain.
    pub no_contention: NoContentionSettings,
    /// Events and counters.
    pub agreement: AgreementSettings,
}

impl Settings for YieldSettings {
    fn faults(&self) -> Vec<(String, String)> {
        let shares = [
            ("shares.cpu_yield_low", self.shares.cpu_yield_low),
            ("shares.spinlock_backoff_high", self.shares.spinlock_backoff_high),
            ("shares.spinlock_backoff_low", self.shares.spinlock_backoff_low),
            ("gates.sql_cpu_share", self.gates.sql_cpu_share),
            ("gates.runnable_most", self.gates.runnable_most),
            ("gates.quantum_tolerance", self.gates.quantum_tolerance),
            ("spins.undecided_from", self.spins.undecided_from),
            ("spins.spinning_from", self.spins.spinning_from),
            ("no_contention.wait_share", self.no_contention.wait_share),
            ("agreement.events_difference", self.agreement.events_difference),
        ];
        let positive = [
            ("shares.wilson_z", self.shares.wilson_z),
            ("shares.smallest_event_bytes", self.shares.smallest_event_bytes as f64),
            ("gates.quantum_ms", self.gates.quantum_ms),
            ("gates.short_wait_ms", self.gates.short_wait_ms),
            ("spins.cycles_per_spin_low", self.spins.cycles_per_spin_low),
            ("no_contention.events_per_second", self.no_contention.events_per_second),
        ];
        let (factor, high) = (self.gates.mean_wait_factor, self.spins.cycles_per_spin_high);
        let low_factor = !(factor.is_finite() && factor >= 1.0);
        let low_high = !(high.is_finite() && high >= self.spins.cycles_per_spin_low);
        let fault = |is_there: bool, path: &str, message: &str| is_there.then(|| (path.to_owned(), message.to_owned()));
        outside_0_to_1(&shares)
            .chain(not_above_0(&positive))
            .chain(fault(low_factor, "gates.mean_wait_factor", "must be at least 1"))
            .chain(fault(low_high, "spins.cycles_per_spin_high", "must be at least cycles_per_spin_low"))
            .collect()
    }
}
