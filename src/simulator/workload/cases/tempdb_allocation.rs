//! Owns workload `tempdb-allocation`: 64 sessions make and drop temporary tables, in a tempdb with one hot data file.
//!
//! Nearly all of them wait for the first page that tells which pages are free (2:1:1), some for the first that tells
//! which mixed extents are (2:1:3). The kinds of page and the remedy, more data files, are documented; figures are invented.
//!
//! True of it: tasks wait for allocation pages of tempdb in memory.

use crate::simulator::workload::machine::Machine;
use crate::simulator::workload::paths::pages;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{
    CachedStatement, FileLoad, LogLoad, Storage, Waiting, WorkloadDatabase, WorkloadFile,
};
use crate::simulator::workload::waits::Waits;

/// Tells which pages are free.
const PFS: &str = "2:1:1";
/// Tells which mixed extents have free pages.
const SGAM: &str = "2:1:3";

const CREATE: &str = "CREATE TABLE #basket (product_id int NOT NULL, quantity int NOT NULL);";

/// Temporary tables in ten seconds.
const TABLES: u64 = 121_300;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: Machine::MODERATE,
        waits: vec![
            Waits::new("PAGELATCH_UP", 84_204, 266_410, 21_007).along(pages::free_space()).on(PFS),
            Waits::new("PAGELATCH_EX", 31_118, 92_003, 7_311).along(pages::free_space()).on(PFS),
            Waits::new("PAGELATCH_UP", 12_087, 31_912, 2_540).along(pages::mixed_extents()).on(SGAM),
            Waits::new("PAGELATCH_EX", 4_004, 11_810, 902).along(pages::mixed_extents()).on(SGAM),
            Waits::new("PAGELATCH_SH", 1_102, 2_904, 310).along(pages::free_space()).on(PFS),
            Waits::new("CMEMTHREAD", 2_013, 1_204, 208),
            Waits::new("ASYNC_NETWORK_IO", 1_204, 810, 60),
            Waits::new("WRITELOG", 11, 14, 1),
            Waits::new("SOS_SCHEDULER_YIELD", 81, 324, 324),
        ],
        work: Work { batches: TABLES, lock_requests: 9 * TABLES },
        storage: storage(),
        ..Recipe::quiet(64, CREATE)
    }
}

fn storage() -> Storage {
    let log = LogLoad { transactions: 64, flushes: 11, bytes_flushed: 45_056, flush_waits: 11, flush_wait_ms: 14 };
    let shop = WorkloadDatabase {
        log,
        files: vec![
            WorkloadFile::data(
                "Shop",
                "Shop.mdf",
                65_536,
                FileLoad::reads(8_204, 65_536, 24_612).and_writes(12_410, 203_325_440, 37_230),
                FileLoad::writes(24, 8_192, 48),
            ),
            WorkloadFile::log(
                "Shop_log",
                "Shop_log.ldf",
                32_768,
                FileLoad::NONE.and_writes(204_118, 836_067_328, 204_118),
                FileLoad::NONE.and_writes(log.flushes, log.bytes_flushed, 11),
            ),
        ],
        ..WorkloadDatabase::new(5, "Shop")
    };
    let waiting =
        [("PAGELATCH_UP", PFS, 42), ("PAGELATCH_EX", PFS, 14), ("PAGELATCH_UP", SGAM, 5), ("PAGELATCH_EX", SGAM, 2)];
    Storage {
        databases: vec![shop],
        tempdb: vec![(1, FileLoad::writes(812, 65_536, 2_436)), (2, FileLoad::writes(640, 61_440, 640))],
        index_searches: Some(6 * TABLES),
        waiting: waiting.map(|(wait_type, resource, percent)| Waiting { wait_type, resource, percent }).to_vec(),
        statements: vec![
            CachedStatement {
                hash: 0x7a3f_d1e8_260c_95b4,
                text: CREATE,
                share: 880,
                executions: TABLES,
                cpu_ms: 21_800,
            },
            CachedStatement {
                hash: 0x14c6_8b90_fe57_3a2d,
                text: "SELECT product_id, quantity INTO #checkout FROM #basket;",
                share: 120,
                executions: 14_200,
                cpu_ms: 3_900,
            },
        ],
        ..Storage::default()
    }
}
