//! File statistics: marks, names, kinds, odd tables, series, and what no table can break.

use super::storage::{
    FILE_COLUMNS, FileStat, by_hand, databases, file, file_stats, idle_host, int, master_files, of_scenario, report,
    text,
};
use super::support::{problem, table};
use proptest::prelude::*;
use std::time::Instant;
use xestack::model::{Evidence, FilePoint, Mark, Report, Severity, Snapshot, Table, UtcMicros, Value};

const VIEW: &str = "dm_io_virtual_file_stats";

fn names() -> [(&'static str, Table); 2] {
    [
        ("databases", databases(&[("Sales", 5, None, "DISABLED"), ("Sales_0600", 6, Some(5), "DISABLED")])),
        (
            "master_files",
            master_files(&[
                (5, 1, "ROWS", "Sales", false),
                (5, 2, "LOG", "Sales_log", false),
                (5, 3, "ROWS", "Sales", false),
                (6, 1, "ROWS", "Sales", true),
            ]),
        ),
    ]
}

fn reported(before: &[FileStat], after: &[FileStat]) -> Report {
    let with = |rows: &[FileStat]| [&names()[..], &[(VIEW, file_stats(rows))]].concat();
    report(&by_hand(10_000, &with(before), &with(after)))
}

#[test]
fn counters_are_differenced_by_file_and_named() {
    let report = reported(
        &[
            ((5, 1), [100, 1_000, 10, 7, 70, 700, 1_000]),
            ((5, 2), [1, 1, 1, 1, 1, 1, 500]),
            ((5, 3), [0; 7]),
            ((6, 1), [0; 7]),
            ((7, 2), [0; 7]),
        ],
        &[
            ((5, 1), [300, 3_000, 410, 7, 70, 700, 1_064]),
            ((5, 2), [1, 1, 1, 101, 6_001, 1_201, 400]),
            ((5, 3), [2, 16, 5, 0, 0, 0, 8]),
            ((6, 1), [0, 0, 0, 3, 24, 2, 65_536]),
            ((7, 2), [1, 8, 1, 0, 0, 0, 0]),
        ],
    );
    let shown: Vec<_> =
        report.files.iter().map(|row| (row.database.as_str(), row.file.as_str(), row.kind.as_str())).collect();
    assert_eq!(
        shown,
        [
            ("Sales", "Sales_log", "log"),
            ("Sales", "Sales", "data"),
            ("Sales", "Sales", "data"),
            ("Sales_0600", "Sales", "snapshot"),
            ("database 7", "file 2", "log"),
        ]
    );
    let data = &report.files[1];
    assert_eq!((data.database_id, data.file_id, data.reads, data.writes), (5, 1, 200, 0));
    assert_eq!((data.read_latency_ms, data.write_latency_ms, data.bytes_per_read), (Some(2.0), None, Some(10.0)));
    assert_eq!((data.growth_bytes, data.size_bytes), (Some(64), Some(1_064)));
    assert_eq!(data.cumulative_read_latency_ms, Some(410.0 / 300.0));
    assert_eq!(data.cumulative_write_latency_ms, Some(100.0));
    assert_eq!(report.files[0].growth_bytes, Some(-100));
    assert_eq!(report.files[2].file_id, 3);
    assert!(report.files.iter().all(|row| row.queued_read_ms.is_none()));
}

#[test]
fn what_came_went_was_reset_or_renamed_is_marked() {
    let stat = |id, n: i64| (id, [n, n * 10, n * 100, n, n * 10, n * 100, n]);
    let before_names = [
        ("databases", databases(&[("A", 5, None, ""), ("B", 6, None, ""), ("C", 7, None, ""), ("D", 8, None, "")])),
        ("master_files", master_files(&[(8, 1, "ROWS", "d_old", false)])),
    ];
    let after_names = [
        ("databases", databases(&[("A", 5, None, ""), ("Other", 6, None, ""), ("D", 8, None, ""), ("E", 9, None, "")])),
        ("master_files", master_files(&[(8, 1, "ROWS", "d_new", false)])),
    ];
    let before = [stat((5, 1), 50), stat((5, 2), 50), stat((6, 1), 5), stat((7, 1), 5), stat((8, 1), 5)];
    let after = [stat((5, 1), 20), stat((5, 2), 60), stat((6, 1), 9), stat((8, 1), 9), stat((9, 1), 4)];
    let report = report(&by_hand(
        10_000,
        &[&before_names[..], &[(VIEW, file_stats(&before))]].concat(),
        &[&after_names[..], &[(VIEW, file_stats(&after))]].concat(),
    ));
    let marks: Vec<_> = report.files.iter().map(|row| (row.database.as_str(), row.reads, row.mark)).collect();
    assert_eq!(
        marks,
        [
            ("A", 10, None),
            ("E", 4, Some(Mark::New)),
            ("A", 0, Some(Mark::Reset)),
            ("C", 0, Some(Mark::Missing)),
            ("D", 0, Some(Mark::Renamed)),
            ("Other", 0, Some(Mark::Renamed)),
        ]
    );
    let reset = problem(&report, "counters_reset").unwrap();
    assert_eq!(reset.severity, Severity::Partial);
    assert!(reset.message.contains("A.file 1") && reset.message.contains("offline"), "{}", reset.message);
    let changed = problem(&report, "files_changed").unwrap();
    for part in ["E.file 1 is new", "C.file 1 is gone", "Other.file 1 was B", "D.d_new was D.d_old"] {
        assert!(changed.message.contains(part), "{}", changed.message);
    }
    // A new file counts since it is there; what was renamed has no difference at all.
    assert_eq!(report.files[1].read_latency_ms, Some(100.0));
    assert!(report.files.iter().skip(2).all(|row| row.latency_ms.is_none()));
}

#[test]
fn after_a_restart_the_second_values_stand() {
    let host = xestack_host_restarted();
    let stats = |n: i64| [(VIEW, file_stats(&[((5, 1), [n, n, n, 0, 0, 0, 1]), ((5, 2), [0; 7])]))];
    let report = report(&of_scenario("file-latency", &host, Vec::new(), &stats(900), &stats(30)));
    assert_eq!(report.files.len(), 1);
    assert_eq!((report.files[0].reads, report.files[0].mark), (30, Some(Mark::Restarted)));
    assert!(problem(&report, "server_restarted").is_some() && problem(&report, "counters_reset").is_none());
}

fn xestack_host_restarted() -> super::support::Host {
    super::support::Host { start_ticks: (1_000, 505_000), ..idle_host() }
}

#[test]
fn without_two_readings_there_are_no_files() {
    let stats = [(VIEW, file_stats(&[((5, 1), [1; 7])]))];
    for (before, after) in [(&stats[..0], &stats[..]), (&stats[..], &stats[..0])] {
        let report = report(&by_hand(10_000, before, after));
        assert!(report.files.is_empty());
    }
    let report = report(&by_hand(10_000, &[(VIEW, table(&["x"], vec![]))], &stats));
    let missing = problem(&report, "columns_missing").unwrap();
    assert!(missing.message.contains("num_of_reads") && missing.severity == Severity::Partial);
}

#[test]
fn a_hand_made_table_may_lack_columns_and_hold_text_and_repeat_itself() {
    let columns = ["database_name", "logical_name", "type_desc", "num_of_writes", "num_of_bytes_written"];
    let row = |n: &str, bytes: Value| vec![text(" dd5 "), text("dd5_log"), text("LOG"), text(n), bytes];
    let before = table(&columns, vec![row("500,000", int(10))]);
    let after = table(&columns, vec![row("1,000,006", text("526,448,650")), row("6", int(0))]);
    let report = report(&by_hand(120_000, &[(VIEW, before)], &[(VIEW, after)]));
    let log = file(&report, "dd5", "dd5_log");
    assert_eq!((log.writes, log.write_bytes, log.kind.as_str()), (500_012, 526_448_640, "log"));
    assert_eq!((log.database_id, log.file_id), (0, 0));
    // Without the column, a mean is not known; it is not zero.
    assert_eq!((log.write_latency_ms, log.latency_ms), (None, None));
    assert!(problem(&report, "duplicate_rows").unwrap().message.contains("dd5.dd5_log"));
    let missing = problem(&report, "columns_missing").unwrap();
    assert!(missing.message.contains("io_stall_write_ms") && missing.severity == Severity::Warning);
}

#[test]
fn counters_at_the_end_of_their_range_hold() {
    let stats =
        |rows: Vec<[Value; 9]>| [(VIEW, table(&FILE_COLUMNS, rows.into_iter().map(|row| row.to_vec()).collect()))];
    let row = |id: i64, value: Value| {
        std::array::from_fn(|i| if i < 2 { int(if i == 0 { id } else { 1 }) } else { value.clone() })
    };
    let before =
        [row(1, int(0)), row(2, int(i64::MIN)), row(3, int(5)), row(4, Value::Null), row(5, int(0)), row(6, int(1))];
    let after = [
        row(1, int(i64::MAX)),
        row(2, int(i64::MAX)),
        row(3, int(-5)),
        row(4, int(9)),
        row(5, text("36893488147419103230")),
        row(6, text("many")),
    ];
    let report = report(&by_hand(10_000, &stats(before.to_vec()), &stats(after.to_vec())));
    let row = |database: &str| file(&report, database, "file 1");
    assert_eq!((row("database 1").reads, row("database 1").read_latency_ms), (i64::MAX as u64, Some(1.0)));
    assert_eq!((row("database 2").reads, row("database 2").mark), (0, Some(Mark::Reset)));
    assert_eq!((row("database 3").reads, row("database 3").mark), (0, Some(Mark::Reset)));
    assert_eq!((row("database 5").reads, row("database 5").mark), (u64::MAX, None));
    assert!(!report.files.iter().any(|row| ["database 4", "database 6"].contains(&row.database.as_str())));
    assert!(problem(&report, "count_overflow").is_some());
    let unreadable = problem(&report, "counters_unreadable").unwrap();
    assert!(unreadable.message.contains("database 4") && unreadable.message.contains("database 6"));
}

#[test]
fn queued_time_stands_apart() {
    let columns: Vec<&str> =
        FILE_COLUMNS.into_iter().chain(["io_stall_queued_read_ms", "io_stall_queued_write_ms"]).collect();
    let row =
        |n: i64| vec![int(5), int(1), int(n), int(n), int(n * 30), int(0), int(0), int(0), int(1), int(n * 25), int(0)];
    let stats = |n: i64| [(VIEW, table(&columns, vec![row(n)]))];
    let report = report(&by_hand(10_000, &stats(0), &stats(200)));
    let row = file(&report, "database 5", "file 1");
    assert_eq!((row.queued_read_ms, row.queued_write_ms, row.read_latency_ms), (Some(5_000), Some(0), Some(30.0)));
}

/// A series of snapshots, each at its second with reads and their ms of file 1.
fn with_series(mut evidence: Evidence, points: &[(i64, i64, i64)]) -> Evidence {
    evidence.series = points
        .iter()
        .map(|(second, reads, ms)| Snapshot {
            taken_at: UtcMicros(second * 1_000_000),
            tables: [(VIEW.to_owned(), file_stats(&[((5, 1), [*reads, reads * 8, *ms, 0, 0, 0, 1])]))].into(),
        })
        .collect();
    evidence
}

#[test]
fn a_series_has_the_means_of_each_interval_to_the_windows_end() {
    let stats = |reads: i64, ms: i64| [(VIEW, file_stats(&[((5, 1), [reads, reads * 8, ms, 0, 0, 0, 1])]))];
    let evidence = by_hand(10_000, &stats(1_000, 5_000), &stats(1_500, 25_000));
    let report = report(&with_series(evidence, &[(2, 1_100, 5_100), (4, 1_100, 5_100), (6, 1_300, 23_100)]));
    let point =
        |at_ms, reads, read_latency_ms| FilePoint { at_ms, reads, writes: 0, read_latency_ms, write_latency_ms: None };
    assert_eq!(
        report.files[0].series,
        [
            point(2_000, 100, Some(1.0)),
            point(4_000, 0, None),
            point(6_000, 200, Some(90.0)),
            point(10_000, 200, Some(9.5))
        ]
    );
    assert_eq!(report.files[0].reads, report.files[0].series.iter().map(|point| point.reads).sum::<u64>());
}

#[test]
fn a_series_that_ends_with_the_window_has_no_interval_more() {
    let stats = |reads: i64| [(VIEW, file_stats(&[((5, 1), [reads, 8, reads, 0, 0, 0, 1])]))];
    let report = report(&with_series(by_hand(10_000, &stats(0), &stats(9)), &[(5, 3, 3), (10, 9, 9)]));
    let points: Vec<_> = report.files[0].series.iter().map(|point| (point.at_ms, point.reads)).collect();
    assert_eq!(points, [(5_000, 3), (10_000, 6)]);
}

#[test]
fn a_counter_that_goes_down_within_a_series_gives_a_blank() {
    let stats = |reads: i64| [(VIEW, file_stats(&[((5, 1), [reads, reads * 8, reads, 0, 0, 0, 1])]))];
    let report = report(&with_series(by_hand(10_000, &stats(100), &stats(120)), &[(5, 3, 3)]));
    let points: Vec<_> = report.files[0].series.iter().map(|point| (point.reads, point.read_latency_ms)).collect();
    assert_eq!(points, [(0, None), (117, Some(1.0))]);
}

#[test]
fn many_files_of_many_databases_take_no_more_than_their_number() {
    let ids = || (1..=5_000_i64).flat_map(|database| (1..=4).map(move |file| (database, file)));
    let stats = |n: i64| {
        let rows: Vec<FileStat> = ids().map(|id| (id, [n * id.0, n, n, n, n, n, n])).collect();
        file_stats(&rows)
    };
    let db_names: Vec<String> = (1..=5_000).map(|id| format!("db{id}")).collect();
    let list: Vec<_> = db_names.iter().zip(1..).map(|(name, id)| (name.as_str(), id, None, "DISABLED")).collect();
    let files: Vec<_> = ids().map(|(database, file)| (database, file, "ROWS", "f", false)).collect();
    let tables = |n: i64| [(VIEW, stats(n)), ("databases", databases(&list)), ("master_files", master_files(&files))];
    let evidence = by_hand(10_000, &tables(1), &tables(2));
    let started = Instant::now();
    let report = report(&evidence);
    assert_eq!((report.files.len(), report.databases.len()), (20_000, 5_000));
    // Even an unoptimised build on a busy machine needs a second or two; rows searched for each row would take minutes.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-3..9_i64).prop_map(Value::Integer),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Real),
        "[0-9]{1,3}(,[0-9]{3}){0,9}".prop_map(Value::Text),
        "[A-Z_]{0,4}".prop_map(Value::Text),
        any::<String>().prop_map(Value::Text),
    ]
}

/// Columns that some view has, and one that none has.
const COLUMNS: [&str; 34] = [
    "database_id",
    "file_id",
    "num_of_reads",
    "num_of_bytes_read",
    "io_stall_read_ms",
    "num_of_writes",
    "num_of_bytes_written",
    "io_stall_write_ms",
    "size_on_disk_bytes",
    "io_stall_queued_read_ms",
    "db",
    "name",
    "type_desc",
    "is_sparse",
    "source_database_id",
    "delayed_durability_desc",
    "is_read_committed_snapshot_on",
    "snapshot_isolation_state",
    "counter_name",
    "instance_name",
    "cntr_value",
    "reserved_space_kb",
    "persistent_version_store_size_kb",
    "is_primary_replica",
    "secondary_role_allow_connections",
    "wait_type",
    "waiting_tasks_count",
    "wait_time_ms",
    "signal_wait_time_ms",
    "command",
    "io_pending",
    "requests",
    "session_id",
    "nothing",
];

const VIEWS: [&str; 12] = [
    VIEW,
    "databases",
    "master_files",
    "log_counters",
    "dm_os_performance_counters",
    "dm_os_wait_stats",
    "dm_tran_version_store_space_usage",
    "dm_tran_persistent_version_store_stats",
    "dm_hadr_database_replica_states",
    "dm_io_pending_io_requests",
    "dm_exec_requests",
    "dm_os_waiting_tasks",
];

fn any_table() -> impl Strategy<Value = Table> {
    proptest::sample::subsequence(COLUMNS.to_vec(), 0..=COLUMNS.len()).prop_flat_map(|columns| {
        let width = columns.len();
        // Rows may be too short, or too long.
        proptest::collection::vec(proptest::collection::vec(value(), 0..=width + 1), 0..6)
            .prop_map(move |rows| Table { columns: columns.iter().map(|&name| name.to_owned()).collect(), rows })
    })
}

fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    let tables = proptest::collection::btree_map(proptest::sample::select(VIEWS.to_vec()), any_table(), 0..VIEWS.len());
    (any::<i64>(), tables).prop_map(|(at, tables)| Snapshot {
        taken_at: UtcMicros(at),
        tables: tables.into_iter().map(|(name, table)| (name.to_owned(), table)).collect(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_tables_give_a_report_of_finite_figures(
        before in any_snapshot(),
        after in any_snapshot(),
        between in proptest::collection::vec(any_snapshot(), 0..3),
        elapsed in prop_oneof![Just(0), 1..20_000_u64, any::<u64>()],
        scenario in prop_oneof![Just("log-write"), Just("snapshot"), Just("file-latency"), Just("log-write+snapshot+file-latency"), Just("")],
    ) {
        let mut evidence = by_hand(1, &[], &[]);
        evidence.scenario = Some(scenario.to_owned()).filter(|name| !name.is_empty());
        evidence.window.as_mut().unwrap().elapsed_ms = elapsed;
        evidence.before = Some(before);
        evidence.after = Some(after);
        evidence.samples = between.clone();
        evidence.series = between;
        let report = report(&evidence);
        prop_assert!(!report.verdict.summary.is_empty());
    }
}
