//! Owns the lines above the first section: who was asked, when, and by what means.

use super::{
    MOST_ROWS,
    figures::{count, counted, duration, moment},
    page::{Ink, Page},
};
use crate::model::{Capture, Report, SessionOutcome, SessionReport, StoppedBy, TraceFlagUse, UtcMicros};

const LEAD: &str = "         ";

pub(super) fn print(page: &mut Page, report: &Report) {
    let capture = &report.capture;
    let scenario = capture.scenario.as_deref().map(|name| format!("  scenario {name}")).unwrap_or_default();
    page.line(0, Ink::Strong, &format!("{} {}{scenario}", report.tool.name, report.tool.version));
    field(page, "Server", &server(capture));
    field(page, "Window", &window(capture));
    field(page, "Run", &capture.id);
    for session in capture.sessions.iter().take(MOST_ROWS) {
        page.line(0, Ink::Plain, &format!("Session  {}", session.name));
        page.paragraph(LEAD.len(), Ink::Plain, &session_facts(session));
    }
    if let Some(more) = capture.sessions.len().checked_sub(MOST_ROWS).filter(|&more| more > 0) {
        page.line(LEAD.len(), Ink::Dim, &format!("and {more} more"));
    }
    field(page, "Flags", &trace_flags(&capture.trace_flags));
}

fn field(page: &mut Page, name: &str, text: &str) {
    page.entry(0, (Ink::Plain, &format!("{name:<width$}", width = LEAD.len())), Ink::Plain, text);
}

fn server(capture: &Capture) -> String {
    let Some(server) = &capture.server else { return "unknown".to_owned() };
    let version = server.version.map(|version| format!(", SQL Server {version}")).unwrap_or_default();
    let edition = if server.edition.is_empty() { String::new() } else { format!(", {}", server.edition) };
    let machine = server.virtual_machine.as_deref().filter(|kind| !kind.eq_ignore_ascii_case("none"));
    let machine = machine.map(|kind| format!(", virtual machine ({kind})")).unwrap_or_default();
    format!("{}{version} ({}){edition}{machine}", server.name, server.product_version)
}

fn window(capture: &Capture) -> String {
    capture.window.map_or_else(
        || "unknown".to_owned(),
        |window| {
            // Files do not say when: their window has a length only.
            if window.started_at == UtcMicros(0) && window.ended_at == UtcMicros(0) {
                return format!("of saved figures, {}", duration(window.elapsed_ms));
            }
            let (started, ended) = (moment(window.started_at), moment(window.ended_at));
            let ended = match (started.split_once(' '), ended.split_once(' ')) {
                (Some((day, _)), Some((same_day, time))) if day == same_day => time,
                _ => &ended,
            };
            format!("{started} to {ended} UTC, {}", duration(window.elapsed_ms))
        },
    )
}

fn session_facts(session: &SessionReport) -> String {
    let event = session.event.as_deref().unwrap_or("event unknown");
    if let Some(fate) = fate(session) {
        return format!("{event}, {fate}");
    }
    let slots = match session.buckets {
        Some(buckets) => format!("{} of {} slots used", count(session.slots_used), count(buckets)),
        None => format!("{} used", counted(session.slots_used, "slot", "slots")),
    };
    let nothing = if session.outcome == SessionOutcome::NoEvents { ", no events" } else { "" };
    let mut facts = format!("{event}, {slots}{nothing}");
    if session.at_capacity {
        facts.push_str(", at capacity");
    }
    facts.push_str(&losses(session));
    if session.target_cut {
        facts.push_str(", document cut");
    }
    if session.event_cap_reached {
        facts.push_str(", event cap reached");
    }
    facts
}

/// Why there is nothing to tell of a session's slots.
fn fate(session: &SessionReport) -> Option<&'static str> {
    Some(match (session.outcome, session.stopped_by) {
        (SessionOutcome::Counted | SessionOutcome::NoEvents, _) => return None,
        (SessionOutcome::NotCreated, _) => "not created",
        (SessionOutcome::Missing, _) => "missing when it was to be read",
        (SessionOutcome::StoppedByServer, Some(StoppedBy::MaxDuration)) => "stopped by its own MAX_DURATION",
        (SessionOutcome::StoppedByServer, Some(StoppedBy::Restart)) => "stopped by a restart of the server",
        (SessionOutcome::StoppedByServer, Some(StoppedBy::Someone) | None) => "stopped by someone",
    })
}

fn losses(session: &SessionReport) -> String {
    let losses = [
        (session.events_without_slot, "events without a slot"),
        (session.dropped_events, "events dropped"),
        (session.dropped_buffers, "buffers dropped"),
    ];
    if losses.iter().all(|(number, _)| *number == Some(0)) {
        return ", nothing lost".to_owned();
    }
    let told = |(number, what): (Option<u64>, &str)| {
        let number = number.map_or_else(|| "unknown".to_owned(), count);
        format!(", {what}: {number}")
    };
    losses.map(told).concat()
}

fn trace_flags(flags: &[TraceFlagUse]) -> String {
    if flags.is_empty() {
        return "none used".to_owned();
    }
    let told = |flag: &TraceFlagUse| {
        let before = match flag.global_before {
            Some(true) => "on before",
            Some(false) => "off before",
            None => "state before unknown",
        };
        let use_of_it = match (flag.enabled_by_us, flag.scope.as_str()) {
            (false, _) => "not changed".to_owned(),
            (true, "global") => format!("turned on globally for {}", duration(flag.on_ms)),
            (true, scope) => format!("turned on in {scope} scope"),
        };
        let after = match (flag.enabled_by_us, flag.restored) {
            (false, _) => "",
            (true, true) => ", restored",
            (true, false) => ", NOT RESTORED",
        };
        format!("{} {before}, {use_of_it}{after}", flag.flag)
    };
    flags.iter().take(MOST_ROWS).map(told).collect::<Vec<_>>().join("; ")
}
