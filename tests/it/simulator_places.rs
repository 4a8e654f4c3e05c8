//! Tests of the places that the simulated server stands in for: statements over TDS in, rows or error numbers out.

mod azure_db;
mod azure_mi;
mod collations;
mod hosts;
mod languages;
mod logins;
mod rows;

use std::sync::Arc;
use std::time::Duration;
use tiberius::{AuthMethod, Client, ColumnData, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};
use xestack::model::ServerVersion;
use xestack::simulator::clock::ManualClock;
use xestack::simulator::launch::{self, LaunchOptions, Simulator};
use xestack::simulator::server::TlsMode;
use xestack::simulator::workload::pace::Pace;

/// A simulated server on a clock moved by hand.
struct Place {
    simulator: Simulator,
    clock: Arc<ManualClock>,
}

/// One connection to it.
struct Session(Client<Compat<TcpStream>>);

/// Values as text, NULL as `NULL`.
type Rows = Vec<Vec<String>>;

impl Place {
    async fn new(version: ServerVersion, faults: &[&str], logins: &[&str]) -> Self {
        let clock = Arc::new(ManualClock::default());
        let options = LaunchOptions {
            version,
            pace: Pace::Burst(Duration::from_secs(10)),
            faults: faults.iter().map(ToString::to_string).collect(),
            accounts: logins.iter().map(|login| login.parse().unwrap()).collect(),
            tls: TlsMode::Off,
            clock: clock.clone(),
            ..LaunchOptions::default()
        };
        Self { simulator: launch::launch(options).await.unwrap(), clock }
    }

    fn pass(&self, time: Duration) {
        self.clock.advance_micros(i64::try_from(time.as_micros()).unwrap());
    }

    /// A login; the number of the error that refuses it.
    async fn try_login(&self, user: &str, database: Option<&str>) -> Result<Session, u32> {
        let mut config = Config::new();
        config.host("127.0.0.1");
        config.port(self.simulator.local_addr().port());
        config.authentication(AuthMethod::sql_server(user, self.simulator.password()));
        config.encryption(EncryptionLevel::NotSupported);
        if let Some(database) = database {
            config.database(database);
        }
        let tcp = TcpStream::connect(config.get_addr()).await.unwrap();
        tcp.set_nodelay(true).unwrap();
        Client::connect(config, tcp.compat_write()).await.map(Session).map_err(|error| error.code().unwrap())
    }

    async fn login(&self, user: &str) -> Session {
        self.try_login(user, None).await.unwrap()
    }

    async fn login_to(&self, database: &str) -> Session {
        self.try_login("sa", Some(database)).await.unwrap()
    }
}

impl Session {
    /// The first result set; the number of the first error.
    async fn try_rows(&mut self, sql: &str) -> Result<Rows, u32> {
        self.answer(sql).await.map_err(|(number, _)| number)
    }

    /// The first result set; number and text of the first error.
    async fn answer(&mut self, sql: &str) -> Result<Rows, (u32, String)> {
        let failed = |error: tiberius::error::Error| match error {
            tiberius::error::Error::Server(error) => (error.code(), error.message().to_owned()),
            other => panic!("{sql}: {other}"),
        };
        let results = self.0.simple_query(sql).await.map_err(failed)?.into_results().await.map_err(failed)?;
        let rows = results.into_iter().next().unwrap_or_default();
        Ok(rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
    }

    async fn rows(&mut self, sql: &str) -> Rows {
        self.answer(sql).await.unwrap_or_else(|(number, text)| panic!("{sql}: {number} {text}"))
    }

    /// The only value.
    async fn value(&mut self, sql: &str) -> String {
        let rows = self.rows(sql).await;
        rows.first().and_then(|row| row.first()).unwrap_or_else(|| panic!("{sql}: no row")).clone()
    }

    /// The number of the error that a statement fails with; 0 for none.
    async fn error(&mut self, sql: &str) -> u32 {
        self.try_rows(sql).await.err().unwrap_or(0)
    }

    async fn run(&mut self, sql: &str) {
        self.rows(sql).await;
    }
}

fn text(value: ColumnData<'static>) -> String {
    let shown = match value {
        ColumnData::U8(value) => value.map(|value| value.to_string()),
        ColumnData::I16(value) => value.map(|value| value.to_string()),
        ColumnData::I32(value) => value.map(|value| value.to_string()),
        ColumnData::I64(value) => value.map(|value| value.to_string()),
        ColumnData::F32(value) => value.map(|value| value.to_string()),
        ColumnData::F64(value) => value.map(|value| value.to_string()),
        ColumnData::Bit(value) => value.map(|value| u8::from(value).to_string()),
        ColumnData::String(value) => value.map(std::borrow::Cow::into_owned),
        ColumnData::Guid(value) => value.map(|value| value.to_string()),
        ColumnData::Binary(value) => value.map(|value| format!("{value:02x?}")),
        other => Some(format!("{other:?}")),
    };
    shown.unwrap_or_else(|| "NULL".to_owned())
}
