//! Owns conversions between T-SQL types: what CAST does and what operators do unasked.

pub(crate) mod civil;
pub(crate) mod decimal;
mod number;
mod text;

pub(super) use number::integer_range;
pub(super) use text::parse_hexadecimal;

use crate::simulator::output::Message;
use crate::simulator::sql::messages::{error, overflow};
use crate::simulator::sql::types::{Family, family, name};
use crate::simulator::value::{Datum, SqlType};
use std::borrow::Cow;

/// The default style of CONVERT.
pub(super) const DEFAULT_STYLE: i64 = 0;

/// Brings a value from one type to another; what need not change is not copied.
pub(super) fn convert(
    value: Cow<'_, Datum>,
    from: SqlType,
    to: SqlType,
    style: i64,
) -> Result<Cow<'_, Datum>, Message> {
    if matches!(*value, Datum::Null) || (from == to && !is_sized(to)) {
        return Ok(value);
    }
    if let Datum::Variant(base, inner) = &*value {
        if to == SqlType::SqlVariant {
            return Ok(value);
        }
        return convert(Cow::Borrowed(inner), *base, to, style).map(|converted| Cow::Owned(converted.into_owned()));
    }
    match family(to) {
        Family::Text | Family::Xml => text::to_text(value, from, to, style),
        Family::Variant => Ok(Cow::Owned(Datum::Variant(from, Box::new(value.into_owned())))),
        Family::Integer => number::to_integer(&value, from, to).map(owned),
        Family::Decimal => number::to_decimal(&value, from, to).map(owned),
        Family::Float => number::to_float(&value, from, to).map(owned),
        Family::Binary => text::to_binary(value, from, to, style),
        Family::Guid => text::to_guid(&value, from).map(owned),
        Family::Time => to_time(&value, from, to).map(owned),
    }
}

fn owned(value: Datum) -> Cow<'static, Datum> {
    Cow::Owned(value)
}

/// Whether values of one and the same type may still have to be cut or filled: columns may hold what is longer than
/// their type says.
fn is_sized(sql_type: SqlType) -> bool {
    matches!(sql_type, SqlType::NVarChar(Some(_)) | SqlType::VarChar(Some(_)) | SqlType::NChar(_) | SqlType::Char(_))
}

/// Error 529: no conversion at all.
fn no_conversion(from: SqlType, to: SqlType) -> Message {
    error(529, 16, 2, format!("Explicit conversion from data type {} to {} is not allowed.", name(from), name(to)))
}

/// Whether the conversion exists; error 529 where it does not.
pub(super) fn check(from: SqlType, to: SqlType) -> Result<(), Message> {
    let allowed = match (family(from), family(to)) {
        // Of the date types only datetime is a number of days too.
        (Family::Integer | Family::Decimal | Family::Float, Family::Time) => to == SqlType::DateTime,
        (Family::Time, Family::Integer | Family::Float) => from == SqlType::DateTime,
        (Family::Xml, to) => matches!(to, Family::Xml | Family::Text | Family::Binary),
        (from, Family::Xml) => matches!(from, Family::Text | Family::Binary),
        (Family::Guid, to) | (to, Family::Guid) => {
            matches!(to, Family::Guid | Family::Text | Family::Binary | Family::Variant)
        }
        (Family::Time, to) => matches!(to, Family::Time | Family::Text | Family::Variant),
        (Family::Float, to) => to != Family::Binary,
        (Family::Binary, to) => !matches!(to, Family::Float | Family::Time | Family::Decimal),
        (Family::Decimal | Family::Integer | Family::Text | Family::Variant, _) => true,
    };
    if allowed { Ok(()) } else { Err(no_conversion(from, to)) }
}

fn to_time(value: &Datum, from: SqlType, to: SqlType) -> Result<Datum, Message> {
    let ticks = match value {
        Datum::Time(ticks) => *ticks,
        Datum::Text(text) => civil::parse(text).map_err(|not_a_date| match not_a_date {
            civil::NotADate::Unreadable => {
                error(241, 16, 1, "Conversion failed when converting date and/or time from character string.")
            }
            civil::NotADate::OutOfRange => out_of_range(from, to),
        })?,
        // Days since 1900-01-01.
        _ => match number::to_float(value, from, SqlType::Float)? {
            Datum::Float(days) if days.abs() < 4e6 => {
                civil::BASE_DATE + (days * civil::TICKS_PER_DAY as f64).round() as i64
            }
            _ => return Err(overflow(name(to))),
        },
    };
    let rounded = match to {
        SqlType::DateTime2(digits) | SqlType::DateTimeOffset(digits) => civil::round_fraction(ticks, digits),
        _ => civil::round_datetime(ticks),
    };
    let from_1753 = rounded >= civil::days_from_civil(1753, 1, 1) * civil::TICKS_PER_DAY;
    if civil::in_range(rounded) && (to != SqlType::DateTime || from_1753) {
        Ok(Datum::Time(rounded))
    } else {
        Err(out_of_range(from, to))
    }
}

fn out_of_range(from: SqlType, to: SqlType) -> Message {
    let text = format!(
        "The conversion of a {} data type to a {} data type resulted in an out-of-range value.",
        name(from),
        name(to)
    );
    error(242, 16, 3, text)
}
