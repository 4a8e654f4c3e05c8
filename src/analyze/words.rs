//! Owns how figures are written in sentences.

/// 0.9943 as `99.4 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// 0.18 and 0.74 as `18.0 to 74.0 %`; one figure where both round to it.
pub fn percent_range(low: f64, high: f64) -> String {
    let (low, high) = (format!("{:.1}", low * 100.0), format!("{:.1}", high * 100.0));
    if low == high { format!("{low} %") } else { format!("{low} to {high} %") }
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
    fn figures_are_written_for_people() {
        assert_eq!(percent(0.9943), "99.4 %");
        assert_eq!(percent_range(0.1854, 0.7418), "18.5 to 74.2 %");
        assert_eq!(percent_range(1.0, 1.0), "100.0 %");
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
