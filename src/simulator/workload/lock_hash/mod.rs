//! Owns workload `lock-hash`: 50 connections count one row of one index over and over.
//!
//! The totals are the published figures of "SOS_SCHEDULER_YIELD waits and the LOCK_HASH spinlock": the five spinlock
//! rows as published, the waits a tenth of the published ones, which covered about 105 s. The first yield stack is the
//! published one; the others are of the same kind, with proportions that depend on the seed.

mod events;
mod paths;

use crate::simulator::versions::VersionData;
use crate::simulator::workload::Truth;
use crate::simulator::workload::background::{self, Increments};
use crate::simulator::workload::counters::{Cumulative, Throughput};
use crate::simulator::workload::kinds::Rhythm;
use crate::simulator::workload::stacks::StackTable;

/// Yields of one burst.
const YIELDS: u64 = 20_647;
/// Their wait time, of which 20 ms is not signal wait.
const YIELD_WAIT_MS: u64 = 457_477;
const YIELD_SIGNAL_MS: u64 = 457_457;
const CONNECTIONS: u16 = 50;
const SCHEDULERS: u32 = 8;

/// Waits, wait time and signal time of one burst. What is not a yield adds up to 0.57 % of the wait time.
const WAITS: [(&str, u64, u64, u64); 6] = [
    ("SOS_SCHEDULER_YIELD", YIELDS, YIELD_WAIT_MS, YIELD_SIGNAL_MS),
    ("PAGELATCH_SH", BUFFER_LATCHES, 412, 398),
    ("ASYNC_NETWORK_IO", 61, 1_118, 6),
    ("WRITELOG", 18, 214, 3),
    ("MEMORY_ALLOCATION_EXT", 4_120, 609, 0),
    ("RESERVED_MEMORY_ALLOCATION_EXT", 210, 270, 0),
];

const BUFFER_LATCHES: u64 = 402;

/// Requests and wait time of one burst: nothing but a few buffer latches.
const LATCHES: [(&str, u64, u64); 1] = [("BUFFER", BUFFER_LATCHES, 412)];

/// Object locks asked for in one burst, and page locks likewise: about 950,000 a second (published).
const LOCK_REQUESTS: u64 = 9_500_000;

/// Collisions, spins, sleep time and back-offs of one burst, as published.
const SPINLOCKS: [(&str, [u64; 4]); 5] = [
    ("LOCK_HASH", [6_191_134, 4_005_774_890, 686, 1_601_383]),
    ("OPT_IDX_STATS", [1_164_849, 126_549_245, 57, 7_555]),
    ("SOS_OBJECT_STORE", [73, 305, 0, 0]),
    ("SOS_WAITABLE_ADDRESS_HASHBUCKET", [115, 44_495, 0, 3]),
    ("XDESMGR", [1, 0, 0, 0]),
];

/// A spinlock_backoff event is raised only when a back-off ends in a sleep, every eighth one (published remark).
const BACKOFFS_PER_EVENT: u64 = 8;

/// What the workload does.
pub fn truth(version: &'static VersionData, seed: u64) -> Truth {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut stacks = StackTable::new(version, seed);
    let mut kinds = Vec::new();
    events::add_yields(version, &mut stacks, &mut kinds, &mut random);
    events::add_backoffs(version, &mut stacks, &mut kinds, &mut random);
    events::add_latches(version, &mut stacks, &mut kinds);
    background::add_events(version, &mut stacks, &mut kinds);
    // A kind's first event comes at another part of its interval than its neighbour's, so that together they are even.
    for (index, kind) in (0_u64..).zip(&mut kinds) {
        if let Rhythm::Load { phase, .. } = &mut kind.rhythm {
            *phase = index * 618 % 1_000;
        }
    }
    Truth {
        counters: background::counters(version, Increments { waits: &WAITS, latches: &LATCHES, spinlocks: &SPINLOCKS }),
        throughput: Throughput {
            // Each connection runs one endless batch.
            batches: Cumulative { base: 810_442, load: 0, per_hour: 3_000 },
            lock_requests: Cumulative { base: 91_220_114, load: LOCK_REQUESTS, per_hour: 90_000 },
        },
        kinds,
        stacks,
        schedulers: SCHEDULERS,
        connections: CONNECTIONS,
        loaded_cpu_percent: 94,
        idle_cpu_percent: 2,
    }
}

#[cfg(test)]
mod tests {
    use super::{Rhythm, YIELD_SIGNAL_MS, YIELD_WAIT_MS, YIELDS, truth};
    use crate::model::ServerVersion;
    use crate::simulator::versions::VersionData;
    use crate::simulator::workload::kinds::{FieldValue, wait_key};

    #[test]
    fn events_come_to_the_totals_for_any_seed() {
        let version = VersionData::of(ServerVersion::V2019).unwrap();
        let key = wait_key(version, "SOS_SCHEDULER_YIELD");
        for seed in (0..40).chain([u64::MAX]) {
            let truth = truth(version, seed);
            for event in ["wait_info", "wait_completed"] {
                let (mut count, mut wait, mut signal) = (0, 0, 0);
                for kind in truth.kinds.iter().filter(|kind| kind.event == event) {
                    let number = |name: &str| match kind.value(name) {
                        Some(FieldValue::Number(number)) => *number,
                        _ => 1,
                    };
                    if let Rhythm::Load { share, .. } = kind.rhythm
                        && number("wait_type") == key
                        && number("opcode") == 1
                    {
                        count += share;
                        wait += share * number("duration");
                        signal += share * number("signal_duration");
                    }
                }
                assert_eq!((count, wait, signal), (YIELDS, YIELD_WAIT_MS, YIELD_SIGNAL_MS), "{event} by seed {seed}");
            }
        }
    }

    #[test]
    fn stacks_are_deeper_than_what_is_shown() {
        for version in VersionData::all() {
            let truth = truth(version, 1);
            for kind in &truth.kinds {
                let frames = truth.stacks.get(kind.stack);
                assert_eq!(frames.last().map(|frame| frame.function.as_str()), Some("RtlUserThreadStart"));
                assert!(frames.iter().all(|frame| u64::from(frame.rva) <= frame.address));
            }
            let deepest = truth.kinds.iter().map(|kind| truth.stacks.get(kind.stack).len()).max();
            assert!(deepest > Some(version.stack_depth + 3), "{deepest:?}");
        }
    }
}
