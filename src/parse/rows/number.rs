//! Owns numbers as people and tools write them.

use crate::model::Value;

/// What a text is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Written {
    /// A value as it is.
    Plain(Value),
    /// A whole number that no value can hold.
    TooLarge,
    /// A number in exponent notation.
    Rounded(f64),
    /// No number.
    Text,
}

/// Reads a number. Digits may stand in groups of three, apart by commas, spaces or apostrophes (`1,234,567`), or, from two
/// groups on, by points. A comma before other than three digits is a decimal one. Nothing and NULL are NULL.
pub(super) fn read(text: &str) -> Written {
    let text = text.trim();
    if text.is_empty() || text.eq_ignore_ascii_case("NULL") {
        return Written::Plain(Value::Null);
    }
    for (word, flag) in [("true", true), ("false", false)] {
        if text.eq_ignore_ascii_case(word) {
            return Written::Plain(Value::Bool(flag));
        }
    }
    // No number is longer.
    if text.len() > 64 || !text.contains(|c: char| c.is_ascii_digit()) {
        return Written::Text;
    }
    let Some(plain) = without_groups(text) else { return Written::Text };
    let whole = plain.strip_prefix(['-', '+']).unwrap_or(&plain);
    if whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return plain.parse().map_or(Written::TooLarge, |number| Written::Plain(Value::Integer(number)));
    }
    let is_real = whole.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && whole.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    match plain.parse::<f64>() {
        Ok(number) if is_real && number.is_finite() => {
            let exponent = whole.contains(['e', 'E']);
            if exponent { Written::Rounded(number) } else { Written::Plain(Value::Real(number)) }
        }
        _ => Written::Text,
    }
}

/// The number without what separates its groups and with a decimal point; `None` where groups are not of three digits.
fn without_groups(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let ungrouped = |separators: &[char], least: usize| {
        let (whole, fraction) = match digits.rsplit_once('.').filter(|_| separators != ['.']) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (digits, None),
        };
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let mut groups = whole.split(separators);
        let first = groups.next().filter(|first| (1..=3).contains(&first.len()) && is_digits(first))?;
        let rest: Vec<&str> = groups.collect();
        let fits = rest.len() >= least && rest.iter().all(|group| group.len() == 3 && is_digits(group));
        let fraction = fraction.map(|fraction| format!(".{fraction}")).unwrap_or_default();
        fits.then(|| format!("{sign}{first}{}{fraction}", rest.concat()))
    };
    if let Some(number) = ungrouped(&[','], 1)
        .or_else(|| ungrouped(&[' ', '\u{A0}', '\u{202F}', '\u{2009}'], 1))
        .or_else(|| ungrouped(&['\'', '\u{2019}'], 1))
        .or_else(|| ungrouped(&['.'], 2))
    {
        return Some(number);
    }
    match digits.matches(',').count() {
        0 => Some(format!("{sign}{digits}")),
        1 if !digits.contains('.') => Some(format!("{sign}{}", digits.replace(',', "."))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Written, read};
    use crate::model::Value;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for (text, expected) in [
            ("0", Value::Integer(0)),
            (" 42 ", Value::Integer(42)),
            ("-7", Value::Integer(-7)),
            ("1,234", Value::Integer(1_234)),
            ("4,005,774,890", Value::Integer(4_005_774_890)),
            ("1 234", Value::Integer(1_234)),
            ("1\u{A0}234\u{A0}567", Value::Integer(1_234_567)),
            ("1'234", Value::Integer(1_234)),
            ("1.234.567", Value::Integer(1_234_567)),
            ("1.234", Value::Real(1.234)),
            ("32,460.91", Value::Real(32_460.91)),
            ("0,07", Value::Real(0.07)),
            ("12.5", Value::Real(12.5)),
            ("9223372036854775807", Value::Integer(i64::MAX)),
            ("-9223372036854775808", Value::Integer(i64::MIN)),
            ("", Value::Null),
            ("null", Value::Null),
            ("True", Value::Bool(true)),
        ] {
            assert_eq!(read(text), Written::Plain(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_stays_text_and_what_is_too_large_is_told() {
        for text in [
            "LCK_M_S",
            "0x1F",
            "inf",
            "NaN",
            "1,23,4",
            "1,2,3.4",
            "1.2.3",
            "-",
            "e5",
            "2019-01-01",
            "12 a",
            "..",
            "1e400",
        ] {
            assert_eq!(read(text), Written::Text, "{text}");
        }
        for text in ["9223372036854775808", "18446744073709551615", "-9223372036854775809", "9,223,372,036,854,775,808"]
        {
            assert_eq!(read(text), Written::TooLarge, "{text}");
        }
        assert_eq!(read("4.01E+09"), Written::Rounded(4_010_000_000.0));
    }
}
