//! Owns the rows of the cumulative statistics: waits, latches, spinlocks, performance counters.

use crate::simulator::views::Source;
use crate::simulator::views::schema::Record;
use crate::simulator::workload::FIRST_WORKLOAD_SESSION;
use crate::simulator::workload::counters::{Cumulative, Reading};

/// Values now, less what they were when the statistics were cleared.
#[derive(Clone, Copy)]
struct SinceClear {
    now: Reading,
    cleared: Option<Reading>,
}

impl SinceClear {
    fn value(self, counter: Cumulative) -> u64 {
        counter.at(self.now).saturating_sub(self.cleared.map_or(0, |cleared| counter.at(cleared)))
    }
}

/// sys.dm_os_wait_stats.
pub fn wait_stats(source: Source<'_>) -> Vec<Record> {
    let since = SinceClear { now: source.reading(), cleared: source.state.cleared.waits };
    let rows = source.instance.truth().counters.waits.iter().map(|wait| {
        let wait_ms = since.value(wait.wait_ms);
        Record::new()
            .with("wait_type", wait.name)
            .with("waiting_tasks_count", since.value(wait.waits))
            .with("wait_time_ms", wait_ms)
            .with("max_wait_time_ms", wait.max_ms.min(wait_ms))
            .with("signal_wait_time_ms", since.value(wait.signal_ms).min(wait_ms))
    });
    rows.collect()
}

/// sys.dm_exec_session_wait_stats: what the load adds, in equal parts for the workload's sessions. Assumed: clients'
/// sessions have not waited.
pub fn session_wait_stats(source: Source<'_>) -> Vec<Record> {
    let truth = source.instance.truth();
    let sessions = FIRST_WORKLOAD_SESSION..FIRST_WORKLOAD_SESSION.saturating_add(truth.connections);
    let mut rows = Vec::new();
    for spid in sessions.filter(|spid| source.sees_state() || *spid == source.session.spid) {
        for wait in truth.counters.waits.iter().filter(|wait| wait.waits.load > 0) {
            let part = |counter: Cumulative| {
                source.counted(Cumulative::loaded(0, counter.load)) / u64::from(truth.connections.max(1))
            };
            if part(wait.waits) == 0 {
                continue;
            }
            rows.push(
                Record::new()
                    .with("session_id", i32::from(spid))
                    .with("wait_type", wait.name)
                    .with("waiting_tasks_count", part(wait.waits))
                    .with("wait_time_ms", part(wait.wait_ms))
                    .with("max_wait_time_ms", wait.max_ms.min(part(wait.wait_ms)))
                    .with("signal_wait_time_ms", part(wait.signal_ms)),
            );
        }
    }
    rows
}

/// sys.dm_os_latch_stats.
pub fn latch_stats(source: Source<'_>) -> Vec<Record> {
    let since = SinceClear { now: source.reading(), cleared: source.state.cleared.latches };
    let rows = source.instance.truth().counters.latches.iter().map(|latch| {
        let wait_ms = since.value(latch.wait_ms);
        Record::new()
            .with("latch_class", latch.name)
            .with("waiting_requests_count", since.value(latch.requests))
            .with("wait_time_ms", wait_ms)
            .with("max_wait_time_ms", latch.max_ms.min(wait_ms))
    });
    rows.collect()
}

/// sys.dm_os_spinlock_stats.
pub fn spinlock_stats(source: Source<'_>) -> Vec<Record> {
    let since = SinceClear { now: source.reading(), cleared: source.state.cleared.spinlocks };
    let rows = source.instance.truth().counters.spinlocks.iter().map(|spinlock| {
        let (collisions, spins) = (since.value(spinlock.collisions), since.value(spinlock.spins));
        let each = if collisions == 0 { 0.0 } else { spins as f64 / collisions as f64 };
        Record::new()
            .with("name", spinlock.name)
            .with("collisions", collisions)
            .with("spins", spins)
            .with("spins_per_collision", each)
            .with("sleep_time", since.value(spinlock.sleep_time))
            .with("backoffs", since.value(spinlock.backoffs))
    });
    rows.collect()
}

/// Counter types: a cumulative rate, and a plain value.
const RATE: i32 = 272_696_576;
const PLAIN: i32 = 65_792;

/// sys.dm_os_performance_counters: a selection. Rates are cumulative.
pub fn performance_counters(source: Source<'_>) -> Vec<Record> {
    let truth = source.instance.truth();
    let connections = u64::from(truth.connections) + source.state.sessions.len() as u64;
    let batches = source.counted(truth.throughput.batches);
    let lock_requests = source.counted(truth.throughput.lock_requests);
    let rows = [
        ("SQLServer:SQL Statistics", "Batch Requests/sec", "", batches, RATE),
        ("SQLServer:SQL Statistics", "SQL Compilations/sec", "", batches / 40, RATE),
        ("SQLServer:SQL Statistics", "SQL Re-Compilations/sec", "", batches / 4_000, RATE),
        ("SQLServer:Locks", "Lock Requests/sec", "Object", lock_requests, RATE),
        ("SQLServer:Locks", "Lock Requests/sec", "Page", lock_requests, RATE),
        ("SQLServer:Locks", "Lock Requests/sec", "_Total", lock_requests * 2, RATE),
        ("SQLServer:Locks", "Number of Deadlocks/sec", "_Total", 0, RATE),
        ("SQLServer:Access Methods", "Index Searches/sec", "", lock_requests, RATE),
        ("SQLServer:Access Methods", "Full Scans/sec", "", batches / 9, RATE),
        ("SQLServer:Databases", "Transactions/sec", "_Total", batches / 2, RATE),
        ("SQLServer:Databases", "Log Flushes/sec", "_Total", batches / 3, RATE),
        ("SQLServer:General Statistics", "User Connections", "", connections, PLAIN),
        ("SQLServer:General Statistics", "Processes blocked", "", 0, PLAIN),
        ("SQLServer:Buffer Manager", "Page life expectancy", "", 21_400, PLAIN),
        ("SQLServer:Buffer Manager", "Lazy writes/sec", "", 1_204, RATE),
        ("SQLServer:Memory Manager", "Memory Grants Pending", "", 0, PLAIN),
        ("SQLServer:Memory Manager", "Total Server Memory (KB)", "", 12_582_912, PLAIN),
    ];
    rows.into_iter()
        .map(|(object, counter, instance, value, kind)| {
            Record::new()
                .with("object_name", padded(object))
                .with("counter_name", padded(counter))
                .with("instance_name", padded(instance))
                .with("cntr_value", value)
                .with("cntr_type", kind)
        })
        .collect()
}

/// As nchar(128) holds it.
fn padded(text: &str) -> String {
    format!("{text:<128}")
}
