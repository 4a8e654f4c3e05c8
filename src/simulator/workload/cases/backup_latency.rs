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

const READS: u64 = 2_212;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        waits: vec![
            Waits::new("BACKUPIO", 6_104, 68_221, 210).along(paths::backup_streams()).in_database(1),
            Waits::new("PAGEIOLATCH_SH", 702, 60_102, 204).along(paths::page_reads()).on("5:1:41216"),
            Waits::new("ASYNC_IO_COMPLETION", 4, 9_911, 1).along(paths::backup_coordinator()).in_database(1),
            Waits::new("BACKUPBUFFER", 2_011, 6_004, 96).along(paths::backup_buffers()).in_database(1),
            Waits::new("ASYNC_NETWORK_IO", 204, 410, 8),
            Waits::new("WRITELOG", 31, 62, 2),
            Waits::new("PAGELATCH_SH", 40, 41, 39).on("5:1:312"),
            Waits::new("SOS_SCHEDULER_YIELD", 60, 240, 240),
        ],
        work: Work { batches: 880, lock_requests: 410_000 },
        storage: storage(),
        ..Recipe::quiet(16, READ)
    }
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
    Storage {
        databases: vec![invoices],
        waiting: vec![
            Waiting { wait_type: "BACKUPIO", resource: "", percent: 43 },
            Waiting { wait_type: "PAGEIOLATCH_SH", resource: "5:1:41216", percent: 38 },
            Waiting { wait_type: "ASYNC_IO_COMPLETION", resource: "", percent: 6 },
        ],
        maintenance: vec![Maintenance { command: "BACKUP DATABASE", database_id: 5, statement: BACKUP }],
        pending: PendingIos { at_system: 22, awaiting_notice: 2, oldest_ms: 118 },
        statements: vec![
            CachedStatement { hash: 0xc83e_7f12_06da_b594, text: BACKUP, share: 900, executions: 1, cpu_ms: 2_404 },
            CachedStatement { hash: 0x46b1_e09d_73c5_2f8a, text: READ, share: 100, executions: 880, cpu_ms: 6_810 },
        ],
        ..Storage::default()
    }
}
