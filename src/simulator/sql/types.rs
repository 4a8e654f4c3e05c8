//! Owns the rules of T-SQL types: names, precedence, the types of literals and of combined expressions
//! ("Data type precedence", "Precision, scale, and length" in the T-SQL reference).

use crate::simulator::output::Message;
use crate::simulator::sql::messages::operand_clash;
use crate::simulator::value::SqlType;

/// Longest non-max nvarchar, in characters.
pub(super) const MAX_NATIONAL: u16 = 4000;
/// Longest non-max varchar and varbinary, in bytes.
pub(super) const MAX_BYTES: u16 = 8000;
/// Most digits of a decimal.
pub(super) const MAX_PRECISION: u8 = 38;

/// Longest value of a max type, in bytes: far below the 2 GB of a real server, and enough for any answer of this one.
pub(super) const MAX_VALUE_BYTES: usize = 64 << 20;

/// What a type is for conversions and operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Integer,
    Decimal,
    Float,
    Text,
    Binary,
    Guid,
    Time,
    Xml,
    Variant,
}

pub(super) fn family(sql_type: SqlType) -> Family {
    match sql_type {
        SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => Family::Integer,
        SqlType::Decimal { .. } => Family::Decimal,
        SqlType::Real | SqlType::Float => Family::Float,
        SqlType::NVarChar(_) | SqlType::NChar(_) | SqlType::VarChar(_) | SqlType::Char(_) => Family::Text,
        SqlType::VarBinary(_) => Family::Binary,
        SqlType::UniqueIdentifier => Family::Guid,
        SqlType::DateTime | SqlType::DateTime2(_) | SqlType::DateTimeOffset(_) => Family::Time,
        SqlType::Xml => Family::Xml,
        SqlType::SqlVariant => Family::Variant,
    }
}

pub(super) fn is_number(sql_type: SqlType) -> bool {
    matches!(family(sql_type), Family::Integer | Family::Decimal | Family::Float)
}

pub(super) fn is_text(sql_type: SqlType) -> bool {
    family(sql_type) == Family::Text
}

/// The name messages use.
pub(super) fn name(sql_type: SqlType) -> &'static str {
    match sql_type {
        SqlType::Bit => "bit",
        SqlType::TinyInt => "tinyint",
        SqlType::SmallInt => "smallint",
        SqlType::Int => "int",
        SqlType::BigInt => "bigint",
        SqlType::Real => "real",
        SqlType::Float => "float",
        SqlType::Decimal { .. } => "numeric",
        SqlType::NVarChar(Some(_)) => "nvarchar",
        SqlType::NVarChar(None) => "nvarchar(max)",
        SqlType::NChar(_) => "nchar",
        SqlType::VarChar(Some(_)) => "varchar",
        SqlType::VarChar(None) => "varchar(max)",
        SqlType::Char(_) => "char",
        SqlType::VarBinary(Some(_)) => "varbinary",
        SqlType::VarBinary(None) => "varbinary(max)",
        SqlType::UniqueIdentifier => "uniqueidentifier",
        SqlType::DateTime => "datetime",
        SqlType::DateTime2(_) => "datetime2",
        SqlType::DateTimeOffset(_) => "datetimeoffset",
        SqlType::Xml => "xml",
        SqlType::SqlVariant => "sql_variant",
    }
}

/// Precedence: the higher type wins.
fn rank(sql_type: SqlType) -> u8 {
    match sql_type {
        SqlType::SqlVariant => 20,
        SqlType::Xml => 19,
        SqlType::DateTimeOffset(_) => 18,
        SqlType::DateTime2(_) => 17,
        SqlType::DateTime => 16,
        SqlType::Float => 15,
        SqlType::Real => 14,
        SqlType::Decimal { .. } => 13,
        SqlType::BigInt => 12,
        SqlType::Int => 11,
        SqlType::SmallInt => 10,
        SqlType::TinyInt => 9,
        SqlType::Bit => 8,
        SqlType::UniqueIdentifier => 7,
        SqlType::NVarChar(_) => 6,
        SqlType::NChar(_) => 5,
        SqlType::VarChar(_) => 4,
        SqlType::Char(_) => 3,
        SqlType::VarBinary(_) => 2,
    }
}

/// The decimal an integer type fits in.
pub(super) fn decimal_of(sql_type: SqlType) -> (u8, u8) {
    match sql_type {
        SqlType::Decimal { precision, scale } => (precision, scale),
        SqlType::Bit => (1, 0),
        SqlType::TinyInt => (3, 0),
        SqlType::SmallInt => (5, 0),
        SqlType::Int => (10, 0),
        SqlType::BigInt => (19, 0),
        _ => (MAX_PRECISION, 0),
    }
}

/// Length in characters (text) or bytes (binary) that any value of the type has at most as text; `None` = max.
pub(super) fn text_length(sql_type: SqlType) -> Option<u16> {
    match sql_type {
        SqlType::NVarChar(length) | SqlType::VarChar(length) | SqlType::VarBinary(length) => length,
        SqlType::NChar(length) | SqlType::Char(length) => Some(length),
        SqlType::Xml => None,
        SqlType::Bit => Some(1),
        SqlType::TinyInt => Some(3),
        SqlType::SmallInt => Some(6),
        SqlType::Int => Some(12),
        SqlType::BigInt => Some(24),
        SqlType::UniqueIdentifier => Some(36),
        SqlType::Real | SqlType::Float => Some(23),
        SqlType::Decimal { .. } => Some(41),
        SqlType::DateTime | SqlType::DateTime2(_) | SqlType::DateTimeOffset(_) => Some(34),
        SqlType::SqlVariant => Some(MAX_NATIONAL),
    }
}

pub(super) fn is_national(sql_type: SqlType) -> bool {
    matches!(sql_type, SqlType::NVarChar(_) | SqlType::NChar(_))
}

/// Where text has to be cut to fit a length: in UTF-16 units for nvarchar, in characters (a byte each) for varchar.
/// `None` where it fits.
pub(super) fn cut_at(text: &str, limit: usize, national: bool) -> Option<usize> {
    // Bytes are never fewer than units, so short text needs no counting.
    if text.len() <= limit {
        return None;
    }
    let mut length = 0;
    for (at, c) in text.char_indices() {
        length += if national { c.len_utf16() } else { 1 };
        if length > limit {
            return Some(at);
        }
    }
    None
}

/// A variable-length text type; what is longer than a page holds is max only if `max` was asked for.
pub(super) fn text_type(national: bool, length: Option<u16>) -> SqlType {
    if national {
        SqlType::NVarChar(length.map(|length| length.clamp(1, MAX_NATIONAL)))
    } else {
        SqlType::VarChar(length.map(|length| length.clamp(1, MAX_BYTES)))
    }
}

/// The type of a string literal.
pub(super) fn literal_text_type(national: bool, characters: usize) -> SqlType {
    let limit = if national { MAX_NATIONAL } else { MAX_BYTES };
    let length = u16::try_from(characters).ok().filter(|length| *length <= limit);
    text_type(national, length)
}

/// The type of text joined from two types.
pub(super) fn concatenated(left: SqlType, right: SqlType) -> SqlType {
    let length = text_length(left).zip(text_length(right)).map(|(left, right)| left.saturating_add(right));
    text_type(is_national(left) || is_national(right), length)
}

/// The type that values of both types are brought to. Error 206 where there is none.
pub(super) fn common(left: SqlType, right: SqlType) -> Result<SqlType, Message> {
    if left == right {
        return Ok(left);
    }
    let (high, low) = if rank(left) >= rank(right) { (left, right) } else { (right, left) };
    let fits = match (family(high), family(low)) {
        (Family::Xml, other) => matches!(other, Family::Text | Family::Xml),
        (Family::Variant, other) => other != Family::Xml,
        (Family::Guid, other) => matches!(other, Family::Text | Family::Binary | Family::Guid),
        (Family::Time, other) => !matches!(other, Family::Guid),
        (Family::Decimal | Family::Float | Family::Integer, other) => {
            let float_of_bytes = other == Family::Binary && family(high) == Family::Float;
            other != Family::Guid && !float_of_bytes
        }
        (Family::Text | Family::Binary, _) => true,
    };
    if !fits {
        return Err(operand_clash(name(left), name(right)));
    }
    Ok(match (high, low) {
        (SqlType::Decimal { .. }, _) if is_number(low) => {
            let ((high_precision, high_scale), (low_precision, low_scale)) = (decimal_of(high), decimal_of(low));
            let scale = high_scale.max(low_scale);
            let whole = (high_precision - high_scale).max(low_precision.saturating_sub(low_scale));
            decimal_type(u16::from(whole) + u16::from(scale), u16::from(scale))
        }
        (SqlType::DateTime2(scale), SqlType::DateTime2(other))
        | (SqlType::DateTimeOffset(scale), SqlType::DateTimeOffset(other) | SqlType::DateTime2(other)) => {
            let scale = scale.max(other);
            if matches!(high, SqlType::DateTime2(_)) {
                SqlType::DateTime2(scale)
            } else {
                SqlType::DateTimeOffset(scale)
            }
        }
        _ if is_text(high) && (is_text(low) || family(low) == Family::Binary) => {
            let length = text_length(left).zip(text_length(right)).map(|(left, right)| left.max(right));
            match (high, low) {
                (SqlType::NChar(_), SqlType::NChar(_)) => SqlType::NChar(length.unwrap_or(MAX_NATIONAL)),
                (SqlType::Char(_), SqlType::Char(_)) => SqlType::Char(length.unwrap_or(MAX_BYTES)),
                _ => text_type(is_national(high), length),
            }
        }
        (SqlType::VarBinary(_), SqlType::VarBinary(_)) => SqlType::VarBinary(
            text_length(left).zip(text_length(right)).map(|(left, right)| left.max(right).clamp(1, MAX_BYTES)),
        ),
        _ => high,
    })
}

/// A decimal type; beyond 38 digits the scale gives way, but keeps 6 digits where it had them.
pub(super) fn decimal_type(precision: u16, scale: u16) -> SqlType {
    let most = u16::from(MAX_PRECISION);
    let (precision, scale) = if precision <= most {
        (precision.max(1), scale)
    } else {
        let whole = precision - scale;
        (most, scale.min(most.saturating_sub(whole).max(scale.min(6))))
    };
    SqlType::Decimal { precision: precision as u8, scale: scale as u8 }
}
