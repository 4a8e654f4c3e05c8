//! Owns what the spinlock question comes to: contention, none, or not decided, and why.

use super::{
    names::{self, Names},
    rates, sessions_of, warnings,
};
use crate::{
    analyze::{facts::Facts, findings::cpu_consumer::all_spins, sessions, wrong_symbols::Trust},
    model::StackClass,
};

/// Why the spinlock question is not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// There was no session of back-offs.
    NothingCaptured,
    /// All of them were gone before their targets were read.
    SessionMissing,
    /// They counted nothing.
    NoEvents,
    /// The counters do not prove that spinning takes a notable share of the CPU.
    CostNotProven,
    /// There are no counters, and the stacks name nothing.
    NothingNamed,
}

/// What the evidence supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// A spinlock is contended.
    Contention,
    /// Too few back-offs, and too little spinning, to matter.
    None,
    /// Neither.
    Open(Open),
}

/// What the spins of the subject are known to cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cost {
    Notable,
    Open,
    Unknown,
}

/// The conclusion.
pub fn conclude(facts: &Facts<'_>) -> Conclusion {
    let mut captured = sessions_of(facts.evidence).peekable();
    if captured.peek().is_none() {
        // Counters alone do not show who wants a spinlock; that there was nothing to explain they can.
        return if is_quiet(facts) { Conclusion::None } else { Conclusion::Open(Open::NothingCaptured) };
    }
    if captured.all(sessions::is_missing) {
        return Conclusion::Open(Open::SessionMissing);
    }
    let events = sessions_of(facts.evidence).fold(0_u128, |sum, session| sum.saturating_add(sessions::events(session)));
    if warnings(facts) == 0 && is_quiet(facts) {
        return Conclusion::None;
    }
    if events == 0 && warnings(facts) == 0 {
        return Conclusion::Open(Open::NoEvents);
    }
    match cost(facts) {
        Cost::Notable => Conclusion::Contention,
        Cost::Open => Conclusion::Open(Open::CostNotProven),
        Cost::Unknown if is_named(facts) => Conclusion::Contention,
        Cost::Unknown => Conclusion::Open(Open::NothingNamed),
    }
}

/// The low bound of the share of the CPU that spins for the subject take.
pub fn spin_cpu_share_low(facts: &Facts<'_>) -> Option<f64> {
    let names = Names::of(facts);
    let row = names::row(facts, names.subject()?)?;
    row.spin_cpu_share.map(|share| share.low)
}

fn cost(facts: &Facts<'_>) -> Cost {
    if warnings(facts) > 0 {
        return Cost::Notable;
    }
    match spin_cpu_share_low(facts) {
        Some(low) if low >= facts.catalog.spinlock.gates.spin_cpu_share_low => Cost::Notable,
        Some(_) => Cost::Open,
        // The counters were read, and the spinlock of the events is not among those that grew.
        None if facts.deltas.spinlocks.is_some() && all_spins(facts).is_some() => Cost::Open,
        None => Cost::Unknown,
    }
}

fn is_quiet(facts: &Facts<'_>) -> bool {
    let settings = &facts.catalog.spinlock.no_contention;
    let few = rates::backoffs_per_second(facts).is_some_and(|rate| rate < settings.backoffs_per_second);
    few && all_spins(facts).is_some_and(|share| share.high < settings.spin_cpu_share_high)
}

/// Without counters, back-offs are believed where a type or a stack shows them.
fn is_named(facts: &Facts<'_>) -> bool {
    let by_type = facts.backoffs.types.top().is_some();
    let stacks = facts.backoffs.shares.get(&StackClass::SpinlockBackoff);
    let trusted = !matches!(facts.trust, Trust::Wrong(_));
    by_type || (trusted && stacks.is_some_and(|share| share.low >= facts.settings().shares.spinlock_backoff_low))
}
