//! Owns workloads `db-snapshot` and `db-snapshot-two`: a table is filled in a database that has one or two snapshots.
//!
//! Published for such a load on 2012: with snapshots PREEMPTIVE_OS_WRITEFILE and WRITE_COMPLETION lead, the time of the
//! first follows the rise in duration, and FCB_REPLICA_WRITE comes with the second snapshot only. Figures are invented.
//!
//! True of them: each page that changes is first copied for every snapshot, and the session waits for the writes.

use crate::simulator::workload::paths::snapshots;
use crate::simulator::workload::recipe::{Recipe, Work};
use crate::simulator::workload::storage::{FileLoad, LogLoad, Storage, Waiting, WorkloadDatabase, WorkloadFile};
use crate::simulator::workload::waits::Waits;
use crate::simulator::workload::{files, paths::Path};

const FILL: &str = "SELECT * INTO dbo.SalesCopy FROM dbo.Sales;";

/// What one snapshot costs.
#[derive(Debug, Clone, Copy)]
struct Copies {
    snapshots: u64,
    preemptive: (u64, u64),
    completions: (u64, u64),
    replica_writes: (u64, u64),
}

/// With one snapshot.
pub fn one() -> Recipe {
    recipe(Copies { snapshots: 1, preemptive: (24_118, 5_406), completions: (3_052, 1_904), replica_writes: (0, 0) })
}

/// With two.
pub fn two() -> Recipe {
    recipe(Copies {
        snapshots: 2,
        preemptive: (31_402, 6_212),
        completions: (4_410, 2_105),
        replica_writes: (1_288, 702),
    })
}

fn waits(wait_type: &'static str, (count, wait_ms): (u64, u64), paths: Vec<Path>) -> Waits {
    Waits::new(wait_type, count, wait_ms, wait_ms / 60).along(paths)
}

fn recipe(copies: Copies) -> Recipe {
    let mut all = vec![
        Waits { signal_ms: 0, ..waits("PREEMPTIVE_OS_WRITEFILE", copies.preemptive, snapshots::preemptive_writes()) },
        waits("WRITE_COMPLETION", copies.completions, snapshots::replica_writes()),
        Waits::new("PREEMPTIVE_OS_FILEOPS", 40, 22, 0),
        Waits::new("WRITELOG", 12, 9, 1),
        Waits::new("SOS_SCHEDULER_YIELD", 14, 14, 14),
    ];
    if copies.snapshots > 1 {
        all.push(waits("FCB_REPLICA_WRITE", copies.replica_writes, snapshots::replica_writes()));
    }
    let percent = |(_, wait_ms): (u64, u64)| (wait_ms / 100) as u32;
    let waiting =
        [("PREEMPTIVE_OS_WRITEFILE", percent(copies.preemptive)), ("WRITE_COMPLETION", percent(copies.completions))];
    Recipe {
        waits: all,
        work: Work { batches: 1, lock_requests: 12_400 },
        storage: Storage {
            databases: databases(copies),
            index_searches: Some(1_240),
            waiting: waiting.map(|(wait_type, percent)| Waiting { wait_type, resource: "", percent }).to_vec(),
            ..Storage::default()
        },
        ..Recipe::quiet(1, FILL)
    }
}

/// A sparse file grows by whole regions of this size.
const REGION: u64 = 65_536;

/// The source and its snapshots. Each preemptive write takes a page of 8 KB into one of the sparse files.
fn databases(copies: Copies) -> Vec<WorkloadDatabase> {
    let log = LogLoad { transactions: 14, flushes: 210, bytes_flushed: 9_830_400, flush_waits: 12, flush_wait_ms: 9 };
    let source = WorkloadDatabase {
        log,
        files: vec![
            WorkloadFile::data(
                "Sales",
                "Sales.mdf",
                262_144,
                FileLoad::reads(40_118, 65_536, 140_413).and_writes(31_204, 1_022_492_672, 93_612),
                FileLoad::reads(812, 524_288, 2_436).and_writes(1_604, 210_239_488, 6_416),
            ),
            WorkloadFile::log(
                "Sales_log",
                "Sales_log.ldf",
                65_536,
                FileLoad::reads(9, 61_440, 9).and_writes(412_204, 3_376_775_168, 288_542),
                files::log_writes(log, 105),
            ),
        ],
        ..WorkloadDatabase::new(5, "Sales")
    };
    let (writes, wait_ms) = (copies.preemptive.0 / copies.snapshots, copies.preemptive.1 / copies.snapshots);
    let sparse = |physical: &'static str| {
        let bytes = writes * 8_192;
        WorkloadFile::sparse(
            "Sales",
            physical,
            262_144,
            FileLoad::reads(1_204, 8_192, 3_612).and_writes(8_404, 68_845_568, 5_042).and_growth(68_845_568),
            FileLoad::writes(writes, 8_192, wait_ms - wait_ms / 50).and_growth(bytes.next_multiple_of(REGION)),
        )
    };
    let morning = WorkloadDatabase::snapshot_of(5, 6, "Sales_0600", sparse("Sales_0600.ss"));
    let noon = WorkloadDatabase::snapshot_of(5, 7, "Sales_1200", sparse("Sales_1200.ss"));
    let snapshots = if copies.snapshots > 1 { vec![morning, noon] } else { vec![morning] };
    [vec![source], snapshots].concat()
}
