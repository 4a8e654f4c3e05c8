//! Owns what was found, verdict or not: one file a finding.

mod backoff_warning;
pub mod cpu_capped;
pub mod cpu_consumer;
pub mod cpu_pressure;
pub mod events_left_out;
mod events_per_backoff;
mod idle_waits;
pub mod other_event_sessions;
mod own_cost;
pub mod query_origin;
mod signal_share;
pub mod spinlock_contention;
mod spinlock_name;
mod spinlock_types;
mod uncategorised_waits;
mod wait_capacity;
pub mod yield_origin;

pub use wait_capacity::{Capacity, capacity};

use super::{
    facts::{Facts, Scope},
    file_latency, latch, log_write, page_latch,
    question::Asked,
    snapshot,
    spinlock::sessions_of,
    waits,
};
use crate::{
    catalog::sessions::Question,
    model::{Finding, Gate},
};

/// All findings, in the order in which they are shown.
pub fn findings(facts: &Facts<'_>, asked: &[Asked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let of_yields = |findings: &mut Vec<Finding>| {
        if facts.question == Question::Yields || matches!(facts.scope, Scope::Yields | Scope::Unknown) {
            findings.push(yield_origin::finding(facts));
        }
    };
    if facts.question == Question::Yields {
        of_yields(&mut findings);
    }
    findings.extend(backoff_warning::finding(facts));
    if facts.question == Question::Spinlock || sessions_of(facts.evidence).next().is_some() {
        findings.push(spinlock_contention::finding(facts));
        findings.push(spinlock_name::finding(facts));
        findings.push(spinlock_types::finding(facts));
        findings.push(events_per_backoff::finding(facts));
    }
    if facts.question == Question::Spinlock {
        of_yields(&mut findings);
    }
    for Asked { question, .. } in asked {
        findings.extend(match question {
            Question::Latch => latch::findings(facts),
            Question::PageLatch => page_latch::findings(facts),
            Question::LogWrite => log_write::findings(facts),
            Question::Snapshot => snapshot::findings(facts),
            Question::FileLatency => file_latency::findings(facts),
            Question::Waits => waits::findings(facts),
            Question::Yields | Question::Spinlock | Question::Any => Vec::new(),
        });
    }
    findings.extend(query_origin::finding(facts));
    findings.push(cpu_consumer::finding(facts));
    findings.push(cpu_pressure::finding(facts));
    findings.extend(cpu_capped::finding(facts));
    findings.extend(other_event_sessions::finding(facts));
    findings.extend(own_cost::finding(facts));
    findings.extend(events_left_out::finding(facts));
    findings.push(wait_capacity::finding(facts));
    findings.push(signal_share::finding(facts));
    findings.push(idle_waits::finding(facts));
    findings.extend(uncategorised_waits::finding(facts));
    findings
}

/// A condition with its value; an unknown value meets nothing.
pub(super) fn gate(
    name: impl Into<String>,
    value: Option<f64>,
    needed: impl Into<String>,
    met: impl Fn(f64) -> bool,
) -> Gate {
    Gate { name: name.into(), value, needed: needed.into(), met: value.is_some_and(met) }
}
