//! Owns the operators `+ - * / % & | ^`, signs and `~`: the type of their answer and the answer.

use crate::simulator::output::Message;
use crate::simulator::sql::ast::Arithmetic;
use crate::simulator::sql::convert::civil::{TICKS_PER_DAY, in_range, round_datetime};
use crate::simulator::sql::convert::{DEFAULT_STYLE, convert, decimal, integer_range};
use crate::simulator::sql::messages::{divide_by_zero, invalid_operand, operand_clash, overflow, too_long_value};
use crate::simulator::sql::types::{
    Family, MAX_VALUE_BYTES, common, concatenated, cut_at, decimal_of, decimal_type, family, is_national, is_number,
    is_text, name, text_length,
};
use crate::simulator::value::{Datum, SqlType};
use std::borrow::Cow;

impl Arithmetic {
    /// The name messages use.
    fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Divide => "divide",
            Self::Modulo => "modulo",
            Self::BitAnd => "'&'",
            Self::BitOr => "'|'",
            Self::BitXor => "'^'",
        }
    }

    fn is_bitwise(self) -> bool {
        matches!(self, Self::BitAnd | Self::BitOr | Self::BitXor)
    }
}

/// The type of `left operator right`.
pub(super) fn result_type(operator: Arithmetic, left: SqlType, right: SqlType) -> Result<SqlType, Message> {
    let invalid = |sql_type| invalid_operand(name(sql_type), operator.name());
    for sql_type in [left, right] {
        if matches!(family(sql_type), Family::Variant | Family::Xml | Family::Guid) {
            return Err(invalid(sql_type));
        }
    }
    if is_text(left) && is_text(right) {
        return if operator == Arithmetic::Add { Ok(concatenated(left, right)) } else { Err(invalid(left)) };
    }
    if family(left) == Family::Time || family(right) == Family::Time {
        let days =
            matches!(operator, Arithmetic::Add | Arithmetic::Subtract) && left == SqlType::DateTime && is_number(right);
        return if days { Ok(SqlType::DateTime) } else { Err(operand_clash(name(left), name(right))) };
    }
    let result = common(left, right)?;
    match family(result) {
        Family::Binary if operator == Arithmetic::Add => Ok(match (left, right) {
            (SqlType::VarBinary(Some(left)), SqlType::VarBinary(Some(right))) => {
                SqlType::VarBinary(Some(left.saturating_add(right).min(8000)))
            }
            _ => SqlType::VarBinary(None),
        }),
        Family::Integer if result == SqlType::Bit && !operator.is_bitwise() => Err(invalid(SqlType::Bit)),
        Family::Float if operator.is_bitwise() || operator == Arithmetic::Modulo => Err(invalid(result)),
        Family::Integer | Family::Float => Ok(result),
        Family::Decimal if operator.is_bitwise() => Err(invalid(result)),
        Family::Decimal => Ok(decimal_result(operator, decimal_operand(left, result), decimal_operand(right, result))),
        _ => Err(invalid(result)),
    }
}

/// Text beside a decimal takes the decimal's type.
fn decimal_operand(operand: SqlType, decimal: SqlType) -> (u8, u8) {
    if is_number(operand) { decimal_of(operand) } else { decimal_of(decimal) }
}

fn decimal_result(operator: Arithmetic, left: (u8, u8), right: (u8, u8)) -> SqlType {
    let (p1, s1, p2, s2) = (u16::from(left.0), u16::from(left.1), u16::from(right.0), u16::from(right.1));
    match operator {
        Arithmetic::Multiply => decimal_type(p1 + p2 + 1, s1 + s2),
        Arithmetic::Divide => {
            let scale = (s1 + p2 + 1).max(6);
            decimal_type(p1 - s1 + s2 + scale, scale)
        }
        Arithmetic::Modulo => {
            let scale = s1.max(s2);
            decimal_type((p1 - s1).min(p2 - s2) + scale, scale)
        }
        _ => {
            let scale = s1.max(s2);
            decimal_type((p1 - s1).max(p2 - s2) + scale + 1, scale)
        }
    }
}

/// `left operator right`; NULL when either is.
pub(super) fn apply<'v>(
    operator: Arithmetic,
    (left, left_type): (Cow<'v, Datum>, SqlType),
    (right, right_type): (Cow<'v, Datum>, SqlType),
    result: SqlType,
) -> Result<Cow<'v, Datum>, Message> {
    if *left == Datum::Null || *right == Datum::Null {
        return Ok(Cow::Owned(Datum::Null));
    }
    let answer = match family(result) {
        Family::Text => concatenate(left, &right, result)?,
        Family::Binary => match (left.into_owned(), &*right) {
            (Datum::Binary(mut bytes), Datum::Binary(more)) => {
                bytes.extend_from_slice(more);
                Datum::Binary(bytes)
            }
            _ => Datum::Null,
        },
        Family::Time => {
            let days = convert(right, right_type, SqlType::Float, DEFAULT_STYLE)?;
            match (&*left, &*days) {
                (Datum::Time(ticks), Datum::Float(days)) => add_days(operator, *ticks, *days)?,
                _ => Datum::Null,
            }
        }
        Family::Decimal => decimals(operator, (left, left_type), (right, right_type), result)?,
        Family::Float => {
            let left = convert(left, left_type, SqlType::Float, DEFAULT_STYLE)?;
            let right = convert(right, right_type, SqlType::Float, DEFAULT_STYLE)?;
            match (&*left, &*right) {
                (Datum::Float(left), Datum::Float(right)) => floats(operator, *left, *right, result)?,
                _ => Datum::Null,
            }
        }
        _ => {
            let left = convert(left, left_type, result, DEFAULT_STYLE)?;
            let right = convert(right, right_type, result, DEFAULT_STYLE)?;
            match (&*left, &*right) {
                (Datum::Int(left), Datum::Int(right)) => Datum::Int(integers(operator, *left, *right, result)?),
                (Datum::Bit(left), Datum::Bit(right)) => Datum::Bit(match operator {
                    Arithmetic::BitAnd => left & right,
                    Arithmetic::BitOr => left | right,
                    _ => left ^ right,
                }),
                _ => Datum::Null,
            }
        }
    };
    Ok(Cow::Owned(answer))
}

fn concatenate(left: Cow<'_, Datum>, right: &Datum, result: SqlType) -> Result<Datum, Message> {
    let (Datum::Text(mut joined), Datum::Text(more)) = (left.into_owned(), right) else { return Ok(Datum::Null) };
    joined.push_str(more);
    match text_length(result) {
        Some(limit) => {
            if let Some(end) = cut_at(&joined, usize::from(limit), is_national(result)) {
                joined.truncate(end);
            }
        }
        None if joined.len() > MAX_VALUE_BYTES => return Err(too_long_value()),
        None => {}
    }
    Ok(Datum::Text(joined))
}

fn add_days(operator: Arithmetic, ticks: i64, days: f64) -> Result<Datum, Message> {
    let change = (days * TICKS_PER_DAY as f64).round();
    let change = if operator == Arithmetic::Subtract { -change } else { change };
    let moved = if change.abs() < 9e18 { ticks.checked_add(change as i64) } else { None };
    let moved = moved.map(round_datetime).filter(|moved| in_range(*moved));
    moved.map(Datum::Time).ok_or_else(|| overflow("datetime"))
}

fn integers(operator: Arithmetic, left: i64, right: i64, result: SqlType) -> Result<i64, Message> {
    let answer = match operator {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide | Arithmetic::Modulo if right == 0 => return Err(divide_by_zero()),
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Modulo => Some(left.wrapping_rem(right)),
        Arithmetic::BitAnd => Some(left & right),
        Arithmetic::BitOr => Some(left | right),
        Arithmetic::BitXor => Some(left ^ right),
    };
    let (least, most) = integer_range(result);
    answer.filter(|answer| (least..=most).contains(answer)).ok_or_else(|| overflow(name(result)))
}

fn floats(operator: Arithmetic, left: f64, right: f64, result: SqlType) -> Result<Datum, Message> {
    let answer = match operator {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        _ if right == 0.0 => return Err(divide_by_zero()),
        _ => left / right,
    };
    let answer = if result == SqlType::Real { f64::from(answer as f32) } else { answer };
    if answer.is_finite() { Ok(Datum::Float(answer)) } else { Err(overflow(name(result))) }
}

fn decimals(
    operator: Arithmetic,
    (left, left_type): (Cow<'_, Datum>, SqlType),
    (right, right_type): (Cow<'_, Datum>, SqlType),
    result: SqlType,
) -> Result<Datum, Message> {
    let (precision, scale) = decimal_of(result);
    let (left, left_scale) = as_decimal(left, left_type, result)?;
    let (right, right_scale) = as_decimal(right, right_type, result)?;
    let wide = left_scale.max(right_scale);
    let aligned = || Some((decimal::rescale(left, left_scale, wide)?, decimal::rescale(right, right_scale, wide)?));
    let answer = match operator {
        Arithmetic::Multiply => left
            .checked_mul(right)
            .and_then(|product| decimal::rescale(product, left_scale.saturating_add(right_scale), scale)),
        Arithmetic::Divide | Arithmetic::Modulo if right == 0 => return Err(divide_by_zero()),
        Arithmetic::Divide => decimal::divide((left, left_scale), (right, right_scale), scale),
        Arithmetic::Modulo => aligned()
            .and_then(|(left, right)| left.checked_rem(right))
            .and_then(|rest| decimal::rescale(rest, wide, scale)),
        Arithmetic::Subtract => aligned()
            .and_then(|(left, right)| left.checked_sub(right))
            .and_then(|difference| decimal::rescale(difference, wide, scale)),
        _ => aligned()
            .and_then(|(left, right)| left.checked_add(right))
            .and_then(|sum| decimal::rescale(sum, wide, scale)),
    };
    answer.filter(|answer| decimal::fits(*answer, precision)).map(Datum::Decimal).ok_or_else(|| overflow("numeric"))
}

/// The unscaled number and its scale.
fn as_decimal(value: Cow<'_, Datum>, sql_type: SqlType, result: SqlType) -> Result<(i128, u8), Message> {
    let (precision, scale) = decimal_operand(sql_type, result);
    match &*convert(value, sql_type, SqlType::Decimal { precision, scale }, DEFAULT_STYLE)? {
        Datum::Decimal(unscaled) => Ok((*unscaled, scale)),
        _ => Err(overflow("numeric")),
    }
}

/// `-value`.
pub(super) fn negate(value: &Datum, sql_type: SqlType) -> Result<Datum, Message> {
    Ok(match value {
        Datum::Int(number) => Datum::Int(integers(Arithmetic::Subtract, 0, *number, sql_type)?),
        Datum::Decimal(unscaled) => Datum::Decimal(-unscaled),
        Datum::Float(float) => Datum::Float(-float),
        _ => Datum::Null,
    })
}

/// `~value`.
pub(super) fn bit_not(value: &Datum, sql_type: SqlType) -> Datum {
    match value {
        Datum::Bit(bit) => Datum::Bit(!bit),
        Datum::Int(number) if sql_type == SqlType::TinyInt => Datum::Int(255 - number),
        Datum::Int(number) => Datum::Int(!number),
        _ => Datum::Null,
    }
}
