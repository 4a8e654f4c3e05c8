//! Owns the mathematical functions.

use super::{Call, Function, Signature, function, int_parameter, signature};
use crate::simulator::output::Message;
use crate::simulator::sql::convert::{decimal, integer_range};
use crate::simulator::sql::messages::{error, overflow};
use crate::simulator::sql::types::{decimal_of, name};
use crate::simulator::value::{Datum, SqlType};

pub(super) const FUNCTIONS: &[Function] = &[
    function("ABS", (1, 1), same_number, |call| match call.argument(0) {
        Datum::Int(number) => match number.checked_abs() {
            Some(absolute) if absolute <= integer_range(call.result).1 => Ok(Datum::Int(absolute)),
            _ => Err(overflow(name(call.result))),
        },
        Datum::Decimal(unscaled) => Ok(Datum::Decimal(unscaled.abs())),
        _ => Ok(Datum::Float(call.float(0).abs())),
    }),
    function("SIGN", (1, 1), same_number, |call| match call.argument(0) {
        Datum::Int(number) => Ok(Datum::Int(number.signum())),
        Datum::Decimal(unscaled) => {
            let unit = decimal::power_of_ten(decimal_of(call.result).1).unwrap_or(0);
            Ok(Datum::Decimal(unscaled.signum() * unit))
        }
        _ => Ok(Datum::Float(if call.float(0) == 0.0 { 0.0 } else { call.float(0).signum() })),
    }),
    function("FLOOR", (1, 1), whole_number, |call| whole(call, f64::floor, i128::div_euclid)),
    function("CEILING", (1, 1), whole_number, |call| {
        whole(call, f64::ceil, |unscaled, unit| -(-unscaled).div_euclid(unit))
    }),
    function("ROUND", (2, 3), round_signature, round),
    function(
        "POWER",
        (2, 2),
        |types| {
            let first = number_parameter(types, 0)?;
            signature(&[first, SqlType::Float], first)
        },
        power,
    ),
    function("SQRT", (1, 1), one_float, |call| finite(call.float(0).sqrt())),
    function("SQUARE", (1, 1), one_float, |call| finite(call.float(0) * call.float(0))),
    function("EXP", (1, 1), one_float, |call| finite(call.float(0).exp())),
    function("LOG", (1, 2), floats, |call| {
        let base = if call.arguments.len() > 1 { call.float(1).ln() } else { 1.0 };
        finite(call.float(0).ln() / base)
    }),
    function("LOG10", (1, 1), one_float, |call| finite(call.float(0).log10())),
];

/// int for what is smaller or is text, bigint, decimal, float as they are.
fn number_parameter(types: &[SqlType], place: usize) -> Result<SqlType, usize> {
    match types.get(place) {
        Some(SqlType::Decimal { .. } | SqlType::BigInt) => Ok(types.get(place).copied().unwrap_or(SqlType::Int)),
        Some(SqlType::Real | SqlType::Float | SqlType::NVarChar(_) | SqlType::VarChar(_)) => Ok(SqlType::Float),
        _ => int_parameter(types, place),
    }
}

fn same_number(types: &[SqlType]) -> Result<Signature, usize> {
    let parameter = number_parameter(types, 0)?;
    signature(&[parameter], parameter)
}

fn whole_number(types: &[SqlType]) -> Result<Signature, usize> {
    let parameter = number_parameter(types, 0)?;
    let result = match parameter {
        SqlType::Decimal { precision, .. } => SqlType::Decimal { precision, scale: 0 },
        other => other,
    };
    signature(&[parameter], result)
}

fn floats(types: &[SqlType]) -> Result<Signature, usize> {
    Ok(Signature { parameters: vec![SqlType::Float; types.len()], result: SqlType::Float })
}

fn one_float(types: &[SqlType]) -> Result<Signature, usize> {
    floats(types)
}

/// Error 3623 for what has no real answer.
fn finite(answer: f64) -> Result<Datum, Message> {
    if answer.is_finite() {
        Ok(Datum::Float(answer))
    } else {
        Err(error(3623, 16, 1, "An invalid floating point operation occurred."))
    }
}

fn whole(call: &Call<'_>, of_float: fn(f64) -> f64, of_decimal: fn(i128, i128) -> i128) -> Result<Datum, Message> {
    match call.argument(0) {
        Datum::Int(number) => Ok(Datum::Int(*number)),
        Datum::Decimal(unscaled) => {
            let scale = call.types.first().map_or(0, |sql_type| decimal_of(*sql_type).1);
            let unit = decimal::power_of_ten(scale).ok_or_else(|| overflow("numeric"))?;
            Ok(Datum::Decimal(of_decimal(*unscaled, unit)))
        }
        _ => Ok(Datum::Float(of_float(call.float(0)))),
    }
}

fn round_signature(types: &[SqlType]) -> Result<Signature, usize> {
    let first = number_parameter(types, 0)?;
    let mut parameters = vec![first, SqlType::Int];
    parameters.extend(types.get(2).map(|_| SqlType::Int));
    signature(&parameters, first)
}

/// A third argument other than 0 cuts instead of rounding.
fn round(call: &Call<'_>) -> Result<Datum, Message> {
    let places = call.int(1).clamp(-40, 40);
    let cut = call.int(2) != 0;
    match call.argument(0) {
        Datum::Float(float) => {
            let unit = 10_f64.powi(places as i32);
            let scaled = float * unit;
            if !scaled.is_finite() {
                return Ok(Datum::Float(*float));
            }
            finite(if cut { scaled.trunc() } else { scaled.round() } / unit)
        }
        Datum::Int(number) => {
            let rounded =
                round_exact(i128::from(*number), -places, cut).and_then(|rounded| i64::try_from(rounded).ok());
            let (least, most) = integer_range(call.result);
            let rounded = rounded.filter(|rounded| (least..=most).contains(rounded));
            rounded.map(Datum::Int).ok_or_else(|| overflow(name(call.result)))
        }
        Datum::Decimal(unscaled) => {
            let (precision, scale) = decimal_of(call.result);
            let rounded = round_exact(*unscaled, i64::from(scale) - places, cut);
            let rounded = rounded.filter(|rounded| decimal::fits(*rounded, precision));
            rounded.map(Datum::Decimal).ok_or_else(|| overflow("numeric"))
        }
        _ => Ok(Datum::Null),
    }
}

/// Makes the last `digits` digits 0.
fn round_exact(value: i128, digits: i64, cut: bool) -> Option<i128> {
    let Ok(digits) = u8::try_from(digits) else { return Some(value) };
    let Some(unit) = decimal::power_of_ten(digits) else { return Some(0) };
    let kept = if cut { value / unit } else { decimal::rescale(value, digits, 0)? };
    kept.checked_mul(unit)
}

fn power(call: &Call<'_>) -> Result<Datum, Message> {
    let too_large = || overflow(name(call.result));
    match call.argument(0) {
        Datum::Int(base) => {
            let answer = (*base as f64).powf(call.float(1)).trunc();
            let (least, most) = integer_range(call.result);
            let exact = u32::try_from(call.float(1) as i64).ok().and_then(|exponent| base.checked_pow(exponent));
            let answer = if call.float(1) >= 0.0 && call.float(1).fract() == 0.0 {
                exact
            } else {
                Some(answer).filter(|answer| answer.abs() < 9e18).map(|answer| answer as i64)
            };
            answer.filter(|answer| (least..=most).contains(answer)).map(Datum::Int).ok_or_else(too_large)
        }
        Datum::Decimal(unscaled) => {
            let (precision, scale) = decimal_of(call.result);
            let answer = decimal::to_float(*unscaled, scale).powf(call.float(1));
            let answer = decimal::from_float(answer, scale).filter(|answer| decimal::fits(*answer, precision));
            answer.map(Datum::Decimal).ok_or_else(too_large)
        }
        _ => finite(call.float(0).powf(call.float(1))),
    }
}
