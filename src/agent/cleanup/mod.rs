//! Owns undoing what dead runs left on a server: on request, and before each capture. What is dead follows from the
//! markers on the server, with the journals of this machine or without; nothing of a live run, and nothing foreign, is
//! ever touched.

mod fold;
mod journals;
mod outcome;

pub use journals::Elsewhere;
pub use outcome::{CleanupOptions, CleanupOutcome, CleanupRun, CleanupSession, Place};

use crate::agent::cleanup::fold::{FoundRun, View, fold, named_flags};
use crate::agent::cleanup::journals::Journals;
use crate::agent::journal::{self, Journal};
use crate::agent::listing::{self, Listing};
use crate::agent::preflight::rights::{self, Need};
use crate::agent::preflight::{self};
use crate::agent::progress::Progress;
use crate::agent::run::{Life, Owner, RunId};
use crate::agent::server::Server;
use crate::agent::undo::{self, Undone, Work};
use crate::agent::{CaptureError, Refusal, Surroundings, counters};
use crate::model::{Problem, ServerIdentity, ServerVersion, Severity};
use crate::statements::Statements;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Undoes what dead runs left on a server, or says what that would be.
///
/// # Errors
/// No connection, no SQL Server, a missing right with its GRANT, or `--force` for a run that lives on this machine. What
/// could not be undone is no error but in [`CleanupOutcome::left_behind`].
pub async fn cleanup(surroundings: &Surroundings, options: &CleanupOptions) -> Result<CleanupOutcome, CaptureError> {
    let Surroundings { connect, clock, interrupt, sessions, .. } = surroundings;
    let mut server = tokio::select! {
        connected = Server::connect(connect, Arc::clone(clock)) => connected?,
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    };
    let identity = preflight::identify(&mut server, sessions).await?;
    let version = identity.version.ok_or_else(|| {
        let text = format!("version {} of the server is not known", identity.product_version);
        CaptureError::refused(Refusal::Version, text, None)
    })?;
    let statements = Statements::new(sessions, version);
    let rights = rights::read(&mut server, &statements).await?;
    let refuse_without = |needs: &[Need]| match rights.missing(needs) {
        None => Ok(()),
        Some(missing) => {
            let text = format!("the login lacks {}", missing.rights.join(", "));
            Err(CaptureError::refused(Refusal::Permission, text, Some(missing.hint())))
        }
    };
    refuse_without(&[Need::Counters])?;
    let mut journals = Journals::read(&options.state_dir);
    let found = look(&mut server, &statements, surroundings, &identity, &journals, options.force.as_ref()).await?;
    if let Some(run) = found.runs.iter().find(|run| options.force.as_ref() == Some(&run.marker.run_id))
        && run.life == Life::Runs
    {
        let text = format!("run {} lives on this machine, in process {}", run.marker.run_id, run.marker.owner.pid);
        let hint = "interrupt that process: it puts everything back".to_owned();
        return Err(CaptureError::refused(Refusal::Policy, text, Some(hint)));
    }
    let mut undone = Undone::default();
    if !options.dry_run {
        let owing: Vec<&FoundRun> = found.runs.iter().filter(|run| run.is_owing()).collect();
        if !owing.is_empty() {
            let needs_flags = owing.iter().any(|run| !run.flags.is_empty());
            let mut needs = vec![Need::StopSession, Need::DropSession];
            needs.extend(needs_flags.then_some(Need::TraceFlags));
            refuse_without(&needs)?;
        }
        undone = undo_dead(&mut server, &statements, surroundings, &identity, &found, &mut journals).await;
        journals.prune(&surroundings.here);
    }
    server.close().await;
    Ok(outcome::outcome(surroundings, options, &statements, identity, found, &undone, journals.problems))
}

/// What is on a server.
struct Found {
    runs: Vec<FoundRun>,
    foreign: Vec<String>,
    elsewhere: Vec<Elsewhere>,
    journals: BTreeMap<RunId, Vec<journal::Entry>>,
    flags_unreadable: bool,
}

async fn look(
    server: &mut Server,
    statements: &Statements<'_>,
    surroundings: &Surroundings,
    identity: &ServerIdentity,
    journals: &Journals,
    force: Option<&RunId>,
) -> Result<Found, CaptureError> {
    let listing = listing::read(server, statements).await?;
    let here = journals.of_server(&surroundings.connect.address.to_string(), identity, &listing);
    let is_any = listing.markers().next().is_some() || !here.is_empty();
    let mut runs = Vec::new();
    let mut flags_unreadable = false;
    if is_any {
        let server_unix = listing::server_clock(server, statements).await?;
        let flags: Vec<u32> = named_flags(&listing, &here).into_iter().collect();
        let on = flags_on(server, statements, &flags).await?;
        flags_unreadable = on.is_none();
        runs = fold(&View {
            here: &surroundings.here,
            is_running: &Owner::is_running,
            server_unix,
            server_started_unix: started_unix(identity, server_unix),
            server_started: identity.started_ms_ticks,
            force,
            listing: &listing,
            journals: &here,
            flags_on: on.as_ref(),
        });
    }
    let elsewhere = journals.elsewhere(&here);
    Ok(Found { runs, foreign: foreign(&listing), elsewhere, journals: here, flags_unreadable })
}

/// Names that look like ours and are not.
fn foreign(listing: &Listing) -> Vec<String> {
    let is_alike = |name: &&String| {
        name.to_lowercase().starts_with("xestack") && name.parse::<crate::agent::run::Marker>().is_err()
    };
    listing.0.iter().map(|listed| &listed.name).filter(is_alike).cloned().collect()
}

/// Of some flags those on; `None` where the server does not tell.
async fn flags_on(
    server: &mut Server,
    statements: &Statements<'_>,
    flags: &[u32],
) -> Result<Option<BTreeSet<u32>>, CaptureError> {
    if flags.is_empty() {
        return Ok(Some(BTreeSet::new()));
    }
    match preflight::read_flags(server, statements, flags).await {
        Ok(states) => {
            Ok(Some(states.iter().filter(|state| state.global == Some(true)).map(|state| state.flag).collect()))
        }
        Err(error) if error.is_connection_lost() => Err(error.into()),
        Err(_) => Ok(None),
    }
}

fn started_unix(identity: &ServerIdentity, server_unix: i64) -> Option<i64> {
    Some(server_unix - (identity.ms_ticks? - identity.started_ms_ticks?) / 1000)
}

async fn undo_dead(
    server: &mut Server,
    statements: &Statements<'_>,
    surroundings: &Surroundings,
    identity: &ServerIdentity,
    found: &Found,
    journals: &mut Journals,
) -> Undone {
    let works: Vec<Work> =
        found.runs.iter().filter(|run| run.is_dead()).map(|run| work(run, found, journals)).collect();
    if works.is_empty() {
        return Undone::default();
    }
    Box::pin(undo::undo(server, statements, surroundings, identity, &works)).await
}

fn work(run: &FoundRun, found: &Found, journals: &mut Journals) -> Work {
    let run_id = run.marker.run_id.clone();
    let journal = found.journals.contains_key(&run_id).then(|| journals.take(&run_id)).flatten();
    // Where flags cannot be read, those that a dead run names are taken to be on.
    let owed_flags = if found.flags_unreadable { run.flags.clone() } else { Vec::new() };
    Work {
        run_id,
        sessions: run.sessions.iter().map(|session| (session.name.clone(), session.running)).collect(),
        created: run.sessions.iter().filter(|session| session.shown).map(|session| session.name.clone()).collect(),
        flags: run.flags.clone(),
        owed_flags,
        journal: journal.map(|journal: Journal| Arc::new(Mutex::new(journal))),
    }
}

/// Before a capture: dead runs are undone. What happened is told, and comes back as problems; nothing of it stops the
/// capture.
pub(super) async fn sweep(
    server: &mut Server,
    surroundings: &Surroundings,
    identity: &ServerIdentity,
    version: ServerVersion,
    state_dir: &Path,
) -> Vec<Problem> {
    let statements = Statements::new(&surroundings.sessions, version);
    let mut journals = Journals::read(state_dir);
    let mut problems = Vec::new();
    match look(server, &statements, surroundings, identity, &journals, None).await {
        Err(error) => {
            let message =
                format!("whether dead runs left anything could not be looked up: {}", counters::chain(&error));
            problems.push(Problem::new("sweep_failed", Severity::Info, message));
        }
        Ok(found) => {
            let undone = undo_dead(server, &statements, surroundings, identity, &found, &mut journals).await;
            problems.extend(told(&found, &undone, &surroundings.connect.address.to_string()));
        }
    }
    journals.prune(&surroundings.here);
    for problem in &problems {
        (surroundings.observer)(&Progress::Note(problem.message.clone()));
    }
    problems
}

/// What a sweep did, run by run.
fn told(found: &Found, undone: &Undone, address: &str) -> Vec<Problem> {
    let of_run = |run: &FoundRun| {
        let run_id = &run.marker.run_id;
        let left: Vec<String> =
            undone.left_behind.iter().filter(|(of, _)| of == run_id).map(|(_, left)| left.to_string()).collect();
        if left.is_empty() {
            let message = format!("what the dead run {run_id} had left on the server was undone");
            return Problem::new("dead_run_cleaned", Severity::Info, message);
        }
        let message = format!("of the dead run {run_id} there remains on the server: {}", left.join("; "));
        Problem::new("dead_run_remains", Severity::Warning, message)
            .with_hint(format!("xestack cleanup -S {address} tries again"))
    };
    let mut problems: Vec<Problem> = found.runs.iter().filter(|run| run.is_owing()).map(of_run).collect();
    problems.extend(
        undone
            .unreachable
            .iter()
            .map(|why| Problem::new("sweep_failed", Severity::Info, undo::unreachable_message(why))),
    );
    problems
}
