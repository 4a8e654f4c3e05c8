//! Owns workload `checkdb-only`: DBCC CHECKDB runs while others update.
//!
//! It reads from a snapshot of its own, which no view lists, and pages that change are copied into it first (documented).
//! Figures are invented.
//!
//! True of it: updates wait for copies as with a database snapshot, for as long as the check runs.

use crate::simulator::workload::files;
use crate::simulator::workload::machine::Machine;
use crate::simulator::workload::paths::snapshots;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{
    FileLoad, LogLoad, Maintenance, Storage, Waiting, WorkloadDatabase, WorkloadFile,
};
use crate::simulator::workload::waits::Waits;

const UPDATE: &str = "UPDATE dbo.Stock SET quantity = quantity - @quantity WHERE product_id = @product;";

/// Updates in ten seconds.
const UPDATES: u64 = 42_100;

const READS: u64 = 8_412;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: Machine::MODERATE,
        waits: vec![
            Waits::new("PREEMPTIVE_OS_WRITEFILE", 14_210, 42_804, 0).along(snapshots::preemptive_writes()),
            Waits::new("FCB_REPLICA_WRITE", 6_004, 18_236, 302).along(snapshots::replica_writes()),
            Waits::new("ASYNC_NETWORK_IO", 1_204, 410, 30),
            Waits::new("WRITELOG", 60, 180, 4),
            Waits::new("PAGEIOLATCH_SH", 20, 240, 2).on("5:1:90112"),
            Waits::new("PAGELATCH_SH", 40, 41, 39).on("5:1:312"),
            Waits::new("SOS_SCHEDULER_YIELD", 70, 280, 280),
        ],
        work: Work { batches: 60, lock_requests: 3 * UPDATES },
        storage: storage(),
        ..Recipe::quiet(12, UPDATE)
    }
}

fn storage() -> Storage {
    let log =
        LogLoad { transactions: 60, flushes: 410, bytes_flushed: 21_495_808, flush_waits: 60, flush_wait_ms: 180 };
    let warehouse = WorkloadDatabase {
        simple_recovery: false,
        log,
        files: vec![
            WorkloadFile::data(
                "Warehouse",
                "Warehouse.mdf",
                1_310_720,
                FileLoad::reads(802_114, 65_536, 4_812_684).and_writes(310_204, 5_082_382_336, 930_612),
                FileLoad::reads(READS, 262_144, 12 * READS).and_writes(1_204, 19_726_336, 4_816),
            ),
            WorkloadFile::log(
                "Warehouse_log",
                "Warehouse_log.ldf",
                131_072,
                FileLoad::reads(9, 61_440, 9).and_writes(812_204, 9_980_362_752, 812_204),
                files::log_writes(log, 410),
            ),
        ],
        ..WorkloadDatabase::new(5, "Warehouse")
    };
    Storage {
        databases: vec![warehouse],
        index_searches: Some(UPDATES),
        waiting: vec![
            Waiting { wait_type: "PREEMPTIVE_OS_WRITEFILE", resource: "", percent: 36 },
            Waiting { wait_type: "FCB_REPLICA_WRITE", resource: "", percent: 15 },
        ],
        maintenance: vec![Maintenance {
            command: "DBCC TABLE CHECK",
            database_id: 5,
            statement: "DBCC CHECKDB (N'Warehouse') WITH NO_INFOMSGS;",
        }],
        ..Storage::default()
    }
}
