//! Owns `<frame .../>` elements: the form of `callstack_rva` and of dumps since SQL Server 2022.

use super::{Certainty, Draft, name};
use crate::{
    model::{Frame, PdbIdentity},
    parse::markup,
};

const OPEN: &str = "<frame";

/// Whether a `<frame` element starts at a place of the text.
pub(in crate::parse) fn starts(text: &str, at: usize) -> bool {
    let inside = text.get(at..).and_then(|rest| rest.strip_prefix(OPEN));
    inside.is_some_and(|inside| inside.starts_with(|c: char| c.is_whitespace() || c == '/'))
}

/// Where the next `<frame` element starts, and its length; an element that is not closed ends before the next tag, or
/// with the text.
pub(in crate::parse) fn next(text: &str) -> Option<(usize, usize)> {
    if !text.contains(OPEN) {
        return None;
    }
    let (start, _) = text.match_indices(OPEN).find(|&(at, _)| starts(text, at))?;
    let inside = text.get(start + OPEN.len()..)?;
    let mut quote = None;
    for (at, c) in inside.char_indices() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            ('>', None) => return Some((start, OPEN.len() + at + 1)),
            ('<', _) => return Some((start, OPEN.len() + at)),
            _ => {}
        }
    }
    Some((start, text.len() - start))
}

/// Reads one element; `text` is what the frame keeps, the element and what stood around it.
pub(in crate::parse) fn read(element: &str, text: &str) -> Draft {
    let content = element.trim_start_matches('<').trim_end_matches('>').trim_end_matches('/');
    if !element.ends_with('>') {
        return Draft::unparsed(text);
    }
    let mut frame = Frame::unparsed(text);
    let (mut pdb, mut guid, mut age) = (None, None, None);
    for (key, value) in markup::attributes(content) {
        let value = value.trim();
        match key {
            "id" => frame.number = value.parse().ok().or_else(|| u32::from_str_radix(value, 16).ok()),
            "pdb" => pdb = Some(value.to_owned()).filter(|name| !name.is_empty()),
            "guid" => guid = Some(normalised_guid(value)),
            "age" => age = value.parse().ok(),
            "module" | "name" if frame.module.is_none() => {
                frame.module = name::module(value).map(|(module, _)| module.to_owned());
            }
            "rva" => frame.rva = marked_hex(value),
            "address" => frame.address = marked_hex(value).map(crate::model::Address),
            _ => {}
        }
    }
    if guid == Some(None) || (frame.rva.is_none() && frame.address.is_none()) {
        return Draft::unparsed(text);
    }
    if let (Some(name), Some(Some(guid)), Some(age)) = (pdb, guid, age) {
        frame.pdb = Some(PdbIdentity { name, guid, age });
    }
    Draft { frame, certainty: Certainty::Certain }
}

/// 32 upper-case digits of a GUID in its usual form (8-4-4-4-12, or without dashes); a line break inside is passed over.
fn normalised_guid(text: &str) -> Option<String> {
    let guid: String = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '{' | '}')).collect();
    let groups: Vec<usize> = guid.split('-').map(str::len).collect();
    let digits: String = guid.chars().filter(|&c| c != '-').map(|c| c.to_ascii_uppercase()).collect();
    let well_formed = matches!(groups.as_slice(), [8, 4, 4, 4, 12] | [32]);
    (well_formed && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digits)
}

fn marked_hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text).replace('`', "");
    (1..=16).contains(&digits.len()).then(|| u64::from_str_radix(&digits, 16).ok())?
}
