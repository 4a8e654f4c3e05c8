//! Owns finding `yield_origin`: where the yields end, by their stacks.

use super::gate;
use crate::{
    analyze::{
        facts::{Facts, Scope},
        words::percent_range,
    },
    model::{Finding, Gate, StackClass},
};

/// What the stacks prove over the whole of their intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Threads that gave up the processor at the end of their quantum.
    Voluntary,
    /// Threads that backed off from a spinlock.
    Backoffs,
    /// Proven to be neither the one nor the other.
    Mixed,
    /// The intervals hold more than one of these.
    Undecided,
}

/// The origin that the shares prove.
pub fn origin(facts: &Facts<'_>) -> Origin {
    let settings = &facts.settings().shares;
    let (yields_low, yields_high) = facts.share(StackClass::CpuYield);
    let (spins_low, spins_high) = facts.share(StackClass::SpinlockBackoff);
    let not_voluntary = yields_high < settings.cpu_yield_low || spins_low > settings.spinlock_backoff_high;
    let not_backoffs = spins_high < settings.spinlock_backoff_low;
    if matches!(facts.scope, Scope::Nothing | Scope::Others) {
        Origin::Undecided
    } else if yields_low >= settings.cpu_yield_low && spins_high <= settings.spinlock_backoff_high {
        Origin::Voluntary
    } else if spins_low >= settings.spinlock_backoff_low {
        Origin::Backoffs
    } else if facts.scope == Scope::Yields && not_voluntary && not_backoffs {
        Origin::Mixed
    } else {
        Origin::Undecided
    }
}

/// The finding.
pub fn finding(facts: &Facts<'_>) -> Finding {
    let origin = origin(facts);
    let (low, high) = facts.share(StackClass::CpuYield);
    let (spins_low, spins_high) = facts.share(StackClass::SpinlockBackoff);
    let (voluntary, backoffs) = (percent_range(low, high), percent_range(spins_low, spins_high));
    let known = facts.tally.with_stack() > 0 && matches!(facts.scope, Scope::Yields | Scope::Unknown);
    let (state, text) = match origin {
        _ if !known => ("unknown", "no stacks of yields were counted".to_owned()),
        Origin::Voluntary => {
            ("voluntary", format!("{voluntary} of the events are voluntary yields, {backoffs} hold spinlock frames"))
        }
        Origin::Backoffs => (
            "spinlock_backoff",
            format!("{backoffs} of the events hold spinlock frames, {voluntary} are voluntary yields"),
        ),
        Origin::Mixed => (
            "mixed",
            format!(
                "{voluntary} of the events are voluntary yields, {backoffs} hold spinlock frames, the rest other frames"
            ),
        ),
        Origin::Undecided => (
            "undecided",
            format!(
                "{voluntary} of the events may be voluntary yields, {backoffs} may hold spinlock frames: the stacks do not decide"
            ),
        ),
    };
    let with_stack = facts.tally.with_stack();
    let placed = facts.tally.placed.get(&StackClass::CpuYield).copied().unwrap_or(0);
    Finding {
        name: "yield_origin".to_owned(),
        state: state.to_owned(),
        value: known.then(|| placed as f64 / with_stack as f64),
        low: known.then_some(low),
        high: known.then_some(high),
        gates: gates(facts, known),
        text: sentence(&text),
    }
}

fn gates(facts: &Facts<'_>, known: bool) -> Vec<Gate> {
    let settings = facts.settings();
    let (low, _) = facts.share(StackClass::CpuYield);
    let (_, spins_high) = facts.share(StackClass::SpinlockBackoff);
    let (yields, least, most) =
        (settings.gates.yields, settings.shares.cpu_yield_low, settings.shares.spinlock_backoff_high);
    vec![
        gate("yields", known.then(|| facts.tally.with_stack() as f64), format!(">= {yields}"), |value| {
            value >= yields as f64
        }),
        gate("cpu_yield_low", known.then_some(low), format!(">= {least}"), |value| value >= least),
        gate("spinlock_backoff_high", known.then_some(spins_high), format!("<= {most}"), |value| value <= most),
    ]
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}
