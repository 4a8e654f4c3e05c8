//! Owns how far a conclusion may be trusted, and what limits it.

use super::Conclusion;
use crate::{
    analyze::{
        agreement,
        classify::YIELD_WAIT,
        facts::{Facts, Scope},
        findings::{
            Capacity, capacity,
            cpu_consumer::all_spins,
            cpu_pressure::{self, PressureGate},
        },
        measures::Continuity,
        words::{count, counted, percent},
    },
    model::{Confidence, Gate},
};

/// From so many limits on, confidence is low, whatever each of them leaves.
const MANY_LIMITS: usize = 3;

/// The confidence of a conclusion, and what limits it, the strictest first, each without a full stop.
pub(super) fn confidence(facts: &Facts<'_>, conclusion: Conclusion) -> (Confidence, Vec<String>) {
    let mut limits = match conclusion {
        Conclusion::Inconclusive(_) => return (Confidence::Low, Vec::new()),
        Conclusion::NoContention => counter_limits(facts),
        Conclusion::CpuBound | Conclusion::Mixed | Conclusion::Backoffs => {
            let mut limits = stack_limits(facts);
            limits.extend(counter_limits(facts));
            match conclusion {
                Conclusion::CpuBound => limits.extend(pressure_limits(facts)),
                Conclusion::Backoffs => limits.extend(backoff_limits(facts)),
                _ => {}
            }
            limits
        }
    };
    limits.sort_by_key(|(most, _)| *most);
    let lowest = limits.iter().map(|(most, _)| *most).min().unwrap_or(Confidence::High);
    let confidence = if limits.len() >= MANY_LIMITS { Confidence::Low } else { lowest };
    (confidence, limits.into_iter().map(|(_, text)| text).collect())
}

type Limit = (Confidence, String);

fn stack_limits(facts: &Facts<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    let needed = facts.settings().gates.yields;
    let events = facts.tally.with_stack();
    if facts.scope == Scope::Unknown {
        limits.push((Confidence::Low, "the event and the wait type of the stacks are not known".to_owned()));
    }
    if events < u128::from(needed) {
        limits.push((
            Confidence::Low,
            format!("{} fewer than {}", counted(events, "event is", "events are"), count(needed)),
        ));
    }
    limits
}

fn counter_limits(facts: &Facts<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    if facts.deltas.waits.is_none() || facts.measures.elapsed_ms.is_none() {
        limits.push((Confidence::Low, "there are no counters of the same time beside the stacks".to_owned()));
        return limits;
    }
    if facts.measures.continuity != Continuity::Same {
        limits.push((Confidence::Low, "the server did not run through the window".to_owned()));
    } else if facts.yield_waits().is_none() {
        limits.push((Confidence::Low, format!("the counters of {YIELD_WAIT} were reset inside the window")));
    }
    match capacity(facts, YIELD_WAIT) {
        Capacity::Exceeded => limits.push((
            Confidence::Low,
            format!("{YIELD_WAIT} shows more wait time than all tasks can have waited in this window"),
        )),
        Capacity::Unknown if facts.measures.most_tasks.is_none() => {
            limits.push((Confidence::Medium, "how many tasks can have waited is not known".to_owned()));
        }
        _ => {}
    }
    if agreement::difference(facts).is_some() {
        limits.push((Confidence::Medium, "events and counters differ".to_owned()));
    }
    limits
}

fn pressure_limits(facts: &Facts<'_>) -> Vec<Limit> {
    // Without counters one limit says so for all of their gates.
    if facts.deltas.waits.is_none() || facts.measures.elapsed_ms.is_none() {
        return Vec::new();
    }
    let mut unmet_gates: Vec<PressureGate> =
        cpu_pressure::gates(facts).into_iter().filter(|checked| !checked.gate.met).collect();
    unmet_gates.dedup_by_key(|checked| checked.question);
    unmet_gates.iter().map(|checked| (checked.without, unmet(&checked.gate))).collect()
}

/// Back-offs matter where spinning takes CPU, and are known from large machines.
fn backoff_limits(facts: &Facts<'_>) -> Vec<Limit> {
    let settings = &facts.settings().spins;
    let mut limits = Vec::new();
    match all_spins(facts) {
        Some(share) if share.low >= settings.notable_from => {}
        Some(share) => limits.push((
            Confidence::Low,
            format!(
                "spinning is proven to take only {} of the CPU, not {}",
                percent(share.low),
                percent(settings.notable_from)
            ),
        )),
        None => limits.push((Confidence::Low, "the CPU that spinning takes is not known".to_owned())),
    }
    if facts.measures.schedulers.is_none_or(|schedulers| schedulers < settings.many_schedulers) {
        limits.push((
            Confidence::Medium,
            format!("spinlock contention is known from {} schedulers on", settings.many_schedulers),
        ));
    }
    if facts.scope == Scope::Yields {
        limits.push((Confidence::Medium, "no published evidence shows back-offs among scheduler yields".to_owned()));
    }
    limits
}

fn unmet(gate: &Gate) -> String {
    match gate.value {
        Some(value) => format!("gate {} is {}, needed {}", gate.name, figure(value), gate.needed),
        None => format!("gate {} is unknown, needed {}", gate.name, gate.needed),
    }
}

/// Two decimals where there are any.
fn figure(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.2}") }
}
