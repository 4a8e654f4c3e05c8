//! Outcomes on the simulated server: what happens in the window happens at a sample of it.

use crate::capture::Lab;
use std::collections::BTreeSet;
use xestack::agent::Outcome;
use xestack::model::{Mark, Report, ServerVersion, SessionOutcome, Severity, StoppedBy};
use xestack::simulator::events::histogram::Overflow;

/// Samples of a window of ten seconds.
const SAMPLES: usize = 39;

/// The number of the statement, on the run's first connection, that takes a sample of the window: 0 for the first.
pub(super) async fn sample(version: ServerVersion, of_window: usize) -> u64 {
    let mut lab = Lab::new(version, |_| {}).await;
    lab.options.trace_flags.enable = version < ServerVersion::V2022;
    let (outcome, _) = lab.report().await;
    let samples: Vec<u64> = outcome
        .statements
        .iter()
        .filter(|statement| statement.sql.starts_with("SET LOCK_TIMEOUT 0"))
        .map(|statement| statement.n)
        .collect();
    assert_eq!(samples.len(), SAMPLES);
    samples[of_window]
}

async fn with_faults(version: ServerVersion, faults: &[String]) -> (Lab, Outcome, Report) {
    let lab = Lab::new(version, |launch| launch.faults.extend(faults.iter().cloned())).await;
    let (outcome, report) = lab.report().await;
    (lab, outcome, report)
}

fn codes(report: &Report) -> BTreeSet<&str> {
    report.capture.problems.iter().map(|problem| problem.code.as_str()).collect()
}

fn elapsed_ms(report: &Report) -> u64 {
    report.capture.window.unwrap().elapsed_ms
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_to_the_session_ends_the_window_and_is_named() {
    let version = ServerVersion::V2019;
    let at = sample(version, 20).await;
    for (fault, outcome, stopped_by, code, words) in [
        ("vanish=dropped", SessionOutcome::Missing, None, "session_missing", "did not exist any more"),
        (
            "vanish=stopped",
            SessionOutcome::StoppedByServer,
            Some(StoppedBy::Someone),
            "stopped_by_server",
            "by someone",
        ),
    ] {
        let (lab, captured, report) = with_faults(version, &[format!("{fault}@{at}")]).await;
        let context = format!("{fault}: {:?}", report.capture.problems);
        let session = &report.capture.sessions[0];
        assert_eq!((session.outcome, session.stopped_by), (outcome, stopped_by), "{context}");
        assert_eq!(codes(&report), BTreeSet::from([code, "window_cut_short"]), "{context}");
        let problem = report.capture.problems.iter().find(|problem| problem.code == code).unwrap();
        assert!(problem.message.contains(words) && problem.severity == Severity::Partial, "{context}");
        // The counters are of the time covered, which is about half of the window.
        assert!((4_500..6_000).contains(&elapsed_ms(&report)), "{context}");
        let yields = report.waits.iter().find(|row| row.wait_type == "SOS_SCHEDULER_YIELD").unwrap();
        assert!((8_000..13_000).contains(&yields.waiting_tasks) && yields.mark.is_none(), "{context}");
        assert!(captured.left_behind.is_empty(), "{context}");
        lab.assert_as_before(&context).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_costs_samples_and_nothing_else() {
    let version = ServerVersion::V2019;
    let at = sample(version, 20).await;
    let (lab, outcome, report) = with_faults(version, &[format!("cut@{at}")]).await;
    let context = format!("{:?}", report.capture.problems);
    assert_eq!(codes(&report), BTreeSet::from(["reconnected"]), "{context}");
    let problem = &report.capture.problems[0];
    assert!(problem.message.contains("0.2 s without samples") || problem.message.contains("0.3 s"), "{context}");
    assert_eq!(report.capture.sessions[0].outcome, SessionOutcome::Counted, "{context}");
    assert_eq!(report.stacks.total_events, 20_647, "{context}");
    let yields = report.waits.iter().find(|row| row.wait_type == "SOS_SCHEDULER_YIELD").unwrap();
    assert_eq!(yields.waiting_tasks, 20_647, "{context}");
    assert_eq!(outcome.evidence.samples.len(), SAMPLES - 1, "{context}");
    lab.assert_as_before(&context).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_is_not_a_reset_and_not_another_server() {
    let version = ServerVersion::V2019;
    let at = sample(version, 20).await;
    let (lab, outcome, report) = with_faults(version, &[format!("restart@{at}")]).await;
    let context = format!("restart: {:?}", report.capture.problems);
    let session = &report.capture.sessions[0];
    assert_eq!((session.outcome, session.stopped_by), (SessionOutcome::StoppedByServer, Some(StoppedBy::Restart)));
    let expected = BTreeSet::from(["reconnected", "server_restarted", "stopped_by_server", "window_cut_short"]);
    assert_eq!(codes(&report), expected, "{context}");
    assert!(report.waits.iter().all(|row| row.mark == Some(Mark::Restarted)), "{context}");
    assert!(outcome.left_behind.is_empty(), "{context}");
    lab.assert_as_before(&context).await;

    let (lab, _, report) = with_faults(version, &[format!("stats-cleared@{at}")]).await;
    let context = format!("cleared: {:?}", report.capture.problems);
    assert_eq!(codes(&report), BTreeSet::from(["counters_reset"]), "{context}");
    assert_eq!(report.capture.sessions[0].outcome, SessionOutcome::Counted, "{context}");
    assert_eq!(report.stacks.total_events, 20_647, "{context}");
    lab.assert_as_before(&context).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_compared_across_a_failover() {
    let version = ServerVersion::V2019;
    let at = sample(version, 20).await;
    for (fault, name) in [("failover=SQL2", "SQL2 answers now"), ("failover", "answers now")] {
        let (_, outcome, report) = with_faults(version, &[format!("{fault}@{at}")]).await;
        let context = format!("{fault}: {:?}", report.capture.problems);
        assert_eq!(report.capture.sessions[0].outcome, SessionOutcome::Missing, "{context}");
        let expected = BTreeSet::from(["identity_changed", "restore_unreachable", "session_missing"]);
        assert_eq!(codes(&report), expected, "{context}");
        // The session is on the first server, which does not answer any more.
        assert!(!outcome.left_behind.is_empty(), "{context}");
        let problem = report.capture.problems.iter().find(|problem| problem.code == "identity_changed").unwrap();
        assert!(problem.message.contains(name), "{context}");
        assert!(outcome.evidence.after.is_none(), "{context}");
        assert!(report.waits.is_empty() && report.spinlocks.is_empty() && report.latches.is_empty(), "{context}");
        assert!((4_500..6_000).contains(&elapsed_ms(&report)), "{context}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_document_and_the_session_lose_is_told_apart() {
    let version = ServerVersion::V2019;
    for (faults, slots, max_events, overflow, expected) in [
        (&[][..], None, None, Overflow::Fold, &[][..]),
        (&["dropped-events=7"], None, None, Overflow::Fold, &["events_dropped"]),
        (&["cut-target=2000"], None, None, Overflow::Fold, &["target_cut"]),
        (&[], Some(4), None, Overflow::Fold, &["at_capacity"]),
        (&[], None, Some(5_000), Overflow::Fold, &["event_cap_reached"]),
        (&[], Some(4), Some(5_000), Overflow::Fold, &["at_capacity", "event_cap_reached"]),
        (&["cut-target=2000", "dropped-events=7"], None, None, Overflow::Fold, &["target_cut", "events_dropped"]),
        (&["dropped-events=7"], Some(4), None, Overflow::Fold, &["events_dropped", "at_capacity"]),
    ] {
        let mut lab = Lab::new(version, |launch| {
            launch.faults.extend(faults.iter().map(|fault| (*fault).to_owned()));
            launch.overflow = overflow;
        })
        .await;
        lab.options.slots = slots;
        lab.options.max_events = max_events;
        let (_, report) = lab.report().await;
        let found: BTreeSet<&str> = codes(&report)
            .into_iter()
            .filter(|code| !["target_oddities", "events_differ_from_counters", "unresolved_frames"].contains(code))
            .collect();
        let context = format!("{faults:?} {slots:?} {max_events:?}: {:?}", report.capture.problems);
        assert_eq!(found, expected.iter().copied().collect(), "{context}");
        let session = &report.capture.sessions[0];
        assert_eq!(session.outcome, SessionOutcome::Counted, "{context}");
        assert_eq!(session.at_capacity, expected.contains(&"at_capacity"), "{context}");
        assert_eq!(session.target_cut, expected.contains(&"target_cut"), "{context}");
        assert_eq!(session.dropped_events.unwrap() > 0, expected.contains(&"events_dropped"), "{context}");
        lab.assert_as_before(&context).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_events_is_not_one_that_is_missing() {
    let mut lab = Lab::new(ServerVersion::V2019, |_| {}).await;
    lab.options.database = Some("master".to_owned());
    let (_, report) = lab.report().await;
    assert_eq!(report.capture.sessions[0].outcome, SessionOutcome::NoEvents);
    assert!(codes(&report).contains("no_events") && !codes(&report).contains("session_missing"));
    lab.assert_as_before("no events").await;
}
