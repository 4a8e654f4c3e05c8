//! Owns how each target document is reported, and what is wrong with it.

use super::{
    shares::{events_without_slot, is_at_capacity},
    words::counted,
};
use crate::model::{Problem, SessionEvidence, SessionOutcome, SessionReport, SessionState, Severity, StoppedBy};

/// Events counted by one session, target and pasted stacks together.
pub fn events(session: &SessionEvidence) -> u128 {
    let counted = session.target.as_ref().map_or(0, crate::model::Target::events);
    session.pasted.iter().fold(counted, |sum, stack| sum.saturating_add(stack.count.into()))
}

/// Whether the values of its target are call stacks: a target may bucket by a field of the event instead.
pub fn has_stacks(session: &SessionEvidence) -> bool {
    session.bucket.as_deref().is_none_or(|bucket| {
        let name = bucket.rsplit('.').next().unwrap_or(bucket);
        ["callstack", "callstack_rva"].iter().any(|stack| stack.eq_ignore_ascii_case(name))
    })
}

/// Whether the session stopped counting because it reached its cap. Events that found no slot, and those dropped after
/// the cap had counted them, count.
pub fn reached_cap(session: &SessionEvidence) -> bool {
    let uncounted = [events_without_slot(session), session.dropped_events].into_iter().flatten().map(u128::from);
    let events = uncounted.fold(events(session), u128::saturating_add);
    session.event_cap.is_some_and(|cap| events >= u128::from(cap))
}

/// Whether nothing came back of a session: no document and no stacks.
pub fn is_missing(session: &SessionEvidence) -> bool {
    session.target.is_none() && session.pasted.is_empty()
}

/// Whether there ever was a session: of one that was not created nothing can be missing.
pub fn was_created(session: &SessionEvidence) -> bool {
    session.state != Some(SessionState::NotCreated)
}

/// Whether anything at all came of it, counted or lost. A document that is cut before its first slot may have held some.
fn had_events(session: &SessionEvidence) -> bool {
    let lost = [events_without_slot(session), session.dropped_events, session.dropped_buffers];
    events(session) > 0
        || lost.into_iter().flatten().any(|lost| lost > 0)
        || session.target.as_ref().is_some_and(|target| target.cut)
}

/// What came of a session.
pub fn outcome(session: &SessionEvidence) -> SessionOutcome {
    match session.state {
        Some(SessionState::NotCreated) => SessionOutcome::NotCreated,
        Some(SessionState::Gone | SessionState::Unreachable) => SessionOutcome::Missing,
        Some(
            SessionState::StoppedByMaxDuration
            | SessionState::StoppedBySomeone
            | SessionState::StoppedByRestart
            | SessionState::StartedAgain,
        ) => SessionOutcome::StoppedByServer,
        Some(SessionState::Running) | None if is_missing(session) => SessionOutcome::Missing,
        Some(SessionState::Running) | None if had_events(session) => SessionOutcome::Counted,
        Some(SessionState::Running) | None => SessionOutcome::NoEvents,
    }
}

fn stopped_by(session: &SessionEvidence) -> Option<StoppedBy> {
    match session.state? {
        SessionState::StoppedByMaxDuration => Some(StoppedBy::MaxDuration),
        SessionState::StoppedBySomeone | SessionState::StartedAgain => Some(StoppedBy::Someone),
        SessionState::StoppedByRestart => Some(StoppedBy::Restart),
        SessionState::Running | SessionState::Gone | SessionState::Unreachable | SessionState::NotCreated => None,
    }
}

/// A session as the report shows it.
pub fn report(session: &SessionEvidence) -> SessionReport {
    let target = session.target.as_ref();
    SessionReport {
        name: session.name.clone(),
        event: session.context.event.clone(),
        outcome: outcome(session),
        stopped_by: stopped_by(session),
        slots_requested: session.slots_requested,
        buckets: target.and_then(|target| target.buckets),
        slots_used: target.map_or(0, |target| target.slots.len() as u64) + session.pasted.len() as u64,
        at_capacity: is_at_capacity(session),
        events_without_slot: events_without_slot(session),
        dropped_events: session.dropped_events,
        dropped_buffers: session.dropped_buffers,
        target_cut: target.is_some_and(|target| target.cut),
        event_cap_reached: reached_cap(session),
    }
}

/// What is wrong with a session or its document.
pub fn problems(session: &SessionEvidence) -> Vec<Problem> {
    match outcome(session) {
        // Why, and what can be done, was said when it was refused.
        SessionOutcome::NotCreated => Vec::new(),
        SessionOutcome::Missing => vec![missing(session)],
        SessionOutcome::StoppedByServer => vec![stopped(session)],
        SessionOutcome::NoEvents | SessionOutcome::Counted => {
            losses(session).into_iter().chain(document_problems(session)).collect()
        }
    }
}

fn missing(session: &SessionEvidence) -> Problem {
    let name = &session.name;
    let problem = |code: &str, message: String| Problem::new(code, Severity::Partial, message);
    match session.state {
        Some(SessionState::Unreachable) => problem(
            "session_missing",
            format!("session {name} is on the server that no longer answers under this name: its events were not read"),
        ),
        Some(SessionState::Running) => problem(
            "target_missing",
            format!("session {name} runs, and gave no document of its target: its events are lost"),
        ),
        Some(SessionState::Gone) => problem(
            "session_missing",
            format!("session {name} did not exist any more when its target was to be read: its events are lost"),
        )
        .with_hint("find out who dropped it, and repeat the capture"),
        _ => problem(
            "session_missing",
            format!("session {name} was gone when its target was to be read: its events are lost"),
        )
        .with_hint("find out who stopped it, and repeat the capture"),
    }
}

fn stopped(session: &SessionEvidence) -> Problem {
    let name = &session.name;
    let (how, hint) = match session.state {
        Some(SessionState::StoppedByMaxDuration) => {
            let bound = session.max_duration_seconds.map(|seconds| format!(" of {seconds} s")).unwrap_or_default();
            (
                format!("was stopped by its own bound, MAX_DURATION{bound}"),
                "repeat the capture over a connection that lasts",
            )
        }
        Some(SessionState::StoppedByRestart) => ("stopped when the server restarted".to_owned(), "repeat the capture"),
        Some(SessionState::StartedAgain) => {
            ("was stopped by someone and started again".to_owned(), "find out who did it, and repeat the capture")
        }
        _ => ("was stopped by someone".to_owned(), "find out who stopped it, and repeat the capture"),
    };
    let message = format!("session {name} {how} before its target was read: its events are lost");
    Problem::new("stopped_by_server", Severity::Partial, message).with_hint(hint)
}

/// Events that the session did not count, or no more.
fn losses(session: &SessionEvidence) -> Vec<Problem> {
    let name = &session.name;
    let mut problems = Vec::new();
    let mut add = |code: &str, severity: Severity, message: String, hint: &str| {
        problems.push(Problem::new(code, severity, message).with_hint(hint));
    };
    if !had_events(session) {
        problems.push(Problem::new("no_events", Severity::Info, format!("session {name} ran and counted no event")));
        return unknown_losses(session).into_iter().chain(problems).collect();
    }
    let more_memory = "repeat the capture with more session memory, or over a shorter window";
    if let Some(dropped) = session.dropped_events.filter(|dropped| *dropped > 0) {
        let message = format!(
            "session {name} dropped {}, one by one, for want of room in its buffers",
            counted(dropped, "event")
        );
        add("events_dropped", Severity::Partial, message, more_memory);
    }
    if let Some(dropped) = session.dropped_buffers.filter(|dropped| *dropped > 0) {
        let message = format!("session {name} dropped {} whole, with all events in it", counted(dropped, "buffer"));
        add("events_dropped", Severity::Partial, message, more_memory);
    }
    if reached_cap(session) {
        add(
            "event_cap_reached",
            Severity::Info,
            format!("session {name} reached its cap: shares hold for its first {}", counted(events(session), "event")),
            "raise --max-events to cover the whole window",
        );
    }
    problems.extend(unknown_losses(session));
    problems
}

fn unknown_losses(session: &SessionEvidence) -> Option<Problem> {
    (session.live && session.dropped_events.is_none()).then(|| {
        let message = format!("session {} does not say how many events it dropped", session.name);
        Problem::new("loss_unknown", Severity::Partial, message).with_hint("the login needs to read sys.dm_xe_sessions")
    })
}

/// What is wrong with the document itself. A full histogram, events that found no slot, and a document that ends early
/// are three things: `truncated` counts events where a build counts them, and is no sign of a cut.
fn document_problems(session: &SessionEvidence) -> Vec<Problem> {
    let name = &session.name;
    let Some(target) = &session.target else { return Vec::new() };
    let mut problems = Vec::new();
    if target.cut {
        let message = format!("the document of {name} ends early: what was cut off is unknown");
        problems.push(
            Problem::new("target_cut", Severity::Partial, message)
                .with_hint("ask for fewer slots (--slots), so that the document stays below 4 MB"),
        );
    }
    if is_at_capacity(session) {
        let message =
            format!("every slot of {name} is in use: further values were counted in other slots, or not at all");
        problems.push(
            Problem::new("at_capacity", Severity::Partial, message)
                .with_hint("repeat the capture with more slots (--slots)"),
        );
    }
    if let Some(events) = events_without_slot(session) {
        let message = format!("{} of {name} found no slot", counted(events, "event"));
        problems.push(Problem::new("events_without_slot", Severity::Partial, message));
    }
    if !target.problems.is_empty() {
        let message = format!("the document of {name} was odd: {}", super::deltas::some_of(&target.problems));
        problems.push(Problem::new("target_oddities", Severity::Warning, message));
    }
    problems
}
