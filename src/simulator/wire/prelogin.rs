//! Owns PRELOGIN: what both sides say before login, encryption above all ([MS-TDS] 2.2.6.5).

use crate::simulator::wire::reader::{DecodeError, Reader};

const VERSION: u8 = 0;
const ENCRYPTION: u8 = 1;
const INSTANCE: u8 = 2;
const THREAD_ID: u8 = 3;
const MARS: u8 = 4;
const FED_AUTH_REQUIRED: u8 = 6;
const TERMINATOR: u8 = 0xFF;
/// Token, offset and length of an option.
const OPTION_BYTES: usize = 5;

/// The ENCRYPTION option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    Off = 0,
    On = 1,
    NotSupported = 2,
    Required = 3,
}

/// What of a client's PRELOGIN matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PreLogin {
    pub(crate) encryption: Encryption,
    /// The client asks whether federated authentication is required.
    pub(crate) asks_fed_auth: bool,
}

/// Reads a client's PRELOGIN.
pub(crate) fn decode(body: &[u8]) -> Result<PreLogin, DecodeError> {
    let mut reader = Reader::new(body);
    let mut prelogin = PreLogin { encryption: Encryption::Off, asks_fed_auth: false };
    loop {
        let token = reader.u8()?;
        if token == TERMINATOR {
            return Ok(prelogin);
        }
        let offset = usize::from(reader.u16_big_endian()?);
        let length = usize::from(reader.u16_big_endian()?);
        let mut data = Reader::new(body);
        data.bytes(offset)?;
        let value = data.bytes(length)?;
        match token {
            ENCRYPTION => prelogin.encryption = encryption(value)?,
            FED_AUTH_REQUIRED => prelogin.asks_fed_auth = true,
            _ => {}
        }
    }
}

fn encryption(value: &[u8]) -> Result<Encryption, DecodeError> {
    /// The client has a certificate of its own, which no login here needs.
    const CLIENT_CERTIFICATE: u8 = 0x80;
    let &[byte] = value else {
        return Err(DecodeError::Length { what: "pre-login encryption option", length: value.len() });
    };
    match byte & !CLIENT_CERTIFICATE {
        0 => Ok(Encryption::Off),
        1 => Ok(Encryption::On),
        2 => Ok(Encryption::NotSupported),
        3 => Ok(Encryption::Required),
        _ => Err(DecodeError::Malformed("the pre-login encryption option is none of 0 to 3")),
    }
}

/// How a server is set up for encryption, in the words of [MS-TDS].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// ENCRYPT_NOT_SUP: it has none.
    NotSupported,
    /// ENCRYPT_OFF: it has a certificate and leaves the choice to the client.
    Available,
    /// ENCRYPT_ON: it insists.
    Forced,
}

/// What the server answers to a client that asks for `client`: the table of [MS-TDS] 2.2.6.5.
pub(crate) fn negotiate(client: Encryption, offer: Offer) -> Encryption {
    match (offer, client) {
        (Offer::NotSupported, _) => Encryption::NotSupported,
        (Offer::Available, Encryption::Off | Encryption::NotSupported) => client,
        (Offer::Forced, Encryption::Off | Encryption::NotSupported) => Encryption::Required,
        (Offer::Available | Offer::Forced, Encryption::On | Encryption::Required) => Encryption::On,
    }
}

/// The server's PRELOGIN.
pub(crate) fn encode(version: (u8, u8, u16), encryption: Encryption, prelogin: PreLogin) -> Vec<u8> {
    let (major, minor, build) = version;
    let [build_high, build_low] = build.to_be_bytes();
    let mut options: Vec<(u8, Vec<u8>)> = vec![
        (VERSION, vec![major, minor, build_high, build_low, 0, 0]),
        (ENCRYPTION, vec![encryption as u8]),
        (INSTANCE, vec![0]),
        (THREAD_ID, Vec::new()),
        (MARS, vec![0]),
    ];
    if prelogin.asks_fed_auth {
        options.push((FED_AUTH_REQUIRED, vec![0]));
    }
    let mut out = Vec::new();
    let mut offset = options.len() * OPTION_BYTES + 1;
    for (token, value) in &options {
        out.push(*token);
        out.extend_from_slice(&(offset as u16).to_be_bytes());
        out.extend_from_slice(&(value.len() as u16).to_be_bytes());
        offset += value.len();
    }
    out.push(TERMINATOR);
    for (_, value) in &options {
        out.extend_from_slice(value);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_sends_reads_back() {
        let asked = PreLogin { encryption: Encryption::On, asks_fed_auth: true };
        let bytes = encode((16, 0, 1000), Encryption::Required, asked);
        assert_eq!(decode(&bytes), Ok(PreLogin { encryption: Encryption::Required, asks_fed_auth: true }));
        assert_eq!(bytes.get(31..37), Some([16, 0, 0x03, 0xE8, 0, 0].as_slice()));
    }

    #[test]
    fn the_answer_on_encryption_is_that_of_the_table() {
        use Encryption::{NotSupported, Off, On, Required};
        let answers = |offer| [Off, On, NotSupported, Required].map(|client| negotiate(client, offer));
        assert_eq!(answers(Offer::NotSupported), [NotSupported; 4]);
        assert_eq!(answers(Offer::Available), [Off, On, NotSupported, On]);
        assert_eq!(answers(Offer::Forced), [Required, On, Required, On]);
    }

    #[test]
    fn wrong_options_are_errors() {
        assert_eq!(decode(&[]), Err(DecodeError::Truncated { missing: 1 }));
        assert_eq!(
            decode(&[1, 0, 6, 0, 1, 0xFF, 9]),
            Err(DecodeError::Malformed("the pre-login encryption option is none of 0 to 3"))
        );
        assert_eq!(decode(&[1, 0, 6, 0, 2, 0xFF, 1]), Err(DecodeError::Truncated { missing: 1 }));
        assert_eq!(decode(&[1, 0xFF, 0, 0, 1, 0xFF, 1]), Err(DecodeError::Truncated { missing: 0xFF00 - 7 }));
        assert_eq!(decode(&[1, 0, 6, 0, 1, 0xFF, 0x81]).map(|prelogin| prelogin.encryption), Ok(Encryption::On));
    }
}
