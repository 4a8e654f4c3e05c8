//! Owns undoing what runs did to a server, in the order STOP, TRACEOFF, verify, DROP last: a session's name tells of the
//! flags until they are off. A run undoes itself with it, and clean-up undoes dead runs.

use crate::agent::home;
use crate::agent::journal::{State, Step};
use crate::agent::listing::{self, Listing};
use crate::agent::outcome::{CaptureError, LeftBehind};
use crate::agent::preflight::{self, FlagState};
use crate::agent::run::RunId;
use crate::agent::server::Server;
use crate::agent::{SharedJournal, Surroundings, lock, locks, meaning};
use crate::model::ServerIdentity;
use crate::sqlserver::SqlServerError;
use crate::statements::{Scope, Statements};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The most that a statement gets that puts something back: a connection that hangs is given up, and a second one made.
pub(super) const STATEMENT_LIMIT: Duration = Duration::from_secs(15);
/// `The event session has already been stopped.`
const ALREADY_STOPPED: u32 = 25704;
/// `Cannot drop the event session …, because it does not exist or you do not have permission.`
const DOES_NOT_EXIST: u32 = 15151;

/// What of one run is to be undone.
pub(super) struct Work {
    /// The run.
    pub run_id: RunId,
    /// Sessions that may exist, and whether each may run.
    pub sessions: BTreeMap<String, bool>,
    /// Sessions that must not be there in the end, those that have been dropped before among them.
    pub created: BTreeSet<String>,
    /// Flags that the run answers for: those its marker names.
    pub flags: Vec<u32>,
    /// Flags that the run is known to have turned on, or taken to be, where TRACESTATUS cannot be read.
    pub owed_flags: Vec<u32>,
    /// Where each step is written down.
    pub journal: Option<SharedJournal>,
}

/// How a statement went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Not sent: a dry run, or something before it failed.
    NotSent,
    /// Done.
    Done,
    /// It was so already.
    AlreadySo,
    /// The server refused it.
    Refused,
    /// Not answered.
    NotAnswered,
}

/// A statement and how it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Its text.
    pub statement: String,
    /// How it went.
    pub result: Answer,
    /// The number of the server's error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<u32>,
}

/// A flag that is left on for another run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HandedOver {
    /// Flag.
    pub flag: u32,
    /// The run that is or may be alive and names it.
    pub to: RunId,
}

/// How undoing went.
#[derive(Debug, Default)]
pub(super) struct Undone {
    /// By run, in order.
    pub sent: Vec<(RunId, Sent)>,
    /// What remains, by run.
    pub left_behind: Vec<(RunId, LeftBehind)>,
    /// Flags left to other runs.
    pub handed_over: Vec<HandedOver>,
    /// The flags that the runs answer for, in the end.
    pub flags: Vec<FlagState>,
    /// Why the server could not be reached any more, where it could not.
    pub unreachable: Option<String>,
}

/// Undoes runs on one server.
pub(super) async fn undo(
    server: &mut Server,
    statements: &Statements<'_>,
    surroundings: &Surroundings,
    home: &ServerIdentity,
    works: &[Work],
) -> Undone {
    server.persevere(STATEMENT_LIMIT);
    let mut undoing = Undoing { server, statements, surroundings, home, works, undone: Undone::default() };
    undoing.reach().await;
    undoing.stop().await;
    let flags = undoing.flags_off().await;
    undoing.drop_sessions(&flags.left).await;
    if flags.handed_over_unlocked {
        undoing.take_back(&flags).await;
    }
    undoing.account(&flags).await;
    undoing.undone
}

/// What became of the flags.
#[derive(Default)]
struct Flags {
    /// On, or may be.
    left: Vec<u32>,
    /// Whether the lock is held.
    locked: bool,
    /// Whether flags were left to others without the lock, so that they may have been left to us at the same time.
    handed_over_unlocked: bool,
}

struct Undoing<'a> {
    server: &'a mut Server,
    statements: &'a Statements<'a>,
    surroundings: &'a Surroundings,
    home: &'a ServerIdentity,
    works: &'a [Work],
    undone: Undone,
}

impl Undoing<'_> {
    /// A connection to the right server; without one nothing more is tried.
    async fn reach(&mut self) -> bool {
        if self.undone.unreachable.is_none()
            && let Err(why) = home::reach(self.server, self.statements, self.home).await
        {
            self.undone.unreachable = Some(why);
        }
        self.undone.unreachable.is_none()
    }

    /// One step. A connection lost in it is made again once, and the step repeated: each is idempotent by the numbers that
    /// mean "already so".
    async fn step(&mut self, work: &Work, step: Step, sql: String, already_so: &[u32]) -> Answer {
        // A full disk must not keep us from putting back.
        let write = |state| {
            if let Some(journal) = &work.journal {
                let _ignored = lock(journal).write(&*self.surroundings.clock, step.clone(), state);
            }
        };
        let mut result = (Answer::NotSent, None);
        for _attempt in 0..2 {
            if self.undone.unreachable.is_some() {
                break;
            }
            write(State::Intended);
            let answer = self.server.run(&sql).await;
            result = of_answer(&answer, already_so);
            match result {
                (Answer::Done | Answer::AlreadySo, _) => write(State::Done),
                // A trigger can raise an error beside a step that stands: then nothing is known of it.
                (Answer::Refused, Some(number)) if !meaning::is_raised(number) => write(State::Refused { number }),
                _ => {}
            }
            if result.0 != Answer::NotAnswered {
                break;
            }
            if let Err(why) = home::reach(self.server, self.statements, self.home).await {
                self.undone.unreachable = Some(why);
            }
        }
        let (result, error) = result;
        self.undone.sent.push((work.run_id.clone(), Sent { statement: sql, result, error }));
        result
    }

    async fn stop(&mut self) {
        for work in self.works {
            for session in work.sessions.iter().filter(|(_, running)| **running).map(|(session, _)| session) {
                if let Ok(sql) = self.statements.session("stop_session", session) {
                    let step = Step::StopSession { session: session.clone() };
                    self.step(work, step, sql, &[ALREADY_STOPPED, DOES_NOT_EXIST]).await;
                }
            }
        }
    }

    /// Turns off what the runs answer for, is on, and no other live run names. All of it, and the dropping of the sessions
    /// after it, under the flags lock: two runs that end at a time must not each leave a flag to the other.
    async fn flags_off(&mut self) -> Flags {
        let mut flags = Flags::default();
        let mut wanted = self.flags_on().await;
        if wanted.is_empty() || !self.reach().await {
            flags.left = wanted;
            return flags;
        }
        self.leave_to_others(&mut wanted).await;
        if wanted.is_empty() {
            flags.handed_over_unlocked = true;
            return flags;
        }
        flags.locked = locks::take_flags(self.server, self.statements, self.surroundings, false).await.unwrap_or(false);
        // What was true before the lock need not be true now.
        self.undone.handed_over.clear();
        wanted = self.flags_on().await;
        self.leave_to_others(&mut wanted).await;
        flags.handed_over_unlocked = !flags.locked && !self.undone.handed_over.is_empty();
        flags.left = self.turn_off(&wanted).await;
        flags
    }

    /// The flags to turn off, whoever else needs them: those on, or all that may be where that cannot be read.
    async fn flags_on(&mut self) -> Vec<u32> {
        let mut answered_for: Vec<u32> = Vec::new();
        for &flag in self.works.iter().flat_map(|work| work.flags.iter().chain(&work.owed_flags)) {
            if !answered_for.contains(&flag) {
                answered_for.push(flag);
            }
        }
        self.undone.flags = self.read_flags(&answered_for).await;
        let owed = |flag: u32| self.works.iter().any(|work| work.owed_flags.contains(&flag));
        let is_wanted = |state: &&FlagState| state.global.unwrap_or_else(|| owed(state.flag));
        self.undone.flags.iter().filter(is_wanted).map(|state| state.flag).collect()
    }

    /// TRACESTATUS; unknown where it cannot be read, never off.
    async fn read_flags(&mut self, flags: &[u32]) -> Vec<FlagState> {
        if flags.is_empty() {
            return Vec::new();
        }
        let unknown = || flags.iter().map(|&flag| FlagState::new(flag, None)).collect();
        for _attempt in 0..2 {
            if !self.reach().await {
                break;
            }
            match preflight::read_flags(self.server, self.statements, flags).await {
                Ok(states) => return states,
                Err(error) if error.is_connection_lost() => {}
                Err(_) => break,
            }
        }
        unknown()
    }

    /// Leaves flags to the live runs that name them.
    async fn leave_to_others(&mut self, flags: &mut Vec<u32>) {
        let Some(seen) = self.listing().await else { return };
        // Without the server's clock no run of another machine counts as dead.
        let clock = listing::server_clock(self.server, self.statements).await.unwrap_or(i64::MIN);
        let ours: Vec<RunId> = self.works.iter().map(|work| work.run_id.clone()).collect();
        flags.retain(|&flag| {
            let user = seen.live_user_of(flag, &ours, &self.surroundings.here, clock);
            self.undone.handed_over.extend(user.iter().map(|user| HandedOver { flag, to: user.run_id.clone() }));
            user.is_none()
        });
    }

    /// TRACEOFF and TRACESTATUS; gives what is still on, or may be.
    async fn turn_off(&mut self, flags: &[u32]) -> Vec<u32> {
        let mut acknowledged: BTreeSet<u32> = BTreeSet::new();
        for work in self.works {
            let of_work: Vec<u32> = flags
                .iter()
                .copied()
                .filter(|flag| work.flags.contains(flag) || work.owed_flags.contains(flag))
                .filter(|flag| !acknowledged.contains(flag))
                .collect();
            if !of_work.is_empty()
                && let Ok(sql) = self.statements.trace_off(&of_work, Scope::Global)
                && self.step(work, Step::TraceOff { flags: of_work.clone() }, sql, &[]).await == Answer::Done
            {
                acknowledged.extend(of_work);
            }
        }
        let known: Vec<u32> = self.undone.flags.iter().map(|state| state.flag).collect();
        self.undone.flags = self.read_flags(&known).await;
        let is_left = |flag: &u32| {
            let state = self.undone.flags.iter().find(|state| state.flag == *flag).and_then(|state| state.global);
            state.unwrap_or_else(|| !acknowledged.contains(flag))
        };
        flags.iter().copied().filter(is_left).collect()
    }

    /// Last, whatever STOP said (field report L-01): the definition is what tells of everything else. The sessions of a
    /// run whose flags are still on stay for that reason.
    async fn drop_sessions(&mut self, flags_left: &[u32]) {
        for work in self.works {
            if answers_for_any(work, flags_left) {
                continue;
            }
            for session in work.sessions.keys() {
                if let Ok(sql) = self.statements.session("drop_session", session) {
                    let step = Step::DropSession { session: session.clone() };
                    self.step(work, step, sql, &[DOES_NOT_EXIST]).await;
                }
            }
        }
    }

    /// Flags left to a run that had no lock either: it may have left them to us. Once our names are gone, the one of us
    /// that looks last sees no other name, and turns them off.
    async fn take_back(&mut self, flags: &Flags) {
        self.undone.handed_over.clear();
        let mut wanted = self.flags_on().await;
        wanted.retain(|flag| !flags.left.contains(flag));
        self.leave_to_others(&mut wanted).await;
        let left = self.turn_off(&wanted).await;
        self.leave_behind_flags(&left);
    }

    async fn listing(&mut self) -> Option<Listing> {
        for _attempt in 0..2 {
            if !self.reach().await {
                return None;
            }
            match listing::read(self.server, self.statements).await {
                Ok(listing) => return Some(listing),
                Err(CaptureError::Server(error)) if error.is_connection_lost() => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// Says what remains, and gives the lock back. 15151 can also mean that a session cannot be seen, so the listing decides.
    async fn account(&mut self, flags: &Flags) {
        self.leave_behind_flags(&flags.left);
        let seen = self.listing().await;
        if flags.locked
            && let Ok(sql) = self.statements.release_lock(locks::FLAGS)
        {
            // It goes with the connection, too.
            let _ignored = self.server.run(&sql).await;
        }
        for work in self.works {
            let gone = |session: &String| match &seen {
                Some(seen) => !seen.holds(session),
                None => self.undone.sent.iter().any(|(run, sent)| {
                    let is_drop =
                        self.statements.session("drop_session", session).is_ok_and(|sql| sql == sent.statement);
                    *run == work.run_id && is_drop && matches!(sent.result, Answer::Done | Answer::AlreadySo)
                }),
            };
            let all: BTreeSet<&String> = match &seen {
                Some(_) => work.created.iter().chain(work.sessions.keys()).collect(),
                None => work.sessions.keys().collect(),
            };
            let remaining: Vec<&String> = all.into_iter().filter(|session| !gone(session)).collect();
            for session in remaining {
                self.undone.left_behind.push((
                    work.run_id.clone(),
                    left_session(self.statements, session, self.home, self.undone.unreachable.is_some()),
                ));
            }
            if !self.undone.left_behind.iter().any(|(run, _)| *run == work.run_id)
                && let Some(journal) = &work.journal
            {
                let _ignored = lock(journal).write(&*self.surroundings.clock, Step::End, State::Done);
            }
        }
    }

    fn leave_behind_flags(&mut self, flags: &[u32]) {
        for work in self.works {
            for &flag in flags.iter().filter(|flag| answers_for_any(work, &[**flag])) {
                let is_unknown = self.undone.flags.iter().any(|state| state.flag == flag && state.global.is_none());
                let left = left_flag(self.statements, flag, is_unknown, self.home, self.undone.unreachable.is_some());
                self.undone.left_behind.push((work.run_id.clone(), left));
            }
        }
    }
}

fn answers_for_any(work: &Work, flags: &[u32]) -> bool {
    flags.iter().any(|flag| work.flags.contains(flag) || work.owed_flags.contains(flag))
}

fn of_answer<T>(answer: &Result<T, SqlServerError>, already_so: &[u32]) -> (Answer, Option<u32>) {
    match answer {
        Ok(_) => (Answer::Done, None),
        Err(error) => match error.number() {
            Some(number) if already_so.contains(&number) => (Answer::AlreadySo, Some(number)),
            Some(number) => (Answer::Refused, Some(number)),
            None => (Answer::NotAnswered, None),
        },
    }
}

/// A session that remains; where its server could not be reached, with the server's name.
pub(super) fn left_session(
    statements: &Statements<'_>,
    session: &str,
    home: &ServerIdentity,
    with_server: bool,
) -> LeftBehind {
    LeftBehind {
        what: format!("event session {session}{}", place(home, with_server)),
        statement: statements.session("drop_session", session).unwrap_or_default(),
    }
}

/// A flag that is on, or may be.
pub(super) fn left_flag(
    statements: &Statements<'_>,
    flag: u32,
    is_unknown: bool,
    home: &ServerIdentity,
    with_server: bool,
) -> LeftBehind {
    let state = if is_unknown { "unknown, perhaps on globally" } else { "on globally" };
    LeftBehind {
        what: format!("trace flag {flag} {state}{}", place(home, with_server)),
        statement: statements.trace_off(&[flag], Scope::Global).unwrap_or_default(),
    }
}

fn place(home: &ServerIdentity, with_server: bool) -> String {
    if with_server && !home.name.is_empty() { format!(" on {}", home.name) } else { String::new() }
}

/// A connection error in words, for a problem.
pub(super) fn unreachable_message(why: &str) -> String {
    format!("the server could not be reached to put things back: {why}")
}

/// What undoing could not even begin to look at.
pub(super) fn never_looked_at(
    statements: &Statements<'_>,
    home: &ServerIdentity,
    sessions: impl Iterator<Item = String>,
    flags: &[u32],
) -> Vec<LeftBehind> {
    let flags = flags.iter().map(|&flag| left_flag(statements, flag, true, home, true));
    sessions.map(|session| left_session(statements, &session, home, true)).chain(flags).collect()
}
