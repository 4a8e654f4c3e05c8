//! Owns the listener: binding, accepting, a task a connection, stopping.

use crate::simulator::faults::login::{LoginFaults, TlsFault};
use crate::simulator::host::Backend;
use crate::simulator::wire::attention::AttentionReply;
use crate::simulator::wire::connection::{Endpoint, serve};
use crate::simulator::wire::hooks::Hooks;
use crate::simulator::wire::tls::{Certificate, Tls};
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long a client may take from connecting to being logged in.
const LOGIN_LIMIT: Duration = Duration::from_secs(30);

/// Encryption that the server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsMode {
    /// None; a client that requires it fails.
    #[default]
    Off,
    /// TDS 7 with TLS 1.2 inside, as much of it as the client asks for: for all, for the login only, or none.
    On,
    /// TDS 7 with TLS 1.2 inside, for every client ("Force Encryption").
    Forced,
    /// TDS 8: TLS 1.2 or 1.3 before everything (`Encrypt=strict`).
    Strict,
}

/// Encryption with the certificate that it needs; several servers may share one.
#[derive(Clone)]
pub struct Encryption {
    tls: Tls,
    certificate_pem: Option<Arc<str>>,
}

impl Encryption {
    /// With a new certificate, where one is needed; one that is wrong where the fault says so. Errors: it cannot be made.
    pub fn new(mode: TlsMode, fault: Option<TlsFault>) -> io::Result<Self> {
        let certificate = match mode {
            TlsMode::Off => return Ok(Self { tls: Tls::Off, certificate_pem: None }),
            TlsMode::On | TlsMode::Forced | TlsMode::Strict => Certificate::generate(fault)?,
        };
        let tls = match mode {
            TlsMode::Strict => certificate.before_tds()?,
            _ => certificate.inside_tds(mode == TlsMode::Forced)?,
        };
        Ok(Self { tls, certificate_pem: Some(certificate.pem.into()) })
    }
}

/// How a server is started.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Number of the instance behind it, from 1, for hooks.
    pub number: u32,
    /// Encryption.
    pub tls: TlsMode,
    /// Where tests step in.
    pub hooks: Hooks,
    /// How an attention is acknowledged.
    pub attention: AttentionReply,
    /// What is wrong before a session is there.
    pub faults: LoginFaults,
}

impl ServerOptions {
    /// Plain, without hooks, on that address.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            number: 1,
            tls: TlsMode::Off,
            hooks: Hooks::default(),
            attention: AttentionReply::default(),
            faults: LoginFaults::default(),
        }
    }
}

/// A running server; dropping it stops it.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    certificate_pem: Option<Arc<str>>,
    accepted: Arc<AtomicU64>,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Server {
    /// The address it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Connections accepted so far, those that did not come to a login included.
    pub fn connections(&self) -> u64 {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Its self-signed certificate for localhost, with TLS.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// Closes the listener and every connection. A step of a session that is running just then ends on its own, and
    /// its session with it.
    pub async fn stop(&self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

/// Starts a server in the current tokio runtime. Errors: the address cannot be bound; no certificate can be made.
pub async fn start(options: ServerOptions, backend: Arc<dyn Backend>) -> io::Result<Server> {
    let encryption = Encryption::new(options.tls, options.faults.tls)?;
    start_encrypted(options, encryption, backend).await
}

/// Starts a server that encrypts in this way, whatever its options say. Errors: the address cannot be bound.
pub async fn start_encrypted(
    options: ServerOptions,
    encryption: Encryption,
    backend: Arc<dyn Backend>,
) -> io::Result<Server> {
    let listener = TcpListener::bind(options.listen).await?;
    let local_addr = listener.local_addr()?;
    let ServerOptions { number, hooks, attention, faults, .. } = options;
    let Encryption { tls, certificate_pem } = encryption;
    let server_name = backend.server_name();
    let endpoint = Endpoint {
        backend,
        number,
        server_name,
        tls,
        hooks,
        attention,
        faults,
        logins: Arc::default(),
        login_limit: LOGIN_LIMIT,
    };
    let server = Server {
        local_addr,
        certificate_pem,
        accepted: Arc::default(),
        stopping: CancellationToken::new(),
        tasks: TaskTracker::new(),
    };
    let accepted = Arc::clone(&server.accepted);
    server.tasks.spawn(accept(listener, endpoint, accepted, server.stopping.clone(), server.tasks.clone()));
    Ok(server)
}

async fn accept(
    listener: TcpListener,
    endpoint: Endpoint,
    connections: Arc<AtomicU64>,
    stopping: CancellationToken,
    tasks: TaskTracker,
) {
    /// A failure to accept is the machine's (no file descriptors): it passes when connections end.
    const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((tcp, _)) => {
                let number = connections.fetch_add(1, Ordering::SeqCst) + 1;
                // Another node may answer by now.
                let server_name = endpoint.backend.server_name();
                let endpoint = Endpoint { server_name, ..endpoint.clone() };
                tasks.spawn(connection(tcp, number, endpoint, stopping.clone()));
            }
            Err(error) => {
                tracing::debug!(error = &error as &dyn Error, "failed to accept a connection");
                tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
            }
        }
    }
}

async fn connection(tcp: TcpStream, number: u64, endpoint: Endpoint, stopping: CancellationToken) {
    let ended = tokio::select! {
        () = stopping.cancelled() => return,
        ended = serve(tcp, number, &endpoint) => ended,
    };
    match ended {
        Ok(()) => tracing::debug!(connection = number, "closed"),
        Err(error) => tracing::debug!(connection = number, error = &error as &dyn Error, "ended"),
    }
}
