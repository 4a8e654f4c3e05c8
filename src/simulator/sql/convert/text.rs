//! Owns conversions to text, xml, binary and uniqueidentifier.

use super::number::integer_bytes;
use super::{civil, decimal, no_conversion};
use crate::simulator::output::Message;
use crate::simulator::sql::messages::{error, overflow};
use crate::simulator::sql::types::{Family, cut_at, family, is_national, is_text, name, text_length};
use crate::simulator::value::{Datum, SqlType};
use std::borrow::Cow;
use std::fmt::Write as _;

pub(super) fn to_text(
    value: Cow<'_, Datum>,
    from: SqlType,
    to: SqlType,
    style: i64,
) -> Result<Cow<'_, Datum>, Message> {
    let limit = if to == SqlType::Xml { None } else { text_length(to) };
    if let Datum::Text(text) = &*value {
        let Some(limit) = limit.map(usize::from) else { return Ok(value) };
        let cut = cut_at(text, limit, is_national(to));
        let fixed = matches!(to, SqlType::NChar(_) | SqlType::Char(_));
        return Ok(match cut {
            Some(end) => Cow::Owned(Datum::Text(text.get(..end).unwrap_or_default().to_owned())),
            None if fixed => {
                let length = if is_national(to) { text.encode_utf16().count() } else { text.chars().count() };
                let spaces = " ".repeat(limit.saturating_sub(length));
                Cow::Owned(Datum::Text(format!("{text}{spaces}")))
            }
            None => value,
        });
    }
    let text = written(&value, from, to, style)?;
    match limit.map(usize::from) {
        Some(limit) if cut_at(&text, limit, is_national(to)).is_some() => too_long(&text, limit, from, to),
        _ => Ok(Cow::Owned(Datum::Text(text))),
    }
}

/// Numbers that do not fit are an error or `*`, other values are cut.
fn too_long(text: &str, limit: usize, from: SqlType, to: SqlType) -> Result<Cow<'static, Datum>, Message> {
    match family(from) {
        Family::Integer if from != SqlType::BigInt && !is_national(to) => Ok(Cow::Owned(Datum::Text("*".to_owned()))),
        Family::Integer | Family::Decimal | Family::Float => Err(overflow(name(to))),
        Family::Guid => Err(error(8170, 16, 2, "Insufficient result space to convert uniqueidentifier value to char.")),
        _ => Ok(Cow::Owned(Datum::Text(text.chars().take(limit).collect()))),
    }
}

fn written(value: &Datum, from: SqlType, to: SqlType, style: i64) -> Result<String, Message> {
    Ok(match value {
        Datum::Bit(bit) => u8::from(*bit).to_string(),
        Datum::Int(number) => number.to_string(),
        Datum::Decimal(unscaled) => {
            let scale = if let SqlType::Decimal { scale, .. } = from { scale } else { 0 };
            decimal::format(*unscaled, scale)
        }
        Datum::Float(float) => write_float(*float, style),
        Datum::Guid(bytes) => write_guid(bytes),
        Datum::Time(ticks) => {
            let (digits, default) = match from {
                SqlType::DateTime => (3, 0),
                SqlType::DateTime2(digits) | SqlType::DateTimeOffset(digits) => (digits, 121),
                _ => return Err(no_conversion(from, to)),
            };
            let style = if style == super::DEFAULT_STYLE { default } else { style };
            let mut text = civil::format(*ticks, style, digits).ok_or_else(|| invalid_style(style, from))?;
            if matches!(from, SqlType::DateTimeOffset(_)) && matches!(style, 20 | 120 | 21 | 25 | 121 | 126) {
                text.push_str(if style == 126 { "Z" } else { " +00:00" });
            }
            text
        }
        Datum::Binary(bytes) => match style {
            1 => format!("0x{}", hexadecimal(bytes)),
            2 => hexadecimal(bytes),
            0 if is_national(to) || to == SqlType::Xml => {
                let units: Vec<u16> = bytes
                    .chunks(2)
                    .map(|pair| pair.iter().rev().fold(0, |unit, byte| (unit << 8) | u16::from(*byte)))
                    .collect();
                String::from_utf16_lossy(&units)
            }
            0 => bytes.iter().map(|byte| char::from(*byte)).collect(),
            _ => return Err(invalid_style(style, from)),
        },
        Datum::Text(text) => text.clone(),
        Datum::Null | Datum::Variant(..) => return Err(no_conversion(from, to)),
    })
}

fn invalid_style(style: i64, from: SqlType) -> Message {
    let text =
        format!("{style} is not a valid style number when converting from {} to a character string.", name(from));
    error(281, 16, 1, text)
}

/// Six significant digits, as style 0 writes a float; style 2 and 3 keep all.
fn write_float(float: f64, style: i64) -> String {
    if float == 0.0 {
        return "0".to_owned();
    }
    let digits = if matches!(style, 1..=3) { 16 } else { 6 };
    let scientific = format!("{float:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if style == super::DEFAULT_STYLE && (-5..6).contains(&exponent) {
        let places = usize::try_from(5 - exponent).unwrap_or(0);
        return trim(&format!("{float:.places$}"));
    }
    let mantissa = if style == super::DEFAULT_STYLE { trim(mantissa) } else { mantissa.to_owned() };
    format!("{mantissa}e{}{:03}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        write!(text, "{byte:02X}").unwrap_or_default();
    }
    text
}

/// `None` where a character is no hexadecimal digit or one is missing.
pub(crate) fn parse_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs
        .remainder()
        .is_empty()
        .then(|| pairs.map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}

fn write_guid(bytes: &[u8; 16]) -> String {
    let hex = hexadecimal(bytes);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

pub(super) fn to_guid(value: &Datum, from: SqlType) -> Result<Datum, Message> {
    let failed =
        || error(8169, 16, 2, "Conversion failed when converting from a character string to uniqueidentifier.");
    match value {
        Datum::Guid(bytes) => Ok(Datum::Guid(*bytes)),
        Datum::Text(text) => {
            let trimmed = text.trim();
            let bare = trimmed.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(trimmed);
            let groups: Vec<usize> = bare.split('-').map(str::len).collect();
            if groups != [8, 4, 4, 4, 12] {
                return Err(failed());
            }
            let bytes = parse_hexadecimal(&bare.replace('-', "")).ok_or_else(failed)?;
            <[u8; 16]>::try_from(bytes).map(Datum::Guid).map_err(|_| failed())
        }
        Datum::Binary(stored) => {
            // The first three groups are stored little-endian.
            let mut bytes = [0; 16];
            for (place, byte) in [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].into_iter().zip(stored) {
                if let Some(slot) = bytes.get_mut(place as usize) {
                    *slot = *byte;
                }
            }
            Ok(Datum::Guid(bytes))
        }
        _ => Err(no_conversion(from, SqlType::UniqueIdentifier)),
    }
}

pub(super) fn to_binary(
    value: Cow<'_, Datum>,
    from: SqlType,
    to: SqlType,
    style: i64,
) -> Result<Cow<'_, Datum>, Message> {
    let limit = if let SqlType::VarBinary(Some(length)) = to { usize::from(length) } else { usize::MAX };
    let bytes = match &*value {
        Datum::Binary(bytes) if bytes.len() <= limit => return Ok(value),
        Datum::Binary(bytes) => bytes.clone(),
        Datum::Bit(bit) => vec![u8::from(*bit)],
        Datum::Int(number) => {
            let bytes = integer_bytes(*number, from);
            // Numbers lose their high bytes, not their low ones.
            bytes.get(bytes.len().saturating_sub(limit)..).unwrap_or_default().to_vec()
        }
        Datum::Guid(bytes) => [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]
            .iter()
            .filter_map(|at: &usize| bytes.get(*at).copied())
            .collect(),
        Datum::Text(text) if is_text(from) && (style == 1 || style == 2) => {
            let digits = if style == 1 { text.strip_prefix("0x") } else { Some(text.as_str()) };
            digits
                .and_then(parse_hexadecimal)
                .ok_or_else(|| error(8114, 16, 5, format!("Error converting data type {} to varbinary.", name(from))))?
        }
        Datum::Text(text) if is_national(from) || from == SqlType::Xml => {
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        }
        Datum::Text(text) => text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect(),
        _ => return Err(no_conversion(from, to)),
    };
    let kept = bytes.len().min(limit);
    Ok(Cow::Owned(Datum::Binary(bytes.into_iter().take(kept).collect())))
}

#[cfg(test)]
mod tests {
    use super::{parse_hexadecimal, write_float};

    #[test]
    fn floats_are_written_with_six_digits() {
        for (float, text) in [
            (1.0, "1"),
            (0.5, "0.5"),
            (1_234_567.0, "1.23457e+006"),
            (-2.25, "-2.25"),
            (1e-7, "1e-007"),
            (123_456.0, "123456"),
        ] {
            assert_eq!(write_float(float, 0), text);
        }
    }

    #[test]
    fn hexadecimal_wants_pairs() {
        assert_eq!(parse_hexadecimal("0aFF"), Some(vec![10, 255]));
        assert_eq!(parse_hexadecimal("0a1"), None);
    }
}
