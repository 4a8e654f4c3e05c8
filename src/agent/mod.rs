//! Owns a capture as a whole: what is settled before it, the window, the record of every change, and putting things back
//! on every way out.

pub mod clock;
mod counters;
mod flags;
pub mod journal;
mod outcome;
mod preflight;
pub mod progress;
mod restore;
pub mod run;
mod server;
mod window;

pub use outcome::{CaptureError, CaptureOptions, LeftBehind, Outcome, RawTarget, Refusal, TraceFlagOptions};

use crate::agent::clock::Clock;
use crate::agent::journal::{Journal, Step};
use crate::agent::preflight::Plan;
use crate::agent::progress::{Interrupt, Observer, Progress};
use crate::agent::run::{Marker, Owner, RunId};
use crate::agent::server::Server;
use crate::agent::window::{Gathered, Window};
use crate::catalog::sessions::Sessions;
use crate::model::Evidence;
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
    let scenario = sessions.scenario(&options.scenario)?.clone();
    let run_id = RunId::new(clock.utc(), fastrand::u32(..));
    let journal = Journal::create(&options.state_dir, &run_id)
        .map_err(|source| CaptureError::StateDir { path: options.state_dir.clone(), source })?;
    let mut server = tokio::select! {
        connected = Server::connect(&surroundings.connect, Arc::clone(clock)) => connected?,
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    };
    let plan = preflight::plan(&mut server, sessions, &scenario, options, &**clock, interrupt).await?;
    observer(&Progress::Connected {
        server: plan.server.name.clone(),
        product_version: plan.server.product_version.clone(),
    });
    let statements = Statements::new(sessions, plan.version);
    take_lock(&mut server, &statements, &format!("xestack/{}", scenario.name)).await?;
    if interrupt.is_signalled() {
        return Err(CaptureError::Interrupted);
    }
    let marker = marker(&scenario.name, &run_id, &plan, scenario.session.dispatch_latency_seconds, options, &**clock);
    let journal: SharedJournal = Arc::new(Mutex::new(journal));
    lock(&journal)
        .write(
            &**clock,
            Step::Begin {
                server: surroundings.connect.address.to_string(),
                session: marker.to_string(),
                flags_on_before: plan
                    .flags
                    .iter()
                    .filter(|flag| flag.global == Some(true))
                    .map(|flag| flag.flag)
                    .collect(),
            },
            journal::State::Done,
        )
        .map_err(|source| CaptureError::StateDir { path: options.state_dir.clone(), source })?;
    let wait_type = scenario.session.wait_type.clone();
    let window = Window {
        server,
        surroundings: surroundings.clone(),
        options: options.clone(),
        scenario,
        plan: plan.clone(),
        session_name: marker.to_string(),
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
    let task = restore::Task {
        statements: &statements,
        marker: &marker,
        plan: &plan,
        journal: &journal,
        surroundings,
        flag_scope: gathered.flag_scope,
    };
    let restored = Box::pin(restore::restore(server, &task, &mut gathered.problems)).await;
    if restored.left_behind.is_empty() {
        observer(&Progress::Restored);
    }
    finish(&run_id, &plan, marker, gathered, result, restored, interrupt, &wait_type)
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

fn marker(
    scenario: &str,
    run_id: &RunId,
    plan: &Plan,
    latency_seconds: u64,
    options: &CaptureOptions,
    clock: &dyn Clock,
) -> Marker {
    let lasts = options.window + Duration::from_secs(latency_seconds) + DEADLINE_MARGIN;
    let was_on = |flag: u32| plan.flags.iter().any(|state| state.flag == flag && state.global == Some(true));
    Marker {
        scenario: scenario.to_owned(),
        run_id: run_id.clone(),
        owner: Owner::this_process(),
        deadline_unix: clock.utc().unix_seconds() + lasts.as_secs() as i64,
        flags: plan.flags_to_use.iter().copied().filter(|flag| !was_on(*flag)).collect(),
    }
}

#[expect(clippy::too_many_arguments, reason = "everything a run has brought together, once")]
fn finish(
    run_id: &RunId,
    plan: &Plan,
    marker: Marker,
    gathered: Gathered,
    result: Result<(), CaptureError>,
    restored: restore::Restored,
    interrupt: &Interrupt,
    wait_type: &str,
) -> Result<Outcome, CaptureError> {
    let left_behind = restored.left_behind;
    if let Err(error) = result
        && gathered.before.is_none()
    {
        // Nothing was captured: the error is the answer.
        return Err(if left_behind.is_empty() {
            error
        } else {
            CaptureError::LeftBehind { left_behind, source: Some(Box::new(error)) }
        });
    }
    let evidence = Evidence {
        id: run_id.to_string(),
        scenario: Some(marker.scenario),
        server: Some(plan.server.clone()),
        window: gathered.window,
        sessions: gathered.session.into_iter().collect(),
        before: gathered.before,
        after: gathered.after,
        samples: gathered.samples,
        trace_flags: restored.trace_flags,
        modules: plan.modules.clone(),
        problems: plan.problems.iter().cloned().chain(gathered.problems).collect(),
        ..Evidence::default()
    };
    Ok(Outcome {
        evidence,
        targets: gathered.targets,
        statements: restored.statements,
        map_keys: vec![MapKey {
            map: "wait_types".to_owned(),
            value: wait_type.to_owned(),
            key: i64::try_from(plan.wait_type_key).unwrap_or(i64::MAX),
            build: plan.server.product_version.clone(),
        }],
        left_behind,
        interrupted: interrupt.is_signalled(),
    })
}
