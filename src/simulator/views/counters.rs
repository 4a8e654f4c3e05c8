//! Owns the rows of the cumulative statistics: waits, latches, spinlocks.

use crate::simulator::views::Source;
use crate::simulator::views::schema::Record;
use crate::simulator::workload::FIRST_WORKLOAD_SESSION;
use crate::simulator::workload::counters::Cumulative;

/// sys.dm_os_wait_stats.
pub fn wait_stats(source: Source<'_>) -> Vec<Record> {
    let since = source.since(source.state.cleared.waits);
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
    let since = source.since(source.state.cleared.latches);
    let rows = source.instance.truth().counters.latches.iter().map(|latch| {
        let wait_ms = since.plain(latch.wait_ms);
        Record::new()
            .with("latch_class", latch.name)
            .with("waiting_requests_count", since.plain(latch.requests))
            .with("wait_time_ms", wait_ms)
            .with("max_wait_time_ms", latch.max_ms.min(wait_ms))
    });
    rows.collect()
}

/// sys.dm_os_spinlock_stats.
pub fn spinlock_stats(source: Source<'_>) -> Vec<Record> {
    let since = source.since(source.state.cleared.spinlocks);
    let rows = source.instance.truth().counters.spinlocks.iter().map(|spinlock| {
        let (collisions, spins) = (since.plain(spinlock.collisions), since.plain(spinlock.spins));
        let each = if collisions == 0 { 0.0 } else { spins as f64 / collisions as f64 };
        Record::new()
            .with("name", spinlock.name)
            .with("collisions", collisions)
            .with("spins", spins)
            .with("spins_per_collision", each)
            .with("sleep_time", since.plain(spinlock.sleep_time))
            .with("backoffs", since.plain(spinlock.backoffs))
    });
    rows.collect()
}
