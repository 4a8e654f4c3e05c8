//! Owns workload `trace-writes`: somebody's SQL Trace writes every statement into a file.
//!
//! That such a trace's flush waits as PREEMPTIVE_OS_WRITEFILE, like the copies for a database snapshot, is published.
//! Figures are invented.
//!
//! True of it: sessions wait for the trace's file; no snapshot is anywhere.

use crate::simulator::workload::files;
use crate::simulator::workload::machine::Machine;
use crate::simulator::workload::paths::tracing;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{FileLoad, LogLoad, Storage, Waiting, WorkloadDatabase, WorkloadFile};
use crate::simulator::workload::waits::Waits;

const STATEMENT: &str = "SELECT order_id, product_id, quantity FROM dbo.OrderLine WHERE order_id = @order;";

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: Machine::MODERATE,
        waits: vec![
            Waits::new("PREEMPTIVE_OS_WRITEFILE", 18_204, 94_112, 0).along(tracing::flushes()),
            Waits::new("SQLTRACE_FILE_BUFFER", 2_011, 11_204, 410).along(tracing::buffers()),
            Waits::new("ASYNC_NETWORK_IO", 8_204, 1_902, 110),
            Waits::new("WRITELOG", 14, 28, 1),
            Waits::new("PAGELATCH_SH", 40, 41, 39).on("5:1:312"),
            Waits::new("SOS_SCHEDULER_YIELD", 66, 264, 264),
        ],
        work: Work { batches: 240_000, lock_requests: 480_000 },
        storage: storage(),
        ..Recipe::quiet(20, STATEMENT)
    }
}

fn storage() -> Storage {
    let log = LogLoad { transactions: 14, flushes: 14, bytes_flushed: 57_344, flush_waits: 14, flush_wait_ms: 28 };
    let orders = WorkloadDatabase {
        log,
        files: vec![
            WorkloadFile::data(
                "Orders",
                "Orders.mdf",
                131_072,
                FileLoad::reads(20_411, 65_536, 71_438).and_writes(61_904, 1_014_235_136, 154_760),
                FileLoad::reads(12, 8_192, 36).and_writes(20, 163_840, 50),
            ),
            WorkloadFile::log(
                "Orders_log",
                "Orders_log.ldf",
                65_536,
                FileLoad::NONE.and_writes(204_118, 836_067_328, 204_118),
                files::log_writes(log, 14),
            ),
        ],
        ..WorkloadDatabase::new(5, "Orders")
    };
    Storage {
        databases: vec![orders],
        waiting: vec![
            Waiting { wait_type: "PREEMPTIVE_OS_WRITEFILE", resource: "", percent: 47 },
            Waiting { wait_type: "SQLTRACE_FILE_BUFFER", resource: "", percent: 5 },
        ],
        trace_file: Some(r"D:\Traces\statements_14.trc"),
        ..Storage::default()
    }
}
