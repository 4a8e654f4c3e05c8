//! Owns how each target document is reported, and what is wrong with it.

use super::{
    shares::{events_without_slot, is_at_capacity},
    words::counted,
};
use crate::model::{Problem, SessionEvidence, SessionReport, Severity};

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

/// Whether the session stopped counting because it reached its cap.
pub fn reached_cap(session: &SessionEvidence) -> bool {
    session.event_cap.is_some_and(|cap| events(session) >= u128::from(cap))
}

/// Whether nothing came back of a session: no document and no stacks.
pub fn is_missing(session: &SessionEvidence) -> bool {
    session.target.is_none() && session.pasted.is_empty()
}

/// A session as the report shows it.
pub fn report(session: &SessionEvidence) -> SessionReport {
    let target = session.target.as_ref();
    SessionReport {
        name: session.name.clone(),
        event: session.context.event.clone(),
        slots_requested: session.slots_requested,
        buckets: target.and_then(|target| target.buckets),
        slots_used: target.map_or(0, |target| target.slots.len() as u64) + session.pasted.len() as u64,
        at_capacity: is_at_capacity(session),
        events_without_slot: events_without_slot(session),
        dropped_events: session.dropped_events,
        dropped_buffers: session.dropped_buffers,
        target_cut: target.is_some_and(|target| target.cut),
    }
}

/// What is wrong with a session or its document.
pub fn problems(session: &SessionEvidence) -> Vec<Problem> {
    let name = &session.name;
    let mut problems = Vec::new();
    let mut add = |code: &str, severity: Severity, message: String, hint: &str| {
        let problem = Problem::new(code, severity, message);
        problems.push(if hint.is_empty() { problem } else { problem.with_hint(hint) });
    };
    if is_missing(session) {
        add(
            "session_missing",
            Severity::Partial,
            format!("session {name} was gone when its target was to be read: its events are lost"),
            "find out who stopped it, and repeat the capture",
        );
        return problems;
    }
    if events(session) == 0 {
        add("no_events", Severity::Info, format!("session {name} ran and counted no event"), "");
    }
    let Some(target) = &session.target else { return problems };
    if target.cut {
        add(
            "target_cut",
            Severity::Partial,
            format!("the document of {name} ends early: what was cut off is unknown"),
            "ask for fewer slots (--slots), so that the document stays below 4 MB",
        );
    }
    if is_at_capacity(session) {
        add(
            "at_capacity",
            Severity::Partial,
            format!("every slot of {name} is in use: further values were counted in other slots, or not at all"),
            "repeat the capture with more slots (--slots)",
        );
    }
    if let Some(events) = events_without_slot(session) {
        add(
            "events_without_slot",
            Severity::Partial,
            format!("{} of {name} found no slot", counted(events, "event")),
            "",
        );
    }
    let (dropped, buffers) = (session.dropped_events.unwrap_or(0), session.dropped_buffers.unwrap_or(0));
    if dropped > 0 || buffers > 0 {
        add(
            "events_dropped",
            Severity::Partial,
            format!("session {name} dropped {} and {}", counted(dropped, "event"), counted(buffers, "buffer")),
            "repeat the capture with more session memory, or over a shorter window",
        );
    }
    if session.live && session.dropped_events.is_none() {
        add(
            "loss_unknown",
            Severity::Partial,
            format!("session {name} does not say how many events it dropped"),
            "the login needs to read sys.dm_xe_sessions",
        );
    }
    if reached_cap(session) {
        add(
            "event_cap_reached",
            Severity::Info,
            format!("session {name} reached its cap: shares hold for its first {}", counted(events(session), "event")),
            "raise --max-events to cover the whole window",
        );
    }
    if !target.problems.is_empty() {
        add(
            "target_oddities",
            Severity::Warning,
            format!("the document of {name} was odd: {}", super::deltas::some_of(&target.problems)),
            "",
        );
    }
    problems
}
