//! Owns what can go wrong between us and a server, with the remedy.

use crate::sqlserver::ServerAddress;
use crate::sqlserver::browser::BrowserError;
use crate::sqlserver::hints;
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
    /// The TCP connection.
    #[error("{0}")]
    Network(#[from] std::io::Error),
    /// The host's name.
    #[error("the name {host} cannot be looked up")]
    Name {
        /// The name.
        host: Box<str>,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The SQL Server Browser did not name the instance's port.
    #[error(transparent)]
    Browser(Box<BrowserError>),
    /// No address took a connection in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The connection was taken, and then nothing came.
    #[error("the server takes connections and says nothing within {} s", .0.as_secs_f64())]
    Silent(Duration),
    /// The server answered and did not finish the login.
    #[error("the server did not finish the login within {} s", .0.as_secs_f64())]
    Stalled(Duration),
    /// The connection was taken and closed.
    #[error("the server closes the connection before it says anything")]
    ClosedAtOnce,
    /// What answered does not speak TDS.
    #[error("what answers there is no SQL Server")]
    NotTds,
    /// The server's certificate was rejected.
    #[error("TLS: {told}")]
    Certificate {
        /// What is wrong with it.
        problem: CertificateProblem,
        /// In the words of the TLS library.
        told: Box<str>,
        /// Whether the encryption is strict, where every certificate is validated.
        strict: bool,
    },
    /// Something else about TLS.
    #[error("TLS: {0}")]
    Tls(String),
    /// No TLS could be agreed on.
    #[error("TLS with SQL Server {} failed: {told}", version_text(*.version))]
    TlsRefused {
        /// The server's version.
        version: Option<(u8, u8, u16)>,
        /// In the words of the TLS library.
        told: Box<str>,
    },
    /// The server closed the connection in the TLS handshake.
    #[error("SQL Server {} closed the connection during the TLS handshake", version_text(*.version))]
    TlsClosed {
        /// The server's version.
        version: Option<(u8, u8, u16)>,
    },
    /// The server offers no TLS.
    #[error("the server offers no encryption")]
    NoEncryption,
    /// The server does not go on without TLS.
    #[error("the server insists on encryption")]
    InsistsOnEncryption,
    /// The server does not begin with TLS.
    #[error("the server ended a connection that begins with TLS")]
    NoStrictEncryption,
    /// The server begins with TLS and takes nothing else.
    #[error("the server takes strict encryption only")]
    OnlyStrictEncryption,
    /// The server begins with something else than the TLS that strict encryption needs.
    #[error("strict encryption failed: {0}")]
    StrictRefused(String),
    /// A failure at another server, to which the first one sent its client on.
    #[error("redirected to {to}")]
    Redirected {
        /// The other server.
        to: Box<ServerAddress>,
        /// What failed there.
        #[source]
        source: Box<ConnectFailure>,
    },
    /// A redirection to where the client has already been.
    #[error("the server redirects in a circle, to {0} again")]
    RedirectLoop(String),
    /// Redirections without an end.
    #[error("the server redirects more than {0} times")]
    TooManyRedirects(usize),
    /// This build does not speak Kerberos.
    #[error("Windows authentication needs Kerberos here, which this build does not speak (service {principal})")]
    NoKerberos {
        /// The server's service principal name.
        principal: String,
    },
    /// The server did not speak as expected.
    #[error("{0}")]
    Protocol(String),
}

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateProblem {
    /// Nobody trusted vouches for it.
    Trust,
    /// It is for other names.
    Name,
    /// It is too old or too new.
    Time,
}

fn version_text(version: Option<(u8, u8, u16)>) -> String {
    version.map_or_else(String::new, |(major, minor, build)| format!("{major}.{minor}.{build}"))
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

    /// Whether the same attempt can succeed a little later: networks, and servers that are starting. A refused password
    /// is never tried again, for that can lock the account (18456, 18486 to 18488), and neither is what only another
    /// setting mends.
    pub fn may_be_retried(&self) -> bool {
        match self {
            Self::Login { source, .. } => TRANSIENT_LOGIN_ERRORS.contains(&source.number),
            Self::Connect { source, .. } => source.is_transient(),
            Self::TimedOut { .. } | Self::Lost { .. } | Self::Closed { .. } => true,
            Self::Statement { .. } => false,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Login { source, .. } => Some(hints::of_login(source.number).to_owned()),
            Self::Connect { address, source } => hints::of_connecting(address, source),
            Self::TimedOut { .. } => Some("-t SECONDS waits longer for a statement".to_owned()),
            _ => None,
        }
    }
}

/// What a server answers to a login while it starts, is paused or has no worker to spare, and Azure while it moves a
/// database (documentation of errors; "Troubleshoot transient connection errors in SQL Database").
const TRANSIENT_LOGIN_ERRORS: [u32; 12] =
    [10_928, 17_142, 17_187, 17_197, 18_401, 40_143, 40_197, 40_501, 40_613, 49_918, 49_919, 49_920];

impl ConnectFailure {
    /// Whether time can mend it; what only another setting does, it cannot.
    fn is_transient(&self) -> bool {
        match self {
            Self::Redirected { source, .. } => source.is_transient(),
            Self::Certificate { .. }
            | Self::NoEncryption
            | Self::InsistsOnEncryption
            | Self::NoStrictEncryption
            | Self::OnlyStrictEncryption
            | Self::RedirectLoop(_)
            | Self::TooManyRedirects(_)
            | Self::NoKerberos { .. } => false,
            Self::Browser(error) => !matches!(**error, BrowserError::Name(_) | BrowserError::NoTcp { .. }),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectFailure, ServerMessage, SqlServerError};

    #[test]
    fn a_refused_login_is_never_tried_again_and_a_broken_network_may_be() {
        let address = || "db1".parse().unwrap();
        let login = |number| SqlServerError::Login {
            address: address(),
            source: ServerMessage { number, class: 14, state: 1, line: 0, text: String::new() },
        };
        for number in [18_456, 18_486, 18_487, 18_488, 18_452, 18_470, 18_451, 17_892, 17_810, 4_060, 40_615, 1] {
            assert!(!login(number).may_be_retried(), "{number}");
            assert!(login(number).hint().is_some(), "{number}");
        }
        for number in [40_613, 40_197, 18_401, 17_187, 17_142] {
            assert!(login(number).may_be_retried(), "{number}");
        }
        let connect = |source| SqlServerError::Connect { address: address(), source };
        assert!(connect(ConnectFailure::Network(std::io::ErrorKind::ConnectionRefused.into())).may_be_retried());
        assert!(!connect(ConnectFailure::NoEncryption).may_be_retried());
        assert!(!connect(ConnectFailure::RedirectLoop("db1,1433".to_owned())).may_be_retried());
    }
}
