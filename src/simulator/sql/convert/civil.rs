//! Owns calendar arithmetic: 100 ns ticks since 1970-01-01 to dates and back, reading and writing of dates.

/// 100 ns units of a second.
pub(crate) const TICKS_PER_SECOND: i64 = 10_000_000;
/// 100 ns units of a day.
pub(crate) const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// 1900-01-01T00:00:00, what a time without a date and a date without a value stand for.
pub(crate) const BASE_DATE: i64 = -25_567 * TICKS_PER_DAY;
/// 0001-01-01.
const FIRST_DAY: i64 = -719_162;
/// 9999-12-31.
const LAST_DAY: i64 = 2_932_896;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A moment, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    /// 100 ns units.
    pub(crate) fraction: i64,
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar; years are counted from March, in eras of
/// 400 years, so that leap days end a year.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
    let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_from_civil(next_year, next_month, 1) - days_from_civil(year, month, 1)
}

/// Whether the moment lies in the years 1 to 9999.
pub(crate) fn in_range(ticks: i64) -> bool {
    (FIRST_DAY..=LAST_DAY).contains(&ticks.div_euclid(TICKS_PER_DAY))
}

impl Civil {
    pub(crate) fn from_ticks(ticks: i64) -> Self {
        let (year, month, day) = civil_from_days(ticks.div_euclid(TICKS_PER_DAY));
        let of_day = ticks.rem_euclid(TICKS_PER_DAY);
        let seconds = of_day / TICKS_PER_SECOND;
        Self {
            year,
            month,
            day,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            fraction: of_day % TICKS_PER_SECOND,
        }
    }

    /// `None` where a part is out of its range.
    pub(crate) fn ticks(self) -> Option<i64> {
        let valid = (1..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && self.day >= 1
            && self.day <= days_in_month(self.year, self.month)
            && (0..24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..60).contains(&self.second);
        valid.then(|| {
            days_from_civil(self.year, self.month, self.day) * TICKS_PER_DAY
                + (self.hour * 3600 + self.minute * 60 + self.second) * TICKS_PER_SECOND
                + self.fraction
        })
    }
}

/// Rounds to a number of fraction digits, 0 to 7.
pub(crate) fn round_fraction(ticks: i64, digits: u8) -> i64 {
    let unit = 10_i64.pow(u32::from(7 - digits.min(7)));
    (ticks + unit / 2).div_euclid(unit) * unit
}

/// Rounds to datetime's three-hundredths of a second.
pub(crate) fn round_datetime(ticks: i64) -> i64 {
    let (day, of_day) = (ticks.div_euclid(TICKS_PER_DAY), ticks.rem_euclid(TICKS_PER_DAY));
    let three_hundredths = (of_day * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
    day * TICKS_PER_DAY + (three_hundredths * TICKS_PER_SECOND + 150) / 300
}

/// How a date was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotADate {
    /// Error 241.
    Unreadable,
    /// Error 242.
    OutOfRange,
}

/// Reads ISO forms: `2026-01-31`, `20260131`, `2026-01-31 23:59:59.123`, `2026-01-31T23:59:59Z`, `23:59`.
/// An offset is applied: the answer is UTC then.
pub(crate) fn parse(text: &str) -> Result<i64, NotADate> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(BASE_DATE);
    }
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, time.trim()),
        None if text.contains(':') => ("19000101", text),
        None => (text, ""),
    };
    let (year, month, day) = parse_date(date).ok_or(NotADate::Unreadable)?;
    let (time, offset_minutes) = split_offset(time).ok_or(NotADate::Unreadable)?;
    let (hour, minute, second, fraction) = parse_time(time).ok_or(NotADate::Unreadable)?;
    let local = Civil { year, month, day, hour, minute, second, fraction }.ticks().ok_or(NotADate::OutOfRange)?;
    let utc = local - offset_minutes * 60 * TICKS_PER_SECOND;
    if in_range(utc) { Ok(utc) } else { Err(NotADate::OutOfRange) }
}

fn digits(text: &str) -> Option<i64> {
    let valid = !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    if valid { text.parse().ok() } else { None }
}

fn parse_date(text: &str) -> Option<(i64, i64, i64)> {
    if text.len() == 8 && digits(text).is_some() {
        return Some((digits(text.get(..4)?)?, digits(text.get(4..6)?)?, digits(text.get(6..)?)?));
    }
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    (parts.next().is_none() && year.len() == 4 && month.len() <= 2 && day.len() <= 2).then_some((
        digits(year)?,
        digits(month)?,
        digits(day)?,
    ))
}

/// The time without its offset, and the offset in minutes.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time.trim_end(), 0));
    }
    let Some(at) = text.find(['+', '-']) else { return Some((text, 0)) };
    let sign = if text.get(at..)?.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text.get(at + 1..)?.split_once(':')?;
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours <= 14 && minutes < 60).then_some((text.get(..at)?.trim_end(), sign * (hours * 60 + minutes)))
}

fn parse_time(text: &str) -> Option<(i64, i64, i64, i64)> {
    if text.is_empty() {
        return Some((0, 0, 0, 0));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let (hour, minute) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let second = parts.next().map_or(Some(0), digits)?;
    let fraction = if fraction.is_empty() {
        0
    } else {
        (fraction.len() <= 7).then(|| digits(&format!("{fraction:0<7}"))).flatten()?
    };
    parts.next().is_none().then_some((hour, minute, second, fraction))
}

/// Writes a moment in one of CONVERT's styles, with so many fraction digits where the style shows a fraction.
/// `None` for a style that is not offered.
pub(crate) fn format(ticks: i64, style: i64, digits: u8) -> Option<String> {
    let at = Civil::from_ticks(ticks);
    let date = format!("{:04}-{:02}-{:02}", at.year, at.month, at.day);
    let time = format!("{:02}:{:02}:{:02}", at.hour, at.minute, at.second);
    let month = MONTHS.get(usize::try_from(at.month - 1).ok()?)?;
    let fraction = fraction_text(at.fraction, digits);
    Some(match style {
        0 | 100 => {
            let (hour, half) =
                (if at.hour % 12 == 0 { 12 } else { at.hour % 12 }, if at.hour < 12 { "AM" } else { "PM" });
            format!("{month} {:2} {:04} {hour:2}:{:02}{half}", at.day, at.year, at.minute)
        }
        20 | 120 => format!("{date} {time}"),
        21 | 25 | 121 => format!("{date} {time}{fraction}"),
        23 => date,
        101 => format!("{:02}/{:02}/{:04}", at.month, at.day, at.year),
        103 => format!("{:02}/{:02}/{:04}", at.day, at.month, at.year),
        104 => format!("{:02}.{:02}.{:04}", at.day, at.month, at.year),
        106 => format!("{:02} {month} {:04}", at.day, at.year),
        108 | 8 => time,
        111 => format!("{:04}/{:02}/{:02}", at.year, at.month, at.day),
        112 => format!("{:04}{:02}{:02}", at.year, at.month, at.day),
        114 | 14 => format!("{time}{}", fraction.replace('.', ":")),
        126 | 127 => {
            let fraction = if at.fraction == 0 { String::new() } else { fraction };
            format!("{date}T{time}{fraction}{}", if style == 127 { "Z" } else { "" })
        }
        _ => return None,
    })
}

/// `.1234567` cut to so many digits; datetime's three are rounded, as its thirds of a hundredth demand.
fn fraction_text(fraction: i64, digits: u8) -> String {
    match digits {
        0 => String::new(),
        3 => format!(".{:03}", ((fraction + 5_000) / 10_000).min(999)),
        _ => {
            let unit = 10_i64.pow(u32::from(7 - digits.min(7)));
            format!(".{:0width$}", fraction / unit, width = usize::from(digits.min(7)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Civil, TICKS_PER_DAY, format, parse, round_datetime};

    #[test]
    fn dates_are_read_and_written() {
        assert_eq!(parse("1970-01-02"), Ok(TICKS_PER_DAY));
        let ticks = parse("2024-02-29T23:59:58.1234567Z").unwrap();
        assert_eq!(format(ticks, 121, 7).unwrap(), "2024-02-29 23:59:58.1234567");
        assert_eq!(format(ticks, 100, 7).unwrap(), "Feb 29 2024 11:59PM");
        assert_eq!(format(ticks, 112, 7).unwrap(), "20240229");
        assert_eq!(format(ticks, 999, 7), None);
        assert!(parse("2023-02-29").is_err() && parse("abc").is_err() && parse("2023-1x-02").is_err());
        assert_eq!(parse("2026-01-01 01:00 +01:00"), parse("2026-01-01"));
        assert_eq!(format(round_datetime(12_345), 121, 3).unwrap(), "1970-01-01 00:00:00.000");
        assert_eq!(format(round_datetime(60_000), 121, 3).unwrap(), "1970-01-01 00:00:00.007");
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        for day in -200_000..50_000 {
            let civil = Civil::from_ticks(day * TICKS_PER_DAY);
            assert_eq!(civil.ticks(), Some(day * TICKS_PER_DAY));
        }
    }
}
