//! Owns whether the events of a session and the counters of its wait types tell the same number.

use super::{classify::wait_types, facts::Facts, sessions, target_waits::TargetWaits, words::counted};
use crate::model::{Problem, SessionEvidence, Severity};

/// Events and waits of the question's wait types, where they differ by more than the setting. Nothing is compared where
/// sampling, a filter, a cap, a full target or a cut document explains a difference.
pub(super) fn difference(facts: &Facts<'_>) -> Option<(u128, u64)> {
    let all = &facts.evidence.sessions;
    let of_waits: Vec<&SessionEvidence> = all
        .iter()
        .filter(|session| facts.owns(session) && sessions::has_stacks(session))
        .filter(|session| wait_types(&session.context).next().is_some())
        .collect();
    of_waits.iter().find_map(|session| {
        let types: Vec<&str> = wait_types(&session.context).collect();
        // Two sessions for one wait type count every wait twice.
        let shared = |other: &&SessionEvidence| wait_types(&other.context).any(|wait| types.contains(&wait));
        if !is_comparable(session) || of_waits.iter().filter(|other| shared(other)).count() != 1 {
            return None;
        }
        let counters = TargetWaits::of(facts, |wait| types.contains(&wait))?;
        let (events, waits) = (sessions::events(session), counters.waits);
        let most = (events as f64).max(waits as f64);
        let apart = (events as f64 - waits as f64).abs();
        let differs = most > 0.0 && apart > most * facts.settings().agreement.events_difference;
        (differs && counters.without_difference.is_empty()).then_some((events, waits))
    })
}

fn is_comparable(session: &SessionEvidence) -> bool {
    session.live
        && session.sample_one_in.is_none()
        && session.filters.is_empty()
        && !sessions::reached_cap(session)
        && session.target.as_ref().is_some_and(|target| !target.cut)
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

/// The difference of the question asked as a problem.
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
