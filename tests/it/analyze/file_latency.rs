//! Which files are slow: thresholds, how many I/Os, what stands beside them, and when it is not the file.

use super::storage::{
    FileStat, all_said, by_hand, databases, file_stats, gate, idle_host, in_samples, master_files, of_scenario,
    pending, report, requests, with_waits,
};
use super::support::{Host, finding};
use xestack::model::{Confidence, Evidence, Report, Snapshot, Table, UtcMicros, VerdictKind};

const IO_WAITS: [(&str, i64, i64, i64); 2] = [("PAGEIOLATCH_SH", 2_604, 151_032, 1_204), ("WRITELOG", 61, 122, 4)];

fn tables(stats: &[FileStat]) -> Vec<(&'static str, Table)> {
    vec![
        ("dm_io_virtual_file_stats", file_stats(stats)),
        ("databases", databases(&[("Sales", 5, None, "DISABLED"), ("Other", 6, None, "DISABLED")])),
        (
            "master_files",
            master_files(&[
                (5, 1, "ROWS", "Sales", false),
                (5, 2, "LOG", "Sales_log", false),
                (6, 1, "ROWS", "Other", false),
            ]),
        ),
    ]
}

/// The files grew by these figures in ten seconds, beside waits for pages.
fn evidence_on(host: &Host, grown: &[FileStat]) -> Evidence {
    let zero: Vec<FileStat> = grown.iter().map(|(id, _)| (*id, [0, 0, 0, 0, 0, 0, 64])).collect();
    let grown: Vec<FileStat> = grown
        .iter()
        .map(|(id, figures)| {
            (*id, {
                let mut figures = *figures;
                figures[6] += 64;
                figures
            })
        })
        .collect();
    let [(waits_before, waits_after)] = with_waits(&IO_WAITS);
    let before = [tables(&zero), vec![("dm_os_wait_stats", waits_before)]].concat();
    let after = [tables(&grown), vec![("dm_os_wait_stats", waits_after)]].concat();
    of_scenario("file-latency", host, Vec::new(), &before, &after)
}

fn evidence(grown: &[FileStat]) -> Evidence {
    evidence_on(&idle_host(), grown)
}

/// Reads and their ms, writes and their ms.
fn stat(id: (i64, i64), [reads, read_ms, writes, write_ms]: [i64; 4]) -> FileStat {
    (id, [reads, reads * 65_536, read_ms, writes, writes * 262_144, write_ms, 0])
}

fn subject(report: &Report) -> (VerdictKind, Option<&str>) {
    (report.verdict.kind, report.verdict.subject.as_deref())
}

#[test]
fn a_slow_file_is_named_and_storage_is_not_blamed() {
    let report =
        report(&evidence(&[stat((5, 1), [3_012, 171_684, 1_104, 666_816]), stat((5, 2), [0, 0, 2_904, 2_904])]));
    assert_eq!(subject(&report), (VerdictKind::FileLatency, Some("Sales.Sales")));
    assert_eq!(report.verdict.confidence, Confidence::High, "{}", report.verdict.summary);
    let summary = &report.verdict.summary;
    assert!(summary.contains("no proof against the storage") && summary.contains("warehouse"), "{summary}");
    assert!(summary.contains("writes at 604.0 ms"), "{summary}");
    let slow = &finding(&report, "slow_files").text;
    assert!(slow.contains("3,012 reads of 65,536 bytes at 57.0 ms"), "{slow}");
    assert!(slow.contains("1,104 writes of 262,144 bytes at 604.0 ms"), "{slow}");
}

#[test]
fn maintenance_stands_beside_the_file_and_lowers_confidence() {
    let grown = [stat((5, 1), [3_012, 171_684, 1_104, 666_816])];
    for command in ["ALTER INDEX", "BACKUP DATABASE", "DBCC TABLE CHECK"] {
        let report =
            report(&in_samples(evidence(&grown), "dm_exec_requests", &requests(&[(command, 5), ("SELECT", 5)])));
        assert_eq!(subject(&report), (VerdictKind::FileLatency, Some("Sales.Sales")));
        assert_eq!(report.verdict.confidence, Confidence::Medium);
        let beside = finding(&report, "concurrent_maintenance");
        assert_eq!(beside.state, "running");
        assert!(
            beside.text.contains(&format!("{command} in Sales")) && !beside.text.contains("SELECT"),
            "{}",
            beside.text
        );
        assert!(report.verdict.summary.contains(&format!("Beside it ran {command} in Sales.")));
        assert_eq!(gate(&report, "slow_files", "maintenance_commands"), (Some(1.0), false));
    }
    let none = report(&in_samples(evidence(&grown), "dm_exec_requests", &requests(&[])));
    assert_eq!(finding(&none, "concurrent_maintenance").state, "none");
}

#[test]
fn a_file_that_grows_is_told() {
    let mut grown = [stat((5, 1), [3_012, 171_684, 0, 0])];
    grown[0].1[6] = 1 << 20;
    let report = report(&in_samples(evidence(&grown), "dm_exec_requests", &requests(&[])));
    let beside = finding(&report, "concurrent_maintenance");
    assert_eq!(beside.state, "growing");
    assert!(beside.text.contains("files grew: Sales.Sales"), "{}", beside.text);
}

#[test]
fn the_thresholds_have_edges_by_kind() {
    for (id, figures, slow) in [
        ((5, 1), [100, 2_001, 0, 0], true),
        ((5, 1), [100, 2_000, 0, 0], false),
        ((5, 1), [0, 0, 100, 2_001], true),
        ((5, 2), [0, 0, 100, 501], true),
        ((5, 2), [0, 0, 100, 500], false),
        // A file of unknown kind is judged like data.
        ((9, 9), [0, 0, 100, 1_999], false),
        ((9, 9), [0, 0, 100, 2_001], true),
        // 99 of a kind are too few; both kinds together may be enough.
        ((5, 1), [99, 9_900, 0, 0], false),
        ((5, 1), [60, 6_000, 40, 4_000], true),
        ((5, 1), [60, 6_000, 39, 4_000], false),
        // Many quick reads do not hide slow writes.
        ((5, 1), [100_000, 1_000, 100, 60_000], true),
    ] {
        let report = report(&evidence(&[stat(id, figures)]));
        let kind = if slow { VerdictKind::FileLatency } else { VerdictKind::NoContention };
        assert_eq!(report.verdict.kind, kind, "{id:?} {figures:?}");
    }
}

#[test]
fn the_worst_file_is_the_one_that_took_most_time() {
    let report = report(&evidence(&[
        stat((5, 1), [10_000, 300_000, 0, 0]),
        stat((6, 1), [100, 60_000, 0, 0]),
        stat((5, 2), [0, 0, 900_000, 900_000]),
    ]));
    assert_eq!(subject(&report), (VerdictKind::FileLatency, Some("Sales.Sales")));
    assert_eq!(finding(&report, "slow_files").value, Some(2.0));
}

#[test]
fn nothing_slow_has_a_summary_of_its_own() {
    let quiet = report(&evidence(&[stat((5, 1), [1_000, 3_000, 0, 0])]));
    assert_eq!((quiet.verdict.kind, quiet.verdict.confidence), (VerdictKind::NoContention, Confidence::High));
    assert!(quiet.verdict.summary.contains("No file was slow"), "{}", quiet.verdict.summary);
    let idle = report(&evidence(&[stat((5, 1), [0, 0, 0, 0])]));
    assert!(idle.verdict.summary.contains("No file had 100 I/Os"), "{}", idle.verdict.summary);
    let few = report(&evidence(&[stat((5, 1), [50, 30_000, 0, 0])]));
    assert_eq!((few.verdict.kind, few.verdict.confidence), (VerdictKind::NoContention, Confidence::Medium));
    assert!(finding(&few, "slow_files").text.contains("Sales.Sales"));
    let nothing = report(&Evidence { scenario: Some("file-latency".to_owned()), ..Evidence::default() });
    assert_eq!(nothing.verdict.kind, VerdictKind::Inconclusive);
}

#[test]
fn finished_io_that_waits_for_a_busy_server_decides_nothing() {
    let grown = [stat((5, 1), [3_012, 171_684, 0, 0])];
    let busy = Host::default();
    let with = |host: &Host, rows: &[(i64, i64, i64)]| {
        report(&in_samples(evidence_on(host, &grown), "dm_io_pending_io_requests", &pending(rows)))
    };
    let delayed = with(&busy, &[(1, 3, 90), (0, 40, 120)]);
    assert_eq!(subject(&delayed), (VerdictKind::Inconclusive, None));
    assert!(delayed.verdict.summary.contains("completion_delayed"), "{}", delayed.verdict.summary);
    let finding_of = |report: &Report| finding(report, "pending_io").state.clone();
    assert_eq!(
        (finding_of(&delayed).as_str(), finding(&delayed, "pending_io").value),
        ("completion_delayed", Some(1.0))
    );
    // Neither alone: a busy server whose I/Os are at the operating system, and one with time that is late to notice.
    let at_system = with(&busy, &[(1, 3, 90)]);
    assert_eq!((at_system.verdict.kind, finding_of(&at_system).as_str()), (VerdictKind::FileLatency, "at_system"));
    let unhurried = with(&idle_host(), &[(1, 14, 612), (0, 1, 2)]);
    assert_eq!(
        (unhurried.verdict.kind, finding_of(&unhurried).as_str()),
        (VerdictKind::FileLatency, "some_awaiting_notice")
    );
    let none = with(&busy, &[]);
    assert_eq!((none.verdict.kind, finding_of(&none).as_str()), (VerdictKind::FileLatency, "none"));
}

#[test]
fn half_of_the_samples_must_show_io_that_waits() {
    let mut evidence = evidence_on(&Host::default(), &[stat((5, 1), [3_012, 171_684, 0, 0])]);
    let samples = evidence.samples.len();
    let kind_with = |evidence: &mut Evidence, awaiting: usize| {
        for (index, sample) in evidence.samples.iter_mut().enumerate() {
            let rows: &[(i64, i64, i64)] = if index < awaiting { &[(0, 2, 9)] } else { &[(1, 2, 9)] };
            sample.tables.insert("dm_io_pending_io_requests".to_owned(), pending(rows));
        }
        report(evidence).verdict.kind
    };
    assert_eq!(kind_with(&mut evidence, samples / 2), VerdictKind::Inconclusive);
    assert_eq!(kind_with(&mut evidence, samples / 2 - 1), VerdictKind::FileLatency);
}

#[test]
fn without_other_evidence_confidence_is_medium() {
    let stats = |n: i64| tables(&[stat((5, 1), [n, n * 57, 0, 0])]);
    let evidence = by_hand(10_000, &stats(100), &stats(3_112));
    let report = report(&evidence);
    assert_eq!(subject(&report), (VerdictKind::FileLatency, Some("Sales.Sales")));
    assert_eq!(report.verdict.confidence, Confidence::Medium);
    assert!(report.verdict.summary.contains("no evidence beside"), "{}", report.verdict.summary);
}

#[test]
fn time_that_resource_governor_took_is_not_the_files() {
    let mut evidence = evidence(&[stat((5, 1), [1_000, 57_000, 0, 0])]);
    for (snapshot, queued) in [(&mut evidence.before, 0), (&mut evidence.after, 50_000)] {
        let table = snapshot.as_mut().unwrap().tables.get_mut("dm_io_virtual_file_stats").unwrap();
        table.columns.extend(["io_stall_queued_read_ms".to_owned(), "io_stall_queued_write_ms".to_owned()]);
        for row in &mut table.rows {
            row.extend([xestack::model::Value::Integer(queued), xestack::model::Value::Integer(0)]);
        }
    }
    let report = report(&evidence);
    assert_eq!(subject(&report), (VerdictKind::Inconclusive, None));
    assert!(report.verdict.summary.contains("Resource Governor"), "{}", report.verdict.summary);
}

#[test]
fn a_series_tells_when() {
    let mut evidence = evidence(&[stat((5, 1), [400, 40_300, 0, 0])]);
    let point = |second: i64, reads: i64, ms: i64| Snapshot {
        taken_at: UtcMicros(second * 1_000_000),
        tables: [("dm_io_virtual_file_stats".to_owned(), file_stats(&[stat((5, 1), [reads, ms, 0, 0])]))].into(),
    };
    evidence.series = vec![point(2, 100, 100), point(4, 200, 20_100), point(6, 300, 40_100), point(8, 350, 40_200)];
    evidence.after.as_mut().unwrap().taken_at = UtcMicros(10_000_000);
    let report = report(&evidence);
    let when = "slow in 2 of 5 intervals, between 2.0 s and 6.0 s after the start";
    assert!(report.verdict.summary.contains(when), "{}", report.verdict.summary);
    assert!(!all_said(&report).contains("--every"));
}
