//! Owns how to connect: plain settings, no secrets in `Debug`.

use crate::sqlserver::ServerAddress;
use crate::sqlserver::browser::BROWSER_PORT;
use secrecy::SecretString;
use std::time::Duration;

/// How the connection is encrypted (sqlcmd's `-N`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// TDS 8: TLS before anything else; the certificate is always validated.
    Strict,
    /// Everything is encrypted; the default.
    #[default]
    Mandatory,
    /// The login only, unless the server insists on more.
    Optional,
    /// Nothing, not even the login, unless the server insists.
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
    /// The current Windows user; elsewhere the holder of a Kerberos ticket.
    Integrated,
    /// A Microsoft Entra access token for `https://database.windows.net/`.
    AccessToken(SecretString),
}

/// Whether this build can log in as [`Authentication::Integrated`].
pub const SPEAKS_INTEGRATED: bool = cfg!(any(windows, feature = "kerberos"));

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
    /// Do not validate the server's certificate (`-C`); without effect where the encryption is strict.
    pub trust_certificate: bool,
    /// PEM text of authorities to trust beside the platform's.
    pub ca_pem: Option<String>,
    /// Name expected in the certificate (`-F`).
    pub hostname_in_certificate: Option<String>,
    /// For name look-up, SQL Server Browser, TCP, TLS, login and redirections together (`-l`); [`Duration::MAX`] = no
    /// limit.
    pub login_timeout: Duration,
    /// For each statement (`-t`); [`Duration::MAX`] = no limit.
    pub query_timeout: Duration,
    /// Workstation name shown to the server (`-H`).
    pub workstation: String,
    /// Whether to declare read-only intent (`-K ReadOnly`).
    pub read_only: bool,
    /// UDP port on which the SQL Server Browser is asked for named instances.
    pub browser_port: u16,
}

impl ConnectOptions {
    /// The defaults of the command line: everything encrypted and validated, 15 s for the login, 30 s for a statement.
    pub fn new(address: ServerAddress, authentication: Authentication) -> Self {
        Self {
            address,
            authentication,
            database: None,
            encryption: Encryption::default(),
            trust_certificate: false,
            ca_pem: None,
            hostname_in_certificate: None,
            login_timeout: Duration::from_secs(15),
            query_timeout: Duration::from_secs(30),
            workstation: String::new(),
            read_only: false,
            browser_port: BROWSER_PORT,
        }
    }
}

/// The application name every connection of ours shows.
pub(super) const APPLICATION_NAME: &str = "xestack";
