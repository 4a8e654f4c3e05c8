//! Owns the rows about tasks that wait: the system's, and those of the workload while it is loaded.

use crate::simulator::seeded;
use crate::simulator::value::Datum;
use crate::simulator::views::Source;
use crate::simulator::views::schema::Record;
use crate::simulator::views::sessions::task_address;
use crate::simulator::workload::FIRST_WORKLOAD_SESSION;
use crate::simulator::workload::storage::Waiting;

/// Microseconds in which other sessions wait: the quantum.
const QUANTUM_MICROS: i64 = 4_000;

/// A session of the workload that waits now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    pub spid: u16,
    pub waits: Waiting,
    pub duration_ms: u64,
}

/// The sessions of the workload that wait now: of each wait the stated part, at least one, another's with each quantum.
pub(super) fn waiters(source: Source<'_>) -> Vec<Waiter> {
    let truth = source.instance.truth();
    if !source.is_loaded() {
        return Vec::new();
    }
    let quantum = (source.now.monotonic / QUANTUM_MICROS).to_string();
    let connections = truth.connections;
    let drawn = |spid: u16| seeded::hash(&[&quantum, &spid.to_string(), "waits"]);
    let mut sessions: Vec<(u64, u16)> =
        (0..connections).map(|index| FIRST_WORKLOAD_SESSION + index).map(|spid| (drawn(spid), spid)).collect();
    sessions.sort_unstable();
    let mut sessions = sessions.into_iter();
    let mut waiters = Vec::new();
    for waits in truth.storage.waiting.iter().filter(|waits| waits.percent > 0) {
        let share = (u64::from(connections) * u64::from(waits.percent) + 50) / 100;
        let taken = sessions.by_ref().take(usize::try_from(share.max(1)).unwrap_or(usize::MAX));
        waiters.extend(taken.map(|(drawn, spid)| Waiter { spid, waits: *waits, duration_ms: drawn % 8 }));
    }
    waiters
}

/// sys.dm_os_waiting_tasks. Yielding tasks are runnable, not suspended, and do not show here.
pub fn waiting_tasks(source: Source<'_>) -> Vec<Record> {
    let waits =
        ["XE_TIMER_EVENT", "LAZYWRITER_SLEEP", "LOGMGR_QUEUE", "REQUEST_FOR_DEADLOCK_SEARCH", "CHECKPOINT_QUEUE"];
    let task = |spid: u16, wait: &'static str| {
        Record::new()
            .with("waiting_task_address", task_address(spid))
            .with("session_id", i32::from(spid))
            .with("exec_context_id", 0)
            .with("wait_type", wait)
    };
    let idle_ms = source.now.monotonic.rem_euclid(5_000_000) / 1_000;
    let system = (2_u16..).zip(waits).map(|(spid, wait)| task(spid, wait).with("wait_duration_ms", idle_ms));
    let workload = waiters(source).into_iter().map(|waiter| {
        task(waiter.spid, waiter.waits.wait_type)
            .with("wait_duration_ms", waiter.duration_ms)
            .with("resource_description", resource(waiter))
    });
    system.chain(workload).collect()
}

fn resource(waiter: Waiter) -> Datum {
    let resource = waiter.waits.resource;
    if resource.is_empty() { Datum::Null } else { Datum::Text(resource.to_owned()) }
}
