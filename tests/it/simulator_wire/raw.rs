//! Raw bytes, among them such as no driver sends: the server closes or answers, never hangs, and serves others on.

use super::double::{Double, FOR_EVER, PASSWORD, Seen, config, connect, free_port, number, rows, serve};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use xestack::simulator::output::Step;
use xestack::simulator::server::{Server, ServerOptions, TlsMode, start};
use xestack::simulator::value::{Column, Datum, SqlType};
use xestack::simulator::wire::attention::AttentionReply;

pub(crate) fn packet(kind: u8, status: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![kind, status];
    out.extend_from_slice(&((body.len() + 8) as u16).to_be_bytes());
    out.extend_from_slice(&[0, 0, 1, 0]);
    out.extend_from_slice(body);
    out
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn prelogin() -> Vec<u8> {
    packet(0x12, 1, &[0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 9, 0, 0, 0, 0, 0, 2])
}

fn login() -> Vec<u8> {
    let user = utf16("sa");
    let password: Vec<u8> = utf16(PASSWORD).iter().map(|byte| byte.rotate_left(4) ^ 0xA5).collect();
    let mut body = vec![0; 94];
    body[4..8].copy_from_slice(&0x7400_0004_u32.to_le_bytes());
    let mut at = 94;
    for (entry, data) in [(40, &user), (44, &password)] {
        body[entry..entry + 2].copy_from_slice(&(at as u16).to_le_bytes());
        body[entry + 2..entry + 4].copy_from_slice(&((data.len() / 2) as u16).to_le_bytes());
        body.extend_from_slice(data);
        at += data.len();
    }
    let length = (body.len() as u32).to_le_bytes();
    body[..4].copy_from_slice(&length);
    packet(0x10, 1, &body)
}

pub(crate) fn batch(sql: &str, status: u8) -> Vec<u8> {
    let mut body = vec![4, 0, 0, 0];
    body.extend_from_slice(&utf16(sql));
    packet(1, status, &body)
}

/// Reads one message: what the packets of an answer carry.
pub(crate) async fn read_message(tcp: &mut TcpStream) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let mut header = [0; 8];
        tcp.read_exact(&mut header).await.unwrap();
        assert_eq!(header[0], 4);
        let start = body.len();
        body.resize(start + usize::from(u16::from_be_bytes([header[2], header[3]])) - 8, 0);
        tcp.read_exact(&mut body[start..]).await.unwrap();
        if header[1] == 1 {
            return body;
        }
    }
}

async fn logged_in(server: &Server) -> TcpStream {
    logged_in_at(server.local_addr()).await
}

/// Logged in with [`PASSWORD`] to a server without encryption.
pub(crate) async fn logged_in_at(address: SocketAddr) -> TcpStream {
    let mut tcp = TcpStream::connect(address).await.unwrap();
    tcp.write_all(&prelogin()).await.unwrap();
    read_message(&mut tcp).await;
    tcp.write_all(&login()).await.unwrap();
    let answer = read_message(&mut tcp).await;
    assert_eq!(answer[0], 0xE3, "the login was refused");
    tcp
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[tokio::test]
async fn a_reset_connection_forgets_its_session_and_says_so() {
    const RESET: u8 = 0x08;
    let double = Double::answering([("SELECT 1", vec![number(1)])]);
    let server = serve(TlsMode::Off, &double).await;
    let mut tcp = logged_in(&server).await;
    tcp.write_all(&batch("SELECT 1", 1)).await.unwrap();
    let acknowledgement = [0xE3, 3, 0, 18, 0, 0];
    assert!(!contains(&read_message(&mut tcp).await, &acknowledgement));
    tcp.write_all(&batch("SELECT 1", 1 | RESET)).await.unwrap();
    let answer = read_message(&mut tcp).await;
    assert!(answer.starts_with(&acknowledgement));
    assert_eq!(double.count(&Seen::Reset), 1);
}

#[tokio::test]
async fn a_request_given_up_while_it_is_sent_is_answered_and_never_run() {
    const IGNORE: u8 = 0x02;
    let double = Double::answering([("SELECT 1", vec![number(1)])]);
    let server = serve(TlsMode::Off, &double).await;
    let mut tcp = logged_in(&server).await;
    tcp.write_all(&batch("SELECT", 0)).await.unwrap();
    tcp.write_all(&packet(1, 1 | IGNORE, &[])).await.unwrap();
    assert_eq!(read_message(&mut tcp).await, [0xFD, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    tcp.write_all(&batch("SELECT 1", 1)).await.unwrap();
    read_message(&mut tcp).await;
    assert_eq!(double.seen().iter().filter(|seen| matches!(seen, Seen::Start(_))).count(), 1);
}

#[tokio::test]
async fn a_request_sent_while_another_one_runs_waits_for_its_turn() {
    let waiting = vec![Step::Wait(Duration::from_millis(100)), number(7)];
    let double = Double::answering([("wait", waiting), ("SELECT 1", vec![number(1)])]);
    let server = serve(TlsMode::Off, &double).await;
    let mut tcp = logged_in(&server).await;
    let mut both = batch("wait", 1);
    both.extend(batch("SELECT 1", 1));
    tcp.write_all(&both).await.unwrap();
    assert!(contains(&read_message(&mut tcp).await, &[0xD1, 4, 7]));
    assert!(contains(&read_message(&mut tcp).await, &[0xD1, 4, 1]));
}

#[tokio::test]
async fn an_attention_is_acknowledged_at_the_end_of_the_answer_or_apart() {
    const FAILED: [u8; 13] = [0xFD, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    const ACKNOWLEDGED: [u8; 13] = [0xFD, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for attention in [AttentionReply::InAnswer, AttentionReply::Apart] {
        let double = Double::answering([("wait", vec![number(7), Step::Wait(FOR_EVER)])]);
        let options = ServerOptions { attention, ..ServerOptions::new(free_port()) };
        let server = start(options, double).await.unwrap();
        let mut tcp = logged_in(&server).await;
        tcp.write_all(&batch("wait", 1)).await.unwrap();
        tcp.write_all(&packet(6, 1, &[])).await.unwrap();
        let answer = read_message(&mut tcp).await;
        if attention == AttentionReply::Apart {
            assert!(answer.ends_with(&FAILED) && !contains(&answer, &ACKNOWLEDGED));
            assert_eq!(read_message(&mut tcp).await, ACKNOWLEDGED);
        } else {
            assert!(answer.ends_with(&ACKNOWLEDGED));
        }
        tcp.write_all(&packet(6, 1, &[])).await.unwrap();
        assert_eq!(read_message(&mut tcp).await, ACKNOWLEDGED, "there is nothing to end");
    }
}

#[tokio::test]
async fn an_attention_is_seen_in_the_middle_of_a_result_set() {
    const MEGABYTES: usize = 64;
    let columns = vec![Column::new("bytes", SqlType::VarBinary(None))];
    let set = (0..MEGABYTES).map(|_| vec![Datum::Binary(vec![7; 1 << 20])]).collect();
    let server = serve(TlsMode::Off, &Double::answering([("long", vec![rows(columns, set)])])).await;
    let mut tcp = logged_in(&server).await;
    tcp.write_all(&batch("long", 1)).await.unwrap();
    tcp.write_all(&packet(6, 1, &[])).await.unwrap();
    let answer = read_message(&mut tcp).await;
    assert!(answer.ends_with(&[0xFD, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert!(answer.len() < MEGABYTES << 19, "{} bytes came", answer.len());
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_told_and_ends_the_connection() {
    let double = Double::answering([]);
    let server = serve(TlsMode::Off, &double).await;
    for request in [packet(1, 1, &[200, 0, 0, 0]), packet(3, 1, &[4, 0, 0, 0, 0xFF]), packet(14, 1, &[])] {
        let mut tcp = logged_in(&server).await;
        tcp.write_all(&request).await.unwrap();
        let mut answer = Vec::new();
        tcp.read_to_end(&mut answer).await.unwrap();
        assert!(contains(&answer, &4002_u32.to_le_bytes()), "{request:?}");
    }
    double.until(|seen| seen.iter().filter(|seen| matches!(seen, Seen::End(_))).count() == 3).await;
}

#[tokio::test]
async fn a_request_beyond_the_limit_ends_the_connection() {
    let server = serve(TlsMode::Off, &Double::answering([])).await;
    let mut tcp = logged_in(&server).await;
    let part = packet(1, 0, &vec![0; 32_000]);
    let sending = async {
        // 64 MiB and more; writing fails once the server has closed.
        for _ in 0..3_000 {
            tcp.write_all(&part).await?;
        }
        tcp.read(&mut [0]).await
    };
    assert!(matches!(sending.await, Err(_) | Ok(0)));
}

#[tokio::test]
async fn an_old_client_is_told_that_it_is_too_old() {
    let double = Double::answering([]);
    let server = serve(TlsMode::Off, &double).await;
    let mut tcp = TcpStream::connect(server.local_addr()).await.unwrap();
    tcp.write_all(&prelogin()).await.unwrap();
    read_message(&mut tcp).await;
    let mut login = login();
    login[12..16].copy_from_slice(&0x7100_0001_u32.to_le_bytes());
    tcp.write_all(&login).await.unwrap();
    assert!(contains(&read_message(&mut tcp).await, &17832_u32.to_le_bytes()));
    assert!(double.seen().is_empty());
}

#[tokio::test]
async fn a_session_that_panics_ends_only_its_own_connection() {
    let double = Double::scripted(|request| match request {
        xestack::simulator::host::Request::Batch(sql) if sql == "panic" => panic!("a fault of the engine"),
        _ => vec![number(1)],
    });
    let server = serve(TlsMode::Off, &double).await;
    let mut other = connect(config(&server)).await.unwrap();
    let mut client = connect(config(&server)).await.unwrap();
    client.simple_query("panic").await.map(|_| ()).unwrap_err();
    other.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap();
}

/// Sends bytes, says that no more come, and waits for the server to close.
async fn send_and_wait_for_close(address: SocketAddr, bytes: Vec<u8>) {
    let mut tcp = TcpStream::connect(address).await.unwrap();
    let exchange = async {
        // The server may close before it has read everything.
        let sent = tcp.write_all(&bytes).await;
        if sent.is_ok() && tcp.shutdown().await.is_ok() {
            let mut answer = Vec::new();
            tcp.read_to_end(&mut answer).await.ok();
        }
    };
    tokio::time::timeout(Duration::from_secs(10), exchange).await.expect("the server neither answers nor closes");
}

/// A whole exchange in one piece, with some bytes changed and perhaps cut.
fn damaged_exchange() -> impl Strategy<Value = Vec<u8>> {
    let mut exchange = prelogin();
    exchange.extend(login());
    exchange.extend(batch("SELECT 1", 1));
    exchange.extend(packet(6, 1, &[]));
    exchange.extend(batch("wait", 1));
    let length = exchange.len();
    let changes = proptest::collection::vec((0..length, any::<u8>()), 0..5);
    (changes, 0..=length).prop_map(move |(changes, cut)| {
        let mut bytes = exchange.clone();
        for (index, byte) in changes {
            bytes[index] = byte;
        }
        bytes.truncate(cut);
        bytes
    })
}

#[test]
fn no_bytes_hang_or_harm_a_live_server() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let answers = || [("SELECT 1", vec![number(1)]), ("wait", vec![Step::Wait(FOR_EVER)])];
    for tls in [TlsMode::Off, TlsMode::On, TlsMode::Strict] {
        let double = Double::answering(answers());
        let server = runtime.block_on(serve(tls, &double));
        let address = server.local_addr();
        let mut runner = TestRunner::new(ProptestConfig::with_cases(128));
        let bytes = prop_oneof![damaged_exchange(), proptest::collection::vec(any::<u8>(), 0..200)];
        runner
            .run(&bytes, |bytes| {
                runtime.block_on(send_and_wait_for_close(address, bytes));
                Ok(())
            })
            .unwrap();
        if tls == TlsMode::Off {
            let row = runtime.block_on(async {
                let mut client = connect(config(&server)).await.unwrap();
                client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap()
            });
            assert!(row.is_some());
        }
    }
}
