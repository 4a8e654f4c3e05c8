//! Owns workload `high-signal-no-yield`: short batches on a machine that has no CPU to spare.
//!
//! Processors and queues are those of `lock-hash`. The batches end before their quantum does, so that hardly any yields;
//! what waits for a client or for memory then waits for its scheduler, 85 % of the time. Figures are invented.
//! MEMORY_ALLOCATION_EXT does not exist before 2016.
//!
//! True of it: tasks are short of CPU, and their yields do not show it.

use crate::simulator::workload::machine::Machine;
use crate::simulator::workload::paths::waits;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{
    CachedStatement, FileLoad, LogLoad, Storage, Waiting, WorkloadDatabase, WorkloadFile,
};
use crate::simulator::workload::waits::Waits;

const LOOK_UP: &str = "SELECT name, price FROM dbo.Product WHERE product_id = @product;";

/// Batches in ten seconds.
const BATCHES: u64 = 412_000;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: Machine::SATURATED,
        waits: vec![
            Waits::new("ASYNC_NETWORK_IO", BATCHES, 310_442, 264_011).along(waits::network_writes()),
            Waits::new("MEMORY_ALLOCATION_EXT", 120_311, 61_204, 51_904),
            Waits::new("CMEMTHREAD", 8_014, 12_110, 10_301),
            Waits::new("WRITELOG", 41, 120, 96),
            Waits::new("PAGELATCH_SH", 60, 66, 62).on("5:1:312"),
            Waits::new("SOS_SCHEDULER_YIELD", 41, 902, 902),
        ],
        work: Work { batches: BATCHES, lock_requests: 2 * BATCHES },
        storage: storage(),
        ..Recipe::quiet(50, LOOK_UP)
    }
}

fn storage() -> Storage {
    let log = LogLoad { transactions: 41, flushes: 41, bytes_flushed: 167_936, flush_waits: 41, flush_wait_ms: 120 };
    let catalogue = WorkloadDatabase {
        log,
        files: vec![
            WorkloadFile::data(
                "Catalogue",
                "Catalogue.mdf",
                65_536,
                FileLoad::reads(12_204, 65_536, 36_612).and_writes(9_410, 154_173_440, 28_230),
                FileLoad::reads(8, 8_192, 24).and_writes(16, 131_072, 48),
            ),
            WorkloadFile::log(
                "Catalogue_log",
                "Catalogue_log.ldf",
                32_768,
                FileLoad::NONE.and_writes(104_118, 426_467_328, 104_118),
                FileLoad::NONE.and_writes(log.flushes, log.bytes_flushed, 41),
            ),
        ],
        ..WorkloadDatabase::new(5, "Catalogue")
    };
    Storage {
        databases: vec![catalogue],
        waiting: vec![Waiting { wait_type: "ASYNC_NETWORK_IO", resource: "", percent: 62 }],
        statements: vec![
            CachedStatement {
                hash: 0x0f94_a7c3_5b68_e21d,
                text: LOOK_UP,
                share: 950,
                executions: 391_400,
                cpu_ms: 71_440,
            },
            CachedStatement {
                hash: 0x9be2_3d05_f147_8c60,
                text: "SELECT COUNT(*) FROM dbo.Product WHERE category_id = @category;",
                share: 50,
                executions: 20_600,
                cpu_ms: 3_760,
            },
        ],
        ..Storage::default()
    }
}
