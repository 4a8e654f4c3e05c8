//! Owns what a fault can change: its names, and the values that each takes.

use crate::simulator::events::cut::TargetCut;
use crate::simulator::events::xml::TextForm;
use crate::simulator::faults::login::{LoginFault, Route, TlsFault};
use crate::simulator::faults::moments::Moment;
use crate::simulator::faults::places::Place;
use crate::simulator::versions::RawStackForm;
use crate::simulator::wire::attention::AttentionReply;

/// Frames that `stack-depth` may ask for: twice the most that is documented of any version.
const DEEPEST: usize = 64;

/// Names and what each takes.
pub(super) const FAULTS: [(&str, &str); 34] = [
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
    ("read-cost", "milliseconds"),
    ("work-queue", "a number of tasks"),
    ("cut-target", "a number of characters, element, entity or cdata"),
    ("error", "an error number"),
    ("attention", "in-answer or apart"),
    ("ddl-trigger", "rollback or audit"),
    ("login", "refused, locked, expired, must-change, no-workers or an error number, and :N for only after N logins"),
    ("tls", "closed, old, expired or other-name"),
    ("route", "a host and a port, HOST:PORT"),
    ("cut", "before, after, mid-row or no value"),
    ("stall", "seconds up to a day, or no value"),
    ("drip", "bytes in a second, or no value"),
    ("restart", "no value"),
    ("failover", "the other node's name, or no value"),
    ("vanish", "dropped, stopped or no value"),
    ("clock-jump", "seconds, forward or back"),
    ("stats-cleared", "no value"),
    ("renamed-database", "the name of a database, or no value"),
    ("dropped-database", "the name of a database, or no value"),
    ("offline-database", "the name of a database, or no value"),
];

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

/// What a server trigger does at each statement on event sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DdlTrigger {
    /// It rolls the statement back.
    Rollback,
    /// It notes the statement; an audit is enabled too.
    Audit,
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
    /// `read-cost=MS`: each reading of a view costs the reader's session that much CPU.
    ReadCost(u32),
    /// `work-queue=N`: while a client's event session runs, N tasks wait for a worker on each scheduler.
    WorkQueue(u32),
    /// `error=NUMBER@STATEMENT`: the statement fails with this error and does nothing.
    Error(u32),
    /// `cut-target=N|element|entity|cdata`: target documents end early, as those above 4 MB do (documented).
    CutTarget(TargetCut),
    /// `attention=in-answer|apart`: where an attention that cuts an answer short is acknowledged.
    Attention(AttentionReply),
    /// `ddl-trigger=rollback|audit`: a server trigger is there for statements on event sessions.
    DdlTrigger(DdlTrigger),
    /// `login=refused|locked|expired|must-change|no-workers|NUMBER[:N]`.
    Login(LoginFault),
    /// `tls=closed|old|expired|other-name`.
    Tls(TlsFault),
    /// `route=HOST:PORT`.
    Route(Route),
    /// What happens once, at a statement.
    Moment(Moment),
    /// What the place of the server is like.
    Place(Place),
}

impl FaultKind {
    /// Whether it is one of a statement, and not of the whole instance.
    pub(super) fn is_of_statement(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Moment(_))
    }

    /// The kind by its name and value; `None` for a value that it does not take.
    pub(super) fn parse(name: &str, value: &str) -> Option<Self> {
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
            ("read-cost", number) => number.parse().ok().map(Self::ReadCost),
            ("work-queue", number) => number.parse().ok().map(Self::WorkQueue),
            ("error", number) => number.parse().ok().filter(|number| *number > 0).map(Self::Error),
            ("attention", "in-answer") => Some(Self::Attention(AttentionReply::InAnswer)),
            ("attention", "apart") => Some(Self::Attention(AttentionReply::Apart)),
            ("cut-target", "element") => Some(Self::CutTarget(TargetCut::InElement)),
            ("cut-target", "entity") => Some(Self::CutTarget(TargetCut::InEntity)),
            ("cut-target", "cdata") => Some(Self::CutTarget(TargetCut::InCharacterData)),
            ("cut-target", number) => number.parse().ok().map(TargetCut::After).map(Self::CutTarget),
            ("ddl-trigger", "rollback") => Some(Self::DdlTrigger(DdlTrigger::Rollback)),
            ("ddl-trigger", "audit") => Some(Self::DdlTrigger(DdlTrigger::Audit)),
            ("login", value) => LoginFault::parse(value).map(Self::Login),
            ("tls", value) => TlsFault::parse(value).map(Self::Tls),
            ("route", value) => Route::parse(value).map(Self::Route),
            (name, value) => {
                Moment::parse(name, value).map(Self::Moment).or_else(|| Place::parse(name, value).map(Self::Place))
            }
        }
    }
}
