//! Owns bounds-checked reading of what a client sent.

use thiserror::Error;

/// Why bytes from a client are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum DecodeError {
    /// The bytes end inside a value.
    #[error("{missing} bytes are missing")]
    Truncated { missing: usize },
    /// A data type that is unknown, or that no parameter can have here.
    #[error("data type {0:#04x} is not supported")]
    UnsupportedType(u8),
    /// A length that its type does not allow.
    #[error("{length} is no length of a {what}")]
    Length { what: &'static str, length: usize },
    /// Anything else.
    #[error("{0}")]
    Malformed(&'static str),
}

/// The unread rest of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next byte, left in place.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let missing = count.saturating_sub(self.rest.len());
        let (head, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Truncated { missing })?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let missing = N.saturating_sub(self.rest.len());
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Truncated { missing })?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Pre-login counts in network byte order.
    pub(crate) fn u16_big_endian(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    /// B_VARCHAR: a byte of length in characters, then UTF-16.
    pub(crate) fn b_varchar(&mut self) -> Result<String, DecodeError> {
        let characters = self.u8()?;
        self.utf16(usize::from(characters))
    }

    /// US_VARCHAR: two bytes of length in characters, then UTF-16.
    pub(crate) fn us_varchar(&mut self) -> Result<String, DecodeError> {
        let characters = self.u16()?;
        self.utf16(usize::from(characters))
    }

    /// So many UTF-16 code units; a lone surrogate is read as U+FFFD.
    pub(crate) fn utf16(&mut self, characters: usize) -> Result<String, DecodeError> {
        let bytes = self.bytes(characters * 2)?;
        utf16(bytes)
    }
}

/// UTF-16LE bytes as text; a lone surrogate is read as U+FFFD.
pub(crate) fn utf16(bytes: &[u8]) -> Result<String, DecodeError> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    if !odd.is_empty() {
        return Err(DecodeError::Length { what: "UTF-16 text", length: bytes.len() });
    }
    let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair));
    Ok(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_past_the_end_says_how_much_is_missing() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert_eq!(reader.u16(), Ok(0x0201));
        assert_eq!(reader.u32(), Err(DecodeError::Truncated { missing: 3 }));
        assert_eq!(reader.bytes(2), Err(DecodeError::Truncated { missing: 1 }));
        assert_eq!(reader.u8(), Ok(3), "a failed read takes nothing");
        assert!(reader.is_empty());
    }

    #[test]
    fn text_is_utf_16() {
        assert_eq!(Reader::new(&[2, 0x3D, 0xD8, 0x00, 0xDE]).b_varchar(), Ok("😀".to_owned()));
        assert_eq!(utf16(&[0x3D, 0xD8, 0x41, 0]), Ok("\u{FFFD}A".to_owned()));
        assert_eq!(utf16(&[0x41]), Err(DecodeError::Length { what: "UTF-16 text", length: 1 }));
    }
}
