//! Builders of tables of files, databases, logs, requests, and of evidence of them.

use super::support::{Host, analyze, session, table, wait_table};
use xestack::model::{
    EventContext, Evidence, FileRow, Report, ServerIdentity, ServerVersion, SessionEvidence, Snapshot, Stack, Table,
    UtcMicros, Value, Window,
};

pub(crate) fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

pub(crate) fn int(value: i64) -> Value {
    Value::Integer(value)
}

/// Counters of one file: (database_id, file_id), reads, bytes, ms, writes, bytes, ms, size.
pub(crate) type FileStat = ((i64, i64), [i64; 7]);

pub(crate) const FILE_COLUMNS: [&str; 9] = [
    "database_id",
    "file_id",
    "num_of_reads",
    "num_of_bytes_read",
    "io_stall_read_ms",
    "num_of_writes",
    "num_of_bytes_written",
    "io_stall_write_ms",
    "size_on_disk_bytes",
];

pub(crate) fn file_stats(rows: &[FileStat]) -> Table {
    let rows = rows.iter().map(|((database, file), counters)| {
        [int(*database), int(*file)].into_iter().chain(counters.map(int)).collect::<Vec<Value>>()
    });
    table(&FILE_COLUMNS, rows.collect())
}

/// database_id, file_id, type, name, sparse.
pub(crate) fn master_files(rows: &[(i64, i64, &str, &str, bool)]) -> Table {
    let rows = rows.iter().map(|(database, file, kind, name, sparse)| {
        vec![int(*database), int(*file), text(kind), text(name), Value::Bool(*sparse)]
    });
    table(&["database_id", "file_id", "type_desc", "name", "is_sparse"], rows.collect())
}

/// name, id, source of a snapshot, durability.
pub(crate) fn databases(rows: &[(&str, i64, Option<i64>, &str)]) -> Table {
    let rows = rows.iter().map(|(name, id, source, durability)| {
        vec![
            text(name),
            int(*id),
            source.map_or(Value::Null, int),
            text("ONLINE"),
            int(0),
            Value::Bool(false),
            text(durability),
            Value::Bool(false),
        ]
    });
    table(
        &[
            "name",
            "database_id",
            "source_database_id",
            "state_desc",
            "snapshot_isolation_state",
            "is_read_committed_snapshot_on",
            "delayed_durability_desc",
            "is_accelerated_database_recovery_on",
        ],
        rows.collect(),
    )
}

/// Transactions, flushes, bytes, flush waits and their ms of each database.
pub(crate) fn log_counters(rows: &[(&str, [i64; 5])]) -> Table {
    let names =
        ["Transactions/sec", "Log Flushes/sec", "Log Bytes Flushed/sec", "Log Flush Waits/sec", "Log Flush Wait Time"];
    let rows = rows.iter().flat_map(|(database, values)| {
        let one =
            |(name, value): (&str, &i64)| vec![text(&format!("{name}   ")), text(&format!("{database} ")), int(*value)];
        names.into_iter().zip(values).map(one).collect::<Vec<_>>()
    });
    table(&["counter_name", "instance_name", "cntr_value"], rows.collect())
}

pub(crate) fn requests(rows: &[(&str, i64)]) -> Table {
    let rows = rows.iter().map(|(command, database)| vec![int(51), text(command), int(*database), Value::Real(12.5)]);
    table(&["session_id", "command", "database_id", "percent_complete"], rows.collect())
}

/// (io_pending, requests, longest_ms).
pub(crate) fn pending(rows: &[(i64, i64, i64)]) -> Table {
    let rows = rows.iter().map(|(state, requests, longest)| vec![int(*state), int(*requests), int(*longest)]);
    table(&["io_pending", "requests", "longest_ms"], rows.collect())
}

pub(crate) fn waiting_tasks(rows: &[(i64, &str)]) -> Table {
    let rows = rows.iter().map(|(session, wait)| vec![int(*session), text(wait), int(1), Value::Null]);
    table(&["session_id", "wait_type", "wait_duration_ms", "resource_description"], rows.collect())
}

/// The same table in every sample.
pub(crate) fn in_samples(mut evidence: Evidence, name: &str, table: &Table) -> Evidence {
    for sample in &mut evidence.samples {
        sample.tables.insert(name.to_owned(), table.clone());
    }
    evidence
}

/// A machine with time to spare.
pub(crate) fn idle_host() -> Host {
    Host { cpu_percent: 20, runnable: [0; 8], ..Host::default() }
}

/// Evidence of a scenario.
pub(crate) fn of_scenario(
    scenario: &str,
    host: &Host,
    sessions: Vec<SessionEvidence>,
    before: &[(&str, Table)],
    after: &[(&str, Table)],
) -> Evidence {
    Evidence { scenario: Some(scenario.to_owned()), ..host.evidence(sessions, before, after) }
}

/// Two readings of tables and nothing else, as people write them down.
pub(crate) fn by_hand(elapsed_ms: u64, before: &[(&str, Table)], after: &[(&str, Table)]) -> Evidence {
    let snapshot = |at: u64, tables: &[(&str, Table)]| Snapshot {
        taken_at: UtcMicros(at as i64 * 1_000),
        tables: tables.iter().map(|(name, table)| ((*name).to_owned(), table.clone())).collect(),
    };
    Evidence {
        id: "offline".to_owned(),
        window: Some(Window { started_at: UtcMicros(0), ended_at: UtcMicros(elapsed_ms as i64 * 1_000), elapsed_ms }),
        before: Some(snapshot(0, before)),
        after: Some(snapshot(elapsed_ms, after)),
        ..Evidence::default()
    }
}

pub(crate) fn of_version(mut evidence: Evidence, version: ServerVersion) -> Evidence {
    evidence.server = Some(ServerIdentity { version: Some(version), ..ServerIdentity::default() });
    evidence
}

/// A session of waits of these types.
pub(crate) fn waits_session(scenario: &str, event: &str, wait_type: &str, slots: Vec<(u64, Stack)>) -> SessionEvidence {
    let context = EventContext { event: Some(event.to_owned()), wait_type: Some(wait_type.to_owned()) };
    SessionEvidence { scenario: Some(scenario.to_owned()), ..session(context, slots) }
}

pub(crate) fn file<'a>(report: &'a Report, database: &str, name: &str) -> &'a FileRow {
    report.files.iter().find(|row| row.database == database && row.file == name).unwrap()
}

pub(crate) fn gate(report: &Report, finding_name: &str, name: &str) -> (Option<f64>, bool) {
    let finding = report.findings.iter().find(|finding| finding.name == finding_name).unwrap();
    let gate = finding.gates.iter().find(|gate| gate.name == name).unwrap();
    (gate.value, gate.met)
}

/// Everything that a verdict says.
pub(crate) fn all_said(report: &Report) -> String {
    let verdict = &report.verdict;
    let reasons = verdict.reasons.iter().map(|reason| reason.text.as_str());
    let steps = verdict.next_steps.iter().map(|step| step.text.as_str());
    [verdict.summary.as_str()].into_iter().chain(reasons).chain(steps).collect::<Vec<_>>().join("\n")
}

/// Waits of a window: the figures are its growth.
pub(crate) fn with_waits(waits: &[(&str, i64, i64, i64)]) -> [(Table, Table); 1] {
    let before: Vec<_> = waits.iter().map(|(name, ..)| (*name, 5, 7, 1)).collect();
    let after: Vec<_> = waits.iter().map(|(name, n, ms, signal)| (*name, n + 5, ms + 7, signal + 1)).collect();
    [(wait_table(&before), wait_table(&after))]
}

pub(crate) fn report(evidence: &Evidence) -> Report {
    let report = analyze(evidence);
    assert_is_total(&report);
    report
}

/// No figure of a report is infinite or no number: JSON has neither, and would hold null.
pub(crate) fn assert_is_total(report: &Report) {
    for row in &report.files {
        let figures = [
            row.read_latency_ms,
            row.write_latency_ms,
            row.latency_ms,
            row.bytes_per_read,
            row.bytes_per_write,
            row.cumulative_read_latency_ms,
            row.cumulative_write_latency_ms,
        ];
        let points = row.series.iter().flat_map(|point| [point.read_latency_ms, point.write_latency_ms]);
        for figure in figures.into_iter().chain(points).flatten() {
            assert!(figure.is_finite() && figure >= 0.0, "{row:?}");
        }
    }
    for finding in &report.findings {
        let gates = finding.gates.iter().map(|gate| gate.value);
        for figure in [finding.value, finding.low, finding.high].into_iter().chain(gates).flatten() {
            assert!(figure.is_finite(), "{finding:?}");
        }
    }
    for share in report.verdict.shares.values() {
        assert!((0.0..=1.0).contains(&share.low) && (share.low..=1.0).contains(&share.high));
    }
    serde_json::to_string(report).unwrap();
}
