//! Attention: a client gives a request up and goes on with its connection.

use super::double::{Double, FOR_EVER, Seen, config, connect, number, rows, serve, serve_hooked};
use futures_util::TryStreamExt;
use std::time::Duration;
use tiberius::EncryptionLevel;
use xestack::simulator::output::Step;
use xestack::simulator::server::TlsMode;
use xestack::simulator::value::{Column, Datum, SqlType};
use xestack::simulator::wire::hooks::{HookAction, Hooks, Phase};

#[tokio::test]
async fn a_waiting_request_is_cancelled_and_the_connection_stays_usable() {
    for tls in [TlsMode::Off, TlsMode::On] {
        let steps = || vec![number(7), Step::Wait(FOR_EVER), number(8)];
        let double = Double::answering([("wait", steps()), ("SELECT 1", vec![number(1)])]);
        let server = serve(tls, &double).await;
        let mut config = config(&server);
        if tls == TlsMode::On {
            config.encryption(EncryptionLevel::Required);
            config.trust_cert();
        }
        let mut client = connect(config).await.unwrap();
        for round in 1..=3 {
            let waiting = client.simple_query("wait");
            tokio::time::timeout(Duration::from_millis(50), waiting).await.map(|_| ()).unwrap_err();
            client.cancel_query().await.unwrap();
            assert_eq!(double.count(&Seen::Cancel), round);
            let row = client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap().unwrap();
            assert_eq!(row.try_get::<i32, _>(0).unwrap(), Some(1));
        }
    }
}

#[tokio::test]
async fn a_long_answer_is_cut_short() {
    const SETS: usize = 64;
    let columns = vec![Column::new("text", SqlType::NVarChar(None))];
    let megabyte = Datum::Text("x".repeat(1 << 20));
    let answer: Vec<Step> = (0..SETS).map(|_| rows(columns.clone(), vec![vec![megabyte.clone()]])).collect();
    let double = Double::answering([("long", answer), ("SELECT 1", vec![number(1)])]);
    let server = serve(TlsMode::Off, &double).await;
    let mut client = connect(config(&server)).await.unwrap();
    let mut stream = client.simple_query("long").await.unwrap();
    stream.try_next().await.unwrap();
    stream.try_next().await.unwrap();
    drop(stream);
    client.cancel_query().await.unwrap();
    assert_eq!(double.count(&Seen::Cancel), 1, "64 sets of 2 MiB do not fit into the buffers of a socket");
    let row = client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap().unwrap();
    assert_eq!(row.try_get::<i32, _>(0).unwrap(), Some(1));
}

#[tokio::test]
async fn an_attention_between_requests_is_answered() {
    let double = Double::answering([("SELECT 1", vec![number(1)])]);
    let server = serve(TlsMode::Off, &double).await;
    let mut client = connect(config(&server)).await.unwrap();
    client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap();
    client.cancel_query().await.unwrap();
    client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap();
    assert_eq!(double.count(&Seen::Cancel), 0);
}

#[tokio::test]
async fn a_request_delayed_by_a_hook_is_cancelled_before_it_runs() {
    let double = Double::answering([("slow", vec![number(1)]), ("SELECT 1", vec![number(1)])]);
    let hooks = Hooks::new(|point| match (point.sql, point.phase) {
        ("slow", Phase::BeforeExecute) => HookAction::Delay(FOR_EVER),
        _ => HookAction::Continue,
    });
    let server = serve_hooked(TlsMode::Off, &double, hooks).await;
    let mut client = connect(config(&server)).await.unwrap();
    let waiting = client.simple_query("slow");
    tokio::time::timeout(Duration::from_millis(50), waiting).await.map(|_| ()).unwrap_err();
    client.cancel_query().await.unwrap();
    client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap();
    assert!(double.seen().iter().filter(|seen| matches!(seen, Seen::Start(_))).count() == 1, "slow never started");
}

#[tokio::test]
async fn a_client_that_leaves_while_it_waits_ends_its_session() {
    let double = Double::answering([("wait", vec![Step::Wait(FOR_EVER)])]);
    let server = serve(TlsMode::Off, &double).await;
    let mut client = connect(config(&server)).await.unwrap();
    let waiting = client.simple_query("wait");
    tokio::time::timeout(Duration::from_millis(50), waiting).await.map(|_| ()).unwrap_err();
    drop(client);
    double.until(|seen| seen.contains(&Seen::End(51))).await;
}
