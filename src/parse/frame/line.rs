//! Owns the frames of one line of text.

use super::{
    Certainty, Draft,
    name::{self, AddressForm, NameAndOffset, Offset},
    words::{Word, words},
};
use crate::{
    model::{Address, Frame},
    parse::stack::Notation,
};

/// The frames of a line; together their texts are the line. A line that does not read as frames is one unparsed frame,
/// a blank one none.
pub(in crate::parse) fn frames(line: &str, notation: Notation) -> Vec<Draft> {
    let words = words(line);
    if words.is_empty() {
        return Vec::new();
    }
    let reading = Reading { words: &words, notation };
    let Some(found) = reading.line() else { return vec![Draft::unparsed(line.trim())] };
    let mut starts: Vec<usize> =
        found.iter().map(|&(first, _)| words.get(first).map_or(0, |word| word.start)).collect();
    if let Some(first) = starts.first_mut() {
        *first = 0;
    }
    let ends = starts.iter().skip(1).copied().chain([line.len()]).collect::<Vec<_>>();
    let texts = starts.into_iter().zip(ends).map(|(start, end)| line.get(start..end).unwrap_or_default().trim());
    let with_text = |((_, mut draft), text): ((usize, Draft), &str)| {
        text.clone_into(&mut draft.frame.text);
        draft
    };
    found.into_iter().zip(texts).map(with_text).collect()
}

struct Reading<'w, 't> {
    words: &'w [Word<'t>],
    notation: Notation,
}

/// Words of a conversion operator's type, `operator const Foo * __ptr64`.
const LONGEST_TYPE: usize = 6;
/// Words of a source location in brackets; its path may hold blanks.
const LONGEST_LOCATION: usize = 16;

/// A frame and the word behind it.
type Read = (Draft, usize);

impl<'t> Reading<'_, 't> {
    fn word(&self, at: usize) -> Option<&'t str> {
        self.words.get(at).map(|word| word.text)
    }

    /// Frames with the index of their first word; `None` where the line is no line of frames.
    fn line(&self) -> Option<Vec<(usize, Draft)>> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.words.len() {
            if let Some((draft, next)) = self.frame(at).filter(|read| self.stands_alone(read, found.is_empty())) {
                found.push((at, draft));
                at = next;
            } else if let Some(next) = self.suffix(at, !found.is_empty()) {
                at = next;
            } else {
                at = self.distinctive_after(at, &found)?;
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// A word is a frame only where it has the line for itself.
    fn stands_alone(&self, (draft, next): &Read, is_first: bool) -> bool {
        let is_last = self.word(*next).is_none_or(|word| word.starts_with('['));
        draft.certainty != Certainty::Word || (is_first && is_last)
    }

    /// Words that are no frame (a log's prefix, a remark) are passed over only beside frames that cannot be mistaken.
    /// Gives the word to go on from.
    fn distinctive_after(&self, at: usize, found: &[(usize, Draft)]) -> Option<usize> {
        let Some(distance) = self.words.get(at..)?.iter().position(|word| is_distinctive(word.text)) else {
            let first = found.first().map(|(first, _)| *first)?;
            return self.words.get(first..at)?.iter().any(|word| is_distinctive(word.text)).then_some(self.words.len());
        };
        // An address directly before belongs to the frame.
        let core = at + distance;
        let has_address = core > at + 1 && self.word(core - 1).is_some_and(|word| name::address(word).is_some());
        Some(if has_address { core - 1 } else { core.max(at + 1) })
    }

    /// `[number] [addresses] core`, or an address alone.
    fn frame(&self, first: usize) -> Option<Read> {
        if let Some(number) = self.word(first).and_then(|word| name::number(word, self.notation.hex_numbers))
            && let Some((mut draft, next)) = self.unnumbered(first + 1, true)
        {
            draft.frame.number = Some(number);
            return Some((draft, next));
        }
        self.unnumbered(first, false)
    }

    fn unnumbered(&self, first: usize, numbered: bool) -> Option<Read> {
        let mut at = first;
        // `(Inline Function) --------`--------` stands where a debugger prints the two columns.
        if self.word(at) == Some("(Inline Function)") {
            at += 1;
        }
        if self.word(at).is_some_and(|word| word.starts_with("--------")) {
            at += 1;
        }
        let addresses: Vec<(Address, AddressForm)> =
            self.words.get(at..)?.iter().map_while(|word| name::address(word.text)).take(3).collect();
        let Some(&(address, form)) = addresses.first() else { return self.core(at) };
        let bare = form == AddressForm::Bare;
        match addresses.len() {
            1 => {
                let named = self.core(at + 1).filter(|(draft, _)| draft.certainty != Certainty::Word);
                let Some((mut draft, next)) = named else { return Some((Self::at(address), at + 1)) };
                draft.frame.address = Some(address);
                Some((draft, next))
            }
            // Child-SP and RetAddr: neither is the frame's own address.
            2 if bare || numbered => self.core(at + 2).or_else(|| Some((Self::at(address), at + 1))),
            3 if bare && numbered => {
                let (call_site, _) = *addresses.get(2)?;
                Some((Self::at(call_site), at + 3))
            }
            _ => Some((Self::at(address), at + 1)),
        }
    }

    fn at(address: Address) -> Draft {
        Draft { frame: Frame { address: Some(address), ..Frame::default() }, certainty: Certainty::Certain }
    }

    fn core(&self, at: usize) -> Option<Read> {
        let word = self.word(at)?;
        self.module_call(word, at)
            .or_else(|| self.module_and_symbol(word, at))
            .or_else(|| Self::module_and_offset(word, at))
            .or_else(|| self.module_then_offset(word, at))
            .or_else(|| self.symbol(word, at))
    }

    /// `Module(sqldk+0000000000011D96)`, `(Ordinal298 + 00000000000004A5)` may follow.
    fn module_call(&self, word: &str, at: usize) -> Option<Read> {
        let (mut draft, _) = Self::module_and_offset(word.strip_prefix("Module(")?.strip_suffix(')')?, at)?;
        draft.certainty = Certainty::Certain;
        let export = self.word(at + 1).and_then(|word| word.strip_prefix('(')?.strip_suffix(')'));
        let export = export.and_then(|export| export.split_once('+'));
        if let Some((symbol, offset)) = export
            && name::is_word(symbol.trim())
            && let Some(offset) = Offset::read(offset.trim())
        {
            draft.frame.symbol = Some(symbol.trim().to_owned());
            draft.frame.offset = offset.hex();
            return Some((draft, at + 2));
        }
        Some((draft, at + 1))
    }

    /// `sqldk!SOS_Task::PostWait+0x9e`, `sqldk.dll!Ordinal699 + 0x5f`.
    fn module_and_symbol(&self, word: &str, at: usize) -> Option<Read> {
        let (module, symbol) = word.split_once('!')?;
        let (module, _) = name::module(module)?;
        let (mut draft, next) = self.named(symbol, at, self.notation.hex_offsets)?;
        draft.frame.module = Some(module.to_owned());
        Some((draft, next))
    }

    /// `SOS_Task::PostWait+9e`, or one word.
    fn symbol(&self, word: &str, at: usize) -> Option<Read> {
        if word.contains("::") {
            // Without a module it is the server's own text, where offsets are hexadecimal.
            return self.named(word, at, true);
        }
        let NameAndOffset { name, offset } = NameAndOffset::split(word);
        (offset.is_none() && name::is_word(name)).then(|| {
            let frame = Frame { symbol: Some(name.to_owned()), ..Frame::default() };
            (Draft { frame, certainty: Certainty::Word }, at + 1)
        })
    }

    /// A symbol that starts in the word at `at`, with the words that belong to its name and its offset.
    fn named(&self, symbol: &str, at: usize, hex: bool) -> Option<Read> {
        let mut text = symbol.to_owned();
        let mut next = at + 1;
        if symbol.ends_with("operator") {
            while let Some(word) =
                self.word(next).filter(|word| next <= at + LONGEST_TYPE && continues_type(&text, word))
            {
                text.push(' ');
                text.push_str(word);
                next += 1;
            }
        }
        let mut split = NameAndOffset::split(&text);
        if split.offset.is_none()
            && self.word(next) == Some("+")
            && let Some(offset) = self.word(next + 1).and_then(Offset::read)
        {
            split.offset = Some(offset);
            next += 2;
        }
        if !name::is_symbol(split.name) {
            return None;
        }
        let offset = split.offset.and_then(|offset| offset.decimal_or_hex(hex));
        let frame = Frame { symbol: Some(split.name.to_owned()), offset, ..Frame::default() };
        Some((Draft { frame, certainty: Certainty::Certain }, next))
    }

    /// `sqldk.dll+0x00000000000FD919`, `sqldk+40609`.
    fn module_and_offset(word: &str, at: usize) -> Option<Read> {
        let NameAndOffset { name, offset } = NameAndOffset::split(word);
        let offset = offset?;
        let (module, extension) = name::module(name)?;
        if !(offset.is_hex || extension || (offset.holds_digit() && offset.len() > 1)) {
            return None;
        }
        let certain = extension || offset.len() >= 16 || name.contains(['.', '-']);
        let certainty = if certain { Certainty::Certain } else { Certainty::NameAndOffset };
        let frame = Frame { module: Some(module.to_owned()), rva: offset.hex(), ..Frame::default() };
        Some((Draft { frame, certainty }, at + 1))
    }

    /// `sqldk +0x40609`, `sqldk + 0x40609`: only with `0x` or padding, because `a + b` is everywhere.
    fn module_then_offset(&self, word: &str, at: usize) -> Option<Read> {
        let second = self.word(at + 1)?.strip_prefix('+')?;
        let (digits, next) = if second.is_empty() { (self.word(at + 2)?, at + 3) } else { (second, at + 2) };
        let offset = Offset::read(digits).filter(|offset| offset.is_hex)?;
        let (module, _) = name::module(word)?;
        let frame = Frame { module: Some(module.to_owned()), rva: offset.hex(), ..Frame::default() };
        Some((Draft { frame, certainty: Certainty::Certain }, next))
    }

    /// What follows a frame and belongs to its text: `[ @ 0+0x0`, `[d:\file.cpp @ 12]`, `(d:\file.cpp:12)`, `const`, a
    /// remark after `--`.
    fn suffix(&self, at: usize, after_frame: bool) -> Option<usize> {
        if !after_frame {
            return None;
        }
        let word = self.word(at)?;
        if word.starts_with("--") {
            return Some(self.words.len());
        }
        if word.starts_with('[') {
            let close = self.words.get(at..)?.iter().take(LONGEST_LOCATION).position(|word| word.text.ends_with(']'));
            let is_location = self.word(at + 1) == Some("@");
            return match close {
                Some(distance) if !is_location || distance <= 3 => Some(at + distance + 1),
                _ => Some((at + if is_location { 3 } else { 1 }).min(self.words.len())),
            };
        }
        (word.starts_with('(') || matches!(word, "const" | "volatile")).then_some(at + 1)
    }
}

/// Whether a word goes on with the type that `operator` names: the type itself, its qualifiers, its pointers.
fn continues_type(name: &str, word: &str) -> bool {
    let last = name.rsplit(' ').next().unwrap_or(name);
    let expects_type = last.ends_with("operator") || matches!(last, "const" | "class" | "struct" | "enum" | "unsigned");
    expects_type || matches!(word.split('+').next(), Some("*" | "&" | "__ptr64"))
}

/// `Module(...)`, `module!name::name`, `name::name+offset` and `module.dll+0x...` are no prose and no SQL.
fn is_distinctive(word: &str) -> bool {
    if word.starts_with("Module(") {
        return true;
    }
    if let Some((module, symbol)) = word.split_once('!') {
        let says_more = symbol.contains("::") || NameAndOffset::split(symbol).offset.is_some();
        return says_more && name::module(module).is_some();
    }
    let NameAndOffset { name, offset } = NameAndOffset::split(word);
    offset.is_some_and(|offset| {
        (name.contains("::") && name::is_symbol(name))
            || (offset.is_hex && name::module(name).is_some_and(|(_, extension)| extension))
    })
}
