//! Owns what a workload does beside waiting: its databases and files, the log, row versions, I/O that is pending,
//! maintenance that runs, statements in the plan cache. All of it is data; the views make rows of it.

use crate::simulator::workload::{WORKLOAD_DATABASE, WORKLOAD_DATABASE_ID};

/// What a file has done, or does in one burst.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct FileLoad {
    pub reads: u64,
    pub read_bytes: u64,
    pub read_stall_ms: u64,
    /// Part of `read_stall_ms` that Resource Governor made.
    pub queued_read_ms: u64,
    pub writes: u64,
    pub write_bytes: u64,
    pub write_stall_ms: u64,
    pub queued_write_ms: u64,
    /// Bytes that it takes more on disk. A sparse file begins with none, so before the load they are all that it takes.
    pub growth_bytes: u64,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Rows.
    Data,
    /// The log.
    Log,
    /// Copies of pages for a database snapshot.
    Sparse,
}

/// A file of a database.
#[derive(Debug, Clone)]
pub struct WorkloadFile {
    /// Its number in its database.
    pub file_id: i32,
    /// Logical name.
    pub name: &'static str,
    /// File name.
    pub physical: &'static str,
    /// What it holds.
    pub kind: FileKind,
    /// Size in pages of 8 KB; of a sparse file that of the file it is of.
    pub pages: i32,
    /// What it had done when the simulated time begins.
    pub before: FileLoad,
    /// What one burst adds.
    pub load: FileLoad,
}

/// How commits of a database wait for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// DISABLED.
    #[default]
    Full,
    /// ALLOWED.
    Allowed,
    /// FORCED.
    Delayed,
}

/// What the log of a database does in one burst.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LogLoad {
    pub transactions: u64,
    pub flushes: u64,
    pub bytes_flushed: u64,
    /// Commits that waited for a flush.
    pub flush_waits: u64,
    pub flush_wait_ms: u64,
}

/// A database of the workload, beside the system's.
#[derive(Debug, Clone)]
pub struct WorkloadDatabase {
    /// Its number: 5 and above.
    pub id: i32,
    /// Its name.
    pub name: &'static str,
    /// Of a snapshot, the database it is of.
    pub source_database_id: Option<i32>,
    /// READ_COMMITTED_SNAPSHOT.
    pub read_committed_snapshot: bool,
    /// ALLOW_SNAPSHOT_ISOLATION.
    pub snapshot_isolation: bool,
    /// Accelerated database recovery.
    pub accelerated_recovery: bool,
    /// Delayed durability.
    pub durability: Durability,
    /// Recovery model SIMPLE.
    pub simple_recovery: bool,
    /// Whether it is the primary of a synchronous availability group.
    pub is_synchronous_primary: bool,
    /// Its files.
    pub files: Vec<WorkloadFile>,
    /// Its log.
    pub log: LogLoad,
    /// Row versions in tempdb, KB, at any time of the load.
    pub version_store_kb: u64,
}

impl WorkloadDatabase {
    /// A database without files and load.
    pub fn new(id: i32, name: &'static str) -> Self {
        Self {
            id,
            name,
            source_database_id: None,
            read_committed_snapshot: false,
            snapshot_isolation: false,
            accelerated_recovery: false,
            durability: Durability::Full,
            simple_recovery: true,
            is_synchronous_primary: false,
            files: Vec::new(),
            log: LogLoad::default(),
            version_store_kb: 0,
        }
    }
}

/// A task that some session is in whenever one looks, while loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Wait type.
    pub wait_type: &'static str,
    /// What it waits for, as sys.dm_os_waiting_tasks describes it: `2:1:1` for a page.
    pub resource: &'static str,
    /// Of a hundred of the workload's sessions, how many are in it at one moment.
    pub percent: u32,
}

/// A request that runs beside the workload while it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maintenance {
    /// `command` of sys.dm_exec_requests.
    pub command: &'static str,
    /// Its database.
    pub database_id: i32,
    /// Its statement.
    pub statement: &'static str,
}

/// I/Os that are pending whenever one looks, while loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PendingIos {
    /// At the operating system.
    pub at_system: u32,
    /// Done there, and waiting for SQL Server to take notice.
    pub awaiting_notice: u32,
    /// Age of the oldest of either kind, ms.
    pub oldest_ms: u64,
}

/// A statement in the plan cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedStatement {
    /// `query_hash`.
    pub hash: u64,
    /// Its text.
    pub text: &'static str,
    /// Of a thousand events of the workload, how many it raises.
    pub share: u64,
    /// Executions in one burst.
    pub executions: u64,
    /// CPU time in one burst, ms.
    pub cpu_ms: u64,
}

/// Row versions of one burst, server-wide counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Versions {
    pub generated_kb: u64,
    pub cleaned_kb: u64,
}

/// What a workload does beside waiting.
#[derive(Debug, Clone, Default)]
pub struct Storage {
    /// Its databases; none stands for `OneRow` with its files, which do a little.
    pub databases: Vec<WorkloadDatabase>,
    /// What the files of tempdb do in one burst, by file id.
    pub tempdb: Vec<(i32, FileLoad)>,
    /// Index searches of one burst; `None`: as many as lock requests.
    pub index_searches: Option<u64>,
    /// Row versions.
    pub versions: Versions,
    /// Tasks that wait.
    pub waiting: Vec<Waiting>,
    /// Maintenance.
    pub maintenance: Vec<Maintenance>,
    /// Pending I/Os.
    pub pending: PendingIos,
    /// Statements; none stands for the recipe's one statement.
    pub statements: Vec<CachedStatement>,
    /// A SQL Trace of someone's that writes a file: its path.
    pub trace_file: Option<&'static str>,
}

impl Storage {
    /// The database of a number.
    pub fn database(&self, id: i32) -> Option<&WorkloadDatabase> {
        self.databases.iter().find(|database| database.id == id)
    }

    /// The workload's own database: the first, or `OneRow`.
    pub fn own_database_id(&self) -> i32 {
        self.databases.first().map_or(WORKLOAD_DATABASE_ID, |database| database.id)
    }

    /// Its name.
    pub fn own_database_name(&self) -> &'static str {
        self.databases.first().map_or(WORKLOAD_DATABASE, |database| database.name)
    }
}
