//! Owns how far a conclusion may be trusted, and what limits it.

use super::{Conclusion, confidence_name};
use crate::{
    analyze::{
        classify::YIELD_WAIT,
        facts::{Facts, Scope},
        findings::{
            cpu_consumer::{all_spins, is_spinning},
            cpu_pressure::{self, PressureGate},
        },
        target_waits::{TargetWaits, counter_limits},
        words::{count, counted, percent},
    },
    model::{Confidence, Gate, SessionEvidence, StackClass},
};

/// From so many limits on, confidence is low, whatever each of them leaves.
const MANY_LIMITS: usize = 3;

/// The confidence of a conclusion, and what limits it, the strictest first, each without a full stop.
pub(super) fn confidence(facts: &Facts<'_>, conclusion: Conclusion) -> (Confidence, Vec<String>) {
    let limits = match conclusion {
        Conclusion::Inconclusive(_) => return (Confidence::Low, Vec::new()),
        Conclusion::NoContention => yield_limits(facts),
        Conclusion::CpuBound | Conclusion::Mixed | Conclusion::Backoffs => {
            let mut limits = stack_limits(facts);
            limits.extend(yield_limits(facts));
            match conclusion {
                Conclusion::CpuBound => {
                    limits.extend(pressure_limits(facts));
                    limits.extend(spinning_limit(facts));
                }
                Conclusion::Backoffs => limits.extend(backoff_limits(facts)),
                _ => {}
            }
            limits
        }
    };
    confidence_of(limits)
}

/// What limits a conclusion: the most confidence it leaves, and why.
pub(in crate::analyze) type Limit = (Confidence, String);

/// The confidence that the limits leave, and their texts, the strictest first.
pub(in crate::analyze) fn confidence_of(mut limits: Vec<Limit>) -> (Confidence, Vec<String>) {
    limits.sort_by_key(|(most, _)| *most);
    let lowest = limits.iter().map(|(most, _)| *most).min().unwrap_or(Confidence::High);
    let confidence = if limits.len() >= MANY_LIMITS { Confidence::Low } else { lowest };
    (confidence, limits.into_iter().map(|(_, text)| text).collect())
}

/// That confidence is not high, and the strictest limit, as a sentence.
pub(in crate::analyze) fn limited(confidence: Confidence, limits: &[String]) -> Option<String> {
    let first = limits.first().filter(|_| confidence != Confidence::High)?;
    Some(format!("Confidence is {}: {first}.", confidence_name(confidence)))
}

fn stack_limits(facts: &Facts<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    let needed = facts.settings().gates.yields;
    let events = facts.tally.with_stack();
    if facts.scope == Scope::Unknown {
        limits.push((Confidence::Low, "the event and the wait type of the stacks are not known".to_owned()));
    }
    if events < u128::from(needed) {
        limits.push((Confidence::Low, format!("{} are fewer than {}", counted(events, "event"), count(needed))));
    }
    let with_spins = facts.tally.placed.get(&StackClass::SpinlockBackoff).copied().unwrap_or(0);
    if facts.scope == Scope::Yields && with_spins > 0 {
        limits.push((Confidence::Medium, "no published evidence shows back-offs among scheduler yields".to_owned()));
    }
    let filtered = |session: &SessionEvidence| facts.is_in_scope(session) && !session.filters.is_empty();
    if facts.evidence.sessions.iter().any(filtered) {
        limits.push((Confidence::Medium, "events are filtered, and the counters are the whole server's".to_owned()));
    }
    limits
}

fn yield_limits(facts: &Facts<'_>) -> Vec<Limit> {
    counter_limits(facts, TargetWaits::of(facts, |wait| wait == YIELD_WAIT).as_ref())
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

/// Where most of the CPU is known to have gone elsewhere, the yields are only its symptom.
fn spinning_limit(facts: &Facts<'_>) -> Option<Limit> {
    let share = all_spins(facts).filter(|_| is_spinning(facts))?;
    Some((Confidence::Medium, format!("at least {} of the CPU went into spinning", percent(share.low))))
}

/// Back-offs matter where spinning takes CPU, and are known from large machines.
fn backoff_limits(facts: &Facts<'_>) -> Vec<Limit> {
    let settings = &facts.catalog.spinlock.gates;
    let mut limits = Vec::new();
    match all_spins(facts) {
        Some(share) if share.low >= settings.spin_cpu_share_low => {}
        Some(share) => limits.push((
            Confidence::Low,
            format!(
                "spinning is proven to take only {} of the CPU, not {}",
                percent(share.low),
                percent(settings.spin_cpu_share_low)
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
    limits
}

/// A gate that is not met, in words.
pub(in crate::analyze) fn unmet(gate: &Gate) -> String {
    match gate.value {
        Some(value) => format!("gate {} is {}, needed {}", gate.name, figure(value), gate.needed),
        None => format!("gate {} is unknown, needed {}", gate.name, gate.needed),
    }
}

/// Two decimals where there are any.
fn figure(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.2}") }
}
