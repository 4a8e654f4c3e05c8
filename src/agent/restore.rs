//! Owns putting a server back as it was: what the journal says is owed, in the order STOP, TRACEOFF, verify, DROP last, so
//! that the session's name tells of the flags until they are off.

use crate::agent::journal::{Entry, State, Step};
use crate::agent::outcome::LeftBehind;
use crate::agent::preflight::{FlagState, Plan};
use crate::agent::server::Server;
use crate::agent::{SharedJournal, Surroundings, counters, flags, lock, preflight};
use crate::model::{Problem, Severity, TraceFlagUse};
use crate::sqlserver::SqlServerError;
use crate::statements::{Scope, Statements};
use crate::store::bundle::StatementRecord;
use std::collections::BTreeSet;

/// `The event session has already been stopped.`
const ALREADY_STOPPED: u32 = 25704;
/// `Cannot drop the event session …, because it does not exist or you do not have permission.`
const DOES_NOT_EXIST: u32 = 15151;

/// How it went.
pub(super) struct Restored {
    /// What could not be put back.
    pub left_behind: Vec<LeftBehind>,
    /// Trace flags, before and after.
    pub trace_flags: Vec<TraceFlagUse>,
    /// Every statement of the run.
    pub statements: Vec<StatementRecord>,
}

/// What restoring works from.
pub(super) struct Task<'a> {
    pub statements: &'a Statements<'a>,
    pub plan: &'a Plan,
    pub journal: &'a SharedJournal,
    pub surroundings: &'a Surroundings,
    /// Scope in which the window used trace flags.
    pub flag_scope: Option<&'static str>,
}

/// Puts everything back, over a new connection where the old one is gone.
pub(super) async fn restore(mut server: Server, task: &Task<'_>, problems: &mut Vec<Problem>) -> Restored {
    let Task { statements, plan, journal, surroundings, flag_scope } = *task;
    let mut work = Work { server: &mut server, statements, journal, surroundings };
    if let Err(error) = work.server.reconnect().await {
        let message = format!("the server could not be reached to put things back: {}", counters::chain(&error));
        problems.push(Problem::new("restore_unreachable", Severity::Partial, message));
    }
    work.stop().await;
    work.flags_off().await;
    let flags_after = work.read_flags(plan).await;
    let mut left_behind = work.flags_left(plan, &flags_after);
    // While a flag of ours is on, the session's name must go on telling so.
    if left_behind.is_empty() {
        work.drop_sessions().await;
    }
    left_behind.extend(work.sessions_left().await);
    if left_behind.is_empty()
        && let Err(error) = lock(journal).write(&*surroundings.clock, Step::End, State::Done)
    {
        problems.push(Problem::new("journal_not_closed", Severity::Info, error.to_string()));
    }
    let trace_flags = flag_uses(plan, journal, &flags_after, flag_scope);
    Restored { left_behind, trace_flags, statements: server.close().await }
}

struct Work<'a> {
    server: &'a mut Server,
    statements: &'a Statements<'a>,
    journal: &'a SharedJournal,
    surroundings: &'a Surroundings,
}

impl Work<'_> {
    fn owed(&self) -> crate::agent::journal::Owed {
        lock(self.journal).owed()
    }

    /// One step of putting back. A connection lost in it is made again once, and the step repeated: each is idempotent by
    /// the numbers that mean "already so".
    async fn undo(&mut self, step: Step, sql: &str, already_so: &[u32]) {
        for _attempt in 0..2 {
            // A full disk must not keep us from putting back.
            let _ignored = lock(self.journal).write(&*self.surroundings.clock, step.clone(), State::Intended);
            match self.server.run(sql).await {
                Err(error) if error.is_connection_lost() => {
                    if self.server.reconnect().await.is_err() {
                        return;
                    }
                }
                result => {
                    let state = match result.as_ref().err().and_then(SqlServerError::number) {
                        Some(number) if !already_so.contains(&number) => State::Refused { number },
                        _ => State::Done,
                    };
                    let _ignored = lock(self.journal).write(&*self.surroundings.clock, step, state);
                    return;
                }
            }
        }
    }

    async fn stop(&mut self) {
        for (session, _) in self.owed().sessions.into_iter().filter(|(_, running)| *running) {
            if let Ok(sql) = self.statements.session("stop_session", &session) {
                self.undo(Step::StopSession { session }, &sql, &[ALREADY_STOPPED, DOES_NOT_EXIST]).await;
            }
        }
    }

    async fn flags_off(&mut self) {
        let flags = self.owed().flags;
        if !flags.is_empty()
            && let Ok(sql) = self.statements.trace_off(&flags, Scope::Global)
        {
            self.undo(Step::TraceOff { flags }, &sql, &[]).await;
        }
    }

    /// Last, whatever STOP said (field report L-01): the definition is what tells of everything else.
    async fn drop_sessions(&mut self) {
        for session in self.owed().sessions.into_keys() {
            if let Ok(sql) = self.statements.session("drop_session", &session) {
                self.undo(Step::DropSession { session }, &sql, &[DOES_NOT_EXIST]).await;
            }
        }
    }

    /// Looks whether the sessions are really gone; 15151 can also mean that one cannot be seen.
    async fn sessions_left(&mut self) -> Vec<LeftBehind> {
        let seen = match self.statements.common("list_sessions", &[]) {
            Ok(sql) => self.server.table(&sql).await.ok(),
            Err(_) => None,
        };
        let owed = self.owed().sessions;
        let is_left = |session: &String| match &seen {
            Some(table) => (0..table.rows.len()).any(|row| table.text(row, "name") == Some(session.as_str())),
            None => owed.contains_key(session),
        };
        let left = created(self.journal).into_iter().filter(is_left).map(|session| LeftBehind {
            statement: self.statements.session("drop_session", &session).unwrap_or_default(),
            what: format!("event session {session}"),
        });
        left.collect()
    }

    async fn read_flags(&mut self, plan: &Plan) -> Vec<FlagState> {
        let flags: Vec<u32> = plan.flags.iter().map(|state| state.flag).collect();
        if flags.is_empty() {
            return Vec::new();
        }
        let unknown = |_| flags.iter().map(|&flag| FlagState { flag, global: None }).collect();
        preflight::read_flags(self.server, self.statements, &flags).await.unwrap_or_else(unknown)
    }

    /// A flag of ours that is on, or may be.
    fn flags_left(&self, plan: &Plan, after: &[FlagState]) -> Vec<LeftBehind> {
        let owed = self.owed().flags;
        let was_on = |flag: u32| plan.flags.iter().any(|before| before.flag == flag && before.global == Some(true));
        let is_left = |state: &&FlagState| match state.global {
            Some(on) => on && turned_on_by_us(self.journal, state.flag) && !was_on(state.flag),
            None => owed.contains(&state.flag),
        };
        let left = after.iter().filter(is_left).map(|state| LeftBehind {
            what: format!("trace flag {} on globally", state.flag),
            statement: self.statements.trace_off(&[state.flag], Scope::Global).unwrap_or_default(),
        });
        left.collect()
    }
}

/// Every session that this run created or may have created.
fn created(journal: &SharedJournal) -> BTreeSet<String> {
    let journal = lock(journal);
    let of_entry = |entry: &Entry| match &entry.step {
        Step::CreateSession { session } => Some(session.clone()),
        _ => None,
    };
    journal.entries().iter().filter_map(of_entry).collect()
}

fn turned_on_by_us(journal: &SharedJournal, flag: u32) -> bool {
    lock(journal).entries().iter().any(|entry| {
        !matches!(entry.state, State::Refused { .. })
            && matches!(&entry.step, Step::TraceOn { flags } if flags.contains(&flag))
    })
}

fn flag_uses(
    plan: &Plan,
    journal: &SharedJournal,
    after: &[FlagState],
    scope: Option<&'static str>,
) -> Vec<TraceFlagUse> {
    let of_flag = |(before, after): (&FlagState, &FlagState)| {
        let global = turned_on_by_us(journal, before.flag);
        let in_session =
            scope == Some("session") && before.global != Some(true) && plan.flags_to_use.contains(&before.flag);
        TraceFlagUse {
            flag: before.flag,
            global_before: before.global,
            enabled_by_us: global || in_session,
            scope: if global {
                "global"
            } else if in_session {
                "session"
            } else {
                "none"
            }
            .to_owned(),
            on_ms: flags::global_on_ms(lock(journal).entries(), before.flag),
            restored: before.global.is_some() && before.global == after.global,
        }
    };
    plan.flags.iter().zip(after).map(of_flag).collect()
}
