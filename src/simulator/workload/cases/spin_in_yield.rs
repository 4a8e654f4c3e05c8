//! Owns workloads `yield-with-spin-frame` and `two-percent`: yields whose stacks hold a spinlock's frames.
//!
//! No published stack shows one: a thread that backs off sleeps and does not yield. Should a server do it all the same,
//! it must be told. The yields are those of `lock-hash`; of 20,647 exactly 6,194 (30 %) or 413 (2 %) have
//! `Spinlock<…>::SpinToAcquireWithExponentialBackoff` under SOS_Task::PostWait. The spinlock counters are those of
//! `lock-hash` too.
//!
//! True of them: the yields have two origins, in these proportions.

use crate::simulator::versions::VersionData;
use crate::simulator::workload::cases::lock_hash;
use crate::simulator::workload::paths::yields;
use crate::simulator::workload::recipe::{Recipe, Yields};

/// Yields with a spinlock's frames in `yield-with-spin-frame`.
pub const THIRTY_PERCENT: u64 = 6_194;
/// The same in `two-percent`.
pub const TWO_PERCENT: u64 = 413;

/// What a workload is made of, so many of whose yields hold a spinlock's frames.
pub fn recipe(version: &VersionData, spinning: u64) -> Recipe {
    let wait_ms = spinning * 22 + spinning / 7;
    let with =
        Yields { count: spinning, wait_ms, signal_ms: wait_ms - 3, shortest_ms: 14, paths: yields::spinning(version) };
    let without = Yields {
        count: lock_hash::YIELDS - spinning,
        wait_ms: lock_hash::YIELD_WAIT_MS - with.wait_ms,
        signal_ms: lock_hash::YIELD_SIGNAL_MS - with.signal_ms,
        shortest_ms: 14,
        paths: yields::counting_rows(),
    };
    Recipe { yields: vec![without, with], ..lock_hash::recipe() }
}
