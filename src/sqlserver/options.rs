//! Owns how to connect: plain settings, no secrets in `Debug`.

use crate::sqlserver::ServerAddress;
use secrecy::SecretString;
use std::time::Duration;

/// How the connection is encrypted (sqlcmd's `-N`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// TDS 8: TLS before anything else.
    Strict,
    /// Everything is encrypted; the default.
    #[default]
    Mandatory,
    /// The login only, unless the server insists.
    Optional,
    /// Nothing, not even the login.
    Disabled,
}

/// Who logs in.
#[derive(Debug, Clone)]
pub enum Authentication {
    /// SQL Server authentication.
    Password {
        /// Login name.
        user: String,
        /// Its password.
        password: SecretString,
    },
    /// The current Windows user.
    Integrated,
    /// A Microsoft Entra access token for `https://database.windows.net/`.
    AccessToken(SecretString),
}

/// All settings of a connection.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// Where.
    pub address: ServerAddress,
    /// Who.
    pub authentication: Authentication,
    /// Initial database; `None` = the login's default.
    pub database: Option<String>,
    /// How it is encrypted.
    pub encryption: Encryption,
    /// Do not validate the server's certificate (`-C`).
    pub trust_certificate: bool,
    /// PEM text of the authorities to trust instead of the platform's.
    pub ca_pem: Option<String>,
    /// Name expected in the certificate (`-F`).
    pub hostname_in_certificate: Option<String>,
    /// For name look-up, TCP, TLS and login together (`-l`).
    pub login_timeout: Duration,
    /// For each statement (`-t`).
    pub query_timeout: Duration,
    /// Workstation name shown to the server (`-H`).
    pub workstation: String,
    /// Whether to declare read-only intent (`-K ReadOnly`).
    pub read_only: bool,
}

/// The application name every connection of ours shows.
pub(super) const APPLICATION_NAME: &str = "xestack";
