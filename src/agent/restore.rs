//! Owns that a run puts a server back as it was on every way out: in a task of its own, once more over a new connection
//! where that one panics, and accounted for from the journal where nothing helps.

use crate::agent::outcome::LeftBehind;
use crate::agent::preflight::{self, FlagState, Plan};
use crate::agent::progress::Progress;
use crate::agent::run::Marker;
use crate::agent::server::{Server, StatementRecords};
use crate::agent::undo::{self, Undone, Work};
use crate::agent::window::{Gathered, Window};
use crate::agent::{CaptureError, SharedJournal, Surroundings, journal, lock};
use crate::model::{Problem, Severity, TraceFlagUse};
use crate::statements::Statements;
use crate::store::bundle::StatementRecord;
use std::sync::Arc;

/// How often restoring is begun.
const ATTEMPTS: u32 = 2;

/// How it went.
#[derive(Default)]
pub(super) struct Restored {
    /// What could not be put back.
    pub left_behind: Vec<LeftBehind>,
    /// Trace flags, before and after.
    pub trace_flags: Vec<TraceFlagUse>,
    /// Every statement of the run.
    pub statements: Vec<StatementRecord>,
    /// What went wrong.
    pub problems: Vec<Problem>,
}

/// What restoring works from.
#[derive(Clone)]
pub(super) struct Task {
    pub plan: Arc<Plan>,
    pub marker: Marker,
    pub journal: SharedJournal,
    pub surroundings: Surroundings,
    /// Scope in which the window used trace flags.
    pub flag_scope: Option<&'static str>,
}

/// Runs a window and puts everything back, whatever happens in it.
pub(super) async fn run_and_restore(window: Window, mut task: Task) -> (Gathered, Result<(), CaptureError>, Restored) {
    let records = window.server.records();
    // A task of its own, so that a panic in it ends the task and not the restoring.
    let (server, gathered, result) = match tokio::spawn(window.run()).await {
        Ok((server, gathered, result)) => (Some(server), gathered, result),
        Err(panic) => (None, Gathered::default(), Err(CaptureError::Internal(panic.to_string()))),
    };
    task.flag_scope = gathered.flag_scope;
    let restored = restore(server, records, task).await;
    (gathered, result, restored)
}

async fn restore(mut server: Option<Server>, records: StatementRecords, task: Task) -> Restored {
    let mut panics = Vec::new();
    for attempt in 0..ATTEMPTS {
        let Surroundings { connect, clock, .. } = &task.surroundings;
        let connected =
            server.take().unwrap_or_else(|| Server::unconnected(connect, Arc::clone(clock), Arc::clone(&records)));
        match tokio::spawn(put_back(connected, task.clone(), attempt == 0)).await {
            Ok(mut restored) => {
                restored.problems.splice(0..0, panics);
                return restored;
            }
            Err(panic) => {
                let message = format!("restoring broke off and was begun anew: {panic}");
                panics.push(Problem::new("restore_broke_off", Severity::Info, message));
            }
        }
    }
    let statements = Statements::new(&task.surroundings.sessions, task.plan.version);
    let owed = lock(&task.journal).owed();
    let left_behind = undo::never_looked_at(&statements, &task.plan.server, owed.sessions.into_keys(), &owed.flags);
    Restored { left_behind, problems: panics, ..Restored::default() }
}

/// Puts everything back, over a new connection where the old one is gone.
async fn put_back(mut server: Server, task: Task, is_first: bool) -> Restored {
    let Task { plan, marker, journal, surroundings, flag_scope } = &task;
    let statements = Statements::new(&surroundings.sessions, plan.version);
    if is_first {
        (surroundings.observer)(&Progress::Restoring);
    }
    let works = [work(marker, journal)];
    let undone = Box::pin(undo::undo(&mut server, &statements, surroundings, &plan.server, &works)).await;
    let after = flags_after(&mut server, &statements, plan, &undone).await;
    let [work] = &works;
    let trace_flags = flag_uses(plan, work, journal, &after, *flag_scope);
    let problems = problems(&undone);
    let left_behind = undone.left_behind.into_iter().map(|(_run, left)| left).collect();
    Restored { left_behind, trace_flags, problems, statements: server.close().await }
}

/// What the journal says is owed, and the flags that the marker names.
fn work(marker: &Marker, journal: &SharedJournal) -> Work {
    let (owed, created) = {
        let journal = lock(journal);
        (journal.owed(), journal::created(journal.entries()))
    };
    // Without a session there was no marker for others to leave a flag to.
    let flags = if created.is_empty() { Vec::new() } else { marker.flags.clone() };
    Work {
        run_id: marker.run_id.clone(),
        sessions: owed.sessions,
        created,
        flags,
        owed_flags: owed.flags,
        journal: Some(Arc::clone(journal)),
    }
}

fn problems(undone: &Undone) -> Vec<Problem> {
    let unreachable = undone.unreachable.iter().map(|why| {
        let message = undo::unreachable_message(why);
        Problem::new("restore_unreachable", Severity::Partial, message)
            .with_hint("xestack cleanup puts back what remains, once the server answers")
    });
    let handed_over = undone.handed_over.iter().map(|left| {
        let message = format!(
            "trace flag {} is on and left to run {}, which may use it and turns it off in its end",
            left.flag, left.to
        );
        Problem::new("trace_flag_handed_over", Severity::Info, message)
    });
    unreachable.chain(handed_over).collect()
}

/// The flags of the plan in the end; unknown where the right server did not tell.
async fn flags_after(server: &mut Server, statements: &Statements<'_>, plan: &Plan, undone: &Undone) -> Vec<FlagState> {
    let flags: Vec<u32> = plan.flags.iter().map(|state| state.flag).collect();
    let unknown = || flags.iter().map(|&flag| FlagState::new(flag, None)).collect();
    if flags.is_empty() || undone.unreachable.is_some() || !server.is_home() {
        return unknown();
    }
    preflight::read_flags(server, statements, &flags).await.unwrap_or_else(|_| unknown())
}

fn flag_uses(
    plan: &Plan,
    work: &Work,
    journal: &SharedJournal,
    after: &[FlagState],
    scope: Option<&'static str>,
) -> Vec<TraceFlagUse> {
    let of_flag = |(before, after): (&FlagState, &FlagState)| {
        let global = journal::turned_on(lock(journal).entries(), before.flag);
        let in_session = scope == Some("session") && !before.is_on_before() && plan.flags_to_use.contains(&before.flag);
        TraceFlagUse {
            flag: before.flag,
            global_before: before.global.map(|_| before.is_on_before()),
            enabled_by_us: global || in_session,
            scope: if global {
                "global"
            } else if in_session {
                "session"
            } else {
                "none"
            }
            .to_owned(),
            on_ms: lock(journal).global_on_ms(before.flag),
            restored: before.global.is_some()
                && after.global.is_some()
                && (after.global == Some(before.is_on_before()) || !work.flags.contains(&before.flag)),
        }
    };
    plan.flags.iter().zip(after).map(of_flag).collect()
}
