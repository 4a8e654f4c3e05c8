//! Owns the end of a window: the events silenced, the last counters, and the targets read. Each step is done once, over
//! as many connections as it takes.

use crate::agent::open::{lost, running};
use crate::agent::outcome::CaptureError;
use crate::agent::progress::Progress;
use crate::agent::session::{CaptureSession, Silence};
use crate::agent::window::{EarlyEnd, Open, Window};
use crate::model::{self, Problem, SessionState, Severity};
use std::time::Duration;

/// How often the connection may break on the way.
const RECONNECTS: u32 = 3;

/// How far the end is.
#[derive(Debug, Default)]
struct Closing {
    silences: Vec<Silence>,
    ended: Option<Duration>,
    read: usize,
}

impl Window {
    /// Ends the window and reads what it counted.
    pub(super) async fn close(&mut self, open: &mut Open, sessions: &[CaptureSession]) -> Result<(), CaptureError> {
        let mut closing = Closing::default();
        for _reconnect in 0..RECONNECTS {
            match self.close_steps(open, sessions, &mut closing).await {
                Err(CaptureError::Server(error)) if error.is_connection_lost() => self.resume(open, sessions).await?,
                result => return result,
            }
        }
        self.close_steps(open, sessions, &mut closing).await
    }

    async fn close_steps(
        &mut self,
        open: &mut Open,
        sessions: &[CaptureSession],
        closing: &mut Closing,
    ) -> Result<(), CaptureError> {
        if open.early == Some(EarlyEnd::OtherServer) {
            // What was asked for there would not be of this window.
            self.account_for_unread(open, sessions);
            return Ok(());
        }
        for session in sessions.iter().skip(closing.silences.len()) {
            let silence = self.silence(session).await?;
            closing.silences.push(silence);
        }
        let ended = if let Some(ended) = closing.ended {
            ended
        } else {
            let (ended, ended_at) = self.now();
            let elapsed_ms = ended.saturating_sub(open.started).as_millis() as u64;
            self.gathered.window = Some(model::Window { started_at: open.started_at, ended_at, elapsed_ms });
            closing.ended = Some(ended);
            ended
        };
        if self.gathered.after.is_none() {
            let after = self.counters().await?;
            if open.early.is_none() && lost(&after, self.gathered.before.as_ref(), sessions) {
                open.early = Some(EarlyEnd::SessionLost);
            }
            self.gathered.after = Some(after);
        }
        if sessions.is_empty() {
            self.note_end(open, &closing.silences);
            return Ok(());
        }
        (self.surroundings.observer)(&Progress::Reading);
        let latency = sessions.iter().map(|session| session.template.dispatch_latency_seconds).max();
        self.await_dispatch(ended, latency.unwrap_or_default()).await;
        for session in sessions.iter().skip(closing.read) {
            let evidence = self.read(session, Some(open)).await?;
            self.gathered.sessions.push(evidence);
            closing.read += 1;
        }
        if self.options.queries {
            self.read_statements().await?;
        }
        self.note_end(open, &closing.silences);
        Ok(())
    }

    fn note_end(&mut self, open: &Open, silences: &[Silence]) {
        if silences.contains(&Silence::Refused) {
            let message = "the event could not be dropped from the running session, so events went on until the target was \
                           read, a little longer than the counters";
            self.gathered.problems.push(Problem::new("events_outlast_window", Severity::Warning, message));
        }
        let why = match open.early {
            Some(EarlyEnd::SessionLost) => "an event session of this run did not run any more",
            Some(EarlyEnd::Restarted) => "the server restarted",
            Some(EarlyEnd::Guard | EarlyEnd::OtherServer) | None => return,
        };
        let covered = self.gathered.window.map_or(0.0, |window| window.elapsed_ms as f64 / 1_000.0);
        let message =
            format!("the window ended after {covered:.1} s of {:.0} s: {why}", self.options.window.as_secs_f64());
        self.gathered.problems.push(Problem::new("window_cut_short", Severity::Info, message));
    }

    /// What became of a session that has no target to read.
    pub(super) async fn state_of(
        &mut self,
        session: &CaptureSession,
        open: Option<&Open>,
    ) -> Result<SessionState, CaptureError> {
        let list = self.server.table(&self.statements().common("list_sessions", &[])?).await?;
        let row = (0..list.rows.len()).find(|row| list.text(*row, "name") == Some(session.name()));
        let Some(row) = row else { return Ok(SessionState::Gone) };
        if list.integer(row, "running") == Some(1) {
            return Ok(SessionState::Running);
        }
        let Some(open) = open else { return Ok(SessionState::StoppedBySomeone) };
        let bound = self.max_duration().map(Duration::from_secs);
        Ok(match open.early {
            Some(EarlyEnd::Restarted) => SessionState::StoppedByRestart,
            _ if bound.is_some_and(|bound| open.had_passed(bound)) => SessionState::StoppedByMaxDuration,
            _ => SessionState::StoppedBySomeone,
        })
    }

    /// The bound in time that the sessions of this run were made with.
    pub(super) fn max_duration(&self) -> Option<u64> {
        self.plan.events.as_ref().and_then(|events| events.max_duration_seconds)
    }

    /// Whether the session that runs is not the one that was started: its document is not of this window.
    pub(super) fn was_started_again(&self, session: &CaptureSession) -> bool {
        let of = |snapshot: &Option<model::Snapshot>| running(snapshot.as_ref()?, session.name())?.since();
        of(&self.gathered.before).zip(of(&self.gathered.after)).is_some_and(|(before, after)| before != after)
    }
}
