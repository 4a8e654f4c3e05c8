//! Owns what is asked of a set of evidence: sessions of several scenarios may have been captured together, and each of them
//! asks one question.

use super::auto::AUTO;
use super::classify::{Captured, LATCH_WAITS, PAGE_LATCH_WAITS, wait_types};
use crate::{
    catalog::{Catalog, sessions::Question},
    model::{Evidence, SessionEvidence},
};

/// A question, and the scenario that asks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Scenario; the question's own where the evidence names none.
    pub scenario: String,
    /// Question.
    pub question: Question,
}

/// The questions by the scenarios' names, in their order, the one that the verdict answers first; without a known name by
/// the events that were captured.
pub fn asked(evidence: &Evidence, catalog: &Catalog) -> Vec<Asked> {
    let names = evidence.scenario.as_deref().unwrap_or_default().split('+').map(str::trim);
    let known = names.filter_map(|name| {
        let scenario = catalog.sessions.scenario(name).ok()?;
        Some(Asked { scenario: name.to_owned(), question: scenario.question })
    });
    let mut asked: Vec<Asked> = Vec::new();
    for one in known {
        if !asked.contains(&one) {
            asked.push(one);
        }
    }
    if evidence.scenario.as_deref() == Some(AUTO) {
        asked.push(Asked { scenario: AUTO.to_owned(), question: Question::Any });
    }
    if asked.is_empty() {
        let question = by_events(evidence);
        let scenarios = catalog.sessions.scenarios();
        let usual = scenarios.iter().find(|scenario| scenario.question == question);
        asked.push(Asked { scenario: usual.map(|scenario| scenario.name.clone()).unwrap_or_default(), question });
    }
    asked
}

/// The question that the captured events, and without events the counters, are of.
fn by_events(evidence: &Evidence) -> Question {
    let any = |of: fn(&SessionEvidence) -> bool| evidence.sessions.iter().any(of);
    let captured = |kind: Captured| evidence.sessions.iter().any(|s| Captured::of(&s.context) == kind);
    if captured(Captured::Yields) {
        Question::Yields
    } else if captured(Captured::Backoffs) {
        Question::Spinlock
    } else if any(|session| wait_types(&session.context).any(|wait| LATCH_WAITS.contains(&wait))) {
        Question::Latch
    } else if any(|session| wait_types(&session.context).any(|wait| PAGE_LATCH_WAITS.contains(&wait))) {
        Question::PageLatch
    } else {
        Question::Yields
    }
}
