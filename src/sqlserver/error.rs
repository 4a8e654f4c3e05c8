//! Owns what can go wrong between us and a server, with the remedy.

use crate::sqlserver::ServerAddress;
use std::time::Duration;

/// An error a server sent. Decisions are made by `number`, never by text: texts are localised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Msg {number}, Level {class}, State {state}, Line {line}: {text}")]
pub struct ServerMessage {
    /// Message number.
    pub number: u32,
    /// Severity.
    pub class: u8,
    /// State.
    pub state: u8,
    /// Line in the batch.
    pub line: u32,
    /// Localised text.
    pub text: String,
}

/// A failed connection or statement.
#[derive(Debug, thiserror::Error)]
pub enum SqlServerError {
    /// The connection could not be made.
    #[error("could not connect to {address}")]
    Connect {
        /// Where.
        address: ServerAddress,
        /// Why.
        #[source]
        source: ConnectFailure,
    },
    /// The server refused the login.
    #[error("{address} refused the login")]
    Login {
        /// Where.
        address: ServerAddress,
        /// What it said.
        #[source]
        source: ServerMessage,
    },
    /// A statement failed on the server; the connection is still good.
    #[error("{address} refused a statement: {}", first_line(statement))]
    Statement {
        /// Where.
        address: ServerAddress,
        /// What was sent.
        statement: String,
        /// What it said.
        #[source]
        source: ServerMessage,
    },
    /// No answer in time; the connection has been dropped, and the statement may or may not have run.
    #[error("{address} did not answer within {} s: {}", after.as_secs_f64(), first_line(statement))]
    TimedOut {
        /// Where.
        address: ServerAddress,
        /// What was sent.
        statement: String,
        /// How long we waited.
        after: Duration,
    },
    /// The connection broke; the statement may or may not have run.
    #[error("the connection to {address} broke: {}", first_line(statement))]
    Lost {
        /// Where.
        address: ServerAddress,
        /// What was sent.
        statement: String,
        /// Why.
        #[source]
        source: ConnectFailure,
    },
    /// The connection was dropped earlier (a time-out or a break) and nothing was sent.
    #[error("the connection to {address} is closed")]
    Closed {
        /// Where.
        address: ServerAddress,
    },
}

/// Why a connection could not be made or broke.
#[derive(Debug, thiserror::Error)]
pub enum ConnectFailure {
    /// The name or the TCP connection.
    #[error("{0}")]
    Network(#[from] std::io::Error),
    /// Certificate or handshake.
    #[error("TLS: {0}")]
    Tls(String),
    /// The server offers no TLS.
    #[error("the server offers no encryption")]
    NoEncryption,
    /// The server does not begin with TLS.
    #[error("the server ended a connection that begins with TLS")]
    NoStrictEncryption,
    /// The SQL Server Browser did not name the instance's port.
    #[error("{0}")]
    Browser(String),
    /// Out of time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The settings cannot be used here.
    #[error("{0}")]
    Settings(String),
    /// The server did not speak as expected.
    #[error("{0}")]
    Protocol(String),
}

fn first_line(statement: &str) -> String {
    const LONGEST: usize = 120;
    let is_telling = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("--");
    let line = statement.lines().find(is_telling).unwrap_or_default().trim();
    if line.chars().count() > LONGEST {
        line.chars().take(LONGEST).chain("...".chars()).collect()
    } else {
        line.to_owned()
    }
}

impl SqlServerError {
    /// The server's message number, where the server said something.
    pub fn number(&self) -> Option<u32> {
        match self {
            Self::Statement { source, .. } | Self::Login { source, .. } => Some(source.number),
            _ => None,
        }
    }

    /// Whether the connection is gone, so that the statement may or may not have run.
    pub fn is_connection_lost(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::Lost { .. } | Self::Closed { .. })
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Login { source, .. } => Some(login_hint(source.number).to_owned()),
            Self::Connect { source: ConnectFailure::Tls(text), .. } => Some(tls_hint(text).to_owned()),
            Self::Connect { source: ConnectFailure::NoEncryption, .. } => {
                Some("-N disable connects without; then the password and all data can be read on the way".to_owned())
            }
            Self::Connect { source: ConnectFailure::NoStrictEncryption, .. } => {
                Some("-N strict needs SQL Server 2022 or newer, set up for it; leave it out for any other".to_owned())
            }
            Self::Connect { source: ConnectFailure::Browser(_), .. } => Some(BROWSER_HINT.to_owned()),
            Self::Connect { address, source: ConnectFailure::Network(_) | ConnectFailure::TimedOut(_) } => {
                Some(match (&address.instance, address.port) {
                    (Some(_), None) => BROWSER_HINT.to_owned(),
                    _ => format!(
                        "are the host name and TCP port {} right, is it open, and TCP/IP enabled for the instance? -l SECONDS waits longer",
                        address.tcp_port()
                    ),
                })
            }
            Self::TimedOut { .. } => Some("-t SECONDS waits longer for a statement".to_owned()),
            _ => None,
        }
    }
}

const BROWSER_HINT: &str =
    "a named instance needs the SQL Server Browser (UDP 1434); give the port instead: -S host,port";

fn login_hint(number: u32) -> &'static str {
    match number {
        18456 => "check the login name and password (-U, SQLCMDPASSWORD); the login is not tried again",
        18486 => "the account is locked out; the login is not tried again",
        18487 | 18488 => "the password has expired or must be changed first",
        4060 => "the database given with -d cannot be opened by this login",
        40615 => "the server's firewall does not allow this client",
        _ => "the login is not tried again",
    }
}

fn tls_hint(text: &str) -> &'static str {
    let lower = text.to_ascii_lowercase();
    if lower.contains("unknownissuer") || lower.contains("invalid peer certificate") || lower.contains("certificate") {
        "the server's certificate is not trusted here: give its authority with --ca FILE, the name it holds with -F, \
         or trust it unseen with -C"
    } else {
        "an old server may speak no TLS 1.2 (SQL Server 2008 R2 to 2014 need an update for it); nothing is sent unencrypted unless -N disable says so"
    }
}
