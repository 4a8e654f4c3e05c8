//! Owns the fault switches: how the simulated server is made to behave in a documented or suspected other way.

use crate::simulator::events::xml::TextForm;
use crate::simulator::output::Message;
use crate::simulator::versions::RawStackForm;
use crate::simulator::views;
use crate::simulator::wire::attention::AttentionReply;
use std::str::FromStr;

/// Where call stacks get their symbols. No source says which the product does, so the simulator offers each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SymboliseAt {
    /// When the target is read, if the flags are on in the reading session or globally.
    SessionRead,
    /// When the target is read, if the flags are on globally.
    #[default]
    GlobalRead,
    /// When an event is dispatched to the target, if the flags are on globally at that time.
    Dispatch,
}

/// What a fault changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// `symbolise-at=session-read|global-read|dispatch`.
    SymboliseAt(SymboliseAt),
    /// `symbols=missing`: no PDBs, so the nearest exports are shown.
    SymbolsMissing,
    /// `raw-stack=address|module-offset`: the unsymbolised form, whatever the version's.
    RawStack(RawStackForm),
    /// `stack-depth=N`: frames of a call stack, whatever the version's.
    StackDepth(usize),
    /// `frame-addresses=shown`: the elements of callstack_rva carry addresses.
    FrameAddressesShown,
    /// `text-values=cdata|escaped`: how text stands in target documents, whatever the version's way.
    TextValues(TextForm),
    /// `target-name=given`: a target made under an old name keeps it in the catalogue.
    TargetNameGiven,
    /// `refusal=15151`: ALTER and DROP without the right for it say so with 15151 and not with 15247.
    RefusalHides,
    /// `no-event-loss=allowed`: NO_EVENT_LOSS takes events that may not block.
    NoEventLossAllowed,
    /// `trace-status=rowset`: TRACESTATUS answers without rows when no flag is on, and not without a rowset.
    TraceStatusRowset,
    /// `drop-last-event=refused`: the only event of a running session cannot be dropped.
    DropLastEventRefused,
    /// `deny=PERMISSION`: the permission, and what it covers, is denied to every login; `deny=sysadmin` takes the role.
    Deny(String),
    /// `dropped-events=N`: every started session shows N dropped events.
    DroppedEvents(u32),
    /// `dropped-buffers=N`: every started session shows N dropped buffers.
    DroppedBuffers(u32),
    /// `error=NUMBER@STATEMENT`: the statement fails with this error and does nothing.
    Error(u32),
    /// `cut-target=N`: target documents end after N characters, as those above 4 MB do (documented).
    CutTarget(usize),
    /// `attention=in-answer|apart`: where an attention that cuts an answer short is acknowledged.
    Attention(AttentionReply),
}

/// A fault as given: `NAME[=VALUE][@STATEMENT][#INSTANCE]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What it changes.
    pub kind: FaultKind,
    /// The statement it is for, in lower case; `sys.…` for reading that view.
    pub statement: Option<String>,
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
    #[error("fault `{name}` needs `@STATEMENT`: one of {}, or `sys.` and a view", STATEMENTS.join(", "))]
    StatementMissing {
        /// The fault.
        name: String,
    },
    /// What follows `@` is no statement.
    #[error("unknown statement `@{statement}`: use one of {}, or `sys.` and a view", STATEMENTS.join(", "))]
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

/// Frames that `stack-depth` may ask for: twice the most that is documented of any version.
const DEEPEST: usize = 64;

/// Names and what each takes.
const FAULTS: [(&str, &str); 17] = [
    ("symbolise-at", "session-read, global-read or dispatch"),
    ("symbols", "missing"),
    ("raw-stack", "address or module-offset"),
    ("stack-depth", "a number of frames from 1 to 64"),
    ("frame-addresses", "shown"),
    ("text-values", "cdata or escaped"),
    ("target-name", "given"),
    ("refusal", "15151"),
    ("no-event-loss", "allowed"),
    ("trace-status", "rowset"),
    ("drop-last-event", "refused"),
    ("deny", "the name of a server permission, or sysadmin"),
    ("dropped-events", "a number"),
    ("dropped-buffers", "a number"),
    ("cut-target", "a number of characters"),
    ("error", "an error number"),
    ("attention", "in-answer or apart"),
];

/// Statements that a fault can be for: of event sessions (create, start, stop, alter-add, alter-drop, drop) and DBCC.
const STATEMENTS: [&str; 10] =
    ["create", "start", "stop", "alter-add", "alter-drop", "drop", "traceon", "traceoff", "tracestatus", "sqlperf"];

impl Fault {
    /// All names and what each takes.
    pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        FAULTS.into_iter()
    }

    /// All names, separated by commas.
    pub fn names() -> String {
        FAULTS.map(|(name, _)| name).join(", ")
    }
}

impl FaultKind {
    fn parse(name: &str, value: &str) -> Option<Self> {
        match (name, value) {
            ("symbolise-at", "session-read") => Some(Self::SymboliseAt(SymboliseAt::SessionRead)),
            ("symbolise-at", "global-read") => Some(Self::SymboliseAt(SymboliseAt::GlobalRead)),
            ("symbolise-at", "dispatch") => Some(Self::SymboliseAt(SymboliseAt::Dispatch)),
            ("symbols", "missing") => Some(Self::SymbolsMissing),
            ("raw-stack", "address") => Some(Self::RawStack(RawStackForm::Address)),
            ("raw-stack", "module-offset") => Some(Self::RawStack(RawStackForm::ModuleOffset)),
            ("stack-depth", number) => {
                number.parse().ok().filter(|depth| (1..=DEEPEST).contains(depth)).map(Self::StackDepth)
            }
            ("frame-addresses", "shown") => Some(Self::FrameAddressesShown),
            ("text-values", "cdata") => Some(Self::TextValues(TextForm::CharacterData)),
            ("text-values", "escaped") => Some(Self::TextValues(TextForm::Escaped)),
            ("target-name", "given") => Some(Self::TargetNameGiven),
            ("refusal", "15151") => Some(Self::RefusalHides),
            ("no-event-loss", "allowed") => Some(Self::NoEventLossAllowed),
            ("trace-status", "rowset") => Some(Self::TraceStatusRowset),
            ("drop-last-event", "refused") => Some(Self::DropLastEventRefused),
            ("deny", permission) if !permission.is_empty() => Some(Self::Deny(permission.to_uppercase())),
            ("dropped-events", number) => number.parse().ok().map(Self::DroppedEvents),
            ("dropped-buffers", number) => number.parse().ok().map(Self::DroppedBuffers),
            ("error", number) => number.parse().ok().filter(|number| *number > 0).map(Self::Error),
            ("attention", "in-answer") => Some(Self::Attention(AttentionReply::InAnswer)),
            ("attention", "apart") => Some(Self::Attention(AttentionReply::Apart)),
            ("cut-target", number) => number.parse().ok().map(Self::CutTarget),
            _ => None,
        }
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
        let &(name, expected) = FAULTS
            .iter()
            .find(|(name, _)| *name == given)
            .ok_or_else(|| FaultError::UnknownName { name: given.to_owned() })?;
        let kind = FaultKind::parse(name, value).ok_or_else(|| FaultError::InvalidValue {
            name,
            expected,
            value: value.to_owned(),
        })?;
        let statement = check_statement(name, &kind, statement)?;
        Ok(Self { kind, statement, instance })
    }
}

/// The statement of a fault that is one of a statement; none for the others.
fn check_statement(name: &str, kind: &FaultKind, statement: Option<&str>) -> Result<Option<String>, FaultError> {
    let name = name.to_owned();
    match (matches!(kind, FaultKind::Error(_)), statement.map(|given| given.trim().to_lowercase())) {
        (false, None) => Ok(None),
        (false, Some(statement)) => Err(FaultError::StatementGiven { name, statement }),
        (true, None) => Err(FaultError::StatementMissing { name }),
        (true, Some(statement)) => {
            let is_view = statement.strip_prefix("sys.").is_some_and(|view| views::names().any(|known| known == view));
            if is_view || STATEMENTS.contains(&statement.as_str()) {
                Ok(Some(statement))
            } else {
                Err(FaultError::UnknownStatement { statement })
            }
        }
    }
}

/// The switches of one instance, from its faults.
#[derive(Debug, Clone, Default)]
pub struct Switches {
    /// Where call stacks get their symbols.
    pub symbolise_at: SymboliseAt,
    /// Whether nearest exports are shown instead of symbols.
    pub symbols_missing: bool,
    /// Unsymbolised form of call stacks; `None`: the version's.
    pub raw_stack: Option<RawStackForm>,
    /// Frames of call stacks; `None`: the version's.
    pub stack_depth: Option<usize>,
    /// Whether callstack_rva carries addresses.
    pub frame_addresses_shown: bool,
    /// How text stands in target documents; `None`: the version's way.
    pub text_values: Option<TextForm>,
    /// Whether a target keeps the old name it was made under.
    pub target_name_given: bool,
    /// Whether ALTER and DROP without the right for it act as if the session did not exist.
    pub refusal_hides: bool,
    /// Whether NO_EVENT_LOSS takes events that may not block.
    pub no_event_loss_allowed: bool,
    /// Whether TRACESTATUS answers an empty rowset when no flag is on.
    pub trace_status_rowset: bool,
    /// Whether the only event of a running session cannot be dropped.
    pub drop_last_event_refused: bool,
    /// Permissions denied to every login, in upper case; SYSADMIN is the role.
    pub denied: Vec<String>,
    /// Dropped events that a started session shows.
    pub dropped_events: u32,
    /// Dropped buffers that a started session shows.
    pub dropped_buffers: u32,
    /// Statements that fail, and with which error.
    pub errors: Vec<(String, u32)>,
    /// Characters after which target documents end; `None`: 4 MB (documented).
    pub target_limit: Option<usize>,
    /// Where an attention that cuts an answer short is acknowledged.
    pub attention: AttentionReply,
}

impl Switches {
    /// What the faults set; a later fault wins over an earlier one.
    pub fn from_faults(faults: &[Fault]) -> Self {
        let mut switches = Self::default();
        for fault in faults {
            match &fault.kind {
                FaultKind::SymboliseAt(at) => switches.symbolise_at = *at,
                FaultKind::SymbolsMissing => switches.symbols_missing = true,
                FaultKind::RawStack(form) => switches.raw_stack = Some(*form),
                FaultKind::StackDepth(depth) => switches.stack_depth = Some(*depth),
                FaultKind::FrameAddressesShown => switches.frame_addresses_shown = true,
                FaultKind::TextValues(form) => switches.text_values = Some(*form),
                FaultKind::TargetNameGiven => switches.target_name_given = true,
                FaultKind::RefusalHides => switches.refusal_hides = true,
                FaultKind::NoEventLossAllowed => switches.no_event_loss_allowed = true,
                FaultKind::TraceStatusRowset => switches.trace_status_rowset = true,
                FaultKind::DropLastEventRefused => switches.drop_last_event_refused = true,
                FaultKind::Deny(permission) => switches.denied.push(permission.clone()),
                FaultKind::DroppedEvents(count) => switches.dropped_events = *count,
                FaultKind::DroppedBuffers(count) => switches.dropped_buffers = *count,
                FaultKind::Error(number) => {
                    switches.errors.extend(fault.statement.clone().map(|statement| (statement, *number)));
                }
                FaultKind::CutTarget(limit) => switches.target_limit = Some(*limit),
                FaultKind::Attention(reply) => switches.attention = *reply,
            }
        }
        switches
    }

    /// The error that a statement fails with, if it does.
    pub fn statement_error(&self, statement: &str) -> Option<Message> {
        let (_, number) = self.errors.iter().find(|(failing, _)| *failing == statement)?;
        Some(Message::new(*number, 16, format!("Error {number}, asked for by a fault of the simulated server.")))
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, FaultError, FaultKind, SymboliseAt};

    #[test]
    fn faults_are_read_with_value_and_instance() {
        let fault: Fault = "symbolise-at=dispatch#2".parse().unwrap();
        assert_eq!(
            fault,
            Fault { kind: FaultKind::SymboliseAt(SymboliseAt::Dispatch), statement: None, instance: Some(2) }
        );
        let fault: Fault = "deny=alter any event session".parse().unwrap();
        assert_eq!(fault.kind, FaultKind::Deny("ALTER ANY EVENT SESSION".into()));
        let fault: Fault = "error=1205@sys.dm_os_wait_stats#3".parse().unwrap();
        assert_eq!((fault.kind, fault.instance), (FaultKind::Error(1_205), Some(3)));
        assert_eq!(fault.statement.as_deref(), Some("sys.dm_os_wait_stats"));
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
        ] {
            let error: FaultError = text.parse::<Fault>().unwrap_err();
            assert!(error.to_string().contains(wanted), "{text}: {error}");
        }
    }
}
