//! Owns how figures are written in sentences.

/// A rounding slack far below the last digit written and far above a double's error.
const SLACK: f64 = 1e-9;

/// 0.9943 as `99.4 %`. Only all is `100 %` and only nothing is `0 %`.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p > 0.0 && p < 0.1 => "<0.1 %".to_owned(),
        p if p > 99.9 && p < 100.0 => ">99.9 %".to_owned(),
        p => format!("{} %", tenths((p * 10.0).round())),
    }
}

/// 0.18 and 0.74 as `18 to 74 %`, rounded outwards so that it never says more than is proven.
pub fn percent_range(low: f64, high: f64) -> String {
    let (from, to) = ((low * 1000.0 + SLACK).floor(), (high * 1000.0 - SLACK).ceil());
    let is_one = high - low <= f64::EPSILON || from >= to;
    if is_one { percent(low) } else { format!("{} to {} %", tenths(from), tenths(to)) }
}

fn tenths(number: f64) -> String {
    // Adding zero takes the sign off a negative one.
    let text = format!("{:.1}", number / 10.0 + 0.0);
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// 206473 as `206,473`.
pub fn count(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// 1 and `event` as `1 event`, 206473 as `206,473 events`; for words whose plural only takes an `s`.
pub fn counted(number: impl Into<u128>, what: &str) -> String {
    let number = number.into();
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A measured figure: whole above 100, with one decimal below.
pub fn figure(value: f64) -> String {
    if value >= 100.0 { count(value as u64) } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::{count, counted, figure, percent, percent_range};

    #[test]
    fn no_share_says_more_than_is_proven() {
        for (share, text) in [(0.0, "0 %"), (0.000_05, "<0.1 %"), (0.999_95, ">99.9 %"), (1.0, "100 %"), (0.07, "7 %")]
        {
            assert_eq!(percent(share), text);
        }
        assert_eq!(percent_range(0.0, 0.000_05), "0 to 0.1 %");
        assert_eq!(percent_range(0.999_95, 1.0), "99.9 to 100 %");
        assert_eq!(percent_range(0.1913, 0.7653), "19.1 to 76.6 %");
    }

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(percent(0.9943), "99.4 %");
        assert_eq!(percent_range(0.1854, 0.7418), "18.5 to 74.2 %");
        assert_eq!(percent_range(1.0, 1.0), "100 %");
        assert_eq!((counted(1_u64, "event").as_str(), counted(0_u64, "event").as_str()), ("1 event", "0 events"));
        for (number, text) in [(0_u64, "0"), (999, "999"), (1_000, "1,000"), (4_005_774_890, "4,005,774,890")] {
            assert_eq!(count(number), text);
        }
        assert_eq!(
            [0_u64, 1, 2, 1_000].map(|n| counted(n, "event")),
            ["0 events", "1 event", "2 events", "1,000 events"]
        );
        assert_eq!([0.25, 99.94, 100.0, 12_345.6].map(figure), ["0.2", "99.9", "100", "12,345"]);
    }
}
