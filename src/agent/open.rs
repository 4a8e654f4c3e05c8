//! Owns the time in which a window is open: samples, the guards that look at them, and going on after a lost connection.

use crate::agent::guards::Judgement;
use crate::agent::outcome::CaptureError;
use crate::agent::progress::Progress;
use crate::agent::session::CaptureSession;
use crate::agent::window::{EarlyEnd, Open, Window};
use crate::agent::{counters, locks};
use crate::analyze::measures::{Continuity, continuity};
use crate::model::{Problem, Severity, Snapshot};
use crate::sqlserver::SqlServerError;
use crate::statements::{Statements, sample_names, series_names};
use std::sync::Arc;
use std::time::Duration;

/// The code of the problem that a window was ended by one of its limits on what it may do to the server.
pub const WINDOW_STOPPED_EARLY: &str = "window_stopped_early";

/// Samples of the schedulers wanted in a window, and the least pause between two.
const SAMPLES: u32 = 40;
const LEAST_SAMPLE_PAUSE: Duration = Duration::from_millis(150);
/// A sample that takes longer makes the pauses longer.
const SLOW_SAMPLE: Duration = Duration::from_secs(1);

impl Window {
    /// Waits for the window to pass, sampling on the way. A lost connection costs the samples, not the window: the
    /// sessions count on without us.
    pub(super) async fn stay_open(&mut self, open: &mut Open, sessions: &[CaptureSession]) -> Result<(), CaptureError> {
        let clock = Arc::clone(&self.surroundings.clock);
        let observer = Arc::clone(&self.surroundings.observer);
        let interrupt = self.surroundings.interrupt.clone();
        let length = self.options.window;
        let mut pause = (length / SAMPLES).max(LEAST_SAMPLE_PAUSE);
        let scenarios = || self.plan.scenarios.iter().map(|planned| &planned.scenario);
        let mut names = sample_names(scenarios());
        let mut series = Series::new(series_names(scenarios()), self.options.every, open.started);
        observer(&Progress::WindowOpened { length });
        let end = open.started + length;
        while clock.monotonic() < end && open.early.is_none() {
            let next = end.min(clock.monotonic() + pause).min(series.next.unwrap_or(end));
            tokio::select! {
                () = clock.sleep_until(next) => {}
                () = interrupt.signalled() => break,
            }
            observer(&Progress::WindowElapsed(clock.monotonic().saturating_sub(open.started)));
            if clock.monotonic() >= end {
                break;
            }
            let asked = clock.monotonic();
            if series.is_due(asked) && self.server.is_connected() {
                match self.poll(&mut series.names).await {
                    Ok(snapshot) => self.gathered.series.push(snapshot),
                    Err(_lost) => self.resume(open, sessions).await?,
                }
                series.advance(clock.monotonic());
                continue;
            }
            match self.sample(open, sessions, &mut names).await {
                Ok(Judgement::PollLess) => pause *= 2,
                Ok(Judgement::End(reason)) => self.end_by_guard(open, &reason),
                Err(error) if !may_pass(&error) => return Err(error),
                Ok(Judgement::GoOn) | Err(_) => {}
            }
            if clock.monotonic().saturating_sub(asked) > SLOW_SAMPLE {
                pause *= 2;
            }
        }
        Ok(())
    }

    async fn sample(
        &mut self,
        open: &mut Open,
        sessions: &[CaptureSession],
        names: &mut Vec<String>,
    ) -> Result<Judgement, CaptureError> {
        if !self.server.is_connected() {
            self.resume(open, sessions).await?;
            return Ok(Judgement::GoOn);
        }
        let sample = match self.poll(names).await {
            Ok(sample) => sample,
            Err(_lost) => {
                self.resume(open, sessions).await?;
                return Ok(Judgement::GoOn);
            }
        };
        (open.heard, open.heard_at) = self.now();
        if lost(&sample, self.gathered.before.as_ref(), sessions) {
            open.early = Some(EarlyEnd::SessionLost);
        } else {
            open.seen_running = open.heard;
        }
        let judgement = open.guard.judge(&sample);
        self.gathered.samples.push(sample);
        Ok(judgement)
    }

    /// One batch that waits for no lock. A table that cannot be read is a problem once, and is not asked for again.
    async fn poll(&mut self, names: &mut Vec<String>) -> Result<Snapshot, SqlServerError> {
        let statements = Statements::new(&self.surroundings.sessions, self.plan.version);
        let clock = &*self.surroundings.clock;
        let sample = counters::poll(&mut self.server, &statements, clock, names, &mut self.gathered.problems).await?;
        names.retain(|name| sample.tables.contains_key(name));
        Ok(sample)
    }

    fn end_by_guard(&mut self, open: &mut Open, reason: &str) {
        let ran = open.heard.saturating_sub(open.started).as_secs_f64();
        let message = format!(
            "the window was ended after {ran:.1} s of {:.0} s, for the server's sake: {reason}; all figures are of that time",
            self.options.window.as_secs_f64()
        );
        let problem = Problem::new(WINDOW_STOPPED_EARLY, Severity::Partial, message);
        self.gathered
            .problems
            .push(problem.with_hint("capture at a quieter time, or fewer events (--sample, --database)"));
        open.early = Some(EarlyEnd::Guard);
    }

    /// After a lost connection: a new one, if it can be had, and a look at who answers there and whether the sessions
    /// still run. What died with the old connection, the locks, is taken again, or the window is over.
    pub(super) async fn resume(&mut self, open: &mut Open, sessions: &[CaptureSession]) -> Result<(), CaptureError> {
        self.server.reconnect().await?;
        let names = ["dm_os_sys_info".to_owned(), "dm_xe_sessions".to_owned()];
        let now = self.read_counters(&names).await?;
        let elapsed = self.surroundings.clock.monotonic().saturating_sub(open.started);
        let before = self.gathered.before.as_ref();
        let found =
            before.map_or(Continuity::Same, |before| continuity(before, &now, Some(elapsed.as_millis() as u64)));
        match found {
            Continuity::OtherServer => {
                self.note_other_server(&now);
                open.early = Some(EarlyEnd::OtherServer);
                return Ok(());
            }
            Continuity::Restarted => open.early = Some(EarlyEnd::Restarted),
            Continuity::Same => {
                if lost(&now, before, sessions) {
                    open.early = Some(EarlyEnd::SessionLost);
                }
            }
        }
        self.server.is_known_home();
        let (heard, heard_at) = self.now();
        if open.early.is_none() {
            open.seen_running = heard;
        }
        let gap = heard.saturating_sub(open.heard).as_secs_f64();
        (open.heard, open.heard_at) = (heard, heard_at);
        let message = match open.early {
            None => format!(
                "the connection broke inside the window and was made again: {gap:.1} s without samples; events and \
                 counters are of the whole window"
            ),
            Some(_) => format!("the connection broke inside the window and was made again after {gap:.1} s"),
        };
        self.gathered.problems.push(Problem::new("reconnected", Severity::Warning, message));
        let statements = Statements::new(&self.surroundings.sessions, self.plan.version);
        for planned in &self.plan.scenarios {
            locks::take(&mut self.server, &statements, &locks::of_scenario(&planned.scenario)).await?;
        }
        Ok(())
    }

    fn note_other_server(&mut self, now: &Snapshot) {
        let name = |snapshot: &Snapshot| {
            snapshot.tables.get("dm_os_sys_info").and_then(|info| info.text(0, "server_name")).map(str::to_owned)
        };
        let before = self.plan.server.name.clone();
        let who = match name(now).filter(|now| *now != before) {
            Some(now) => format!("{now} answers now where {before} did"),
            None => format!("another server, or another run of it, answers now as {before}"),
        };
        let message = format!(
            "the connection broke inside the window, and {who}: the window ended there, nothing is compared between the two, \
             and the event sessions are on the first one"
        );
        let problem = Problem::new("identity_changed", Severity::Partial, message);
        self.gathered.problems.push(
            problem.with_hint(format!("connect to {before} by its own name to remove them, and repeat the capture")),
        );
    }
}

/// What is read at a steady pace, and when it is next.
struct Series {
    names: Vec<String>,
    every: Duration,
    /// `None` where nothing is to be read.
    next: Option<Duration>,
}

impl Series {
    fn new(names: Vec<String>, every: Duration, started: Duration) -> Self {
        let next = (!names.is_empty() && !every.is_zero()).then(|| started + every);
        Self { names, every, next }
    }

    fn is_due(&self, now: Duration) -> bool {
        self.next.is_some_and(|next| now >= next)
    }

    /// To the next time of its pace that is still to come: one that was missed is left out.
    fn advance(&mut self, now: Duration) {
        self.next = self.next.map(|next| {
            let missed = now.saturating_sub(next).as_nanos() / self.every.as_nanos().max(1);
            next + self.every * u32::try_from(missed + 1).unwrap_or(u32::MAX)
        });
        if self.names.is_empty() {
            self.next = None;
        }
    }
}

/// Whether a connection may still come back while the window is open. A refused login stays refused, and a lock that
/// another run took meanwhile stays taken.
fn may_pass(error: &CaptureError) -> bool {
    matches!(error, CaptureError::Server(SqlServerError::Connect { .. }))
        || matches!(error, CaptureError::Server(error) if error.is_connection_lost())
}

/// Whether one of the sessions does not run any more, or not as the same as at the start. Where the running sessions
/// cannot be read nothing is known.
pub(super) fn lost(now: &Snapshot, before: Option<&Snapshot>, sessions: &[CaptureSession]) -> bool {
    sessions.iter().any(|session| {
        let found = running(now, session.name());
        let first = before.and_then(|before| running(before, session.name()));
        matches!((first, found), (Some(first @ Running::Since(_)), Some(found)) if found != first)
    })
}

/// How a session stands among those that run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Running {
    /// It runs, and was started then.
    Since(String),
    /// It does not run.
    No,
}

impl Running {
    /// When it was started, where it runs.
    pub(super) fn since(self) -> Option<String> {
        match self {
            Self::Since(time) => Some(time),
            Self::No => None,
        }
    }
}

/// How a session stands; `None` where running sessions could not be read.
pub(super) fn running(snapshot: &Snapshot, name: &str) -> Option<Running> {
    let table = snapshot.tables.get("dm_xe_sessions")?;
    let row = (0..table.rows.len()).find(|row| table.text(*row, "name") == Some(name));
    Some(row.map_or(Running::No, |row| Running::Since(table.text(row, "create_time").unwrap_or_default().to_owned())))
}
