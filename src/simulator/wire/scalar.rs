//! Owns how values of every type but the long ones are written.

use crate::simulator::output::Message;
use crate::simulator::value::{Datum, SqlType};
use crate::simulator::wire::encode::put_utf16;
use crate::simulator::wire::text::to_code_page;
use crate::simulator::wire::time::{put_datetime, put_datetime2, put_datetimeoffset};
use crate::simulator::wire::type_info::{decimal_bytes, plain_bytes, utf16_bytes};
use crate::simulator::wire::variant::put_variant;

/// A value that its column's type cannot hold is an error of the engine: it is told, never sent bent.
pub(crate) fn mismatch(sql_type: SqlType, datum: &Datum) -> Message {
    let kind = match datum {
        Datum::Null => "null",
        Datum::Bit(_) => "bit",
        Datum::Int(_) => "integer",
        Datum::Float(_) => "float",
        Datum::Decimal(_) => "decimal",
        Datum::Text(_) => "text",
        Datum::Binary(_) => "binary",
        Datum::Guid(_) => "uniqueidentifier",
        Datum::Time(_) => "time",
        Datum::Variant(..) => "sql_variant",
    };
    Message::new(8114, 16, format!("Error converting data type {kind} to {sql_type:?}."))
}

fn overflow(sql_type: SqlType) -> Message {
    Message::new(8115, 16, format!("Arithmetic overflow error converting expression to data type {sql_type:?}."))
}

fn truncation() -> Message {
    Message::new(8152, 16, "String or binary data would be truncated.")
}

/// Puts a value without the length before it. Integers widen to float, decimal and bit.
pub(crate) fn put_scalar(out: &mut Vec<u8>, sql_type: SqlType, datum: &Datum) -> Result<(), Message> {
    match (sql_type, datum) {
        (SqlType::Bit, Datum::Bit(value)) => out.push(u8::from(*value)),
        (SqlType::Bit, Datum::Int(value)) => out.push(u8::from(*value != 0)),
        (SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt, Datum::Int(value)) => {
            put_integer(out, sql_type, *value)?;
        }
        (SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt, Datum::Bit(value)) => {
            put_integer(out, sql_type, i64::from(*value))?;
        }
        (SqlType::Real | SqlType::Float, Datum::Float(value)) => put_float(out, sql_type, *value)?,
        (SqlType::Real | SqlType::Float, Datum::Int(value)) => put_float(out, sql_type, *value as f64)?,
        (SqlType::Decimal { precision, .. }, Datum::Decimal(unscaled)) => {
            put_decimal(out, precision, *unscaled).ok_or_else(|| overflow(sql_type))?;
        }
        (SqlType::Decimal { precision, scale }, Datum::Int(value)) => {
            let unscaled = 10_i128.checked_pow(u32::from(scale)).and_then(|unit| unit.checked_mul((*value).into()));
            unscaled.and_then(|unscaled| put_decimal(out, precision, unscaled)).ok_or_else(|| overflow(sql_type))?;
        }
        (SqlType::NVarChar(Some(length)), Datum::Text(text)) => put_utf16_text(out, text, length, false)?,
        (SqlType::NChar(length), Datum::Text(text)) => put_utf16_text(out, text, length, true)?,
        (SqlType::VarChar(Some(length)), Datum::Text(text)) => put_code_page_text(out, text, length, false)?,
        (SqlType::Char(length), Datum::Text(text)) => put_code_page_text(out, text, length, true)?,
        (SqlType::VarBinary(Some(length)), Datum::Binary(bytes)) => {
            if bytes.len() > usize::from(plain_bytes(length)) {
                return Err(truncation());
            }
            out.extend_from_slice(bytes);
        }
        (SqlType::UniqueIdentifier, Datum::Guid(bytes)) => out.extend_from_slice(&swap_guid(*bytes)),
        (SqlType::DateTime, Datum::Time(ticks)) => put_datetime(out, *ticks).ok_or_else(|| overflow(sql_type))?,
        (SqlType::DateTime2(scale), Datum::Time(ticks)) => {
            put_datetime2(out, *ticks, scale).ok_or_else(|| overflow(sql_type))?;
        }
        (SqlType::DateTimeOffset(scale), Datum::Time(ticks)) => {
            put_datetimeoffset(out, *ticks, scale).ok_or_else(|| overflow(sql_type))?;
        }
        (SqlType::SqlVariant, Datum::Variant(base, value)) => put_variant(out, *base, value)?,
        _ => return Err(mismatch(sql_type, datum)),
    }
    Ok(())
}

fn put_integer(out: &mut Vec<u8>, sql_type: SqlType, value: i64) -> Result<(), Message> {
    let overflow = |_| overflow(sql_type);
    match sql_type {
        SqlType::TinyInt => out.push(u8::try_from(value).map_err(overflow)?),
        SqlType::SmallInt => out.extend_from_slice(&i16::try_from(value).map_err(overflow)?.to_le_bytes()),
        SqlType::Int => out.extend_from_slice(&i32::try_from(value).map_err(overflow)?.to_le_bytes()),
        _ => out.extend_from_slice(&value.to_le_bytes()),
    }
    Ok(())
}

/// T-SQL has no infinity and no NaN.
fn put_float(out: &mut Vec<u8>, sql_type: SqlType, value: f64) -> Result<(), Message> {
    let single = value as f32;
    match sql_type {
        SqlType::Real if single.is_finite() => out.extend_from_slice(&single.to_le_bytes()),
        SqlType::Float if value.is_finite() => out.extend_from_slice(&value.to_le_bytes()),
        _ => return Err(overflow(sql_type)),
    }
    Ok(())
}

/// Sign (1: not negative) and magnitude; `None` where it has more digits than `precision`.
fn put_decimal(out: &mut Vec<u8>, precision: u8, unscaled: i128) -> Option<()> {
    let magnitude = unscaled.unsigned_abs();
    if magnitude >= 10_u128.checked_pow(u32::from(precision)).filter(|_| (1..=38).contains(&precision))? {
        return None;
    }
    out.push(u8::from(unscaled >= 0));
    out.extend(magnitude.to_le_bytes().into_iter().take(usize::from(decimal_bytes(precision)) - 1));
    Some(())
}

fn put_utf16_text(out: &mut Vec<u8>, text: &str, length: u16, padded: bool) -> Result<(), Message> {
    let end = out.len() + usize::from(utf16_bytes(length));
    put_utf16(out, text);
    if out.len() > end {
        return Err(truncation());
    }
    while padded && out.len() < end {
        out.extend_from_slice(&[b' ', 0]);
    }
    Ok(())
}

fn put_code_page_text(out: &mut Vec<u8>, text: &str, length: u16, padded: bool) -> Result<(), Message> {
    let end = out.len() + usize::from(plain_bytes(length));
    out.extend_from_slice(&to_code_page(text));
    if out.len() > end {
        return Err(truncation());
    }
    if padded {
        out.resize(end, b' ');
    }
    Ok(())
}

/// Between the order in which a uniqueidentifier reads and that on the wire: its first three groups are little endian.
pub(crate) fn swap_guid(bytes: [u8; 16]) -> [u8; 16] {
    const OTHER_PLACE: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    OTHER_PLACE.map(|place| bytes.get(place).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(sql_type: SqlType, datum: &Datum) -> Result<Vec<u8>, u32> {
        let mut out = Vec::new();
        put_scalar(&mut out, sql_type, datum).map(|()| out).map_err(|message| message.number)
    }

    #[test]
    fn integers_keep_to_their_range() {
        assert_eq!(put(SqlType::TinyInt, &Datum::Int(255)), Ok(vec![255]));
        assert_eq!(put(SqlType::TinyInt, &Datum::Int(256)), Err(8115));
        assert_eq!(put(SqlType::SmallInt, &Datum::Int(-2)), Ok(vec![0xFE, 0xFF]));
        assert_eq!(put(SqlType::Int, &Datum::Int(1 << 31)), Err(8115));
        assert_eq!(put(SqlType::BigInt, &Datum::Int(i64::MIN)), Ok(i64::MIN.to_le_bytes().to_vec()));
        assert_eq!(put(SqlType::Int, &Datum::Text("1".into())), Err(8114));
    }

    #[test]
    fn decimals_are_sign_and_magnitude() {
        let type_9_2 = SqlType::Decimal { precision: 9, scale: 2 };
        assert_eq!(put(type_9_2, &Datum::Decimal(-258)), Ok(vec![0, 2, 1, 0, 0]));
        assert_eq!(put(type_9_2, &Datum::Int(3)), Ok(vec![1, 44, 1, 0, 0]));
        assert_eq!(put(type_9_2, &Datum::Decimal(1_000_000_000)), Err(8115));
        let widest = SqlType::Decimal { precision: 38, scale: 0 };
        assert_eq!(put(widest, &Datum::Decimal(10_i128.pow(38) - 1)).unwrap().len(), 17);
        assert_eq!(put(widest, &Datum::Decimal(i128::MIN)), Err(8115));
        assert_eq!(put(SqlType::Decimal { precision: 255, scale: 255 }, &Datum::Int(1)), Err(8115));
    }

    #[test]
    fn text_longer_than_its_type_is_an_error_not_a_cut() {
        assert_eq!(put(SqlType::NVarChar(Some(2)), &Datum::Text("ab".into())), Ok(vec![97, 0, 98, 0]));
        assert_eq!(put(SqlType::NVarChar(Some(2)), &Datum::Text("a😀".into())), Err(8152));
        assert_eq!(put(SqlType::NChar(2), &Datum::Text("a".into())), Ok(vec![97, 0, 32, 0]));
        assert_eq!(put(SqlType::VarChar(Some(1)), &Datum::Text("€".into())), Ok(vec![0x80]));
        assert_eq!(put(SqlType::Char(3), &Datum::Text("é".into())), Ok(vec![0xE9, 32, 32]));
        assert_eq!(put(SqlType::VarBinary(Some(1)), &Datum::Binary(vec![1, 2])), Err(8152));
    }

    #[test]
    fn floats_are_finite() {
        assert_eq!(put(SqlType::Float, &Datum::Float(f64::NAN)), Err(8115));
        assert_eq!(put(SqlType::Real, &Datum::Float(1e300)), Err(8115));
        assert_eq!(put(SqlType::Real, &Datum::Float(1.5)), Ok(1.5_f32.to_le_bytes().to_vec()));
    }

    #[test]
    fn a_guid_keeps_its_last_two_groups() {
        let read: [u8; 16] = std::array::from_fn(|index| index as u8);
        assert_eq!(swap_guid(read), [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(swap_guid(swap_guid(read)), read);
    }
}
