//! Owns what a server's PRELOGIN gives away before anything is agreed: its version and its encryption ([MS-TDS] 2.2.6.5).
//!
//! The driver reads the same bytes and keeps them to itself; they tell why a connection could not be made.

/// A server's word on encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerEncryption {
    /// Available; only the login is encrypted unless the client asks for more.
    Off,
    /// On.
    On,
    /// None there is.
    NotSupported,
    /// The server insists.
    Required,
}

/// A server's PRELOGIN, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerPreLogin {
    /// Major, minor, build; 10.50.x is SQL Server 2008 R2.
    pub(super) version: Option<(u8, u8, u16)>,
    pub(super) encryption: Option<ServerEncryption>,
}

/// Reads the beginning of what a server said; `None` when that is no PRELOGIN.
pub(super) fn read(said: &[u8]) -> Option<ServerPreLogin> {
    const RESPONSE: u8 = 0x04;
    const HEADER_BYTES: usize = 8;
    const TERMINATOR: u8 = 0xFF;
    let (header, body) = said.split_at_checked(HEADER_BYTES)?;
    if header.first() != Some(&RESPONSE) {
        return None;
    }
    let mut prelogin = ServerPreLogin { version: None, encryption: None };
    let mut options = body;
    loop {
        let [token, offset_high, offset_low, _, _, rest @ ..] = options else {
            return options.first().is_some_and(|token| *token == TERMINATOR).then_some(prelogin);
        };
        let value = body.get(usize::from(u16::from_be_bytes([*offset_high, *offset_low]))..);
        match (token, value) {
            (&TERMINATOR, _) => return Some(prelogin),
            (0, Some([major, minor, high, low, ..])) => {
                prelogin.version = Some((*major, *minor, u16::from_be_bytes([*high, *low])));
            }
            (1, Some([encryption, ..])) => prelogin.encryption = encryption_of(*encryption),
            _ => {}
        }
        options = rest;
    }
}

fn encryption_of(byte: u8) -> Option<ServerEncryption> {
    match byte {
        0 => Some(ServerEncryption::Off),
        1 => Some(ServerEncryption::On),
        2 => Some(ServerEncryption::NotSupported),
        3 => Some(ServerEncryption::Required),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ServerEncryption, ServerPreLogin, read};
    use proptest::prelude::any;

    /// The answer of the example in [MS-TDS] 4.2, its version made that of 2008 R2.
    const ANSWER: [u8; 43] = [
        0x04, 0x01, 0x00, 0x2B, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x1A, 0x00, 0x06, 0x01, 0x00, 0x20, 0x00, 0x01,
        0x02, 0x00, 0x21, 0x00, 0x01, 0x03, 0x00, 0x22, 0x00, 0x00, 0x04, 0x00, 0x22, 0x00, 0x01, 0xFF, 0x0A, 0x32,
        0x06, 0x40, 0x00, 0x00, 0x02, 0x00, 0x00,
    ];

    #[test]
    fn version_and_encryption_are_read() {
        let expected =
            ServerPreLogin { version: Some((10, 50, 1600)), encryption: Some(ServerEncryption::NotSupported) };
        assert_eq!(read(&ANSWER), Some(expected));
    }

    #[test]
    fn a_cut_or_foreign_answer_says_less_or_nothing() {
        for length in 0..ANSWER.len() {
            let cut = read(&ANSWER[..length]);
            assert!(length >= 34 || cut.is_none(), "{length}: {cut:?}");
        }
        assert_eq!(read(b"HTTP/1.1 400 Bad Request\r\n\r\n"), None);
        assert_eq!(read(&[0x15, 3, 1, 0, 2, 2, 70, 0, 0]), None);
    }

    proptest::proptest! {
        #[test]
        fn no_answer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut answer = vec![0x04, 1, 0, 0, 0, 0, 0, 0];
            answer.extend_from_slice(&bytes);
            let _ignored = (read(&answer), read(&bytes));
        }
    }
}
