//! Owns which spinlock it was: by the type of the events, by the counters, and by who wanted it; each may name another.

use crate::{
    analyze::{
        classify::Captured,
        facts::Facts,
        frames::{spinlock_caller, spinlock_template_number},
    },
    model::{Mark, SpinlockRow, StackClass, StackItem},
};
use std::collections::{BTreeMap, BTreeSet};

/// Who names the spinlock, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Type of most events, by the server's map.
    pub by_events: Option<String>,
    /// Most spins.
    pub by_spins: Option<String>,
    /// Most back-offs.
    pub by_backoffs: Option<String>,
    /// What the functions are known to want that stand under the spinlock's own frames in most events.
    pub by_callers: Option<String>,
    /// First numbers of the templates in the frames: shown, and used for nothing.
    pub template_numbers: BTreeSet<u64>,
}

/// How the names agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Events, counters and callers name one spinlock.
    All,
    /// Events and counters do; callers name none.
    WithoutCallers,
    /// The counters do not agree among themselves: most spins are another one's.
    SpinsElsewhere,
    /// They name different ones.
    Disagree,
    /// Events or counters name none.
    Partial,
}

impl Names {
    /// The names in the evidence.
    pub fn of(facts: &Facts<'_>) -> Self {
        let rows: Vec<&SpinlockRow> =
            facts.deltas.spinlocks.iter().flatten().filter(|row| matches!(row.mark, None | Some(Mark::New))).collect();
        let most = |figure: fn(&SpinlockRow) -> u64| {
            let row = rows.iter().filter(|row| figure(row) > 0).max_by_key(|row| (figure(row), row.collisions))?;
            Some(row.name.clone())
        };
        Self {
            by_events: facts.backoffs.types.top().and_then(|top| top.name.clone()),
            by_spins: most(|row| row.spins),
            by_backoffs: most(|row| row.backoffs),
            by_callers: wanted_by_callers(facts, stacks(facts)),
            template_numbers: stacks(facts)
                .flat_map(|item| &item.frames)
                .filter_map(|frame| spinlock_template_number(frame))
                .collect(),
        }
    }

    /// The spinlock that the evidence is about: the one of the events where the counters back it, else that of the
    /// counters, else whatever there is.
    pub fn subject(&self) -> Option<&str> {
        let backed = self.by_events.as_deref().filter(|name| self.counters_name(name));
        backed.or(self.by_spins.as_deref()).or(self.by_events.as_deref()).or(self.by_callers.as_deref())
    }

    /// Whether they agree.
    pub fn agreement(&self, facts: &Facts<'_>) -> Agreement {
        let (Some(events), Some(_)) = (&self.by_events, &self.by_spins) else {
            return match self.subject() {
                Some(subject) if self.callers_contradict(facts, subject) => Agreement::Disagree,
                _ => Agreement::Partial,
            };
        };
        let is_events = |name: &Option<String>| name.as_deref().is_some_and(|name| same(name, events));
        if !self.counters_name(events) || self.callers_contradict(facts, events) {
            Agreement::Disagree
        } else if !is_events(&self.by_spins) || !is_events(&self.by_backoffs) {
            Agreement::SpinsElsewhere
        } else if self.by_callers.is_none() {
            Agreement::WithoutCallers
        } else {
            Agreement::All
        }
    }

    fn counters_name(&self, name: &str) -> bool {
        [&self.by_spins, &self.by_backoffs].into_iter().flatten().any(|counter| same(counter, name))
    }

    fn callers_contradict(&self, facts: &Facts<'_>, name: &str) -> bool {
        self.by_callers.as_deref().is_some_and(|known| {
            let family = facts.catalog.spinlocks.of(known);
            !same(known, name) && !family.is_some_and(|term| term.names(name))
        })
    }
}

/// Names of the map and names of the view may differ in case.
pub fn same(left: &str, right: &str) -> bool {
    left.trim().eq_ignore_ascii_case(right.trim())
}

/// The counters' row of a spinlock.
pub fn row<'a>(facts: &'a Facts<'_>, name: &str) -> Option<&'a SpinlockRow> {
    facts
        .deltas
        .spinlocks
        .iter()
        .flatten()
        .find(|row| same(&row.name, name) && matches!(row.mark, None | Some(Mark::New)))
}

/// Merged stacks of back-offs, most events first.
pub fn stacks<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = &'a StackItem> {
    facts
        .items
        .iter()
        .filter(|item| item.class == StackClass::SpinlockBackoff && facts.captured(item) == Some(Captured::Backoffs))
}

/// The spinlock that most events of these stacks want, as far as the functions under the spinlock's frames are known.
pub fn wanted_by_callers<'a>(facts: &Facts<'_>, items: impl Iterator<Item = &'a StackItem>) -> Option<String> {
    let mut events: BTreeMap<String, u128> = BTreeMap::new();
    for item in items {
        let caller = spinlock_caller(&item.frames, &facts.catalog.plumbing);
        if let Some(term) = caller.and_then(|caller| facts.catalog.spinlocks.spun_for_by(caller)) {
            *events.entry(term.title()).or_default() += u128::from(item.events);
        }
    }
    events.into_iter().max_by_key(|(_, events)| *events).map(|(name, _)| name)
}
