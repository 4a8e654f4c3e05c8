//! Owns telling why a connection could not be made: from the driver's error, and from what the server had said by then.
//!
//! The driver hands its TLS errors on as text only. It is read here and nowhere else; tests hold every phrase against the
//! pinned version.

use crate::sqlserver::error::{CertificateProblem, ConnectFailure, ServerMessage};
use crate::sqlserver::options::Encryption;
use crate::sqlserver::prelogin::{self, ServerEncryption};
use crate::sqlserver::race::Reached;
use std::io;
use std::time::Duration;
use tiberius::error::{Error, TokenError};

/// What the driver adds to a rejected certificate: advice on its own functions.
const DRIVER_ADVICE: &str = " To connect anyway";

pub(super) fn message(error: &TokenError) -> ServerMessage {
    ServerMessage {
        number: error.code(),
        class: error.class(),
        state: error.state(),
        line: error.line(),
        text: error.message().to_owned(),
    }
}

/// Why a connection that was in use broke.
pub(super) fn of_use(error: Error) -> ConnectFailure {
    match error {
        Error::Io { kind, message } => ConnectFailure::Network(io::Error::new(kind, message)),
        Error::Tls(text) => ConnectFailure::Tls(text),
        Error::Protocol(text) => ConnectFailure::Protocol(text.into_owned()),
        other => ConnectFailure::Protocol(other.to_string()),
    }
}

/// Why no connection came of the attempts.
pub(super) fn of_connecting(error: Error, encryption: Encryption, reached: &Reached) -> ConnectFailure {
    let strict = encryption == Encryption::Strict;
    match error {
        Error::Tls(text) => of_certificate(&text, strict),
        Error::Protocol(text) if text.contains("requested encryption level") => ConnectFailure::NoEncryption,
        Error::Io { kind, message } => of_stream(kind, message, encryption, reached),
        other if encryption != Encryption::Strict && prelogin::read(&reached.said()).is_none() => {
            of_stream(io::ErrorKind::Other, other.to_string(), encryption, reached)
        }
        other => of_use(other),
    }
}

fn of_stream(kind: io::ErrorKind, message: String, encryption: Encryption, reached: &Reached) -> ConnectFailure {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, InvalidData, UnexpectedEof};
    let said = reached.said();
    let is_closed = matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof);
    if encryption == Encryption::Strict {
        return match kind {
            _ if !reached.is_connected() => ConnectFailure::Network(io::Error::new(kind, message)),
            _ if is_closed && said.is_empty() => ConnectFailure::NoStrictEncryption,
            InvalidData => ConnectFailure::StrictRefused(message),
            _ => ConnectFailure::Network(io::Error::new(kind, message)),
        };
    }
    /// A TLS alert.
    const ALERT: [u8; 2] = [0x15, 0x03];
    let Some(server) = prelogin::read(&said) else {
        return match (reached.is_connected(), said.is_empty()) {
            (true, true) if is_closed => ConnectFailure::ClosedAtOnce,
            (true, false) if said.starts_with(&ALERT) => ConnectFailure::OnlyStrictEncryption,
            (true, false) => ConnectFailure::NotTds,
            _ => ConnectFailure::Network(io::Error::new(kind, message)),
        };
    };
    match (kind, server.encryption) {
        (InvalidData, _) => ConnectFailure::TlsRefused { version: server.version, told: message.into() },
        _ if reached.is_login_sent() || !is_closed => ConnectFailure::Network(io::Error::new(kind, message)),
        // The driver begins TLS for the login even where the server has none.
        (_, Some(ServerEncryption::NotSupported)) => ConnectFailure::NoEncryption,
        (_, Some(ServerEncryption::Required)) if encryption == Encryption::Disabled => {
            ConnectFailure::InsistsOnEncryption
        }
        _ => ConnectFailure::TlsClosed { version: server.version },
    }
}

fn of_certificate(text: &str, strict: bool) -> ConnectFailure {
    let told = text.split_once(DRIVER_ADVICE).map_or(text, |(told, _advice)| told).trim_end_matches('.').to_owned();
    let problem = if told.contains("not valid for name") || told.contains("not valid for any names") {
        CertificateProblem::Name
    } else if told.contains("certificate expired") || told.contains("not valid yet") {
        CertificateProblem::Time
    } else if told.contains("certificate was rejected") {
        CertificateProblem::Trust
    } else {
        return ConnectFailure::Tls(told);
    };
    ConnectFailure::Certificate { problem, told: told.into(), strict }
}

/// What the time ran out on.
pub(super) fn of_time(limit: Duration, reached: &Reached) -> ConnectFailure {
    match (reached.is_connected(), reached.said().is_empty()) {
        (false, _) => ConnectFailure::TimedOut(limit),
        (true, true) => ConnectFailure::Silent(limit),
        (true, false) => ConnectFailure::Stalled(limit),
    }
}
