//! Owns the window itself: the sessions are created, started, counted and silenced together, the counters taken around
//! them. Putting back is not its business; what will have to be put back is in the journal before each change.

use crate::agent::outcome::{CaptureError, CaptureOptions, RawTarget, Refusal};
use crate::agent::preflight::{EventPlan, Plan};
use crate::agent::progress::Progress;
use crate::agent::run::Marker;
use crate::agent::server::Server;
use crate::agent::session::CaptureSession;
use crate::agent::{SharedJournal, Surroundings, counters, flags, survey};
use crate::catalog::sessions::Scenario;
use crate::model::{self, Problem, SessionEvidence, Severity, Snapshot};
use crate::sqlserver::SqlServerError;
use crate::statements::{SessionDefinition, Statements};
use std::sync::Arc;
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
    /// The sessions and their targets.
    pub sessions: Vec<SessionEvidence>,
    /// Documents as received.
    pub targets: Vec<RawTarget>,
    /// What went wrong.
    pub problems: Vec<Problem>,
    /// Scope in which trace flags were used: `session`, `global` or none.
    pub flag_scope: Option<&'static str>,
}

/// A window at work.
pub(super) struct Window {
    pub server: Server,
    pub surroundings: Surroundings,
    pub options: CaptureOptions,
    pub plan: Plan,
    /// The run's marker; each session's name is it with the session's scenario.
    pub marker: Marker,
    pub journal: SharedJournal,
    pub gathered: Gathered,
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
        let sessions = match self.started_sessions().await {
            Err(error @ CaptureError::Refused { reason: Refusal::Unavailable, .. }) => {
                self.go_on_with_counters(&error).await?;
                Vec::new()
            }
            result => result?,
        };
        let started = self.surroundings.clock.monotonic();
        let started_at = self.surroundings.clock.utc();
        self.gathered.before = Some(self.counters().await?);
        self.stay_open(started).await?;
        let mut all_silent = true;
        for session in &sessions {
            all_silent &= self.silence(session).await?;
        }
        let ended = self.surroundings.clock.monotonic();
        let ended_at = self.surroundings.clock.utc();
        self.gathered.window =
            Some(model::Window { started_at, ended_at, elapsed_ms: ended.saturating_sub(started).as_millis() as u64 });
        self.gathered.after = Some(self.counters().await?);
        if sessions.is_empty() {
            return Ok(());
        }
        (self.surroundings.observer)(&Progress::Reading);
        let latency = sessions.iter().map(|session| session.scenario.session.dispatch_latency_seconds).max();
        self.await_dispatch(ended, latency.unwrap_or_default()).await;
        if !all_silent {
            let message = "the event could not be dropped from the running session, so events went on until the target was \
                           read, a little longer than the counters";
            self.gathered.problems.push(Problem::new("events_outlast_window", Severity::Warning, message));
        }
        for session in &sessions {
            let evidence = self.read(session).await?;
            self.gathered.sessions.push(evidence);
        }
        flags::symbolise(self).await
    }

    /// The sessions of the window, created and then started together; none where only counters are taken.
    async fn started_sessions(&mut self) -> Result<Vec<CaptureSession>, CaptureError> {
        let sessions = self.planned_sessions().await?;
        for session in &sessions {
            self.create(session).await?;
        }
        if self.options.trace_flags.during_window && !self.plan.flags_to_use.is_empty() {
            flags::turn_on_globally(self).await?;
        }
        self.stop_if_interrupted()?;
        for session in &sessions {
            self.start(session).await?;
        }
        Ok(sessions)
    }

    /// The sessions of the window. A scenario that does not know its keys surveys them first.
    async fn planned_sessions(&mut self) -> Result<Vec<CaptureSession>, CaptureError> {
        let Some(events) = self.plan.events.clone() else { return Ok(Vec::new()) };
        let mut sessions = Vec::new();
        for planned in self.plan.scenarios.clone() {
            self.stop_if_interrupted()?;
            let keys = match &planned.scenario.survey {
                Some(survey) => survey::survey(self, &events, &planned, survey).await?,
                None => planned.keys.clone().unwrap_or_default(),
            };
            sessions.push(CaptureSession {
                create: planned.scenario.session.create.clone(),
                definition: self.definition(&events, &planned.scenario, keys, planned.slots.asked),
                bucket: "callstack".to_owned(),
                scenario: planned.scenario,
            });
        }
        Ok(sessions)
    }

    /// What a CREATE statement of this run is filled in with.
    pub(super) fn definition(
        &self,
        events: &EventPlan,
        scenario: &Scenario,
        keys: Vec<u64>,
        slots: u64,
    ) -> SessionDefinition {
        SessionDefinition {
            name: self.marker.for_scenario(&scenario.name).to_string(),
            keys: Some(keys),
            filters: events.filters,
            callstack_action: events.callstack_action.to_owned(),
            target: events.target.to_owned(),
            slots,
            max_events: events.max_events,
            max_memory_kb: events.max_memory_kb,
            partition_mode: events.partition_mode.to_owned(),
            max_duration_seconds: events.max_duration_seconds,
        }
    }

    pub(super) fn statements(&self) -> Statements<'_> {
        Statements::new(&self.surroundings.sessions, self.plan.version)
    }

    fn stop_if_interrupted(&self) -> Result<(), CaptureError> {
        if self.surroundings.interrupt.is_signalled() { Err(CaptureError::Interrupted) } else { Ok(()) }
    }

    /// The counters of all scenarios, each once.
    async fn counters(&mut self) -> Result<Snapshot, SqlServerError> {
        let names = counters::names(self.plan.scenarios.iter().map(|planned| &planned.scenario));
        self.read_counters(&names).await
    }

    async fn read_counters(&mut self, names: &[String]) -> Result<Snapshot, SqlServerError> {
        let statements = Statements::new(&self.surroundings.sessions, self.plan.version);
        let clock = &*self.surroundings.clock;
        counters::read(&mut self.server, &statements, clock, names, &mut self.gathered.problems).await
    }

    /// Waits for the window to pass, sampling the schedulers on the way. A lost connection costs the samples, not the window.
    async fn stay_open(&mut self, started: Duration) -> Result<(), CaptureError> {
        let clock = Arc::clone(&self.surroundings.clock);
        let observer = Arc::clone(&self.surroundings.observer);
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
        let sample = self.plan.scenarios.first().map(|planned| planned.scenario.counters.sample.clone());
        match self.read_counters(&sample.into_iter().collect::<Vec<_>>()).await {
            Ok(sample) => {
                self.gathered.samples.push(sample);
                Ok(())
            }
            Err(_lost) => self.reconnect().await,
        }
    }

    /// After a lost connection: a new one, and the locks that died with the old one again, or the window is over.
    async fn reconnect(&mut self) -> Result<(), CaptureError> {
        self.server.reconnect().await?;
        let message = "the connection broke inside the window and was made again";
        self.gathered.problems.push(Problem::new("reconnected", Severity::Warning, message));
        let statements = Statements::new(&self.surroundings.sessions, self.plan.version);
        for planned in &self.plan.scenarios {
            super::take_lock(&mut self.server, &statements, &super::scenario_lock(&planned.scenario)).await?;
        }
        Ok(())
    }

    /// Events reach the target up to a dispatch latency late; twice that is waited, less when the user insists.
    pub(super) async fn await_dispatch(&mut self, ended: Duration, latency_seconds: u64) {
        tokio::select! {
            () = self.surroundings.clock.sleep_until(ended + Duration::from_secs(latency_seconds) * 2) => {}
            () = self.surroundings.interrupt.insisted() => {
                let message = "the last second of events may be missing: the wait for it was cut short";
                self.gathered.problems.push(Problem::new("dispatch_not_awaited", Severity::Warning, message));
            }
        }
    }
}
