//! Owns the text of `xestack doctor`: one screen, the scenarios first.

use super::{
    Style,
    figures::{count, counted, figure, percent},
    page::{Ink, Page},
};
use crate::model::{
    Doctor, NeedState, PollCost, ScenarioOutlook, ScenarioReadiness, ServerIdentity, Severity, WouldRun,
};

const LEAD: usize = 9;

/// What was found, for people.
pub(in crate::report) fn render(doctor: &Doctor, style: &Style) -> String {
    let mut page = Page::new(style);
    page.line(0, Ink::Strong, &format!("{} {} doctor: nothing was changed", doctor.tool.name, doctor.tool.version));
    header(&mut page, doctor);
    page.heading("Scenarios");
    for scenario in &doctor.scenarios {
        print_scenario(&mut page, scenario);
    }
    page.heading("Rights");
    rights(&mut page, doctor);
    page.heading("On the server now");
    now(&mut page, doctor);
    page.heading("Symbols");
    page.paragraph(2, Ink::Plain, &doctor.symbols.text);
    page.heading("Not known");
    unknown(&mut page, doctor);
    page.into_text()
}

fn field(page: &mut Page, name: &str, text: &str) {
    page.entry(0, (Ink::Plain, &format!("{name:<LEAD$}")), Ink::Plain, text);
}

fn header(page: &mut Page, doctor: &Doctor) {
    field(page, "Server", &server(&doctor.server, doctor.load.uptime_ms));
    let sysadmin = if doctor.login.sysadmin { ", sysadmin" } else { "" };
    field(page, "Login", &format!("{}{sysadmin}", doctor.login.name));
    let cpu = doctor.load.cpu_share.map_or_else(|| "unknown".to_owned(), percent);
    let queue = match doctor.load.work_queue {
        None => "tasks waiting for a worker unknown".to_owned(),
        Some(queued) => format!("{} waiting for a worker", counted(queued.max(0) as u64, "task", "tasks")),
    };
    field(page, "Load", &format!("{cpu} of the schedulers' time, {queue}"));
}

fn server(server: &ServerIdentity, uptime_ms: Option<i64>) -> String {
    let known = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let version =
        server.version.map_or_else(|| "version unknown".to_owned(), |version| format!("SQL Server {version}"));
    let mut facts =
        vec![server.name.clone(), format!("{version} ({})", server.product_version), server.edition.clone()];
    facts.extend(known(&server.host_platform));
    facts.extend(known(&server.collation));
    facts.extend(
        known(&server.virtual_machine).filter(|kind| kind != "NONE").map(|kind| format!("virtual machine ({kind})")),
    );
    facts.extend(uptime_ms.map(|ms| format!("up {}", uptime(ms))));
    facts.retain(|fact| !fact.is_empty());
    facts.join(", ")
}

/// The two largest units: `3 d 2 h`, `5 min 10 s`.
fn uptime(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

fn print_scenario(page: &mut Page, scenario: &ScenarioOutlook) {
    let (ink, state) = match scenario.readiness {
        ScenarioReadiness::Ready => (Ink::Good, "ready"),
        ScenarioReadiness::CountersOnly => (Ink::Warning, "counters only"),
        ScenarioReadiness::Impossible => (Ink::Bad, "impossible"),
    };
    page.line(2, ink, &format!("{}: {state}", scenario.name));
    if let Some(reason) = &scenario.reason {
        page.paragraph(4, Ink::Plain, reason);
    }
    if let Some(remedy) = &scenario.remedy {
        page.paragraph(4, Ink::Strong, remedy);
    }
    if let Some(run) = &scenario.would_run {
        page.paragraph(4, Ink::Plain, &would_run(run));
    } else if scenario.readiness == ScenarioReadiness::Ready {
        page.paragraph(4, Ink::Plain, "Makes no event session: its counters answer.");
    }
    if let Some(poll) = &scenario.poll {
        page.paragraph(4, Ink::Plain, &cost(poll));
    }
    if scenario.would_run.is_some() {
        let log = scenario.error_log;
        let flags = if log.trace_flag_lines == 0 {
            String::new()
        } else {
            format!(", up to {} with --enable-trace-flags", counted(log.trace_flag_lines, "more", "more"))
        };
        let text = format!(
            "Error log: {} a window{flags}; every 15 minutes up to {} a day.",
            counted(log.session_lines, "line", "lines"),
            count(log.lines_a_day_every_15_minutes)
        );
        page.paragraph(4, Ink::Plain, &text);
    }
}

fn would_run(run: &WouldRun) -> String {
    let survey = run.survey_seconds.map_or_else(String::new, |seconds| format!("A survey of {seconds} s, then "));
    let further = match run.further_events.as_slice() {
        [] => String::new(),
        events => format!(" and, each in a session of its own, {}", events.join(", ")),
    };
    let session = format!(
        "{survey}{} by {} in {} slots{further}, {} KB of session memory{}{}, up to {} KB of target memory, at most {} events",
        run.event,
        run.action,
        count(run.slots),
        count(run.session_memory_kb),
        if run.partition_mode == "NONE" { "" } else { " a node" },
        if run.further_events.is_empty() { "" } else { " each" },
        count(run.target_bytes.div_ceil(1024)),
        count(run.event_cap),
    );
    let rate = match run.events_per_second {
        Some(rate) => format!("about {} events/s now (limit {})", figure(rate), count(run.events_per_second_limit)),
        None => format!("events/s found by the survey (limit {})", count(run.events_per_second_limit)),
    };
    let bound = run
        .max_duration_seconds
        .map_or_else(String::new, |seconds| format!("; the server ends it after {seconds} s by itself"));
    format!("{session}; {rate}{bound}.")
}

fn cost(poll: &PollCost) -> String {
    let cpu = match poll.cpu_ms {
        None => "an unknown time of server CPU".to_owned(),
        Some(ms) => format!("{} ms of server CPU", figure(ms)),
    };
    let above = if poll.cpu_ms.is_some_and(|ms| ms > poll.cpu_ms_bound) { ", ABOVE IT" } else { "" };
    format!(
        "Reading its counters: {cpu} (bound {} ms{above}), answered in {} ms (mean of {}).",
        figure(poll.cpu_ms_bound),
        figure((poll.answer_ms * 10.0).round() / 10.0),
        poll.readings
    )
}

fn rights(page: &mut Page, doctor: &Doctor) {
    for need in &doctor.login.needs {
        let (ink, state) = match need.state {
            NeedState::Held => (Ink::Good, "yes"),
            NeedState::Missing => (Ink::Bad, "no"),
            NeedState::NotOffered => (Ink::Dim, "not offered here"),
        };
        let grant = match (&need.run_in, &need.grant) {
            (Some(database), Some(grant)) => format!(", in {database}: {grant}"),
            _ => String::new(),
        };
        page.entry(2, (ink, &format!("{:<36}", need.need)), ink, &format!("{state}{grant}"));
    }
    let named = |wanted: bool| {
        let of = |(_, held): &(&String, &Option<bool>)| **held == Some(wanted);
        let names = doctor.login.permissions.iter().filter(of).map(|(name, _)| name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    for (lead, wanted) in [("Held: ", true), ("Not held: ", false)] {
        let names = named(wanted);
        if !names.is_empty() {
            page.entry(2, (Ink::Dim, lead), Ink::Dim, &names);
        }
    }
}

fn now(page: &mut Page, doctor: &Doctor) {
    let flags = &doctor.trace_flags;
    let on = match &flags.on_globally {
        None if flags.symbol_flags.is_empty() => "none offered here".to_owned(),
        None => "unknown".to_owned(),
        Some(on) if on.is_empty() => "none on globally".to_owned(),
        Some(on) => format!("on globally: {}", on.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    };
    page.entry(2, (Ink::Plain, "Trace flags: "), Ink::Plain, &on);
    page.entry(2, (Ink::Plain, "--enable-trace-flags: "), Ink::Plain, &flags.opt_in);
    let running = match &doctor.event_sessions.running {
        None => "cannot be seen".to_owned(),
        Some(names) if names.is_empty() => "none".to_owned(),
        Some(names) => format!("{} (they can cause spins of LOCK_HASH themselves)", names.join(", ")),
    };
    page.entry(2, (Ink::Plain, "Other event sessions: "), Ink::Plain, &running);
    for session in &doctor.event_sessions.ours {
        let state = if session.dead { "dead: xestack cleanup removes it" } else { "at work" };
        page.entry(2, (Ink::Warning, "Ours: "), Ink::Plain, &format!("run {}, {state}", session.run_id));
    }
    for (name, events) in &doctor.side_effects.ddl_triggers {
        let text = format!("{name} ({}) runs on what a capture does, and may undo it", events.join(", "));
        page.entry(2, (Ink::Warning, "DDL trigger: "), Ink::Plain, &text);
    }
    if !doctor.side_effects.audits.is_empty() {
        page.entry(2, (Ink::Plain, "Audits on: "), Ink::Plain, &doctor.side_effects.audits.join(", "));
    }
    if doctor.side_effects.ddl_triggers.is_empty() && doctor.side_effects.audits.is_empty() {
        page.line(2, Ink::Plain, "No DDL trigger on event sessions and no audit that this login can see.");
    }
}

fn unknown(page: &mut Page, doctor: &Doctor) {
    if doctor.problems.is_empty() {
        page.line(2, Ink::Plain, "Nothing that was asked for.");
    }
    for problem in &doctor.problems {
        let ink = if problem.severity == Severity::Info { Ink::Plain } else { Ink::Warning };
        page.paragraph(2, ink, &format!("{}: {}", problem.code, problem.message));
        if let Some(hint) = &problem.hint {
            page.paragraph(4, Ink::Dim, hint);
        }
    }
}
