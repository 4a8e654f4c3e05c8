//! Owns the way to a session: TLS, PRELOGIN and LOGIN7, and the refusal of a login.

use crate::simulator::host::{Login, Session};
use crate::simulator::output::Message;
use crate::simulator::wire::connection::Endpoint;
use crate::simulator::wire::error::ConnectionError;
use crate::simulator::wire::login::{self, Acknowledgement, TDS_7_3_B, TDS_8_0};
use crate::simulator::wire::packet::{DEFAULT_PACKET_BYTES, MessageKind, ResponseWriter, read_message};
use crate::simulator::wire::prelogin;
use crate::simulator::wire::tls::{HandshakeStream, Tls};
use crate::simulator::wire::token::{Done, DoneKind, put_done, put_message};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest PRELOGIN or LOGIN7 that is read ([MS-TDS] 2.2.6.4: 128 KiB).
const LOGIN_MESSAGE_LIMIT_BYTES: usize = 128 * 1024;

/// A byte stream to a client, encrypted or not.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Transport for S {}

/// A client that is logged in.
pub(crate) struct LoggedIn {
    pub(crate) stream: Box<dyn Transport>,
    pub(crate) session: Box<dyn Session>,
    pub(crate) packet_bytes: usize,
    /// The client reads NBCROW.
    pub(crate) null_bitmap: bool,
}

/// Takes a client from its first byte to its login's acknowledgement.
pub(crate) async fn log_in(tcp: TcpStream, endpoint: &Endpoint) -> Result<LoggedIn, ConnectionError> {
    let mut stream: Box<dyn Transport> = match &endpoint.tls {
        Tls::BeforeTds(acceptor) => Box::new(acceptor.accept(tcp).await.map_err(ConnectionError::Tls)?),
        Tls::Off | Tls::InsideTds(_) => Box::new(tcp),
    };
    exchange_prelogin(&mut stream, endpoint).await?;
    if let Tls::InsideTds(acceptor) = &endpoint.tls {
        let mut encrypted = acceptor.accept(HandshakeStream::new(stream)).await.map_err(ConnectionError::Tls)?;
        encrypted.get_mut().0.end_handshake();
        stream = Box::new(encrypted);
    }

    let body = read(&mut stream, MessageKind::Login).await?;
    let request =
        login::decode(&body).map_err(|source| ConnectionError::Decode { kind: MessageKind::Login, source })?;
    let Some(tds_version) = request.version_to_speak() else {
        let text = "TDS 7.3 (SQL Server 2008) or newer is needed.";
        return Err(refuse(stream, endpoint, &Message::new(17832, 20, text)).await);
    };
    if request.integrated {
        let text =
            "Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication.";
        return Err(refuse(stream, endpoint, &Message::new(18452, 14, text)).await);
    }
    let packet_bytes = request.packet_bytes_to_use();
    let session = match ask_backend(endpoint, request.login).await? {
        Ok(session) => session,
        Err(message) => return Err(refuse(stream, endpoint, &message).await),
    };

    let mut writer = ResponseWriter::new(stream, session.spid(), DEFAULT_PACKET_BYTES);
    let acknowledgement = Acknowledgement {
        tds_version,
        server_version: endpoint.backend.version_numbers(),
        server_name: &endpoint.server_name,
        database: &session.database(),
        packet_bytes,
    };
    login::put_acknowledgement(writer.body(), &acknowledgement);
    writer.end_message().await?;
    let null_bitmap = tds_version >= TDS_7_3_B || tds_version == TDS_8_0;
    Ok(LoggedIn { stream: writer.into_stream(), session, packet_bytes, null_bitmap })
}

async fn exchange_prelogin(stream: &mut Box<dyn Transport>, endpoint: &Endpoint) -> Result<(), ConnectionError> {
    let body = read(stream, MessageKind::PreLogin).await?;
    let client =
        prelogin::decode(&body).map_err(|source| ConnectionError::Decode { kind: MessageKind::PreLogin, source })?;
    let encryption = match endpoint.tls {
        Tls::Off => prelogin::negotiate(client.encryption, false),
        Tls::InsideTds(_) => prelogin::negotiate(client.encryption, true),
        Tls::BeforeTds(_) => client.encryption, // without meaning: all is encrypted already
    };
    let mut writer = ResponseWriter::new(stream, 0, DEFAULT_PACKET_BYTES);
    writer.body().extend(prelogin::encode(endpoint.backend.version_numbers(), encryption, client));
    writer.end_message().await?;
    Ok(())
}

/// The next message, which must be of that kind.
async fn read(stream: &mut Box<dyn Transport>, kind: MessageKind) -> Result<Vec<u8>, ConnectionError> {
    let message = read_message(stream, LOGIN_MESSAGE_LIMIT_BYTES).await?.ok_or(ConnectionError::ClosedByClient)?;
    if message.kind == kind && !message.given_up {
        Ok(message.body)
    } else {
        Err(ConnectionError::Unexpected(message.kind))
    }
}

/// Off the threads that serve connections: a login may wait for locks of the instance.
async fn ask_backend(endpoint: &Endpoint, login: Login) -> Result<Result<Box<dyn Session>, Message>, ConnectionError> {
    let backend = Arc::clone(&endpoint.backend);
    tokio::task::spawn_blocking(move || backend.login(login)).await.map_err(|_| ConnectionError::SessionPanicked)
}

/// Tells the error and closes.
async fn refuse(stream: Box<dyn Transport>, endpoint: &Endpoint, message: &Message) -> ConnectionError {
    let mut writer = ResponseWriter::new(stream, 0, DEFAULT_PACKET_BYTES);
    put_message(writer.body(), &endpoint.server_name, message);
    put_done(writer.body(), DoneKind::Batch, Done { error: true, ..Done::default() });
    let sent = async {
        writer.end_message().await?;
        writer.into_stream().shutdown().await
    };
    match sent.await {
        Ok(()) => ConnectionError::LoginRefused(message.number),
        Err(error) => error.into(),
    }
}
