//! Owns the code page of varchar: Windows-1252, which the server's collation names.

/// Characters of 0x80 to 0x9F; the five bytes without one stand for the control characters of the same number.
const HIGH_CONTROLS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// The bytes of `text`; a character that the code page lacks becomes `?`, as in SQL Server.
pub(crate) fn to_code_page(text: &str) -> Vec<u8> {
    text.chars().map(byte_of).collect()
}

fn byte_of(character: char) -> u8 {
    let number = u32::from(character);
    match u8::try_from(number) {
        Ok(byte) if !(0x80..0xA0).contains(&number) => byte,
        _ => HIGH_CONTROLS.iter().position(|high| *high == character).map_or(b'?', |index| 0x80 + index as u8),
    }
}

/// The text of `bytes`.
pub(crate) fn from_code_page(bytes: &[u8]) -> String {
    let character = |byte: &u8| match byte {
        0x80..=0x9F => HIGH_CONTROLS.get(usize::from(byte - 0x80)).copied().unwrap_or(char::REPLACEMENT_CHARACTER),
        _ => char::from(*byte),
    };
    bytes.iter().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_reads_and_writes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(to_code_page(&from_code_page(&bytes)), bytes);
        assert_eq!(from_code_page(b"\x80\x9E\xE9"), "€žé");
        assert_eq!(to_code_page("ž→😀"), b"\x9E??");
    }
}
