//! Owns the step from bytes to text: byte order marks, UTF-8 and UTF-16, invalid sequences.

use crate::model::{Problem, Severity};
use std::borrow::Cow;

/// Bytes looked at to tell UTF-16 without a byte order mark.
const LOOKED_AT: usize = 4096;

/// Text and what was odd about its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decoded<'b> {
    /// The text, without byte order mark; each invalid sequence is one U+FFFD. Valid UTF-8 is not copied.
    pub text: Cow<'b, str>,
    /// `invalid_encoding` where something was replaced.
    pub problems: Vec<Problem>,
}

#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

/// Reads UTF-8, UTF-16LE or UTF-16BE, each with or without byte order mark (SQL Server's dump files and SSMS exports are
/// UTF-16LE).
pub fn decode(bytes: &[u8]) -> Decoded<'_> {
    let (encoding, body) = encoding(bytes);
    let (text, invalid) = match encoding {
        Encoding::Utf8 => match std::str::from_utf8(body) {
            Ok(text) => (Cow::Borrowed(text), 0),
            Err(_) => owned(utf8(body)),
        },
        Encoding::Utf16Le => owned(utf16(body, u16::from_le_bytes)),
        Encoding::Utf16Be => owned(utf16(body, u16::from_be_bytes)),
    };
    let mut problems = Vec::new();
    if invalid > 0 {
        let message = format!("{invalid} invalid byte sequences were replaced by U+FFFD");
        problems.push(Problem::new("invalid_encoding", Severity::Warning, message));
    }
    Decoded { text, problems }
}

fn owned((text, invalid): (String, usize)) -> (Cow<'static, str>, usize) {
    (Cow::Owned(text), invalid)
}

fn encoding(bytes: &[u8]) -> (Encoding, &[u8]) {
    match bytes {
        [0xEF, 0xBB, 0xBF, body @ ..] => (Encoding::Utf8, body),
        [0xFF, 0xFE, body @ ..] => (Encoding::Utf16Le, body),
        [0xFE, 0xFF, body @ ..] => (Encoding::Utf16Be, body),
        _ => (unmarked(bytes), bytes),
    }
}

/// Text of this kind is mostly ASCII: in UTF-16 every other byte is then zero, always on the same side.
fn unmarked(bytes: &[u8]) -> Encoding {
    let (pairs, _) = bytes.get(..LOOKED_AT).unwrap_or(bytes).as_chunks::<2>();
    let high_second = pairs.iter().filter(|[first, second]| *first != 0 && *second == 0).count();
    let high_first = pairs.iter().filter(|[first, second]| *first == 0 && *second != 0).count();
    if high_second * 2 > pairs.len() {
        Encoding::Utf16Le
    } else if high_first * 2 > pairs.len() {
        Encoding::Utf16Be
    } else {
        Encoding::Utf8
    }
}

fn utf8(bytes: &[u8]) -> (String, usize) {
    let mut text = String::with_capacity(bytes.len());
    let mut invalid = 0;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            invalid += 1;
        }
    }
    (text, invalid)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> (String, usize) {
    let (pairs, half) = bytes.as_chunks::<2>();
    let mut invalid = 0;
    let mut text = String::with_capacity(bytes.len() / 2);
    for c in char::decode_utf16(pairs.iter().map(|&pair| unit(pair))) {
        text.push(c.unwrap_or_else(|_| {
            invalid += 1;
            char::REPLACEMENT_CHARACTER
        }));
    }
    if !half.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
        invalid += 1;
    }
    (text, invalid)
}

#[cfg(test)]
mod tests {
    use super::decode;

    fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "<HistogramTarget>sqldk!Größe::Δ 𝄞</HistogramTarget>";
        for bytes in [
            text.as_bytes().to_vec(),
            format!("\u{FEFF}{text}").into_bytes(),
            utf16(text, u16::to_le_bytes),
            utf16(text, u16::to_be_bytes),
            utf16(&format!("\u{FEFF}{text}"), u16::to_le_bytes),
            utf16(&format!("\u{FEFF}{text}"), u16::to_be_bytes),
        ] {
            let decoded = decode(&bytes);
            assert_eq!(decoded.text, text);
            assert!(decoded.problems.is_empty());
        }
    }

    #[test]
    fn invalid_sequences_are_replaced_and_counted() {
        let decoded = decode(b"a\xFFb\xC3");
        assert_eq!(decoded.text, "a\u{FFFD}b\u{FFFD}");
        assert!(decoded.problems.iter().any(|problem| problem.message.starts_with("2 invalid")));
        let lone = decode(&[0xFF, 0xFE, b'a', 0, 0x00, 0xD8, b'b', 0, b'c']);
        assert_eq!(lone.text, "a\u{FFFD}b\u{FFFD}");
        assert!(lone.problems.iter().any(|problem| problem.message.starts_with("2 invalid")));
        assert_eq!(decode(b"").text, "");
    }
}
