//! Owns a capture as a whole: what is settled before it, the window, the record of every change, and putting things back
//! on every way out.

pub mod clock;
mod counters;
pub mod doctor;
mod flags;
pub mod journal;
mod meaning;
mod outcome;
mod preflight;
pub mod progress;
mod refusal;
mod restore;
pub mod run;
mod server;
mod session;
mod survey;
mod window;

pub use outcome::{CaptureError, CaptureOptions, LeftBehind, Outcome, RawTarget, Refusal, TraceFlagOptions};

use crate::agent::clock::Clock;
use crate::agent::journal::{Journal, Step};
use crate::agent::preflight::Plan;
use crate::agent::progress::{Interrupt, Observer, Progress};
use crate::agent::run::{Marker, Owner, RunId};
use crate::agent::server::Server;
use crate::agent::window::{Gathered, Window};
use crate::catalog::sessions::{Scenario, Sessions};
use crate::model::{Evidence, Problem};
use crate::sqlserver::ConnectOptions;
use crate::statements::Statements;
use crate::store::bundle::MapKey;
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
    // Nothing has been changed yet: an interrupt may drop the connection in the middle of a statement.
    let plan = tokio::select! {
        plan = Box::pin(preflight::plan(&mut server, sessions, &scenarios, options, &**clock, interrupt)) => plan?,
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
        take_lock(&mut server, &statements, &scenario_lock(scenario)).await?;
    }
    if interrupt.is_signalled() {
        return Err(CaptureError::Interrupted);
    }
    let marker = marker(&run_id, &plan, options, surroundings);
    let journal: SharedJournal = Arc::new(Mutex::new(journal));
    let begin = Step::Begin {
        server: surroundings.connect.address.to_string(),
        flags_on_before: plan.flags.iter().filter(|flag| flag.global == Some(true)).map(|flag| flag.flag).collect(),
    };
    lock(&journal).write(&**clock, begin, journal::State::Done).map_err(state_dir_failed)?;
    let window = Window {
        server,
        surroundings: surroundings.clone(),
        options: options.clone(),
        plan: plan.clone(),
        marker,
        journal: Arc::clone(&journal),
        gathered: Gathered::default(),
    };
    // A task of its own, so that a panic in it ends the task and not the restoring.
    let (server, mut gathered, result) = match tokio::spawn(window.run()).await {
        Ok(finished) => finished,
        Err(panic) => {
            let server = Server::unconnected(&surroundings.connect, Arc::clone(clock), Vec::new());
            (server, Gathered::default(), Err(CaptureError::Internal(panic.to_string())))
        }
    };
    observer(&Progress::Restoring);
    let flag_scope = gathered.flag_scope;
    let task = restore::Task { statements: &statements, plan: &plan, journal: &journal, surroundings, flag_scope };
    let restored = Box::pin(restore::restore(server, &task, &mut gathered.problems)).await;
    if restored.left_behind.is_empty() {
        observer(&Progress::Restored);
    }
    finish(&run_id, plan, gathered, result, restored, surroundings, options)
}

/// The lock that keeps captures of a scenario apart on one instance.
pub(crate) fn scenario_lock(scenario: &Scenario) -> String {
    format!("xestack/{}", scenario.name)
}

async fn take_lock(server: &mut Server, statements: &Statements<'_>, resource: &str) -> Result<(), CaptureError> {
    let granted = server.table(&statements.take_lock(resource)?).await?.integer(0, "result");
    if granted.is_some_and(|result| result >= 0) {
        return Ok(());
    }
    Err(CaptureError::refused(
        Refusal::Busy,
        format!("another run holds the lock {resource} on this server"),
        Some("wait for it to end".to_owned()),
    ))
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
            events.max_memory_kb,
            planned.slots.most_bytes.div_ceil(1024)
        )
    };
    plan.scenarios.iter().map(of_scenario).chain(plan.side_effects.in_words()).collect()
}

/// The run's marker. Its deadline covers the survey, the window and the time to put things back.
fn marker(run_id: &RunId, plan: &Plan, options: &CaptureOptions, surroundings: &Surroundings) -> Marker {
    let was_on = |flag: u32| plan.flags.iter().any(|state| state.flag == flag && state.global == Some(true));
    let seconds_of = |scenario: &Scenario| {
        let latency = scenario.session.dispatch_latency_seconds;
        latency + scenario.survey.as_ref().map_or(0, |survey| survey.seconds + 2 * latency)
    };
    let beside: u64 = plan.scenarios.iter().map(|planned| seconds_of(&planned.scenario)).sum();
    let lasts = options.window + Duration::from_secs(beside) + DEADLINE_MARGIN;
    Marker {
        scenario: String::new(),
        run_id: run_id.clone(),
        owner: surroundings.here.clone(),
        deadline_unix: surroundings.clock.utc().unix_seconds() + lasts.as_secs() as i64,
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
    let map_keys = plan.scenarios.iter().flat_map(|planned| {
        let session = &planned.scenario.session;
        let keys = planned.keys.clone().unwrap_or_default();
        let key = |key: u64| MapKey {
            map: session.map.trim_matches('%').to_owned(),
            value: session.value.clone().or_else(|| plan.map_names.get(&key).cloned()).unwrap_or_default(),
            key: i64::try_from(key).unwrap_or(i64::MAX),
            build: build.clone(),
        };
        keys.into_iter().map(key).collect::<Vec<_>>()
    });
    let map_keys = map_keys.collect();
    let limited_to = preflight::limited_to(&plan.server);
    for session in &mut gathered.sessions {
        session.filters.extend(limited_to.clone());
    }
    let evidence = Evidence {
        id: run_id.to_string(),
        scenario: Some(options.scenario.clone()),
        server: Some(plan.server),
        window: gathered.window,
        sessions: gathered.sessions,
        before: gathered.before,
        after: gathered.after,
        samples: gathered.samples,
        trace_flags: restored.trace_flags,
        modules: plan.modules,
        map_names: plan.map_names,
        other_event_sessions: plan.other_event_sessions,
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
