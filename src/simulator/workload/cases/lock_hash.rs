//! Owns workload `lock-hash`: 50 connections count one row of one index over and over.
//!
//! The totals are the published figures of "SOS_SCHEDULER_YIELD waits and the LOCK_HASH spinlock": the five spinlock
//! rows as published, the waits a tenth of the published ones, which covered about 105 s. The first yield stack is the
//! published one; the others are of the same kind, with proportions that depend on the seed.
//!
//! True of it: the schedulers are short of CPU and tasks yield of their own will; LOCK_HASH is contended, and its
//! back-offs are not the yields.

use crate::simulator::workload::events::BACKOFFS_PER_EVENT;
use crate::simulator::workload::machine::Machine;
use crate::simulator::workload::paths::yields;
use crate::simulator::workload::recipe::{Recipe, Spins, Work, Yields};
use crate::simulator::workload::storage::{CachedStatement, Storage};
use crate::simulator::workload::waits::Waits;

/// Yields of one burst.
pub const YIELDS: u64 = 20_647;
/// Their wait time.
pub const YIELD_WAIT_MS: u64 = 457_477;
/// Part of it that is signal wait; 20 ms are not.
pub const YIELD_SIGNAL_MS: u64 = 457_457;

/// Spinlock rows of one burst, as published.
pub const SPINS: [Spins; 5] = [
    Spins { spinlock: "LOCK_HASH", collisions: 6_191_134, spins: 4_005_774_890, sleep_time: 686, backoffs: 1_601_383 },
    Spins { spinlock: "OPT_IDX_STATS", collisions: 1_164_849, spins: 126_549_245, sleep_time: 57, backoffs: 7_555 },
    Spins { spinlock: "SOS_OBJECT_STORE", collisions: 73, spins: 305, sleep_time: 0, backoffs: 0 },
    Spins { spinlock: "SOS_WAITABLE_ADDRESS_HASHBUCKET", collisions: 115, spins: 44_495, sleep_time: 0, backoffs: 3 },
    Spins { spinlock: "XDESMGR", collisions: 1, spins: 0, sleep_time: 0, backoffs: 0 },
];

/// A load that hardly contends for LOCK_HASH: a hundredth of the published spins.
pub const FEW_SPINS: [Spins; 2] = [
    Spins { spinlock: "LOCK_HASH", collisions: 61_911, spins: 40_057_748, sleep_time: 7, backoffs: 16_013 },
    Spins { spinlock: "SOS_OBJECT_STORE", collisions: 73, spins: 305, sleep_time: 0, backoffs: 0 },
];

/// The statements in the plan cache: that of the 50 connections, and two that run beside it (invented).
const STATEMENTS: [CachedStatement; 3] = [
    CachedStatement {
        hash: 0x8f2c_41d0_77aa_10e3,
        text: COUNT_ROWS,
        share: 920,
        executions: 9_262_500,
        cpu_ms: 69_180,
    },
    CachedStatement {
        hash: 0x2b90_6e15_c4d7_f308,
        text: "SELECT TOP (1) c1 FROM dbo.OneRow WHERE c1 >= @from ORDER BY c1;",
        share: 50,
        executions: 237_500,
        cpu_ms: 3_760,
    },
    CachedStatement {
        hash: 0xd41e_58f7_093b_6ca2,
        text: "UPDATE STATISTICS dbo.OneRow WITH SAMPLE 10 PERCENT;",
        share: 30,
        executions: 3,
        cpu_ms: 2_260,
    },
];

const COUNT_ROWS: &str = "SELECT @c = COUNT(*) FROM dbo.OneRow WHERE c1 = 1;";

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: Machine::SATURATED,
        connections: 50,
        statement: COUNT_ROWS,
        yields: vec![Yields {
            count: YIELDS,
            wait_ms: YIELD_WAIT_MS,
            signal_ms: YIELD_SIGNAL_MS,
            // 14 to 30 ms: four to seven tasks ahead with a quantum of 4 ms each.
            shortest_ms: 14,
            paths: yields::counting_rows(),
        }],
        // What is not a yield adds up to 0.57 % of the wait time.
        waits: vec![
            Waits::new("ASYNC_NETWORK_IO", 61, 1_118, 6),
            Waits::new("WRITELOG", 18, 214, 3),
            Waits::new("MEMORY_ALLOCATION_EXT", 4_120, 609, 0),
            Waits::new("RESERVED_MEMORY_ALLOCATION_EXT", 210, 270, 0),
            Waits::new("PAGELATCH_SH", 402, 412, 395).on("5:1:312"),
        ],
        spins: SPINS.to_vec(),
        backoffs_per_event: BACKOFFS_PER_EVENT,
        special_backoffs: None,
        // Each connection runs one endless batch; about 950,000 object locks a second (published).
        work: Work { batches: 0, lock_requests: 9_500_000 },
        observer: None,
        symbols_missing: false,
        storage: Storage { statements: STATEMENTS.to_vec(), ..Storage::default() },
    }
}
