//! Owns one connection: made, used and given up, every call under an outer time-out.
//!
//! tiberius 0.13 hangs in the call after an abandoned one, and no time-out of its own covers that (measured). So a call
//! that is not answered in time costs the connection: it is dropped, and later calls say that it is closed.

use crate::model::Table;
use crate::sqlserver::decode;
use crate::sqlserver::error::{ConnectFailure, ServerMessage, SqlServerError};
use crate::sqlserver::options::{APPLICATION_NAME, Authentication, ConnectOptions, Encryption};
use futures_util::TryStreamExt as _;
use secrecy::ExposeSecret as _;
use std::io;
use std::time::Duration;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel, SqlBrowser as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt as _};

/// Azure redirects once; more than a few hops is a loop.
const MOST_REDIRECTS: usize = 3;
/// How long one address is tried alone before the next is tried beside it (a listener's passive address never answers).
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// A logged-in connection.
pub struct Connection {
    client: Option<Client<Compat<TcpStream>>>,
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
    /// Connects and logs in within the login time-out. Follows a few redirects (Azure). A refused login is
    /// [`SqlServerError::Login`] and must not be tried again.
    pub async fn open(options: &ConnectOptions) -> Result<Self, SqlServerError> {
        let limit = options.login_timeout;
        let failed = |source| SqlServerError::Connect { address: options.address.clone(), source };
        match tokio::time::timeout(limit, Box::pin(dial(options))).await {
            Err(_elapsed) => Err(failed(ConnectFailure::TimedOut(limit))),
            Ok(Ok(client)) => Ok(Self { client: Some(client), options: options.clone() }),
            Ok(Err(tiberius::error::Error::Server(error))) => {
                Err(SqlServerError::Login { address: options.address.clone(), source: message(&error) })
            }
            Ok(Err(error)) => Err(failed(connect_failure(error, options))),
        }
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
                let source = message(&error);
                // Severity 20 and above closes the connection on the server's side.
                if source.class < 20 {
                    self.client = Some(client);
                }
                Err(SqlServerError::Statement { address: address(), statement: sql.to_owned(), source })
            }
            Ok(Err(error)) => {
                Err(SqlServerError::Lost { address: address(), statement: sql.to_owned(), source: failure(error) })
            }
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

async fn collect(client: &mut Client<Compat<TcpStream>>, sql: &str) -> tiberius::Result<Vec<Table>> {
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

async fn dial(options: &ConnectOptions) -> tiberius::Result<Client<Compat<TcpStream>>> {
    let mut options = options.clone();
    for _hop in 0..=MOST_REDIRECTS {
        let config = config(&options)?;
        let tcp = open_socket(&options, &config).await?;
        tcp.set_nodelay(true)?;
        socket2::SockRef::from(&tcp)
            .set_tcp_keepalive(&socket2::TcpKeepalive::new().with_time(Duration::from_secs(30)))?;
        match Box::pin(Client::connect(config, tcp.compat_write())).await {
            Err(tiberius::error::Error::Routing { host, port }) => {
                options.address.host = host;
                options.address.port = Some(port);
                options.address.instance = None;
            }
            result => return result,
        }
    }
    Err(tiberius::error::Error::Protocol("the server redirects in a circle".into()))
}

fn config(options: &ConnectOptions) -> tiberius::Result<Config> {
    let mut config = Config::new();
    config.host(&options.address.host);
    config.application_name(APPLICATION_NAME);
    config.client_name(&options.workstation);
    config.readonly(options.read_only);
    config.lossy_utf16_decoding(true);
    config.handshake_timeout(Some(options.login_timeout));
    // The outer time-out rules; this one must not fire first, it would poison the connection with a poorer message.
    config.command_timeout(None);
    if let Some(database) = &options.database {
        config.database(database);
    }
    if let Some(instance) = &options.address.instance
        && options.address.port.is_none()
    {
        config.instance_name(instance);
    } else {
        config.port(options.address.tcp_port());
    }
    config.encryption(match options.encryption {
        Encryption::Strict => EncryptionLevel::Strict,
        Encryption::Mandatory => EncryptionLevel::Required,
        Encryption::Optional => EncryptionLevel::Off,
        Encryption::Disabled => EncryptionLevel::NotSupported,
    });
    if options.trust_certificate {
        config.trust_cert();
    } else if let Some(pem) = &options.ca_pem {
        config.trust_cert_ca_bundle(pem.as_bytes());
    }
    if let Some(name) = &options.hostname_in_certificate {
        config.hostname_in_certificate(name);
    }
    config.authentication(match &options.authentication {
        Authentication::Password { user, password } => AuthMethod::sql_server(user, password.expose_secret()),
        Authentication::AccessToken(token) => AuthMethod::aad_token(token.expose_secret()),
        Authentication::Integrated => integrated()?,
    });
    Ok(config)
}

#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "the other platforms refuse")]
fn integrated() -> tiberius::Result<AuthMethod> {
    Ok(AuthMethod::Integrated)
}

#[cfg(not(windows))]
fn integrated() -> tiberius::Result<AuthMethod> {
    let advice = "integrated authentication needs Windows in this build; use -U LOGIN with SQLCMDPASSWORD, or -G with an access token";
    Err(tiberius::error::Error::Protocol(advice.into()))
}

async fn open_socket(options: &ConnectOptions, config: &Config) -> tiberius::Result<TcpStream> {
    if options.address.instance.is_some() && options.address.port.is_none() {
        return TcpStream::connect_named(config).await;
    }
    Ok(connect_any(&options.address.host, options.address.tcp_port()).await?)
}

/// Connects to the first of the host's addresses that answers, trying them side by side.
async fn connect_any(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut addresses = tokio::net::lookup_host((host, port)).await?;
    let mut attempts = JoinSet::new();
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("host {host} has no address"));
    let mut more = true;
    loop {
        if more {
            match addresses.next() {
                Some(address) => {
                    attempts.spawn(TcpStream::connect(address));
                }
                None => more = false,
            }
        }
        if attempts.is_empty() && !more {
            return Err(last);
        }
        tokio::select! {
            Some(done) = attempts.join_next() => match done {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(error) => last = io::Error::other(error),
            },
            () = tokio::time::sleep(NEXT_ADDRESS_AFTER), if more => {}
        }
    }
}

fn message(error: &tiberius::error::TokenError) -> ServerMessage {
    ServerMessage {
        number: error.code(),
        class: error.class(),
        state: error.state(),
        line: error.line(),
        text: error.message().to_owned(),
    }
}

/// Why connecting failed, in the words of these settings where the driver has its own or none.
fn connect_failure(error: tiberius::error::Error, options: &ConnectOptions) -> ConnectFailure {
    use tiberius::error::Error;
    let may_be_refused = matches!(options.encryption, Encryption::Mandatory | Encryption::Optional);
    match error {
        Error::Protocol(text) if text.contains("requested encryption level") => ConnectFailure::NoEncryption,
        // A server without TLS gives up on the handshake that the driver begins for the login.
        Error::Io { ref message, .. } if may_be_refused && message.contains("tls handshake eof") => {
            ConnectFailure::NoEncryption
        }
        Error::Io { kind: io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof, .. }
            if options.encryption == Encryption::Strict =>
        {
            ConnectFailure::NoStrictEncryption
        }
        Error::Conversion(text) if options.address.instance.is_some() => ConnectFailure::Browser(text.into_owned()),
        other => failure(other),
    }
}

/// What the driver adds to a rejected certificate: advice on its own functions.
const DRIVER_ADVICE: &str = " To connect anyway";

fn failure(error: tiberius::error::Error) -> ConnectFailure {
    match error {
        tiberius::error::Error::Io { kind, message } => ConnectFailure::Network(io::Error::new(kind, message)),
        tiberius::error::Error::Tls(text) => {
            let told = text.split_once(DRIVER_ADVICE).map_or(text.as_str(), |(told, _advice)| told);
            ConnectFailure::Tls(told.trim_end_matches('.').to_owned())
        }
        tiberius::error::Error::Protocol(text) => ConnectFailure::Protocol(text.into_owned()),
        other => ConnectFailure::Protocol(other.to_string()),
    }
}
