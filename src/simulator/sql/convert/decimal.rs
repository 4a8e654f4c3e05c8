//! Owns exact decimal numbers: an unscaled i128 and a scale.

use crate::simulator::sql::types::MAX_PRECISION;

/// 10 to the power of `digits`; `None` beyond 38 digits.
pub(crate) fn power_of_ten(digits: u8) -> Option<i128> {
    10_i128.checked_pow(u32::from(digits))
}

/// Changes the scale; a smaller one rounds half away from zero. `None` on overflow.
pub(crate) fn rescale(value: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        return value.checked_mul(power_of_ten(to - from)?);
    }
    let divisor = power_of_ten(from - to)?;
    let (quotient, rest) = (value / divisor, (value % divisor).abs());
    Some(if rest >= divisor - rest { quotient + value.signum() } else { quotient })
}

/// Whether the number has at most so many digits.
pub(crate) fn fits(value: i128, precision: u8) -> bool {
    power_of_ten(precision.min(MAX_PRECISION)).is_some_and(|limit| value.unsigned_abs() < limit.unsigned_abs())
}

/// `left / right` with a scale of its own. `None` on overflow; the divisor is not 0.
pub(crate) fn divide(left: (i128, u8), right: (i128, u8), scale: u8) -> Option<i128> {
    // The integer quotient has the scale left - right; each further digit is one step of long division.
    let negative = (left.0 < 0) != (right.0 < 0);
    let (dividend, divisor) = (left.0.unsigned_abs(), right.0.unsigned_abs());
    let mut quotient = dividend.checked_div(divisor)?;
    let mut rest = dividend.checked_rem(divisor)?;
    let steps = i32::from(scale) - (i32::from(left.1) - i32::from(right.1));
    for _ in 0..steps.max(0) {
        let next = rest.checked_mul(10)?;
        quotient = quotient.checked_mul(10)?.checked_add(next / divisor)?;
        rest = next % divisor;
    }
    let cut = 10_u128.checked_pow(steps.min(0).unsigned_abs())?;
    let magnitude = i128::try_from(quotient / cut).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

/// Reads `-12.50`; the answer's scale is the number of digits after the point. `None` where it is no number.
pub(crate) fn parse(text: &str) -> Option<(i128, u8)> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let magnitude: i128 = format!("{whole}{fraction}").parse().ok()?;
    Some((if negative { -magnitude } else { magnitude }, u8::try_from(fraction.len()).ok()?))
}

/// Writes the number with all digits of its scale.
pub(crate) fn format(value: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if value < 0 { "-" } else { "" };
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

pub(crate) fn to_float(value: i128, scale: u8) -> f64 {
    value as f64 / 10_f64.powi(i32::from(scale))
}

/// The nearest decimal of the scale; `None` where it has too many digits.
pub(crate) fn from_float(value: f64, scale: u8) -> Option<i128> {
    let scaled = (value * 10_f64.powi(i32::from(scale))).round();
    (scaled.abs() < 1e38).then_some(scaled as i128)
}

/// The least precision and the scale that hold a literal.
pub(crate) fn literal_size(value: i128, scale: u8) -> (u8, u8) {
    let digits = value.unsigned_abs().to_string().len() as u8;
    (digits.max(scale).max(1), scale)
}

#[cfg(test)]
mod tests {
    use super::{divide, fits, format, parse, rescale};

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parse("-12.50"), Some((-1250, 2)));
        assert_eq!(format(-1250, 2), "-12.50");
        assert_eq!(format(5, 3), "0.005");
        assert_eq!(rescale(-1255, 2, 1), Some(-126));
        assert_eq!(divide((1, 0), (3, 0), 6), Some(333_333));
        assert_eq!(divide((-10, 1), (4, 0), 2), Some(-25));
        assert!(fits(999, 3) && !fits(1000, 3));
        assert_eq!(parse("1.2.3"), None);
    }
}
