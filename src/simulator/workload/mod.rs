//! Owns what the simulated server does: its counters and events as functions of time.
//!
//! Nothing here keeps a running total: each counter and each kind of event is a function of the load's progress and of
//! the uptime, so a value is exact at any moment, whatever was read before.

pub mod background;
pub mod callers;
pub mod cases;
pub mod counters;
pub mod events;
pub mod files;
pub mod kinds;
pub mod machine;
pub mod pace;
pub mod paths;
pub mod recipe;
pub mod shares;
pub mod spinlocks;
pub mod stacks;
pub mod storage;
pub mod wait_types;
pub mod waits;

use crate::simulator::versions::VersionData;
use cases::{
    backup_latency, cachestore, capped_cpu, checkdb_only, db_snapshot, few_events, high_signal_no_yield, idle,
    index_rebuild, large_transactions, last_page_insert, lock_hash, lock_manager_no_spin, one_hot_node, small_commits,
    small_commits_delayed, spin_burn, spin_in_yield, sync_replica, tempdb_allocation, trace_writes, version_store,
    vm_steal, wrong_symbols, xe_observer,
};
use counters::{Counters, Throughput};
use kinds::EventKind;
use machine::Machine;
use recipe::Recipe;
use stacks::StackTable;
use std::str::FromStr;
use storage::Storage;

/// What the simulated server does. Each has a module in [`cases`] that says what is true of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Workload {
    /// 50 connections on one row of one index, 8 schedulers saturated: yields, and collisions on LOCK_HASH.
    #[default]
    LockHash,
    /// 32 schedulers that contend for SOS_CACHESTORE.
    Cachestore,
    /// The yields of `lock-hash` while most of the CPU spins.
    SpinBurn,
    /// A virtual machine that runs late: long yields, no queue, little CPU.
    VmSteal,
    /// A cap on CPU: queues, and schedulers kept idle.
    CappedCpu,
    /// One of two NUMA nodes saturated.
    OneHotNode,
    /// Twelve yields.
    FewEvents,
    /// Yields inside the lock manager, without spins.
    LockManagerNoSpin,
    /// Yields of which 30 % hold a spinlock's frames.
    YieldWithSpinFrame,
    /// Yields of which 2 % hold a spinlock's frames.
    TwoPercent,
    /// `lock-hash` beside another's event session.
    XeObserver,
    /// `lock-hash` without symbol files.
    WrongSymbols,
    /// Ten connections whose updates wait to write row versions.
    VersionStore,
    /// One session whose single-row inserts each wait for the log.
    SmallCommits,
    /// The same with delayed durability forced.
    SmallCommitsDelayed,
    /// One session whose transactions fill log blocks.
    LargeTransactions,
    /// A table filled in a database with a snapshot.
    DbSnapshot,
    /// The same with two snapshots.
    DbSnapshotTwo,
    /// An index rebuilt while others read the same file.
    IndexRebuild,
    /// 64 sessions that make temporary tables, and wait for allocation pages.
    TempdbAllocation,
    /// 64 sessions that insert into the last page of one index.
    LastPageInsert,
    /// Nothing but the server itself.
    Idle,
    /// Statements that wait for a SQL Trace's file.
    TraceWrites,
    /// Updates that wait for copies into the snapshot of DBCC CHECKDB.
    CheckdbOnly,
    /// Small commits that wait for a synchronous replica.
    SyncReplica,
    /// A backup, and others that read the same file.
    BackupLatency,
    /// Saturated schedulers and short batches: hardly a yield.
    HighSignalNoYield,
}

/// Text that names no workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown workload `{name}`: use one of {}", Workload::names())]
pub struct UnknownWorkload {
    /// What was given.
    pub name: String,
}

impl Workload {
    /// All of them, by name.
    pub const ALL: [(Self, &'static str); 27] = [
        (Self::LockHash, "lock-hash"),
        (Self::Cachestore, "cachestore"),
        (Self::SpinBurn, "spin-burn"),
        (Self::VmSteal, "vm-steal"),
        (Self::CappedCpu, "capped-cpu"),
        (Self::OneHotNode, "one-hot-node"),
        (Self::FewEvents, "few-events"),
        (Self::LockManagerNoSpin, "lock-manager-no-spin"),
        (Self::YieldWithSpinFrame, "yield-with-spin-frame"),
        (Self::TwoPercent, "two-percent"),
        (Self::XeObserver, "xe-observer"),
        (Self::WrongSymbols, "wrong-symbols"),
        (Self::VersionStore, "version-store"),
        (Self::SmallCommits, "small-commits"),
        (Self::SmallCommitsDelayed, "small-commits-delayed"),
        (Self::LargeTransactions, "large-transactions"),
        (Self::DbSnapshot, "db-snapshot"),
        (Self::DbSnapshotTwo, "db-snapshot-two"),
        (Self::IndexRebuild, "index-rebuild"),
        (Self::TempdbAllocation, "tempdb-allocation"),
        (Self::LastPageInsert, "last-page-insert"),
        (Self::Idle, "idle"),
        (Self::TraceWrites, "trace-writes"),
        (Self::CheckdbOnly, "checkdb-only"),
        (Self::SyncReplica, "sync-replica"),
        (Self::BackupLatency, "backup-latency"),
        (Self::HighSignalNoYield, "high-signal-no-yield"),
    ];

    /// All names, separated by commas.
    pub fn names() -> String {
        Self::ALL.map(|(_, name)| name).join(", ")
    }

    /// What it is made of.
    pub fn recipe(self, version: &VersionData) -> Recipe {
        match self {
            Self::LockHash => lock_hash::recipe(),
            Self::Cachestore => cachestore::recipe(),
            Self::SpinBurn => spin_burn::recipe(),
            Self::VmSteal => vm_steal::recipe(),
            Self::CappedCpu => capped_cpu::recipe(),
            Self::OneHotNode => one_hot_node::recipe(),
            Self::FewEvents => few_events::recipe(),
            Self::LockManagerNoSpin => lock_manager_no_spin::recipe(),
            Self::YieldWithSpinFrame => spin_in_yield::recipe(version, spin_in_yield::THIRTY_PERCENT),
            Self::TwoPercent => spin_in_yield::recipe(version, spin_in_yield::TWO_PERCENT),
            Self::XeObserver => xe_observer::recipe(version),
            Self::WrongSymbols => wrong_symbols::recipe(),
            Self::VersionStore => version_store::recipe(),
            Self::SmallCommits => small_commits::recipe(),
            Self::SmallCommitsDelayed => small_commits_delayed::recipe(),
            Self::LargeTransactions => large_transactions::recipe(),
            Self::DbSnapshot => db_snapshot::one(),
            Self::DbSnapshotTwo => db_snapshot::two(),
            Self::IndexRebuild => index_rebuild::recipe(),
            Self::TempdbAllocation => tempdb_allocation::recipe(),
            Self::LastPageInsert => last_page_insert::recipe(),
            Self::Idle => idle::recipe(),
            Self::TraceWrites => trace_writes::recipe(),
            Self::CheckdbOnly => checkdb_only::recipe(),
            Self::SyncReplica => sync_replica::recipe(),
            Self::BackupLatency => backup_latency::recipe(),
            Self::HighSignalNoYield => high_signal_no_yield::recipe(),
        }
    }

    /// What it does on this version, by this seed.
    pub fn truth(self, version: &'static VersionData, seed: u64) -> Truth {
        self.recipe(version).truth(version, seed)
    }
}

impl FromStr for Workload {
    type Err = UnknownWorkload;

    fn from_str(text: &str) -> Result<Self, UnknownWorkload> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text.trim())
            .map(|(workload, _)| *workload)
            .ok_or_else(|| UnknownWorkload { name: text.to_owned() })
    }
}

/// Everything a workload does: the truth that captures are checked against.
#[derive(Debug)]
pub struct Truth {
    /// Wait, latch and spinlock statistics.
    pub counters: Counters,
    /// What performance counters tell of the work done.
    pub throughput: Throughput,
    /// The events that fire.
    pub kinds: Vec<EventKind>,
    /// The call stacks of those events.
    pub stacks: StackTable,
    /// The processors.
    pub machine: Machine,
    /// Client sessions of the workload; their ids run from [`FIRST_WORKLOAD_SESSION`].
    pub connections: u16,
    /// Event sessions of others that run from the start, as the DDL they were made by.
    pub event_sessions: Vec<&'static str>,
    /// Whether symbol files are missing.
    pub symbols_missing: bool,
    /// Databases, files and what else it does beside waiting.
    pub storage: Storage,
}

impl Truth {
    /// The same on a server that did twice as much before the simulated time began.
    #[must_use]
    pub fn with_longer_past(mut self) -> Self {
        let Counters { waits, latches, spinlocks } = &mut self.counters;
        let waits = waits.iter_mut().flat_map(|row| [&mut row.waits, &mut row.wait_ms, &mut row.signal_ms]);
        let latches = latches.iter_mut().flat_map(|row| [&mut row.requests, &mut row.wait_ms]);
        let spinlocks = spinlocks
            .iter_mut()
            .flat_map(|row| [&mut row.collisions, &mut row.spins, &mut row.sleep_time, &mut row.backoffs]);
        let work = [&mut self.throughput.batches, &mut self.throughput.lock_requests];
        for counter in waits.chain(latches).chain(spinlocks).chain(work) {
            counter.base = counter.base.saturating_mul(2);
        }
        self
    }
}

/// Session id of a workload's first connection.
pub const FIRST_WORKLOAD_SESSION: u16 = 52;

/// The database the workload runs in.
pub const WORKLOAD_DATABASE_ID: i32 = 5;

/// Its name.
pub const WORKLOAD_DATABASE: &str = "OneRow";

/// Hours the server has been up when the simulated time begins.
pub const UPTIME_HOURS: u64 = 75;
