//! The simulated server's side of TDS, seen by tiberius and by raw bytes.

mod double;

use double::{Double, PASSWORD, Seen, config, connect, message, number, rows, serve};
use std::time::Duration;
use tiberius::{AuthMethod, EncryptionLevel};
use xestack::simulator::host::Login;
use xestack::simulator::output::{Message, Output, Step};
use xestack::simulator::server::TlsMode;
use xestack::simulator::value::{Column, Datum, SqlType};

#[tokio::test]
async fn a_plain_login_reaches_the_backend_whole() {
    let double = Double::answering([("SELECT 1", vec![number(1)])]);
    let server = serve(TlsMode::Off, &double).await;
    let mut config = config(&server);
    config.database("tempdb");
    let mut client = connect(config).await.unwrap();
    let row = client.simple_query("SELECT 1").await.unwrap().into_row().await.unwrap().unwrap();
    assert_eq!(row.try_get::<i32, _>("n").unwrap(), Some(1));
    let Some(Seen::Login(Login { user, password, application, database, .. })) = double.seen().into_iter().next()
    else {
        panic!("no login was seen")
    };
    assert_eq!(
        (user.as_str(), password.as_str(), application.as_str(), database.as_str()),
        ("sa", PASSWORD, "wire tests", "tempdb")
    );
}
