//! Owns finding `cpu_consumer`: what share of the CPU spinning can have taken, by the counters.

use super::gate;
use crate::{
    analyze::{deltas::spin_cpu_share, facts::Facts, words::percent_range},
    model::{Finding, Interval, Mark, SpinlockRow},
};

/// The share of the CPU that all spins together can have taken; `None` where cycles, schedulers or spins are unknown.
pub fn all_spins(facts: &Facts<'_>) -> Option<Interval> {
    let rows = facts.deltas.spinlocks.as_ref()?;
    let usable = |row: &&SpinlockRow| matches!(row.mark, None | Some(Mark::New));
    if rows.iter().any(|row| matches!(row.mark, Some(Mark::Reset | Mark::Restarted))) {
        return None;
    }
    let spins = rows.iter().filter(usable).map(|row| u128::from(row.spins)).sum();
    spin_cpu_share(spins, &facts.measures, &facts.settings().spins)
}

/// Whether spinning cannot be ruled out as what consumes the CPU.
pub fn is_undecided(facts: &Facts<'_>) -> bool {
    all_spins(facts).is_some_and(|share| share.high >= facts.settings().spins.undecided_from)
}

/// Whether most of the CPU is proven to have gone into spinning.
pub fn is_spinning(facts: &Facts<'_>) -> bool {
    all_spins(facts).is_some_and(|share| share.low >= facts.settings().spins.spinning_from)
}

/// The finding. It never acquits: `unlikely` says that even the high bound is small.
pub fn finding(facts: &Facts<'_>) -> Finding {
    let settings = &facts.settings().spins;
    let share = all_spins(facts);
    let limit = settings.undecided_from;
    let (state, text) = match share {
        None => ("unknown", "Spins, processor cycles or schedulers are not known.".to_owned()),
        Some(share) => {
            let range = percent_range(share.low, share.high);
            let basis = format!(
                "At {} to {} cycles a spin, spinning can have taken {range} of the online schedulers' CPU",
                settings.cycles_per_spin_low, settings.cycles_per_spin_high
            );
            if is_spinning(facts) {
                ("spinning", format!("{basis}: most of the CPU went into it."))
            } else if is_undecided(facts) {
                ("undecided", format!("{basis}; whether it does is not decided here."))
            } else {
                ("unlikely", format!("{basis}."))
            }
        }
    };
    Finding {
        name: "cpu_consumer".to_owned(),
        state: state.to_owned(),
        value: None,
        low: share.map(|share| share.low),
        high: share.map(|share| share.high),
        gates: vec![gate("spin_cpu_share_high", share.map(|share| share.high), format!("< {limit}"), |value| {
            value < limit
        })],
        text,
    }
}
