//! Owns what a capture is asked for and what it gives back.

use crate::catalog::sessions::SessionsError;
use crate::model::Evidence;
use crate::sqlserver::SqlServerError;
use crate::statements::RenderError;
use crate::store::bundle::{MapKey, StatementRecord};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How trace flags may be used. All false: not at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceFlagOptions {
    /// The opt-in: around the symbolised read only, in the least form that works.
    pub enable: bool,
    /// Globally for the whole window.
    pub during_window: bool,
    /// Against the policy.
    pub force: bool,
}

/// Other limits than the scenario's on what an open window may do to its server; each `None` keeps the scenario's.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GuardOptions {
    /// Dropped events.
    pub max_dropped_events: Option<u64>,
    /// Share of the schedulers that SQL Server may use, 0 to 1, where it grew by more than `max_cpu_growth`.
    pub max_cpu_share: Option<f64>,
    /// Growth of that share since before the start, 0 to 1.
    pub max_cpu_growth: Option<f64>,
    /// Share of one core that the collector's own session may use, 0 to 1.
    pub max_own_cpu_share: Option<f64>,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptureOptions {
    /// Scenarios, joined with `+`.
    pub scenario: String,
    /// Length of the window.
    pub window: Duration,
    /// Slots instead of the scenario's.
    pub slots: Option<u64>,
    /// Event cap instead of the scenario's.
    pub max_events: Option<u64>,
    /// Rate limit instead of the scenario's.
    pub max_events_per_second: Option<u64>,
    /// Spinlocks to capture with stacks, instead of the dominant ones.
    pub spinlocks: Vec<String>,
    /// Whether to capture every spinlock with stacks.
    pub all_types: bool,
    /// Only events in this database.
    pub database: Option<String>,
    /// Only events of this session.
    pub session_id: Option<u64>,
    /// Only each n-th event.
    pub sample_one_in: Option<u64>,
    /// Trace flags.
    pub trace_flags: TraceFlagOptions,
    /// Limits on what the open window may do to the server.
    pub guards: GuardOptions,
    /// Take the counters and make no event session.
    pub counters_only: bool,
    /// Bucket the events by statement too, in a further session.
    pub queries: bool,
    /// Pace of the series of counters that scenarios take inside the window.
    pub every: Duration,
    /// Where journals are kept.
    pub state_dir: PathBuf,
}

impl CaptureOptions {
    /// Pace of a series, unless another is asked for.
    pub const USUAL_PACE: Duration = Duration::from_secs(5);

    /// One window with the scenario's own bounds and nothing opted in.
    pub fn new(scenario: &str, window: Duration, state_dir: PathBuf) -> Self {
        Self {
            scenario: scenario.to_owned(),
            window,
            slots: None,
            max_events: None,
            max_events_per_second: None,
            spinlocks: Vec::new(),
            all_types: false,
            database: None,
            session_id: None,
            sample_one_in: None,
            trace_flags: TraceFlagOptions::default(),
            guards: GuardOptions::default(),
            counters_only: false,
            queries: false,
            every: Self::USUAL_PACE,
            state_dir,
        }
    }
}

/// A target document as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawTarget {
    /// Event session.
    pub session: String,
    /// What the session bucketed: a survey and the window after it share their name, not this.
    pub bucket: Option<String>,
    /// Whether trace flags were on when it was read.
    pub symbolised: bool,
    /// The text.
    pub text: String,
}

/// Something of ours that is still on the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftBehind {
    /// What.
    pub what: String,
    /// The statement that removes it.
    pub statement: String,
}

impl fmt::Display for LeftBehind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; remove it with: {}", self.what, self.statement)
    }
}

/// A finished capture.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What was found.
    pub evidence: Evidence,
    /// Documents as received.
    pub targets: Vec<RawTarget>,
    /// Every statement that was sent.
    pub statements: Vec<StatementRecord>,
    /// Map values looked up.
    pub map_keys: Vec<MapKey>,
    /// What could not be put back.
    pub left_behind: Vec<LeftBehind>,
    /// Whether it was ended early.
    pub interrupted: bool,
}

/// Why a capture is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A right is missing.
    Permission,
    /// The server's version or build cannot do it.
    Version,
    /// It would be unsafe.
    Policy,
    /// Another run is at work.
    Busy,
    /// There are no event sessions to be had here now: the engine is off or out of memory, or the edition has none. The
    /// counters are taken all the same.
    Unavailable,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// Refused before or instead of a change.
    #[error("refused ({}): {text}", format!("{reason:?}").to_lowercase())]
    Refused {
        /// Kind.
        reason: Refusal,
        /// What stands against it.
        text: String,
        /// What to do.
        hint: Option<String>,
        /// The server's word, where there is one.
        source: Option<Box<SqlServerError>>,
    },
    /// The connection or a statement failed.
    #[error(transparent)]
    Server(#[from] SqlServerError),
    /// The state folder cannot be written.
    #[error("the state folder {} cannot be written", path.display())]
    StateDir {
        /// Folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The catalogue is wrong.
    #[error(transparent)]
    Sessions(#[from] SessionsError),
    /// A statement cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// Ended by the user before anything was captured; everything is as before.
    #[error("interrupted")]
    Interrupted,
    /// Something of ours remains, and nothing was captured.
    #[error("something of this run remains on the server")]
    LeftBehind {
        /// What.
        left_behind: Vec<LeftBehind>,
        /// What went wrong first.
        source: Option<Box<CaptureError>>,
    },
    /// A defect of this program; everything was put back.
    #[error("internal error: {0}")]
    Internal(String),
}

impl CaptureError {
    pub(crate) fn refused(reason: Refusal, text: impl Into<String>, hint: Option<String>) -> Self {
        Self::Refused { reason, text: text.into(), hint, source: None }
    }

    pub(crate) fn caused_by(self, error: SqlServerError) -> Self {
        match self {
            Self::Refused { reason, text, hint, .. } => {
                Self::Refused { reason, text, hint, source: Some(Box::new(error)) }
            }
            other => other,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { hint, .. } => hint.clone(),
            Self::Server(error) => error.hint(),
            Self::StateDir { .. } => Some("choose another with --state-dir or XESTACK_STATE_DIR".to_owned()),
            Self::LeftBehind { source: Some(error), .. } => error.hint(),
            _ => None,
        }
    }
}
