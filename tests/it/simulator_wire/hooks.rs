//! Hooks: the points of an exchange at which a test steps in.

use super::double::{Double, Seen, config, connect, number, serve_hooked};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xestack::simulator::server::TlsMode;
use xestack::simulator::wire::hooks::{HookAction, Hooks, Phase};

fn double() -> Arc<Double> {
    Double::answering([("SELECT 1", vec![number(1)]), ("SELECT 2", vec![number(2)])])
}

#[tokio::test]
async fn every_point_is_told_in_order() {
    let points = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&points);
    let hooks = Hooks::new(move |point| {
        told.lock().unwrap().push((point.connection, point.request, point.sql.to_owned(), point.phase));
        HookAction::Continue
    });
    let double = double();
    let server = serve_hooked(TlsMode::Off, &double, hooks).await;
    for _ in 0..2 {
        let mut client = connect(config(&server)).await.unwrap();
        client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap();
        client.query("SELECT @P1", &[&2]).await.unwrap().into_row().await.unwrap();
        client.close().await.unwrap();
    }
    double.until(|seen| [51, 52].iter().all(|spid| seen.contains(&Seen::End(*spid)))).await;
    let mut expected = Vec::new();
    for connection in 1..=2 {
        for (request, sql) in [(1, "SELECT 1"), (2, "SELECT @P1")] {
            for phase in [Phase::BeforeExecute, Phase::ExecutedNotAnswered, Phase::Answered] {
                expected.push((connection, request, sql.to_owned(), phase));
            }
        }
    }
    let mut points = points.lock().unwrap().clone();
    points.sort_by_key(|point| point.0);
    assert_eq!(points, expected);
}

#[tokio::test]
async fn a_connection_ends_at_the_point_asked_for() {
    for phase in [Phase::BeforeExecute, Phase::ExecutedNotAnswered, Phase::Answered] {
        let hooks = Hooks::new(move |point| {
            if point.request == 2 && point.phase == phase { HookAction::Disconnect } else { HookAction::Continue }
        });
        let double = double();
        let server = serve_hooked(TlsMode::Off, &double, hooks).await;
        let mut client = connect(config(&server)).await.unwrap();
        client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap();
        let answered = match client.simple_query("SELECT 2").await {
            Ok(stream) => stream.into_row().await.is_ok(),
            Err(_) => false,
        };
        assert_eq!(answered, phase == Phase::Answered, "{phase:?}");
        double.until(|seen| seen.contains(&Seen::End(51))).await;
        let started = double.seen().iter().filter(|seen| matches!(seen, Seen::Start(_))).count();
        assert_eq!(started, if phase == Phase::BeforeExecute { 1 } else { 2 }, "{phase:?}");
        client.simple_query("SELECT 1").await.map(|_| ()).unwrap_err();
    }
}

#[tokio::test]
async fn a_delay_holds_only_its_own_connection() {
    let hooks = Hooks::new(|point| {
        if point.connection == 1 { HookAction::Delay(Duration::from_millis(200)) } else { HookAction::Continue }
    });
    let double = double();
    let server = serve_hooked(TlsMode::Off, &double, hooks).await;
    let mut slow = connect(config(&server)).await.unwrap();
    let mut quick = connect(config(&server)).await.unwrap();
    let order = Mutex::new(Vec::new());
    let first = async {
        slow.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap();
        order.lock().unwrap().push("slow");
    };
    let second = async {
        quick.simple_query("SELECT 2").await.unwrap().into_row().await.unwrap();
        order.lock().unwrap().push("quick");
    };
    tokio::join!(first, second);
    assert_eq!(*order.lock().unwrap(), ["quick", "slow"]);
}
