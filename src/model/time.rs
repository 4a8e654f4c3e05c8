//! Owns the point in time that is stored and printed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Microseconds since 1970-01-01T00:00:00Z, without leap seconds; serialised as RFC 3339 text with a `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UtcMicros(pub i64);

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

impl UtcMicros {
    /// The time so many seconds after the epoch; the farthest one where there is none.
    pub fn from_unix_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(MICROS_PER_SECOND))
    }

    /// Whole seconds since the epoch, rounded down.
    pub fn unix_seconds(self) -> i64 {
        self.0.div_euclid(MICROS_PER_SECOND)
    }

    /// Year, month, day, hour, minute, second in the proleptic Gregorian calendar.
    pub fn civil(self) -> (i64, u32, u32, u32, u32, u32) {
        let seconds = self.unix_seconds();
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let of_day = seconds.rem_euclid(SECONDS_PER_DAY) as u32;
        (year, month, day, of_day / 3600, of_day / 60 % 60, of_day % 60)
    }

    /// The time that RFC 3339 text names, fraction and offset understood; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let number = |from: usize, to: usize| -> Option<i64> { text.get(from..to)?.parse().ok() };
        let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
        if separators.iter().any(|&(at, byte)| bytes.get(at) != Some(&byte))
            || !matches!(bytes.get(10), Some(b'T' | b't' | b' '))
        {
            return None;
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let mut rest = text.get(19..)?;
        let mut fraction = 0;
        if let Some(after) = rest.strip_prefix('.') {
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            rest = after.get(digits.len()..)?;
            fraction = format!("{digits:0<6}").get(..6)?.parse().ok()?;
        }
        let offset_minutes = match rest {
            "" | "Z" | "z" => 0,
            _ => {
                let sign = match rest.as_bytes().first() {
                    Some(b'+') => 1,
                    Some(b'-') => -1,
                    _ => return None,
                };
                sign * (rest.get(1..3)?.parse::<i64>().ok()? * 60 + rest.get(4..6)?.parse::<i64>().ok()?)
            }
        };
        let seconds = days_from_civil(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second
            - offset_minutes * 60;
        Some(Self(seconds * MICROS_PER_SECOND + fraction))
    }
}

impl fmt::Display for UtcMicros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day, hour, minute, second) = self.civil();
        let micros = self.0.rem_euclid(MICROS_PER_SECOND);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

impl Serialize for UtcMicros {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UtcMicros {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not an RFC 3339 time")))
    }
}

/// Howard Hinnant's `days_from_civil`: days since 1970-01-01.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_index + 2) / 5 + 1) as u32;
    let month = (if month_index < 10 { month_index + 3 } else { month_index - 9 }) as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::UtcMicros;

    #[test]
    fn text_and_number_agree_both_ways() {
        for (text, micros) in [
            ("1970-01-01T00:00:00.000000Z", 0),
            ("2000-02-29T23:59:59.999999Z", 951_868_799_999_999),
            ("2026-11-30T19:31:32.000001Z", 1_796_067_092_000_001),
            ("1969-12-31T23:59:59.000000Z", -1_000_000),
        ] {
            assert_eq!(UtcMicros(micros).to_string(), text);
            assert_eq!(UtcMicros::parse(text), Some(UtcMicros(micros)));
        }
        assert_eq!(UtcMicros::parse("2026-11-30T20:31:32.000001+01:00"), Some(UtcMicros(1_796_067_092_000_001)));
        for wrong in ["", "2026", "2026-13-01T00:00:00Z", "2026-11-30T20:31:32x", "2026-11-30T20:31:32.5é"] {
            assert_eq!(UtcMicros::parse(wrong), None, "{wrong}");
        }
    }
}
