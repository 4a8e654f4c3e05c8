//! Owns the events of the workload: as many as the counters say, shared out among its sessions and call paths.

use crate::simulator::maps;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::kinds::{EventKind, FieldValue, Rhythm, number, push_wait, wait_key};
use crate::simulator::workload::lock_hash::paths::{INDEX_SEEK, lock_hash_paths, yield_paths};
use crate::simulator::workload::lock_hash::{
    BACKOFFS_PER_EVENT, BUFFER_LATCHES, CONNECTIONS, SCHEDULERS, SPINLOCKS, YIELD_SIGNAL_MS, YIELD_WAIT_MS, YIELDS,
};
use crate::simulator::workload::stacks::{self, StackTable};
use crate::simulator::workload::{FIRST_WORKLOAD_SESSION, WORKLOAD_DATABASE_ID};

/// Parts of `total` by weight; they add up to it.
fn split(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u64 = weights.iter().sum::<u64>().max(1);
    let mut reached = 0;
    let mut given = 0;
    weights
        .iter()
        .map(|weight| {
            reached += weight;
            let upto = total * reached / sum;
            let part = upto - given;
            given = upto;
            part
        })
        .collect()
}

/// Moves up to a twentieth of each weight, by the seed.
fn seeded_weights(weights: impl Iterator<Item = u64>, random: &mut fastrand::Rng) -> Vec<u64> {
    weights.map(|weight| 20 * weight + random.u64(0..=2 * weight) - weight).collect()
}

/// Values of the actions that any event of a workload session can carry.
fn session_values(session: u16) -> Vec<(&'static str, FieldValue)> {
    vec![
        ("sqlserver.session_id", number(session)),
        ("sqlserver.database_id", number(WORKLOAD_DATABASE_ID as u64)),
        ("sqlserver.is_system", number(0_u8)),
        ("sqlserver.query_hash", number(0x8f2c_41d0_77aa_10e3_u64)),
        ("sqlserver.sql_text", FieldValue::Text("SELECT @c = COUNT(*) FROM dbo.OneRow WHERE c1 = 1;".into())),
        ("sqlos.scheduler_id", number(u64::from(session % SCHEDULERS as u16))),
    ]
}

/// A run of equal yields: how many, how long each waited, how much of that for the scheduler.
type Yields = (u64, u64, u64);

/// Gives `count` yields around `duration` ms, so that all of them together come to the exact totals.
struct Exactly {
    /// Yields still to be lengthened by 1 ms.
    longer: u64,
    /// Yields still to have 1 ms of resource wait.
    resource: u64,
}

impl Exactly {
    fn runs(&mut self, count: u64, duration: u64) -> Vec<Yields> {
        let longer = count.min(self.longer);
        self.longer -= longer;
        let resource = longer.min(self.resource);
        self.resource -= resource;
        let all = [
            (resource, duration + 1, duration),
            (longer - resource, duration + 1, duration + 1),
            (count - longer, duration, duration),
        ];
        all.into_iter().filter(|(count, ..)| *count > 0).collect()
    }
}

pub(super) fn add_yields(
    version: &'static VersionData,
    stacks: &mut StackTable,
    kinds: &mut Vec<EventKind>,
    random: &mut fastrand::Rng,
) {
    let paths = yield_paths();
    let weights = seeded_weights(paths.iter().map(|path| path.weight), random);
    let key = wait_key(version, "SOS_SCHEDULER_YIELD");
    let bottom = stacks::batch_bottom(version);
    // Waits of 14 to 30 ms: four to seven tasks ahead with a quantum of 4 ms each.
    let duration = |session: u16| 14 + 4 * u64::from(session % 5);
    let mut plan = Vec::new();
    for (path, count) in paths.iter().zip(split(YIELDS, &weights)) {
        let mut stack = |top: &[&'static str; 3]| stacks.add(top.iter().chain(&path.frames).chain(&bottom).copied());
        let (end, begin, completed) =
            (stack(&stacks::WAIT_END), stack(&stacks::WAIT_BEGIN), stack(&stacks::WAIT_COMPLETED));
        for (session, count) in (FIRST_WORKLOAD_SESSION..).zip(split(count, &[1; CONNECTIONS as usize])) {
            plan.push((session, count, [begin, end, completed]));
        }
    }
    let planned: u64 = plan.iter().map(|(session, count, _)| count * duration(*session)).sum();
    let mut exactly =
        Exactly { longer: YIELD_WAIT_MS.saturating_sub(planned), resource: YIELD_WAIT_MS - YIELD_SIGNAL_MS };
    for (session, count, stack) in plan {
        for (count, duration, signal) in exactly.runs(count, duration(session)) {
            push_wait(
                kinds,
                &session_values(session),
                key,
                stack,
                Rhythm::Load { share: count, phase: 0 },
                duration,
                signal,
            );
        }
    }
}

pub(super) fn add_backoffs(
    version: &'static VersionData,
    stacks: &mut StackTable,
    kinds: &mut Vec<EventKind>,
    random: &mut fastrand::Rng,
) {
    let bottom = stacks::batch_bottom(version);
    let index_statistics: Vec<String> = [
        "sqldk!XeSosPkg::spinlock_backoff::Publish+0x1a9",
        "sqldk!SpinlockBase::Sleep+0xb6",
        "sqlmin!Spinlock<203,1,0>::SpinToAcquireWithExponentialBackoff+0x151",
        "sqlmin!IndexUsageStats::Update+0x77",
    ]
    .iter()
    .chain(INDEX_SEEK.get(5..).unwrap_or_default())
    .map(|&frame| frame.to_owned())
    .collect();
    for (spinlock, [_, spins, _, backoffs]) in SPINLOCKS {
        let paths = match spinlock {
            "LOCK_HASH" => lock_hash_paths(version),
            "OPT_IDX_STATS" => vec![(index_statistics.clone(), 1)],
            _ => continue,
        };
        let key = maps::map(version, "spinlock_types").and_then(|map| map.key(spinlock)).unwrap_or_default();
        let weights = seeded_weights(paths.iter().map(|(_, weight)| *weight), random);
        for ((frames, _), count) in paths.iter().zip(split(backoffs / BACKOFFS_PER_EVENT, &weights)) {
            let stack = stacks.add(frames.iter().map(String::as_str).chain(bottom.iter().copied()));
            for (session, share) in (FIRST_WORKLOAD_SESSION..).zip(split(count, &[1; CONNECTIONS as usize])) {
                let mut values = vec![
                    ("type", number(key)),
                    ("spins", number(spins / backoffs.max(1))),
                    ("backoffs", number(BACKOFFS_PER_EVENT)),
                ];
                values.extend(session_values(session));
                kinds.push(EventKind {
                    event: "spinlock_backoff",
                    values,
                    stack,
                    rhythm: Rhythm::Load { share, phase: 0 },
                });
            }
        }
    }
}

/// The few latch waits: on buffers.
pub(super) fn add_latches(version: &'static VersionData, stacks: &mut StackTable, kinds: &mut Vec<EventKind>) {
    let bottom = stacks::batch_bottom(version);
    let below = ["sqlmin!BUF::AcquireLatch+0x62", "sqlmin!BPool::Get+0x2d3"];
    let suspended = ["sqlmin!LatchBase::Suspend+0x5a7", "sqlmin!LatchBase::AcquireInternal+0x415"];
    let mut stack = |top: &[&'static str]| {
        stacks.add(top.iter().chain(&suspended).chain(&below).chain(&INDEX_SEEK).chain(&bottom).copied())
    };
    let waited = "sqldk!EventInternal<SuspendQueueSLock>::Wait+0x1f2";
    let ended = stack(&["sqlmin!XeSqlPkg::latch_suspend_end::Publish+0x13c"]);
    let [begin, end, completed] = [stacks::WAIT_BEGIN, stacks::WAIT_END, stacks::WAIT_COMPLETED]
        .map(|top| stack(&[top.as_slice(), &[waited]].concat()));
    let class = maps::map(version, "latch_class").and_then(|map| map.key("BUF")).unwrap_or_default();
    let shared = maps::map(version, "latch_mode").and_then(|map| map.key("SH")).unwrap_or_default();
    let key = wait_key(version, "PAGELATCH_SH");
    for (session, share) in (FIRST_WORKLOAD_SESSION..).zip(split(BUFFER_LATCHES, &[1; CONNECTIONS as usize])) {
        let rhythm = Rhythm::Load { share, phase: 0 };
        let mut values = vec![("class", number(class)), ("mode", number(shared)), ("duration", number(1_000_u64))];
        values.extend(session_values(session));
        kinds.push(EventKind { event: "latch_suspend_end", values, stack: ended, rhythm });
        push_wait(kinds, &session_values(session), key, [begin, end, completed], rhythm, 1, 1);
    }
}
