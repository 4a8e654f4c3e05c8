//! Owns the thresholds of scenario `spinlock`.

use super::{Settings, not_above_0, outside_0_to_1};
use crate::catalog::{Pattern, pattern::any_matches};
use serde::Deserialize;

/// When the gates of `spinlock_backoff` are met.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpinlockGateSettings {
    /// Share of the CPU that a spinlock's spins are proven to take.
    pub spin_cpu_share_low: f64,
    /// Schedulers from which spinlock contention is known (Microsoft's guide to spinlock contention: 24 or more).
    pub many_schedulers: u64,
}

/// How many events of one call stack are many.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSettings {
    /// Worth a look above this (Microsoft's guide to spinlock contention).
    pub notable_events_per_minute: u64,
    /// Likely a problem above this (the same guide).
    pub problem_events_per_minute: u64,
}

/// When there is no spinlock contention to explain: below both.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoBackoffSettings {
    /// Back-offs a second.
    pub backoffs_per_second: f64,
    /// The most that all spins can have taken of the CPU.
    pub spin_cpu_share_high: f64,
}

/// Event sessions that are no reason for doubt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObserverSettings {
    harmless: Vec<Pattern>,
}

impl ObserverSettings {
    /// Whether an event session of this name is known to cause no contention.
    pub fn is_harmless(&self, session: &str) -> bool {
        any_matches(&self.harmless, session)
    }
}

/// Thresholds of scenario `spinlock`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpinlockSettings {
    /// Gates.
    pub gates: SpinlockGateSettings,
    /// Events a call stack.
    pub buckets: BucketSettings,
    /// Nothing to explain.
    pub no_contention: NoBackoffSettings,
    /// Others' event sessions.
    pub observers: ObserverSettings,
}

impl Settings for SpinlockSettings {
    fn faults(&self) -> Vec<(String, String)> {
        let shares = [
            ("gates.spin_cpu_share_low", self.gates.spin_cpu_share_low),
            ("no_contention.spin_cpu_share_high", self.no_contention.spin_cpu_share_high),
        ];
        let positive = [("no_contention.backoffs_per_second", self.no_contention.backoffs_per_second)];
        let order = || {
            (self.buckets.problem_events_per_minute < self.buckets.notable_events_per_minute).then(|| {
                let path = "buckets.problem_events_per_minute".to_owned();
                (path, "must be at least notable_events_per_minute".to_owned())
            })
        };
        outside_0_to_1(&shares).chain(not_above_0(&positive)).chain(order()).collect()
    }
}
