//! Owns the two seams inside the simulated server: between the wire and a session, and between the SQL engine and
//! the instance.

use crate::model::ServerVersion;
use crate::simulator::collation::Collation;
use crate::simulator::language::Language;
use crate::simulator::output::{Message, Output, Step};
use crate::simulator::sql::tokenizer::Token;
use crate::simulator::value::{Column, Datum, SqlType};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What LOGIN7 said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Login {
    pub user: String,
    pub password: String,
    pub host: String,
    pub application: String,
    /// Empty: the login's default.
    pub database: String,
    /// The access token of federated authentication; name and password are empty then.
    pub access_token: Option<String>,
}

/// A parameter of sp_executesql.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Parameter {
    /// With its `@`.
    pub name: String,
    pub sql_type: SqlType,
    pub value: Datum,
}

/// A request a client sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// SQLBatch.
    Batch(String),
    /// sp_executesql: the statement and its parameters.
    ExecuteSql {
        /// The statement.
        sql: String,
        /// Its parameters.
        parameters: Vec<Parameter>,
    },
}

/// Where a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutAt {
    /// Before the statement runs.
    Before,
    /// After it ran; nothing is answered.
    After,
    /// In the middle of a row of its answer, of the answer itself where it has no row.
    MidRow,
}

/// What a fault does to the answer of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// The connection is closed.
    Cut(CutAt),
    /// The statement runs, and its answer is held back that long; without a time until an attention or the client's end.
    Stall(Option<Duration>),
    /// The answer comes at so many bytes in a second.
    Drip(u32),
}

/// What the wire needs of the server behind it.
pub trait Backend: Send + Sync + 'static {
    /// Checks a login and opens a session; the error (18456, 4060) is sent and the connection closed.
    fn login(&self, login: Login) -> Result<Box<dyn Session>, Message>;
    /// The version that pre-login and LOGINACK show: major, minor, build.
    fn version_numbers(&self) -> (u8, u8, u16);
    /// `@@SERVERNAME`, the server name of messages.
    fn server_name(&self) -> String;
    /// The language that logins get.
    fn language(&self) -> Language {
        Language::default()
    }
}

/// One logged-in session; dropping it ends it (session flags and locks die with it).
pub trait Session: Send {
    /// Session id.
    fn spid(&self) -> u16;
    /// The current database, for the login acknowledgement.
    fn database(&self) -> String;
    /// Cancelled when the server ends this session: the connection is closed, whatever it does.
    fn ended(&self) -> CancellationToken {
        CancellationToken::new()
    }
    /// Takes a request, the `number`-th of its connection from 1; nothing runs until [`Session::step`].
    fn start(&mut self, number: u64, request: Request);
    /// Runs on to the next piece of the answer; `None` when the request is done.
    fn step(&mut self) -> Option<Step>;
    /// Attention: the rest of the request is forgotten.
    fn cancel(&mut self);
    /// sp_reset_connection.
    fn reset(&mut self);
    /// The client began a transaction outside of T-SQL, or ended one: `@@TRANCOUNT` is 1 or 0 after it.
    fn set_in_transaction(&mut self, _open: bool) {}
}

/// Who runs a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SessionContext {
    pub spid: u16,
    pub login: String,
    pub database: String,
    pub host: String,
    pub application: String,
}

/// What the SQL engine asks of the instance. Every call is short and synchronous.
pub trait Host: Send + Sync {
    /// Version simulated.
    fn version(&self) -> ServerVersion;
    /// Its collation.
    fn collation(&self) -> Collation {
        Collation::default()
    }
    /// Its language.
    fn language(&self) -> Language {
        Language::default()
    }
    /// The columns of a view or table function in this version; `None` where it does not exist (error 208).
    /// `schema` is `sys` for system views.
    fn columns(&self, schema: &str, name: &str) -> Option<Vec<Column>>;
    /// OBJECT_ID of a view, the one that sys.all_objects shows; `None` where it does not exist.
    fn object_id(&self, schema: &str, name: &str) -> Option<i32>;
    /// Its rows now. `arguments` are those of a table-valued function, empty for a view. Errors: 300 and 297.
    fn rows(
        &self,
        session: &SessionContext,
        schema: &str,
        name: &str,
        arguments: &[Datum],
    ) -> Result<Vec<Vec<Datum>>, Vec<Message>>;
    /// SERVERPROPERTY; `Null` for an unknown name.
    fn server_property(&self, name: &str) -> Datum;
    /// `@@VERSION`.
    fn version_text(&self) -> String;
    /// HAS_PERMS_BY_NAME for the server; `None` (NULL) for a permission this version does not know.
    fn has_permission(&self, session: &SessionContext, permission: &str) -> Option<bool>;
    /// HAS_PERMS_BY_NAME for a database; `None` (NULL) for a database or permission that is not known.
    fn has_database_permission(&self, _: &SessionContext, _database: &str, _permission: &str) -> Option<bool> {
        None
    }
    /// IS_SRVROLEMEMBER; `None` for an unknown role.
    fn is_role_member(&self, session: &SessionContext, role: &str) -> Option<bool>;
    /// Databases by name with their ids, for DB_ID, DB_NAME and USE (911 where missing).
    fn databases(&self) -> Vec<(i32, String)>;
    /// Whether a session may name or use another database than its own; else errors 40508 and 40515.
    fn reaches_other_databases(&self) -> bool {
        true
    }
    /// CREATE, ALTER and DROP EVENT SESSION: the whole statement's tokens.
    fn event_session(&self, session: &SessionContext, statement: &[Token]) -> Result<(), Vec<Message>>;
    /// DBCC: the whole statement's tokens.
    fn dbcc(&self, session: &SessionContext, statement: &[Token]) -> Result<Vec<Output>, Vec<Message>>;
    /// sp_getapplock in the context's database, exclusive, session owner, no waiting: 0 granted, -1 not granted.
    fn get_app_lock(&self, session: &SessionContext, resource: &str) -> i32;
    /// sp_releaseapplock: 0 released; -999 not held.
    fn release_app_lock(&self, session: &SessionContext, resource: &str) -> i32;
    /// Microseconds since the epoch, UTC.
    fn utc_micros(&self) -> i64;
    /// A statement text begins, the `number`-th of its connection from 1. Errors: nothing of it runs.
    fn begin_request(&self, _session: &SessionContext, _number: u64) -> Result<(), Vec<Message>> {
        Ok(())
    }
    /// What faults do to the answer of the statement that has just begun or run; told once.
    fn disturbances(&self, _session: &SessionContext) -> Vec<Disturbance> {
        Vec::new()
    }
    /// Cancelled when the server ends this session.
    fn ended(&self, _session: &SessionContext) -> CancellationToken {
        CancellationToken::new()
    }
    /// sp_reset_connection: the session's locks and flags go, it stays.
    fn reset_session(&self, session: &SessionContext) {
        self.end_session(session);
    }
    /// The session is over: its locks and session flags go.
    fn end_session(&self, session: &SessionContext);
}
