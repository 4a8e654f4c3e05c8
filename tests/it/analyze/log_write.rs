//! Whether commits wait for the log: the right answers, and the edge of each gate.

use super::storage::{
    all_said, by_hand, databases, file_stats, gate, idle_host, in_samples, log_counters, master_files, of_scenario,
    of_version, report, waiting_tasks, waits_session, with_waits,
};
use super::support::{Host, finding, stack};
use xestack::model::{Confidence, Evidence, Report, ServerVersion, Stack, Table, VerdictKind};

/// A load that commits: ten seconds of it.
#[derive(Clone)]
struct Load {
    waits: Vec<(&'static str, i64, i64, i64)>,
    durability: &'static str,
    /// Transactions, flushes, bytes, flush waits, their ms.
    log: [i64; 5],
    /// Writes, bytes, ms of the log file.
    file: [i64; 3],
    /// Sessions seen in waits for the log.
    sessions: i64,
}

/// A twelfth of the published 500,000 durable inserts.
fn small_commits() -> Load {
    Load {
        waits: vec![("WRITELOG", 41_667, 5_217, 611), ("MEMORY_ALLOCATION_EXT", 1_204, 12, 0)],
        durability: "DISABLED",
        log: [41_667, 41_667, 43_870_720, 41_667, 5_217],
        file: [41_667, 43_870_720, 2_966],
        sessions: 1,
    }
}

fn commit_stack() -> Stack {
    stack(&[
        "sqldk.dll!XeSosPkg::wait_info::Publish+0x138",
        "sqldk.dll!SOS_Task::PostWait+0x9e",
        "sqlmin.dll!SQLServerLogMgr::WaitLCFlush+0x1a2",
        "sqlmin.dll!SQLServerLogMgr::LogFlush+0x33",
    ])
}

impl Load {
    fn evidence(&self) -> Evidence {
        let tables = |factor: i64| -> Vec<(&'static str, Table)> {
            let [writes, bytes, ms] = self.file.map(|figure| figure * factor + 3);
            vec![
                ("databases", databases(&[("Orders", 5, None, self.durability), ("Quiet", 6, None, "DISABLED")])),
                (
                    "master_files",
                    master_files(&[(5, 2, "LOG", "Orders_log", false), (6, 2, "LOG", "Quiet_log", false)]),
                ),
                (
                    "dm_io_virtual_file_stats",
                    file_stats(&[
                        ((5, 2), [0, 0, 0, writes, bytes, ms, 1]),
                        ((6, 2), [0, 0, 0, factor, factor, factor, 1]),
                    ]),
                ),
                ("log_counters", log_counters(&[("Orders", self.log.map(|n| n * factor + 7)), ("Quiet", [factor; 5])])),
            ]
        };
        let [(waits_before, waits_after)] = with_waits(&self.waits);
        let before = [tables(0), vec![("dm_os_wait_stats", waits_before)]].concat();
        let after = [tables(1), vec![("dm_os_wait_stats", waits_after)]].concat();
        let events =
            self.waits.iter().filter(|(name, ..)| super_waits().contains(name)).map(|(_, n, ..)| *n as u64).sum();
        let wait_types = super_waits().join(",");
        let session = waits_session("log-write", "sqlos.wait_info", &wait_types, vec![(events, commit_stack())]);
        let evidence = of_scenario("log-write", &idle_host(), vec![session], &before, &after);
        let seen: Vec<(i64, &str)> = (0..self.sessions).map(|n| (60 + n, "WRITELOG")).collect();
        in_samples(evidence, "dm_os_waiting_tasks", &waiting_tasks(&seen))
    }

    fn report(&self) -> Report {
        report(&self.evidence())
    }
}

fn super_waits() -> [&'static str; 3] {
    xestack::analyze::log_write::WAITS
}

#[test]
fn small_commits_are_bound_by_the_log() {
    let report = small_commits().report();
    let verdict = &report.verdict;
    assert_eq!((verdict.kind, verdict.subject.as_deref()), (VerdictKind::LogWriteBound, Some("Orders")));
    assert_eq!(verdict.confidence, Confidence::High, "{}", verdict.summary);
    assert!(verdict.summary.contains("52.2 %") && verdict.summary.contains("1,052 bytes"), "{}", verdict.summary);
    assert_eq!(gate(&report, "commit_waits", "commit_wait_share"), (Some(0.5217), true));
    assert_eq!(gate(&report, "commit_waits", "flushed_commits_share"), (Some(1.0), true));
    assert_eq!(gate(&report, "commit_waits", "delayed_durability"), (Some(0.0), true));
    assert_eq!(finding(&report, "delayed_durability").state, "off");
    let log = &finding(&report, "log_writes").text;
    assert!(log.contains("0.07 ms") && log.contains("decides nothing") && log.contains("4 KB"), "{log}");
    let durability = verdict.next_steps.iter().position(|step| step.text.contains("delayed durability")).unwrap();
    assert_eq!(durability + 1, verdict.next_steps.len());
    assert!(
        verdict.next_steps[durability].risk.contains("7 MB") && verdict.next_steps[0].text.contains("one transaction")
    );
}

#[test]
fn delayed_durability_is_not_named_where_it_does_not_exist() {
    let old = of_version(small_commits().evidence(), ServerVersion::V2012);
    assert!(!all_said(&report(&old)).contains("documentation of delayed durability"));
}

#[test]
fn with_delayed_durability_commits_are_not_what_it_waits_for() {
    let load = Load {
        waits: vec![("WRITELOG", 44, 310, 12), ("MEMORY_ALLOCATION_EXT", 2_104, 96, 0)],
        durability: "FORCED",
        log: [73_529, 1_186, 38_513_920, 44, 310],
        file: [1_186, 38_513_920, 916],
        sessions: 0,
    };
    let report = load.report();
    assert_eq!((report.verdict.kind, report.verdict.subject.as_deref()), (VerdictKind::Inconclusive, None));
    let summary = &report.verdict.summary;
    assert!(summary.contains("not what this load waits for") && summary.contains("forced"), "{summary}");
    let durability = finding(&report, "delayed_durability");
    assert_eq!(durability.state, "forced");
    assert!(durability.text.contains("Orders") && durability.text.contains("planned restart"), "{}", durability.text);
    assert!(!gate(&report, "commit_waits", "delayed_durability").1);
}

#[test]
fn large_transactions_are_not_bound_by_commits() {
    let load = Load {
        waits: vec![("WRITELOG", 1_361, 420, 31), ("MEMORY_ALLOCATION_EXT", 611, 22, 0)],
        log: [1_361, 2_050, 87_226_652, 1_361, 420],
        file: [2_050, 87_226_652, 503],
        sessions: 0,
        ..small_commits()
    };
    let report = load.report();
    assert_eq!(report.verdict.kind, VerdictKind::Inconclusive);
    assert!(report.verdict.summary.contains("not what this load waits for"), "{}", report.verdict.summary);
    // Nobody was seen waiting, so the share is at most that of one session: that is below the limit, and proves enough.
    assert_eq!(gate(&report, "commit_waits", "commit_wait_share"), (Some(0.042), false));
}

#[test]
fn commits_that_wait_for_a_replica_are_told_apart() {
    let load = Load {
        waits: vec![("HADR_SYNC_COMMIT", 18_420, 49_240, 1_902), ("WRITELOG", 18_420, 12_310, 704)],
        log: [18_420, 16_204, 19_391_488, 18_420, 12_310],
        file: [16_204, 19_391_488, 8_102],
        sessions: 8,
        ..small_commits()
    };
    let report = load.report();
    assert_eq!(report.verdict.kind, VerdictKind::Inconclusive);
    assert!(report.verdict.summary.contains("wait for the replica"), "{}", report.verdict.summary);
    assert_eq!(gate(&report, "commit_waits", "replica_wait_of_writelog"), (Some(4.0), false));
    assert_eq!(finding(&report, "commit_waits").state, "replica");
    // As long as the log is not behind the replica, it decides.
    let equal = Load {
        waits: vec![("HADR_SYNC_COMMIT", 18_420, 12_310, 9), ("WRITELOG", 18_420, 12_310, 704)],
        sessions: 4,
        ..load
    };
    assert_eq!(equal.report().verdict.kind, VerdictKind::LogWriteBound);
}

#[test]
fn tasks_that_wait_for_the_buffer_are_told_apart() {
    let load = Load { waits: vec![("WRITELOG", 41_667, 5_217, 9), ("LOGBUFFER", 900, 5_218, 9)], ..small_commits() };
    let report = load.report();
    assert_eq!(
        (report.verdict.kind, finding(&report, "commit_waits").state.as_str()),
        (VerdictKind::Inconclusive, "log_buffer")
    );
}

#[test]
fn time_after_the_flush_is_cpu() {
    let of = |signal| Load { waits: vec![("WRITELOG", 41_667, 5_000, signal)], ..small_commits() }.report();
    assert_eq!(of(2_499).verdict.kind, VerdictKind::LogWriteBound);
    let report = of(2_500);
    assert_eq!(
        (report.verdict.kind, finding(&report, "commit_waits").state.as_str()),
        (VerdictKind::Inconclusive, "cpu")
    );
    assert!(report.verdict.summary.contains("that is CPU"), "{}", report.verdict.summary);
}

#[test]
fn the_share_of_the_committing_sessions_has_an_edge() {
    let of = |wait_ms, sessions| {
        Load { waits: vec![("WRITELOG", 41_667, wait_ms, 0)], sessions, ..small_commits() }.report()
    };
    assert_eq!(of(2_000, 1).verdict.kind, VerdictKind::LogWriteBound);
    assert_eq!(of(1_999, 1).verdict.kind, VerdictKind::Inconclusive);
    assert_eq!(of(8_000, 4).verdict.kind, VerdictKind::LogWriteBound);
    assert_eq!(of(7_999, 4).verdict.kind, VerdictKind::Inconclusive);
    // More wait time than one session can have: samples missed the others.
    assert_eq!(gate(&of(25_000, 1), "commit_waits", "commit_wait_share"), (Some(25_000.0 / 30_000.0), true));
}

#[test]
fn unknown_sessions_stay_unknown_and_lower_confidence() {
    let report = Load { sessions: 0, ..small_commits() }.report();
    assert_eq!(gate(&report, "commit_waits", "commit_wait_share"), (None, false));
    assert_eq!((report.verdict.kind, report.verdict.confidence), (VerdictKind::LogWriteBound, Confidence::Medium));
    // Where other waits lead besides, nothing is proven.
    let waits = vec![("WRITELOG", 41_667, 5_217, 0), ("LCK_M_X", 900, 90_000, 0)];
    let report = Load { sessions: 0, waits: waits.clone(), ..small_commits() }.report();
    assert_eq!(finding(&report, "commit_waits").state, "unproven");
    // With known sessions, others that wait for something else do not take the verdict away.
    let report = Load { waits, ..small_commits() }.report();
    assert_eq!((report.verdict.kind, report.verdict.confidence), (VerdictKind::LogWriteBound, Confidence::Medium));
}

#[test]
fn the_size_of_a_flush_has_an_edge_at_a_quarter_of_a_block() {
    let of = |bytes: i64| Load { file: [1_000, bytes * 1_000, 900], ..small_commits() }.report();
    assert_eq!(of(15_360).verdict.kind, VerdictKind::LogWriteBound);
    let report = of(15_361);
    assert_eq!(finding(&report, "commit_waits").state, "large_blocks");
    assert!(report.verdict.summary.contains("15,361 bytes already"), "{}", report.verdict.summary);
    // Without the file, the flushes' own counters tell.
    let report = Load { file: [0; 3], ..small_commits() }.report();
    assert_eq!(gate(&report, "commit_waits", "bytes_per_flush"), (Some(43_870_720.0 / 41_667.0), true));
    let report = Load { file: [0; 3], log: [41_667, 0, 0, 41_667, 5_217], ..small_commits() }.report();
    assert_eq!((report.verdict.kind, report.verdict.confidence), (VerdictKind::LogWriteBound, Confidence::Low));
}

#[test]
fn transactions_without_flushes_lower_confidence() {
    let of = |waits| Load { log: [1_000, 1_000, 1_052_000, waits, 5_217], ..small_commits() }.report();
    assert_eq!(of(500).verdict.confidence, Confidence::High);
    assert_eq!((of(499).verdict.kind, of(499).verdict.confidence), (VerdictKind::LogWriteBound, Confidence::Medium));
}

#[test]
fn durability_that_is_allowed_lowers_confidence_and_forced_takes_the_verdict() {
    let of = |durability| Load { durability, ..small_commits() }.report();
    let allowed = of("ALLOWED");
    assert_eq!((allowed.verdict.kind, allowed.verdict.confidence), (VerdictKind::LogWriteBound, Confidence::Medium));
    assert_eq!(finding(&allowed, "delayed_durability").state, "allowed");
    let forced = of("FORCED");
    assert_eq!(
        (forced.verdict.kind, finding(&forced, "commit_waits").state.as_str()),
        (VerdictKind::Inconclusive, "delayed")
    );
}

#[test]
fn few_waits_for_the_log_are_nothing_to_explain() {
    let of = |waits, ms, other| {
        let waits = vec![("WRITELOG", waits, ms, 0), ("LCK_M_X", 90, other, 0)];
        Load { waits, sessions: 0, ..small_commits() }.report().verdict.kind
    };
    assert_eq!(of(99, 99, 9_901), VerdictKind::NoContention);
    assert_eq!(of(100, 99, 9_901), VerdictKind::Inconclusive);
    assert_eq!(of(99, 100, 9_900), VerdictKind::Inconclusive);
}

#[test]
fn pages_read_from_disk_are_context_only() {
    let mut load = small_commits();
    load.waits.push(("PAGEIOLATCH_SH", 100, 600, 0));
    let report = load.report();
    assert_eq!((report.verdict.kind, report.verdict.confidence), (VerdictKind::LogWriteBound, Confidence::High));
    assert!(all_said(&report).contains("decide nothing here"));
}

#[test]
fn without_counters_nothing_is_known() {
    let session = waits_session("log-write", "sqlos.wait_info", "WRITELOG", vec![(5_000, commit_stack())]);
    let evidence = Evidence { scenario: Some("log-write".to_owned()), sessions: vec![session], ..Evidence::default() };
    let report = report(&evidence);
    assert_eq!(report.verdict.kind, VerdictKind::Inconclusive);
    assert!(report.verdict.summary.contains("not known"), "{}", report.verdict.summary);
}

#[test]
fn a_reset_of_the_waits_leaves_nothing_to_conclude() {
    let mut evidence = small_commits().evidence();
    let (before, after) = (evidence.before.clone(), evidence.after.clone());
    let swap = |from: &Option<xestack::model::Snapshot>| from.as_ref().unwrap().tables["dm_os_wait_stats"].clone();
    evidence.before.as_mut().unwrap().tables.insert("dm_os_wait_stats".to_owned(), swap(&after));
    evidence.after.as_mut().unwrap().tables.insert("dm_os_wait_stats".to_owned(), swap(&before));
    let report = report(&evidence);
    assert_eq!(report.verdict.kind, VerdictKind::Inconclusive);
    assert!(report.verdict.summary.contains("reset"), "{}", report.verdict.summary);
}

/// The log file alone: writes, bytes, ms over ten seconds.
fn log_file([writes, bytes, ms]: [i64; 3]) -> Report {
    let tables = |factor: i64| {
        [
            (
                "dm_io_virtual_file_stats",
                file_stats(&[((5, 2), [0, 0, 0, writes * factor, bytes * factor, ms * factor, 1])]),
            ),
            ("databases", databases(&[("Orders", 5, None, "DISABLED")])),
            ("master_files", master_files(&[(5, 2, "LOG", "Orders_log", false)])),
        ]
    };
    report(&by_hand(10_000, &tables(0), &tables(1)))
}

#[test]
fn a_log_file_alone_has_edges_of_its_own() {
    for (figures, bound) in [
        ([5_000, 5_000 * 15_360, 2_000], true),
        ([4_999, 4_999 * 1_024, 2_000], false),
        ([5_000, 5_000 * 15_361, 2_000], false),
        ([5_000, 5_000 * 1_024, 1_999], false),
    ] {
        let report = log_file(figures);
        let kind = if bound { VerdictKind::LogWriteBound } else { VerdictKind::Inconclusive };
        assert_eq!((report.verdict.kind, report.verdict.confidence), (kind, Confidence::Low), "{figures:?}");
    }
}

#[test]
fn without_a_session_confidence_is_medium() {
    let mut evidence = small_commits().evidence();
    evidence.sessions.clear();
    let report = report(&evidence);
    assert_eq!((report.verdict.kind, report.verdict.confidence), (VerdictKind::LogWriteBound, Confidence::Medium));
    let restarted = Host { start_ticks: (1_000, 505_000), ..idle_host() };
    assert_ne!(restarted.start_ticks.0, restarted.start_ticks.1);
}
