//! Servers that refuse to be put back, or do not say how they are.

use super::{Client, START, clean, ended, marker};
use crate::capture::Lab;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xestack::agent::{self, Answer};
use xestack::model::ServerVersion;
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};

async fn lab_with_a_dead_run(fault: &str) -> (Lab, Client, tempfile::TempDir) {
    let lab = Lab::new(ServerVersion::V2019, |launch| launch.faults.push(fault.to_owned())).await;
    let mut client = Client::of(&lab).await;
    client.make(&marker(1, ended(), START, &[3656]).to_string(), true).await;
    client.run("DBCC TRACEON (3656, -1) WITH NO_INFOMSGS").await;
    (lab, client, tempfile::tempdir().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_traceoff_is_left_behind_with_its_statement_and_the_name_stays_to_tell_of_it() {
    let (lab, mut client, state) = lab_with_a_dead_run("error=2571@traceoff").await;
    let done = clean(&lab.surroundings, state.path(), false).await;
    let statements: Vec<&str> = done.left_behind.iter().map(|left| left.statement.as_str()).collect();
    let [off, drop] = statements.as_slice() else { panic!("{statements:?}") };
    assert!(off.starts_with("DBCC TRACEOFF (3656, -1)") && drop.starts_with("DROP EVENT SESSION [xestack:1:"));
    assert_eq!((client.sessions().await.len(), client.flags().await), (1, vec![3656]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_stop_does_not_keep_a_session_from_being_dropped() {
    let (lab, mut client, state) = lab_with_a_dead_run("error=25704@stop").await;
    let done = clean(&lab.surroundings, state.path(), false).await;
    assert_eq!((done.left_behind.as_slice(), done.runs[0].statements[0].result), (&[][..], Answer::AlreadySo));
    assert_eq!((client.sessions().await, client.flags().await), (vec![], vec![]));
    let (lab, mut client, state) = lab_with_a_dead_run("error=25699@stop").await;
    let done = clean(&lab.surroundings, state.path(), false).await;
    assert_eq!((done.left_behind.as_slice(), done.runs[0].statements[0].result), (&[][..], Answer::Refused));
    assert_eq!(client.sessions().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_drop_is_left_behind() {
    let (lab, mut client, state) = lab_with_a_dead_run("error=15247@drop").await;
    let done = clean(&lab.surroundings, state.path(), false).await;
    assert_eq!(done.left_behind.len(), 1);
    assert_eq!((client.sessions().await.len(), client.flags().await), (1, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_that_cannot_be_read_are_unknown_and_turned_off() {
    let lab = Lab::new(ServerVersion::V2019, |launch| launch.faults.push("error=2560@tracestatus".to_owned())).await;
    let mut client = Client::of(&lab).await;
    client.make(&marker(1, ended(), START, &[3656]).to_string(), true).await;
    let state = tempfile::tempdir().unwrap();
    let shown = clean(&lab.surroundings, state.path(), true).await;
    assert!(shown.left_behind.iter().any(|left| left.what.contains("3656 unknown")), "{:?}", shown.left_behind);
    let done = clean(&lab.surroundings, state.path(), false).await;
    let off = done.runs[0].statements.iter().find(|sent| sent.statement.starts_with("DBCC TRACEOFF (3656, -1)"));
    assert_eq!(off.map(|sent| sent.result), Some(Answer::Done));
    assert!(done.problems.iter().any(|problem| problem.code == "trace_status_unknown"));
    assert_eq!((done.left_behind, client.sessions().await), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_whose_traceoff_is_refused_says_what_remains() {
    let mut lab = Lab::new(ServerVersion::V2019, |launch| launch.faults.push("error=2571@traceoff".to_owned())).await;
    lab.options.trace_flags.during_window = true;
    let outcome = agent::capture(&lab.surroundings, &lab.options).await.unwrap();
    let flags: Vec<&str> = outcome.left_behind.iter().map(|left| left.statement.as_str()).collect();
    assert!(flags.iter().any(|statement| statement.starts_with("DBCC TRACEOFF (3656, -1)")), "{flags:?}");
    assert!(flags.iter().any(|statement| statement.starts_with("DROP EVENT SESSION")), "{flags:?}");
    assert!(outcome.evidence.trace_flags.iter().all(|flag| !flag.restored), "{:?}", outcome.evidence.trace_flags);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_gone_for_good_is_given_up_after_the_limit_with_the_statements() {
    let gone = Arc::new(AtomicBool::new(false));
    let hooks = {
        let gone = Arc::clone(&gone);
        Hooks::new(move |point: &HookPoint<'_>| {
            if point.phase == Phase::Answered && point.sql.contains("STATE = START") {
                gone.store(true, Ordering::SeqCst);
            }
            if gone.load(Ordering::SeqCst) && point.phase == Phase::BeforeExecute {
                return HookAction::Disconnect;
            }
            HookAction::Continue
        })
    };
    let mut lab = Lab::new(ServerVersion::V2019, |launch| launch.hooks = hooks).await;
    lab.options.trace_flags.enable = false;
    let error = agent::capture(&lab.surroundings, &lab.options).await.unwrap_err();
    let agent::CaptureError::LeftBehind { left_behind, .. } = &error else { panic!("{error:?}") };
    assert!(left_behind[0].statement.starts_with("DROP EVENT SESSION [xestack:1:sos-yield:"), "{left_behind:?}");
    gone.store(false, Ordering::SeqCst);
}
