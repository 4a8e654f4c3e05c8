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

#[cfg(test)]
mod tests {
    use super::{count, percent, percent_range};

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(percent(0.9943), "99.4 %");
        assert_eq!(percent_range(0.1854, 0.7418), "18.5 to 74.2 %");
        assert_eq!(percent_range(1.0, 1.0), "100.0 %");
        for (number, text) in [(0_u64, "0"), (999, "999"), (1_000, "1,000"), (4_005_774_890, "4,005,774,890")] {
            assert_eq!(count(number), text);
        }
    }
}
