//! Owns the exit codes and the errors that lead to them.

use crate::agent::CaptureError;
use crate::model::{Problem, Severity};
use crate::sqlserver::SqlServerError;
use std::process::{ExitCode, Termination};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// A defect of this program.
    Internal,
    /// Wrong usage or configuration.
    Usage,
    /// Could not connect or log in.
    Connection,
    /// Refused: permission, version, policy or busy.
    Refused,
    /// Done, but part of the evidence is missing.
    Partial,
    /// Something of ours remains on the server.
    LeftBehind,
    /// The only input is unreadable.
    Unreadable,
    /// Interrupted; everything is as before.
    Interrupted,
}

impl Exit {
    /// The process's exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Connection => 3,
            Self::Refused => 4,
            Self::Partial => 5,
            Self::LeftBehind => 6,
            Self::Unreadable => 7,
            Self::Interrupted => 130,
        }
    }

    /// The code of a finished report with these problems.
    pub(crate) fn of_problems(problems: &[Problem]) -> Self {
        if problems.iter().any(|problem| problem.severity == Severity::Partial) { Self::Partial } else { Self::Done }
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

/// An error with its exit code and remedy.
#[derive(Debug)]
pub(crate) struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
    pub hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into(), hint: None }
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(Exit::Usage, anyhow::anyhow!(text.into()))
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Self {
        let exit = match &error {
            CaptureError::Server(SqlServerError::Connect { .. } | SqlServerError::Login { .. }) => Exit::Connection,
            CaptureError::Server(error) if error.is_connection_lost() => Exit::Connection,
            CaptureError::Refused { .. } | CaptureError::Server(_) => Exit::Refused,
            CaptureError::StateDir { .. } | CaptureError::Sessions(_) => Exit::Usage,
            CaptureError::Render(_) | CaptureError::Internal(_) => Exit::Internal,
            CaptureError::Interrupted => Exit::Interrupted,
            CaptureError::LeftBehind { .. } => Exit::LeftBehind,
        };
        let hint = error.hint();
        Self { exit, error: error.into(), hint }
    }
}
