//! Owns which types of spinlocks the events were of: by a target that buckets them, else by what sessions are filtered to.

use super::sessions_of;
use crate::{
    analyze::{sessions, shares},
    catalog::ShareSettings,
    model::{Evidence, Interval, SessionEvidence},
};
use std::{cmp::Reverse, collections::BTreeMap};

/// The field that a type session buckets by.
const TYPE: &str = "type";

/// Events of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeCount {
    /// Map key of the type.
    pub key: u64,
    /// Its name on this server; `None` where its map was not read or lacks the key.
    pub name: Option<String>,
    /// Events.
    pub events: u128,
    /// Share of all events; `None` where the session was filtered to types.
    pub share: Option<Interval>,
}

/// Events by type, most first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Types {
    /// The types that were seen.
    pub counts: Vec<TypeCount>,
    /// Events whose type cannot be read.
    pub unreadable: u128,
}

impl Types {
    /// Counts the events of every session that buckets by type; where there is none, those of every session that is
    /// filtered to one type.
    pub fn of(evidence: &Evidence, settings: &ShareSettings) -> Self {
        let mut bucketed = sessions_of(evidence).filter(|session| is_bucketed_by_type(session)).peekable();
        if bucketed.peek().is_some() {
            return Self::bucketed(bucketed, evidence, settings);
        }
        let mut counts: BTreeMap<u64, u128> = BTreeMap::new();
        for session in sessions_of(evidence) {
            if let [key] = session.filter_keys.as_slice() {
                let events = counts.entry(*key).or_default();
                *events = events.saturating_add(sessions::events(session));
            }
        }
        Self { counts: counted(counts, evidence, |_| None), unreadable: 0 }
    }

    fn bucketed<'a>(
        sessions: impl Iterator<Item = &'a SessionEvidence>,
        evidence: &Evidence,
        settings: &ShareSettings,
    ) -> Self {
        let mut counts: BTreeMap<u64, u128> = BTreeMap::new();
        let (mut unreadable, mut lost, mut filtered) = (0_u128, Some(0_u128), false);
        for session in sessions {
            for slot in session.target.iter().flat_map(|target| &target.slots) {
                match slot.value.trim().parse::<u64>() {
                    Ok(key) => *counts.entry(key).or_default() += u128::from(slot.count),
                    Err(_) => unreadable += u128::from(slot.count),
                }
            }
            filtered |= !session.filter_keys.is_empty();
            // Once every slot is in use, events of other types may be among those of the last ones.
            let bounded = !shares::is_at_capacity(session);
            let missing = shares::lost_events(session, settings).filter(|_| bounded);
            let without_slot = shares::events_without_slot(session).unwrap_or(0);
            lost =
                lost.zip(missing).map(|(sum, missing)| sum.saturating_add(missing).saturating_add(without_slot.into()));
        }
        let readable = counts.values().fold(0_u128, |sum, events| sum.saturating_add(*events));
        let share = |events: u128| {
            let open = lost?.saturating_add(unreadable);
            let total = readable.saturating_add(open) as f64;
            let possible = events.saturating_add(open) as f64;
            (readable > 0 && !filtered)
                .then(|| shares::interval(events as f64 / total, possible / total, readable, settings))
        };
        Self { counts: counted(counts, evidence, share), unreadable }
    }

    /// The type with most events.
    pub fn top(&self) -> Option<&TypeCount> {
        self.counts.first().filter(|count| count.events > 0)
    }

    /// Whether the intervals show that no other type has as many events as the top one.
    pub fn top_is_alone(&self) -> bool {
        let shares: Option<Vec<Interval>> = self.counts.iter().map(|count| count.share).collect();
        match shares.as_deref() {
            Some([first, others @ ..]) => others.iter().all(|other| other.high < first.low),
            Some([]) => false,
            None => self.counts.len() == 1,
        }
    }
}

/// Whether the target counts events by the type of the spinlock.
pub fn is_bucketed_by_type(session: &SessionEvidence) -> bool {
    session.bucket.as_deref().is_some_and(|bucket| bucket.eq_ignore_ascii_case(TYPE))
}

fn counted(
    counts: BTreeMap<u64, u128>,
    evidence: &Evidence,
    share: impl Fn(u128) -> Option<Interval>,
) -> Vec<TypeCount> {
    let name = |key: u64| evidence.map_names.get(&key).map(|name| name.trim().to_owned());
    let mut counts: Vec<TypeCount> = counts
        .into_iter()
        .map(|(key, events)| TypeCount { key, name: name(key), events, share: share(events) })
        .collect();
    counts.sort_by_key(|count| (Reverse(count.events), count.key));
    counts
}
