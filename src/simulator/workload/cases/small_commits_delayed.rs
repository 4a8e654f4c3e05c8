//! Owns workload `small-commits-delayed`: the inserts of `small-commits` with delayed durability forced.
//!
//! The log file's figures are 10/68 of those published for 500,000 such inserts in 68 s (the first database of the same
//! table). The 44 waits for the log are invented: now and then the log buffer is full.
//!
//! True of it: commits do not wait, blocks are large, and a crash may lose the last of them.

use crate::simulator::workload::cases::small_commits::{INSERT, orders_with};
use crate::simulator::workload::machine::{Machine, Node};
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{Durability, LogLoad, Storage, WorkloadDatabase};
use crate::simulator::workload::waits::Waits;

/// One scheduler of eight is busy.
const MACHINE: Machine =
    Machine { nodes: &[Node { schedulers: 8, loaded_cpu_percent: 13, queue: (0, 0) }], ..Machine::SATURATED };

/// Ten of the published 68 seconds.
const PART: u64 = 68;
const TRANSACTIONS: u64 = 500_000 * 10 / PART;
const FLUSHES: u64 = 8_068 * 10 / PART;
const BYTES: u64 = 261_894_656 * 10 / PART;
const STALL_MS: u64 = 6_232 * 10 / PART;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    let log = LogLoad {
        transactions: TRANSACTIONS,
        flushes: FLUSHES,
        bytes_flushed: BYTES,
        flush_waits: 44,
        flush_wait_ms: 310,
    };
    let orders = WorkloadDatabase { durability: Durability::Delayed, ..orders_with(log, STALL_MS) };
    Recipe {
        machine: MACHINE,
        waits: vec![
            Waits::new("WRITELOG", 44, 310, 12),
            Waits::new("MEMORY_ALLOCATION_EXT", 2_104, 96, 0),
            Waits::new("ASYNC_NETWORK_IO", 12, 31, 1),
            Waits::new("SOS_SCHEDULER_YIELD", 9, 3, 3),
        ],
        work: Work { batches: 0, lock_requests: 3 * TRANSACTIONS },
        storage: Storage { databases: vec![orders], index_searches: Some(TRANSACTIONS), ..Storage::default() },
        ..Recipe::quiet(1, INSERT)
    }
}
