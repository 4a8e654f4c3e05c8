//! Owns workload `version-store`: ten connections update rows of their own, and each old row goes into the version store.
//!
//! Published for a like load on 2019 ("The APPEND_ONLY_STORAGE_INSERT_POINT latch"): ten connections, each with 10,000
//! keys of its own, update a random column of a table with many; with READ_COMMITTED_SNAPSHOT on they make 60,000
//! index searches a second, LATCH_EX is 85 % of all wait time, and every latch wait is of this class. Delayed durability is
//! forced, so that commits do not wait. All other figures are invented. MEMORY_ALLOCATION_EXT does not exist before
//! 2016: there LATCH_EX is 94 %.
//!
//! True of it: the sessions wait for the one place where row versions are written.

use crate::simulator::workload::files;
use crate::simulator::workload::machine::{Machine, Node};
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{
    CachedStatement, Durability, FileLoad, LogLoad, Storage, Versions, Waiting, WorkloadDatabase, WorkloadFile,
};
use crate::simulator::workload::waits::Waits;

const MACHINE: Machine =
    Machine { nodes: &[Node { schedulers: 8, loaded_cpu_percent: 38, queue: (0, 1) }], ..Machine::SATURATED };

const UPDATE: &str = "UPDATE dbo.Balance SET c07 = c07 + 1 WHERE id = @id;";

/// Updates in ten seconds.
const UPDATES: u64 = 600_000;

/// The class that all latch waits are of.
const CLASS: &str = "APPEND_ONLY_STORAGE_INSERT_POINT";

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: MACHINE,
        waits: vec![
            Waits::new("LATCH_EX", 114_306, 51_212, 6_804).of_class(CLASS),
            Waits::new("MEMORY_ALLOCATION_EXT", 412_118, 5_904, 0),
            Waits::new("CMEMTHREAD", 3_104, 2_511, 402),
            Waits::new("ASYNC_NETWORK_IO", 20, 310, 2),
            Waits::new("WRITELOG", 21, 96, 2),
            Waits::new("PAGELATCH_SH", 40, 37, 35).on("5:1:120"),
            Waits::new("SOS_SCHEDULER_YIELD", 31, 124, 124),
        ],
        work: Work { batches: 0, lock_requests: 2 * UPDATES },
        storage: storage(),
        ..Recipe::quiet(10, UPDATE)
    }
}

fn storage() -> Storage {
    let log = LogLoad {
        transactions: UPDATES,
        flushes: 2_930,
        bytes_flushed: 180_019_200,
        flush_waits: 21,
        flush_wait_ms: 96,
    };
    let ledger = WorkloadDatabase {
        read_committed_snapshot: true,
        durability: Durability::Delayed,
        version_store_kb: 412_160,
        log,
        files: vec![
            WorkloadFile::data(
                "Ledger",
                "Ledger.mdf",
                65_536,
                FileLoad::reads(18_204, 65_536, 61_893).and_writes(90_310, 1_479_639_040, 180_620),
                FileLoad::writes(420, 32_768, 1_260),
            ),
            WorkloadFile::log(
                "Ledger_log",
                "Ledger_log.ldf",
                131_072,
                FileLoad::reads(31, 61_440, 62).and_writes(702_114, 21_568_942_080, 421_268),
                files::log_writes(log, 1_465),
            ),
        ],
        ..WorkloadDatabase::new(5, "Ledger")
    };
    Storage {
        databases: vec![ledger],
        tempdb: vec![(1, FileLoad::writes(1_210, 65_536, 3_630).and_growth(8_388_608))],
        index_searches: Some(UPDATES),
        versions: Versions { generated_kb: 152_340, cleaned_kb: 131_072 },
        waiting: vec![Waiting {
            wait_type: "LATCH_EX",
            resource: "APPEND_ONLY_STORAGE_INSERT_POINT (000001F4A8B2C050)",
            percent: 51,
        }],
        statements: vec![
            CachedStatement {
                hash: 0x31c7_90ab_5e02_d416,
                text: UPDATE,
                share: 970,
                executions: UPDATES,
                cpu_ms: 29_400,
            },
            CachedStatement {
                hash: 0xa605_1bd3_8f49_72ce,
                text: "UPDATE dbo.Balance SET checked = 1 WHERE id BETWEEN @from AND @to;",
                share: 30,
                executions: 18,
                cpu_ms: 610,
            },
        ],
        ..Storage::default()
    }
}
