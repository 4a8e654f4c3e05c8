//! Owns who names the latch class: the counters, the functions under the latch's frames, and the session filtered to one.

use super::{LatchCase, classes::Classes};
use crate::{
    analyze::{facts::Facts, frames::latch_waiter, spinlock::names::same},
    model::{SessionEvidence, StackClass},
};
use std::collections::BTreeMap;

/// Who names the class, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Most wait time by sys.dm_os_latch_stats.
    pub by_counters: Option<String>,
    /// What the functions are known to wait for that stand under the latch's own frames in most events.
    pub by_frames: Option<String>,
    /// The class that a session of `latch_suspend_end` was filtered to, where it counted events.
    pub by_event: Option<String>,
}

/// How the names agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Frames or event, or both, name the class of the counters, and none another.
    Agree,
    /// Only the counters name one.
    CountersOnly,
    /// The counters name none.
    WithoutCounters,
    /// They name different ones.
    Disagree,
    /// None names any.
    Nobody,
}

impl Names {
    /// The names in the evidence.
    pub fn of(facts: &Facts<'_>, classes: Option<&Classes>) -> Self {
        Self {
            by_counters: classes.and_then(Classes::leading).map(|row| row.latch_class.clone()),
            by_frames: by_frames(facts),
            by_event: by_event(facts),
        }
    }

    /// The class that the evidence is about.
    pub fn subject(&self) -> Option<&str> {
        self.by_counters.as_deref().or(self.by_event.as_deref()).or(self.by_frames.as_deref())
    }

    /// Whether they agree.
    pub fn agreement(&self, facts: &Facts<'_>) -> Agreement {
        let others: Vec<&str> = [&self.by_frames, &self.by_event].into_iter().flatten().map(String::as_str).collect();
        let Some(subject) = self.subject() else { return Agreement::Nobody };
        if others.iter().any(|other| !is_one(facts, subject, other)) {
            return Agreement::Disagree;
        }
        match (&self.by_counters, others.is_empty()) {
            (Some(_), false) => Agreement::Agree,
            (Some(_), true) => Agreement::CountersOnly,
            (None, _) => Agreement::WithoutCounters,
        }
    }
}

/// Whether two names are of one class: some are known under two, and a glossary may hold a family.
fn is_one(facts: &Facts<'_>, left: &str, right: &str) -> bool {
    same(left, right) || facts.catalog.latches.of(right).is_some_and(|term| term.names(left))
}

/// The class that most events are of, as far as the functions that wait for it are known.
fn by_frames(facts: &Facts<'_>) -> Option<String> {
    let of_latches = |session: &SessionEvidence| LatchCase::has_latch_stacks(facts, session);
    let mut events: BTreeMap<String, u128> = BTreeMap::new();
    for item in facts.items_of(of_latches).filter(|item| item.class == StackClass::Latch) {
        let waiter = latch_waiter(&item.frames, &facts.catalog.plumbing);
        if let Some(term) = waiter.and_then(|waiter| facts.catalog.latches.waited_for_by(waiter)) {
            let sum = events.entry(term.title()).or_default();
            *sum = sum.saturating_add(item.events.into());
        }
    }
    events.into_iter().max_by_key(|(_, events)| *events).map(|(name, _)| name)
}

/// The class that the latch's own event was filtered to, where it came.
fn by_event(facts: &Facts<'_>) -> Option<String> {
    let filtered = |session: &&SessionEvidence| LatchCase::is_of_one_class(facts, session);
    let session = facts.evidence.sessions.iter().filter(filtered).find(|s| crate::analyze::sessions::events(s) > 0)?;
    let [name] = session.filter_names.as_slice() else { return None };
    let name = name.trim();
    let rows = facts.deltas.latches.as_deref().unwrap_or_default();
    rows.iter().any(|row| is_one(facts, &row.latch_class, name)).then(|| name.to_owned())
}
