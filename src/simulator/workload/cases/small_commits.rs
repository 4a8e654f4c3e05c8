//! Owns workload `small-commits`: one session inserts single rows, and each insert is a durable transaction.
//!
//! The log file's figures are a twelfth of those published for 500,000 such inserts in 120 s with full durability (the
//! fifth database of the first table of an investigation of delayed durability on 2014). That each flush serves one commit,
//! and that waits for it take 52 % of the time, is invented.
//!
//! True of it: commits wait for the log, one small block each; delayed durability would help.

use crate::simulator::workload::files;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{FileLoad, LogLoad, Storage, Waiting, WorkloadDatabase, WorkloadFile};
use crate::simulator::workload::waits::Waits;

/// The statement of this workload and of its sisters.
pub const INSERT: &str = "INSERT dbo.OrderLine (order_id, product_id, quantity) VALUES (@order, @product, @quantity);";

/// Ten of the published 120 seconds.
const PART: u64 = 12;
const COMMITS: u64 = 500_012 / PART;
const BYTES: u64 = 526_448_640 / PART;
const STALL_MS: u64 = 35_593 / PART;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        waits: vec![
            Waits::new("WRITELOG", COMMITS, 5_217, 611),
            Waits::new("MEMORY_ALLOCATION_EXT", 1_204, 12, 0),
            Waits::new("ASYNC_NETWORK_IO", 12, 31, 1),
            Waits::new("SOS_SCHEDULER_YIELD", 9, 9, 9),
        ],
        work: Work { batches: 0, lock_requests: 3 * COMMITS },
        storage: Storage {
            databases: vec![orders()],
            index_searches: Some(COMMITS),
            waiting: vec![Waiting { wait_type: "WRITELOG", resource: "", percent: 52 }],
            ..Storage::default()
        },
        ..Recipe::quiet(1, INSERT)
    }
}

/// The database that orders go into.
fn orders() -> WorkloadDatabase {
    let log = LogLoad {
        transactions: COMMITS,
        flushes: COMMITS,
        bytes_flushed: BYTES,
        flush_waits: COMMITS,
        flush_wait_ms: 5_217,
    };
    orders_with(log, STALL_MS)
}

/// The same with another log.
pub fn orders_with(log: LogLoad, log_stall_ms: u64) -> WorkloadDatabase {
    WorkloadDatabase {
        simple_recovery: false,
        log,
        files: vec![
            WorkloadFile::data(
                "Orders",
                "Orders.mdf",
                131_072,
                FileLoad::reads(20_411, 65_536, 71_438).and_writes(61_904, 1_014_235_136, 154_760),
                FileLoad::writes(180, 32_768, 450),
            ),
            WorkloadFile::log(
                "Orders_log",
                "Orders_log.ldf",
                131_072,
                FileLoad::reads(12, 61_440, 12).and_writes(3_204_118, 4_511_398_912, 224_288),
                files::log_writes(log, log_stall_ms),
            ),
        ],
        ..WorkloadDatabase::new(5, "Orders")
    }
}
