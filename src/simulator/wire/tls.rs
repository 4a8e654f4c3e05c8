//! Owns TLS: the server's own certificate, and the handshake inside TDS packets ([MS-TDS] 2.2.6.5 and 3.2.5.1).

use crate::simulator::faults::login::TlsFault;
use crate::simulator::wire::packet::{DEFAULT_PACKET_BYTES, END_OF_MESSAGE, HEADER_BYTES, MessageKind, put_packet};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, SupportedProtocolVersion, crypto, version};

/// Where TLS stands in a connection.
#[derive(Clone)]
pub(crate) enum Tls {
    /// Nowhere.
    Off,
    /// Inside TDS 7: negotiated in PRELOGIN.
    InsideTds {
        /// Shakes hands.
        acceptor: TlsAcceptor,
        /// Whether the server insists on it.
        forced: bool,
    },
    /// Before TDS 8: from the first byte.
    BeforeTds(TlsAcceptor),
}

/// A self-signed leaf certificate, made anew at every start.
pub(crate) struct Certificate {
    /// PEM, for a client's list of trusted certificates.
    pub(crate) pem: String,
    der: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Certificate {
    /// Makes a key and a certificate for `localhost`, `127.0.0.1` and `::1`, or one that is wrong as the fault says.
    pub(crate) fn generate(fault: Option<TlsFault>) -> io::Result<Self> {
        let names = match fault {
            Some(TlsFault::OtherName) => vec!["elsewhere.example".to_owned()],
            _ => ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec(),
        };
        let mut parameters = rcgen::CertificateParams::new(names).map_err(io::Error::other)?;
        if fault == Some(TlsFault::Expired) {
            parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
            parameters.not_after = rcgen::date_time_ymd(2021, 1, 1);
        }
        let key = rcgen::KeyPair::generate().map_err(io::Error::other)?;
        let certificate = parameters.self_signed(&key).map_err(io::Error::other)?;
        Ok(Self {
            pem: certificate.pem(),
            der: certificate.der().clone(),
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        })
    }

    /// TLS inside TDS 7. TLS 1.2 only: TLS 1.3 sends session tickets after the handshake, when the packets around
    /// the handshake are gone.
    pub(crate) fn inside_tds(&self, forced: bool) -> io::Result<Tls> {
        let config = self.configure(&[&version::TLS12])?;
        Ok(Tls::InsideTds { acceptor: Arc::new(config).into(), forced })
    }

    /// TLS before TDS 8 ("strict").
    pub(crate) fn before_tds(&self) -> io::Result<Tls> {
        let mut config = self.configure(&[&version::TLS13, &version::TLS12])?;
        config.alpn_protocols = vec![b"tds/8.0".to_vec()];
        Ok(Tls::BeforeTds(Arc::new(config).into()))
    }

    fn configure(&self, versions: &[&'static SupportedProtocolVersion]) -> io::Result<ServerConfig> {
        ServerConfig::builder_with_provider(Arc::new(crypto::aws_lc_rs::default_provider()))
            .with_protocol_versions(versions)
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![self.der.clone()], self.key.clone_key())
            .map_err(io::Error::other)
    }
}

/// The record that a server which speaks nothing newer than TLS 1.0 answers with: a ServerHello without extensions.
pub(crate) fn hello_of_tls_1_0() -> Vec<u8> {
    const TLS_1_0: [u8; 2] = [3, 1];
    const RSA_WITH_AES_128_CBC_SHA: [u8; 2] = [0x00, 0x2F];
    let mut hello = TLS_1_0.to_vec();
    hello.extend_from_slice(&[0x5A; 32]); // random
    hello.push(0); // no session id
    hello.extend_from_slice(&RSA_WITH_AES_128_CBC_SHA);
    hello.push(0); // no compression
    let length = hello.len() as u8;
    let mut record = vec![0x16, 3, 1, 0, length + 4, 0x02, 0, 0, length];
    record.extend_from_slice(&hello);
    record
}

/// A stream that, until [`HandshakeStream::end_handshake`], carries its bytes in PRELOGIN packets both ways.
#[derive(Debug)]
pub(crate) struct HandshakeStream<S> {
    inner: S,
    wrapping: bool,
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    payload_left: usize,
    unframed: Vec<u8>,
    framed: Vec<u8>,
}

impl<S> HandshakeStream<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self {
            inner,
            wrapping: true,
            header: [0; HEADER_BYTES],
            header_filled: 0,
            payload_left: 0,
            unframed: Vec::new(),
            framed: Vec::new(),
        }
    }

    /// What it carries its bytes on.
    pub(crate) fn into_inner(self) -> S {
        self.inner
    }

    /// From now on bytes go through as they are.
    pub(crate) fn end_handshake(&mut self) {
        self.wrapping = false;
    }
}

impl<S: AsyncRead + Unpin> HandshakeStream<S> {
    /// Reads headers until one announces a payload; `false` at the end of the stream.
    fn poll_header(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while self.payload_left == 0 {
            let mut buffer = ReadBuf::new(self.header.get_mut(self.header_filled..).unwrap_or_default());
            ready!(Pin::new(&mut self.inner).poll_read(context, &mut buffer))?;
            let read = buffer.filled().len();
            if read == 0 {
                return Poll::Ready(Ok(false));
            }
            self.header_filled += read;
            if self.header_filled == HEADER_BYTES {
                self.header_filled = 0;
                let [kind, _, high, low, ..] = self.header;
                let length = usize::from(u16::from_be_bytes([high, low]));
                self.payload_left = length
                    .checked_sub(HEADER_BYTES)
                    .filter(|_| kind == MessageKind::PreLogin as u8)
                    .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a packet of a TLS handshake"))?;
            }
        }
        Poll::Ready(Ok(true))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HandshakeStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream = &mut *self;
        if !stream.wrapping {
            return Pin::new(&mut stream.inner).poll_read(context, out);
        }
        if !ready!(stream.poll_header(context))? {
            return Poll::Ready(Ok(()));
        }
        let wanted = stream.payload_left.min(out.remaining());
        let mut payload = ReadBuf::new(out.initialize_unfilled_to(wanted));
        ready!(Pin::new(&mut stream.inner).poll_read(context, &mut payload))?;
        let read = payload.filled().len();
        stream.payload_left -= read;
        out.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HandshakeStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let stream = &mut *self;
        if !stream.wrapping {
            return Pin::new(&mut stream.inner).poll_write(context, bytes);
        }
        stream.unframed.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stream = &mut *self;
        let payloads = stream.unframed.chunks(DEFAULT_PACKET_BYTES - HEADER_BYTES);
        let count = payloads.len();
        for (index, payload) in payloads.enumerate() {
            let status = if index + 1 == count { END_OF_MESSAGE } else { 0 };
            put_packet(&mut stream.framed, MessageKind::PreLogin, status, 0, 0, payload);
        }
        stream.unframed.clear();
        while !stream.framed.is_empty() {
            let written = ready!(Pin::new(&mut stream.inner).poll_write(context, &stream.framed))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            stream.framed.drain(..written);
        }
        Pin::new(&mut stream.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
