//! Captures of several event sessions, of none, and of servers that are odd: what each scenario makes on a build, leaves out
//! on one, and finds.

use crate::capture::{Lab, WINDOW};
use std::time::Duration;
use xestack::model::{Evidence, Mark, Report, ServerVersion, SessionEvidence};
use xestack::simulator::workload::pace::Pace;

async fn lab(version: ServerVersion, workload: &str, scenario: &str, faults: &[&str]) -> Lab {
    let mut lab = Lab::new(version, |launch| {
        launch.workload = workload.to_owned();
        launch.pace = Pace::Steady;
        launch.faults = faults.iter().map(|fault| (*fault).to_owned()).collect();
    })
    .await;
    lab.options.scenario = scenario.to_owned();
    lab.options.trace_flags.enable = version < ServerVersion::V2022;
    lab
}

fn buckets(evidence: &Evidence) -> Vec<(&str, &str)> {
    let sessions = evidence.sessions.iter();
    sessions.map(|session| (session.scenario.as_deref().unwrap(), session.bucket.as_deref().unwrap())).collect()
}

fn problem<'a>(report: &'a Report, code: &str) -> Option<&'a str> {
    let found = report.capture.problems.iter().find(|problem| problem.code == code);
    found.map(|problem| problem.message.as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_makes_the_sessions_that_a_build_offers_and_says_which_it_leaves_out() {
    // From 2016 on waits name what they wait for; the latch event is as old as the others.
    for (version, workload, scenario, made) in [
        (ServerVersion::V2019, "version-store", "latch", &["callstack", "callstack"][..]),
        (ServerVersion::V2008R2, "version-store", "latch", &["callstack", "callstack"]),
        (ServerVersion::V2022, "tempdb-allocation", "pagelatch", &["callstack", "wait_resource"]),
        (ServerVersion::V2014, "tempdb-allocation", "pagelatch", &["callstack"]),
        (ServerVersion::V2019, "db-snapshot", "snapshot", &["callstack", "callstack"]),
        (ServerVersion::V2019, "small-commits", "log-write", &["callstack"]),
        (ServerVersion::V2019, "index-rebuild", "file-latency", &[]),
        // Nothing waits for a latch, so none leads.
        (ServerVersion::V2019, "idle", "latch", &["callstack"]),
    ] {
        let lab = lab(version, workload, scenario, &[]).await;
        let (outcome, report) = lab.report().await;
        let context = format!("{scenario} on {workload}, {version}: {:?}", report.capture.problems);
        assert_eq!(
            buckets(&outcome.evidence),
            made.iter().map(|bucket| (scenario, *bucket)).collect::<Vec<_>>(),
            "{context}"
        );
        let all = xestack::catalog::Catalog::embedded().unwrap().sessions.scenario(scenario).unwrap().sessions.len();
        assert_eq!(problem(&report, "session_left_out").is_some(), made.len() < all, "{context}");
        lab.assert_as_before(scenario).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latch_event_is_made_for_the_leading_class_alone() {
    for version in [ServerVersion::V2014, ServerVersion::V2019, ServerVersion::V2025] {
        let lab = lab(version, "version-store", "latch", &[]).await;
        let (outcome, report) = lab.report().await;
        let [waits, class] = outcome.evidence.sessions.as_slice() else { panic!("{:?}", outcome.evidence.sessions) };
        assert_eq!(class.context.event.as_deref(), Some("sqlserver.latch_suspend_end"));
        assert_eq!(class.filter_names, ["APPEND_ONLY_STORAGE_INSERT_POINT"]);
        assert_eq!(class.filter_keys.len(), 1, "{version}");
        assert!(waits.filter_names.contains(&"LATCH_EX".to_owned()), "{:?}", waits.filter_names);
        let events = |session: &SessionEvidence| session.target.as_ref().unwrap().events();
        assert_eq!(events(class), events(waits), "{version}");
        let found = report.findings.iter().find(|finding| finding.name == "latch_class").unwrap();
        assert_eq!(
            found.state,
            if version < ServerVersion::V2022 { "agree" } else { found.state.as_str() },
            "{}",
            found.text
        );
        assert!(outcome.map_keys.iter().any(|key| key.value == "APPEND_ONLY_STORAGE_INSERT_POINT"));
    }
    // Pages lead: the event would fire for each of them.
    let lab = lab(ServerVersion::V2019, "tempdb-allocation", "latch", &[]).await;
    let (outcome, _) = lab.report().await;
    assert_eq!(buckets(&outcome.evidence), [("latch", "callstack")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn scenarios_share_one_window_and_each_gives_its_own_answer() {
    let mut lab = lab(ServerVersion::V2019, "lock-hash", "sos-yield+spinlock+latch+log-write+file-latency", &[]).await;
    lab.options.max_events_per_second = Some(50_000);
    let (outcome, report) = lab.report().await;
    let made = buckets(&outcome.evidence);
    for scenario in ["sos-yield", "spinlock", "latch", "log-write"] {
        assert!(made.contains(&(scenario, "callstack")), "{scenario}: {made:?}");
    }
    assert_eq!(report.verdict.kind.name(), "cpu_bound_yields");
    let further: Vec<(&str, &str)> =
        report.further.iter().map(|answer| (answer.scenario.as_str(), answer.verdict.kind.name())).collect();
    assert_eq!(
        further,
        [
            ("spinlock", "spinlock_backoff"),
            ("latch", "no_contention"),
            ("log-write", "no_contention"),
            ("file-latency", "no_contention")
        ]
    );
    let windows: Vec<&str> =
        outcome.evidence.before.iter().flat_map(|before| before.tables.keys()).map(String::as_str).collect();
    assert!(windows.contains(&"dm_io_virtual_file_stats") && windows.contains(&"log_counters"), "{windows:?}");
    lab.assert_as_before("five scenarios").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_statement_behind_the_yields_is_named_where_the_login_may_see_it() {
    let mut lab = lab(ServerVersion::V2019, "lock-hash", "sos-yield", &[]).await;
    lab.options.queries = true;
    let (outcome, report) = lab.report().await;
    assert_eq!(buckets(&outcome.evidence), [("sos-yield", "callstack"), ("sos-yield", "sqlserver.query_hash")]);
    let leading = report.queries.first().unwrap();
    let share = leading.share.unwrap();
    assert!(share.low > 0.85 && share.high < 0.97, "{share:?}");
    assert!(leading.statement.as_deref().unwrap().contains("OneRow"), "{leading:?}");
    assert!(leading.executions.is_some() && leading.cpu_ms.is_some(), "{leading:?}");
    assert_eq!(report.queries.iter().map(|query| query.events).sum::<u64>(), report.stacks.total_events);
    assert_eq!(report.verdict.kind.name(), "cpu_bound_yields");
    assert!(
        report.verdict.next_steps.iter().any(|step| step.text.contains(&leading.query_hash)),
        "{:?}",
        report.verdict.next_steps
    );
    lab.assert_as_before("queries").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_is_taken_at_its_pace() {
    for (seconds, every, points) in [(10, 2, 4), (10, 5, 1), (10, 60, 0), (9, 1, 8)] {
        let mut lab = lab(ServerVersion::V2019, "index-rebuild", "file-latency", &[]).await;
        lab.options.window = Duration::from_secs(seconds);
        lab.options.every = Duration::from_secs(every);
        let (outcome, report) = lab.report().await;
        assert_eq!(outcome.evidence.series.len(), points, "every {every} s of {seconds} s");
        for file in report.files.iter().filter(|file| !file.series.is_empty()) {
            assert_eq!(file.series.iter().map(|point| point.writes).sum::<u64>(), file.writes, "{}", file.file);
        }
    }
}

/// No figure of a report is infinite or not a number.
fn assert_sound(report: &Report, context: &str) {
    let text = xestack::report::text::render(report, &xestack::report::Style::default());
    let odd = |word: &&str| ["nan", "inf", "-inf"].contains(&word.trim_matches(',').to_lowercase().as_str());
    assert_eq!(text.split_whitespace().find(odd), None, "{context}: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_databases_and_counters_give_marks_and_blanks() {
    // A moment comes when the event is dropped from the session: between the two readings of the window.
    for (fault, scenario, workload, mark) in [
        ("duplicate-names", "file-latency", "index-rebuild", None),
        ("huge-counters", "file-latency", "index-rebuild", None),
        ("huge-counters", "log-write", "small-commits", None),
        ("renamed-database@alter-drop", "file-latency+log-write", "index-rebuild", Some(Mark::Renamed)),
        ("dropped-database@alter-drop", "file-latency+log-write", "index-rebuild", Some(Mark::Missing)),
        ("offline-database@alter-drop", "file-latency+log-write", "index-rebuild", Some(Mark::Reset)),
        ("dropped-database@alter-drop", "log-write", "small-commits", Some(Mark::Missing)),
        ("renamed-database@alter-drop", "log-write", "small-commits", Some(Mark::Renamed)),
    ] {
        let context = format!("{fault}, {scenario}");
        let mut lab = lab(ServerVersion::V2019, workload, scenario, &[fault]).await;
        lab.options.every = Duration::from_secs(600);
        let (_, report) = lab.report().await;
        assert_sound(&report, &context);
        let marks: Vec<Option<Mark>> = report.files.iter().map(|file| file.mark).collect();
        if let Some(mark) = mark {
            assert!(marks.contains(&Some(mark)), "{context}: {marks:?}");
            let marked = report.files.iter().find(|file| file.mark == Some(mark)).unwrap();
            assert_eq!((marked.reads, marked.writes, marked.write_latency_ms), (0, 0, None), "{context}");
        } else {
            assert!(report.files.iter().any(|file| file.writes > 0), "{context}");
        }
        lab.assert_as_before(&context).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_whose_names_differ_in_case_only_are_told_apart() {
    let mut lab = lab(ServerVersion::V2019, "index-rebuild", "file-latency", &["duplicate-names"]).await;
    lab.options.window = WINDOW;
    let (_, report) = lab.report().await;
    let mut ids: Vec<(i64, i64)> = report.files.iter().map(|file| (file.database_id, file.file_id)).collect();
    let rows = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), rows);
    let mut databases: Vec<&str> = report.databases.iter().map(|row| row.database.as_str()).collect();
    databases.sort_unstable();
    databases.dedup();
    assert!(databases.contains(&"Sales") && databases.contains(&"SALES"), "{databases:?}");
    let slow = report.verdict.subject.as_deref();
    assert_eq!(slow, Some("Sales.Sales"), "{}", report.verdict.summary);
}
