//! Owns how often threads backed off: events a minute of one call stack, and events against the counters' back-offs.

use super::{
    names, sessions_of,
    types::{TypeCount, is_bucketed_by_type},
};
use crate::{
    analyze::{facts::Facts, sessions},
    model::SessionEvidence,
};

/// Events and back-offs of the same spinlocks in the same window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Events of the session.
    pub events: u128,
    /// Back-offs of the counters.
    pub backoffs: u128,
}

impl Ratio {
    /// Events a back-off.
    pub fn value(self) -> f64 {
        self.events as f64 / self.backoffs as f64
    }
}

/// Events a minute of the call stack with most of them. `None` where counts are not whole: sampled, filtered, dropped, or
/// stopped at their cap.
pub fn most_events_per_minute(facts: &Facts<'_>) -> Option<f64> {
    let rate = |session: &SessionEvidence| {
        let elapsed_ms = session.elapsed_ms.or(facts.measures.elapsed_ms).filter(|elapsed| *elapsed > 0)?;
        let most = session.target.as_ref()?.slots.iter().map(|slot| slot.count).max()?;
        Some(most as f64 * 60_000.0 / elapsed_ms as f64)
    };
    let whole = sessions_of(facts.evidence).filter(|session| !is_bucketed_by_type(session) && is_whole(session));
    whole.filter_map(rate).reduce(f64::max)
}

/// Back-offs a second: the counters' or the events', whichever is more.
pub fn backoffs_per_second(facts: &Facts<'_>) -> Option<f64> {
    let elapsed_ms = facts.measures.elapsed_ms?;
    let counted = facts.deltas.spinlocks.as_ref()?.iter().map(|row| row.backoffs as f64).sum::<f64>() * 1_000.0;
    let seen = sessions_of(facts.evidence).filter(|session| is_whole(session)).map(|session| {
        sessions::events(session) as f64 * 1_000.0 / session.elapsed_ms.unwrap_or(elapsed_ms).max(1) as f64
    });
    Some(seen.fold(counted / elapsed_ms as f64, f64::max))
}

/// Events against back-offs, over sessions that cover the whole window: those filtered to types, else those by type.
pub fn ratio(facts: &Facts<'_>) -> Option<Ratio> {
    let covers = |session: &&SessionEvidence| is_whole(session) && session.elapsed_ms.is_none();
    let named = |keys: &[u64]| -> Option<Vec<String>> {
        keys.iter().map(|key| facts.evidence.map_names.get(key).cloned()).collect()
    };
    let stacks = || sessions_of(facts.evidence).filter(covers).filter(|session| !is_bucketed_by_type(session));
    let mut events = 0_u128;
    let mut spinlocks = Vec::new();
    for session in stacks() {
        if let Some(names) = named(&session.filter_keys).filter(|names| !names.is_empty()) {
            events = events.saturating_add(sessions::events(session));
            spinlocks.extend(names);
        }
    }
    if spinlocks.is_empty() {
        let session = sessions_of(facts.evidence).filter(covers).find(|session| is_bucketed_by_type(session))?;
        events = sessions::events(session);
        spinlocks.extend(facts.backoffs.types.counts.iter().filter_map(|TypeCount { name, .. }| name.clone()));
    }
    spinlocks.sort_unstable();
    spinlocks.dedup();
    let backoffs =
        spinlocks.iter().filter_map(|name| names::row(facts, name)).map(|row| u128::from(row.backoffs)).sum();
    (backoffs > 0).then_some(Ratio { events, backoffs })
}

fn is_whole(session: &SessionEvidence) -> bool {
    let none = |count: Option<u64>| count == Some(0) || (count.is_none() && !session.live);
    let complete = session.target.as_ref().is_some_and(|target| !target.cut);
    complete
        && session.sample_one_in.is_none()
        && session.filters.is_empty()
        && none(session.dropped_events)
        && session.dropped_buffers.unwrap_or(0) == 0
        && !sessions::reached_cap(session)
}
