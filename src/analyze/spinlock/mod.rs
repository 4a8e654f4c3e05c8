//! Owns the spinlock question: what the sessions of back-offs counted, which spinlock it was, and what it cost.

pub mod conclusion;
pub mod names;
pub mod rates;
pub mod types;

use super::{classify::Captured, facts::Facts, sessions, shares::Tally};
use crate::model::{Evidence, SessionEvidence, Share, StackClass};
use std::collections::BTreeMap;
use types::Types;

/// What the sessions of spinlock back-offs counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Backoffs {
    /// Events by type.
    pub types: Types,
    /// Events that came with stacks, by class.
    pub tally: Tally,
    /// Shares of these classes.
    pub shares: BTreeMap<StackClass, Share>,
}

/// The sessions of back-offs.
pub fn sessions_of(evidence: &Evidence) -> impl Iterator<Item = &SessionEvidence> {
    evidence.sessions.iter().filter(|session| Captured::of(&session.context) == Captured::Backoffs)
}

/// Threads that did not get a spinlock for about five seconds (event `spinlock_backoff_warning`).
pub fn warnings(facts: &Facts<'_>) -> u128 {
    let warning = |session: &&SessionEvidence| Captured::of(&session.context) == Captured::BackoffWarnings;
    facts.evidence.sessions.iter().filter(warning).fold(0, |sum, session| sum.saturating_add(sessions::events(session)))
}
