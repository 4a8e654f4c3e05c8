//! Owns finding `spinlock_types`: which types of spinlocks the back-off events were of.

use crate::{
    analyze::{
        facts::Facts,
        spinlock::types::TypeCount,
        words::{counted, percent_range},
    },
    model::Finding,
};

/// Types named in the text.
const SHOWN: usize = 5;

/// The finding.
pub(super) fn finding(facts: &Facts<'_>) -> Finding {
    let types = &facts.backoffs.types;
    let top = types.top();
    let share = top.and_then(|top| top.share);
    let total = types.counts.iter().fold(types.unreadable, |sum, count| sum.saturating_add(count.events));
    let shown: Vec<String> = types.counts.iter().take(SHOWN).map(one).collect();
    let more = match types.counts.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    let unreadable = match types.unreadable {
        0 => String::new(),
        events => format!(" {} have a type that cannot be read.", counted(events, "event")),
    };
    let text = match top {
        None => "Of which types the events are was not counted.".to_owned(),
        Some(_) => format!("Of {}: {}{more}.{unreadable}", counted(total, "event"), shown.join("; ")),
    };
    Finding {
        name: "spinlock_types".to_owned(),
        state: if top.is_some() { "counted" } else { "unknown" }.to_owned(),
        value: top.filter(|_| total > 0).map(|top| top.events as f64 / total as f64),
        low: share.map(|share| share.low),
        high: share.map(|share| share.high),
        gates: Vec::new(),
        text,
    }
}

fn one(count: &TypeCount) -> String {
    let name = count.name.as_deref().unwrap_or("a type without a name");
    let share = count.share.map_or_else(
        || format!(", {}", counted(count.events, "event")),
        |share| format!(" {}", percent_range(share.low, share.high)),
    );
    format!("{name} (key {}){share}", count.key)
}
