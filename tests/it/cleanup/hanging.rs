//! Servers that stop answering in the middle, or that are others than before.

use super::Client;
use crate::capture::Lab;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use xestack::agent::progress::Interrupt;
use xestack::agent::{self, CaptureError, Outcome};
use xestack::model::ServerVersion;
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};

const FOREVER: Duration = Duration::from_hours(1);

/// Runs a capture on a server that never answers one statement, with a statement limit that nobody will wait for.
async fn with_a_hanging(statement: &'static str, insist: bool) -> (Lab, Result<Outcome, CaptureError>) {
    let interrupt = Interrupt::default();
    let hangs = Arc::new(AtomicBool::new(false));
    let hooks = {
        let interrupt = interrupt.clone();
        Hooks::new(move |point: &HookPoint<'_>| {
            let is_it = point.phase == Phase::BeforeExecute && point.sql.contains(statement);
            if !is_it || hangs.swap(true, Ordering::SeqCst) {
                return HookAction::Continue;
            }
            if insist {
                interrupt.signal();
                interrupt.signal();
            }
            HookAction::Delay(FOREVER)
        })
    };
    let mut lab = Lab::new(ServerVersion::V2019, |launch| launch.hooks = hooks).await;
    lab.surroundings.interrupt = interrupt;
    lab.surroundings.connect.query_timeout = FOREVER;
    let limit = Duration::from_mins(2);
    let result = tokio::time::timeout(limit, agent::capture(&lab.surroundings, &lab.options)).await;
    (lab, result.expect("the run waits for a statement that is never answered"))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_insists_does_not_wait_for_a_statement_that_hangs_and_everything_is_put_back() {
    let (lab, result) = with_a_hanging("DROP EVENT sqlos.", true).await;
    if let Ok(outcome) = &result {
        assert_eq!(outcome.left_behind, []);
    }
    let mut client = Client::of(&lab).await;
    assert_eq!((client.sessions().await, client.flags().await), (vec![], vec![]), "{result:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn restoring_gives_up_a_connection_that_hangs_and_makes_another() {
    let (lab, result) = with_a_hanging("STATE = STOP", false).await;
    assert_eq!(result.unwrap().left_behind, []);
    let mut client = Client::of(&lab).await;
    assert_eq!((client.sessions().await, client.flags().await), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failover_nothing_is_sent_to_the_other_node_and_the_first_one_is_named() {
    let mut lab =
        Lab::new(ServerVersion::V2019, |launch| launch.faults.push("failover=OTHER@alter-drop".to_owned())).await;
    lab.options.trace_flags.enable = false;
    let left_behind = match agent::capture(&lab.surroundings, &lab.options).await {
        Ok(outcome) => outcome.left_behind,
        Err(CaptureError::LeftBehind { left_behind, .. }) => left_behind,
        Err(error) => panic!("{error:?}"),
    };
    let [left] = left_behind.as_slice() else { panic!("{left_behind:?}") };
    assert!(left.what.ends_with(" on XESTACK-SIM"), "{left:?}");
    assert!(left.statement.starts_with("DROP EVENT SESSION [xestack:1:sos-yield:"), "{left:?}");
}
