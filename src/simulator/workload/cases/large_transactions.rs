//! Owns workload `large-transactions`: one session updates and deletes many rows in each durable transaction.
//!
//! The log file's figures are 10/147 of those published for 20,003 such transactions in 147 s with full durability (the
//! fifth database of the second table of the same investigation as for `small-commits`). Waits are invented.
//!
//! True of it: log blocks are large already, commits hardly wait, and delayed durability would change nothing.

use crate::simulator::workload::cases::small_commits::orders_with;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{LogLoad, Storage};
use crate::simulator::workload::waits::Waits;

/// Ten of the published 147 seconds.
const PART: u64 = 147;
/// 1,360.7, rounded.
const TRANSACTIONS: u64 = (20_003 * 10 + PART / 2) / PART;
const FLUSHES: u64 = 30_138 * 10 / PART;
const BYTES: u64 = 1_282_231_808 * 10 / PART;
const STALL_MS: u64 = 7_402 * 10 / PART;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    let log = LogLoad {
        transactions: TRANSACTIONS,
        flushes: FLUSHES,
        bytes_flushed: BYTES,
        flush_waits: TRANSACTIONS,
        flush_wait_ms: 420,
    };
    Recipe {
        waits: vec![
            Waits::new("WRITELOG", TRANSACTIONS, 420, 31),
            Waits::new("MEMORY_ALLOCATION_EXT", 611, 22, 0),
            Waits::new("ASYNC_NETWORK_IO", 6, 31, 1),
            Waits::new("SOS_SCHEDULER_YIELD", 14, 4, 4),
        ],
        work: Work { batches: 0, lock_requests: 480 * TRANSACTIONS },
        storage: Storage {
            databases: vec![orders_with(log, STALL_MS)],
            index_searches: Some(240 * TRANSACTIONS),
            ..Storage::default()
        },
        ..Recipe::quiet(1, "UPDATE dbo.OrderLine SET quantity = quantity + 1 WHERE order_id BETWEEN @from AND @to;")
    }
}
