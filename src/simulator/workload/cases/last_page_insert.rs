//! Owns workload `last-page-insert`: 64 sessions insert at the end of one index.
//!
//! Its key only grows, so that all rows go into the same page, 5:1:8456, and each session commits many of them at once.
//! Figures are invented.
//!
//! True of it: tasks wait for one page of their own database in memory.

use crate::simulator::workload::files;
use crate::simulator::workload::machine::Machine;
use crate::simulator::workload::paths::pages;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{FileLoad, LogLoad, Storage, Waiting, WorkloadDatabase, WorkloadFile};
use crate::simulator::workload::waits::Waits;

const LAST_PAGE: &str = "5:1:8456";
const INSERT: &str = "INSERT dbo.Reading (sensor_id, value) VALUES (@sensor, @value);";

/// Rows in ten seconds.
const ROWS: u64 = 604_200;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: Machine::MODERATE,
        waits: vec![
            Waits::new("PAGELATCH_EX", 128_410, 401_833, 30_117).along(pages::last_page()).on(LAST_PAGE),
            Waits::new("PAGELATCH_SH", 2_011, 2_204, 310).along(pages::last_page()).on(LAST_PAGE),
            Waits::new("ASYNC_NETWORK_IO", 640, 410, 60),
            Waits::new("WRITELOG", 64, 410, 8),
            Waits::new("SOS_SCHEDULER_YIELD", 77, 308, 308),
        ],
        work: Work { batches: 0, lock_requests: 2 * ROWS },
        storage: storage(),
        ..Recipe::quiet(64, INSERT)
    }
}

fn storage() -> Storage {
    let log =
        LogLoad { transactions: 64, flushes: 2_014, bytes_flushed: 120_840_192, flush_waits: 64, flush_wait_ms: 410 };
    let sensors = WorkloadDatabase {
        log,
        files: vec![
            WorkloadFile::data(
                "Sensors",
                "Sensors.mdf",
                262_144,
                FileLoad::reads(4_210, 65_536, 12_630).and_writes(80_412, 2_634_940_416, 241_236),
                FileLoad::writes(610, 65_536, 1_830),
            ),
            WorkloadFile::log(
                "Sensors_log",
                "Sensors_log.ldf",
                131_072,
                FileLoad::NONE.and_writes(310_448, 18_626_880_000, 310_448),
                files::log_writes(log, 2_014),
            ),
        ],
        ..WorkloadDatabase::new(5, "Sensors")
    };
    Storage {
        databases: vec![sensors],
        index_searches: Some(ROWS),
        waiting: vec![Waiting { wait_type: "PAGELATCH_EX", resource: LAST_PAGE, percent: 63 }],
        ..Storage::default()
    }
}
