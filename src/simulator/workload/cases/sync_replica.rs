//! Owns workload `sync-replica`: small commits on the primary of a synchronous replica.
//!
//! Each commit waits for the log and then, four times as long, for the replica to have written it too. Figures are
//! invented. Availability groups come with 2012: before there is no HADR_SYNC_COMMIT.
//!
//! True of it: commits wait for the replica more than for the log.

use crate::simulator::workload::cases::small_commits::{INSERT, orders_with};
use crate::simulator::workload::paths::log;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{LogLoad, Storage, Waiting, WorkloadDatabase};
use crate::simulator::workload::waits::Waits;

const COMMITS: u64 = 18_420;
const LOG_MS: u64 = 12_310;
const REPLICA_MS: u64 = 4 * LOG_MS;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    let log = LogLoad {
        transactions: COMMITS,
        flushes: 16_204,
        bytes_flushed: 19_391_488,
        flush_waits: COMMITS,
        flush_wait_ms: LOG_MS,
    };
    let orders = WorkloadDatabase { is_synchronous_primary: true, ..orders_with(log, 8_102) };
    Recipe {
        waits: vec![
            Waits::new("HADR_SYNC_COMMIT", COMMITS, REPLICA_MS, 1_902).along(log::hardening()),
            Waits::new("WRITELOG", COMMITS, LOG_MS, 704).along(log::commits()),
            Waits::new("ASYNC_NETWORK_IO", 310, 204, 12),
            Waits::new("PAGELATCH_SH", 40, 41, 39).on("5:1:312"),
            Waits::new("SOS_SCHEDULER_YIELD", 24, 72, 72),
        ],
        work: Work { batches: COMMITS, lock_requests: 3 * COMMITS },
        storage: Storage {
            databases: vec![orders],
            index_searches: Some(COMMITS),
            waiting: vec![
                Waiting { wait_type: "HADR_SYNC_COMMIT", resource: "", percent: 62 },
                Waiting { wait_type: "WRITELOG", resource: "", percent: 15 },
            ],
            ..Storage::default()
        },
        ..Recipe::quiet(8, INSERT)
    }
}
