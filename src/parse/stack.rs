//! Owns call-stack text: lines to frames, frames to stacks.
//!
//! Two things cannot be told from one frame, and are decided for the text as a whole ([`Notation`]):
//!
//! - **Offsets of symbols without `0x`.** Without a module (`SOS_Task::PostWait+9e`) the server wrote them: hexadecimal.
//!   With a module (`sqldk!SpinlockBase::Sleep+182`) SQLCallStackResolver wrote them: decimal, unless one such offset of
//!   the text holds a hex letter; then all are hexadecimal. Eight digits or more are padded, and so hexadecimal. Offsets
//!   in modules (`sqldk+40609`) are always hexadecimal.
//! - **Frame numbers.** Decimal, unless one line starts with a number such as `0a`.
//!
//! And two within a stack: `name+hex` is a module's offset, unless other frames of the stack are functions without module
//! (`SOS_Task::Sleep`); a word alone on its line is a function only where the stack holds a frame that is certain.

use super::{
    entities,
    frame::{
        Certainty, Draft, element, line,
        shared::{SharedDraft, SharedFrames},
    },
};
use crate::model::{CountedStack, Stack};
use memchr::memchr_iter;
use std::sync::Arc;

/// How numbers without a mark are to be read in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Notation {
    /// Offsets of symbols are hexadecimal.
    pub(super) hex_offsets: bool,
    /// Frame numbers are hexadecimal.
    pub(super) hex_numbers: bool,
}

/// Reads one value as one call stack, leaf first. Each piece of the text stands in some frame's text.
pub fn parse_stack(text: &str) -> Stack {
    StackReader::new(text).stack(text)
}

/// Reads pasted text. A blank line, a heading (`Slot_0<TAB>[count:5]:`, `callstack`, `Short Stack Dump`, a debugger's
/// column heads) or a frame number that goes back to 0 after a higher one starts a new stack; a stack counts 1 unless its
/// heading says more.
pub fn parse_stacks(text: &str) -> Vec<CountedStack> {
    let text = entities::decode_markup(text);
    let mut shared = SharedFrames::default();
    let mut building = Building { splits: true, ..Building::new(Notation::of(&text), &mut shared) };
    building.read(&text);
    building.finish()
}

impl Notation {
    /// Looks at a whole text, a target document as well as a pasted stack.
    pub(super) fn of(text: &str) -> Self {
        Self {
            hex_offsets: memchr_iter(b'+', text.as_bytes()).any(|at| is_hex_offset(text, at)),
            hex_numbers: has_hex_number(text),
        }
    }
}

/// Reads the stacks of one document.
pub(super) struct StackReader {
    notation: Notation,
    shared: SharedFrames,
}

impl StackReader {
    /// `document` tells how the numbers of its stacks are written.
    pub(super) fn new(document: &str) -> Self {
        Self { notation: Notation::of(document), shared: SharedFrames::default() }
    }

    /// Reads one value as one call stack.
    pub(super) fn stack(&mut self, text: &str) -> Stack {
        let text = entities::decode_markup(text);
        let mut building = Building::new(self.notation, &mut self.shared);
        building.read(&text);
        building.finish().pop().map(|counted| counted.stack).unwrap_or_default()
    }
}

/// Whether the `+` at `at` stands between a symbol and an unmarked offset that holds a hex letter.
fn is_hex_offset(text: &str, at: usize) -> bool {
    const LOOKED_BACK: usize = 128;
    const LONGEST_UNPADDED: usize = 7;
    let after = text.as_bytes().get(at + 1..).unwrap_or_default();
    let number = after.iter().take(LONGEST_UNPADDED + 1).take_while(|byte| byte.is_ascii_hexdigit());
    let letters = number.clone().any(u8::is_ascii_alphabetic);
    let length = number.count();
    let ends = after.get(length).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    if !letters || !ends || length > LONGEST_UNPADDED {
        return false;
    }
    let before = text.as_bytes().get(at.saturating_sub(LOOKED_BACK)..at).unwrap_or_default();
    let name = before.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
    name.contains(&b'!') || name.windows(2).any(|pair| pair == b"::")
}

fn has_hex_number(text: &str) -> bool {
    lines(text).any(|line| match line.trim_start().as_bytes() {
        [first, second, blank, ..] => {
            first.is_ascii_digit() && matches!(second, b'a'..=b'f' | b'A'..=b'F') && blank.is_ascii_whitespace()
        }
        _ => false,
    })
}

/// What stands between line feeds.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    let starts = memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    [0].into_iter().chain(starts).zip(ends).map(|(start, end)| text.get(start..end).unwrap_or_default())
}

struct Building<'r> {
    notation: Notation,
    shared: &'r mut SharedFrames,
    /// Whether blank lines, headings and numbers start new stacks.
    splits: bool,
    stacks: Vec<CountedStack>,
    drafts: Vec<SharedDraft>,
    /// What the heading of the coming stack said.
    count: Option<u64>,
    highest_number: Option<u32>,
}

impl<'r> Building<'r> {
    fn new(notation: Notation, shared: &'r mut SharedFrames) -> Self {
        Self {
            notation,
            shared,
            splits: false,
            stacks: Vec::new(),
            drafts: Vec::new(),
            count: None,
            highest_number: None,
        }
    }

    fn read(&mut self, text: &str) {
        let mut rest = text;
        while let Some((start, length)) = element::next(rest) {
            let (Some(before), Some(tag), Some(after)) =
                (rest.get(..start), rest.get(start..start + length), rest.get(start + length..))
            else {
                break;
            };
            let (lines, prefix) = before.rsplit_once('\n').unwrap_or(("", before));
            if before.len() > prefix.len() {
                self.lines(lines);
            }
            let drafts = line::frames(prefix, self.notation);
            if is_all_frames(&drafts) {
                self.push(drafts);
                self.element(tag);
            } else {
                let kept = rest.get(start - prefix.len()..start + length).unwrap_or(tag);
                self.push(vec![element::read(tag, kept.trim())]);
            }
            rest = self.tail(after);
        }
        self.lines(rest);
    }

    /// What follows an element on its line: frames, the next element's prefix, or a remark that stays with the frame.
    /// Returns the text from which to go on.
    fn tail<'t>(&mut self, after: &'t str) -> &'t str {
        let end = after.char_indices().find(|&(at, c)| c == '\n' || (c == '<' && element::starts(after, at)));
        let (line, next) = match end {
            Some((_, '<')) => return after,
            Some((at, _)) => (after.get(..at).unwrap_or_default(), after.get(at + 1..).unwrap_or_default()),
            None => (after, ""),
        };
        let drafts = line::frames(line, self.notation);
        if is_all_frames(&drafts) {
            self.push(drafts);
        } else if let Some(last) = self.drafts.last_mut() {
            let frame = Arc::make_mut(&mut last.frame);
            frame.text = format!("{} {}", frame.text, line.trim());
        }
        next
    }

    fn lines(&mut self, text: &str) {
        for line in lines(text) {
            if !self.splits {
                self.line(line);
                continue;
            }
            match heading(line) {
                Some((count, rest)) => {
                    self.end_stack();
                    self.count = count;
                    self.line(rest);
                }
                None if line.trim().is_empty() => {
                    if !self.drafts.is_empty() {
                        self.end_stack();
                    }
                }
                None => self.line(line),
            }
        }
    }

    fn line(&mut self, line: &str) {
        let notation = self.notation;
        self.whole(line.trim(), |text| line::frames(text, notation));
    }

    fn element(&mut self, tag: &str) {
        if tag.ends_with('>') {
            self.whole(tag, |text| vec![element::read(text, text)]);
        } else {
            self.push(vec![element::read(tag, tag.trim())]);
        }
    }

    /// Frames of a text that means the same wherever it stands.
    fn whole(&mut self, text: &str, read: impl FnOnce(&str) -> Vec<Draft>) {
        if let Some(draft) = self.shared.known(text) {
            self.push([draft]);
        } else {
            let drafts = self.shared.keep(text, read(text));
            self.push(drafts);
        }
    }

    fn push(&mut self, drafts: impl IntoIterator<Item = impl Into<SharedDraft>>) {
        for draft in drafts.into_iter().map(Into::into) {
            if self.splits {
                let number = draft.frame.number;
                if number == Some(0) && self.highest_number > Some(0) {
                    self.end_stack();
                }
                self.highest_number = self.highest_number.max(number);
            }
            self.drafts.push(draft);
        }
    }

    fn end_stack(&mut self) {
        let drafts = std::mem::take(&mut self.drafts);
        let count = self.count.take();
        self.highest_number = None;
        if !drafts.is_empty() || count.is_some() {
            self.stacks.push(CountedStack { count: count.unwrap_or(1), stack: settled(drafts) });
        }
    }

    fn finish(mut self) -> Vec<CountedStack> {
        self.end_stack();
        self.stacks
    }
}

fn is_all_frames(drafts: &[Draft]) -> bool {
    drafts.iter().all(|draft| matches!(draft.certainty, Certainty::Certain | Certainty::NameAndOffset))
}

/// Decides what only the stack as a whole can tell.
fn settled(drafts: Vec<SharedDraft>) -> Stack {
    let holds = |certainty| drafts.iter().any(|draft| draft.certainty == certainty);
    let without_modules = holds(Certainty::NameAndOffset)
        && drafts.iter().any(|draft| {
            draft.certainty == Certainty::Certain && draft.frame.symbol.is_some() && draft.frame.module.is_none()
        });
    let any_certain = holds(Certainty::Certain) || holds(Certainty::NameAndOffset);
    let settle = |draft: SharedDraft| {
        let is_otherwise = match draft.certainty {
            Certainty::NameAndOffset => without_modules,
            Certainty::Word => !any_certain,
            Certainty::Certain | Certainty::Unparsed => false,
        };
        draft.otherwise.filter(|_| is_otherwise).unwrap_or(draft.frame)
    };
    let mut frames = Vec::with_capacity(drafts.len());
    frames.extend(drafts.into_iter().map(settle));
    Stack { frames }
}

/// A heading's count, and what follows it on its line.
fn heading(line: &str) -> Option<(Option<u64>, &str)> {
    let text = line.trim();
    if let Some(rest) = text.strip_prefix("Slot_")
        && let Some((number, rest)) = rest.split_once("[count:")
        && number.trim_end().bytes().all(|byte| byte.is_ascii_digit())
        && let Some((count, rest)) = rest.split_once(']')
        && let Ok(count) = count.trim().parse()
    {
        return Some((Some(count), rest.trim_start_matches(':')));
    }
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let label = first.trim_end_matches(':').to_ascii_lowercase();
    if matches!(label.as_str(), "callstack" | "callstack_rva" | "task_callstack_rva") {
        return Some((None, rest));
    }
    let dump = text.trim_start_matches(['*', ' ']);
    let is_heading = dump.starts_with("Short Stack Dump")
        || dump.starts_with("BEGIN STACK DUMP")
        || text.starts_with("Event key:")
        || text.starts_with("Event name:")
        || (text.contains("Child-SP") && text.contains("RetAddr"));
    is_heading.then_some((None, ""))
}
