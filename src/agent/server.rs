//! Owns a run's connection: every statement goes through it, is timed and remembered for the bundle.

use crate::agent::clock::Clock;
use crate::agent::progress::Interrupt;
use crate::model::Table;
use crate::sqlserver::{ConnectOptions, Connection, SqlServerError};
use crate::statements::RECONNECT_LIMIT_SECONDS;
use crate::store::bundle::StatementRecord;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// For how long a broken connection is tried again, with growing pauses, before it is given up.
pub const RECONNECT_LIMIT: Duration = Duration::from_secs(RECONNECT_LIMIT_SECONDS);
/// The first pause between two attempts; each further one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// How long a statement is still waited for when the user has insisted on the end.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most that one attempt to come back gets, however long the user would wait for a login.
const LOGIN_LIMIT: Duration = Duration::from_secs(30);

/// Every statement of a run, kept apart so that it outlives a panic.
pub(super) type StatementRecords = Arc<Mutex<Vec<StatementRecord>>>;

/// A server in use by one run.
pub(super) struct Server {
    connection: Option<Connection>,
    options: ConnectOptions,
    clock: Arc<dyn Clock>,
    statements: StatementRecords,
    /// The most that a statement gets.
    limit: Duration,
    /// Whose insistence ends the wait for a statement; none where nothing may.
    interrupt: Option<Interrupt>,
    /// Whether the connection is known to lead to the server that the run began on.
    is_home: bool,
    /// Which way of reading a counter table this build understands, where it is not the first.
    ways: BTreeMap<String, usize>,
}

impl Server {
    /// Connects.
    pub(super) async fn connect(options: &ConnectOptions, clock: Arc<dyn Clock>) -> Result<Self, SqlServerError> {
        let connection = Connection::open(options).await?;
        let server = Self::unconnected(options, clock, StatementRecords::default());
        Ok(Self { connection: Some(connection), is_home: true, ..server })
    }

    /// A server whose connection is still to be made, with the statements remembered so far.
    pub(super) fn unconnected(options: &ConnectOptions, clock: Arc<dyn Clock>, statements: StatementRecords) -> Self {
        Self {
            connection: None,
            options: options.clone(),
            clock,
            statements,
            limit: options.query_timeout,
            interrupt: None,
            is_home: false,
            ways: BTreeMap::new(),
        }
    }

    /// From now on the usual limit holds, and an insisting user ends the wait for a statement, which costs the connection.
    pub(super) fn heed(&mut self, interrupt: &Interrupt) {
        self.interrupt = Some(interrupt.clone());
        self.limit = self.options.query_timeout;
    }

    /// From now on nobody's insistence ends a statement, and each gets no more than this.
    pub(super) fn persevere(&mut self, limit: Duration) {
        self.interrupt = None;
        self.limit = limit.min(self.options.query_timeout);
    }

    /// The record of all statements so far, which goes on.
    pub(super) fn records(&self) -> StatementRecords {
        Arc::clone(&self.statements)
    }

    /// Where it connects to.
    pub(super) fn options(&self) -> &ConnectOptions {
        &self.options
    }

    /// Leaves this connection, and connects elsewhere from now on.
    pub(super) fn turn_to(&mut self, options: ConnectOptions) {
        self.connection = None;
        self.is_home = false;
        self.options = options;
    }

    /// Whether the connection is known to lead to the server that the run began on: the first one does.
    pub(super) fn is_home(&self) -> bool {
        self.is_home
    }

    /// The connection leads to the server that the run began on.
    pub(super) fn is_known_home(&mut self) {
        self.is_home = true;
    }

    /// Runs a batch under the usual time-out.
    pub(super) async fn run(&mut self, sql: &str) -> Result<Vec<Table>, SqlServerError> {
        self.run_within(sql, self.limit).await
    }

    /// Runs a batch under a time-out of its own.
    pub(super) async fn run_within(&mut self, sql: &str, limit: Duration) -> Result<Vec<Table>, SqlServerError> {
        let Some(connection) = &mut self.connection else {
            return Err(SqlServerError::Closed { address: self.options.address.clone() });
        };
        let started = self.clock.monotonic();
        let utc = self.clock.utc();
        let result = match &self.interrupt {
            None => connection.run(sql, limit).await,
            Some(interrupt) => tokio::select! {
                result = connection.run(sql, limit) => result,
                () = out_of_patience(interrupt) => Err(SqlServerError::TimedOut {
                    address: self.options.address.clone(),
                    statement: sql.to_owned(),
                    after: self.clock.monotonic().saturating_sub(started),
                }),
            },
        };
        if !connection.is_open() {
            self.connection = None;
            self.is_home = false;
        }
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        let n = statements.len() as u64 + 1;
        statements.push(StatementRecord {
            n,
            utc,
            sql: sql.to_owned(),
            rows: result.as_ref().ok().map(|tables| tables.iter().map(|table| table.rows.len() as u64).sum()),
            error: result.as_ref().err().and_then(SqlServerError::number),
            ms: self.clock.monotonic().saturating_sub(started).as_millis() as u64,
        });
        result
    }

    /// The only table of a batch that has one; an empty one where the answer held none.
    pub(super) async fn table(&mut self, sql: &str) -> Result<Table, SqlServerError> {
        Ok(self.run(sql).await?.into_iter().next().unwrap_or_default())
    }

    /// The way in which a counter table is read here: the position among its texts.
    pub(super) fn way(&self, table: &str) -> usize {
        self.ways.get(table).copied().unwrap_or_default()
    }

    /// Remembers the way that worked, or the first that has not failed yet.
    pub(super) fn keep_way(&mut self, table: &str, way: usize) {
        self.ways.insert(table.to_owned(), way);
    }

    /// Whether statements can be sent.
    pub(super) fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// Makes sure that there is a connection, trying for [`RECONNECT_LIMIT`] with growing pauses. What died with the old
    /// one (locks, session flags) is not taken again.
    pub(super) async fn reconnect(&mut self) -> Result<(), SqlServerError> {
        let login_timeout = self.options.login_timeout.min(LOGIN_LIMIT);
        let options = ConnectOptions { login_timeout, ..self.options.clone() };
        let since = self.clock.monotonic();
        let mut pause = FIRST_PAUSE;
        while self.connection.is_none() {
            self.is_home = false;
            match Connection::open(&options).await {
                Ok(connection) => self.connection = Some(connection),
                Err(error) if !error.may_be_retried() => return Err(error),
                Err(error) => {
                    let next = self.clock.monotonic() + pause;
                    if next.saturating_sub(since) > RECONNECT_LIMIT {
                        return Err(error);
                    }
                    self.clock.sleep_until(next).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
        Ok(())
    }

    /// Logs out and gives the record of all statements.
    pub(super) async fn close(mut self) -> Vec<StatementRecord> {
        if let Some(connection) = self.connection.take() {
            connection.close().await;
        }
        std::mem::take(&mut self.statements.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Waits until the user insists, and a little longer.
async fn out_of_patience(interrupt: &Interrupt) {
    interrupt.insisted().await;
    tokio::time::sleep(PATIENCE).await;
}
