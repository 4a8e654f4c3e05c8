//! Owns the aggregate functions: names, types and how they add up.

use crate::model::ServerVersion;
use crate::simulator::output::Message;
use crate::simulator::sql::compare::{Collation, order};
use crate::simulator::sql::convert::{decimal, integer_range};
use crate::simulator::sql::messages::{error, invalid_operand, overflow, too_long_value};
use crate::simulator::sql::types::{
    Family, MAX_PRECISION, MAX_VALUE_BYTES, cut_at, decimal_of, family, is_national, name, text_length, text_type,
};
use crate::simulator::value::{Datum, SqlType};
use std::cmp::Ordering;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AggregateFunction {
    Count,
    CountBig,
    Sum,
    Avg,
    Min,
    Max,
    StringAgg,
}

impl AggregateFunction {
    pub(super) fn find(name: &str, version: ServerVersion) -> Option<Self> {
        Some(match name {
            "COUNT" => Self::Count,
            "COUNT_BIG" => Self::CountBig,
            "SUM" => Self::Sum,
            "AVG" => Self::Avg,
            "MIN" => Self::Min,
            "MAX" => Self::Max,
            "STRING_AGG" if version >= ServerVersion::V2017 => Self::StringAgg,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::CountBig => "count_big",
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Max => "max",
            Self::StringAgg => "string_agg",
        }
    }

    pub(super) fn result_type(self, argument: SqlType) -> Result<SqlType, Message> {
        let invalid = || invalid_operand(name(argument), self.name());
        Ok(match self {
            Self::Count => SqlType::Int,
            Self::CountBig => SqlType::BigInt,
            Self::Min | Self::Max => match family(argument) {
                Family::Xml => return Err(invalid()),
                _ if argument == SqlType::Bit => return Err(invalid()),
                _ => argument,
            },
            Self::Sum | Self::Avg => match argument {
                SqlType::TinyInt | SqlType::SmallInt | SqlType::Int => SqlType::Int,
                SqlType::BigInt => SqlType::BigInt,
                SqlType::Real | SqlType::Float => SqlType::Float,
                SqlType::Decimal { scale, .. } => {
                    let scale = if self == Self::Avg { scale.max(6) } else { scale };
                    SqlType::Decimal { precision: MAX_PRECISION, scale }
                }
                _ => return Err(invalid()),
            },
            Self::StringAgg => match argument {
                SqlType::NVarChar(None) | SqlType::VarChar(None) => argument,
                _ if is_national(argument) => text_type(true, Some(4000)),
                _ => text_type(false, Some(8000)),
            },
        })
    }

    /// Whether the answer is never NULL.
    pub(super) fn counts(self) -> bool {
        matches!(self, Self::Count | Self::CountBig)
    }

    /// The answer over values without NULLs (for COUNT(*), anything). `separators` are those of STRING_AGG.
    pub(super) fn compute(
        self,
        values: &[Datum],
        separators: &[Datum],
        argument_type: SqlType,
        result: SqlType,
        collation: Collation,
    ) -> Result<Datum, Message> {
        match self {
            Self::Count | Self::CountBig => {
                let count = values.len() as i64;
                let (_, most) = integer_range(result);
                if count <= most { Ok(Datum::Int(count)) } else { Err(overflow(name(result))) }
            }
            Self::Min | Self::Max => {
                let wanted = if self == Self::Min { Ordering::Less } else { Ordering::Greater };
                let best = values.iter().reduce(
                    |best, value| {
                        if order(value, best, collation) == wanted { value } else { best }
                    },
                );
                Ok(best.cloned().unwrap_or(Datum::Null))
            }
            Self::Sum | Self::Avg if values.is_empty() => Ok(Datum::Null),
            Self::Sum | Self::Avg => self.add_up(values, argument_type, result),
            Self::StringAgg => join(values, separators, result),
        }
    }

    fn add_up(self, values: &[Datum], argument_type: SqlType, result: SqlType) -> Result<Datum, Message> {
        let average = self == Self::Avg;
        if family(result) == Family::Float {
            let sum: f64 = values.iter().map(|value| if let Datum::Float(float) = value { *float } else { 0.0 }).sum();
            let answer = if average { sum / values.len() as f64 } else { sum };
            return if answer.is_finite() { Ok(Datum::Float(answer)) } else { Err(overflow("float")) };
        }
        let mut sum: i128 = 0;
        for value in values {
            let number = match value {
                Datum::Int(number) => i128::from(*number),
                Datum::Decimal(unscaled) => *unscaled,
                _ => 0,
            };
            sum = sum.checked_add(number).ok_or_else(|| overflow(name(result)))?;
        }
        if family(result) == Family::Decimal {
            let ((_, from), (precision, to)) = (decimal_of(argument_type), decimal_of(result));
            let answer = if average {
                decimal::divide((sum, from), (values.len() as i128, 0), to)
            } else {
                decimal::rescale(sum, from, to)
            };
            let answer = answer.filter(|answer| decimal::fits(*answer, precision));
            return answer.map(Datum::Decimal).ok_or_else(|| overflow("numeric"));
        }
        let (least, most) = integer_range(result);
        let total = i64::try_from(sum).ok().filter(|sum| (least..=most).contains(sum));
        let total = total.ok_or_else(|| overflow(name(result)))?;
        Ok(Datum::Int(if average { total / values.len() as i64 } else { total }))
    }
}

fn join(values: &[Datum], separators: &[Datum], result: SqlType) -> Result<Datum, Message> {
    if values.is_empty() {
        return Ok(Datum::Null);
    }
    let mut joined = String::new();
    for (place, value) in values.iter().enumerate() {
        if place > 0
            && let Some(Datum::Text(separator)) = separators.get(place)
        {
            joined.push_str(separator);
        }
        if let Datum::Text(text) = value {
            joined.push_str(text);
        }
        if joined.len() > MAX_VALUE_BYTES {
            return Err(too_long_value());
        }
    }
    let limit = text_length(result).map(usize::from);
    if limit.is_some_and(|limit| cut_at(&joined, limit, is_national(result)).is_some()) {
        let text =
            "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.";
        return Err(error(9829, 16, 1, text));
    }
    Ok(Datum::Text(joined))
}
