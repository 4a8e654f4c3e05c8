//! Owns what faults of a moment do to an instance.

use crate::simulator::dbcc::TraceFlags;
use crate::simulator::events::Engine;
use crate::simulator::faults::At;
use crate::simulator::faults::moments::{DatabaseChange, Moment as Fault};
use crate::simulator::host::{CutAt, Disturbance, Host, SessionContext};
use crate::simulator::instance::{Before, Cleared, Instance, Process, State};
use crate::simulator::output::Message;
use std::sync::atomic::Ordering;
use tokio_util::sync::CancellationToken;

const MICROS_PER_SECOND: i64 = 1_000_000;

impl Instance {
    /// A statement is about to run: what faults do at this moment happens. Errors: it does not run.
    pub(super) fn arrive(&self, session: &SessionContext, at: &At) -> Result<(), Vec<Message>> {
        if self.has_moments {
            let mut state = self.lock();
            for fault in state.moments.take(at) {
                self.happen(&mut state, session, &fault);
            }
            let cut = Disturbance::Cut(CutAt::Before);
            if state.disturbances.get(&session.spid).is_some_and(|of_session| of_session.contains(&cut)) {
                return Err(vec![session_ended()]);
            }
            refuse_ended(&state, session)?;
        }
        self.switches.statement_error(at).map_or(Ok(()), |error| Err(vec![error]))
    }

    fn happen(&self, state: &mut State, session: &SessionContext, fault: &Fault) {
        let now = self.now();
        self.on_engine(state, now, |_, _| ());
        match fault {
            Fault::Answer(disturbance) => state.disturbances.entry(session.spid).or_default().push(*disturbance),
            Fault::Restart => self.restart(state),
            Fault::Failover(_) => {
                self.has_failed_over.store(true, Ordering::SeqCst);
                end_sessions(state);
            }
            Fault::Vanish(how) => state.engine.vanish(*how),
            Fault::ClockJump(seconds) => {
                self.jumped_micros.fetch_add(seconds.saturating_mul(MICROS_PER_SECOND), Ordering::SeqCst);
            }
            Fault::StatsCleared => {
                let reading = Some(self.reading(state, now));
                state.cleared = Cleared { waits: reading, latches: reading, spinlocks: reading };
            }
            Fault::Database(change, name) => {
                let reading = self.reading(state, now);
                let Some(id) = self.database_named(state, name.as_deref()) else { return };
                match change {
                    DatabaseChange::Renamed => {
                        let shown = state.databases.shown(&self.databases).find(|shown| shown.database.id == id);
                        let name = shown.map(|shown| format!("{}_renamed", shown.name));
                        state.databases.renamed.extend(name.map(|name| (id, name)));
                    }
                    DatabaseChange::Dropped => {
                        state.databases.dropped.insert(id);
                    }
                    DatabaseChange::Offline => {
                        state.databases.anew.insert(id, reading);
                    }
                }
            }
        }
    }

    /// The database of this name, else the workload's own.
    fn database_named(&self, state: &State, name: Option<&str>) -> Option<i32> {
        let Some(name) = name else { return Some(self.truth.storage.own_database_id()) };
        let mut shown = state.databases.shown(&self.databases);
        shown.find(|shown| self.collation().same(shown.name, name)).map(|shown| shown.database.id)
    }

    /// The server process ends and runs again. The machine does not, and the workload comes back at once.
    fn restart(&self, state: &mut State) {
        let now = self.now();
        end_sessions(state);
        let reading = self.reading(state, now);
        let busy_micros = state.load.busy_micros(now.monotonic);
        state.process =
            Process { started: now, before: Some(Before { reading, busy_micros }), ended: CancellationToken::new() };
        state.cleared = Cleared { waits: Some(reading), latches: Some(reading), spinlocks: Some(reading) };
        state.databases.anew.clear();
        state.flags = TraceFlags::at_startup(&self.startup_flags);
        self.on_engine(state, now, Engine::restart);
    }
}

/// All sessions of clients end; what they hold goes with them.
fn end_sessions(state: &mut State) {
    let sessions = std::mem::take(&mut state.sessions);
    for spid in sessions.keys() {
        state.flags.end_session(*spid);
    }
    state.ended.extend(sessions.into_keys());
    state.locks.clear();
    state.process.ended.cancel();
    state.process.ended = CancellationToken::new();
}

/// A statement of a session that the server has ended does nothing.
pub(super) fn refuse_ended(state: &State, session: &SessionContext) -> Result<(), Vec<Message>> {
    if state.ended.contains(&session.spid) { Err(vec![session_ended()]) } else { Ok(()) }
}

/// 596; nobody gets to read it, for the connection is closed.
fn session_ended() -> Message {
    Message::new(596, 21, "Cannot continue the execution because the session is in the kill state.")
}
