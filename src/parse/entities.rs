//! Owns character data of XML: references, line ends and the characters that XML does not allow.

use memchr::memchr;
use std::borrow::Cow;

/// The longest reference that is looked for, between `&` and `;`.
const LONGEST_REFERENCE: usize = 12;

/// Replaced characters, counted: each became U+FFFD.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Replaced(pub(super) u64);

/// Whether XML 1.0 allows the character (section 2.2).
fn allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{FFFD}' | '\u{10000}'..)
}

/// Text between tags as its reader meant it: the five entities and numeric references decoded, others left as written
/// (`DOCTYPE` entities are never expanded), line ends made `\n`.
pub(super) fn decode(text: &str, replaced: &mut Replaced) -> String {
    let mut out = String::new();
    decode_into(text, &mut out, replaced);
    out
}

/// [`decode`], appending.
pub(super) fn decode_into(text: &str, out: &mut String, replaced: &mut Replaced) {
    out.reserve(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest.as_bytes())
        && let (Some(before), Some(after)) = (rest.get(..at), rest.get(at + 1..))
    {
        clean_into(before, out, replaced);
        let (c, after) = reference(after).unwrap_or(('&', after));
        out.push(kept(c, replaced));
        rest = after;
    }
    clean_into(rest, out, replaced);
}

/// Decodes escaped markup in text that holds any (`&lt;`, `&gt;`); other text is left alone.
pub(super) fn decode_markup(text: &str) -> Cow<'_, str> {
    if text.contains("&lt;") || text.contains("&gt;") {
        Cow::Owned(decode(text, &mut Replaced::default()))
    } else {
        Cow::Borrowed(text)
    }
}

/// Appends text whose references are not to be decoded (CDATA): line ends and disallowed characters only.
pub(super) fn clean_into(text: &str, out: &mut String, replaced: &mut Replaced) {
    let mut rest = text;
    while let Some((plain, odd)) = odd_from(rest).and_then(|at| rest.split_at_checked(at)) {
        out.push_str(plain);
        let mut chars = odd.chars();
        match chars.next() {
            Some('\r') if odd.starts_with("\r\n") => {}
            Some(c) => out.push(kept(c, replaced)),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
}

/// Where the first character stands that may have to change: a control, or one that starts with the byte of U+FFFE.
fn odd_from(text: &str) -> Option<usize> {
    const CHUNK: usize = 64;
    let is_odd = |byte: u8| (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0xEF;
    let bytes = text.as_bytes();
    // Without a branch for each byte the compiler looks at many at once.
    let plain =
        bytes.chunks(CHUNK).take_while(|chunk| !chunk.iter().fold(false, |odd, &byte| odd | is_odd(byte))).count();
    let from = (plain * CHUNK).min(bytes.len());
    Some(from + bytes.get(from..)?.iter().position(|&byte| is_odd(byte))?)
}

fn kept(c: char, replaced: &mut Replaced) -> char {
    if allowed(c) {
        return c;
    }
    replaced.0 += 1;
    char::REPLACEMENT_CHARACTER
}

/// The character that a reference stands for, and what follows it; `after` starts behind the `&`.
/// A number that is no character (a lone surrogate, beyond U+10FFFF) stands for U+0000, which is not allowed either.
fn reference(after: &str) -> Option<(char, &str)> {
    let end = after.bytes().take(LONGEST_REFERENCE).position(|byte| byte == b';')?;
    let (name, rest) = (after.get(..end)?, after.get(end + 1..)?);
    let c = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let (digits, radix) = match number.strip_prefix(['x', 'X']) {
                Some(hex) => (hex, 16),
                None => (number, 10),
            };
            if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
                return None;
            }
            u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).unwrap_or('\0')
        }
    };
    Some((c, rest))
}

#[cfg(test)]
mod tests {
    use super::{Replaced, decode};

    #[test]
    fn five_entities_and_numbers_are_decoded_and_nothing_else() {
        for (text, expected, count) in [
            ("Spinlock&lt;1,2&gt;", "Spinlock<1,2>", 0),
            ("&amp;lt; &quot;&apos;", "&lt; \"'", 0),
            ("&#65;&#x42;&#X43;", "ABC", 0),
            ("&lol; & &; &#; &#x; &#xZ; &unknown", "&lol; & &; &#; &#x; &#xZ; &unknown", 0),
            ("&#x0;&#xFFFF;&#xD800;&#99999999;", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}", 4),
            ("a\u{1B}b\u{FFFE}", "a\u{FFFD}b\u{FFFD}", 2),
            ("a\r\nb\rc&#13;&#10;", "a\nb\rc\r\n", 0),
            ("é&lt;é", "é<é", 0),
        ] {
            let mut replaced = Replaced::default();
            assert_eq!(decode(text, &mut replaced), expected, "{text}");
            assert_eq!(replaced.0, count, "{text}");
        }
    }
}
