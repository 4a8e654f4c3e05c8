//! Owns workload `cachestore`: 32 schedulers check permissions, and contend for one security cache.
//!
//! The five spinlock rows are a sixth of those published for one minute of a 2008 R2 server, so that ten seconds go at
//! its rate. SOS_CACHESTORE leads by spins and by back-offs. The published stacks, which look up the groups of a login,
//! hold `Spinlock<144,1,0>`, the map key of SOS_CACHESTORE there; on most later versions number and key differ. Waits,
//! CPU use and batches are invented. The published
//! histogram of such a minute counted 36,420 events beside 67,900,620 back-offs: one event for 1,864, 6,071 in ten seconds.
//!
//! True of it: SOS_CACHESTORE is contended on a machine large enough for that to be known. Its yields are voluntary and
//! say nothing of the spinlock.

use crate::simulator::workload::machine::{Machine, Node};
use crate::simulator::workload::paths::yields;
use crate::simulator::workload::recipe::{Recipe, Spins, Work, Yields};
use crate::simulator::workload::storage::Storage;
use crate::simulator::workload::waits::Waits;

const MACHINE: Machine = Machine {
    nodes: &[
        Node { schedulers: 16, loaded_cpu_percent: 91, queue: (1, 3) },
        Node { schedulers: 16, loaded_cpu_percent: 91, queue: (1, 3) },
    ],
    idle_cpu_percent: 1,
    capped_percent: 0,
    is_virtual: false,
};

/// As published for this load, far fewer than every eighth.
const BACKOFFS_PER_EVENT: u64 = 1_864;

/// Sleep times are not published: as many ms for each back-off as lock-hash has.
const SPINS: [Spins; 5] = [
    Spins {
        spinlock: "SOS_CACHESTORE",
        collisions: 2_458_686,
        spins: 157_144_911_921,
        sleep_time: 4_847,
        backoffs: 11_316_770,
    },
    Spins {
        spinlock: "SOS_SUSPEND_QUEUE",
        collisions: 11_544_561,
        spins: 78_960_056_460,
        sleep_time: 154,
        backoffs: 361_213,
    },
    Spins { spinlock: "LOCK_HASH", collisions: 960_960, spins: 43_480_969_402, sleep_time: 266, backoffs: 623_201 },
    Spins { spinlock: "MUTEX", collisions: 467_128, spins: 1_627_917_280, sleep_time: 25, backoffs: 58_499 },
    Spins { spinlock: "SOS_SCHEDULER", collisions: 201_167, spins: 615_474_262, sleep_time: 7, backoffs: 18_291 },
];

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: MACHINE,
        connections: 64,
        statement: "SELECT name FROM dbo.Orders WHERE id = @id;",
        yields: vec![Yields {
            count: 60_512,
            wait_ms: 612_377,
            signal_ms: 612_301,
            shortest_ms: 2,
            paths: yields::checking_permissions(),
        }],
        waits: vec![
            Waits::new("ASYNC_NETWORK_IO", 1_920, 3_118, 41),
            Waits::new("CMEMTHREAD", 8_114, 1_904, 1_120),
            Waits::new("WRITELOG", 44, 310, 8),
            Waits::new("PAGELATCH_SH", 310, 288, 276).on("5:1:312"),
        ],
        spins: SPINS.to_vec(),
        backoffs_per_event: BACKOFFS_PER_EVENT,
        special_backoffs: None,
        work: Work { batches: 96_000, lock_requests: 410_000 },
        observer: None,
        symbols_missing: false,
        storage: Storage::default(),
    }
}
