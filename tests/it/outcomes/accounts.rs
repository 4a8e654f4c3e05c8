//! What a report says of the capture itself: its cost, its own waits, the time its counters cover, and what is told before
//! anything is changed.

use crate::analyze::support::{Host, analyze, finding, problem, published_case, table};
use crate::capture::Lab;
use std::sync::{Arc, Mutex};
use xestack::agent::progress::Progress;
use xestack::model::{Evidence, ServerVersion, Severity, Table, Value};

/// `sys.dm_exec_sessions` of the collector: session, CPU and time of its statements in ms.
fn own(session_id: i64, cpu_ms: i64, busy_ms: i64) -> Table {
    let row = [session_id, cpu_ms, busy_ms].map(Value::Integer).to_vec();
    table(&["session_id", "cpu_time", "total_elapsed_time"], vec![row])
}

/// The published case, with the collector's own session at the start, in two samples and at the end.
fn with_own_session(version: ServerVersion, readings: [(i64, i64, i64); 4]) -> Evidence {
    let mut evidence = published_case(&Host { version, samples: 2, ..Host::default() });
    let [first, second] = evidence.samples.as_mut_slice() else { panic!("two samples") };
    let snapshots = [evidence.before.as_mut().unwrap(), first, second, evidence.after.as_mut().unwrap()];
    for (at, (snapshot, (session, cpu, busy))) in snapshots.into_iter().zip(readings).enumerate() {
        snapshot.tables.insert("dm_exec_sessions".to_owned(), own(session, cpu, busy));
        let info = snapshot.tables.get_mut("dm_os_sys_info").unwrap();
        let column = info.column("ms_ticks").unwrap();
        info.rows[0][column] = Value::Integer(500_000 + [0, 2_000, 6_000, 10_000][at]);
    }
    evidence
}

#[test]
fn own_cost_is_summed_over_connections_and_never_guessed() {
    let of = |readings| analyze(&with_own_session(ServerVersion::V2019, readings));
    let report = of([(60, 10, 10), (60, 30, 40), (60, 50, 80), (60, 110, 190)]);
    let cost = finding(&report, "own_cost");
    assert_eq!(cost.value, Some(0.01), "100 ms of 10 s");
    assert!(cost.text.contains("100 ms of the server's CPU in 10.0 s, 33.3 ms a reading"), "{}", cost.text);
    // Another connection in the middle: what it had cost before its first reading is not known.
    let cost_of_two = of([(60, 10, 10), (60, 30, 40), (75, 500, 900), (75, 560, 990)]);
    assert_eq!(finding(&cost_of_two, "own_cost").value, Some(80.0 / 6_000.0));
    let of_none = of([(60, 10, 10), (61, 30, 40), (62, 50, 80), (63, 110, 190)]);
    assert!(!of_none.findings.iter().any(|finding| finding.name == "own_cost"));
    assert!(!analyze(&published_case(&Host::default())).findings.iter().any(|finding| finding.name == "own_cost"));
}

#[test]
fn before_2016_own_waits_are_bounded_and_said() {
    let readings = [(60, 10, 10), (60, 30, 40), (60, 50, 80), (60, 110, 190)];
    for (version, is_said) in [
        (ServerVersion::V2008R2, true),
        (ServerVersion::V2014, true),
        (ServerVersion::V2016, false),
        (ServerVersion::V2022, false),
    ] {
        let report = analyze(&with_own_session(version, readings));
        let said = problem(&report, "own_waits_included");
        assert_eq!(said.is_some(), is_said, "{version}");
        if let Some(said) = said {
            assert!(said.message.contains("at most 80 ms"), "{}", said.message);
            assert_eq!(said.severity, Severity::Info);
        }
    }
}

#[test]
fn counters_that_cover_another_time_than_the_events_are_said_to() {
    for (counters_ms, differs) in [(10_000, false), (10_500, false), (9_500, false), (10_501, true), (9_499, true)] {
        let mut evidence = published_case(&Host { elapsed_ms: counters_ms, ..Host::default() });
        evidence.window.as_mut().unwrap().elapsed_ms = 10_000;
        let report = analyze(&evidence);
        assert_eq!(problem(&report, "coverage_differs").is_some(), differs, "{counters_ms} ms");
        // Without events there is nothing to compare with.
        evidence.sessions.clear();
        assert!(problem(&analyze(&evidence), "coverage_differs").is_none(), "{counters_ms} ms");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_bounds_and_error_log_lines_are_told_before_anything_changes() {
    let sessions = "2 lines of event sessions (25753, 25754)";
    let flags = |lines: u32| format!("up to {lines} lines of trace flags (17550, 17551)");
    for (version, with_flags, logged) in [
        (ServerVersion::V2017, true, vec![flags(4)]),
        (ServerVersion::V2019, true, vec![flags(8)]),
        (ServerVersion::V2019, false, vec![]),
        (ServerVersion::V2022, false, vec![sessions.to_owned()]),
    ] {
        let mut lab = Lab::new(version, |_| {}).await;
        lab.options.trace_flags.enable = with_flags;
        let told: Arc<Mutex<Vec<Progress>>> = Arc::default();
        lab.surroundings.observer = {
            let told = Arc::clone(&told);
            Arc::new(move |progress| told.lock().unwrap().push(progress.clone()))
        };
        lab.report().await;
        let told = std::mem::take(&mut *told.lock().unwrap());
        let before = told.iter().take_while(|progress| !matches!(progress, Progress::WindowOpened { .. }));
        let notes: Vec<&str> = before
            .filter_map(|progress| match progress {
                Progress::Note(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert!(notes[0].contains("events a second are to be expected; at most 1000000 events"), "{notes:?}");
        assert!(notes[0].contains("KB of session memory and up to"), "{notes:?}");
        let log: Vec<&str> = notes.iter().copied().filter(|note| note.contains("error log")).collect();
        assert_eq!(log.len(), usize::from(!logged.is_empty()), "{version}: {notes:?}");
        assert!(logged.iter().all(|lines| log[0].contains(lines.as_str())), "{version}: {notes:?}");
        lab.assert_as_before("announcements").await;
    }
}
