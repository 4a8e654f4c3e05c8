//! Owns LOGIN7 and the acknowledgement of a login ([MS-TDS] 2.2.6.4 and 2.2.7.14).

use crate::simulator::faults::login::Route;
use crate::simulator::host::Login;
use crate::simulator::language::Language;
use crate::simulator::output::Message;
use crate::simulator::wire::packet::DEFAULT_PACKET_BYTES;
use crate::simulator::wire::reader::{DecodeError, Reader};
use crate::simulator::wire::token;

/// TDS 7.3A, SQL Server 2008: the first with datetime2, and the oldest spoken here.
pub(crate) const TDS_7_3_A: u32 = 0x730A_0003;
/// TDS 7.3B, SQL Server 2008 R2: the first with NBCROW.
pub(crate) const TDS_7_3_B: u32 = 0x730B_0003;
/// TDS 7.4, SQL Server 2012 and newer.
pub(crate) const TDS_7_4: u32 = 0x7400_0004;
/// TDS 8.0, which is 7.4 inside TLS.
pub(crate) const TDS_8_0: u32 = 0x0800_0000;

/// Where the table of offsets and lengths begins.
const TABLE_OFFSET: usize = 36;

/// A decoded LOGIN7.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoginRequest {
    pub(crate) tds_version: u32,
    /// 0: the server's choice.
    pub(crate) packet_bytes: u32,
    /// Windows authentication is asked for.
    pub(crate) integrated: bool,
    pub(crate) login: Login,
}

impl LoginRequest {
    /// The version to speak: the client's, at most 7.4; `None` when the client is too old.
    pub(crate) fn version_to_speak(&self) -> Option<u32> {
        match self.tds_version {
            TDS_8_0 => Some(TDS_8_0),
            old if old < TDS_7_3_A => None,
            other => Some(other.min(TDS_7_4)),
        }
    }

    /// The packet size to use from the first request on.
    pub(crate) fn packet_bytes_to_use(&self) -> usize {
        match self.packet_bytes {
            0 => DEFAULT_PACKET_BYTES,
            asked => asked.clamp(512, 32_767) as usize,
        }
    }
}

/// Reads LOGIN7. Of the feature extensions federated authentication is read; the others are passed over, as by a server
/// that knows none.
pub(crate) fn decode(body: &[u8]) -> Result<LoginRequest, DecodeError> {
    const INTEGRATED_SECURITY: u8 = 0x80;
    const EXTENSION: u8 = 0x10;
    let mut fixed = Reader::new(body);
    let _length = fixed.u32()?;
    let tds_version = fixed.u32()?;
    let packet_bytes = fixed.u32()?;
    fixed.bytes(13)?; // program version, process id, connection id, option flags 1
    let option_flags = fixed.u8()?;
    fixed.bytes(1)?; // type flags
    let option_flags_3 = fixed.u8()?;
    let mut table = Reader::new(body);
    table.bytes(TABLE_OFFSET)?;

    let host = text(body, &mut table)?;
    let user = text(body, &mut table)?;
    let password = password(field(body, &mut table)?)?;
    let application = text(body, &mut table)?;
    field(body, &mut table)?; // server
    let extension_offset = usize::from(table.u16()?);
    table.u16()?; // its length, always 4
    for _library_language in 0..2 {
        field(body, &mut table)?;
    }
    let database = text(body, &mut table)?;
    let access_token = if option_flags_3 & EXTENSION == 0 { None } else { access_token(body, extension_offset)? };
    Ok(LoginRequest {
        tds_version,
        packet_bytes,
        integrated: option_flags & INTEGRATED_SECURITY != 0,
        login: Login { user, password, host, application, database, access_token },
    })
}

/// The token of the feature extension for federated authentication, where it is there and carries one.
fn access_token(body: &[u8], extension_offset: usize) -> Result<Option<String>, DecodeError> {
    const FEDERATED_AUTHENTICATION: u8 = 0x02;
    const SECURITY_TOKEN: u8 = 0x01;
    const TERMINATOR: u8 = 0xFF;
    let mut pointer = Reader::new(body);
    pointer.bytes(extension_offset)?;
    let mut features = Reader::new(body);
    features.bytes(pointer.u32()? as usize)?;
    loop {
        let feature = features.u8()?;
        if feature == TERMINATOR {
            return Ok(None);
        }
        let length = features.u32()? as usize;
        let mut data = Reader::new(features.bytes(length)?);
        if feature == FEDERATED_AUTHENTICATION && data.u8()? >> 1 == SECURITY_TOKEN {
            let length = data.u32()? as usize;
            return crate::simulator::wire::reader::utf16(data.bytes(length)?).map(Some);
        }
    }
}

/// The bytes that the next entry of the table points to.
fn field<'a>(body: &'a [u8], table: &mut Reader<'_>) -> Result<&'a [u8], DecodeError> {
    let offset = usize::from(table.u16()?);
    let characters = usize::from(table.u16()?);
    if characters == 0 {
        return Ok(&[]);
    }
    let mut data = Reader::new(body);
    data.bytes(offset)?;
    data.bytes(characters * 2)
}

fn text(body: &[u8], table: &mut Reader<'_>) -> Result<String, DecodeError> {
    crate::simulator::wire::reader::utf16(field(body, table)?)
}

/// Undoes the scrambling of a password: each byte was turned by a nibble and combined with 0xA5.
fn password(scrambled: &[u8]) -> Result<String, DecodeError> {
    let bytes: Vec<u8> = scrambled.iter().map(|byte| (byte ^ 0xA5).rotate_left(4)).collect();
    crate::simulator::wire::reader::utf16(&bytes)
}

/// What an accepted login is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acknowledgement<'a> {
    pub(crate) tds_version: u32,
    pub(crate) server_version: (u8, u8, u16),
    pub(crate) server_name: &'a str,
    pub(crate) database: &'a str,
    pub(crate) packet_bytes: usize,
    /// The login was by an access token, which is acknowledged.
    pub(crate) by_token: bool,
    /// Where the client is sent on to.
    pub(crate) route: Option<&'a Route>,
    pub(crate) language: Language,
}

/// Puts the answer to an accepted login, in the order in which a server sends it.
pub(crate) fn put_acknowledgement(out: &mut Vec<u8>, login: &Acknowledgement<'_>) {
    token::put_database_change(out, login.server_name, login.database, "master");
    token::put_collation_change(out);
    token::put_environment_change(out, token::Environment::Language, login.language.name(), "");
    let changed = Message::new(5703, 0, "Changed language setting to us_english.");
    token::put_message(out, login.server_name, &login.language.translated(changed));
    token::put_login_acknowledgement(out, login.tds_version, login.server_version);
    let packet_bytes = login.packet_bytes.to_string();
    let before = DEFAULT_PACKET_BYTES.to_string();
    token::put_environment_change(out, token::Environment::PacketSize, &packet_bytes, &before);
    if login.by_token {
        token::put_federated_authentication_acknowledgement(out);
    }
    if let Some(route) = login.route {
        token::put_routing(out, &route.host, route.port);
    }
    token::put_done(out, token::DoneKind::Batch, token::Done::default());
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::simulator::wire::encode::put_utf16;

    /// LOGIN7 as a client writes it.
    pub(crate) fn login_bytes(login: &Login, tds_version: u32, packet_bytes: u32) -> Vec<u8> {
        let fields = [
            &login.host,
            &login.user,
            &login.password,
            &login.application,
            "server",
            "",
            "library",
            "",
            &login.database,
        ];
        let mut table = Vec::new();
        let mut data = Vec::new();
        for (index, text) in fields.into_iter().enumerate() {
            table.extend_from_slice(&((94 + data.len()) as u16).to_le_bytes());
            table.extend_from_slice(&(text.encode_utf16().count() as u16).to_le_bytes());
            let start = data.len();
            put_utf16(&mut data, text);
            if index == 2 {
                data[start..].iter_mut().for_each(|byte| *byte = byte.rotate_left(4) ^ 0xA5);
            }
        }
        let mut out = ((94 + data.len()) as u32).to_le_bytes().to_vec();
        out.extend_from_slice(&tds_version.to_le_bytes());
        out.extend_from_slice(&packet_bytes.to_le_bytes());
        out.resize(36, 0);
        out.extend_from_slice(&table);
        out.resize(94, 0);
        out.extend_from_slice(&data);
        out
    }

    fn sa() -> Login {
        Login {
            user: "sa".into(),
            password: "Žluť😀 1".into(),
            host: "client".into(),
            application: "tests".into(),
            database: "tempdb".into(),
            access_token: None,
        }
    }

    /// The same with the feature extensions `features`, terminator included.
    fn with_features(mut bytes: Vec<u8>, features: &[u8]) -> Vec<u8> {
        let pointer = bytes.len();
        bytes[27] |= 0x10;
        bytes[56..58].copy_from_slice(&(pointer as u16).to_le_bytes());
        bytes[58..60].copy_from_slice(&4u16.to_le_bytes());
        bytes.extend_from_slice(&(pointer as u32 + 4).to_le_bytes());
        bytes.extend_from_slice(features);
        bytes
    }

    #[test]
    fn an_access_token_is_read_among_other_features() {
        let plain = login_bytes(&sa(), TDS_7_4, 8000);
        // Session recovery without data, then federated authentication by a token.
        let features = [1, 0, 0, 0, 0, 2, 9, 0, 0, 0, 2, 4, 0, 0, 0, b'e', 0, b'y', 0, 0xFF];
        let bytes = with_features(plain.clone(), &features);
        let expected = Login { access_token: Some("ey".into()), ..sa() };
        assert_eq!(decode(&bytes).unwrap().login, expected);
        for length in 0..bytes.len() - 1 {
            assert!(decode(&bytes[..length]).map_or(true, |request| request.login != expected), "{length}");
        }
        assert_eq!(decode(&with_features(plain, &[10, 1, 0, 0, 0, 1, 0xFF])).unwrap().login, sa());
    }

    #[test]
    fn a_login_reads_back() {
        let request = decode(&login_bytes(&sa(), TDS_7_4, 8000)).unwrap();
        assert_eq!(request.login, sa());
        assert_eq!((request.tds_version, request.packet_bytes, request.integrated), (TDS_7_4, 8000, false));
    }

    #[test]
    fn a_login_cut_anywhere_is_an_error() {
        let whole = login_bytes(&sa(), TDS_7_4, 8000);
        for length in 0..whole.len() {
            assert!(matches!(decode(&whole[..length]), Err(DecodeError::Truncated { .. })), "{length}");
        }
    }

    #[test]
    fn the_version_spoken_is_the_clients_up_to_7_4() {
        let spoken = |tds_version| {
            let request = LoginRequest { tds_version, packet_bytes: 0, integrated: false, login: Login::default() };
            request.version_to_speak()
        };
        assert_eq!(spoken(0x7400_0004), Some(TDS_7_4));
        assert_eq!(spoken(0x7500_0000), Some(TDS_7_4));
        assert_eq!(spoken(TDS_7_3_B), Some(TDS_7_3_B));
        assert_eq!(spoken(0x7209_0002), None);
        assert_eq!(spoken(TDS_8_0), Some(TDS_8_0));
    }

    #[test]
    fn packet_sizes_stay_in_their_range() {
        let used = |packet_bytes| {
            let request = LoginRequest { tds_version: 0, packet_bytes, integrated: false, login: Login::default() };
            request.packet_bytes_to_use()
        };
        assert_eq!([0, 1, 512, 8000, u32::MAX].map(used), [4096, 512, 512, 8000, 32_767]);
    }
}
