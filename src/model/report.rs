//! Owns the answer: the JSON report `xestack.report/1`, key for key. Renaming a field here changes the contract.

use crate::model::{
    DatabaseRow, FileRow, Frame, LatchRow, PageRow, Problem, QueryRow, ServerIdentity, SpinlockRow, TraceFlagUse,
    WaitRow, Window,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The `schema` of every report.
pub const SCHEMA: &str = "xestack.report/1";

/// A range that holds the true value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lowest possible value.
    pub low: f64,
    /// Highest possible value.
    pub high: f64,
}

/// What a share is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Events of a histogram.
    Events,
    /// Milliseconds of wait time.
    WaitMs,
}

/// A share between 0 and 1 as an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Proven.
    pub low: f64,
    /// Proven, plus all that could be in the class (unresolved, without slot, lost).
    pub high: f64,
    /// Of what.
    pub basis: Basis,
}

/// What a stack shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum StackClass {
    SpinlockBackoff,
    CpuYield,
    Latch,
    Lock,
    Io,
    Log,
    Network,
    Parallelism,
    Memory,
    Preemptive,
    Idle,
    Other,
    Unresolved,
}

impl StackClass {
    /// Every class, in the order of the contract.
    pub const ALL: [Self; 13] = [
        Self::SpinlockBackoff,
        Self::CpuYield,
        Self::Latch,
        Self::Lock,
        Self::Io,
        Self::Log,
        Self::Network,
        Self::Parallelism,
        Self::Memory,
        Self::Preemptive,
        Self::Idle,
        Self::Other,
        Self::Unresolved,
    ];

    /// The class's name in the contract, for example `cpu_yield`.
    pub fn name(self) -> &'static str {
        match self {
            Self::SpinlockBackoff => "spinlock_backoff",
            Self::CpuYield => "cpu_yield",
            Self::Latch => "latch",
            Self::Lock => "lock",
            Self::Io => "io",
            Self::Log => "log",
            Self::Network => "network",
            Self::Parallelism => "parallelism",
            Self::Memory => "memory",
            Self::Preemptive => "preemptive",
            Self::Idle => "idle",
            Self::Other => "other",
            Self::Unresolved => "unresolved",
        }
    }
}

/// What a capture concludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum VerdictKind {
    CpuBoundYields,
    SpinlockBackoff,
    MixedYields,
    LatchContention,
    LogWriteBound,
    SnapshotCopyOnWrite,
    FileLatency,
    NoContention,
    Inconclusive,
}

impl VerdictKind {
    /// The kind's name in the contract, for example `cpu_bound_yields`.
    pub fn name(self) -> &'static str {
        match self {
            Self::CpuBoundYields => "cpu_bound_yields",
            Self::SpinlockBackoff => "spinlock_backoff",
            Self::MixedYields => "mixed_yields",
            Self::LatchContention => "latch_contention",
            Self::LogWriteBound => "log_write_bound",
            Self::SnapshotCopyOnWrite => "snapshot_copy_on_write",
            Self::FileLatency => "file_latency",
            Self::NoContention => "no_contention",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// How far a verdict may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Confidence {
    Low,
    Medium,
    High,
}

/// Why, with what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// One sentence.
    pub text: String,
    /// Stack ids (`s1`) and rows (`waits:SOS_SCHEDULER_YIELD`, `spinlocks:LOCK_HASH`, `findings:cpu_consumer`).
    pub evidence: Vec<String>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextStep {
    /// What to do.
    pub text: String,
    /// What it risks.
    pub risk: String,
}

/// The conclusion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What kind.
    pub kind: VerdictKind,
    /// Spinlock, latch class, file or database.
    pub subject: Option<String>,
    /// How far to trust it.
    pub confidence: Confidence,
    /// One to three sentences.
    pub summary: String,
    /// Every stack class, zeros included.
    pub shares: BTreeMap<StackClass, Share>,
    /// Why.
    pub reasons: Vec<Reason>,
    /// What to do next.
    pub next_steps: Vec<NextStep>,
}

/// A condition of a finding or verdict, with its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// snake_case, unit in the name.
    pub name: String,
    /// Measured; `None` where it could not be.
    pub value: Option<f64>,
    /// The condition in words, for example `>= 1000`.
    pub needed: String,
    /// Whether it holds; false where the value is unknown.
    pub met: bool,
}

/// One thing found, verdict or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// For example `yield_origin`, `cpu_consumer`, `cpu_pressure`, `wait_exceeds_capacity`.
    pub name: String,
    /// snake_case state, for example `voluntary`, `undecided`.
    pub state: String,
    /// The figure, where there is one.
    pub value: Option<f64>,
    /// Its lower bound.
    pub low: Option<f64>,
    /// Its upper bound.
    pub high: Option<f64>,
    /// Conditions looked at.
    pub gates: Vec<Gate>,
    /// One or two sentences.
    pub text: String,
}

/// Which program made the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// `xestack`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What came of an event session. Its losses (slots, drops, a cut, the cap) stand beside it: each can go with `counted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionOutcome {
    /// It ran, and counted events.
    #[default]
    Counted,
    /// It ran, and there was nothing to count.
    NoEvents,
    /// There was no such session, or no document of it, when it was to be read: whatever it counted is lost.
    Missing,
    /// The session was there and stopped, which loses what it counted: by its own MAX_DURATION, by someone, or by a
    /// restart of the server.
    StoppedByServer,
    /// The server refused to create it.
    NotCreated,
}

impl SessionOutcome {
    /// Every outcome, in the order of the contract.
    pub const ALL: [Self; 5] = [Self::Counted, Self::NoEvents, Self::Missing, Self::StoppedByServer, Self::NotCreated];

    /// The outcome's name in the contract, for example `stopped_by_server`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::NoEvents => "no_events",
            Self::Missing => "missing",
            Self::StoppedByServer => "stopped_by_server",
            Self::NotCreated => "not_created",
        }
    }
}

/// Who or what stopped an event session before its target was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// The session's own option MAX_DURATION.
    MaxDuration,
    /// Someone's statement.
    Someone,
    /// A restart of the server.
    Restart,
}

/// One target document in the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionReport {
    /// Session or file name.
    pub name: String,
    /// `package.event`, or null.
    pub event: Option<String>,
    /// What came of it.
    #[serde(default)]
    pub outcome: SessionOutcome,
    /// What stopped it, where the outcome is `stopped_by_server`; else null.
    #[serde(default)]
    pub stopped_by: Option<StoppedBy>,
    /// Slots asked for.
    pub slots_requested: Option<u64>,
    /// Slots the server gave.
    pub buckets: Option<u64>,
    /// Slots in use.
    pub slots_used: u64,
    /// Distinct slots = buckets.
    pub at_capacity: bool,
    /// Events that found no slot, where the target says so.
    pub events_without_slot: Option<u64>,
    /// Events the session dropped.
    pub dropped_events: Option<u64>,
    /// Buffers the session dropped.
    pub dropped_buffers: Option<u64>,
    /// Whether the document was cut.
    pub target_cut: bool,
    /// Whether it counted as many events as its own cap allows, and no more: shares hold for those.
    #[serde(default)]
    pub event_cap_reached: bool,
}

/// How the evidence was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Run id, or `offline`.
    pub id: String,
    /// Scenario, or null.
    pub scenario: Option<String>,
    /// Server, or null.
    pub server: Option<ServerIdentity>,
    /// Window, or null.
    pub window: Option<Window>,
    /// One a target document.
    pub sessions: Vec<SessionReport>,
    /// Trace flags.
    pub trace_flags: Vec<TraceFlagUse>,
    /// Problems of collection and analysis.
    pub problems: Vec<Problem>,
}

/// Events of one class and area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassTotal {
    /// Class.
    pub class: StackClass,
    /// Area, or null.
    pub area: Option<String>,
    /// Events.
    pub events: u64,
    /// Share of all events with a stack.
    pub share: f64,
}

/// One merged stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StackItem {
    /// `s1`, `s2`, … by events, descending.
    pub id: String,
    /// Class.
    pub class: StackClass,
    /// Area, for example `access methods`.
    pub area: Option<String>,
    /// Id of the rule that decided.
    pub rule: Option<String>,
    /// Events.
    pub events: u64,
    /// Slots merged into it, `<document index>:<slot index>`; pasted stacks count as slots.
    pub slots: Vec<String>,
    /// How many of the first frames the event machinery added: they name the event, not the cause.
    #[serde(default)]
    pub plumbing: usize,
    /// Frames, leaf first, plumbing included.
    pub frames: Vec<Arc<Frame>>,
}

/// All stacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stacks {
    /// Events with a stack.
    pub total_events: u64,
    /// Merged stacks.
    pub distinct: u64,
    /// Events whose stack is unresolved.
    pub unresolved_events: u64,
    /// Totals by class and area.
    pub classes: Vec<ClassTotal>,
    /// Every merged stack, by events, descending.
    pub items: Vec<StackItem>,
}

/// The answer to one of several questions of a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Scenario that asks.
    pub scenario: String,
    /// What is concluded.
    pub verdict: Verdict,
}

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Program.
    pub tool: Tool,
    /// Collection.
    pub capture: Capture,
    /// Conclusion; of several scenarios the first one's.
    pub verdict: Verdict,
    /// The conclusions of the further scenarios, in the order asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Answer>,
    /// Findings.
    pub findings: Vec<Finding>,
    /// Stacks.
    pub stacks: Stacks,
    /// Waits.
    pub waits: Vec<WaitRow>,
    /// Latches.
    pub latches: Vec<LatchRow>,
    /// Spinlocks.
    pub spinlocks: Vec<SpinlockRow>,
    /// Files, by time spent in I/O, descending.
    #[serde(default)]
    pub files: Vec<FileRow>,
    /// Databases.
    #[serde(default)]
    pub databases: Vec<DatabaseRow>,
    /// Hot pages, descending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageRow>,
    /// Statements that the events came from, descending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<QueryRow>,
}
