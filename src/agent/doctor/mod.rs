//! Owns the look before anything is asked for: what a login may do on a server, what each scenario would run and cost
//! there, what is missing. It settles each scenario's plan as a capture does, and changes nothing.

mod cost;
mod outlook;

use crate::agent::preflight::{self, Plan, error_log, rights, side_effects};
use crate::agent::run::Marker;
use crate::agent::server::Server;
use crate::agent::{CaptureError, CaptureOptions, Surroundings, counters};
use crate::catalog::sessions::Scenario;
use crate::model::{
    DOCTOR_SCHEMA, Doctor, EventSessions, OwnSession, Problem, ScenarioOutlook, ServerIdentity, ServerLoad, Severity,
    Snapshot, Table, Tool, TraceFlagOutlook,
};
use crate::statements::{Statements, symbol_trace_flags};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorOptions {
    /// Scenarios, each judged alone.
    pub scenarios: Vec<String>,
    /// Length of the window that is thought of.
    pub window: Duration,
    /// Which program asks.
    pub tool: Tool,
}

/// Looks. Errors: no connection, a login that may not even see who answers, a server that is not SQL Server or of a
/// version that is not known.
pub async fn doctor(surroundings: &Surroundings, options: &DoctorOptions) -> Result<Doctor, CaptureError> {
    let Surroundings { sessions, clock, interrupt, .. } = surroundings;
    let scenarios = options
        .scenarios
        .iter()
        .map(|name| sessions.joined_scenarios(name).map(|found| found.into_iter().cloned().collect()))
        .collect::<Result<Vec<Vec<Scenario>>, _>>()?;
    let connecting = Server::connect(&surroundings.connect, Arc::clone(clock));
    let mut server = tokio::select! {
        connected = connecting => connected?,
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    };
    let looking = Box::pin(look(&mut server, surroundings, &scenarios, options));
    // Nothing is ever changed here: an interrupt may drop the connection in the middle of a statement.
    let found = tokio::select! {
        found = looking => found?,
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    };
    server.close().await;
    Ok(found)
}

async fn look(
    server: &mut Server,
    surroundings: &Surroundings,
    scenarios: &[Vec<Scenario>],
    options: &DoctorOptions,
) -> Result<Doctor, CaptureError> {
    let Surroundings { sessions, clock, .. } = surroundings;
    let mut problems = Vec::new();
    let mut identity = preflight::identify(server, sessions).await?;
    let version = preflight::known_version(&identity)?;
    let statements = Statements::new(sessions, version);
    let rights = rights::read(server, &statements).await?;
    let started = load_counters(server, &statements, surroundings, &mut problems).await?;
    let mut outlooks = Vec::new();
    let mut plans = Vec::new();
    for (name, joined) in options.scenarios.iter().zip(scenarios) {
        let plan = plan(server, surroundings, &identity, joined, options).await?;
        let poll = match &plan {
            Err(_) => None,
            Ok(_) => cost::of_a_poll(server, &statements, clock, joined).await?,
        };
        outlooks.push(outlook::of_scenario(name, joined, plan.as_ref(), &rights, &identity, poll));
        plans.extend(plan.ok());
    }
    let now = load_counters(server, &statements, surroundings, &mut problems).await?;
    let cpu_share = counters::cpu_share(&started, &now);
    identity.virtual_machine = virtual_machine(&now).or(identity.virtual_machine);
    let uptime_ms = identity.ms_ticks.zip(identity.started_ms_ticks).map(|(now, since)| now - since);
    let work_queue = now.tables.contains_key("dm_os_schedulers").then(|| counters::work_queue(&now));
    let side_effects = side_effects::read(server, &statements).await?;
    problems.extend(side_effects.unreadable.iter().map(|what| unknown("side_effects_unknown", what)));
    let event_sessions = event_sessions(server, &statements, surroundings, &mut problems).await?;
    let flags = trace_flags(server, &statements, &mut problems).await?;
    let trace_flags = TraceFlagOutlook {
        symbol_flags: symbol_trace_flags(version).to_vec(),
        ..outlook::opt_in(flags, &rights, &plans, cpu_share, &now)
    };
    for problem in plans.into_iter().flat_map(|plan| plan.problems) {
        // Counters without stacks are told with their scenario.
        if problem.code != preflight::COUNTERS_ONLY && !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    Ok(Doctor {
        schema: DOCTOR_SCHEMA.to_owned(),
        tool: options.tool.clone(),
        asked_at: clock.utc(),
        symbols: outlook::symbols(&identity, &outlooks),
        load: ServerLoad { cpu_share, work_queue, uptime_ms },
        login: outlook::of_login(&rights),
        scenarios: with_error_log(outlooks, &trace_flags),
        trace_flags,
        event_sessions,
        side_effects: outlook::side_effects(side_effects),
        server: identity,
        problems,
    })
}

/// A scenario's plan, or why there is none. Only a lost connection ends the look.
async fn plan(
    server: &mut Server,
    surroundings: &Surroundings,
    identity: &ServerIdentity,
    scenarios: &[Scenario],
    options: &DoctorOptions,
) -> Result<Result<Plan, CaptureError>, CaptureError> {
    let Surroundings { sessions, clock, interrupt, .. } = surroundings;
    let of_capture = CaptureOptions::new("", options.window, PathBuf::new());
    match preflight::plan(server, identity.clone(), sessions, scenarios, &of_capture, &**clock, interrupt).await {
        Err(CaptureError::Server(error)) if error.is_connection_lost() => Err(error.into()),
        Err(CaptureError::Interrupted) => Err(CaptureError::Interrupted),
        result => Ok(result),
    }
}

async fn load_counters(
    server: &mut Server,
    statements: &Statements<'_>,
    surroundings: &Surroundings,
    problems: &mut Vec<Problem>,
) -> Result<Snapshot, CaptureError> {
    let names = ["dm_os_sys_info".to_owned(), "dm_os_schedulers".to_owned()];
    Ok(counters::read(server, statements, &*surroundings.clock, &names, problems).await?)
}

fn virtual_machine(now: &Snapshot) -> Option<String> {
    now.tables.get("dm_os_sys_info")?.text(0, "virtual_machine_type_desc").map(str::to_owned)
}

fn unknown(code: &str, what: &str) -> Problem {
    Problem::new(code, Severity::Partial, format!("not known: {what}"))
}

/// A table, or a problem where it cannot be read.
async fn table(
    server: &mut Server,
    statements: &Statements<'_>,
    name: &str,
    code: &str,
    problems: &mut Vec<Problem>,
) -> Result<Option<Table>, CaptureError> {
    match server.table(&statements.common(name, &[])?).await {
        Ok(table) => Ok(Some(table)),
        Err(error) if error.is_connection_lost() => Err(error.into()),
        Err(error) => {
            problems.push(unknown(code, &format!("{name}: {}", counters::chain(&error))));
            Ok(None)
        }
    }
}

async fn event_sessions(
    server: &mut Server,
    statements: &Statements<'_>,
    surroundings: &Surroundings,
    problems: &mut Vec<Problem>,
) -> Result<EventSessions, CaptureError> {
    let Some(listed) = table(server, statements, "list_sessions", "event_sessions_unknown", problems).await? else {
        return Ok(EventSessions::default());
    };
    let clock = table(server, statements, "server_clock", "server_clock_unknown", problems).await?;
    // A run of another machine is only dead by the server's own clock.
    let server_unix = clock.and_then(|clock| clock.integer(0, "unix_seconds")).unwrap_or(i64::MIN);
    let mut found = EventSessions { running: Some(Vec::new()), ours: Vec::new() };
    for row in 0..listed.rows.len() {
        let Some(name) = listed.text(row, "name") else { continue };
        let running = listed.integer(row, "running") == Some(1);
        match name.parse::<Marker>() {
            Ok(marker) => found.ours.push(OwnSession {
                name: name.to_owned(),
                run_id: marker.run_id.to_string(),
                dead: marker.is_dead(&surroundings.here, server_unix),
                running,
            }),
            Err(_) if running => found.running.get_or_insert_default().push(name.to_owned()),
            Err(_) => {}
        }
    }
    Ok(found)
}

/// The flags that are on globally; `None` where that cannot be told, which is not the same as off.
async fn trace_flags(
    server: &mut Server,
    statements: &Statements<'_>,
    problems: &mut Vec<Problem>,
) -> Result<Option<Vec<i64>>, CaptureError> {
    if symbol_trace_flags(statements.version()).is_empty() {
        return Ok(None);
    }
    let listed = table(server, statements, "global_trace_flags", "trace_status_unknown", problems).await?;
    Ok(listed.map(|flags| {
        let on = |row: &usize| flags.integer(*row, "Global") == Some(1);
        (0..flags.rows.len()).filter(on).filter_map(|row| flags.integer(row, "TraceFlag")).collect()
    }))
}

fn with_error_log(outlooks: Vec<ScenarioOutlook>, flags: &TraceFlagOutlook) -> Vec<ScenarioOutlook> {
    /// Windows of a day, one every fifteen minutes.
    const WINDOWS: u64 = 96;
    let trace_flag_lines = if flags.opt_in_accepted { error_log::of_flags(flags.symbol_flags.len()) } else { 0 };
    let told = |mut scenario: ScenarioOutlook| {
        scenario.error_log.trace_flag_lines = if scenario.would_run.is_some() { trace_flag_lines } else { 0 };
        let lines = scenario.error_log.session_lines + scenario.error_log.trace_flag_lines;
        scenario.error_log.lines_a_day_every_15_minutes = lines * WINDOWS;
        scenario
    };
    outlooks.into_iter().map(told).collect()
}
