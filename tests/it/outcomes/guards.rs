//! The limits on what an open window may do to its server, against the simulated one: each ends the window early, with
//! everything read and put back, and none ends a window that keeps to them.

use crate::capture::{Lab, WINDOW};
use xestack::agent::{GuardOptions, Outcome};
use xestack::model::{Report, ServerVersion, SessionOutcome, Severity, VerdictKind};

/// A window under other limits, on a server with these faults.
async fn window(scenario: &str, faults: &[&str], guards: GuardOptions) -> (Lab, Outcome, Report) {
    let mut lab = Lab::new(ServerVersion::V2019, |launch| {
        launch.faults.extend(faults.iter().map(|fault| (*fault).to_owned()));
    })
    .await;
    lab.options.scenario = scenario.to_owned();
    lab.options.max_events_per_second = Some(1_000_000);
    lab.options.guards = guards;
    let (outcome, report) = lab.report().await;
    (lab, outcome, report)
}

fn stopped(report: &Report) -> Option<&str> {
    let mut found = report.capture.problems.iter().filter(|problem| problem.code == "window_stopped_early");
    let problem = found.next()?;
    assert_eq!(problem.severity, Severity::Partial, "exit code 5");
    assert!(found.next().is_none(), "said twice");
    Some(&problem.message)
}

fn none() -> GuardOptions {
    GuardOptions::default()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_limit_ends_the_window_and_what_it_covered_stands() {
    let cpu = GuardOptions { max_cpu_share: Some(0.9), ..none() };
    for (scenario, faults, guards, names, samples) in [
        (
            "sos-yield",
            &["dropped-events=10001"][..],
            none(),
            ["10001 events", "limit of 10000 (max_dropped_events)"],
            1,
        ),
        ("sos-yield", &[], cpu, ["from 2 % to 94 %", "limits of 90 % and 10 points"], 3),
        ("sos-yield", &["work-queue=2"], none(), ["3 successive samples", "16 in the last"], 3),
        ("sos-yield", &["read-cost=4"], none(), ["3.2 % of one core", "limit of 2.0 % (max_own_cpu_share)"], 2),
        ("sos-yield+spinlock", &["work-queue=1"], none(), ["3 successive samples", "8 in the last"], 3),
    ] {
        let (lab, outcome, report) = window(scenario, faults, guards).await;
        let context = format!("{scenario} {faults:?}: {:?}", report.capture.problems);
        let said = stopped(&report).unwrap_or_else(|| panic!("{context}"));
        for words in names.into_iter().chain(["of 10 s", "for the server's sake", "all figures are of that time"]) {
            assert!(said.contains(words), "{words}: {said}");
        }
        let covered = report.capture.window.unwrap().elapsed_ms;
        assert!((200..3_000).contains(&covered), "{covered} ms, {context}");
        assert_eq!(outcome.evidence.samples.len(), samples, "{context}");
        // Figures are of the time covered: the counters are there, and the events are not more than they.
        assert!(outcome.evidence.before.is_some() && outcome.evidence.after.is_some(), "{context}");
        assert!(report.capture.sessions.iter().all(|session| session.outcome != SessionOutcome::Missing), "{context}");
        assert!(!outcome.interrupted && outcome.left_behind.is_empty(), "{context}");
        // Symbols are not loaded in a server that is being spared.
        assert!(!outcome.statements.iter().any(|statement| statement.sql.contains("TRACEON")), "{context}");
        lab.assert_as_before(&context).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_keeps_to_the_limits_is_not_ended() {
    let lenient = GuardOptions { max_dropped_events: Some(20_000), max_own_cpu_share: Some(1.0), ..none() };
    let no_growth = GuardOptions { max_cpu_share: Some(0.9), max_cpu_growth: Some(0.95), ..none() };
    for (faults, guards) in [
        (&[][..], none()),
        (&["dropped-events=10000"], none()),
        (&["dropped-events=20000", "read-cost=40"], lenient),
        (&[], no_growth),
    ] {
        let (lab, outcome, report) = window("sos-yield", faults, guards).await;
        let context = format!("{faults:?}: {:?}", report.capture.problems);
        assert_eq!(stopped(&report), None, "{context}");
        assert_eq!(report.capture.window.unwrap().elapsed_ms, WINDOW.as_millis() as u64, "{context}");
        assert!(outcome.evidence.samples.len() >= 19, "{context}");
        lab.assert_as_before(&context).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn costly_polls_become_rarer_first() {
    // Four views a sample: 8 ms each quarter of a second are 3.2 % of a core, each half second 1.6 %.
    let (lab, outcome, report) = window("sos-yield", &["read-cost=2"], none()).await;
    assert_eq!(stopped(&report), None, "{:?}", report.capture.problems);
    assert!((18..22).contains(&outcome.evidence.samples.len()), "{} samples", outcome.evidence.samples.len());
    let own = report.findings.iter().find(|finding| finding.name == "own_cost").unwrap();
    assert!((0.015..0.025).contains(&own.value.unwrap()), "{own:?}");
    assert_eq!(report.verdict.kind, VerdictKind::CpuBoundYields);
    lab.assert_as_before("costly").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_is_one_batch_that_waits_for_no_lock_and_makes_no_xml() {
    let (lab, outcome, _) = window("sos-yield", &[], none()).await;
    let samples: Vec<&str> = outcome
        .statements
        .iter()
        .map(|statement| statement.sql.as_str())
        .filter(|sql| sql.contains("LOCK_TIMEOUT") && !sql.contains("sp_getapplock"))
        .collect();
    assert_eq!(samples.len(), outcome.evidence.samples.len());
    for sql in samples {
        assert!(sql.starts_with("SET LOCK_TIMEOUT 0;") && sql.ends_with("SET LOCK_TIMEOUT -1"), "{sql}");
        assert!(!sql.to_lowercase().contains("xml") && !sql.contains("target_data"), "{sql}");
    }
    lab.assert_as_before("batches").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_that_cannot_be_sampled_is_said_once_and_costs_no_more() {
    let (lab, outcome, report) = window("sos-yield", &["error=1222@sys.dm_xe_sessions"], none()).await;
    let unreadable = report.capture.problems.iter().filter(|problem| problem.code == "counters_unreadable");
    assert_eq!(unreadable.count(), 1, "{:?}", report.capture.problems);
    // The first counters, which failed as a batch, told already; the first sample fails once more.
    let polls = outcome.statements.iter().filter(|statement| statement.sql.starts_with("SET LOCK_TIMEOUT 0"));
    assert_eq!(polls.filter(|statement| statement.error.is_some()).count(), 1);
    assert!(outcome.evidence.samples.len() > 30);
    lab.assert_as_before("unreadable").await;
}
