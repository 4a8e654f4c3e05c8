//! How the rows of files, databases, pages and statements, and the answers to further questions, read.

use super::{cases, further_cases as further, plain};
use serde_json::Value;
use xestack::{
    model::{DatabaseRow, FileRow, Mark, PageRow, QueryRow, Report},
    report::{Style, json, text},
};

fn narrow(report: &Report) -> String {
    text::render(report, &Style { width: 60, colour: false })
}

/// The paragraph of counters that starts with a title.
fn table(report: &Report, title: &str) -> String {
    let text = plain(report);
    let from = text.find(title).unwrap_or_else(|| panic!("{title} in {text}"));
    text[from..].split("\n\n").next().unwrap().to_owned()
}

fn with_files(files: Vec<FileRow>) -> Report {
    let mut report = further::file_latency();
    report.files = files;
    report
}

fn data_file(n: i64, stall_ms: u64) -> FileRow {
    further::file(("Sales", 5), (&format!("Sales_{n}"), n, "data"), (100, 819_200, stall_ms), (0, 0, 0))
}

#[test]
fn each_scenario_reads_as_it_should() {
    for (name, report) in [
        ("latch", further::latch()),
        ("page_latch", further::page_latch()),
        ("log_write", further::log_write()),
        ("snapshot", further::snapshot()),
        ("file_latency", further::file_latency()),
        ("joined", further::joined()),
    ] {
        insta::assert_snapshot!(format!("{name}_text"), plain(&report));
        insta::assert_snapshot!(format!("{name}_narrow"), narrow(&report));
    }
}

#[test]
fn what_no_operation_took_is_blank() {
    let text = table(&with_files(vec![data_file(1, 700)]), "Files of the window");
    assert!(text.contains("  writes      0     -  1.27     -      0     0 %\n"), "{text}");
    assert!(!text.contains("NaN"));
}

#[test]
fn what_is_not_a_number_is_blank() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut report = further::file_latency();
        for file in &mut report.files {
            for figure in [
                &mut file.read_latency_ms,
                &mut file.write_latency_ms,
                &mut file.bytes_per_read,
                &mut file.cumulative_write_latency_ms,
            ] {
                *figure = Some(odd);
            }
            for point in &mut file.series {
                (point.read_latency_ms, point.write_latency_ms) = (Some(odd), Some(odd));
            }
        }
        report.pages = vec![PageRow { share: odd, ..PageRow::default() }];
        let text = plain(&report);
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
    }
}

#[test]
fn files_are_shown_until_most_time_is_told_and_the_rest_is_summed_up() {
    let files: Vec<FileRow> = (1..=20).map(|n| data_file(n, if n <= 5 { 1_900 } else { 33 })).collect();
    let text = table(&with_files(files), "Files of the window");
    assert!(text.contains("Sales: Sales_5 (data)"), "{text}");
    assert!(!text.contains("Sales_6"), "{text}");
    assert!(text.contains("  and 15 more: 495 ms in I/O, 5 %\n"), "{text}");
    let even: Vec<FileRow> = (1..=12).map(|n| data_file(n, 100)).collect();
    assert!(table(&with_files(even), "Files of the window").contains("  and 2 more: 200 ms in I/O, 16.7 %\n"));
}

#[test]
fn files_that_would_read_alike_are_told_apart_by_their_ids() {
    let long = |n: i64| FileRow { file: format!("{}{n}{}", "a".repeat(60), "b".repeat(60)), ..data_file(n, 10) };
    let text = table(&with_files(vec![long(1), long(2), data_file(3, 10)]), "Files of the window");
    assert!(text.contains("(data, database 5, file 1)\n"), "{text}");
    assert!(text.contains("(data, database 5, file 2)\n"), "{text}");
    assert!(text.contains("Sales: Sales_3 (data)\n"), "{text}");
}

#[test]
fn long_series_are_merged_evenly_and_their_peaks_told() {
    let mut report = further::file_latency();
    let text = plain(&report);
    let course = text.split("Orders: Orders_archive (data)\n").nth(2).unwrap().split("\n\n").next().unwrap();
    // Two heads, ten lines of three intervals, two lines about the merging.
    assert_eq!(course.lines().count(), 14, "{course}");
    // (401 + 444 + 512) / 3
    assert!(course.contains("     1.5 s    750  58.0     360  452.3\n"), "{course}");
    // The fourth interval has no reads: the mean of 61 and 62 is over two intervals.
    assert!(course.contains("     3.0 s    500  61.5     360  537.0\n"), "{course}");
    assert!(course.contains("1,950 ms until 14.5 s"), "{course}");
    let series = report.files[0].series.clone();
    report.files = (1..=5).map(|n| FileRow { series: series.clone(), ..data_file(n, 100) }).collect();
    assert!(plain(&report).contains("  The course of 2 more is in the JSON report.\n"));
}

#[test]
fn short_waits_keep_what_matters_of_their_mean() {
    let mut report = further::log_write();
    report.waits = vec![
        cases::wait("WRITELOG", 500_012, 35_593, 0, 35_593),
        cases::wait("LOGBUFFER", 0, 0, 0, 1),
        cases::wait("HADR_SYNC_COMMIT", 10, 10, 0, 1),
    ];
    let text = table(&report, "Waits of the window");
    let means: Vec<&str> = text.lines().skip(3).map(|line| line.split_whitespace().nth(5).unwrap()).collect();
    assert_eq!(means, ["0.07", "-", "1.0"], "{text}");
}

#[test]
fn idle_waits_are_left_out_and_counted() {
    let mut report = further::log_write();
    let idle = |name: &str| xestack::model::WaitRow { share: 0.0, ..cases::wait(name, 20, 1_000_000, 0, 1) };
    report.waits.extend([idle("SLEEP_TASK"), idle("DIRTY_PAGE_POLL")]);
    let text = table(&report, "Waits of the window");
    assert!(text.ends_with("  2 idle wait types left out: 2,000,000 ms") && !text.contains("SLEEP_TASK"), "{text}");
    report.waits = vec![idle("SLEEP_TASK")];
    let text = plain(&report);
    assert!(text.contains("  Nothing but idle waits in the window\n  1 idle wait type left out: 1,000,000 ms\n"));
}

#[test]
fn page_latches_are_told_apart_from_others() {
    let mut report = further::latch();
    assert!(plain(&report).contains("LATCH waits, have 79,990 ms."));
    report.latches.remove(1);
    assert!(!plain(&report).contains("PAGEIOLATCH"));
}

#[test]
fn marks_are_told_beside_the_names() {
    for (mark, told) in [
        (Mark::New, "new"),
        (Mark::Reset, "reset"),
        (Mark::Restarted, "since restart"),
        (Mark::Missing, "gone"),
        (Mark::Renamed, "renamed"),
    ] {
        let file = FileRow { mark: Some(mark), reads: 0, read_stall_ms: 0, ..data_file(1, 0) };
        let mut report = with_files(vec![file]);
        report.databases =
            vec![DatabaseRow { database: "Sales".to_owned(), mark: Some(mark), ..DatabaseRow::default() }];
        let files = table(&report, "Files of the window");
        assert!(files.contains(&format!("Sales: Sales_1 (data, {told})")) && !files.contains("reads"), "{files}");
        assert!(table(&report, "Databases of the window").contains(&format!("Sales ({told})")));
    }
    let mut report = further::latch();
    report.waits[2].mark = Some(Mark::New);
    assert!(plain(&report).contains("VERSIONING_NEW_WAIT (uncategorised, new)"));
}

#[test]
fn databases_that_show_nothing_are_counted_only() {
    let quiet = DatabaseRow { database: "Quiet".to_owned(), transactions: Some(0), ..DatabaseRow::default() };
    let mut report = further::log_write();
    report.databases.extend([quiet.clone(), quiet.clone()]);
    let text = table(&report, "Databases of the window");
    assert!(text.contains("  3 other databases show nothing to tell"), "{text}");
    report.databases = vec![quiet];
    assert!(!plain(&report).contains("Databases of the window"));
}

#[test]
fn without_a_window_there_are_amounts_and_no_rates() {
    let mut report = further::log_write();
    assert!(table(&report, "Databases of the window").contains("flushes/s"));
    report.capture.window = None;
    let text = table(&report, "Databases of the window");
    assert!(text.contains("41,702") && !text.contains("/s"), "{text}");
    report.capture.window =
        cases::cpu_bound_yields().capture.window.map(|window| xestack::model::Window { elapsed_ms: 0, ..window });
    assert!(!table(&report, "Databases of the window").contains("/s"));
}

#[test]
fn a_statement_shows_its_beginning_and_no_more() {
    let mut report = further::joined();
    let statement = |text: &str| QueryRow { statement: Some(text.to_owned()), ..QueryRow::default() };
    report.queries = vec![
        statement("\r\n\tSELECT  1\r\n\x1b[2J FROM t\u{202e}\r\nWHERE x = 1"),
        statement(&"SELECT a_long_list, ".repeat(100_000)),
    ];
    let text = table(&report, "Statements that");
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(lines.get(1..3), Some(&["    SELECT 1", "    \\u{1b}[2J FROM t\\u{202e} ..."][..]), "{text}");
    let long = lines[4];
    assert!(long.starts_with("    SELECT a_long_list, SELECT") && long.ends_with("..."), "{text}");
    assert_eq!(lines.len(), 5, "{text}");
}

#[test]
fn a_hostile_name_steers_nothing_in_any_table() {
    let hostile = format!("\x1b]0;owned\x07\u{202e}\r\nVerdict\n{}", "x".repeat(10_000));
    let mut report = further::file_latency();
    report.files[0].database = hostile.clone();
    report.files[0].file = hostile.clone();
    report.files[0].kind = hostile.clone();
    report.databases = vec![DatabaseRow {
        database: hostile.clone(),
        snapshot_of: Some(hostile.clone()),
        delayed_durability: Some(hostile.clone()),
        ..DatabaseRow::default()
    }];
    report.pages = vec![PageRow {
        database: hostile.clone(),
        page_type: hostile.clone(),
        basis: hostile.clone(),
        ..PageRow::default()
    }];
    report.queries = vec![QueryRow { query_hash: hostile.clone(), statement: Some(hostile), ..QueryRow::default() }];
    let text = plain(&report);
    assert_eq!(text.chars().find(|c| c.is_control() && *c != '\n'), None);
    assert_eq!(text.lines().filter(|line| *line == "Verdict").count(), 1);
    assert!(text.lines().count() < 250, "{}", text.lines().count());
}

#[test]
fn a_next_step_is_told_once() {
    let text = plain(&further::joined());
    assert_eq!(text.matches("Consider read committed snapshot isolation").count(), 1);
    assert_eq!(text.matches("Also asked: spinlock").count(), 3);
}

#[test]
fn rows_have_their_keys_in_json() {
    let value = |report: &Report| serde_json::from_str::<Value>(&json::render(report)).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let empty = value(&cases::offline_empty());
    assert_eq!((&empty["files"], &empty["databases"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    let mut report = further::joined();
    report.pages = further::page_latch().pages;
    let joined = value(&report);
    assert_eq!(keys(&joined)[3..5], ["verdict", "further"]);
    assert_eq!(keys(&joined)[10..], ["files", "databases", "pages", "queries"]);
    assert_eq!(keys(&joined["further"][0]), ["scenario", "verdict"]);
    let wait = value(&further::latch())["waits"][2].clone();
    assert_eq!(wait["category"], Value::Null);
    assert_eq!(keys(&wait)[..3], ["wait_type", "category", "waiting_tasks"]);
}
