//! Owns whether the events of a session and the counter of its wait type tell the same number.

use super::{classify::is_yield_capture, facts::Facts, sessions, words::counted};
use crate::model::{Problem, SessionEvidence, Severity};

/// Events and waits of the yields, where they differ by more than the setting. Nothing is compared where sampling, a
/// filter, a cap, a full target or a cut document explains a difference.
pub(super) fn difference(facts: &Facts<'_>) -> Option<(u128, u64)> {
    let yields = || facts.evidence.sessions.iter().filter(|session| is_yield_capture(&session.context));
    let comparable = |session: &SessionEvidence| {
        session.live
            && session.sample_one_in.is_none()
            && session.filters.is_empty()
            && !sessions::reached_cap(session)
            && session.target.as_ref().is_some_and(|target| !target.cut)
    };
    // Two sessions for one wait type count every wait twice.
    let session = yields().next().filter(|session| yields().count() == 1 && comparable(session))?;
    let events = sessions::events(session);
    let waits = facts.yield_waits()?.waiting_tasks;
    let most = (events as f64).max(waits as f64);
    let apart = (events as f64 - waits as f64).abs();
    (most > 0.0 && apart > most * facts.settings().agreement.events_difference).then_some((events, waits))
}

/// That the counters cover another time than the events, by more than the setting: then neither explains the other. The
/// counters' time is between the first statements of both readings, by the server's own clock.
pub(super) fn coverage_problem(facts: &Facts<'_>) -> Option<Problem> {
    let events_ms = facts.evidence.window?.elapsed_ms;
    let counters_ms = facts.measures.ms_ticks?;
    let apart = events_ms.abs_diff(counters_ms);
    let has_events = facts.evidence.sessions.iter().any(|session| session.live && session.target.is_some());
    (has_events && apart as f64 > events_ms as f64 * facts.settings().agreement.events_difference).then(|| {
        let message = format!(
            "the counters cover {:.1} s, the events {:.1} s: reading the counters took long",
            counters_ms as f64 / 1_000.0,
            events_ms as f64 / 1_000.0
        );
        Problem::new("coverage_differs", Severity::Warning, message).with_hint("take a longer window")
    })
}

/// The difference as a problem.
pub(super) fn problem(facts: &Facts<'_>) -> Option<Problem> {
    let (events, waits) = difference(facts)?;
    Some(Problem::new(
        "events_differ_from_counters",
        Severity::Warning,
        format!(
            "the session counted {}, sys.dm_os_wait_stats {} in the same window",
            counted(events, "event"),
            counted(waits, "wait")
        ),
    ))
}
