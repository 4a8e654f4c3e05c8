//! Owns the reasons why a connection ends.

use crate::simulator::wire::packet::{MessageKind, PacketError};
use crate::simulator::wire::reader::DecodeError;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// Why a connection ended other than by the client closing it between requests.
#[derive(Debug, Error)]
pub(crate) enum ConnectionError {
    #[error("failed to write")]
    Io(#[from] io::Error),
    #[error("failed to read a message")]
    Packet(#[from] PacketError),
    #[error("failed to agree on TLS")]
    Tls(#[source] io::Error),
    #[error("failed to decode a message of kind {kind:?}")]
    Decode {
        kind: MessageKind,
        #[source]
        source: DecodeError,
    },
    #[error("a message of kind {0:?} came where none may")]
    Unexpected(MessageKind),
    #[error("the client closed the connection in the middle of an exchange")]
    ClosedByClient,
    #[error("the login was not done after {0:?}")]
    LoginTimeout(Duration),
    #[error("the login was refused with error {0}")]
    LoginRefused(u32),
    #[error("the server ended the connection")]
    EndedByServer,
    #[error("client and server agree on no encryption")]
    NoCommonEncryption,
    #[error("a fault broke the TLS handshake")]
    BrokenByFault,
    #[error("a hook ended the connection")]
    EndedByHook,
    #[error("the session panicked")]
    SessionPanicked,
}
