//! The simulated server's side of TDS, seen by tiberius and by raw bytes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attention;
pub(crate) mod double;
mod hooks;
mod procedures;
pub(crate) mod raw;
mod types;

use double::{Double, PASSWORD, Seen, config, connect, info, message, number, serve};
use futures_util::TryStreamExt;
use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;
use tiberius::error::Error;
use tiberius::{AuthMethod, Config, EncryptionLevel, QueryItem};
use xestack::simulator::host::{Login, Request};
use xestack::simulator::output::{Message, Output, Step};
use xestack::simulator::server::{Server, TlsMode};

fn select_one() -> std::sync::Arc<Double> {
    Double::answering([("SELECT 1", vec![number(1)])])
}

/// Whether a login and a query work.
async fn works(config: Config) -> Result<(), Error> {
    let mut client = connect(config).await?;
    let row = client.simple_query("SELECT 1").await?.into_row().await?.unwrap();
    assert_eq!(row.try_get::<i32, _>("n")?, Some(1));
    client.close().await
}

fn pem_file(server: &Server) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::with_suffix(".pem").unwrap();
    file.write_all(server.certificate_pem().unwrap().as_bytes()).unwrap();
    file
}

#[tokio::test]
async fn a_plain_login_reaches_the_backend_whole() {
    let double = select_one();
    let server = serve(TlsMode::Off, &double).await;
    let mut config = config(&server);
    config.database("tempdb");
    config.client_name("workstation");
    works(config).await.unwrap();
    let expected = Login {
        user: "sa".into(),
        password: PASSWORD.into(),
        host: "workstation".into(),
        application: "wire tests".into(),
        database: "tempdb".into(),
        access_token: None,
    };
    assert_eq!(double.seen().first(), Some(&Seen::Login(expected)));
    assert!(server.certificate_pem().is_none());
}

#[tokio::test]
async fn tls_works_for_a_client_that_trusts_any_certificate_or_just_this_one() {
    let double = select_one();
    let server = serve(TlsMode::On, &double).await;
    let pem = pem_file(&server);
    for encryption in [EncryptionLevel::Off, EncryptionLevel::On, EncryptionLevel::Required] {
        let mut trusting = config(&server);
        trusting.encryption(encryption);
        trusting.trust_cert();
        works(trusting).await.unwrap();
        for host in ["localhost", "127.0.0.1", "::1"] {
            let mut checking = config(&server);
            checking.encryption(encryption);
            checking.host(host);
            checking.trust_cert_ca(pem.path().display());
            works(checking).await.unwrap();
        }
    }
}

#[tokio::test]
async fn the_certificate_is_for_localhost_only() {
    let server = serve(TlsMode::On, &select_one()).await;
    let pem = pem_file(&server);
    let mut other_name = config(&server);
    other_name.encryption(EncryptionLevel::Required);
    other_name.host("elsewhere.example");
    other_name.trust_cert_ca(pem.path().display());
    let error = works(other_name).await.unwrap_err();
    assert!(matches!(error, Error::Tls(_)), "{error:?}");
}

#[tokio::test]
async fn strict_tls_comes_before_tds() {
    let server = serve(TlsMode::Strict, &select_one()).await;
    let pem = pem_file(&server);
    let mut strict = config(&server);
    strict.encryption(EncryptionLevel::Strict);
    strict.trust_cert_ca(pem.path().display());
    works(strict).await.unwrap();
    works(config(&server)).await.unwrap_err();
}

#[tokio::test]
async fn a_client_that_requires_tls_does_not_get_a_plain_connection() {
    let server = serve(TlsMode::Off, &select_one()).await;
    let mut config = config(&server);
    config.encryption(EncryptionLevel::Required);
    config.trust_cert();
    works(config).await.unwrap_err();
}

#[tokio::test]
async fn a_wrong_password_is_error_18456() {
    for tls in [TlsMode::Off, TlsMode::On] {
        let server = serve(tls, &select_one()).await;
        let mut config = config(&server);
        config.authentication(AuthMethod::sql_server("sa", "wrong"));
        if tls == TlsMode::On {
            config.encryption(EncryptionLevel::Required);
            config.trust_cert();
        }
        let error = works(config).await.unwrap_err();
        assert_eq!(error.code(), Some(18456), "{error}");
    }
}

/// Everything a query gives, a word an item.
async fn items(client: &mut double::Connection, sql: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut stream = match client.simple_query(sql).await {
        Ok(stream) => stream,
        Err(error) => return vec![format!("error {}", error.code().unwrap())],
    };
    loop {
        match stream.try_next().await {
            Ok(Some(QueryItem::Metadata(metadata))) => items.push(format!("set {}", metadata.result_index())),
            Ok(Some(QueryItem::Row(row))) => items.push(format!("row {}", row.try_get::<i32, _>(0).unwrap().unwrap())),
            Ok(None) => return items,
            Err(error) => items.push(format!("error {}", error.code().unwrap())),
        }
    }
}

#[tokio::test]
async fn result_sets_messages_and_errors_come_in_their_order() {
    let done = || Step::Output(Output::Done);
    let failure = || message(Message::new(50001, 16, "raised"));
    let double = Double::answering([
        ("nothing", vec![]),
        ("done", vec![done(), done()]),
        ("two sets", vec![number(1), info("between"), done(), number(2), info("after")]),
        ("error between", vec![number(1), failure(), number(2)]),
        ("error first", vec![failure(), number(2)]),
        ("error last", vec![number(1), failure()]),
        ("error", vec![failure()]),
        ("use", vec![Step::Output(Output::Database("tempdb".into())), number(7)]),
        ("return", vec![Step::Output(Output::ReturnStatus(3)), number(7)]),
    ]);
    let server = serve(TlsMode::Off, &double).await;
    let client = &mut connect(config(&server)).await.unwrap();
    assert!(items(client, "nothing").await.is_empty());
    assert!(items(client, "done").await.is_empty());
    assert_eq!(items(client, "two sets").await, ["set 0", "row 1", "set 1", "row 2"]);
    assert_eq!(items(client, "error between").await, ["set 0", "row 1", "set 1", "row 2", "error 50001"]);
    assert_eq!(items(client, "error last").await, ["set 0", "row 1", "error 50001"]);
    assert_eq!(items(client, "error").await, ["error 50001"]);
    assert_eq!(items(client, "use").await, ["set 0", "row 7"]);
    assert_eq!(items(client, "return").await, ["set 0", "row 7"]);
    assert_eq!(items(client, "unknown").await, ["error 208"]);
    assert_eq!(items(client, "two sets").await, ["set 0", "row 1", "set 1", "row 2"], "still usable");
}

#[tokio::test]
async fn an_error_keeps_all_its_parts() {
    let mut raised = Message::new(25623, 15, "The event name, \"žluť\", is invalid").at_line(7);
    raised.state = 3;
    let server = serve(TlsMode::Off, &Double::answering([("error", vec![message(raised)])])).await;
    let mut client = connect(config(&server)).await.unwrap();
    let Err(Error::Server(token)) = client.simple_query("error").await.map(|_| ()) else { panic!("no server error") };
    assert_eq!((token.code(), token.class(), token.state(), token.line()), (25623, 15, 3, 7));
    assert_eq!((token.message(), token.server()), ("The event name, \"žluť\", is invalid", "DOUBLE"));
}

#[tokio::test]
async fn transactions_of_the_driver_begin_and_end() {
    let server = serve(TlsMode::Off, &select_one()).await;
    let mut client = connect(config(&server)).await.unwrap();
    client.begin_transaction().await.unwrap();
    client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap();
    client.commit_transaction().await.unwrap();
    client.begin_transaction().await.unwrap();
    client.rollback_transaction().await.unwrap();
    assert_eq!(client.commit_transaction().await.unwrap_err().code(), Some(3902));
    client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap();
}

#[tokio::test]
async fn stopping_closes_every_connection_and_the_listener() {
    let double = Double::answering([("wait", vec![Step::Wait(double::FOR_EVER)]), ("SELECT 1", vec![number(1)])]);
    let server = serve(TlsMode::Off, &double).await;
    let mut idle = connect(config(&server)).await.unwrap();
    let mut busy = connect(config(&server)).await.unwrap();
    let running = tokio::spawn(async move { busy.simple_query("wait").await.map(|_| ()) });
    double.until(|seen| seen.iter().any(|seen| matches!(seen, Seen::Start(_)))).await;
    server.stop().await;
    assert!(running.await.unwrap().is_err());
    assert!(idle.simple_query("SELECT 1").await.is_err());
    assert!(tokio::net::TcpStream::connect(server.local_addr()).await.is_err());
    double.until(|seen| seen.iter().filter(|seen| matches!(seen, Seen::End(_))).count() == 2).await;
}

/// All connections share one thread here: a step that ran on it would block the query that ends the step.
#[tokio::test(flavor = "current_thread")]
async fn a_step_that_keeps_its_thread_busy_keeps_no_other_connection_waiting() {
    let (release, released) = std::sync::mpsc::channel();
    let (release, released) = (Mutex::new(release), Mutex::new(released));
    let double = Double::scripted(move |request| {
        match request {
            Request::Batch(sql) if sql == "busy" => {
                released.lock().unwrap().recv_timeout(Duration::from_secs(10)).unwrap();
            }
            _ => release.lock().unwrap().send(()).unwrap(),
        }
        vec![number(1)]
    });
    let server = serve(TlsMode::Off, &double).await;
    let mut busy = connect(config(&server)).await.unwrap();
    let busy = tokio::spawn(async move { busy.simple_query("busy").await.unwrap().into_row().await.unwrap() });
    works(config(&server)).await.unwrap();
    assert!(busy.await.unwrap().is_some());
}

#[tokio::test]
async fn connections_do_not_wait_for_each_other() {
    let double = Double::answering([("wait", vec![Step::Wait(double::FOR_EVER)]), ("SELECT 1", vec![number(1)])]);
    let server = serve(TlsMode::Off, &double).await;
    let mut waiting = Vec::new();
    for _ in 0..50 {
        let mut client = connect(config(&server)).await.unwrap();
        waiting.push(tokio::spawn(async move { client.simple_query("wait").await.map(|_| ()) }));
    }
    double.until(|seen| seen.iter().filter(|seen| matches!(seen, Seen::Start(_))).count() == 50).await;
    works(config(&server)).await.unwrap();
    drop(server);
    for client in waiting {
        assert!(client.await.unwrap().is_err());
    }
}
