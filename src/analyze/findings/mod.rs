//! Owns what was found, verdict or not: one file a finding.

pub mod cpu_consumer;
pub mod cpu_pressure;
mod idle_waits;
mod signal_share;
mod wait_capacity;
pub mod yield_origin;

pub use wait_capacity::{Capacity, capacity};

use super::facts::Facts;
use crate::model::{Finding, Gate};

/// All findings, in the order in which they are shown.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    vec![
        yield_origin::finding(facts),
        cpu_consumer::finding(facts),
        cpu_pressure::finding(facts),
        wait_capacity::finding(facts),
        signal_share::finding(facts),
        idle_waits::finding(facts),
    ]
}

/// A condition with its value; an unknown value meets nothing.
fn gate(name: impl Into<String>, value: Option<f64>, needed: impl Into<String>, met: impl Fn(f64) -> bool) -> Gate {
    Gate { name: name.into(), value, needed: needed.into(), met: value.is_some_and(met) }
}
