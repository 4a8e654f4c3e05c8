//! What faults do to the answer of a statement: cut, stall, drip, errors.

use super::{CREATE, Client, DROP, LIMIT, Lab, START};
use crate::simulator_wire::raw::{batch, logged_in_at, packet, read_message};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use xestack::simulator::server::TlsMode;
use xestack::sqlserver::{Encryption, SqlServerError};

/// The last packet of a message.
const END: u8 = 1;
const ATTENTION: u8 = 6;
const ACKNOWLEDGED: [u8; 13] = [0xFD, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[tokio::test]
async fn a_connection_is_cut_before_or_after_a_statement_once() {
    for (fault, ran) in [
        ("cut=before@create", false),
        ("cut=after@create", true),
        ("cut@create", true),
        ("cut=mid-row@create", true),
        ("cut=before@2", false),
        ("cut=after@2", true),
        ("cut@2", true),
        ("cut=mid-row@2", true),
    ] {
        let lab = Lab::new(&[fault]).await;
        let mut client = lab.client().await;
        client.run("SELECT 1").await;
        client.breaks(CREATE).await;
        let mut client = lab.client().await;
        assert_eq!(client.ours().await, (ran, false), "{fault}");
        if ran {
            client.run(DROP).await;
        }
        client.run(CREATE).await;
    }
}

#[tokio::test]
async fn a_fault_given_twice_happens_twice() {
    let lab = Lab::new(&["cut=before@create", "cut=before@create"]).await;
    lab.client().await.breaks(CREATE).await;
    lab.client().await.breaks(CREATE).await;
    lab.client().await.run(CREATE).await;
}

#[tokio::test]
async fn a_cut_at_a_name_leaves_the_rest_of_the_batch_and_at_a_number_nothing() {
    let both = format!("{CREATE}; {START}");
    for (fault, expected) in [
        ("cut=after@create", (true, false)),
        ("cut=before@start", (true, false)),
        ("cut=after@start", (true, true)),
        ("cut=after@1", (true, true)),
        ("cut=before@1", (false, false)),
    ] {
        let lab = Lab::new(&[fault]).await;
        lab.client().await.breaks(&both).await;
        assert_eq!(lab.client().await.ours().await, expected, "{fault}");
    }
}

#[tokio::test]
async fn a_statement_is_met_wherever_it_stands() {
    let caught = format!("BEGIN TRY {CREATE} END TRY BEGIN CATCH SELECT 1 END CATCH");
    for sql in [format!("EXEC (N'{CREATE}')"), format!("IF 1 = 1 BEGIN {CREATE} END"), caught] {
        let lab = Lab::new(&["cut=before@create"]).await;
        lab.client().await.run(&format!("IF 1 = 0 BEGIN {CREATE} END")).await;
        lab.client().await.breaks(&sql).await;
        assert_eq!(lab.client().await.ours().await, (false, false), "{sql}");
    }
}

#[tokio::test]
async fn a_cut_reaches_a_client_that_uses_tls() {
    let lab = Lab::with(&["cut=mid-row@sys.databases"], |launch| launch.tls = TlsMode::On).await;
    let options = xestack::sqlserver::ConnectOptions {
        encryption: Encryption::Mandatory,
        ..crate::capture::connect_options(&lab.simulator)
    };
    let open = async || Client(xestack::sqlserver::Connection::open(&options).await.unwrap());
    open().await.breaks("SELECT name FROM sys.databases").await;
    open().await.run("SELECT name FROM sys.databases").await;
}

async fn send(tcp: &mut TcpStream, sql: &str) {
    tcp.write_all(&batch(sql, END)).await.unwrap();
}

/// The bodies of all packets until the server closes, and whether one of them ended the message.
async fn read_to_close(tcp: &mut TcpStream) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    tcp.read_to_end(&mut bytes).await.unwrap();
    let (mut body, mut ended) = (Vec::new(), false);
    let mut rest = bytes.as_slice();
    while let [_, status, high, low, ..] = *rest {
        let length = usize::from(u16::from_be_bytes([high, low]));
        body.extend_from_slice(&rest[8..length]);
        ended |= status & END != 0;
        rest = &rest[length..];
    }
    (body, ended)
}

#[tokio::test]
async fn a_row_is_cut_in_its_middle() {
    const ROWS: &str = "SELECT name FROM sys.databases ORDER BY name";
    const LONG: &str = "SELECT CAST(REPLICATE(CAST(N'x' AS nvarchar(max)), 200000) AS nvarchar(max)) AS t, name \
                        FROM sys.databases WHERE name = N'master'";
    for (fault, sql, without) in [
        ("cut=mid-row@sys.databases", ROWS, "SELECT name FROM sys.databases WHERE 1 = 0"),
        ("cut=mid-row@1", ROWS, "SELECT name FROM sys.databases WHERE 1 = 0"),
        ("cut=mid-row@sys.databases", LONG, "SELECT name FROM sys.databases WHERE 1 = 0"),
    ] {
        let lab = Lab::new(&[fault]).await;
        let mut tcp = logged_in_at(lab.simulator.local_addr()).await;
        send(&mut tcp, sql).await;
        let (cut, ended) = read_to_close(&mut tcp).await;
        let mut tcp = logged_in_at(lab.simulator.local_addr()).await;
        send(&mut tcp, sql).await;
        let whole = read_message(&mut tcp).await;
        send(&mut tcp, without).await;
        let done = 13;
        let metadata = read_message(&mut tcp).await.len() - done;
        assert!(!ended && whole.starts_with(&cut), "{fault}: {sql}");
        let rows = whole.len() - done - metadata;
        assert!(cut.len() > metadata + rows / 4 && cut.len() < metadata + rows * 3 / 4, "{fault}: {sql}");
    }
}

#[tokio::test]
async fn an_answer_without_rows_is_cut_too() {
    for fault in ["cut=mid-row@create", "cut=mid-row@1"] {
        let lab = Lab::new(&[fault]).await;
        let mut tcp = logged_in_at(lab.simulator.local_addr()).await;
        send(&mut tcp, CREATE).await;
        assert_eq!(read_to_close(&mut tcp).await, (vec![0xFD, 0, 0, 0, 0, 0], false), "{fault}");
    }
}

#[tokio::test]
async fn a_stalled_statement_has_run_and_obeys_an_attention() {
    for fault in ["stall@create", "stall=3600@create", "stall@1"] {
        let lab = Lab::new(&[fault]).await;
        let mut tcp = logged_in_at(lab.simulator.local_addr()).await;
        send(&mut tcp, CREATE).await;
        let mut other = lab.client().await;
        while !other.ours().await.0 {
            tokio::task::yield_now().await;
        }
        tcp.write_all(&packet(ATTENTION, END, &[])).await.unwrap();
        assert_eq!(read_message(&mut tcp).await, ACKNOWLEDGED, "{fault}");
        send(&mut tcp, DROP).await;
        assert_eq!(read_message(&mut tcp).await, [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "{fault}");
        send(&mut tcp, CREATE).await;
        assert_eq!(read_message(&mut tcp).await[..2], [0xFD, 0], "{fault} comes once");
    }
}

#[tokio::test]
async fn a_stall_is_no_answer_in_time_and_ends_with_its_time() {
    let lab = Lab::new(&["stall@2", "stall=0.05@sys.databases"]).await;
    let mut client = lab.client().await;
    client.run("SELECT 1").await;
    let stalled = client.0.run("SELECT 2", Duration::from_millis(50)).await;
    assert!(matches!(stalled, Err(SqlServerError::TimedOut { .. })));
    let mut client = lab.client().await;
    assert!(!client.run("SELECT name FROM sys.databases").await[0].rows.is_empty());
    assert_eq!(client.integer("SELECT 2").await, 2);
}

#[tokio::test]
async fn an_answer_drips_until_its_end_or_an_attention() {
    const SQL: &str = "SELECT name FROM sys.databases ORDER BY name";
    for (quick, slow) in [("drip=20000@sys.databases", "drip=1@sys.databases"), ("drip@1", "drip=1@1")] {
        let lab = Lab::new(&[quick]).await;
        let mut tcp = logged_in_at(lab.simulator.local_addr()).await;
        send(&mut tcp, SQL).await;
        let dripped = read_message(&mut tcp).await;
        send(&mut tcp, SQL).await;
        let whole = read_message(&mut tcp).await;
        assert_eq!(dripped, whole, "{quick}");

        let lab = Lab::new(&[slow]).await;
        let mut tcp = logged_in_at(lab.simulator.local_addr()).await;
        send(&mut tcp, SQL).await;
        let mut begin = [0; 4_096];
        let first = tcp.read(&mut begin).await.unwrap();
        assert!(first < whole.len(), "{slow}: an answer of minutes came at once");
        tcp.write_all(&packet(ATTENTION, END, &[])).await.unwrap();
        let mut answer = begin[..first].to_vec();
        let length = whole.len() + 8;
        answer.resize(length, 0);
        tokio::time::timeout(LIMIT, tcp.read_exact(&mut answer[first..])).await.unwrap().unwrap();
        assert_eq!(answer[8..], whole, "{slow}");
        assert_eq!(read_message(&mut tcp).await, ACKNOWLEDGED, "{slow}");
        send(&mut tcp, SQL).await;
        assert_eq!(read_message(&mut tcp).await, whole, "{slow} comes once");
    }
}

#[tokio::test]
async fn an_error_at_a_number_holds_for_every_connection_and_nothing_runs() {
    let lab = Lab::new(&["error=1205@2"]).await;
    for _ in 0..2 {
        let mut client = lab.client().await;
        client.run("SELECT 1").await;
        assert_eq!(client.error(&format!("SELECT 1; {CREATE}")).await, 1205);
        assert_eq!(client.ours().await, (false, false));
    }
}

#[tokio::test]
async fn calls_count_as_batches_do() {
    use crate::simulator_wire::double;
    use tiberius::{AuthMethod, Config, EncryptionLevel};
    let lab = Lab::new(&["error=1205@2", "cut=before@3"]).await;
    let mut config = Config::new();
    config.host("localhost");
    config.port(lab.simulator.local_addr().port());
    config.authentication(AuthMethod::sql_server("sa", double::PASSWORD));
    config.encryption(EncryptionLevel::NotSupported);
    let mut client = double::connect(config).await.unwrap();
    client.query("SELECT @P1", &[&1]).await.unwrap().into_row().await.unwrap().unwrap();
    let error = match client.query("SELECT @P1", &[&2]).await {
        Ok(stream) => stream.into_results().await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(error.code(), Some(1205));
    assert!(client.query("SELECT @P1", &[&3]).await.is_err());
}

#[tokio::test]
async fn a_trace_flag_cannot_be_turned_off() {
    let lab = Lab::new(&["error=2571@traceoff"]).await;
    let mut client = lab.client().await;
    client.run("DBCC TRACEON (3656, -1) WITH NO_INFOMSGS").await;
    for _ in 0..2 {
        assert_eq!(client.error("DBCC TRACEOFF (3656, -1) WITH NO_INFOMSGS").await, 2571);
    }
    assert!(client.is_on(3656).await);
}
