//! Owns what is made of a refused CREATE or START: the first error is the cause, and nothing further is sent that could
//! hide it (field report L-06). Where only event sessions are not to be had, the window goes on with the counters.

use crate::agent::journal::Step;
use crate::agent::meaning::{self, Meaning};
use crate::agent::outcome::{CaptureError, Refusal};
use crate::agent::preflight::rights::Need;
use crate::agent::preflight::{COUNTERS_ONLY, SideEffects};
use crate::agent::progress::Progress;
use crate::agent::window::Window;
use crate::agent::{counters, flags, lock};
use crate::model::{Problem, Severity};
use crate::sqlserver::SqlServerError;

impl Window {
    /// The reason and the remedy for a refused CREATE or START of a session.
    pub(super) async fn refusal(&mut self, session: &str, error: SqlServerError) -> CaptureError {
        let number = error.number().unwrap_or_default();
        let (reason, text, hint) = match meaning::of_refusal(number, &self.plan.server.edition) {
            Meaning::Permission => {
                let grant = self.plan.rights.granting(&Need::EVENT_SESSION).hint();
                (Refusal::Permission, "the login may not make event sessions".to_owned(), Some(grant))
            }
            Meaning::Exists => return self.existing(session, error).await,
            Meaning::Unavailable => {
                let text = "the server makes no event sessions now".to_owned();
                (Refusal::Unavailable, text, None)
            }
            Meaning::Trigger => {
                // What code beside the statement raises does not say whether the statement stands.
                let did = if meaning::is_raised(number) { "objects to" } else { "rolled back" };
                let text = format!("a trigger on the server's DDL {did} the event session");
                (Refusal::Policy, text, Some(trigger_hint(&self.plan.side_effects)))
            }
            Meaning::Definition => {
                let text = "this build refuses the definition of the event session".to_owned();
                (Refusal::Version, text, Some(format!("the statement was: {}", on_one_line(&error))))
            }
            Meaning::Other => return CaptureError::Server(error),
        };
        CaptureError::refused(reason, text, hint).caused_by(error)
    }

    /// A session of that name exists: one that this login can see, or one that it cannot (field report L-04). Either way it
    /// is not ours to touch.
    async fn existing(&mut self, session: &str, error: SqlServerError) -> CaptureError {
        let seen = match self.statements().common("list_sessions", &[]) {
            Ok(sql) => self.server.table(&sql).await,
            Err(error) => return error.into(),
        };
        let is_seen = seen.is_ok_and(|table| (0..table.rows.len()).any(|row| table.text(row, "name") == Some(session)));
        if is_seen {
            let text = format!("an event session {session} is on the server already");
            return CaptureError::refused(Refusal::Busy, text, None).caused_by(error);
        }
        let text = format!("event_session_hidden: the event session {session} exists but cannot be seen by this login");
        let needs: Vec<Need> = [Need::Counters].into_iter().chain(Need::EVENT_SESSION).collect();
        let hint = format!("to see it, {}", self.plan.rights.granting(&needs).hint());
        CaptureError::refused(Refusal::Permission, text, Some(hint)).caused_by(error)
    }

    /// Goes on without event sessions: those made so far are put back at once, and the report says why.
    pub(super) async fn go_on_with_counters(&mut self, cause: &CaptureError) -> Result<(), CaptureError> {
        let message = format!("there are counters and no call stacks: {}", counters::chain(cause));
        (self.surroundings.observer)(&Progress::Note(message.clone()));
        let mut problem = Problem::new(COUNTERS_ONLY, Severity::Partial, message);
        problem.hint = cause.hint();
        self.gathered.problems.push(problem);
        self.plan.events = None;
        let owed = lock(&self.journal).owed();
        for (session, running) in owed.sessions {
            if running {
                self.put_back("stop_session", Step::StopSession { session: session.clone() }, &session).await?;
            }
            self.put_back("drop_session", Step::DropSession { session: session.clone() }, &session).await?;
        }
        flags::turn_off_globally(self).await
    }

    /// One step of putting back; restoring looks after what is refused.
    async fn put_back(&mut self, statement: &str, step: Step, session: &str) -> Result<(), CaptureError> {
        let sql = self.statements().session(statement, session)?;
        match self.change(step, &sql).await {
            Err(CaptureError::Server(error)) if error.number().is_some() => Ok(()),
            result => result,
        }
    }
}

fn trigger_hint(side_effects: &SideEffects) -> String {
    let names: Vec<&str> = side_effects.triggers.keys().map(String::as_str).collect();
    if names.is_empty() {
        return "this login sees no server trigger; with VIEW ANY DEFINITION sys.server_triggers names it".to_owned();
    }
    format!("enabled server triggers on event sessions: {}", names.join(", "))
}

/// The refused statement, whole.
fn on_one_line(error: &SqlServerError) -> String {
    match error {
        SqlServerError::Statement { statement, .. } => statement.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}
