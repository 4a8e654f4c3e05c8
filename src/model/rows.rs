//! Owns the rows of the report: waits, latches, spinlocks, files, databases, pages and statements of a window, key for key.

use crate::model::{Interval, Share};
use serde::{Deserialize, Serialize};

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
