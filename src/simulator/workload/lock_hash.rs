//! Owns workload `lock-hash`: 50 connections count one row of one index over and over.
//!
//! The totals are the published figures of "SOS_SCHEDULER_YIELD waits and the LOCK_HASH spinlock": the five spinlock
//! rows as published, the waits a tenth of the published ones, which covered about 105 s. The first yield stack is the
//! published one; the others are of the same kind, with proportions that depend on the seed.

use crate::simulator::maps;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::counters::{
    Counters, Cumulative, LatchCounter, SpinlockCounter, Throughput, WaitCounter,
};
use crate::simulator::workload::kinds::{EventKind, FieldValue, Rhythm};
use crate::simulator::workload::stacks::{self, StackTable};
use crate::simulator::workload::{
    FIRST_WORKLOAD_SESSION, Truth, UPTIME_HOURS, WORKLOAD_DATABASE_ID, spinlocks, wait_types,
};

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

/// The published path, leaf first, down to CSQLSource::Execute.
const INDEX_SEEK: [&str; 14] = [
    "sqlmin!IndexPageManager::GetPageWithKey+0xef",
    "sqlmin!GetRowForKeyValue+0x146",
    "sqlmin!IndexRowScanner::EstablishInitialKeyOrderPosition+0x10a",
    "sqlmin!IndexDataSetSession::GetNextRowValuesInternal+0x7d7",
    "sqlmin!RowsetNewSS::FetchNextRow+0x12a",
    "sqlmin!CQScanRangeNew::GetRow+0x6a1",
    "sqlmin!CQScanCountStarNew::GetRowHelper+0x44",
    "sqlmin!CQScanStreamAggregateNew::Open+0x70",
    "sqlmin!CQueryScan::Uncache+0x32f",
    "sqllang!CXStmtQuery::SetupQueryScanAndExpression+0x2a2",
    "sqllang!CXStmtQuery::ErsqExecuteQuery+0x2f8",
    "sqllang!CMsqlExecContext::ExecuteStmts<1,1>+0xcca",
    "sqllang!CMsqlExecContext::FExecute+0x58b",
    "sqllang!CSQLSource::Execute+0x319",
];

const ROW_LOCK: [&str; 3] =
    ["sqlmin!GetLock+0x1ea", "sqlmin!BTreeRow::AcquireLock+0x2d1", "sqlmin!IndexRowScanner::AcquireNextRowLock+0x1e8"];

/// A path of the workload: its stack from below the event's frames, and its weight out of 1000 before the seed's say.
struct Path {
    frames: Vec<&'static str>,
    weight: u64,
}

fn path(own: &[&'static str], below: &[&'static str], weight: u64) -> Path {
    Path { frames: own.iter().chain(below).copied().collect(), weight }
}

/// Where the quantum ends. Two pairs differ in one return address only.
fn yield_paths() -> Vec<Path> {
    let seek = &INDEX_SEEK;
    let with_other_fetch: Vec<&str> = seek
        .iter()
        .map(|f| if f.contains("RowsetNewSS") { "sqlmin!RowsetNewSS::FetchNextRow+0x1e1" } else { f })
        .collect();
    let yielding = ["sqlmin!SOS_Task::Sleep+0x14d", "sqlmin!YieldAndCheckForAbort+0x5c"];
    let row_scan = [
        "sqlmin!IndexRowScanner::MoveToRowOnNextPage+0x9c",
        "sqlmin!IndexDataSetSession::GetNextRowValuesInternal+0x12a8",
    ];
    let row_scan_again = [
        "sqlmin!IndexRowScanner::MoveToRowOnNextPage+0xd1",
        "sqlmin!IndexDataSetSession::GetNextRowValuesInternal+0x12a8",
    ];
    let from_fetch = seek.get(4..).unwrap_or_default();
    let from_scan_open = seek.get(7..).unwrap_or_default();
    let from_statements = seek.get(11..).unwrap_or_default();
    let joined = |first: &[&'static str], second: &[&'static str]| [first, second].concat();
    vec![
        path(&[], seek, 630),
        path(&[], &with_other_fetch, 70),
        path(&joined(&yielding, &row_scan), from_fetch, 110),
        path(&joined(&yielding, &row_scan_again), from_fetch, 30),
        path(&joined(&yielding, &["sqlmin!CQScanCountStarNew::GetRowHelper+0x9b"]), from_scan_open, 100),
        path(
            &[
                "sqllang!SOS_Task::Sleep+0x14d",
                "sqllang!YieldAndCheckForAbort+0x5c",
                "sqllang!CStmtAssignWithQuery::XretExecute+0x71",
            ],
            from_statements,
            60,
        ),
    ]
}

/// Where back-offs on LOCK_HASH come from: taking and giving back the row lock.
fn lock_hash_paths(version: &VersionData) -> Vec<(Vec<String>, u64)> {
    let spin =
        format!("sqlmin!Spinlock<{},7,1>::SpinToAcquireWithExponentialBackoff+0x16b", version.lock_hash_template);
    let publish = ["sqldk!XeSosPkg::spinlock_backoff::Publish+0x1a9", "sqldk!SpinlockBase::Sleep+0xb6"];
    let backoff = "sqldk!SpinlockBase::Backoff+0x8f";
    let own = |with_backoff: bool, rest: &[&str]| -> Vec<String> {
        let mut frames: Vec<String> = publish.iter().map(|&f| f.to_owned()).collect();
        frames.extend(with_backoff.then(|| backoff.to_owned()));
        frames.push(spin.clone());
        frames.extend(rest.iter().chain(INDEX_SEEK.get(3..).unwrap_or_default()).map(|&f| f.to_owned()));
        frames
    };
    let acquire = [&["sqlmin!lck_lockInternal+0x7fa"][..], &ROW_LOCK].concat();
    let release = ["sqlmin!LockReference::Release+0x93", "sqlmin!BTreeRow::ReleaseLock+0x4e"];
    vec![(own(false, &acquire), 560), (own(false, &release), 380), (own(true, &acquire), 40), (own(true, &release), 20)]
}

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

/// What the workload does.
pub fn truth(version: &'static VersionData, seed: u64) -> Truth {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut stacks = StackTable::new(version, seed);
    let mut kinds = Vec::new();
    add_yields(version, &mut stacks, &mut kinds, &mut random);
    add_backoffs(version, &mut stacks, &mut kinds, &mut random);
    add_latches(version, &mut stacks, &mut kinds);
    add_background(version, &mut stacks, &mut kinds);
    // A kind's first event comes at another part of its interval than its neighbour's, so that together they are even.
    for (index, kind) in (0_u64..).zip(&mut kinds) {
        if let Rhythm::Load { phase, .. } = &mut kind.rhythm {
            *phase = index * 618 % 1_000;
        }
    }
    Truth {
        counters: counters(version),
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

fn number(value: impl Into<u64>) -> FieldValue {
    FieldValue::Number(value.into())
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

fn add_yields(
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
            push_wait(kinds, session, key, stack, Rhythm::Load { share: count, phase: 0 }, duration, signal);
        }
    }
}

/// The three events of a wait: wait_info at its begin and end, wait_completed at its end.
fn push_wait(
    kinds: &mut Vec<EventKind>,
    session: u16,
    key: u64,
    [begin, end, completed]: [usize; 3],
    rhythm: Rhythm,
    duration: u64,
    signal: u64,
) {
    let events = [
        ("wait_info", begin, 0, 0, vec![("opcode", number(0_u8))]),
        ("wait_info", end, duration, signal, vec![("opcode", number(1_u8))]),
        ("wait_completed", completed, duration, signal, vec![("wait_result", number(0_u8))]),
    ];
    for (event, stack, duration, signal, mut values) in events {
        values.extend([
            ("wait_type", number(key)),
            ("duration", number(duration)),
            ("signal_duration", number(signal)),
        ]);
        values.extend(session_values(session));
        kinds.push(EventKind { event, values, stack, rhythm });
    }
}

fn add_backoffs(
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
fn add_latches(version: &'static VersionData, stacks: &mut StackTable, kinds: &mut Vec<EventKind>) {
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
        push_wait(kinds, session, key, [begin, end, completed], rhythm, 1, 1);
    }
}

/// System tasks that wait all the time, whatever the load.
fn add_background(version: &'static VersionData, stacks: &mut StackTable, kinds: &mut Vec<EventKind>) {
    let bottom = stacks::task_bottom(version);
    let owner = |name: &str| match name {
        "LAZYWRITER_SLEEP" => "sqlmin!BPool::LazyWriter+0x2a7",
        "XE_TIMER_EVENT" => "sqldk!XE_TimerManager::Run+0x1b1",
        "LOGMGR_QUEUE" => "sqlmin!SQLServerLogMgr::LogWriter+0x4d2",
        "REQUEST_FOR_DEADLOCK_SEARCH" => "sqlmin!DeadlockMonitor::Search+0x10f",
        _ => "sqldk!WorkDispatcher::DequeueTask+0x3f4",
    };
    for (session, wait) in (2_u16..).zip(wait_types::of_version(version.version).filter(|wait| wait.per_hour > 0)) {
        let mut stack = |top: &[&'static str; 3]| {
            let wait_frame = "sqldk!EventInternal<SuspendQueueSLock>::Wait+0x1f2";
            stacks.add(top.iter().copied().chain([wait_frame, owner(wait.name)]).chain(bottom.iter().copied()))
        };
        let tops = [stacks::WAIT_BEGIN, stacks::WAIT_END, stacks::WAIT_COMPLETED];
        let stack = tops.map(|top| stack(&top));
        let key = wait_key(version, wait.map_text);
        let first = kinds.len();
        push_wait(kinds, session, key, stack, Rhythm::PerHour(wait.per_hour), wait.each_ms, 0);
        for kind in kinds.iter_mut().skip(first) {
            for (name, value) in &mut kind.values {
                match *name {
                    "sqlserver.is_system" | "sqlserver.database_id" => *value = number(1_u8),
                    "sqlserver.query_hash" => *value = number(0_u8),
                    "sqlserver.sql_text" => *value = FieldValue::Text(String::new()),
                    _ => {}
                }
            }
        }
    }
}

fn wait_key(version: &VersionData, map_text: &str) -> u64 {
    maps::map(version, "wait_types").and_then(|map| map.key(map_text)).map_or(0, u64::from)
}

fn counters(version: &VersionData) -> Counters {
    let waits = wait_types::of_version(version.version).map(|wait| {
        let (_, count, wait_ms, signal_ms) =
            WAITS.into_iter().find(|(name, ..)| *name == wait.name).unwrap_or((wait.name, 0, 0, 0));
        let base = wait.base + wait.per_hour * UPTIME_HOURS;
        let base_ms = base * wait.each_ms;
        let base_signal_ms = if wait.name == "SOS_SCHEDULER_YIELD" { base_ms - base_ms / 3_000 } else { base_ms / 50 };
        WaitCounter {
            name: wait.name,
            waits: Cumulative { base, load: count, per_hour: wait.per_hour },
            wait_ms: Cumulative { base: base_ms, load: wait_ms, per_hour: wait.per_hour * wait.each_ms },
            signal_ms: Cumulative {
                base: base_signal_ms,
                load: signal_ms,
                per_hour: wait.per_hour * wait.each_ms / 50,
            },
            max_ms: if base == 0 { 0 } else { wait.each_ms * 12 + 7 },
        }
    });
    let latches = spinlocks::latch_classes().iter().map(|class| {
        let [requests, wait_ms, max_ms] = class.base;
        let (count, time) = if class.name == "BUFFER" { (BUFFER_LATCHES, 412) } else { (0, 0) };
        LatchCounter {
            name: class.name,
            requests: Cumulative::loaded(requests, count),
            wait_ms: Cumulative::loaded(wait_ms, time),
            max_ms,
        }
    });
    let spinlocks = spinlocks::of_version(version.version).map(|spinlock| {
        let load = SPINLOCKS.into_iter().find(|(name, _)| *name == spinlock.name).map_or([0; 4], |(_, load)| load);
        let [collisions, spins, sleep_time, backoffs] = spinlock.base;
        let [more_collisions, more_spins, more_sleep_time, more_backoffs] = load;
        SpinlockCounter {
            name: spinlock.name,
            collisions: Cumulative::loaded(collisions, more_collisions),
            spins: Cumulative::loaded(spins, more_spins),
            sleep_time: Cumulative::loaded(sleep_time, more_sleep_time),
            backoffs: Cumulative::loaded(backoffs, more_backoffs),
        }
    });
    Counters { waits: waits.collect(), latches: latches.collect(), spinlocks: spinlocks.collect() }
}

#[cfg(test)]
mod tests {
    use super::{Rhythm, YIELD_SIGNAL_MS, YIELD_WAIT_MS, YIELDS, truth, wait_key};
    use crate::model::ServerVersion;
    use crate::simulator::versions::VersionData;
    use crate::simulator::workload::kinds::FieldValue;

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
        for version in [ServerVersion::V2017, ServerVersion::V2019, ServerVersion::V2022] {
            let version = VersionData::of(version).unwrap();
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
