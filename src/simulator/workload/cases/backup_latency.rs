//! Owns workload `backup-latency`: a database is backed up while others read it.
//!
//! Figures are invented. The backup's sessions are in master, as jobs are that back up.
//!
//! True of it: reads of the data file are slow now, beside the backup that reads it as fast as it can.

use crate::simulator::workload::files;
use crate::simulator::workload::paths::files as paths;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{
    CachedStatement, FileLoad, LogLoad, Maintenance, PendingIos, Storage, Waiting, WorkloadDatabase, WorkloadFile,
};
use crate::simulator::workload::waits::Waits;

const READ: &str = "SELECT SUM(amount) FROM dbo.Invoice WHERE customer_id = @customer;";
const BACKUP: &str = "BACKUP DATABASE Invoices TO DISK = N'E:\\Backup\\Invoices.bak' WITH COMPRESSION;";

/// Their `query_hash`.
const READING: u64 = 0x46b1_e09d_73c5_2f8a;
const BACKING_UP: u64 = 0xc83e_7f12_06da_b594;

/// Pages that are waited for: a few of many.
const PAGES: [&str; 3] = ["5:1:41216", "5:1:802816", "5:1:1703936"];

const READS: u64 = 2_212;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        waits: waits(),
        work: Work { batches: 880, lock_requests: 410_000 },
        storage: storage(),
        ..Recipe::quiet(16, READ)
    }
}

fn waits() -> Vec<Waits> {
    let backs_up = |waits: Waits| waits.in_database(1).by(BACKING_UP);
    let reads =
        PAGES.map(|page| Waits::new("PAGEIOLATCH_SH", 234, 20_034, 68).along(paths::page_reads()).on(page).by(READING));
    let others = [
        backs_up(Waits::new("BACKUPIO", 6_104, 68_221, 210).along(paths::backup_streams())),
        backs_up(Waits::new("ASYNC_IO_COMPLETION", 4, 9_911, 1).along(paths::backup_coordinator())),
        backs_up(Waits::new("BACKUPBUFFER", 2_011, 6_004, 96).along(paths::backup_buffers())),
        Waits::new("ASYNC_NETWORK_IO", 204, 410, 8).by(READING),
        Waits::new("WRITELOG", 31, 62, 2).by(READING),
        Waits::new("PAGELATCH_SH", 40, 41, 39).on("5:1:312").by(READING),
        Waits::new("SOS_SCHEDULER_YIELD", 60, 240, 240).by(READING),
    ];
    reads.into_iter().chain(others).collect()
}

fn storage() -> Storage {
    let log = LogLoad { transactions: 31, flushes: 31, bytes_flushed: 126_976, flush_waits: 31, flush_wait_ms: 62 };
    let invoices = WorkloadDatabase {
        simple_recovery: false,
        log,
        files: vec![
            WorkloadFile::data(
                "Invoices",
                "Invoices.mdf",
                2_621_440,
                FileLoad::reads(910_404, 65_536, 5_462_424).and_writes(410_118, 6_719_373_312, 1_640_472),
                FileLoad::reads(READS, 524_288, 85 * READS).and_writes(120, 1_966_080, 480),
            ),
            WorkloadFile::log(
                "Invoices_log",
                "Invoices_log.ldf",
                131_072,
                FileLoad::reads(40, 61_440, 80).and_writes(612_204, 7_522_762_752, 612_204),
                files::log_writes(log, 31),
            ),
        ],
        ..WorkloadDatabase::new(5, "Invoices")
    };
    let reading = PAGES.map(|page| Waiting { wait_type: "PAGEIOLATCH_SH", resource: page, percent: 13 });
    let backing_up = [("BACKUPIO", 43), ("ASYNC_IO_COMPLETION", 6)].map(|(wait_type, percent)| Waiting {
        wait_type,
        resource: "",
        percent,
    });
    Storage {
        databases: vec![invoices],
        waiting: reading.into_iter().chain(backing_up).collect(),
        maintenance: vec![Maintenance { command: "BACKUP DATABASE", database_id: 5, statement: BACKUP }],
        pending: PendingIos { at_system: 22, awaiting_notice: 2, oldest_ms: 118 },
        statements: vec![
            CachedStatement { hash: BACKING_UP, text: BACKUP, share: 887, executions: 1, cpu_ms: 2_404 },
            CachedStatement { hash: READING, text: READ, share: 113, executions: 880, cpu_ms: 6_810 },
        ],
        ..Storage::default()
    }
}
