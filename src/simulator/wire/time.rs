//! Owns the wire forms of dates and times. [`crate::simulator::value::Datum::Time`] counts 100 ns since 1970.

use crate::simulator::wire::reader::DecodeError;

const TICKS_PER_SECOND: i64 = 10_000_000;
const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// Days from 0001-01-01, where datetime2 begins to count, to 1970-01-01.
const DAYS_FROM_YEAR_1: i64 = 719_162;
/// Days from 1900-01-01, where datetime begins to count, to 1970-01-01.
const DAYS_FROM_1900: i64 = 25_567;
/// 9999-12-31 in days since 0001-01-01.
const LAST_DAY: i64 = 3_652_058;
/// 1753-01-01 and 9999-12-31, the range of datetime, in days since 1900-01-01.
const DATETIME_DAYS: std::ops::RangeInclusive<i64> = -53_690..=2_958_463;
/// A datetime counts 300ths of a second.
const DATETIME_UNITS_PER_SECOND: i64 = 300;
const DATETIME_UNITS_PER_DAY: i64 = 86_400 * DATETIME_UNITS_PER_SECOND;

/// 100 ns in one unit of a type with so many fraction digits (0 to 7).
fn ticks_per_unit(scale: u8) -> i64 {
    10_i64.pow(u32::from(7 - scale.min(7)))
}

/// Bytes of the time of day in a type with so many fraction digits.
fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// Puts a datetime2, rounded to its scale. `None`: outside of years 1 to 9999, and nothing is put.
#[must_use]
pub(crate) fn put_datetime2(out: &mut Vec<u8>, ticks: i64, scale: u8) -> Option<()> {
    let unit = ticks_per_unit(scale);
    let units = ticks.checked_add(unit / 2)?.div_euclid(unit);
    let units_per_day = TICKS_PER_DAY / unit;
    let day = units.div_euclid(units_per_day) + DAYS_FROM_YEAR_1;
    if !(0..=LAST_DAY).contains(&day) {
        return None;
    }
    let time = units.rem_euclid(units_per_day);
    out.extend(time.to_le_bytes().into_iter().take(time_bytes(scale)));
    out.extend(day.to_le_bytes().into_iter().take(3));
    Some(())
}

/// Puts a datetimeoffset of offset zero.
#[must_use]
pub(crate) fn put_datetimeoffset(out: &mut Vec<u8>, ticks: i64, scale: u8) -> Option<()> {
    put_datetime2(out, ticks, scale)?;
    out.extend_from_slice(&0_i16.to_le_bytes());
    Some(())
}

/// Puts a datetime, rounded to 300ths of a second.
#[must_use]
pub(crate) fn put_datetime(out: &mut Vec<u8>, ticks: i64) -> Option<()> {
    let mut day = ticks.div_euclid(TICKS_PER_DAY) + DAYS_FROM_1900;
    let ticks_of_day = ticks.rem_euclid(TICKS_PER_DAY);
    let mut units = (ticks_of_day * DATETIME_UNITS_PER_SECOND + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
    if units == DATETIME_UNITS_PER_DAY {
        units = 0;
        day += 1;
    }
    if !DATETIME_DAYS.contains(&day) {
        return None;
    }
    out.extend_from_slice(&(day as i32).to_le_bytes());
    out.extend_from_slice(&(units as u32).to_le_bytes());
    Some(())
}

/// Reads a datetime2 of any scale; also a date (no time) and a time (no day: 1900-01-01).
pub(crate) fn read_datetime2(time: &[u8], day: Option<&[u8]>, scale: u8) -> Result<i64, DecodeError> {
    let unit = ticks_per_unit(scale);
    let units = little_endian(time);
    let day = day.map_or(DAYS_FROM_YEAR_1 - DAYS_FROM_1900, little_endian);
    if units >= TICKS_PER_DAY / unit {
        return Err(DecodeError::Malformed("a time of day is a day or longer"));
    }
    if day > LAST_DAY {
        return Err(DecodeError::Malformed("a date is after the year 9999"));
    }
    Ok((day - DAYS_FROM_YEAR_1) * TICKS_PER_DAY + units * unit)
}

/// Splits the bytes of a time and a date.
pub(crate) fn split_datetime2(bytes: &[u8], scale: u8) -> Result<(&[u8], &[u8]), DecodeError> {
    let length = bytes.len();
    bytes
        .split_at_checked(time_bytes(scale))
        .filter(|(_, day)| day.len() == 3)
        .ok_or(DecodeError::Length { what: "datetime2", length })
}

/// Reads a datetime: days since 1900 and 300ths of a second.
pub(crate) fn read_datetime(days: i32, units: u32) -> Result<i64, DecodeError> {
    let days = i64::from(days);
    let units = i64::from(units);
    if !DATETIME_DAYS.contains(&days) || units >= DATETIME_UNITS_PER_DAY {
        return Err(DecodeError::Malformed("a datetime is outside of its range"));
    }
    // To the nearest millisecond, as SQL Server shows it: .003, .007.
    let milliseconds = (units * 10 + 1) / 3;
    Ok((days - DAYS_FROM_1900) * TICKS_PER_DAY + milliseconds * (TICKS_PER_SECOND / 1_000))
}

/// Reads a smalldatetime: days since 1900 and minutes.
pub(crate) fn read_smalldatetime(days: u16, minutes: u16) -> Result<i64, DecodeError> {
    if minutes >= 24 * 60 {
        return Err(DecodeError::Malformed("a smalldatetime is outside of its range"));
    }
    Ok((i64::from(days) - DAYS_FROM_1900) * TICKS_PER_DAY + i64::from(minutes) * 60 * TICKS_PER_SECOND)
}

/// An unsigned number of up to seven bytes.
fn little_endian(bytes: &[u8]) -> i64 {
    bytes.iter().take(7).rev().fold(0, |number, byte| (number << 8) | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-30T12:34:56.7890123.
    const MOMENT: i64 = 17_960_420_967_890_123;

    fn datetime2(ticks: i64, scale: u8) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        put_datetime2(&mut out, ticks, scale).map(|()| out)
    }

    fn back(bytes: &[u8], scale: u8) -> i64 {
        let (time, day) = split_datetime2(bytes, scale).unwrap();
        read_datetime2(time, Some(day), scale).unwrap()
    }

    #[test]
    fn datetime2_counts_from_year_one() {
        let bytes = datetime2(0, 7).unwrap();
        assert_eq!(bytes, [0, 0, 0, 0, 0, 0x3A, 0xF9, 0x0A]); // 719,162 days
        assert_eq!(datetime2(-DAYS_FROM_YEAR_1 * TICKS_PER_DAY, 0), Some(vec![0; 6]));
        assert_eq!(datetime2(-DAYS_FROM_YEAR_1 * TICKS_PER_DAY - 1, 7), None);
        assert_eq!(datetime2((LAST_DAY + 1 - DAYS_FROM_YEAR_1) * TICKS_PER_DAY, 7), None);
        assert_eq!(datetime2(i64::MAX, 0), None);
    }

    #[test]
    fn a_fraction_is_rounded_to_its_scale() {
        assert_eq!(back(&datetime2(MOMENT, 7).unwrap(), 7), MOMENT);
        assert_eq!(back(&datetime2(MOMENT, 3).unwrap(), 3), MOMENT - 123);
        assert_eq!(back(&datetime2(TICKS_PER_DAY - 1, 0).unwrap(), 0), TICKS_PER_DAY);
    }

    #[test]
    fn datetime_counts_300ths_from_1900() {
        let mut out = Vec::new();
        put_datetime(&mut out, 10 * TICKS_PER_SECOND + 33_333).unwrap();
        assert_eq!(out, [0xDF, 0x63, 0, 0, 0xB9, 0x0B, 0, 0]); // 25,567 days, 3,001 units
        assert_eq!(read_datetime(25_567, 3_001), Ok(10 * TICKS_PER_SECOND + 30_000));
        assert_eq!(read_datetime(25_567, 2), Ok(70_000));
        assert!(read_datetime(-53_691, 0).is_err());
        assert!(read_datetime(0, 25_920_000).is_err());
        out.clear();
        put_datetime(&mut out, TICKS_PER_DAY - 1).unwrap();
        assert_eq!(out, [0xE0, 0x63, 0, 0, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn any_time_encodes_without_panic_and_reads_back(ticks: i64, scale in 0_u8..=7) {
            if let Some(bytes) = datetime2(ticks, scale) {
                prop_assert_eq!(bytes.len(), time_bytes(scale) + 3);
                prop_assert!((back(&bytes, scale) - ticks).abs() <= ticks_per_unit(scale) / 2);
            }
            let mut out = Vec::new();
            if put_datetime(&mut out, ticks).is_some() {
                prop_assert_eq!(out.len(), 8);
            }
        }

        #[test]
        fn any_bytes_read_without_panic(time: [u8; 5], day: [u8; 3], scale: u8, days: i32, units: u32, short: u16) {
            drop(read_datetime2(&time, Some(&day), scale));
            drop(read_datetime2(&time, None, scale));
            drop(read_datetime(days, units));
            drop(read_smalldatetime(short, short));
        }
    }
}
