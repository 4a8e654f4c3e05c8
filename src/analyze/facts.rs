//! Owns everything that findings and verdict are drawn from, in one place.

use super::{
    classify::{Captured, YIELD_WAIT},
    databases::Databases,
    deltas::Deltas,
    files::Files,
    measures::Measures,
    question, sessions,
    shares::Tally,
    spinlock::Backoffs,
    wrong_symbols::Trust,
};
use crate::{
    catalog::{Catalog, YieldSettings, sessions::Question},
    model::{Evidence, Mark, PageRow, QueryRow, SessionEvidence, Share, StackClass, StackItem, WaitRow},
};
use std::collections::BTreeMap;

/// Which events the shares are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Ends of scheduler yields, by the session's predicate.
    Yields,
    /// Events of unknown kind: the frames alone decide.
    Unknown,
    /// Events that are known not to be yields.
    Others,
    /// There is no session at all.
    Nothing,
}

impl Scope {
    /// Whether the shares are of events of this kind.
    pub fn holds(self, captured: Captured) -> bool {
        match self {
            Self::Yields => captured == Captured::Yields,
            Self::Unknown => captured == Captured::Unknown,
            Self::Others | Self::Nothing => true,
        }
    }
}

/// What findings and verdict are drawn from.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The evidence itself.
    pub evidence: &'a Evidence,
    /// What the verdict answers.
    pub question: Question,
    /// The scenario that asks it.
    pub scenario: String,
    /// What its names mean.
    pub catalog: &'a Catalog,
    /// What the snapshots say of the server.
    pub measures: Measures,
    /// What the counters grew by.
    pub deltas: Deltas,
    /// Merged stacks.
    pub items: Vec<StackItem>,
    /// Which events `tally` and `shares` are of.
    pub scope: Scope,
    /// Events by class.
    pub tally: Tally,
    /// Shares by class.
    pub shares: BTreeMap<StackClass, Share>,
    /// What sessions of spinlock back-offs counted.
    pub backoffs: Backoffs,
    /// Whether the names can be trusted.
    pub trust: Trust,
    /// Classes and events of the slots of each session of `evidence`, in its order; none for one without stacks.
    pub slots: Vec<Vec<(StackClass, u64)>>,
    /// Virtual file statistics.
    pub files: Files,
    /// Databases and server-wide work counters.
    pub databases: Databases,
    /// Hot pages, descending.
    pub pages: Vec<PageRow>,
    /// Statements that events came from, descending.
    pub queries: Vec<QueryRow>,
}

impl Facts<'_> {
    /// Thresholds.
    pub fn settings(&self) -> &YieldSettings {
        &self.catalog.sos_yield
    }

    /// The share of a class: 0..1 where nothing is known.
    pub fn share(&self, class: StackClass) -> (f64, f64) {
        self.shares.get(&class).map_or((0.0, 1.0), |share| (share.low, share.high))
    }

    /// The waits of scheduler yields: a row of zeros where the view was read and they did not grow; `None` where it
    /// was not, or where their counters were reset.
    pub fn yield_waits(&self) -> Option<WaitRow> {
        let rows = self.deltas.waits.as_ref()?;
        let none = WaitRow {
            wait_type: YIELD_WAIT.to_owned(),
            category: None,
            waiting_tasks: 0,
            wait_ms: 0,
            resource_ms: 0,
            signal_ms: 0,
            share: 0.0,
            mark: None,
        };
        let row = rows.iter().find(|row| row.wait_type == YIELD_WAIT).cloned().unwrap_or(none);
        matches!(row.mark, None | Some(Mark::New)).then_some(row)
    }

    /// Whether a session was made for the scenario that asks; of a file, whether its events are of the question.
    pub fn owns(&self, session: &SessionEvidence) -> bool {
        question::is_of(session, &self.scenario, self.question)
    }

    /// Whether a session is one of those that the question of yields is decided by.
    pub fn is_in_scope(&self, session: &SessionEvidence) -> bool {
        question::is_of_yields(session, self.catalog) && self.scope.holds(Captured::of(&session.context))
    }

    /// What the events of a merged stack are; its slots are all of one kind of session.
    pub fn captured(&self, item: &StackItem) -> Option<Captured> {
        let (document, _) = item.slots.first()?.split_once(':')?;
        let session = self.evidence.sessions.get(document.parse::<usize>().ok()?)?;
        Some(Captured::of(&session.context))
    }

    /// Merged stacks of the sessions that the question of yields is decided by.
    pub fn yield_items(&self) -> impl Iterator<Item = &StackItem> {
        self.items_of(|session| self.is_in_scope(session))
    }

    /// The events of some sessions with stacks, by class.
    pub fn tally_of(&self, decides: impl Fn(&SessionEvidence) -> bool) -> Tally {
        let mut tally = Tally::default();
        for (session, slots) in self.evidence.sessions.iter().zip(&self.slots) {
            if sessions::has_stacks(session) && decides(session) {
                tally.add(session, slots, &self.settings().shares);
            }
        }
        tally
    }

    /// Merged stacks of some sessions, most events first.
    pub fn items_of(&self, decides: impl Fn(&SessionEvidence) -> bool) -> impl Iterator<Item = &StackItem> {
        self.items.iter().filter(move |item| {
            let document = item.slots.first().and_then(|slot| slot.split_once(':')?.0.parse::<usize>().ok());
            document.and_then(|document| self.evidence.sessions.get(document)).is_some_and(&decides)
        })
    }

    /// Ids of the most frequent of these stacks of a class.
    pub fn ids(&self, class: StackClass) -> Vec<String> {
        const SHOWN: usize = 3;
        self.yield_items().filter(|item| item.class == class).take(SHOWN).map(|item| item.id.clone()).collect()
    }
}
