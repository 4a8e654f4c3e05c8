//! Owns conversions to numbers and their errors.

use super::{civil, decimal, no_conversion};
use crate::simulator::output::Message;
use crate::simulator::sql::messages::{error, overflow};
use crate::simulator::sql::types::name;
use crate::simulator::value::{Datum, SqlType};

/// The values an integer type holds.
pub(crate) fn integer_range(sql_type: SqlType) -> (i64, i64) {
    match sql_type {
        SqlType::Bit => (0, 1),
        SqlType::TinyInt => (0, 255),
        SqlType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

pub(super) fn to_integer(value: &Datum, from: SqlType, to: SqlType) -> Result<Datum, Message> {
    let number = match value {
        Datum::Bit(bit) => i128::from(*bit),
        Datum::Int(number) => i128::from(*number),
        Datum::Decimal(unscaled) => {
            // A decimal is cut, not rounded, on its way to an integer.
            decimal::power_of_ten(decimal_scale(from)).map_or(0, |unit| unscaled / unit)
        }
        Datum::Float(float) if float.is_finite() && float.abs() < 1e30 => float.trunc() as i128,
        Datum::Float(_) => return Err(overflow(name(to))),
        // datetime is a number of days; half a day counts as one.
        Datum::Time(ticks) => {
            i128::from((ticks - civil::BASE_DATE + civil::TICKS_PER_DAY / 2).div_euclid(civil::TICKS_PER_DAY))
        }
        Datum::Text(text) => return text_to_integer(text, from, to),
        Datum::Binary(bytes) => {
            let start = bytes.len().saturating_sub(integer_width(to));
            let kept = bytes.get(start..).unwrap_or_default();
            let unsigned = kept.iter().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
            return Ok(signed(unsigned, to));
        }
        _ => return Err(no_conversion(from, to)),
    };
    if to == SqlType::Bit {
        return Ok(Datum::Bit(number != 0));
    }
    in_range(number, to).ok_or_else(|| number_overflow(number, from, to))
}

fn in_range(number: i128, to: SqlType) -> Option<Datum> {
    let (least, most) = integer_range(to);
    i64::try_from(number).ok().filter(|number| (least..=most).contains(number)).map(Datum::Int)
}

fn number_overflow(number: i128, from: SqlType, to: SqlType) -> Message {
    match (from, to) {
        (SqlType::Int | SqlType::SmallInt, SqlType::TinyInt | SqlType::SmallInt) => {
            error(220, 16, 2, format!("Arithmetic overflow error for data type {}, value = {number}.", name(to)))
        }
        (SqlType::Decimal { .. }, _) => {
            error(8115, 16, 1, format!("Arithmetic overflow error converting numeric to data type {}.", name(to)))
        }
        _ => overflow(name(to)),
    }
}

fn integer_width(sql_type: SqlType) -> usize {
    match sql_type {
        SqlType::Bit | SqlType::TinyInt => 1,
        SqlType::SmallInt => 2,
        SqlType::Int => 4,
        _ => 8,
    }
}

fn signed(unsigned: u64, to: SqlType) -> Datum {
    match to {
        SqlType::Bit => Datum::Bit(unsigned != 0),
        SqlType::SmallInt => Datum::Int(i64::from(unsigned as u16 as i16)),
        SqlType::Int => Datum::Int(i64::from(unsigned as u32 as i32)),
        _ => Datum::Int(unsigned as i64),
    }
}

/// The big-endian bytes of an integer.
pub(super) fn integer_bytes(number: i64, from: SqlType) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    bytes.get(bytes.len() - integer_width(from)..).unwrap_or_default().to_vec()
}

fn text_to_integer(text: &str, from: SqlType, to: SqlType) -> Result<Datum, Message> {
    let trimmed = text.trim();
    if to == SqlType::Bit {
        if trimmed.eq_ignore_ascii_case("true") {
            return Ok(Datum::Bit(true));
        }
        if trimmed.eq_ignore_ascii_case("false") {
            return Ok(Datum::Bit(false));
        }
    }
    let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    // Blank text is 0.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || (digits.is_empty() && !trimmed.is_empty()) {
        return Err(not_a_number(text, from, to));
    }
    if to == SqlType::Bit {
        return Ok(Datum::Bit(digits.bytes().any(|byte| byte != b'0')));
    }
    let number = if trimmed.is_empty() { Some(0) } else { trimmed.parse::<i128>().ok() };
    number.and_then(|number| in_range(number, to)).ok_or_else(|| {
        let column = match to {
            SqlType::TinyInt => "INT1",
            SqlType::SmallInt => "INT2",
            SqlType::Int => "int",
            _ => return overflow_from(from, to),
        };
        let number = if to == SqlType::Int { 248 } else { 244 };
        let advice = if to == SqlType::Int { "" } else { " Use a larger integer column." };
        let text =
            format!("The conversion of the {} value '{text}' overflowed an {column} column.{advice}", name(from));
        error(number, 16, 1, text)
    })
}

fn not_a_number(text: &str, from: SqlType, to: SqlType) -> Message {
    if to == SqlType::BigInt {
        return conversion_error(from, to);
    }
    let text =
        format!("Conversion failed when converting the {} value '{text}' to data type {}.", name(from), name(to));
    error(245, 16, 1, text)
}

/// Error 8114.
fn conversion_error(from: SqlType, to: SqlType) -> Message {
    error(8114, 16, 5, format!("Error converting data type {} to {}.", name(from), name(to)))
}

fn overflow_from(from: SqlType, to: SqlType) -> Message {
    let text = format!("Arithmetic overflow error converting {} to data type {}.", name(from), name(to));
    error(8115, 16, 8, text)
}

fn decimal_scale(sql_type: SqlType) -> u8 {
    if let SqlType::Decimal { scale, .. } = sql_type { scale } else { 0 }
}

pub(super) fn to_decimal(value: &Datum, from: SqlType, to: SqlType) -> Result<Datum, Message> {
    let SqlType::Decimal { precision, scale } = to else { return Err(no_conversion(from, to)) };
    let unscaled = match value {
        Datum::Bit(bit) => decimal::rescale(i128::from(*bit), 0, scale),
        Datum::Int(number) => decimal::rescale(i128::from(*number), 0, scale),
        Datum::Decimal(unscaled) => decimal::rescale(*unscaled, decimal_scale(from), scale),
        Datum::Float(float) => decimal::from_float(*float, scale),
        Datum::Text(text) => {
            let (number, digits) = decimal::parse(text.trim()).ok_or_else(|| conversion_error(from, to))?;
            decimal::rescale(number, digits, scale)
        }
        _ => return Err(no_conversion(from, to)),
    };
    let unscaled = unscaled.filter(|unscaled| decimal::fits(*unscaled, precision));
    unscaled.map(Datum::Decimal).ok_or_else(|| overflow_from(from, to))
}

pub(super) fn to_float(value: &Datum, from: SqlType, to: SqlType) -> Result<Datum, Message> {
    let float = match value {
        Datum::Bit(bit) => f64::from(u8::from(*bit)),
        Datum::Int(number) => *number as f64,
        Datum::Decimal(unscaled) => decimal::to_float(*unscaled, decimal_scale(from)),
        Datum::Float(float) => *float,
        Datum::Text(text) => parse_float(text.trim()).ok_or_else(|| conversion_error(from, to))?,
        Datum::Time(ticks) => (*ticks - civil::BASE_DATE) as f64 / civil::TICKS_PER_DAY as f64,
        _ => return Err(no_conversion(from, to)),
    };
    let float = if to == SqlType::Real { f64::from(float as f32) } else { float };
    if float.is_finite() { Ok(Datum::Float(float)) } else { Err(overflow(name(to))) }
}

/// Only digits, point, exponent: Rust's own reader would take `inf` and `nan` too.
fn parse_float(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !plain {
        return None;
    }
    if text.is_empty() { Some(0.0) } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::to_integer;
    use crate::simulator::value::{Datum, SqlType};

    #[test]
    fn what_does_not_fit_has_its_own_error() {
        let text = |text: &str| Datum::Text(text.to_owned());
        let nvarchar = SqlType::NVarChar(Some(10));
        for (value, from, to, number) in [
            (text("x"), nvarchar, SqlType::Int, 245),
            (text("99999999999"), nvarchar, SqlType::Int, 248),
            (text("x"), nvarchar, SqlType::BigInt, 8114),
            (Datum::Int(300), SqlType::Int, SqlType::TinyInt, 220),
            (Datum::Int(3_000_000_000), SqlType::BigInt, SqlType::Int, 8115),
        ] {
            assert_eq!(to_integer(&value, from, to).unwrap_err().number, number, "{value:?}");
        }
        assert_eq!(to_integer(&text(" -12 "), nvarchar, SqlType::Int).unwrap(), Datum::Int(-12));
        assert_eq!(
            to_integer(&Datum::Binary(vec![255, 255, 255, 254]), SqlType::VarBinary(Some(4)), SqlType::Int).unwrap(),
            Datum::Int(-2)
        );
    }
}
