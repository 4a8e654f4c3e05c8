//! Owns what a clean-up is asked for and what it gives back.

use crate::agent::Surroundings;
use crate::agent::cleanup::Found;
use crate::agent::cleanup::fold::FoundRun;
use crate::agent::cleanup::journals::Elsewhere;
use crate::agent::outcome::LeftBehind;
use crate::agent::run::{Life, RunId};
use crate::agent::undo::{self, Answer, HandedOver, Sent, Undone};
use crate::model::{Problem, ServerIdentity, Severity, UtcMicros};
use crate::statements::{Scope, Statements};
use serde::Serialize;
use std::path::PathBuf;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupOptions {
    /// Only say what would be undone.
    pub dry_run: bool,
    /// A run to give up although it may live on another machine.
    pub force: Option<RunId>,
    /// Where journals are kept.
    pub state_dir: PathBuf,
}

/// Where a run's process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// On the machine that looks.
    ThisMachine,
    /// On another one.
    AnotherMachine,
}

/// A session of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CleanupSession {
    /// Its name.
    pub name: String,
    /// Whether it ran when it was found, or may have.
    pub running: bool,
    /// Whether the server showed it; one that only the journal knows may be hidden, or gone.
    pub shown: bool,
}

/// A run of ours on the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CleanupRun {
    /// Its id.
    pub run_id: RunId,
    /// Its scenarios.
    pub scenarios: Vec<String>,
    /// When it started, by its own machine's clock.
    pub started_at: Option<UtcMicros>,
    /// Where its process is.
    pub owner: Place,
    /// The process.
    pub process: u32,
    /// When it is over for certain, by the server's clock.
    pub deadline: UtcMicros,
    /// How it stands, and from what that follows.
    pub life: Life,
    /// Whether it was given up on request.
    pub forced: bool,
    /// Whether what it left is undone.
    pub dead: bool,
    /// Its sessions.
    pub sessions: Vec<CleanupSession>,
    /// Its flags that were on globally, or may have been.
    pub flags: Vec<u32>,
    /// Its flags that are left on for live runs that name them.
    pub handed_over: Vec<HandedOver>,
    /// What was done, or is to be done.
    pub statements: Vec<Sent>,
}

/// What a clean-up found and did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CleanupOutcome {
    /// The server's own name.
    pub server: String,
    /// Where it was connected to.
    pub address: String,
    /// Its version.
    pub product_version: String,
    /// Whether nothing was to be changed.
    pub dry_run: bool,
    /// Every run of ours, oldest first.
    pub runs: Vec<CleanupRun>,
    /// Sessions whose names look like ours and are not: never touched.
    pub foreign: Vec<String>,
    /// Unfinished runs on other servers that this machine's journals know.
    pub elsewhere: Vec<Elsewhere>,
    /// What of dead runs remains.
    pub left_behind: Vec<LeftBehind>,
    /// What went wrong.
    pub problems: Vec<Problem>,
}

pub(super) fn outcome(
    surroundings: &Surroundings,
    options: &CleanupOptions,
    statements: &Statements<'_>,
    identity: ServerIdentity,
    found: Found,
    undone: &Undone,
    mut problems: Vec<Problem>,
) -> CleanupOutcome {
    if found.flags_unreadable {
        let message = "the state of trace flags is unknown: those that dead runs name are taken to be on";
        problems.push(Problem::new("trace_status_unknown", Severity::Warning, message));
    }
    if let Some(force) = &options.force
        && !found.runs.iter().any(|run| run.marker.run_id == *force)
    {
        let message = format!("nothing of run {force} was found on this server");
        problems.push(Problem::new("run_not_found", Severity::Info, message));
    }
    problems.extend(
        undone
            .unreachable
            .iter()
            .map(|why| Problem::new("restore_unreachable", Severity::Warning, undo::unreachable_message(why))),
    );
    let left_behind = if options.dry_run {
        found
            .runs
            .iter()
            .filter(|run| run.is_dead())
            .flat_map(|run| remaining(run, &found, statements, &identity))
            .collect()
    } else {
        undone.left_behind.iter().map(|(_, left)| left.clone()).collect()
    };
    let of_run = |run: &FoundRun| {
        let mut of_run = of_run(run, surroundings);
        of_run.statements = if options.dry_run && run.is_dead() {
            to_do(run, statements)
        } else {
            undone.sent.iter().filter(|(of, _)| *of == run.marker.run_id).map(|(_, sent)| sent.clone()).collect()
        };
        of_run
    };
    CleanupOutcome {
        runs: found.runs.iter().map(of_run).collect(),
        server: identity.name,
        address: surroundings.connect.address.to_string(),
        product_version: identity.product_version,
        dry_run: options.dry_run,
        foreign: found.foreign,
        elsewhere: found.elsewhere,
        left_behind,
        problems,
    }
}

fn of_run(run: &FoundRun, surroundings: &Surroundings) -> CleanupRun {
    let marker = &run.marker;
    let session = |session: &super::fold::FoundSession| CleanupSession {
        name: session.name.clone(),
        running: session.running,
        shown: session.shown,
    };
    CleanupRun {
        run_id: marker.run_id.clone(),
        scenarios: run.scenarios.iter().cloned().collect(),
        started_at: marker.run_id.started(),
        owner: if marker.owner.host == surroundings.here.host { Place::ThisMachine } else { Place::AnotherMachine },
        process: marker.owner.pid,
        deadline: UtcMicros(marker.deadline_unix.saturating_mul(1_000_000)),
        life: run.life,
        forced: run.forced,
        dead: run.is_dead(),
        sessions: run.sessions.iter().map(session).collect(),
        flags: run.flags.clone(),
        handed_over: run.handed_over.clone(),
        statements: Vec::new(),
    }
}

/// What undoing a run would send, in its order.
fn to_do(run: &FoundRun, statements: &Statements<'_>) -> Vec<Sent> {
    let of_sessions = |statement: &'static str, only_running: bool| {
        let sessions = run.sessions.iter().filter(move |session| session.shown && (session.running || !only_running));
        sessions.filter_map(move |session| statements.session(statement, &session.name).ok()).collect::<Vec<_>>()
    };
    let off = (!run.flags.is_empty()).then(|| statements.trace_off(&run.flags, Scope::Global).ok()).flatten();
    let all = of_sessions("stop_session", true).into_iter().chain(off).chain(of_sessions("drop_session", false));
    all.map(|statement| Sent { statement, result: Answer::NotSent, error: None }).collect()
}

/// What of a dead run is on the server.
fn remaining(run: &FoundRun, found: &Found, statements: &Statements<'_>, identity: &ServerIdentity) -> Vec<LeftBehind> {
    let flags =
        run.flags.iter().map(|&flag| undo::left_flag(statements, flag, found.flags_unreadable, identity, false));
    let shown = run.sessions.iter().filter(|session| session.shown);
    flags.chain(shown.map(|session| undo::left_session(statements, &session.name, identity, false))).collect()
}
