//! Owns the faults before a session is there: in TLS, at the login, by routing.

use crate::simulator::output::Message;

/// Why logins fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginFailure {
    /// The error that they are refused with.
    Error(u32),
    /// Connections are accepted, and no worker is left that says anything on them.
    NoWorkers,
}

/// `login=WHY` or `login=WHY:N`: logins fail, from the first or after N that went well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginFault {
    /// Why.
    pub failure: LoginFailure,
    /// Logins that go well before.
    pub after: u64,
}

impl LoginFault {
    pub(super) fn parse(value: &str) -> Option<Self> {
        let (why, after) = match value.split_once(':') {
            Some((why, after)) => (why, after.parse().ok()?),
            None => (value, 0),
        };
        let failure = match why {
            "refused" => LoginFailure::Error(18_456),
            "locked" => LoginFailure::Error(18_486),
            "expired" => LoginFailure::Error(18_487),
            "must-change" => LoginFailure::Error(18_488),
            "no-workers" => LoginFailure::NoWorkers,
            number => LoginFailure::Error(number.parse().ok().filter(|number| *number > 0)?),
        };
        Some(Self { failure, after })
    }

    /// The message that refuses `user`.
    pub(crate) fn refusal(self, user: &str) -> Option<Message> {
        let LoginFailure::Error(number) = self.failure else { return None };
        let why = match number {
            18_456 => ".",
            18_486 => " because the account is currently locked out. The system administrator can unlock it.",
            18_487 => ". Reason: The password of the account has expired.",
            18_488 => ". Reason: The password of the account must be changed.",
            _ => {
                return Some(Message::new(
                    number,
                    14,
                    format!("Error {number}, asked for by a fault of the simulated server."),
                ));
            }
        };
        Some(Message::new(number, 14, format!("Login failed for user '{user}'{why}")))
    }
}

/// `tls=closed|old|expired|other-name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsFault {
    /// The connection is closed in the handshake.
    Closed,
    /// TLS 1.0 is spoken and nothing newer.
    Old,
    /// The certificate is too old.
    Expired,
    /// The certificate is for another host.
    OtherName,
}

impl TlsFault {
    pub(super) fn parse(value: &str) -> Option<Self> {
        match value {
            "closed" => Some(Self::Closed),
            "old" => Some(Self::Old),
            "expired" => Some(Self::Expired),
            "other-name" => Some(Self::OtherName),
            _ => None,
        }
    }
}

/// `route=HOST:PORT`: who logs in is sent on to another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Host.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl Route {
    pub(super) fn parse(value: &str) -> Option<Self> {
        let (host, port) = value.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some(Self { host: host.to_owned(), port: port.parse().ok()? })
    }
}

/// What is wrong before a session is there.
#[derive(Debug, Clone, Default)]
pub struct LoginFaults {
    /// How logins fail, if they do.
    pub login: Option<LoginFault>,
    /// How TLS fails, if it does.
    pub tls: Option<TlsFault>,
    /// Where clients are sent on to, if they are.
    pub route: Option<Route>,
}
