//! Owns the window itself: the sessions are created and started together, the counters taken around them. Putting back
//! is not its business; what will have to be put back is in the journal before each change.

use crate::agent::guards::Guard;
use crate::agent::outcome::{CaptureError, CaptureOptions, RawTarget, Refusal};
use crate::agent::preflight::{EventPlan, Plan, SessionPlan};
use crate::agent::run::Marker;
use crate::agent::server::Server;
use crate::agent::session::{self, CaptureSession};
use crate::agent::{SharedJournal, Surroundings, counters, flags, survey};
use crate::catalog::sessions::{Scenario, SessionTemplate};
use crate::model::{self, Problem, SessionEvidence, SessionState, Severity, Snapshot, Table, UtcMicros};
use crate::sqlserver::SqlServerError;
use crate::statements::{SessionDefinition, Statements, snapshot_names};
use std::time::Duration;

/// What the window has found so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// First counters.
    pub before: Option<Snapshot>,
    /// Last counters.
    pub after: Option<Snapshot>,
    /// Between.
    pub samples: Vec<Snapshot>,
    /// Between, at a steady pace.
    pub series: Vec<Snapshot>,
    /// Statements by their hashes.
    pub statements: Option<Table>,
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
    /// Whether this run holds the lock around global flags.
    pub flags_locked: bool,
}

/// Why a window ends before its time, but for the user's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EarlyEnd {
    /// A guard's limit.
    Guard,
    /// An event session of this run does not run any more.
    SessionLost,
    /// The server started anew.
    Restarted,
    /// Another server answers under the name.
    OtherServer,
}

/// The open window.
#[derive(Debug)]
pub(super) struct Open {
    /// When it opened, by the monotonic clock and by the wall's.
    pub started: Duration,
    pub started_at: UtcMicros,
    /// When the server answered last, by the monotonic clock and by the wall's.
    pub heard: Duration,
    pub heard_at: UtcMicros,
    /// When the sessions were last seen to run, by the monotonic clock.
    pub seen_running: Duration,
    pub guard: Guard,
    /// Why it ended before its time.
    pub early: Option<EarlyEnd>,
}

impl Open {
    /// Whether a bound from the start on passed while the sessions went from seen running to seen stopped.
    pub(super) fn had_passed(&self, bound: Duration) -> bool {
        let slack = Duration::from_secs(1);
        self.seen_running.saturating_sub(self.started) <= bound + slack
            && self.heard.saturating_sub(self.started) + slack >= bound
    }
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
        if sessions.is_empty() && !self.options.counters_only {
            self.gathered.sessions.extend(self.not_created());
        }
        let (started, started_at) = self.now();
        let before = self.counters().await?;
        let (heard, heard_at) = self.now();
        let names = sessions.iter().map(|session| session.name().to_owned()).collect();
        let guard = Guard::new(self.plan.guards, self.plan.load, names, &before);
        self.gathered.before = Some(before);
        let mut open = Open { started, started_at, heard, heard_at, seen_running: heard, guard, early: None };
        let mut result = self.stay_open(&mut open, &sessions).await;
        if result.is_ok() {
            result = self.close(&mut open, &sessions).await;
        }
        if result.is_err() {
            self.account_for_unread(&open, &sessions);
        }
        result?;
        if open.early.is_some() || sessions.is_empty() { Ok(()) } else { flags::symbolise(self).await }
    }

    /// What would have been captured.
    fn not_created(&self) -> Vec<SessionEvidence> {
        let of_session = |scenario: &Scenario, template: &SessionTemplate| SessionEvidence {
            name: self.marker.for_session(&template.full_name(scenario)).to_string(),
            scenario: Some(scenario.name.clone()),
            context: session::context(template),
            bucket: Some(template.bucket.clone()),
            live: true,
            state: Some(SessionState::NotCreated),
            ..SessionEvidence::default()
        };
        let scenarios = self.plan.scenarios.iter().map(|planned| &planned.scenario);
        let decisive = scenarios.filter_map(|scenario| Some((scenario, scenario.main()?)));
        decisive.map(|(scenario, template)| of_session(scenario, template)).collect()
    }

    /// Now, by the monotonic clock and by the wall's.
    pub(super) fn now(&self) -> (Duration, UtcMicros) {
        (self.surroundings.clock.monotonic(), self.surroundings.clock.utc())
    }

    /// What a window that broke off, or was left, has covered, and the sessions whose targets nobody has read.
    pub(super) fn account_for_unread(&mut self, open: &Open, sessions: &[CaptureSession]) {
        let Open { started, started_at, heard, heard_at, .. } = open;
        let elapsed_ms = heard.saturating_sub(*started).as_millis() as u64;
        self.gathered.window.get_or_insert(model::Window { started_at: *started_at, ended_at: *heard_at, elapsed_ms });
        for session in sessions {
            let evidence = session.evidence();
            let is_read = |read: &SessionEvidence| read.name == evidence.name && read.bucket == evidence.bucket;
            if !self.gathered.sessions.iter().any(is_read) {
                let state = Some(SessionState::Unreachable);
                self.gathered.sessions.push(SessionEvidence { state, ..evidence });
            }
        }
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
            for (n, session) in planned.sessions.iter().enumerate() {
                let keys = match planned.scenario.survey.as_ref().filter(|_| n == 0) {
                    Some(survey) => survey::survey(self, &events, &planned.scenario, session, survey).await?,
                    None => session.key_numbers().unwrap_or_default(),
                };
                sessions.push(CaptureSession {
                    definition: self.definition(&events, &planned.scenario, session, keys),
                    template: session.template.clone(),
                    filter_names: session.key_names(),
                    scenario: planned.scenario.clone(),
                });
            }
        }
        Ok(sessions)
    }

    /// What a CREATE statement of this run is filled in with.
    pub(super) fn definition(
        &self,
        events: &EventPlan,
        scenario: &Scenario,
        session: &SessionPlan,
        keys: Vec<u64>,
    ) -> SessionDefinition {
        SessionDefinition {
            name: self.marker.for_session(&session.template.full_name(scenario)).to_string(),
            bucket: session.template.bucket.clone(),
            keys: Some(keys),
            filters: events.filters,
            callstack_action: events.callstack_action.to_owned(),
            target: events.target.to_owned(),
            slots: session.slots.asked,
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

    /// The counters of all scenarios, each once, and what is watched.
    pub(super) async fn counters(&mut self) -> Result<Snapshot, SqlServerError> {
        let names = snapshot_names(self.plan.scenarios.iter().map(|planned| &planned.scenario));
        self.read_counters(&names).await
    }

    pub(super) async fn read_counters(&mut self, names: &[String]) -> Result<Snapshot, SqlServerError> {
        let statements = Statements::new(&self.surroundings.sessions, self.plan.version);
        let clock = &*self.surroundings.clock;
        counters::read(&mut self.server, &statements, clock, names, &mut self.gathered.problems).await
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
