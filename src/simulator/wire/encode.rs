//! Owns the text forms that tokens are made of.

/// UTF-16LE.
pub(crate) fn put_utf16(out: &mut Vec<u8>, text: &str) {
    for unit in text.encode_utf16() {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}

/// B_VARCHAR: a byte of length in characters, then UTF-16; cut at 255 characters.
pub(crate) fn put_b_varchar(out: &mut Vec<u8>, text: &str) {
    let (text, units) = cut(text, usize::from(u8::MAX));
    out.push(units as u8);
    put_utf16(out, text);
}

/// US_VARCHAR: two bytes of length in characters, then UTF-16; cut at `limit` characters.
pub(crate) fn put_us_varchar(out: &mut Vec<u8>, text: &str, limit: u16) {
    let (text, units) = cut(text, usize::from(limit));
    out.extend_from_slice(&(units as u16).to_le_bytes());
    put_utf16(out, text);
}

/// The longest start of `text` of at most `limit` UTF-16 code units that splits no character, and its length.
fn cut(text: &str, limit: usize) -> (&str, usize) {
    let mut units = 0;
    for (index, character) in text.char_indices() {
        if units + character.len_utf16() > limit {
            return (text.get(..index).unwrap_or_default(), units);
        }
        units += character.len_utf16();
    }
    (text, units)
}

/// Appends what `fill` writes, behind two bytes of its length.
pub(crate) fn put_with_length(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut content = Vec::new();
    fill(&mut content);
    out.extend_from_slice(&(content.len() as u16).to_le_bytes());
    out.extend_from_slice(&content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(cut("ab😀c", 3), ("ab", 2));
        assert_eq!(cut("ab😀c", 4), ("ab😀", 4));
        assert_eq!(cut("ab😀c", 9), ("ab😀c", 5));
        let mut out = Vec::new();
        put_b_varchar(&mut out, &"x".repeat(300));
        assert_eq!(out.len(), 1 + 2 * 255);
    }
}
