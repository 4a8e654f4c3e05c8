//! Owns the grammar of faults: how the simulated server is made to behave in a documented or suspected other way, or to
//! fail at a moment.

pub mod kinds;
pub mod login;
pub mod moments;
pub mod places;
pub mod switches;

use crate::simulator::faults::kinds::{FAULTS, FaultKind};
use crate::simulator::faults::places::PLACES;
use crate::simulator::views;
use std::str::FromStr;

/// Where a fault of a statement strikes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// At statements of this name, in lower case; `sys.…` for reading that view.
    Statement(String),
    /// At the statement text of this number in its connection, from 1, whatever it says: each batch counts, and each
    /// call that runs a statement.
    Number(u64),
}

/// A fault as given: `NAME[=VALUE][@STATEMENT][#INSTANCE]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What it changes.
    pub kind: FaultKind,
    /// The statement it is for; none when it holds for the whole instance.
    pub at: Option<At>,
    /// The instance it is for, from 1; every instance when absent.
    pub instance: Option<u32>,
}

/// Text that is no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// The name is not known.
    #[error("unknown fault `{name}`: use one of {}", Fault::names())]
    UnknownName {
        /// What was given.
        name: String,
    },
    /// The name is known, its value is not.
    #[error("fault `{name}` takes {expected}, not `{value}`")]
    InvalidValue {
        /// The fault.
        name: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What was given.
        value: String,
    },
    /// The fault is a property of the instance, not of a statement.
    #[error("fault `{name}` holds for the whole instance and takes no `@{statement}`")]
    StatementGiven {
        /// The fault.
        name: String,
        /// What was given.
        statement: String,
    },
    /// The fault is one of a statement, and none is named.
    #[error("fault `{name}` needs `@STATEMENT`: {}", Fault::places())]
    StatementMissing {
        /// The fault.
        name: String,
    },
    /// What follows `@` is no statement.
    #[error("unknown statement `@{statement}`: use {}", Fault::places())]
    UnknownStatement {
        /// What was given.
        statement: String,
    },
    /// What follows `#` is not a number from 1.
    #[error("`#{text}` is not an instance number from 1")]
    InvalidInstance {
        /// What was given.
        text: String,
    },
}

/// Statements that a fault can be for: of event sessions (create, start, stop, alter-add, alter-drop, drop) and DBCC.
const STATEMENTS: [&str; 10] =
    ["create", "start", "stop", "alter-add", "alter-drop", "drop", "traceon", "traceoff", "tracestatus", "sqlperf"];

impl Fault {
    /// All names and what each takes.
    pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        FAULTS.into_iter().chain(PLACES)
    }

    /// Whether it happens once, at a statement.
    pub fn is_of_moment(&self) -> bool {
        matches!(self.kind, FaultKind::Moment(_))
    }

    /// All names, separated by commas.
    pub fn names() -> String {
        Self::all().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
    }

    /// What may follow `@`.
    fn places() -> String {
        format!("one of {}, `sys.` and a view, or the statement's number in its connection", STATEMENTS.join(", "))
    }
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let (text, instance) = match text.split_once('#') {
            None => (text, None),
            Some((text, number)) => match number.trim().parse::<u32>() {
                Ok(number) if number > 0 => (text, Some(number)),
                _ => return Err(FaultError::InvalidInstance { text: number.to_owned() }),
            },
        };
        let (text, statement) = text.split_once('@').map_or((text, None), |(text, at)| (text, Some(at)));
        let (given, value) = text.split_once('=').unwrap_or((text, ""));
        let (given, value) = (given.trim(), value.trim());
        let (name, expected) = Self::all()
            .find(|(name, _)| *name == given)
            .ok_or_else(|| FaultError::UnknownName { name: given.to_owned() })?;
        let kind = FaultKind::parse(name, value).ok_or_else(|| FaultError::InvalidValue {
            name,
            expected,
            value: value.to_owned(),
        })?;
        let at = place(name, &kind, statement)?;
        Ok(Self { kind, at, instance })
    }
}

/// The statement of a fault that is one of a statement; none for the others.
fn place(name: &str, kind: &FaultKind, given: Option<&str>) -> Result<Option<At>, FaultError> {
    let name = name.to_owned();
    match (kind.is_of_statement(), given.map(|given| given.trim().to_lowercase())) {
        (false, None) => Ok(None),
        (false, Some(statement)) => Err(FaultError::StatementGiven { name, statement }),
        (true, None) => Err(FaultError::StatementMissing { name }),
        (true, Some(statement)) => {
            let is_view = statement.strip_prefix("sys.").is_some_and(|view| views::names().any(|known| known == view));
            match statement.parse() {
                Ok(number) if number > 0 => Ok(Some(At::Number(number))),
                Err(_) if is_view || STATEMENTS.contains(&statement.as_str()) => Ok(Some(At::Statement(statement))),
                _ => Err(FaultError::UnknownStatement { statement }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::kinds::SymboliseAt;
    use super::moments::Moment;
    use super::{At, Fault, FaultError, FaultKind};
    use crate::simulator::host::Disturbance;
    use std::time::Duration;

    #[test]
    fn faults_are_read_with_value_and_instance() {
        let fault: Fault = "symbolise-at=dispatch#2".parse().unwrap();
        assert_eq!(fault, Fault { kind: FaultKind::SymboliseAt(SymboliseAt::Dispatch), at: None, instance: Some(2) });
        let fault: Fault = "deny=alter any event session".parse().unwrap();
        assert_eq!(fault.kind, FaultKind::Deny("ALTER ANY EVENT SESSION".into()));
        let fault: Fault = "error=1205@sys.dm_os_wait_stats#3".parse().unwrap();
        assert_eq!((fault.kind, fault.instance), (FaultKind::Error(1_205), Some(3)));
        assert_eq!(fault.at, Some(At::Statement("sys.dm_os_wait_stats".into())));
        let fault: Fault = "clock-jump=-90 @ 12 #1".parse().unwrap();
        assert_eq!((fault.kind, fault.at), (FaultKind::Moment(Moment::ClockJump(-90)), Some(At::Number(12))));
        let stalled = |text: &str| match text.parse::<Fault>().unwrap().kind {
            FaultKind::Moment(Moment::Answer(Disturbance::Stall(time))) => time,
            other => panic!("{other:?}"),
        };
        assert_eq!((stalled("stall@1"), stalled("stall=0.5@1")), (None, Some(Duration::from_millis(500))));
    }

    #[test]
    fn what_is_no_fault_says_why() {
        let unknown = "sybols=missing".parse::<Fault>().unwrap_err();
        assert!(unknown.to_string().contains("symbolise-at, symbols, raw-stack, stack-depth"), "{unknown}");
        for (text, wanted) in [
            ("symbols=present", "takes missing"),
            ("stack-depth=65", "takes a number of frames from 1 to 64"),
            ("refusal=15247", "takes 15151"),
            ("dropped-events=-1", "takes a number"),
            ("symbols=missing#0", "not an instance number"),
            ("symbols=missing@SELECT", "takes no `@select`"),
            ("", "unknown fault ``"),
            ("attention=later", "takes in-answer or apart"),
            ("error=1205", "needs `@STATEMENT`: one of create, start"),
            ("error=0@start", "takes an error number"),
            ("error=1205@begin", "unknown statement `@begin`"),
            ("error=1205@sys.nothing", "unknown statement `@sys.nothing`"),
            ("error=1205@0", "unknown statement `@0`"),
            ("cut=later@start", "takes before, after, mid-row or no value"),
            ("cut", "or the statement's number in its connection"),
            ("stall=-1@start", "takes seconds up to a day"),
            ("stall=inf@start", "takes seconds up to a day"),
            ("drip=0@start", "takes bytes in a second"),
            ("restart=1@start", "takes no value"),
            ("clock-jump@start", "takes seconds, forward or back"),
            ("clock-jump=9223372036854775807@start", "takes seconds, forward or back"),
            ("vanish=hidden@start", "takes dropped, stopped"),
            ("ddl-trigger=audit@create", "takes no `@create`"),
            ("login=locked:x", "takes refused, locked, expired"),
            ("login=0", "takes refused, locked, expired"),
            ("login=locked@create", "takes no `@create`"),
            ("tls=new", "takes closed, old, expired or other-name"),
            ("route=db2", "takes a host and a port"),
        ] {
            let error: FaultError = text.parse::<Fault>().unwrap_err();
            assert!(error.to_string().contains(wanted), "{text}: {error}");
        }
    }
}
