//! Owns the date functions. The simulated server's time zone is UTC.

use super::{Call, Function, Signature, function, signature};
use crate::model::ServerVersion;
use crate::simulator::output::Message;
use crate::simulator::sql::convert::civil::{
    Civil, TICKS_PER_DAY, TICKS_PER_SECOND, days_from_civil, days_in_month, in_range, round_datetime,
};
use crate::simulator::sql::convert::integer_range;
use crate::simulator::sql::messages::error;
use crate::simulator::sql::types::{Family, family, is_number, name};
use crate::simulator::value::{Datum, SqlType};

pub(super) const FUNCTIONS: &[Function] = &[
    function("GETDATE", (0, 0), now_type, |call| Ok(Datum::Time(round_datetime(call.server.now_ticks)))),
    function("GETUTCDATE", (0, 0), now_type, |call| Ok(Datum::Time(round_datetime(call.server.now_ticks)))),
    function("SYSDATETIME", (0, 0), |_| signature(&[], SqlType::DateTime2(7)), now),
    function("SYSUTCDATETIME", (0, 0), |_| signature(&[], SqlType::DateTime2(7)), now),
    function("SYSDATETIMEOFFSET", (0, 0), |_| signature(&[], SqlType::DateTimeOffset(7)), now),
    function("DATEADD", (3, 3), date_add_signature, date_add),
    function("DATEDIFF", (3, 3), |types| date_diff_signature(types, SqlType::Int), |call| date_diff(call, "datediff")),
    function(
        "DATEDIFF_BIG",
        (3, 3),
        |types| date_diff_signature(types, SqlType::BigInt),
        |call| date_diff(call, "datediff_big"),
    )
    .since(ServerVersion::V2016),
    function(
        "DATEPART",
        (2, 2),
        |types| signature(&[SqlType::VarChar(Some(11)), moment_parameter(types, 1)?], SqlType::Int),
        |call| Ok(Datum::Int(part_of(call.text(0), call.int(1)))),
    ),
    function(
        "DATENAME",
        (2, 2),
        |types| signature(&[SqlType::VarChar(Some(11)), moment_parameter(types, 1)?], SqlType::NVarChar(Some(30))),
        |call| Ok(Datum::Text(part_name(call.text(0), call.int(1)))),
    ),
    function("YEAR", (1, 1), one_moment, |call| Ok(Datum::Int(part_of("year", call.int(0))))),
    function("MONTH", (1, 1), one_moment, |call| Ok(Datum::Int(part_of("month", call.int(0))))),
    function("DAY", (1, 1), one_moment, |call| Ok(Datum::Int(part_of("day", call.int(0))))),
];

/// Names and abbreviations of the date parts.
const DATE_PARTS: &[(&str, &[&str])] = &[
    ("year", &["year", "yy", "yyyy"]),
    ("quarter", &["quarter", "qq", "q"]),
    ("month", &["month", "mm", "m"]),
    ("dayofyear", &["dayofyear", "dy", "y"]),
    ("day", &["day", "dd", "d"]),
    ("week", &["week", "wk", "ww"]),
    ("weekday", &["weekday", "dw", "w"]),
    ("hour", &["hour", "hh"]),
    ("minute", &["minute", "mi", "n"]),
    ("second", &["second", "ss", "s"]),
    ("millisecond", &["millisecond", "ms"]),
    ("microsecond", &["microsecond", "mcs"]),
    ("nanosecond", &["nanosecond", "ns"]),
];

/// The full name of a date part.
pub(crate) fn date_part(name: &str) -> Option<&'static str> {
    DATE_PARTS
        .iter()
        .find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
        .map(|(part, _)| *part)
}

fn now_type(_: &[SqlType]) -> Result<Signature, usize> {
    signature(&[], SqlType::DateTime)
}

fn now(call: &Call<'_>) -> Result<Datum, Message> {
    Ok(Datum::Time(call.server.now_ticks))
}

/// Text is read as datetime2.
fn moment_parameter(types: &[SqlType], place: usize) -> Result<SqlType, usize> {
    match types.get(place) {
        Some(sql_type) if family(*sql_type) == Family::Time => Ok(*sql_type),
        Some(sql_type) if family(*sql_type) == Family::Text => Ok(SqlType::DateTime2(7)),
        // Numbers are days since 1900-01-01, as datetime has them.
        Some(sql_type) if is_number(*sql_type) => Ok(SqlType::DateTime),
        _ => Err(place + 1),
    }
}

fn one_moment(types: &[SqlType]) -> Result<Signature, usize> {
    signature(&[moment_parameter(types, 0)?], SqlType::Int)
}

fn date_add_signature(types: &[SqlType]) -> Result<Signature, usize> {
    let moment = match moment_parameter(types, 2)? {
        SqlType::DateTime2(_) if types.get(2).is_some_and(|sql_type| family(*sql_type) == Family::Text) => {
            SqlType::DateTime
        }
        moment => moment,
    };
    signature(&[SqlType::VarChar(Some(11)), SqlType::Int, moment], moment)
}

fn date_diff_signature(types: &[SqlType], result: SqlType) -> Result<Signature, usize> {
    signature(&[SqlType::VarChar(Some(11)), moment_parameter(types, 1)?, moment_parameter(types, 2)?], result)
}

/// 100 ns units of the parts of fixed length; 0 for nanoseconds and calendar parts.
fn part_ticks(part: &str) -> i64 {
    match part {
        "day" | "dayofyear" | "weekday" => TICKS_PER_DAY,
        "week" => 7 * TICKS_PER_DAY,
        "hour" => 3600 * TICKS_PER_SECOND,
        "minute" => 60 * TICKS_PER_SECOND,
        "second" => TICKS_PER_SECOND,
        "millisecond" => TICKS_PER_SECOND / 1000,
        "microsecond" => TICKS_PER_SECOND / 1_000_000,
        _ => 0,
    }
}

fn months_of(part: &str) -> i64 {
    match part {
        "year" => 12,
        "quarter" => 3,
        _ => 1,
    }
}

fn date_add(call: &Call<'_>) -> Result<Datum, Message> {
    let (part, number, ticks) = (call.text(0), call.int(1), call.int(2));
    let moved = match part {
        "year" | "quarter" | "month" => {
            let civil = Civil::from_ticks(ticks);
            let months = civil.year * 12 + civil.month - 1 + number * months_of(part);
            let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
            let day = if (1..=9999).contains(&year) { civil.day.min(days_in_month(year, month)) } else { 0 };
            Civil { year, month, day, ..civil }.ticks()
        }
        "nanosecond" => ticks.checked_add(number / 100),
        _ => number.checked_mul(part_ticks(part)).and_then(|change| ticks.checked_add(change)),
    };
    let moved = moved.map(|moved| if call.result == SqlType::DateTime { round_datetime(moved) } else { moved });
    moved.filter(|moved| in_range(*moved)).map(Datum::Time).ok_or_else(|| {
        let kind = name(call.result);
        error(517, 16, 1, format!("Adding a value to a '{kind}' column caused an overflow."))
    })
}

/// Counts the boundaries of the part between two moments.
fn date_diff(call: &Call<'_>, function: &str) -> Result<Datum, Message> {
    let (part, from, to) = (call.text(0), call.int(1), call.int(2));
    let months = |ticks| {
        let civil = Civil::from_ticks(ticks);
        (civil.year * 12 + civil.month - 1).div_euclid(months_of(part))
    };
    let difference = match part {
        "year" | "quarter" | "month" => i128::from(months(to) - months(from)),
        "nanosecond" => i128::from(to - from) * 100,
        // Weeks start on Sunday; 1970-01-04 was one.
        "week" => {
            let week = |ticks: i64| (ticks.div_euclid(TICKS_PER_DAY) - 3).div_euclid(7);
            i128::from(week(to) - week(from))
        }
        _ => {
            let unit = part_ticks(part).max(1);
            i128::from(to.div_euclid(unit)) - i128::from(from.div_euclid(unit))
        }
    };
    let (least, most) = integer_range(call.result);
    let fitting = i64::try_from(difference).ok().filter(|difference| (least..=most).contains(difference));
    fitting.map(Datum::Int).ok_or_else(|| {
        let text = format!(
            "The {function} function resulted in an overflow. The number of dateparts separating two date/time instances \
             is too large. Try to use {function} with a less precise datepart."
        );
        error(535, 16, 0, text)
    })
}

fn part_of(part: &str, ticks: i64) -> i64 {
    let civil = Civil::from_ticks(ticks);
    let day_of_year = ticks.div_euclid(TICKS_PER_DAY) - days_from_civil(civil.year, 1, 1) + 1;
    // Sunday is day 1, as in us_english.
    let weekday = |days: i64| (days + 4).rem_euclid(7) + 1;
    match part {
        "year" => civil.year,
        "quarter" => (civil.month - 1) / 3 + 1,
        "month" => civil.month,
        "dayofyear" => day_of_year,
        "day" => civil.day,
        "week" => (day_of_year + weekday(days_from_civil(civil.year, 1, 1)) - 2) / 7 + 1,
        "weekday" => weekday(ticks.div_euclid(TICKS_PER_DAY)),
        "hour" => civil.hour,
        "minute" => civil.minute,
        "second" => civil.second,
        "millisecond" => civil.fraction / 10_000,
        "microsecond" => civil.fraction / 10,
        _ => civil.fraction * 100,
    }
}

fn part_name(part: &str, ticks: i64) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
    let number = part_of(part, ticks);
    let place = usize::try_from(number - 1).unwrap_or(0);
    match part {
        "month" => MONTHS.get(place).copied().unwrap_or_default().to_owned(),
        "weekday" => DAYS.get(place).copied().unwrap_or_default().to_owned(),
        _ => number.to_string(),
    }
}
