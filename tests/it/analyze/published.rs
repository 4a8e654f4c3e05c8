//! The published figures of files and logs: the printed differences go in, and the printed means come out.

use super::storage::{FileStat, by_hand, databases, file, file_stats, int, master_files, report, text};
use super::support::{Host, analyze, finding, spinlock_table, table};
use xestack::model::{Confidence, Mark, Report, Table, VerdictKind};

/// Database, durability, writes, bytes, bytes a write as printed (cut off after two decimals, not rounded), stall ms, seconds.
type LogRow = (&'static str, &'static str, i64, i64, &'static str, i64, u64);

/// 500,000 inserts of single rows.
const SMALL: [LogRow; 8] = [
    ("dd1", "FORCED", 8_068, 261_894_656, "32460.91", 6_232, 68),
    ("dd2", "FORCED", 8_072, 261_682_688, "32418.56", 2_740, 68),
    ("dd3", "FORCED", 8_246, 262_254_592, "31803.85", 3_996, 68),
    ("dd4", "FORCED", 8_055, 261_688_320, "32487.68", 4_231, 68),
    ("dd5", "DISABLED", 500_012, 526_448_640, "1052.87", 35_593, 120),
    ("dd6", "DISABLED", 500_014, 525_870_080, "1051.71", 35_435, 119),
    ("dd7", "DISABLED", 500_015, 526_120_448, "1052.20", 50_857, 134),
    ("dd8", "DISABLED", 500_017, 525_886_976, "1051.73", 49_680, 133),
];

/// 20,003 larger updates and deletes.
const LARGE: [LogRow; 8] = [
    ("dd1", "FORCED", 20_970, 1_271_911_936, "60653.88", 12_577, 145),
    ("dd2", "FORCED", 20_997, 1_272_145_408, "60587.00", 14_698, 145),
    ("dd3", "FORCED", 20_973, 1_272_982_016, "60696.22", 12_085, 142),
    ("dd4", "FORCED", 20_958, 1_272_064_512, "60695.89", 11_795, 143),
    ("dd5", "DISABLED", 30_138, 1_282_231_808, "42545.35", 7_402, 147),
    ("dd6", "DISABLED", 30_138, 1_282_260_992, "42546.31", 7_806, 150),
    ("dd7", "DISABLED", 30_129, 1_281_575_424, "42536.27", 9_888, 152),
    ("dd8", "DISABLED", 30_130, 1_281_449_472, "42530.68", 11_452, 150),
];

/// The evidence of one row, as a difference over what the counters held before.
fn log_report(row: LogRow, base: i64) -> Report {
    let (name, durability, writes, bytes, _, stall, seconds) = row;
    let stats = |factor: i64| {
        file_stats(&[(
            (5, 2),
            [0, 0, 0, base + writes * factor, base + bytes * factor, base + stall * factor, 1 << 30],
        )])
    };
    let tables = |factor: i64| {
        [
            ("dm_io_virtual_file_stats", stats(factor)),
            ("databases", databases(&[(name, 5, None, durability)])),
            ("master_files", master_files(&[(5, 2, "LOG", "log", false)])),
        ]
    };
    report(&by_hand(seconds * 1_000, &tables(0), &tables(1)))
}

#[test]
fn the_published_log_rows_to_the_last_digit() {
    for row in SMALL.into_iter().chain(LARGE) {
        // The counters grow by the same, whether they began at zero or have run for years.
        for base in [0, 1, 7_000_000_000_000_000_000] {
            let report = log_report(row, base);
            let (name, _, writes, bytes, per_write, stall, _) = row;
            let log = file(&report, name, "log");
            assert_eq!((log.writes, log.write_bytes, log.write_stall_ms), (writes as u64, bytes as u64, stall as u64));
            let hundredths = (log.bytes_per_write.unwrap() * 100.0).floor();
            assert_eq!(format!("{:.2}", hundredths / 100.0), per_write, "{name}");
            assert_eq!(log.write_latency_ms, Some(stall as f64 / writes as f64));
            assert_eq!((log.reads, log.read_latency_ms, log.bytes_per_read), (0, None, None));
            assert_eq!((log.kind.as_str(), log.mark), ("log", None));
        }
    }
    let latency = |row: LogRow| format!("{:.2}", file(&log_report(row, 0), row.0, "log").write_latency_ms.unwrap());
    assert_eq!([latency(SMALL[4]), latency(SMALL[0])], ["0.07", "0.77"]);
}

#[test]
fn only_the_durable_small_commits_are_bound_by_the_log() {
    for row in SMALL.into_iter().chain(LARGE) {
        let report = log_report(row, 0);
        let durable_and_small = row.1 == "DISABLED" && row.2 > 500_000;
        let expected = if durable_and_small { VerdictKind::LogWriteBound } else { VerdictKind::Inconclusive };
        assert_eq!(report.verdict.kind, expected, "{row:?}: {}", report.verdict.summary);
        assert_eq!(report.verdict.subject.as_deref(), durable_and_small.then_some(row.0));
        assert_eq!(report.verdict.confidence, Confidence::Low);
        if durable_and_small {
            assert!(report.verdict.summary.contains("Waits were not given."), "{}", report.verdict.summary);
            assert!(!report.verdict.next_steps[0].text.contains("durability"));
        }
        let state = if row.1 == "FORCED" { "forced" } else { "off" };
        assert_eq!(finding(&report, "delayed_durability").state, state);
    }
}

#[test]
fn all_published_databases_in_one_table_by_name_alone() {
    let columns = ["db", "file", "num_of_writes", "num_of_bytes_written", "io_stall_write_ms"];
    let rows = |factor: i64| -> Table {
        let row = |(name, _, writes, bytes, _, stall, _): LogRow| {
            let name_of_file = format!("{name}_log.ldf");
            let printed = (writes * factor).to_string();
            vec![text(name), text(&name_of_file), text(&printed), int(bytes * factor), int(stall * factor)]
        };
        table(&columns, SMALL.into_iter().map(row).collect())
    };
    let names = databases(&SMALL.map(|(name, durability, ..)| (name, name[2..].parse().unwrap(), None, durability)));
    let tables = |factor: i64| [("dm_io_virtual_file_stats", rows(factor)), ("databases", names.clone())];
    let report = report(&by_hand(134_000, &tables(1), &tables(2)));
    assert_eq!(report.files.len(), 8);
    let log = file(&report, "dd5", "dd5_log.ldf");
    assert_eq!((log.writes, log.write_stall_ms, log.kind.as_str()), (500_012, 35_593, "log"));
    // The busiest of the durable ones.
    assert_eq!((report.verdict.kind, report.verdict.subject.as_deref()), (VerdictKind::LogWriteBound, Some("dd7")));
}

/// Reads, bytes, ms, writes, bytes, ms of the data file of the article on file statistics: counts are this test's.
fn sales(before: [i64; 7], after: [i64; 7]) -> Report {
    let tables = |counters: [i64; 7]| {
        let row: FileStat = ((5, 1), counters);
        [
            ("dm_io_virtual_file_stats", file_stats(&[row])),
            ("databases", databases(&[("Sales", 5, None, "DISABLED")])),
            ("master_files", master_files(&[(5, 1, "ROWS", "Sales", false)])),
        ]
    };
    report(&by_hand(10_000, &tables(before), &tables(after)))
}

#[test]
fn reads_of_57_ms_are_slow_and_the_interval_places_writes_of_600() {
    // Normal load now; a rebuild at some time before made the cumulative mean of writes.
    let before = [100_000, 6_553_600_000, 900_000, 4_000, 1_048_576_000, 2_480_000, 1 << 30];
    let grown = [3_012, 197_394_432, 171_684, 500, 4_096_000, 1_000, 0];
    let after = std::array::from_fn(|i| before[i] + grown[i]);
    let report = sales(before, after);
    let row = file(&report, "Sales", "Sales");
    assert_eq!(row.read_latency_ms, Some(57.0));
    assert_eq!(row.write_latency_ms, Some(2.0));
    assert!(row.cumulative_write_latency_ms.unwrap() > 550.0);
    assert_eq!(
        (report.verdict.kind, report.verdict.subject.as_deref()),
        (VerdictKind::FileLatency, Some("Sales.Sales"))
    );
    assert_eq!(report.verdict.confidence, Confidence::Medium);
    let apart = finding(&report, "cumulative_differs");
    assert_eq!(apart.state, "differs");
    assert!(apart.text.contains("writes took 2.0 ms in this window"), "{}", apart.text);

    // By the cumulative figure alone over 600 ms a write, with large writes; the window itself is quiet.
    let before = [100_000, 6_553_600_000, 900_000, 4_000, 1_048_576_000, 2_480_000, 1 << 30];
    let mut after = before;
    after[3] += 200;
    after[4] += 200 * 8_192;
    after[5] += 400;
    let report = sales(before, after);
    let row = file(&report, "Sales", "Sales");
    assert_eq!(row.bytes_per_write, Some(8_192.0));
    assert!(row.cumulative_write_latency_ms.unwrap() > 590.0);
    assert_eq!(report.verdict.kind, VerdictKind::NoContention);
    assert!(finding(&report, "cumulative_differs").text.contains("since the counters began"));
}

#[test]
fn no_operation_gives_a_blank() {
    let report = sales([10, 80, 30, 0, 0, 0, 8], [110, 880, 3_030, 0, 0, 0, 8]);
    let row = file(&report, "Sales", "Sales");
    assert_eq!((row.read_latency_ms, row.write_latency_ms, row.bytes_per_write), (Some(30.0), None, None));
    assert_eq!((row.latency_ms, row.cumulative_write_latency_ms), (Some(30.0), None));
}

#[test]
fn a_spinlock_that_is_new_shows_its_own_spins_a_collision() {
    let host = Host::default();
    // XDESMGR and SOS_OBJECT_STORE come with the second snapshot: the view's own ratio stands, whatever the division says.
    let old = [("LOCK_HASH", [10, 20, 30, 40], 2.0), ("OPT_IDX_STATS", [5, 6, 7, 8], 1.2)];
    let new = [
        ("LOCK_HASH", [10 + 6_191_134, 20 + 4_005_774_890, 30 + 686, 40 + 1_601_383], 647.0),
        ("OPT_IDX_STATS", [5 + 1_164_849, 6 + 126_549_245, 7 + 57, 8 + 7_555], 108.0),
        ("SOS_OBJECT_STORE", [73, 305, 0, 0], 4.18),
        ("SOS_WAITABLE_ADDRESS_HASHBUCKET", [115, 44_495, 0, 3], 386.9),
        ("XDESMGR", [1, 0, 0, 0], 0.0),
    ];
    let report = analyze(&host.evidence(
        Vec::new(),
        &[("dm_os_spinlock_stats", spinlock_table(&old))],
        &[("dm_os_spinlock_stats", spinlock_table(&new))],
    ));
    let rows: Vec<_> =
        report.spinlocks.iter().map(|row| (row.name.as_str(), row.spins_per_collision, row.mark)).collect();
    assert_eq!(
        rows,
        [
            ("LOCK_HASH", 647, None),
            ("OPT_IDX_STATS", 108, None),
            ("SOS_WAITABLE_ADDRESS_HASHBUCKET", 386, Some(Mark::New)),
            ("SOS_OBJECT_STORE", 4, Some(Mark::New)),
            ("XDESMGR", 0, Some(Mark::New)),
        ]
    );
}
