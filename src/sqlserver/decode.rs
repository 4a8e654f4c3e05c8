//! Owns turning tiberius values into model values.

use crate::model::{UtcMicros, Value};
use chrono::NaiveDateTime;
use std::fmt::Write as _;
use tiberius::{ColumnData, FromSql};

/// The value of a cell. Never fails: what has no number or time of its own becomes text.
pub(super) fn value(data: &ColumnData<'static>) -> Value {
    let integer = |number: Option<i64>| number.map_or(Value::Null, Value::Integer);
    match data {
        ColumnData::U8(number) => integer(number.map(i64::from)),
        ColumnData::I16(number) => integer(number.map(i64::from)),
        ColumnData::I32(number) => integer(number.map(i64::from)),
        ColumnData::I64(number) => integer(*number),
        ColumnData::F32(number) => number.map_or(Value::Null, |number| real(f64::from(number))),
        ColumnData::F64(number) => number.map_or(Value::Null, real),
        ColumnData::Bit(flag) => flag.map_or(Value::Null, Value::Bool),
        ColumnData::String(text) => text.as_ref().map_or(Value::Null, |text| Value::Text(text.as_ref().to_owned())),
        ColumnData::Xml(xml) => xml.as_ref().map_or(Value::Null, |xml| Value::Text(xml.as_ref().to_string())),
        ColumnData::Guid(guid) => guid.map_or(Value::Null, |guid| Value::Text(guid.to_string().to_uppercase())),
        ColumnData::Binary(bytes) => bytes.as_ref().map_or(Value::Null, |bytes| Value::Text(hex(bytes))),
        ColumnData::Numeric(number) => number.map_or(Value::Null, |number| {
            if number.scale() == 0
                && let Ok(whole) = i64::try_from(number.value())
            {
                Value::Integer(whole)
            } else {
                real(number.into())
            }
        }),
        ColumnData::DateTime(_)
        | ColumnData::SmallDateTime(_)
        | ColumnData::DateTime2(_)
        | ColumnData::DateTimeOffset(_) => match NaiveDateTime::from_sql(data) {
            Ok(Some(time)) => Value::Text(UtcMicros(time.and_utc().timestamp_micros()).to_string()),
            _ => Value::Null,
        },
        ColumnData::Date(_) | ColumnData::Time(_) => Value::Text(format!("{data:?}")),
    }
}

/// JSON knows no NaN and no infinity.
fn real(number: f64) -> Value {
    if number.is_finite() { Value::Real(number) } else { Value::Null }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + bytes.len() * 2);
    text.push_str("0x");
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ignored = write!(text, "{byte:02X}");
    }
    text
}
