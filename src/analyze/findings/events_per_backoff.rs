//! Owns finding `events_per_backoff`: how many of the counters' back-offs the event reports.

use crate::{
    analyze::{facts::Facts, spinlock::rates, words::count},
    model::Finding,
};

/// The finding. Sources say one event a back-off, or one in eight (field report L-13): it is measured each time, and no
/// figure is scaled by it.
pub(super) fn finding(facts: &Facts<'_>) -> Finding {
    let ratio = rates::ratio(facts);
    let text = ratio.map_or_else(
        || "Events and back-offs of the same spinlocks in the same window are not known.".to_owned(),
        |ratio| {
            format!(
                "{} events beside {} back-offs of the counters, {:.3} events a back-off: the event does not report every back-off, and nothing is scaled by this.",
                count(ratio.events),
                count(ratio.backoffs),
                ratio.value()
            )
        },
    );
    Finding {
        name: "events_per_backoff".to_owned(),
        state: if ratio.is_some() { "measured" } else { "unknown" }.to_owned(),
        value: ratio.map(rates::Ratio::value),
        low: None,
        high: None,
        gates: Vec::new(),
        text,
    }
}
