//! Owns one event session of a run: made, started, silenced, read, removed. Each change is journalled before it is sent.

use crate::agent::journal::{State, Step};
use crate::agent::outcome::{CaptureError, RawTarget};
use crate::agent::progress::Progress;
use crate::agent::window::{Open, Window};
use crate::agent::{counters, lock, meaning};
use crate::catalog::sessions::{Scenario, SessionTemplate};
use crate::model::{EventContext, Problem, SessionEvidence, SessionState, Severity, Table};
use crate::parse::target;
use crate::sqlserver::SqlServerError;
use crate::statements::SessionDefinition;

/// `The event, "…", does not exist in the event session. Object cannot be dropped from the event session.`
const EVENT_NOT_IN_SESSION: u32 = 25653;
/// `Cannot alter the event session …, because it does not exist or you do not have permission.`
const DOES_NOT_EXIST: u32 = 15151;

/// Whether a session fires no more events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// It does not.
    Silent,
    /// It does: the server refused.
    Refused,
    /// There is no such session.
    Gone,
}

/// Under which name the way to read targets is remembered.
pub(super) const TARGET: &str = "read_target";

/// An event session at work.
#[derive(Debug, Clone)]
pub(super) struct CaptureSession {
    /// What it is for.
    pub scenario: Scenario,
    /// What it is made from.
    pub template: SessionTemplate,
    /// What that is filled in with; its name is the run's marker.
    pub definition: SessionDefinition,
    /// What the keys it is filtered to stand for, where that was looked up one by one.
    pub filter_names: Vec<String>,
}

impl CaptureSession {
    /// The session's name.
    pub(super) fn name(&self) -> &str {
        &self.definition.name
    }

    /// What is known of it before its target is read.
    pub(super) fn evidence(&self) -> SessionEvidence {
        SessionEvidence {
            name: self.name().to_owned(),
            scenario: Some(self.scenario.name.clone()),
            context: context(&self.template),
            bucket: Some(self.definition.bucket.clone()),
            filter_keys: self.definition.keys.clone().unwrap_or_default(),
            filter_names: self.filter_names.clone(),
            sample_one_in: self.definition.filters.sample_one_in,
            filters: self.definition.filters.in_words(),
            slots_requested: Some(self.definition.slots),
            event_cap: Some(self.definition.max_events),
            live: true,
            ..SessionEvidence::default()
        }
    }
}

/// What the events of a session are.
pub(super) fn context(template: &SessionTemplate) -> EventContext {
    EventContext { event: Some(template.event.clone()), wait_type: template.wait_type() }
}

impl Window {
    /// One change: the intent is on disk before it is sent, the outcome after it.
    pub(super) async fn change(&mut self, step: Step, sql: &str) -> Result<(), CaptureError> {
        let clock = &*self.surroundings.clock;
        let journal_failed = |source| CaptureError::StateDir { path: self.options.state_dir.clone(), source };
        lock(&self.journal).write(clock, step.clone(), State::Intended).map_err(journal_failed)?;
        let result = self.server.run(sql).await;
        let state = match &result {
            Ok(_) => State::Done,
            // Without an answer the intent stands, and counts as done. So it does where code beside the statement raised the
            // error: a trigger that does not roll back leaves what was done.
            Err(error) => match error.number() {
                Some(number) if !meaning::is_raised(number) => State::Refused { number },
                _ => return Err(result.err().map_or(CaptureError::Interrupted, CaptureError::Server)),
            },
        };
        lock(&self.journal).write(clock, step, state).map_err(journal_failed)?;
        result.map(drop).map_err(CaptureError::Server)
    }

    /// CREATE, stopped. Where this build does not take MAX_DURATION, once more without it.
    pub(super) async fn create(&mut self, session: &CaptureSession) -> Result<(), CaptureError> {
        let with_duration = self.plan.events.as_ref().is_some_and(|events| events.max_duration_seconds.is_some());
        let mut definition = session.definition.clone();
        definition.max_duration_seconds = definition.max_duration_seconds.filter(|_| with_duration);
        let step = Step::CreateSession { session: session.name().to_owned() };
        let sql = self.statements().create_session(&session.template, &definition)?;
        let error = match self.change(step.clone(), &sql).await {
            Err(CaptureError::Server(error)) if error.number().is_some() => error,
            result => return result,
        };
        if definition.max_duration_seconds.is_none() || !error.number().is_some_and(meaning::is_of_option) {
            return Err(self.refusal(session.name(), error).await);
        }
        self.give_up_max_duration(&error);
        definition.max_duration_seconds = None;
        let sql = self.statements().create_session(&session.template, &definition)?;
        match self.change(step, &sql).await {
            Err(CaptureError::Server(error)) if error.number().is_some() => {
                Err(self.refusal(session.name(), error).await)
            }
            result => result,
        }
    }

    fn give_up_max_duration(&mut self, error: &SqlServerError) {
        let message = format!(
            "this server does not take MAX_DURATION, so it would not end a session of this run by itself: {}",
            counters::chain(error)
        );
        (self.surroundings.observer)(&Progress::Note(message.clone()));
        self.gathered.problems.push(Problem::new("max_duration_refused", Severity::Info, message));
        if let Some(events) = &mut self.plan.events {
            events.max_duration_seconds = None;
        }
    }

    /// START.
    pub(super) async fn start(&mut self, session: &CaptureSession) -> Result<(), CaptureError> {
        let sql = self.statements().session("start_session", session.name())?;
        match self.change(Step::StartSession { session: session.name().to_owned() }, &sql).await {
            Err(CaptureError::Server(error)) if error.number().is_some() => {
                Err(self.refusal(session.name(), error).await)
            }
            result => result,
        }
    }

    /// Ends the firing and keeps the target.
    pub(super) async fn silence(&mut self, session: &CaptureSession) -> Result<Silence, CaptureError> {
        let sql = self.statements().drop_event(session.name(), &session.template.event)?;
        match self.change(Step::DropEvent { session: session.name().to_owned() }, &sql).await {
            Ok(()) => Ok(Silence::Silent),
            Err(CaptureError::Server(error)) => match error.number() {
                // Sent before, and its answer was lost.
                Some(EVENT_NOT_IN_SESSION) => Ok(Silence::Silent),
                Some(DOES_NOT_EXIST) => Ok(Silence::Gone),
                Some(_) => Ok(Silence::Refused),
                None => Err(CaptureError::Server(error)),
            },
            Err(error) => Err(error),
        }
    }

    /// The target as it is, saved and read; without a target, what became of the session: gone and stopped are other
    /// matters than a session without events (field report L-05).
    pub(super) async fn read(
        &mut self,
        session: &CaptureSession,
        open: Option<&Open>,
    ) -> Result<SessionEvidence, CaptureError> {
        if self.was_started_again(session) {
            let state = Some(SessionState::StartedAgain);
            return Ok(SessionEvidence { state, ..session.evidence() });
        }
        let table = self.read_target(session.name()).await?;
        let unsigned = |name: &str| table.integer(0, name).and_then(|number| u64::try_from(number).ok());
        let mut evidence = SessionEvidence {
            dropped_events: unsigned("dropped_event_count"),
            dropped_buffers: unsigned("dropped_buffer_count"),
            buffer_bytes: unsigned("regular_buffer_size"),
            max_duration_seconds: self.max_duration(),
            ..session.evidence()
        };
        let Some(text) = table.text(0, "target_data") else {
            evidence.state = Some(self.state_of(session, open).await?);
            return Ok(evidence);
        };
        evidence.state = Some(SessionState::Running);
        evidence.target = target::parse_targets(text).into_iter().next();
        self.gathered.targets.push(RawTarget {
            session: session.name().to_owned(),
            bucket: evidence.bucket.clone(),
            symbolised: false,
            text: text.to_owned(),
        });
        Ok(evidence)
    }

    /// The target's row. A build that lacks a column is asked for all it has, from then on.
    async fn read_target(&mut self, name: &str) -> Result<Table, CaptureError> {
        let ways = self.statements().read_target_ways(name)?;
        let last = ways.len().saturating_sub(1);
        for (n, sql) in ways.iter().enumerate().skip(self.server.way(TARGET)) {
            match self.server.table(sql).await {
                Err(error) if n < last && counters::is_lacking(&error) => self.server.keep_way(TARGET, n + 1),
                result => return Ok(result?),
            }
        }
        Ok(Table::default())
    }

    /// STOP and DROP of a session that has done its work; restoring looks after one that refuses.
    pub(super) async fn remove(&mut self, session: &CaptureSession) -> Result<(), CaptureError> {
        for (statement, step) in [
            ("stop_session", Step::StopSession { session: session.name().to_owned() }),
            ("drop_session", Step::DropSession { session: session.name().to_owned() }),
        ] {
            let sql = self.statements().session(statement, session.name())?;
            match self.change(step, &sql).await {
                Err(CaptureError::Server(error)) if error.number().is_some() => {
                    let message = format!("a session could not be removed at once: {}", counters::chain(&error));
                    self.gathered.problems.push(Problem::new("session_not_removed", Severity::Warning, message));
                }
                result => result?,
            }
        }
        Ok(())
    }
}
