//! Owns a capture as a whole: what is settled before it, the window, the record of every change, and putting things back
//! on every way out.

pub mod cleanup;
pub mod clock;
mod close;
mod counters;
pub mod doctor;
mod flags;
mod guards;
mod home;
pub mod journal;
mod listing;
mod locks;
mod look_around;
mod meaning;
mod open;
mod outcome;
mod preflight;
pub mod progress;
mod queries;
mod refusal;
mod restore;
pub mod run;
mod server;
mod session;
mod survey;
mod undo;
mod window;

pub use cleanup::{CleanupOptions, CleanupOutcome, cleanup};
pub use look_around::look_around;
pub use open::WINDOW_STOPPED_EARLY;
pub use outcome::{
    CaptureError, CaptureOptions, GuardOptions, LeftBehind, Outcome, RawTarget, Refusal, TraceFlagOptions,
};
pub use server::RECONNECT_LIMIT;
pub use undo::{Answer, HandedOver, Sent};

use crate::agent::clock::Clock;
use crate::agent::journal::{Journal, Step};
use crate::agent::preflight::{Key, Plan, error_log};
use crate::agent::progress::{Interrupt, Observer, Progress};
use crate::agent::run::{Marker, Owner, RunId};
use crate::agent::server::Server;
use crate::agent::window::{Gathered, Window};
use crate::catalog::sessions::{Scenario, Sessions};
use crate::model::{Evidence, Problem};
use crate::sqlserver::ConnectOptions;
use crate::statements::{Statements, latency_seconds};
use crate::store::bundle::MapKey;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long after its window a run may still be at work, beside the dispatch latency (architecture, section 4).
const DEADLINE_MARGIN: Duration = Duration::from_mins(2);

/// What a capture works with.
#[derive(Clone)]
pub struct Surroundings {
    /// Scenarios and statements.
    pub sessions: Arc<Sessions>,
    /// Where to connect.
    pub connect: ConnectOptions,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Who is told of progress.
    pub observer: Observer,
    /// The wish to stop.
    pub interrupt: Interrupt,
    /// The process that owns the runs: this one, but where another machine is to be told apart.
    pub here: Owner,
}

/// The journal, shared so that it outlives a panic in the window.
pub(crate) type SharedJournal = Arc<Mutex<Journal>>;

/// Locks the journal; a panic elsewhere does not make its entries less true.
pub(crate) fn lock(journal: &SharedJournal) -> MutexGuard<'_, Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens one window, puts everything back, and gives what was found.
///
/// Whatever happens after the first change (an error, an interrupt, a lost connection, a panic), restoring runs. What
/// could not be put back is in [`Outcome::left_behind`] or [`CaptureError::LeftBehind`].
pub async fn capture(surroundings: &Surroundings, options: &CaptureOptions) -> Result<Outcome, CaptureError> {
    let Surroundings { sessions, clock, observer, interrupt, .. } = surroundings;
    let scenarios: Vec<Scenario> = sessions.joined_scenarios(&options.scenario)?.into_iter().cloned().collect();
    let run_id = RunId::new(clock.utc(), fastrand::u32(..));
    let state_dir_failed = |source| CaptureError::StateDir { path: options.state_dir.clone(), source };
    let journal = Journal::create(&options.state_dir, &run_id).map_err(state_dir_failed)?;
    let mut server = tokio::select! {
        connected = Server::connect(&surroundings.connect, Arc::clone(clock)) => connected?,
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    };
    server.heed(interrupt);
    // Nothing of this run has been changed yet: an interrupt may drop the connection in the middle of a statement.
    let plan = tokio::select! {
        plan = Box::pin(sweep_and_plan(&mut server, surroundings, &scenarios, options)) => plan?,
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    };
    observer(&Progress::Connected {
        server: plan.server.name.clone(),
        product_version: plan.server.product_version.clone(),
    });
    for text in announcements(&plan) {
        observer(&Progress::Note(text));
    }
    let statements = Statements::new(sessions, plan.version);
    for scenario in &scenarios {
        locks::take_scenario(&mut server, &statements, scenario, surroundings).await?;
    }
    let server_unix = listing::server_clock(&mut server, &statements).await?;
    if interrupt.is_signalled() {
        return Err(CaptureError::Interrupted);
    }
    let marker = marker(&run_id, &plan, options, surroundings, server_unix);
    let journal: SharedJournal = Arc::new(Mutex::new(journal));
    let begin = Step::Begin {
        server: surroundings.connect.address.to_string(),
        server_name: Some(plan.server.name.clone()),
        server_started: plan.server.started_ms_ticks,
        owner: Some(surroundings.here.clone()),
        flags_on_before: plan.flags.iter().filter(|flag| flag.is_on_before()).map(|flag| flag.flag).collect(),
    };
    lock(&journal).write(&**clock, begin, journal::State::Done).map_err(state_dir_failed)?;
    // A caller that drops this future wants the end; the run still puts everything back.
    let dropped = interrupt.child();
    let of_run = Surroundings { interrupt: dropped.clone(), ..surroundings.clone() };
    let _end_when_dropped = SignalOnDrop(dropped);
    server.heed(&of_run.interrupt);
    let plan = Arc::new(plan);
    let task = restore::Task {
        plan: Arc::clone(&plan),
        marker: marker.clone(),
        journal: Arc::clone(&journal),
        surroundings: of_run.clone(),
        flag_scope: None,
    };
    let window = Window {
        server,
        surroundings: of_run,
        options: options.clone(),
        plan: (*plan).clone(),
        marker,
        journal,
        gathered: Gathered::default(),
    };
    let (mut gathered, result, mut restored) = tokio::spawn(restore::run_and_restore(window, task))
        .await
        .map_err(|panic| CaptureError::Internal(panic.to_string()))?;
    gathered.problems.append(&mut restored.problems);
    if restored.left_behind.is_empty() {
        observer(&Progress::Restored);
    }
    let plan = Arc::unwrap_or_clone(plan);
    finish(&run_id, plan, gathered, result, restored, surroundings, options)
}

/// Undoes what dead runs left, then plans this one.
async fn sweep_and_plan(
    server: &mut Server,
    surroundings: &Surroundings,
    scenarios: &[Scenario],
    options: &CaptureOptions,
) -> Result<Plan, CaptureError> {
    let Surroundings { sessions, clock, interrupt, .. } = surroundings;
    let identity = preflight::identify(server, sessions).await?;
    let mut problems = Vec::new();
    if let Some(version) = identity.version {
        problems = cleanup::sweep(server, surroundings, &identity, version, &options.state_dir).await;
        server.heed(interrupt);
        server.reconnect().await?;
    }
    let mut plan = preflight::plan(server, identity, sessions, scenarios, options, &**clock, interrupt).await?;
    plan.problems.splice(0..0, problems);
    Ok(plan)
}

/// Says that the end is wanted when it is dropped.
struct SignalOnDrop(Interrupt);

impl Drop for SignalOnDrop {
    fn drop(&mut self) {
        self.0.signal();
    }
}

/// What a person should know of the plan before anything is changed: rates and bounds, and what the changes set off.
fn announcements(plan: &Plan) -> Vec<String> {
    let Some(events) = &plan.events else {
        let why = plan.problems.iter().find(|problem| problem.code == preflight::COUNTERS_ONLY);
        let told = |problem: &Problem| match &problem.hint {
            Some(hint) => format!("{}; {hint}", problem.message),
            None => problem.message.clone(),
        };
        return why.map(told).into_iter().collect();
    };
    let of_scenario = |planned: &preflight::ScenarioPlan| {
        let rate = match planned.events_per_second {
            Some(rate) => format!("about {rate:.0} events a second are to be expected"),
            None => "its event rate is measured first".to_owned(),
        };
        format!(
            "{}: {rate}; at most {} events are counted, in {} KB of session memory and up to {} KB of target memory",
            planned.scenario.name,
            events.max_events,
            events.max_memory_kb * planned.sessions.len() as u64,
            planned.most_bytes().div_ceil(1024)
        )
    };
    let sessions = plan.scenarios.iter().map(preflight::ScenarioPlan::session_count).sum();
    let of_sessions = error_log::of_sessions(&plan.server.product_version, sessions);
    let logged = error_log::in_words(of_sessions, error_log::of_flags(plan.flags_to_use.len()));
    let with_sessions = plan.scenarios.iter().filter(|planned| !planned.sessions.is_empty());
    with_sessions.map(of_scenario).chain(logged).chain(plan.side_effects.in_words()).collect()
}

/// The run's marker. Its deadline, on the server's clock, which all machines can ask, covers the survey, the window and the
/// time to put things back.
fn marker(
    run_id: &RunId,
    plan: &Plan,
    options: &CaptureOptions,
    surroundings: &Surroundings,
    server_unix: i64,
) -> Marker {
    let was_on = |flag: u32| plan.flags.iter().any(|state| state.flag == flag && state.is_on_before());
    let seconds_of = |scenario: &Scenario| {
        let latency = latency_seconds(scenario);
        latency + scenario.survey.as_ref().map_or(0, |survey| survey.seconds + 2 * latency)
    };
    let beside: u64 = plan.scenarios.iter().map(|planned| seconds_of(&planned.scenario)).sum();
    let lasts = options.window + Duration::from_secs(beside) + DEADLINE_MARGIN;
    Marker {
        scenario: String::new(),
        run_id: run_id.clone(),
        owner: surroundings.here.clone(),
        deadline_unix: server_unix.saturating_add_unsigned(lasts.as_secs()),
        flags: plan.flags_to_use.iter().copied().filter(|flag| !was_on(*flag)).collect(),
    }
}

/// What a run has brought together: an outcome where anything was captured, else the error.
fn finish(
    run_id: &RunId,
    plan: Plan,
    mut gathered: Gathered,
    result: Result<(), CaptureError>,
    restored: restore::Restored,
    surroundings: &Surroundings,
    options: &CaptureOptions,
) -> Result<Outcome, CaptureError> {
    let left_behind = restored.left_behind;
    if let Err(error) = result
        && gathered.before.is_none()
    {
        return Err(if left_behind.is_empty() {
            error
        } else {
            CaptureError::LeftBehind { left_behind, source: Some(Box::new(error)) }
        });
    }
    let build = plan.server.product_version.clone();
    let mut map_keys: Vec<MapKey> = Vec::new();
    for planned in plan.scenarios.iter().flat_map(|planned| &planned.sessions) {
        for Key { key, value } in planned.keys.iter().flatten() {
            let key = MapKey {
                map: planned.template.map.trim_matches('%').to_owned(),
                value: value.clone(),
                key: i64::try_from(*key).unwrap_or(i64::MAX),
                build: build.clone(),
            };
            if !map_keys.contains(&key) {
                map_keys.push(key);
            }
        }
    }
    let limited_to = preflight::limited_to(&plan.server);
    for session in &mut gathered.sessions {
        session.filters.extend(limited_to.clone());
    }
    let (other_runs, other_event_sessions) = others(&plan, &gathered, run_id);
    let evidence = Evidence {
        id: run_id.to_string(),
        scenario: Some(options.scenario.clone()),
        server: Some(plan.server),
        window: gathered.window,
        sessions: gathered.sessions,
        before: gathered.before,
        after: gathered.after,
        samples: gathered.samples,
        series: gathered.series,
        statements: gathered.statements,
        trace_flags: restored.trace_flags,
        modules: plan.modules,
        map_names: plan.map_names,
        other_event_sessions,
        other_runs,
        problems: plan.problems.into_iter().chain(gathered.problems).collect(),
    };
    Ok(Outcome {
        evidence,
        targets: gathered.targets,
        statements: restored.statements,
        map_keys,
        left_behind,
        interrupted: surroundings.interrupt.is_signalled(),
    })
}

/// Event sessions beside this run's, before the window or at any moment of it: those of other runs of this program, told
/// by their markers, and those of others.
fn others(plan: &Plan, gathered: &Gathered, run_id: &RunId) -> (Vec<String>, Vec<String>) {
    let snapshots = gathered.before.iter().chain(&gathered.samples).chain(&gathered.after);
    let tables = snapshots.filter_map(|snapshot| snapshot.tables.get("dm_xe_sessions"));
    let seen = tables.flat_map(|table| (0..table.rows.len()).filter_map(|row| table.text(row, "name")));
    let all: BTreeSet<&str> = plan.running_sessions.iter().map(String::as_str).chain(seen).collect();
    let mut others = (Vec::new(), Vec::new());
    for name in all {
        match name.parse::<Marker>() {
            Ok(marker) if marker.run_id == *run_id => {}
            Ok(_) => others.0.push(name.to_owned()),
            Err(_foreign) => others.1.push(name.to_owned()),
        }
    }
    others
}
