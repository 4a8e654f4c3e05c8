//! Owns the way to a session: TLS, PRELOGIN and LOGIN7, and the refusal of a login.

use crate::simulator::faults::login::{LoginFailure, TlsFault};
use crate::simulator::host::{Login, Session};
use crate::simulator::output::Message;
use crate::simulator::wire::connection::Endpoint;
use crate::simulator::wire::error::ConnectionError;
use crate::simulator::wire::login::{self, Acknowledgement, TDS_7_3_B, TDS_8_0};
use crate::simulator::wire::packet::{
    DEFAULT_PACKET_BYTES, END_OF_MESSAGE, MessageKind, ResponseWriter, put_packet, read_message,
};
use crate::simulator::wire::prelogin::{self, Encryption, Offer, negotiate};
use crate::simulator::wire::tls::{HandshakeStream, Tls, hello_of_tls_1_0};
use crate::simulator::wire::token::{Done, DoneKind, put_done, put_message};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
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
    let faults = &endpoint.faults;
    let logins = endpoint.logins.load(Ordering::SeqCst);
    let login_fault = faults.login.filter(|fault| logins >= fault.after);
    if login_fault.is_some_and(|fault| fault.failure == LoginFailure::NoWorkers) {
        return Err(keep_silent(tcp).await);
    }
    let mut stream: Box<dyn Transport> = match &endpoint.tls {
        Tls::BeforeTds(acceptor) => {
            let tcp = break_handshake(tcp, faults.tls, false).await?;
            Box::new(acceptor.accept(tcp).await.map_err(ConnectionError::Tls)?)
        }
        Tls::Off | Tls::InsideTds { .. } => Box::new(tcp),
    };
    let encryption = exchange_prelogin(&mut stream, endpoint).await?;
    let body;
    match &endpoint.tls {
        Tls::InsideTds { acceptor, .. } if encryption != Encryption::NotSupported => {
            let stream_before = break_handshake(stream, faults.tls, true).await?;
            let shaken = acceptor.accept(HandshakeStream::new(stream_before)).await;
            let mut encrypted = shaken.map_err(ConnectionError::Tls)?;
            encrypted.get_mut().0.end_handshake();
            body = read(&mut encrypted, MessageKind::Login).await?;
            stream = if encryption == Encryption::Off {
                // Only the login was to be encrypted.
                encrypted.into_inner().0.into_inner()
            } else {
                Box::new(encrypted)
            };
        }
        _ => body = read(&mut stream, MessageKind::Login).await?,
    }
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
    if let Some(message) = login_fault.and_then(|fault| fault.refusal(&request.login.user)) {
        return Err(refuse(stream, endpoint, &message).await);
    }
    let packet_bytes = request.packet_bytes_to_use();
    let by_token = request.login.access_token.is_some();
    let session = match ask_backend(endpoint, request.login).await? {
        Ok(session) => session,
        Err(message) => return Err(refuse(stream, endpoint, &message).await),
    };
    endpoint.logins.fetch_add(1, Ordering::SeqCst);

    let mut writer = ResponseWriter::new(stream, session.spid(), DEFAULT_PACKET_BYTES);
    let acknowledgement = Acknowledgement {
        tds_version,
        server_version: endpoint.backend.version_numbers(),
        server_name: &endpoint.server_name,
        database: &session.database(),
        packet_bytes,
        by_token,
        language: endpoint.backend.language(),
        route: faults.route.as_ref(),
    };
    login::put_acknowledgement(writer.body(), &acknowledgement);
    writer.end_message().await?;
    let null_bitmap = tds_version >= TDS_7_3_B || tds_version == TDS_8_0;
    Ok(LoggedIn { stream: writer.into_stream(), session, packet_bytes, null_bitmap })
}

/// Reads nothing, says nothing, and waits for the client to go.
async fn keep_silent(mut tcp: TcpStream) -> ConnectionError {
    let mut unread = [0; 1024];
    loop {
        match tcp.read(&mut unread).await {
            Ok(0) => return ConnectionError::ClosedByClient,
            Ok(_) => {}
            Err(error) => return error.into(),
        }
    }
}

/// What becomes of a TLS handshake by a fault, once the client has begun it; the stream when nothing does.
async fn break_handshake<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    fault: Option<TlsFault>,
    in_packets: bool,
) -> Result<S, ConnectionError> {
    let Some(fault @ (TlsFault::Closed | TlsFault::Old)) = fault else { return Ok(stream) };
    // The whole of what the client begins with: unread bytes would make the end a reset.
    let mut hello = [0; 4096];
    if stream.read(&mut hello).await? == 0 {
        return Err(ConnectionError::ClosedByClient);
    }
    if fault == TlsFault::Old {
        let record = hello_of_tls_1_0();
        let mut bytes = Vec::new();
        if in_packets {
            put_packet(&mut bytes, MessageKind::PreLogin, END_OF_MESSAGE, 0, 0, &record);
        } else {
            bytes = record;
        }
        stream.write_all(&bytes).await?;
        // Its alert, or its end.
        let _length = stream.read(&mut hello).await?;
    }
    Err(ConnectionError::BrokenByFault)
}

/// Gives the answer on encryption.
async fn exchange_prelogin(
    stream: &mut Box<dyn Transport>,
    endpoint: &Endpoint,
) -> Result<Encryption, ConnectionError> {
    let body = read(stream, MessageKind::PreLogin).await?;
    let client =
        prelogin::decode(&body).map_err(|source| ConnectionError::Decode { kind: MessageKind::PreLogin, source })?;
    let encryption = match endpoint.tls {
        Tls::Off => negotiate(client.encryption, Offer::NotSupported),
        Tls::InsideTds { forced: false, .. } => negotiate(client.encryption, Offer::Available),
        Tls::InsideTds { forced: true, .. } => negotiate(client.encryption, Offer::Forced),
        Tls::BeforeTds(_) => client.encryption, // without meaning: all is encrypted already
    };
    let mut writer = ResponseWriter::new(stream, 0, DEFAULT_PACKET_BYTES);
    writer.body().extend(prelogin::encode(endpoint.backend.version_numbers(), encryption, client));
    writer.end_message().await?;
    // The table says "connection terminated" of these two.
    match (client.encryption, encryption) {
        (Encryption::NotSupported, Encryption::Required)
        | (Encryption::On | Encryption::Required, Encryption::NotSupported) => Err(ConnectionError::NoCommonEncryption),
        _ => Ok(encryption),
    }
}

/// The next message, which must be of that kind.
async fn read<S: AsyncRead + Unpin>(stream: &mut S, kind: MessageKind) -> Result<Vec<u8>, ConnectionError> {
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
