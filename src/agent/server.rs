//! Owns a run's connection: every statement goes through it, is timed and remembered for the bundle.

use crate::agent::clock::Clock;
use crate::model::Table;
use crate::sqlserver::{ConnectOptions, Connection, SqlServerError};
use crate::store::bundle::StatementRecord;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How often a broken connection is tried again before the run gives up on it.
const RECONNECT_ATTEMPTS: u32 = 3;

/// A server in use by one run.
pub(super) struct Server {
    connection: Option<Connection>,
    options: ConnectOptions,
    clock: Arc<dyn Clock>,
    statements: Vec<StatementRecord>,
    /// Which way of reading a counter table this build understands, where it is not the first.
    ways: BTreeMap<String, usize>,
}

impl Server {
    /// Connects.
    pub(super) async fn connect(options: &ConnectOptions, clock: Arc<dyn Clock>) -> Result<Self, SqlServerError> {
        let connection = Connection::open(options).await?;
        Ok(Self {
            connection: Some(connection),
            options: options.clone(),
            clock,
            statements: Vec::new(),
            ways: BTreeMap::new(),
        })
    }

    /// A server whose connection is still to be made, with the statements remembered so far.
    pub(super) fn unconnected(
        options: &ConnectOptions,
        clock: Arc<dyn Clock>,
        statements: Vec<StatementRecord>,
    ) -> Self {
        Self { connection: None, options: options.clone(), clock, statements, ways: BTreeMap::new() }
    }

    /// Runs a batch under the usual time-out.
    pub(super) async fn run(&mut self, sql: &str) -> Result<Vec<Table>, SqlServerError> {
        self.run_within(sql, self.options.query_timeout).await
    }

    /// Runs a batch under a time-out of its own.
    pub(super) async fn run_within(&mut self, sql: &str, limit: Duration) -> Result<Vec<Table>, SqlServerError> {
        let Some(connection) = &mut self.connection else {
            return Err(SqlServerError::Closed { address: self.options.address.clone() });
        };
        let started = self.clock.monotonic();
        let utc = self.clock.utc();
        let result = connection.run(sql, limit).await;
        if !connection.is_open() {
            self.connection = None;
        }
        self.statements.push(StatementRecord {
            n: self.statements.len() as u64 + 1,
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

    /// Makes sure that there is a connection, trying a few times with growing pauses. What died with the old one (locks,
    /// session flags) is not taken again.
    pub(super) async fn reconnect(&mut self) -> Result<(), SqlServerError> {
        let mut attempt = 1;
        while self.connection.is_none() {
            match Connection::open(&self.options).await {
                Ok(connection) => self.connection = Some(connection),
                // A refused login stays refused, and trying again can lock the account.
                Err(error @ SqlServerError::Login { .. }) => return Err(error),
                Err(error) if attempt >= RECONNECT_ATTEMPTS => return Err(error),
                Err(_) => {
                    let pause = Duration::from_millis(500) * 2_u32.pow(attempt - 1);
                    self.clock.sleep_until(self.clock.monotonic() + pause).await;
                    attempt += 1;
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
        self.statements
    }
}
