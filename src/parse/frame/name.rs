//! Owns what names and numbers of frames look like.

use crate::model::Address;

/// Digits from which a number without `0x` counts as padded, which only hexadecimal numbers are.
const PADDED: usize = 8;

/// A name, what follows its last `+`, if that is an offset.
pub(super) struct NameAndOffset<'t> {
    pub(super) name: &'t str,
    pub(super) offset: Option<Offset<'t>>,
}

/// An offset as written.
#[derive(Clone, Copy)]
pub(super) struct Offset<'t> {
    digits: &'t str,
    /// `0x` or padding says so.
    pub(super) is_hex: bool,
}

impl<'t> Offset<'t> {
    /// `+` is not part of it. At most 16 digits count; more are no offset.
    pub(super) fn read(text: &'t str) -> Option<Self> {
        let (digits, marked) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let is_number = (1..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_number.then_some(Self { digits, is_hex: marked || digits.len() >= PADDED })
    }

    pub(super) fn hex(self) -> Option<u64> {
        u64::from_str_radix(self.digits, 16).ok()
    }

    /// Decimal, unless the text says otherwise.
    pub(super) fn decimal_or_hex(self, hex: bool) -> Option<u64> {
        if hex || self.is_hex { self.hex() } else { self.digits.parse().ok() }
    }

    pub(super) fn holds_digit(self) -> bool {
        self.digits.bytes().any(|byte| byte.is_ascii_digit())
    }

    pub(super) fn len(self) -> usize {
        self.digits.len()
    }
}

impl<'t> NameAndOffset<'t> {
    pub(super) fn split(text: &'t str) -> Self {
        if let Some((name, digits)) = text.rsplit_once('+')
            && !name.is_empty()
            && let Some(offset) = Offset::read(digits)
        {
            return Self { name, offset: Some(offset) };
        }
        Self { name: text, offset: None }
    }
}

/// A module's name without `.dll`, `.exe` or `.sys`, where the text can be one; the flag says whether it had one of them.
pub(super) fn module(text: &str) -> Option<(&str, bool)> {
    const LONGEST: usize = 260;
    let plausible = text.len() <= LONGEST
        && text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && text.chars().any(char::is_alphabetic)
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '$'));
    if !plausible {
        return None;
    }
    let bare = [".dll", ".exe", ".sys"].into_iter().find_map(|extension| {
        let (name, end) = text.split_at_checked(text.len().checked_sub(extension.len())?)?;
        (!name.is_empty() && end.eq_ignore_ascii_case(extension)).then_some(name)
    });
    Some((bare.unwrap_or(text), bare.is_some()))
}

/// Whether text can be an undecorated name of a function.
pub(super) fn is_symbol(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '~' | '?' | '@' | '$' | '`' | '<'));
    let operator = text.contains("operator");
    begins
        && !text
            .chars()
            .any(|c| matches!(c, '"' | ';' | '{' | '}' | '\\' | '#') || (!operator && matches!(c, '/' | '=')))
}

/// Whether text is a plain name: no `::`, no template.
pub(super) fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '~' | '?' | '@'))
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '?' | '~'))
}

/// How an address is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressForm {
    /// `0x00007FFEABD0D919`.
    Marked,
    /// `00007FFEABD0D919`, or ``00007ffe`abd0d919``.
    Bare,
}

/// An address: `0x` and at most 16 digits, or 16 digits, or 8 + 8 digits with a backtick between them.
pub(super) fn address(text: &str) -> Option<(Address, AddressForm)> {
    let (body, form) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(body) => (body, AddressForm::Marked),
        None => (text, AddressForm::Bare),
    };
    let digits = match body.split_once('`') {
        Some((high, low)) if low.len() == 8 && (1..=8).contains(&high.len()) => format!("{high}{low}"),
        Some(_) => return None,
        None if form == AddressForm::Bare && body.len() != 16 => return None,
        None => body.to_owned(),
    };
    let is_number = (1..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u64::from_str_radix(&digits, 16).ok().filter(|_| is_number)?;
    Some((Address(number), form))
}

/// A frame number: at most three digits, the first decimal.
pub(super) fn number(text: &str, hex: bool) -> Option<u32> {
    let digits = text.trim_end_matches([':', '.', ')']);
    let is_number = (1..=3).contains(&digits.len())
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_number {
        return None;
    }
    let letters = digits.bytes().any(|byte| byte.is_ascii_alphabetic());
    u32::from_str_radix(digits, if hex || letters { 16 } else { 10 }).ok()
}
