//! Owns what every workload has in common: what the counters say before it, and the system's own waits.

use crate::simulator::maps;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::counters::{Counters, Cumulative, LatchCounter, SpinlockCounter, WaitCounter};
use crate::simulator::workload::kinds::{EventKind, FieldValue, Rhythm, WaitKind, number, push_wait};
use crate::simulator::workload::recipe::Spins;
use crate::simulator::workload::stacks::{self, StackTable};
use crate::simulator::workload::{UPTIME_HOURS, spinlocks, wait_types};

/// Wait type, waits, wait time, signal time in ms.
pub type WaitIncrement = (&'static str, u64, u64, u64);

/// Latch class, requests, wait time in ms.
pub type LatchIncrement = (&'static str, u64, u64);

/// What a load adds in one burst. What stands there more than once counts together.
#[derive(Debug, Clone, Copy)]
pub struct Increments<'a> {
    /// Waits.
    pub waits: &'a [WaitIncrement],
    /// Latches.
    pub latches: &'a [LatchIncrement],
    /// Spinlocks.
    pub spinlocks: &'a [Spins],
}

/// All counters of a version: what stood there before, the background, and the load.
pub fn counters(version: &VersionData, load: Increments<'_>) -> Counters {
    let waits = wait_types::of_version(version.version).map(|wait| {
        let more = |part: fn(&WaitIncrement) -> u64| {
            load.waits.iter().filter(|(name, ..)| *name == wait.name).map(part).sum::<u64>()
        };
        let (count, wait_ms, signal_ms) = (more(|more| more.1), more(|more| more.2), more(|more| more.3));
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
        let more = |part: fn(&LatchIncrement) -> u64| {
            load.latches.iter().filter(|(name, ..)| *name == class.name).map(part).sum::<u64>()
        };
        let (count, time) = (more(|more| more.1), more(|more| more.2));
        LatchCounter {
            name: class.name,
            requests: Cumulative::loaded(requests, count),
            wait_ms: Cumulative::loaded(wait_ms, time),
            max_ms,
        }
    });
    let spinlocks = spinlocks::of_version(version.version).map(|spinlock| {
        let [collisions, spins, sleep_time, backoffs] = spinlock.base;
        let more =
            |part: fn(&Spins) -> u64| load.spinlocks.iter().find(|more| more.spinlock == spinlock.name).map_or(0, part);
        SpinlockCounter {
            name: spinlock.name,
            collisions: Cumulative::loaded(collisions, more(|more| more.collisions)),
            spins: Cumulative::loaded(spins, more(|more| more.spins)),
            sleep_time: Cumulative::loaded(sleep_time, more(|more| more.sleep_time)),
            backoffs: Cumulative::loaded(backoffs, more(|more| more.backoffs)),
        }
    });
    Counters { waits: waits.collect(), latches: latches.collect(), spinlocks: spinlocks.collect() }
}

/// System tasks that wait all the time, whatever the load.
pub fn add_events(version: &'static VersionData, stacks: &mut StackTable, kinds: &mut Vec<EventKind>) {
    let bottom = stacks::task_bottom(version);
    let types = maps::map(version, "wait_types");
    let owner = |name: &str| match name {
        "LAZYWRITER_SLEEP" => "sqlmin!BPool::LazyWriter+0x2a7",
        "XE_TIMER_EVENT" => "sqldk!XE_TimerManager::Run+0x1b1",
        "LOGMGR_QUEUE" => "sqlmin!SQLServerLogMgr::LogWriter+0x4d2",
        "REQUEST_FOR_DEADLOCK_SEARCH" => "sqlmin!DeadlockMonitor::Search+0x10f",
        _ => "sqldk!WorkDispatcher::DequeueTask+0x3f4",
    };
    for (session, wait) in (2_u16..).zip(wait_types::of_version(version.version).filter(|wait| wait.per_hour > 0)) {
        let mut stack = |top: &[&'static str; 3]| {
            let under = [stacks::primitive(version), owner(wait.name)];
            stacks.add(top.iter().copied().chain(under).chain(bottom.iter().copied()))
        };
        let tops = [stacks::WAIT_BEGIN, stacks::WAIT_END, stacks::WAIT_COMPLETED];
        let stack = tops.map(|top| stack(&top));
        let key = types.as_ref().and_then(|map| map.key(wait.map_text)).map_or(0, u64::from);
        let common = [
            ("sqlserver.session_id", number(session)),
            ("sqlserver.database_id", number(1_u8)),
            ("sqlserver.is_system", number(1_u8)),
            ("sqlserver.query_hash", number(0_u8)),
            ("sqlserver.sql_text", FieldValue::Text(String::new())),
            ("sqlos.scheduler_id", number(session % 8)),
        ];
        let rhythm = Rhythm::PerHour(wait.per_hour);
        push_wait(
            kinds,
            version,
            &common,
            stack,
            &WaitKind { key, rhythm, duration: wait.each_ms, signal: 0, resource: None },
        );
    }
}
