//! Owns the rows of the performance counters.

use crate::simulator::databases::LogCounters;
use crate::simulator::views::schema::Record;
use crate::simulator::views::{Source, storage};
use crate::simulator::workload::counters::Cumulative;

/// Counter types: a cumulative rate, and a plain value.
const RATE: i32 = 272_696_576;
const PLAIN: i32 = 65_792;

/// Object, counter, instance, value, type.
type Counter<'a> = (&'static str, &'static str, &'a str, u64, i32);

/// Name, where it is, type.
type LogCounter = (&'static str, fn(&LogCounters) -> Cumulative, i32);

/// What the log of each database counts. The wait time is a plain value (documented), cumulative like the others.
const OF_LOG: [LogCounter; 5] = [
    ("Transactions/sec", |log| log.transactions, RATE),
    ("Log Flushes/sec", |log| log.flushes, RATE),
    ("Log Bytes Flushed/sec", |log| log.bytes_flushed, RATE),
    ("Log Flush Waits/sec", |log| log.flush_waits, RATE),
    ("Log Flush Wait Time", |log| log.flush_wait_ms, PLAIN),
];

/// sys.dm_os_performance_counters: a selection. Rates are cumulative.
pub fn performance_counters(source: Source<'_>) -> Vec<Record> {
    let mut rows: Vec<Record> =
        of_server(source).map(record).into_iter().chain(of_versions(source).map(record)).collect();
    let since = source.since_start();
    for (name, counter, kind) in OF_LOG {
        let mut total = 0_u64;
        for shown in source.databases() {
            let value = since.plain(counter(&shown.database.log));
            total = total.saturating_add(value);
            rows.push(record(("SQLServer:Databases", name, shown.name, value, kind)));
        }
        rows.push(record(("SQLServer:Databases", name, "_Total", total, kind)));
    }
    rows
}

fn of_server(source: Source<'_>) -> [Counter<'static>; 15] {
    let truth = source.instance.truth();
    let since = source.since_start();
    let connections = u64::from(truth.connections) + source.state.sessions.len() as u64;
    let batches = since.plain(truth.throughput.batches);
    let locks = truth.throughput.lock_requests;
    let lock_requests = since.plain(locks);
    let searches = truth.storage.index_searches.map_or(locks, |load| Cumulative { load, ..locks });
    [
        ("SQLServer:SQL Statistics", "Batch Requests/sec", "", batches, RATE),
        ("SQLServer:SQL Statistics", "SQL Compilations/sec", "", batches / 40, RATE),
        ("SQLServer:SQL Statistics", "SQL Re-Compilations/sec", "", batches / 4_000, RATE),
        ("SQLServer:Locks", "Lock Requests/sec", "Object", lock_requests, RATE),
        ("SQLServer:Locks", "Lock Requests/sec", "Page", lock_requests, RATE),
        ("SQLServer:Locks", "Lock Requests/sec", "_Total", lock_requests.saturating_mul(2), RATE),
        ("SQLServer:Locks", "Number of Deadlocks/sec", "_Total", 0, RATE),
        ("SQLServer:Access Methods", "Index Searches/sec", "", since.plain(searches), RATE),
        ("SQLServer:Access Methods", "Full Scans/sec", "", batches / 9, RATE),
        ("SQLServer:General Statistics", "User Connections", "", connections, PLAIN),
        ("SQLServer:General Statistics", "Processes blocked", "", 0, PLAIN),
        ("SQLServer:Buffer Manager", "Page life expectancy", "", 21_400, PLAIN),
        ("SQLServer:Buffer Manager", "Lazy writes/sec", "", 1_204, RATE),
        ("SQLServer:Memory Manager", "Memory Grants Pending", "", 0, PLAIN),
        ("SQLServer:Memory Manager", "Total Server Memory (KB)", "", 12_582_912, PLAIN),
    ]
}

/// Row versions in tempdb. Assumed: the two rates are cumulative, as those per second are.
fn of_versions(source: Source<'_>) -> [Counter<'static>; 3] {
    let since = source.since_start();
    let versions = source.instance.truth().storage.versions;
    let counter = |load: u64| since.plain(Cumulative::loaded(load.saturating_mul(400), load));
    let size: u64 = storage::in_tempdb(source).into_iter().map(|(_, kb)| kb).sum();
    [
        ("SQLServer:Transactions", "Version Generation rate (KB/s)", "", counter(versions.generated_kb), RATE),
        ("SQLServer:Transactions", "Version Cleanup rate (KB/s)", "", counter(versions.cleaned_kb), RATE),
        ("SQLServer:Transactions", "Version Store Size (KB)", "", size, PLAIN),
    ]
}

fn record((object, counter, instance, value, kind): Counter<'_>) -> Record {
    Record::new()
        .with("object_name", padded(object))
        .with("counter_name", padded(counter))
        .with("instance_name", padded(instance))
        .with("cntr_value", value)
        .with("cntr_type", kind)
}

/// As nchar(128) holds it.
fn padded(text: &str) -> String {
    format!("{text:<128}")
}
