//! Owns making a connection: the way from an address to a login, over the SQL Server Browser and redirections.

use crate::sqlserver::ServerAddress;
use crate::sqlserver::browser::{self, Question};
use crate::sqlserver::error::{ConnectFailure, SqlServerError};
use crate::sqlserver::failure;
use crate::sqlserver::options::{APPLICATION_NAME, Authentication, ConnectOptions, Encryption};
use crate::sqlserver::race::{Attempt, Reached, first_to_answer};
use secrecy::ExposeSecret as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tiberius::error::Error;
use tiberius::{AuthMethod, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt as _};

/// Azure redirects once; more than a few is no way to a server.
const MOST_REDIRECTS: usize = 3;

pub(super) type Client = tiberius::Client<Compat<Attempt<TcpStream>>>;

/// Connects and logs in, all within the login time-out.
pub(super) async fn dial(options: &ConnectOptions) -> Result<Client, SqlServerError> {
    let route = Route { options, state: Mutex::new((options.address.clone(), Arc::default())) };
    match tokio::time::timeout(options.login_timeout, Box::pin(route.follow())).await {
        Ok(result) => result,
        Err(_elapsed) => Err(route.failed(failure::of_time(options.login_timeout, &route.here().1))),
    }
}

/// The way to a server, with what is reached of it: it outlives the time-out for the words of the failure.
struct Route<'a> {
    options: &'a ConnectOptions,
    state: Mutex<(ServerAddress, Arc<Reached>)>,
}

impl Route<'_> {
    /// Where the way has come to.
    fn here(&self) -> (ServerAddress, Arc<Reached>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn go_to(&self, address: ServerAddress) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (address, Arc::default());
    }

    /// A failure here, told as one of the address given.
    fn failed(&self, source: ConnectFailure) -> SqlServerError {
        let address = self.options.address.clone();
        let (here, _) = self.here();
        let source = if here == address {
            source
        } else {
            ConnectFailure::Redirected { to: Box::new(here), source: Box::new(source) }
        };
        SqlServerError::Connect { address, source }
    }

    async fn follow(&self) -> Result<Client, SqlServerError> {
        let mut visited: Vec<(String, u16)> = Vec::new();
        loop {
            let (address, reached) = self.here();
            let sockets = self.sockets(&address).await.map_err(|failure| self.failed(failure))?;
            let port = sockets.first().map_or(address.tcp_port(), SocketAddr::port);
            let config = config(self.options, &address, port).map_err(|failure| self.failed(failure))?;
            tracing::debug!(host = address.host, ?sockets, "connecting");
            visited.push((address.host.to_ascii_lowercase(), port));
            let shake_hands = |stream: Attempt<TcpStream>| {
                let config = config.clone();
                async move { Box::pin(tiberius::Client::connect(config, stream.compat_write())).await }
            };
            match first_to_answer(&sockets, &reached, shake_hands).await {
                Ok(client) => return Ok(client),
                Err(Error::Server(error)) => {
                    return Err(SqlServerError::Login { address, source: failure::message(&error) });
                }
                Err(Error::Routing { host, port }) => {
                    let next = redirected(&address, &host, port).ok_or_else(|| {
                        let text = format!("the server redirects to `{host},{port}`, which is no address");
                        self.failed(ConnectFailure::Protocol(text))
                    })?;
                    if visited.contains(&(next.host.to_ascii_lowercase(), port)) {
                        return Err(self.failed(ConnectFailure::RedirectLoop(next.to_string())));
                    }
                    if visited.len() > MOST_REDIRECTS {
                        return Err(self.failed(ConnectFailure::TooManyRedirects(MOST_REDIRECTS)));
                    }
                    tracing::debug!(to = %next, "redirected");
                    self.go_to(next);
                }
                Err(error) => {
                    return Err(self.failed(failure::of_connecting(error, self.options.encryption, &reached)));
                }
            }
        }
    }

    /// All socket addresses of a server; where a Browser named the port, its own host's first.
    async fn sockets(&self, address: &ServerAddress) -> Result<Vec<SocketAddr>, ConnectFailure> {
        let host = address.host.as_str();
        let look_up = async |port: u16| {
            let found = tokio::net::lookup_host((host, port)).await;
            found.map(Vec::from_iter).map_err(|source| ConnectFailure::Name { host: host.into(), source })
        };
        let Some(instance) = address.instance_to_find() else { return look_up(address.tcp_port()).await };
        let browsers = look_up(self.options.browser_port).await?;
        let question = Question { host, instance, dedicated_admin: address.dedicated_admin };
        let found = browser::find_port(&browsers, question).await;
        let (from, port) = found.map_err(|error| ConnectFailure::Browser(Box::new(error)))?;
        let mut sockets: Vec<SocketAddr> = browsers.iter().map(|browser| SocketAddr::new(browser.ip(), port)).collect();
        sockets.sort_by_key(|socket| socket.ip() != from);
        Ok(sockets)
    }
}

/// Where a server sends its client on. A name may carry an instance, which the port makes needless.
fn redirected(from: &ServerAddress, host: &str, port: u16) -> Option<ServerAddress> {
    let host = host.split('\\').next().unwrap_or_default().trim();
    if host.is_empty() || port == 0 || host.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return None;
    }
    let dedicated_admin = from.dedicated_admin;
    Some(ServerAddress { host: host.to_owned(), instance: None, port: Some(port), dedicated_admin })
}

fn config(options: &ConnectOptions, address: &ServerAddress, port: u16) -> Result<Config, ConnectFailure> {
    let mut config = Config::new();
    // The name that the certificate is held against, so after a redirection the new one.
    config.host(&address.host);
    // Part of the service that Kerberos asks for.
    config.port(port);
    config.application_name(APPLICATION_NAME);
    config.client_name(&options.workstation);
    config.readonly(options.read_only);
    config.lossy_utf16_decoding(true);
    // The outer time-outs rule; these must not fire first, with poorer messages and a poisoned connection.
    config.handshake_timeout(None);
    config.command_timeout(None);
    if let Some(database) = &options.database {
        config.database(database);
    }
    config.encryption(match options.encryption {
        Encryption::Strict => EncryptionLevel::Strict,
        Encryption::Mandatory => EncryptionLevel::Required,
        Encryption::Optional => EncryptionLevel::Off,
        Encryption::Disabled => EncryptionLevel::NotSupported,
    });
    if options.trust_certificate && options.encryption != Encryption::Strict {
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
        Authentication::Integrated => integrated(address)?,
    });
    Ok(config)
}

#[cfg(any(windows, all(unix, feature = "kerberos")))]
#[expect(clippy::unnecessary_wraps, reason = "other builds refuse")]
fn integrated(_: &ServerAddress) -> Result<AuthMethod, ConnectFailure> {
    Ok(AuthMethod::Integrated)
}

#[cfg(not(any(windows, all(unix, feature = "kerberos"))))]
fn integrated(address: &ServerAddress) -> Result<AuthMethod, ConnectFailure> {
    Err(ConnectFailure::NoKerberos { principal: address.service_principal() })
}

#[cfg(test)]
mod tests {
    use super::redirected;
    use crate::sqlserver::ServerAddress;

    #[test]
    fn a_redirection_is_followed_only_to_an_address() {
        let from: ServerAddress = r"tcp:gateway\X,1433".parse().unwrap();
        let next = |host: &str, port| redirected(&from, host, port).map(|address| address.to_string());
        assert_eq!(next("db2.example", 11_000).as_deref(), Some("db2.example,11000"));
        assert_eq!(next(r"db2\SALES", 1).as_deref(), Some("db2,1"));
        assert_eq!(next("::1", 1).as_deref(), Some("::1,1"));
        for (host, port) in [("", 1), (r"\X", 1), ("db2", 0), ("a b", 1), ("a\u{7}", 1)] {
            assert_eq!(next(host, port), None, "{host}");
        }
    }
}
