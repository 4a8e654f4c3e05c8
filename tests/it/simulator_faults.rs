//! Faults of a moment and many instances, seen over the wire.

mod answers;
mod instances;
mod servers;
mod triggers;

use crate::simulator_wire::double::PASSWORD;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use xestack::model::Table;
use xestack::simulator::clock::ManualClock;
use xestack::simulator::launch::{self, LaunchOptions, Simulator};
use xestack::simulator::server::TlsMode;
use xestack::simulator::workload::pace::Pace;
use xestack::sqlserver::{Authentication, ConnectOptions, Connection, Encryption, SqlServerError};

/// Longer than any answer takes.
const LIMIT: Duration = Duration::from_secs(60);

const CREATE: &str =
    "CREATE EVENT SESSION [ours] ON SERVER ADD EVENT sqlos.wait_info ADD TARGET package0.event_counter";
const START: &str = "ALTER EVENT SESSION [ours] ON SERVER STATE = START";
const DROP: &str = "DROP EVENT SESSION [ours] ON SERVER";

/// A simulated server without encryption, whose time moves by hand.
struct Lab {
    simulator: Simulator,
    clock: Arc<ManualClock>,
}

impl Lab {
    async fn new(faults: &[&str]) -> Self {
        Self::with(faults, |_| ()).await
    }

    async fn with(faults: &[&str], change: impl FnOnce(&mut LaunchOptions)) -> Self {
        let clock = Arc::new(ManualClock::default());
        let mut options = LaunchOptions {
            faults: faults.iter().map(|&fault| fault.to_owned()).collect(),
            pace: Pace::Burst(Duration::from_secs(10)),
            tls: TlsMode::Off,
            password: Some(PASSWORD.to_owned()),
            clock: clock.clone(),
            ..LaunchOptions::default()
        };
        change(&mut options);
        Self { simulator: launch::launch(options).await.unwrap(), clock }
    }

    fn pass(&self, seconds: i64) {
        self.clock.advance_micros(seconds * 1_000_000);
    }

    async fn client(&self) -> Client {
        Client::at(self.simulator.local_addr()).await
    }
}

/// A logged-in client.
struct Client(Connection);

impl Client {
    async fn at(address: SocketAddr) -> Self {
        let options = ConnectOptions {
            address: format!("127.0.0.1,{}", address.port()).parse().unwrap(),
            authentication: Authentication::Password {
                user: launch::USER.to_owned(),
                password: PASSWORD.to_owned().into(),
            },
            database: None,
            encryption: Encryption::Disabled,
            trust_certificate: false,
            ca_pem: None,
            hostname_in_certificate: None,
            login_timeout: LIMIT,
            query_timeout: LIMIT,
            workstation: "test".to_owned(),
            read_only: false,
            browser_port: 1434,
        };
        Self(Connection::open(&options).await.unwrap())
    }

    async fn try_run(&mut self, sql: &str) -> Result<Vec<Table>, SqlServerError> {
        self.0.run(sql, LIMIT).await
    }

    async fn run(&mut self, sql: &str) -> Vec<Table> {
        self.try_run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The number of the error that a statement fails with.
    async fn error(&mut self, sql: &str) -> u32 {
        self.try_run(sql).await.unwrap_err().number().unwrap_or_else(|| panic!("{sql}: no error of the server"))
    }

    /// The statement's connection breaks; the client is of no more use.
    async fn breaks(mut self, sql: &str) {
        let error = self.try_run(sql).await.unwrap_err();
        assert!(error.is_connection_lost(), "{sql}: {error}");
    }

    async fn integer(&mut self, sql: &str) -> i64 {
        let tables = self.run(sql).await;
        tables[0].rows[0][0].as_integer().unwrap_or_else(|| panic!("{sql}: {:?}", tables[0]))
    }

    async fn text(&mut self, sql: &str) -> String {
        let tables = self.run(sql).await;
        tables[0].rows[0][0].as_text().unwrap_or_else(|| panic!("{sql}: {:?}", tables[0])).to_owned()
    }

    /// Whether the catalogue has the session, and whether it runs.
    async fn ours(&mut self) -> (bool, bool) {
        let defined = "SELECT COUNT(*) FROM sys.server_event_sessions WHERE name = N'ours'";
        let running = "SELECT COUNT(*) FROM sys.dm_xe_sessions WHERE name = N'ours'";
        (self.integer(defined).await == 1, self.integer(running).await == 1)
    }

    /// Collisions on a spinlock that only the load counts.
    async fn collisions(&mut self) -> i64 {
        self.integer("SELECT collisions FROM sys.dm_os_spinlock_stats WHERE name = N'LOCK_HASH'").await
    }

    async fn is_on(&mut self, flag: u32) -> bool {
        let tables = self.run(&format!("DBCC TRACESTATUS ({flag}, -1) WITH NO_INFOMSGS")).await;
        tables[0].integer(0, "Status") == Some(1)
    }

    /// Asks for a lock; `true`: it is granted.
    async fn locks(&mut self, name: &str) -> bool {
        let take = format!(
            "DECLARE @result int; EXEC @result = sys.sp_getapplock @Resource = N'{name}', @LockMode = N'Exclusive', \
             @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public'; SELECT @result"
        );
        self.integer(&take).await == 0
    }
}
