//! Owns how numbers read: thousands separators, percent intervals, units.

use crate::model::{Interval, UtcMicros};

/// What stands where there is no number.
pub(super) const NONE: &str = "-";

/// Above this a figure is written with an exponent.
const LARGEST_WRITTEN_OUT: f64 = 1e15;

/// A rounding slack far below the last digit shown and far above a double's error.
const SLACK: f64 = 1e-9;

/// `6191134` as `6,191,134`.
pub(super) fn count(number: impl Into<u128>) -> String {
    grouped(&number.into().to_string())
}

/// `1 event`, `2 events`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A measured figure to about three digits: `20,600`, `22.2`, `0.0512`.
pub(super) fn figure(number: f64) -> String {
    let magnitude = number.abs();
    if !number.is_finite() {
        return NONE.to_owned();
    }
    if magnitude >= LARGEST_WRITTEN_OUT || (magnitude > 0.0 && magnitude < 0.000_1) {
        return format!("{number:.2e}");
    }
    let decimals = match magnitude {
        m if m >= 1000.0 || m.fract() == 0.0 => 0,
        m if m >= 100.0 => 1,
        m if m >= 1.0 => 2,
        _ => 4,
    };
    let text = format!("{magnitude:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    let sign = if number < 0.0 { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", grouped(whole))
}

/// A mean in the column of a table: hundredths below 10, tenths below 1,000.
pub(super) fn mean(number: Option<f64>) -> String {
    match number {
        Some(number) if (0.0..9.995).contains(&number) => format!("{number:.2}"),
        Some(number) if (0.0..999.95).contains(&number) => format!("{number:.1}"),
        Some(number) => figure(number.round()),
        None => NONE.to_owned(),
    }
}

/// An amount of bytes: `512 bytes`, `1.25 GB`.
pub(super) fn size(bytes: u128) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    let mut scaled = bytes as f64;
    let mut unit = "bytes";
    for larger in UNITS {
        if scaled < 1024.0 {
            break;
        }
        scaled /= 1024.0;
        unit = larger;
    }
    format!("{} {unit}", figure(scaled))
}

/// What an amount of bytes changed by: `grew by 64 MB`.
pub(super) fn change(bytes: i128) -> String {
    let verb = if bytes < 0 { "shrank" } else { "grew" };
    format!("{verb} by {}", size(bytes.unsigned_abs()))
}

/// A share as percent: `97.1 %`. Only all is `100 %` and only nothing is `0 %`.
pub(super) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NONE.to_owned();
    }
    match share * 100.0 {
        p if p > 0.0 && p < 0.1 => "<0.1 %".to_owned(),
        p if p > 99.9 && p < 100.0 => ">99.9 %".to_owned(),
        p => format!("{} %", tenths((p * 10.0).round())),
    }
}

/// A share known to lie in a range: `98.1-100 %`, rounded outwards so that it never says more than is proven.
pub(super) fn percent_range(low: f64, high: f64) -> String {
    if !low.is_finite() || !high.is_finite() {
        return NONE.to_owned();
    }
    let (from, to) = ((low * 1000.0 + SLACK).floor(), (high * 1000.0 - SLACK).ceil());
    if from >= to { percent(low) } else { format!("{}-{} %", tenths(from), tenths(to)) }
}

/// An estimated range as percent without the sign, whole numbers where it reaches 10: `18-75`, `0.5-2.4`.
pub(super) fn coarse_percent_range(range: Interval) -> String {
    let Interval { low, high } = range;
    if !low.is_finite() || !high.is_finite() {
        return NONE.to_owned();
    }
    let steps = if high >= 0.1 { 1.0 } else { 10.0 };
    let (from, to) = ((low * 100.0 * steps + SLACK).floor() / steps, (high * 100.0 * steps - SLACK).ceil() / steps);
    if from >= to { figure(to) } else { format!("{}-{}", figure(from), figure(to)) }
}

fn tenths(number: f64) -> String {
    figure(number / 10.0)
}

/// A length of time: `212 ms`, `10.0 s`.
pub(super) fn duration(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{}.{} s", count(ms / 1000), ms % 1000 / 100) }
}

/// A point in time to the second: `2026-11-30 19:31:32`.
pub(super) fn moment(at: UtcMicros) -> String {
    let (year, month, day, hour, minute, second) = at.civil();
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::{change, coarse_percent_range, count, duration, figure, mean, percent, percent_range, size};
    use crate::model::Interval;

    #[test]
    fn counts_have_separators() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (4_005_774_890_u64, "4,005,774,890")] {
            assert_eq!(count(number), text);
        }
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn figures_keep_what_matters() {
        for (number, text) in [
            (20_600.0, "20,600"),
            (22.163, "22.16"),
            (0.7, "0.7"),
            (0.051_23, "0.0512"),
            (-1234.5, "-1,234"),
            (0.0, "0"),
            (1e300, "1.00e300"),
            (0.000_001, "1.00e-6"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(figure(number), text, "{number}");
        }
    }

    #[test]
    fn shares_never_say_more_than_is_proven() {
        for (low, high, text) in [
            (0.981, 1.0, "98.1-100 %"),
            (0.9999, 1.0, "99.9-100 %"),
            (0.0, 0.000_01, "0-0.1 %"),
            (0.57, 0.57, "57 %"),
            (0.0, 0.0, "0 %"),
            (f64::NAN, 1.0, "-"),
        ] {
            assert_eq!(percent_range(low, high), text);
        }
        for (share, text) in [(0.994, "99.4 %"), (0.99999, ">99.9 %"), (0.000_1, "<0.1 %"), (1.0, "100 %")] {
            assert_eq!(percent(share), text);
        }
        assert_eq!(coarse_percent_range(Interval { low: 0.1855, high: 0.7419 }), "18-75");
        assert_eq!(coarse_percent_range(Interval { low: 0.0058, high: 0.0235 }), "0.5-2.4");
        assert_eq!(coarse_percent_range(Interval { low: 0.0, high: 0.0 }), "0");
    }

    #[test]
    fn means_are_blank_where_there_is_none() {
        for (number, text) in [
            (None, "-"),
            (Some(f64::NAN), "-"),
            (Some(0.0), "0.00"),
            (Some(0.774), "0.77"),
            (Some(9.999), "10.0"),
            (Some(57.14), "57.1"),
            (Some(999.96), "1,000"),
            (Some(32_460.91), "32,461"),
        ] {
            assert_eq!(mean(number), text, "{number:?}");
        }
    }

    #[test]
    fn sizes_have_units() {
        for (bytes, text) in [(0, "0 bytes"), (1024, "1 KB"), (1_342_177_280, "1.25 GB"), (1 << 60, "1,048,576 TB")] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!((change(67_108_864), change(-1024)), ("grew by 64 MB".to_owned(), "shrank by 1 KB".to_owned()));
    }

    #[test]
    fn durations_have_units() {
        for (ms, text) in [(212, "212 ms"), (10_000, "10.0 s"), (105_490, "105.4 s"), (7_200_000, "7,200.0 s")] {
            assert_eq!(duration(ms), text);
        }
    }
}
