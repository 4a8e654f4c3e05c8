//! Owns TYPE_INFO: the bytes that name types ([MS-TDS] 2.2.5.4).

use crate::simulator::value::SqlType;
use crate::simulator::wire::token::COLLATION;

pub(crate) const NULL: u8 = 0x1F;
pub(crate) const IMAGE: u8 = 0x22;
pub(crate) const TEXT: u8 = 0x23;
pub(crate) const GUID: u8 = 0x24;
pub(crate) const OLD_VARBINARY: u8 = 0x25;
pub(crate) const INTN: u8 = 0x26;
pub(crate) const OLD_VARCHAR: u8 = 0x27;
pub(crate) const DATEN: u8 = 0x28;
pub(crate) const TIMEN: u8 = 0x29;
pub(crate) const DATETIME2N: u8 = 0x2A;
pub(crate) const DATETIMEOFFSETN: u8 = 0x2B;
pub(crate) const OLD_BINARY: u8 = 0x2D;
pub(crate) const OLD_CHAR: u8 = 0x2F;
pub(crate) const INT1: u8 = 0x30;
pub(crate) const BIT: u8 = 0x32;
pub(crate) const INT2: u8 = 0x34;
pub(crate) const OLD_DECIMAL: u8 = 0x37;
pub(crate) const INT4: u8 = 0x38;
pub(crate) const DATETIME4: u8 = 0x3A;
pub(crate) const FLOAT4: u8 = 0x3B;
pub(crate) const MONEY: u8 = 0x3C;
pub(crate) const DATETIME: u8 = 0x3D;
pub(crate) const FLOAT8: u8 = 0x3E;
pub(crate) const OLD_NUMERIC: u8 = 0x3F;
pub(crate) const VARIANT: u8 = 0x62;
pub(crate) const NTEXT: u8 = 0x63;
pub(crate) const BITN: u8 = 0x68;
pub(crate) const DECIMALN: u8 = 0x6A;
pub(crate) const NUMERICN: u8 = 0x6C;
pub(crate) const FLOATN: u8 = 0x6D;
pub(crate) const MONEYN: u8 = 0x6E;
pub(crate) const DATETIMEN: u8 = 0x6F;
pub(crate) const MONEY4: u8 = 0x7A;
pub(crate) const INT8: u8 = 0x7F;
pub(crate) const VARBINARY: u8 = 0xA5;
pub(crate) const VARCHAR: u8 = 0xA7;
pub(crate) const BINARY: u8 = 0xAD;
pub(crate) const CHAR: u8 = 0xAF;
pub(crate) const NVARCHAR: u8 = 0xE7;
pub(crate) const NCHAR: u8 = 0xEF;
pub(crate) const XML: u8 = 0xF1;

/// The length that says max.
pub(crate) const MAX_LENGTH: u16 = 0xFFFF;
/// The longest sql_variant, in bytes.
const VARIANT_BYTES: u32 = 8_009;

/// Bytes of a decimal of that precision: sign and magnitude.
pub(crate) fn decimal_bytes(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// The length in bytes that is declared for so many characters of UTF-16.
pub(crate) fn utf16_bytes(characters: u16) -> u16 {
    characters.clamp(1, 4_000) * 2
}

/// The length in bytes that is declared for so many bytes.
pub(crate) fn plain_bytes(length: u16) -> u16 {
    length.clamp(1, 8_000)
}

/// TYPE_INFO of a column. Fixed types are sent in their nullable form, which every client reads.
pub(crate) fn put_type_info(out: &mut Vec<u8>, sql_type: SqlType) {
    match sql_type {
        SqlType::Bit => out.extend_from_slice(&[BITN, 1]),
        SqlType::TinyInt => out.extend_from_slice(&[INTN, 1]),
        SqlType::SmallInt => out.extend_from_slice(&[INTN, 2]),
        SqlType::Int => out.extend_from_slice(&[INTN, 4]),
        SqlType::BigInt => out.extend_from_slice(&[INTN, 8]),
        SqlType::Real => out.extend_from_slice(&[FLOATN, 4]),
        SqlType::Float => out.extend_from_slice(&[FLOATN, 8]),
        SqlType::Decimal { precision, scale } => {
            out.extend_from_slice(&[DECIMALN, decimal_bytes(precision), precision, scale]);
        }
        SqlType::NVarChar(length) => put_text_type(out, NVARCHAR, length.map_or(MAX_LENGTH, utf16_bytes)),
        SqlType::NChar(length) => put_text_type(out, NCHAR, utf16_bytes(length)),
        SqlType::VarChar(length) => put_text_type(out, VARCHAR, length.map_or(MAX_LENGTH, plain_bytes)),
        SqlType::Char(length) => put_text_type(out, CHAR, plain_bytes(length)),
        SqlType::VarBinary(length) => {
            out.push(VARBINARY);
            out.extend_from_slice(&length.map_or(MAX_LENGTH, plain_bytes).to_le_bytes());
        }
        SqlType::UniqueIdentifier => out.extend_from_slice(&[GUID, 16]),
        SqlType::DateTime => out.extend_from_slice(&[DATETIMEN, 8]),
        SqlType::DateTime2(scale) => out.extend_from_slice(&[DATETIME2N, scale.min(7)]),
        SqlType::DateTimeOffset(scale) => out.extend_from_slice(&[DATETIMEOFFSETN, scale.min(7)]),
        SqlType::Xml => out.extend_from_slice(&[XML, 0]), // no schema
        SqlType::SqlVariant => {
            out.push(VARIANT);
            out.extend_from_slice(&VARIANT_BYTES.to_le_bytes());
        }
    }
}

fn put_text_type(out: &mut Vec<u8>, type_byte: u8, length: u16) {
    out.push(type_byte);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&COLLATION);
}

/// What is written before a value of a type in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// A byte of length; 0 is NULL.
    ByteLength,
    /// Two bytes of length; 0xFFFF is NULL.
    ShortLength,
    /// Four bytes of length; 0 is NULL.
    VariantLength,
    /// A total length, then chunks (PLP).
    Chunks,
}

/// How values of a type are framed in rows.
pub(crate) fn framing(sql_type: SqlType) -> Framing {
    match sql_type {
        SqlType::NVarChar(None) | SqlType::VarChar(None) | SqlType::VarBinary(None) | SqlType::Xml => Framing::Chunks,
        SqlType::NVarChar(Some(_))
        | SqlType::NChar(_)
        | SqlType::VarChar(Some(_))
        | SqlType::Char(_)
        | SqlType::VarBinary(Some(_)) => Framing::ShortLength,
        SqlType::SqlVariant => Framing::VariantLength,
        _ => Framing::ByteLength,
    }
}

/// Puts NULL.
pub(crate) fn put_null(out: &mut Vec<u8>, framing: Framing) {
    match framing {
        Framing::ByteLength => out.push(0),
        Framing::ShortLength => out.extend_from_slice(&MAX_LENGTH.to_le_bytes()),
        Framing::VariantLength => out.extend_from_slice(&0_u32.to_le_bytes()),
        Framing::Chunks => out.extend_from_slice(&u64::MAX.to_le_bytes()),
    }
}
