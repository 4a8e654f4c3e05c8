//! Owns the answer: the JSON report `xestack.report/1`, key for key. Renaming a field here changes the contract.

use crate::model::{Frame, Problem, ServerIdentity, TraceFlagUse, Window};
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

/// What is special about a row of deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Not in the first snapshot: the second one's values stand.
    New,
    /// A counter went down (CLEAR): no delta, the figures are zero.
    Reset,
    /// The server restarted between the snapshots: the second one's values stand, for less than the window.
    Restarted,
    /// Gone from the second snapshot: no delta, the figures are zero.
    Missing,
    /// Under one id another name than in the first snapshot: no delta, the figures are zero.
    Renamed,
}

/// Wait statistics of the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitRow {
    /// Wait type.
    pub wait_type: String,
    /// Category, for example `lock`; null for a wait type that no category names.
    #[serde(default)]
    pub category: Option<String>,
    /// Waits.
    pub waiting_tasks: u64,
    /// Wait time.
    pub wait_ms: u64,
    /// Wait time without signal time.
    pub resource_ms: u64,
    /// Time runnable after the wait.
    pub signal_ms: u64,
    /// Share of all non-idle wait time.
    pub share: f64,
    /// What is special.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// Latch statistics of the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatchRow {
    /// Latch class.
    pub latch_class: String,
    /// Waiting requests.
    pub requests: u64,
    /// Wait time.
    pub wait_ms: u64,
    /// Share of the wait time of all classes other than BUFFER, whose waits are those for pages; 0 for BUFFER itself.
    pub share: f64,
    /// What is special.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// Spinlock statistics of the window; only rows whose collisions grew, and marked rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpinlockRow {
    /// Spinlock.
    pub name: String,
    /// Collisions.
    pub collisions: u64,
    /// Spins.
    pub spins: u64,
    /// Integer division of the two deltas; 0 when there were no spins.
    pub spins_per_collision: u64,
    /// Time slept in back-offs.
    pub sleep_time_ms: u64,
    /// Back-offs.
    pub backoffs: u64,
    /// Spins a second and scheduler; null without a window or scheduler count.
    pub spins_per_second_per_cpu: Option<f64>,
    /// Share of the schedulers' cycles that the spins can have taken.
    pub spin_cpu_share: Option<Interval>,
    /// What is special.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// What a file did in one interval of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilePoint {
    /// End of the interval, milliseconds after the window opened.
    pub at_ms: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Mean time of a read; null without reads.
    pub read_latency_ms: Option<f64>,
    /// Mean time of a write; null without writes.
    pub write_latency_ms: Option<f64>,
}

/// Virtual file statistics of the window; files without I/O are left out unless they are marked. A mean over no
/// operation is null, never zero.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FileRow {
    /// Database; `database 7` where its name is hidden from the login.
    pub database: String,
    /// `database_id`.
    pub database_id: i64,
    /// Logical name of the file; `file 2` where it is hidden.
    pub file: String,
    /// `file_id`.
    pub file_id: i64,
    /// `data`, `log`, `snapshot` (the sparse file of a database snapshot), or `unknown`.
    pub kind: String,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time that reads took together.
    pub read_stall_ms: u64,
    /// Time that writes took together.
    pub write_stall_ms: u64,
    /// Part of `read_stall_ms` in which Resource Governor held the reads back; null before 2014.
    pub queued_read_ms: Option<u64>,
    /// Part of `write_stall_ms` likewise.
    pub queued_write_ms: Option<u64>,
    /// Mean time of a read.
    pub read_latency_ms: Option<f64>,
    /// Mean time of a write.
    pub write_latency_ms: Option<f64>,
    /// Mean time of an operation.
    pub latency_ms: Option<f64>,
    /// Mean size of a read.
    pub bytes_per_read: Option<f64>,
    /// Mean size of a write.
    pub bytes_per_write: Option<f64>,
    /// Mean time of a read since the counters began: an average that hides when.
    pub cumulative_read_latency_ms: Option<f64>,
    /// Mean time of a write since the counters began.
    pub cumulative_write_latency_ms: Option<f64>,
    /// Space on disk at the end, bytes.
    pub size_bytes: Option<u64>,
    /// What that grew by in the window.
    pub growth_bytes: Option<i64>,
    /// The window in intervals, where a series was taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<FilePoint>,
    /// What is special.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// What the window shows of one database; null where the version, or the login, does not tell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DatabaseRow {
    /// Name; `database 7` where it is hidden.
    pub database: String,
    /// `database_id`.
    pub database_id: i64,
    /// The database that this one is a snapshot of.
    pub snapshot_of: Option<String>,
    /// READ_COMMITTED_SNAPSHOT.
    pub read_committed_snapshot: Option<bool>,
    /// ALLOW_SNAPSHOT_ISOLATION, changing from or to it included.
    pub snapshot_isolation: Option<bool>,
    /// Accelerated database recovery.
    pub accelerated_recovery: Option<bool>,
    /// `DISABLED`, `ALLOWED` or `FORCED`.
    pub delayed_durability: Option<String>,
    /// Whether it is a replica that can be read, so that its readers use row versions.
    pub readable_secondary: Option<bool>,
    /// Space of its row versions in tempdb at the end.
    pub version_store_kb: Option<u64>,
    /// What that grew by.
    pub version_store_growth_kb: Option<i64>,
    /// Space of its persistent version store at the end.
    pub persistent_version_store_kb: Option<u64>,
    /// Transactions of the window (`Transactions/sec`, which counts internal ones too).
    pub transactions: Option<u64>,
    /// Log flushes of the window.
    pub log_flushes: Option<u64>,
    /// Bytes of them.
    pub log_bytes_flushed: Option<u64>,
    /// Commits that waited for a flush.
    pub log_flush_waits: Option<u64>,
    /// Their time.
    pub log_flush_wait_ms: Option<u64>,
    /// What is special.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// A page in memory that tasks were seen to wait for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PageRow {
    /// Database.
    pub database: String,
    /// `database_id`.
    pub database_id: i64,
    /// `file_id`.
    pub file_id: i64,
    /// Number of the page in its file.
    pub page_id: i64,
    /// `PFS`, `GAM`, `SGAM`, `DCM`, `BCM`, `file header`, `boot`, or `data or index`, by its number.
    pub page_type: String,
    /// Waiting tasks seen over all samples, and events of the page where they were counted.
    pub waits: u64,
    /// Share of those of all pages.
    pub share: f64,
    /// `events` of an event session, or `samples` of sys.dm_os_waiting_tasks.
    pub basis: String,
}

/// A statement that the events came from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct QueryRow {
    /// `0x` and 16 hex digits, as sys.dm_exec_query_stats shows it; all zeros: no cached statement.
    pub query_hash: String,
    /// Events.
    pub events: u64,
    /// Share of all events of the session.
    pub share: Option<Share>,
    /// Text of one statement with this hash; null where it is not cached, or the login may not see it.
    pub statement: Option<String>,
    /// Executions, as of the cache.
    pub executions: Option<u64>,
    /// CPU time, as of the cache.
    pub cpu_ms: Option<u64>,
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
