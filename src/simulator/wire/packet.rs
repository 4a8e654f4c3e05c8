//! Owns packets: eight bytes of header, and messages split over them.

use std::io;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes of a packet's header: kind, status, length, SPID, packet number, window.
pub(crate) const HEADER_BYTES: usize = 8;
/// The packet size before login, and for a client that leaves the choice to the server.
pub(crate) const DEFAULT_PACKET_BYTES: usize = 4096;
/// Status bit: the last packet of its message.
pub(crate) const END_OF_MESSAGE: u8 = 0x01;
const IGNORE_MESSAGE: u8 = 0x02;
const RESET_CONNECTION: u8 = 0x08;
const RESET_CONNECTION_SKIP_TRANSACTION: u8 = 0x10;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Batch = 0x01,
    Rpc = 0x03,
    Response = 0x04,
    Attention = 0x06,
    BulkLoad = 0x07,
    TransactionManager = 0x0E,
    Login = 0x10,
    Sspi = 0x11,
    PreLogin = 0x12,
}

impl MessageKind {
    fn of(byte: u8) -> Result<Self, PacketError> {
        Ok(match byte {
            0x01 => Self::Batch,
            0x03 => Self::Rpc,
            0x04 => Self::Response,
            0x06 => Self::Attention,
            0x07 => Self::BulkLoad,
            0x0E => Self::TransactionManager,
            0x10 => Self::Login,
            0x11 => Self::Sspi,
            0x12 => Self::PreLogin,
            other => return Err(PacketError::UnknownKind(other)),
        })
    }
}

/// Why packets do not make a message.
#[derive(Debug, Error)]
pub(crate) enum PacketError {
    #[error("failed to read")]
    Io(#[from] io::Error),
    #[error("a packet says that it is {0} bytes long")]
    Length(u16),
    #[error("a packet is of unknown kind {0:#04x}")]
    UnknownKind(u8),
    #[error("a packet of kind {found:?} stands inside a message of kind {expected:?}")]
    Interleaved { expected: MessageKind, found: MessageKind },
    #[error("a message is longer than {limit_bytes} bytes")]
    TooLong { limit_bytes: usize },
}

/// A whole message from a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClientMessage {
    pub(crate) kind: MessageKind,
    /// The connection is to be reset before the request is run.
    pub(crate) reset: bool,
    /// The client gave the request up while sending it; it is not to be run.
    pub(crate) given_up: bool,
    pub(crate) body: Vec<u8>,
}

/// The next message; `None` when the client closed between messages. An attention in the middle of a message takes
/// its place.
pub(crate) async fn read_message<S: AsyncRead + Unpin>(
    stream: &mut S,
    limit_bytes: usize,
) -> Result<Option<ClientMessage>, PacketError> {
    let mut unfinished: Option<ClientMessage> = None;
    loop {
        let mut header = [0; HEADER_BYTES];
        match stream.read_exact(&mut header[..1]).await {
            // Drivers end TLS connections as they end others, without TLS's own goodbye, which reads as this error.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && unfinished.is_none() => return Ok(None),
            first => first?,
        };
        stream.read_exact(&mut header[1..]).await?;
        let [kind, status, high, low, ..] = header;
        let kind = MessageKind::of(kind)?;
        let length = u16::from_be_bytes([high, low]);
        let payload = usize::from(length).checked_sub(HEADER_BYTES).ok_or(PacketError::Length(length))?;

        let mut message = match unfinished.take() {
            Some(message) if message.kind == kind => message,
            Some(message) if kind != MessageKind::Attention => {
                return Err(PacketError::Interleaved { expected: message.kind, found: kind });
            }
            _ => ClientMessage {
                kind,
                reset: status & (RESET_CONNECTION | RESET_CONNECTION_SKIP_TRANSACTION) != 0,
                given_up: false,
                body: Vec::new(),
            },
        };
        let start = message.body.len();
        if start + payload > limit_bytes {
            return Err(PacketError::TooLong { limit_bytes });
        }
        message.body.resize(start + payload, 0);
        stream.read_exact(message.body.get_mut(start..).unwrap_or_default()).await?;

        if status & END_OF_MESSAGE != 0 {
            message.given_up = status & IGNORE_MESSAGE != 0;
            return Ok(Some(message));
        }
        unfinished = Some(message);
    }
}

/// Puts a packet's header and payload behind what `out` holds.
pub(crate) fn put_packet(out: &mut Vec<u8>, kind: MessageKind, status: u8, spid: u16, number: u8, payload: &[u8]) {
    let length = (payload.len() + HEADER_BYTES) as u16;
    out.extend_from_slice(&[kind as u8, status]);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&spid.to_be_bytes());
    out.extend_from_slice(&[number, 0]);
    out.extend_from_slice(payload);
}

/// Writes responses: bytes go into [`ResponseWriter::body`] and leave in packets of the agreed size.
#[derive(Debug)]
pub(crate) struct ResponseWriter<S> {
    stream: S,
    spid: u16,
    packet_bytes: usize,
    packet_number: u8,
    body: Vec<u8>,
    packets: Vec<u8>,
    /// Nothing leaves before the message ends.
    gathers: bool,
}

impl<S: AsyncWrite + Unpin> ResponseWriter<S> {
    /// How much of an answer is gathered before packets are written.
    const WRITE_AT_BYTES: usize = 64 * 1024;

    pub(crate) fn new(stream: S, spid: u16, packet_bytes: usize) -> Self {
        Self { stream, spid, packet_bytes, packet_number: 1, body: Vec::new(), packets: Vec::new(), gathers: false }
    }

    /// The end of the answer so far: what is not yet written.
    pub(crate) fn body(&mut self) -> &mut Vec<u8> {
        &mut self.body
    }

    /// Writes full packets when enough is gathered. The last packet always stays: its status ends the message.
    pub(crate) async fn write_full_packets(&mut self) -> io::Result<()> {
        if self.gathers || self.body.len() < Self::WRITE_AT_BYTES {
            return Ok(());
        }
        let payload_bytes = self.packet_bytes - HEADER_BYTES;
        let full = (self.body.len() - 1) / payload_bytes * payload_bytes;
        self.frame(full, 0);
        self.write_packets().await
    }

    /// Whether everything is kept until the message ends.
    pub(crate) fn gather(&mut self, gathers: bool) {
        self.gathers = gathers;
    }

    /// Ends the message and sends what is left of it.
    pub(crate) async fn end_message(&mut self) -> io::Result<()> {
        self.frame_message();
        self.write_packets().await?;
        self.stream.flush().await
    }

    /// Ends the message; what is left of it is ready to be sent.
    pub(crate) fn frame_message(&mut self) {
        let payload_bytes = self.packet_bytes - HEADER_BYTES;
        let full = self.body.len().saturating_sub(1) / payload_bytes * payload_bytes;
        self.frame(full, 0);
        self.frame(self.body.len(), END_OF_MESSAGE);
        self.packet_number = 1;
    }

    /// Sends so many bytes of what is ready; `false`: all of it is sent.
    pub(crate) async fn send_framed(&mut self, bytes: usize) -> io::Result<bool> {
        let some: Vec<u8> = self.packets.drain(..bytes.min(self.packets.len())).collect();
        self.stream.write_all(&some).await?;
        self.stream.flush().await?;
        Ok(!self.packets.is_empty())
    }

    /// Sends what there is of a message that will have no end.
    pub(crate) async fn send_unfinished(&mut self) -> io::Result<()> {
        self.frame(self.body.len(), 0);
        self.write_packets().await?;
        self.stream.flush().await
    }

    /// Closes this direction of the connection.
    pub(crate) async fn shut_down(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }

    pub(crate) fn into_stream(self) -> S {
        self.stream
    }

    /// Moves the first `count` bytes of the body into packets; none makes one empty packet that ends a message.
    fn frame(&mut self, count: usize, status: u8) {
        let taken = self.body.get(..count).unwrap_or_default();
        let payloads = taken.chunks(self.packet_bytes - HEADER_BYTES);
        let empty: &[u8] = &[];
        for payload in payloads.chain((taken.is_empty() && status != 0).then_some(empty)) {
            put_packet(&mut self.packets, MessageKind::Response, status, self.spid, self.packet_number, payload);
            self.packet_number = self.packet_number.wrapping_add(1);
        }
        self.body.drain(..count);
    }

    async fn write_packets(&mut self) -> io::Result<()> {
        let written = self.stream.write_all(&self.packets).await;
        self.packets.clear();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(kind: u8, parts: &[(u8, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (status, payload) in parts {
            put_packet(&mut out, MessageKind::of(kind).unwrap(), *status, 0, 1, payload);
        }
        out
    }

    #[tokio::test]
    async fn a_message_is_put_together_from_its_packets() {
        let mut bytes = packets(1, &[(0x08, b"SEL"), (0, b""), (END_OF_MESSAGE, b"ECT")]);
        bytes.extend(packets(6, &[(END_OF_MESSAGE, b"")]));
        let mut stream = bytes.as_slice();
        let first = read_message(&mut stream, 6).await.unwrap().unwrap();
        assert_eq!(
            first,
            ClientMessage { kind: MessageKind::Batch, reset: true, given_up: false, body: b"SELECT".to_vec() }
        );
        let second = read_message(&mut stream, 6).await.unwrap().unwrap();
        assert_eq!(
            second,
            ClientMessage { kind: MessageKind::Attention, reset: false, given_up: false, body: Vec::new() }
        );
        assert!(read_message(&mut stream, 6).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_message_may_be_given_up_in_its_middle() {
        let mut bytes = packets(1, &[(0, b"half")]);
        bytes.extend(packets(6, &[(END_OF_MESSAGE, b"")]));
        bytes.extend(packets(1, &[(0, b"no"), (END_OF_MESSAGE | IGNORE_MESSAGE, b"")]));
        bytes.extend(packets(1, &[(END_OF_MESSAGE, b"yes")]));
        let mut stream = bytes.as_slice();
        assert_eq!(read_message(&mut stream, 99).await.unwrap().unwrap().kind, MessageKind::Attention);
        assert!(read_message(&mut stream, 99).await.unwrap().unwrap().given_up);
        assert_eq!(read_message(&mut stream, 99).await.unwrap().unwrap().body, b"yes");
    }

    #[tokio::test]
    async fn wrong_packets_are_errors() {
        async fn error(bytes: &[u8]) -> String {
            let mut stream = bytes;
            read_message(&mut stream, 10).await.unwrap_err().to_string()
        }
        assert_eq!(error(&[1, 1, 0, 7, 0, 0, 1, 0]).await, "a packet says that it is 7 bytes long");
        assert_eq!(error(&[99, 1, 0, 8, 0, 0, 1, 0]).await, "a packet is of unknown kind 0x63");
        assert_eq!(error(&packets(1, &[(0, b"123456"), (1, b"12345")])).await, "a message is longer than 10 bytes");
        let mut mixed = packets(1, &[(0, b"1")]);
        mixed.extend(packets(3, &[(1, b"1")]));
        assert_eq!(error(&mixed).await, "a packet of kind Rpc stands inside a message of kind Batch");
        assert_eq!(error(&packets(1, &[(0, b"1")])).await, "failed to read");
    }

    #[tokio::test]
    async fn answers_leave_in_packets_of_the_agreed_size() {
        for (length, expected) in [(0, vec![0]), (4, vec![4]), (5, vec![4, 1]), (8, vec![4, 4]), (9, vec![4, 4, 1])] {
            let mut writer = ResponseWriter::new(Vec::new(), 57, HEADER_BYTES + 4);
            writer.body().resize(length, 7);
            writer.end_message().await.unwrap();
            let sent = writer.into_stream();
            let mut rest = sent.as_slice();
            let mut lengths = Vec::new();
            while let [4, status, high, low, 0, 57, number, 0, ..] = *rest {
                let length = usize::from(u16::from_be_bytes([high, low]));
                lengths.push(length - HEADER_BYTES);
                assert_eq!(usize::from(number), lengths.len());
                rest = &rest[length..];
                assert_eq!(status == END_OF_MESSAGE, rest.is_empty());
            }
            assert_eq!(lengths, expected);
        }
    }

    #[tokio::test]
    async fn a_long_answer_does_not_wait_for_its_end() {
        let mut writer = ResponseWriter::new(Vec::new(), 57, 512);
        writer.body().resize(504 * 200, 7);
        writer.write_full_packets().await.unwrap();
        assert_eq!(writer.body().len(), 504, "a whole packet stays for the end");
        writer.end_message().await.unwrap();
        assert_eq!(writer.into_stream().len(), 512 * 200);
    }
}
