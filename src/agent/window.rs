//! Owns the window itself: create, start, count, end, read. Putting back is not its business; it only records, before each
//! change, what will have to be put back.

use crate::agent::journal::{State, Step};
use crate::agent::outcome::{CaptureError, CaptureOptions, RawTarget, Refusal};
use crate::agent::preflight::Plan;
use crate::agent::progress::Progress;
use crate::agent::server::Server;
use crate::agent::{SharedJournal, Surroundings, counters, flags, lock};
use crate::catalog::sessions::Scenario;
use crate::model::{self, EventContext, Problem, SessionEvidence, Severity, Snapshot};
use crate::sqlserver::SqlServerError;
use crate::statements::{SessionDefinition, Statements};
use std::time::Duration;

/// Samples of the schedulers wanted in a window, and the least pause between two.
const SAMPLES: u32 = 40;
const LEAST_SAMPLE_PAUSE: Duration = Duration::from_millis(150);

/// What the window has found so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// First counters.
    pub before: Option<Snapshot>,
    /// Last counters.
    pub after: Option<Snapshot>,
    /// Between.
    pub samples: Vec<Snapshot>,
    /// Time covered.
    pub window: Option<model::Window>,
    /// The session and its target.
    pub session: Option<SessionEvidence>,
    /// Documents as received.
    pub targets: Vec<RawTarget>,
    /// What went wrong.
    pub problems: Vec<Problem>,
    /// Scope in which trace flags were used: `session`, `global` or none.
    pub flag_scope: Option<&'static str>,
}

/// A window at work.
pub(super) struct Window {
    pub(super) server: Server,
    pub(super) surroundings: Surroundings,
    pub(super) options: CaptureOptions,
    pub(super) scenario: Scenario,
    pub(super) plan: Plan,
    pub(super) session_name: String,
    pub(super) journal: SharedJournal,
    pub(super) gathered: Gathered,
}

impl Window {
    /// Runs it to its end, early or not; the server and what was found come back whatever happened.
    pub(super) async fn run(mut self) -> (Server, Gathered, Result<(), CaptureError>) {
        let result = self.run_steps().await;
        if let Err(error) = &result
            && self.gathered.before.is_some()
        {
            let message = format!("the capture broke off: {}", counters::chain(error));
            self.gathered.problems.push(Problem::new("capture_broke_off", Severity::Partial, message));
        }
        (self.server, self.gathered, result)
    }

    async fn run_steps(&mut self) -> Result<(), CaptureError> {
        self.create().await?;
        if self.options.trace_flags.during_window && !self.plan.flags_to_use.is_empty() {
            flags::turn_on_globally(self).await?;
        }
        self.stop_if_interrupted()?;
        let start = self.statements().session("start_session", &self.session_name)?;
        self.change(Step::StartSession, &start).await?;
        let started = self.surroundings.clock.monotonic();
        let started_at = self.surroundings.clock.utc();
        self.gathered.before = Some(self.counters().await?);
        self.stay_open(started).await?;
        let is_silent = self.end_firing().await?;
        let ended = self.surroundings.clock.monotonic();
        let ended_at = self.surroundings.clock.utc();
        self.gathered.window =
            Some(model::Window { started_at, ended_at, elapsed_ms: ended.saturating_sub(started).as_millis() as u64 });
        self.gathered.after = Some(self.counters().await?);
        self.surroundings.observer.as_ref()(&Progress::Reading);
        self.await_dispatch(ended).await;
        if !is_silent {
            let message = "the event could not be dropped from the running session, so events went on until the target was \
                           read, a little longer than the counters";
            self.gathered.problems.push(Problem::new("events_outlast_window", Severity::Warning, message));
        }
        self.read_target().await
    }

    pub(super) fn statements(&self) -> Statements<'_> {
        Statements::new(&self.surroundings.sessions, self.plan.version)
    }

    fn stop_if_interrupted(&self) -> Result<(), CaptureError> {
        if self.surroundings.interrupt.is_signalled() { Err(CaptureError::Interrupted) } else { Ok(()) }
    }

    /// One change: the intent is on disk before it is sent, the outcome after it.
    pub(super) async fn change(&mut self, step: Step, sql: &str) -> Result<(), CaptureError> {
        let clock = &*self.surroundings.clock;
        let journal_failed = |source| CaptureError::StateDir { path: self.options.state_dir.clone(), source };
        lock(&self.journal).write(clock, step.clone(), State::Intended).map_err(journal_failed)?;
        let result = self.server.run(sql).await;
        let state = match &result {
            Ok(_) => State::Done,
            // Without an answer the intent stands, and counts as done.
            Err(error) => match error.number() {
                Some(number) => State::Refused { number },
                None => return Err(result.err().map_or(CaptureError::Interrupted, CaptureError::Server)),
            },
        };
        lock(&self.journal).write(clock, step, state).map_err(journal_failed)?;
        result.map(drop).map_err(CaptureError::Server)
    }

    async fn create(&mut self) -> Result<(), CaptureError> {
        let definition = SessionDefinition {
            name: self.session_name.clone(),
            wait_type_key: Some(self.plan.wait_type_key),
            callstack_action: self.plan.callstack_action.to_owned(),
            target: self.plan.target.to_owned(),
            slots: self.plan.slots,
            max_events: self.plan.max_events,
            max_memory_kb: self.plan.max_memory_kb,
            partition_mode: self.plan.partition_mode.to_owned(),
        };
        let sql = self.statements().create_session(&self.scenario, &definition)?;
        match self.change(Step::CreateSession, &sql).await {
            Err(CaptureError::Server(error)) if error.number().is_some() => {
                // The first error is the cause; nothing further is sent that could hide it (field report L-06).
                Err(CaptureError::refused(Refusal::Version, "the server refused the event session", None)
                    .caused_by(error))
            }
            result => result,
        }
    }

    async fn counters(&mut self) -> Result<Snapshot, SqlServerError> {
        let statements = Statements::new(&self.surroundings.sessions, self.plan.version);
        let clock = &*self.surroundings.clock;
        let names = &self.scenario.counters.snapshot;
        counters::read(&mut self.server, &statements, clock, names, &mut self.gathered.problems).await
    }

    /// Waits for the window to pass, sampling the schedulers on the way. A lost connection costs the samples, not the window.
    async fn stay_open(&mut self, started: Duration) -> Result<(), CaptureError> {
        let clock = std::sync::Arc::clone(&self.surroundings.clock);
        let observer = std::sync::Arc::clone(&self.surroundings.observer);
        let interrupt = self.surroundings.interrupt.clone();
        let length = self.options.window;
        let pause = (length / SAMPLES).max(LEAST_SAMPLE_PAUSE);
        observer(&Progress::WindowOpened { length });
        let end = started + length;
        while clock.monotonic() < end {
            let next = end.min(clock.monotonic() + pause);
            tokio::select! {
                () = clock.sleep_until(next) => {}
                () = interrupt.signalled() => break,
            }
            observer(&Progress::WindowElapsed(clock.monotonic().saturating_sub(started)));
            if clock.monotonic() < end {
                self.sample().await?;
            }
        }
        Ok(())
    }

    async fn sample(&mut self) -> Result<(), CaptureError> {
        if !self.server.is_connected() {
            return self.reconnect().await;
        }
        let statements = Statements::new(&self.surroundings.sessions, self.plan.version);
        let names = std::slice::from_ref(&self.scenario.counters.sample);
        let clock = &*self.surroundings.clock;
        match counters::read(&mut self.server, &statements, clock, names, &mut self.gathered.problems).await {
            Ok(sample) => {
                self.gathered.samples.push(sample);
                Ok(())
            }
            Err(_lost) => self.reconnect().await,
        }
    }

    /// After a lost connection: a new one, and the lock that died with the old one again, or the window is over.
    async fn reconnect(&mut self) -> Result<(), CaptureError> {
        self.server.reconnect().await?;
        let message = "the connection broke inside the window and was made again";
        self.gathered.problems.push(Problem::new("reconnected", Severity::Warning, message));
        let statements = Statements::new(&self.surroundings.sessions, self.plan.version);
        super::take_lock(&mut self.server, &statements, &format!("xestack/{}", self.scenario.name)).await
    }

    /// Ends the firing and keeps the target; false where the server refuses that.
    async fn end_firing(&mut self) -> Result<bool, CaptureError> {
        let sql = self.statements().drop_event(&self.session_name, &self.scenario.session.event)?;
        match self.change(Step::DropEvent, &sql).await {
            Ok(()) => Ok(true),
            Err(CaptureError::Server(error)) if error.number().is_some() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Events reach the target up to a dispatch latency late; twice that is waited, less when the user insists.
    async fn await_dispatch(&mut self, ended: Duration) {
        let latency = Duration::from_secs(self.scenario.session.dispatch_latency_seconds);
        tokio::select! {
            () = self.surroundings.clock.sleep_until(ended + latency * 2) => {}
            () = self.surroundings.interrupt.insisted() => {
                let message = "the last second of events may be missing: the wait for it was cut short";
                self.gathered.problems.push(Problem::new("dispatch_not_awaited", Severity::Warning, message));
            }
        }
    }

    async fn read_target(&mut self) -> Result<(), CaptureError> {
        let sql = self.statements().read_target(&self.session_name)?;
        let table = self.server.table(&sql).await?;
        let unsigned = |name: &str| table.integer(0, name).and_then(|number| u64::try_from(number).ok());
        let mut session = SessionEvidence {
            name: self.session_name.clone(),
            context: EventContext {
                event: Some(self.scenario.session.event.clone()),
                wait_type: Some(self.scenario.session.wait_type.clone()),
            },
            bucket: Some("callstack".to_owned()),
            filter_keys: vec![self.plan.wait_type_key],
            slots_requested: Some(self.plan.slots),
            dropped_events: unsigned("dropped_event_count"),
            dropped_buffers: unsigned("dropped_buffer_count"),
            buffer_bytes: unsigned("regular_buffer_size"),
            event_cap: Some(self.plan.max_events),
            live: true,
            ..SessionEvidence::default()
        };
        if table.rows.is_empty() {
            // The session is gone: another matter than a session without events (field report L-05).
            self.gathered.session = Some(session);
            return Ok(());
        }
        let text = table.text(0, "target_data").unwrap_or_default().to_owned();
        session.target = crate::parse::target::parse_targets(&text).into_iter().next();
        self.gathered.session = Some(session);
        self.gathered.targets.push(RawTarget { session: self.session_name.clone(), symbolised: false, text });
        flags::symbolise(self).await
    }
}
