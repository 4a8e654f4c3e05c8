//! Owns one connection: made, used and given up, every call under an outer time-out.
//!
//! tiberius 0.13 hangs in the call after an abandoned one, and no time-out of its own covers that (measured). So a call
//! that is not answered in time costs the connection: it is dropped, and later calls say that it is closed.

use crate::model::Table;
use crate::sqlserver::decode;
use crate::sqlserver::dial::{Client, dial};
use crate::sqlserver::error::SqlServerError;
use crate::sqlserver::failure;
use crate::sqlserver::options::ConnectOptions;
use futures_util::TryStreamExt as _;
use std::time::Duration;

/// A logged-in connection.
pub struct Connection {
    client: Option<Client>,
    options: ConnectOptions,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("address", &self.options.address)
            .field("open", &self.client.is_some())
            .finish()
    }
}

impl Connection {
    /// Connects and logs in within the login time-out. Follows a few redirections (Azure). A refused login is
    /// [`SqlServerError::Login`]; [`SqlServerError::may_be_retried`] says whether another attempt can make sense.
    pub async fn open(options: &ConnectOptions) -> Result<Self, SqlServerError> {
        let client = Box::pin(dial(options)).await?;
        Ok(Self { client: Some(client), options: options.clone() })
    }

    /// The settings it was made with, for another connection to the same place.
    pub fn options(&self) -> &ConnectOptions {
        &self.options
    }

    /// Whether a statement can still be sent.
    pub fn is_open(&self) -> bool {
        self.client.is_some()
    }

    /// Runs a batch and gives every result set, columns included where there are no rows. An error anywhere in the
    /// answer fails the call, after the answer has been read to its end.
    pub async fn run(&mut self, sql: &str, limit: Duration) -> Result<Vec<Table>, SqlServerError> {
        let address = || self.options.address.clone();
        // Taken out while in use: a call that is dropped half-way leaves no connection behind to hang on.
        let Some(mut client) = self.client.take() else { return Err(SqlServerError::Closed { address: address() }) };
        match tokio::time::timeout(limit, collect(&mut client, sql)).await {
            Ok(Ok(tables)) => {
                self.client = Some(client);
                Ok(tables)
            }
            Ok(Err(tiberius::error::Error::Server(error))) => {
                let source = failure::message(&error);
                // Severity 20 and above closes the connection on the server's side.
                if source.class < 20 {
                    self.client = Some(client);
                }
                Err(SqlServerError::Statement { address: address(), statement: sql.to_owned(), source })
            }
            Ok(Err(error)) => Err(SqlServerError::Lost {
                address: address(),
                statement: sql.to_owned(),
                source: failure::of_use(error),
            }),
            Err(_elapsed) => {
                Err(SqlServerError::TimedOut { address: address(), statement: sql.to_owned(), after: limit })
            }
        }
    }

    /// Logs out; what the server still holds for the session (locks, session flags) goes with it.
    pub async fn close(mut self) {
        if let Some(client) = self.client.take() {
            // The server ends the session with the socket either way.
            let _ignored = tokio::time::timeout(Duration::from_secs(1), client.close()).await;
        }
    }
}

async fn collect(client: &mut Client, sql: &str) -> tiberius::Result<Vec<Table>> {
    use tiberius::QueryItem;
    let mut stream = client.simple_query(sql).await?;
    let mut tables: Vec<Table> = Vec::new();
    while let Some(item) = stream.try_next().await? {
        match item {
            QueryItem::Metadata(metadata) => tables.push(Table {
                columns: metadata.columns().iter().map(|column| column.name().to_owned()).collect(),
                rows: Vec::new(),
            }),
            QueryItem::Row(row) => {
                if let Some(table) = tables.last_mut() {
                    table.rows.push(row.cells().map(|(_, data)| decode::value(data)).collect());
                }
            }
        }
    }
    Ok(tables)
}
