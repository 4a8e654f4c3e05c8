//! Owns workload `index-rebuild`: an index is rebuilt while others read.
//!
//! Published in an article on file statistics: reads of 57 ms on a data file, and writes of over 600 ms around an index
//! rebuild, with larger writes than usual. Waits, counts and the file's better past are invented.
//!
//! True of it: the file is slow now, because of the rebuild and not by its nature.

use crate::simulator::workload::files;
use crate::simulator::workload::paths::files as paths;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{
    CachedStatement, FileLoad, LogLoad, Maintenance, PendingIos, Storage, Waiting, WorkloadDatabase, WorkloadFile,
};
use crate::simulator::workload::waits::Waits;

const READ: &str = "SELECT SUM(amount) FROM dbo.Sales WHERE sold_at >= @from AND sold_at < @to;";
const REBUILD: &str = "ALTER INDEX ALL ON dbo.Sales REBUILD;";

/// Their `query_hash`.
const READING: u64 = 0x5d18_c2f0_94be_6037;
const REBUILDING: u64 = 0xe97b_04a6_1d83_f25c;

/// Pages that are waited for: a few of many.
const PAGES: [&str; 3] = ["5:1:90112", "5:1:311296", "5:1:655360"];

const READS: u64 = 3_012;
const WRITES: u64 = 1_104;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        waits: waits(),
        work: Work { batches: 410, lock_requests: 820_000 },
        storage: storage(),
        ..Recipe::quiet(24, READ)
    }
}

fn waits() -> Vec<Waits> {
    let reads = PAGES
        .map(|page| Waits::new("PAGEIOLATCH_SH", 868, 50_344, 401).along(paths::page_reads()).on(page).by(READING));
    let others = [
        Waits::new("IO_COMPLETION", 402, 24_120, 96).along(paths::sort_runs()).by(REBUILDING),
        Waits::new("ASYNC_NETWORK_IO", 310, 902, 12).by(READING),
        Waits::new("WRITELOG", 61, 122, 4).by(REBUILDING),
        Waits::new("PAGELATCH_SH", 40, 41, 39).on("5:1:312").by(READING),
        Waits::new("SOS_SCHEDULER_YIELD", 72, 288, 288).by(READING),
    ];
    reads.into_iter().chain(others).collect()
}

fn storage() -> Storage {
    let log =
        LogLoad { transactions: 510, flushes: 2_904, bytes_flushed: 174_182_400, flush_waits: 61, flush_wait_ms: 122 };
    let sales = WorkloadDatabase {
        simple_recovery: false,
        log,
        files: vec![
            WorkloadFile::data(
                "Sales",
                "Sales.mdf",
                1_310_720,
                FileLoad::reads(1_204_118, 65_536, 37_327_658).and_writes(902_114, 14_780_235_776, 8_119_026),
                FileLoad::reads(READS, 65_536, 57 * READS).and_writes(WRITES, WRITES * 262_144, 604 * WRITES),
            ),
            WorkloadFile::log(
                "Sales_log",
                "Sales_log.ldf",
                262_144,
                FileLoad::reads(412, 61_440, 824).and_writes(1_840_221, 22_612_635_648, 1_840_221),
                files::log_writes(log, 2_904),
            ),
        ],
        ..WorkloadDatabase::new(5, "Sales")
    };
    let waiting = PAGES.map(|page| Waiting { wait_type: "PAGEIOLATCH_SH", resource: page, percent: 21 });
    let sorting = Waiting { wait_type: "IO_COMPLETION", resource: "", percent: 10 };
    Storage {
        databases: vec![sales],
        waiting: waiting.into_iter().chain([sorting]).collect(),
        maintenance: vec![Maintenance { command: "ALTER INDEX", database_id: 5, statement: REBUILD }],
        pending: PendingIos { at_system: 14, awaiting_notice: 1, oldest_ms: 612 },
        statements: vec![
            CachedStatement { hash: READING, text: READ, share: 867, executions: 410, cpu_ms: 7_204 },
            CachedStatement { hash: REBUILDING, text: REBUILD, share: 133, executions: 1, cpu_ms: 2_118 },
        ],
        ..Storage::default()
    }
}
