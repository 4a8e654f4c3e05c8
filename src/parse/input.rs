//! Owns what a file is: target documents, event documents, pasted stacks, or nothing that can be read.

use super::{
    event, stack,
    target::{self, Outside},
    text,
};
use crate::model::{CountedStack, Frame, Problem, Severity, Target};
use std::sync::Arc;

/// What was recognised in a file, and what was odd.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Input {
    /// Bucketing targets in order, each with the text before it.
    pub targets: Vec<Target>,
    /// Stacks of pasted text and of events (count 1), in order.
    pub pasted: Vec<CountedStack>,
    /// `invalid_encoding`, `invalid_characters`, `document_cut` (of events; a target has its own mark), `text_not_read`,
    /// `nothing_recognised`.
    pub problems: Vec<Problem>,
}

impl Input {
    /// Whether neither a target nor a stack was found.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.pasted.is_empty()
    }
}

/// Whether these are the bytes of an event file target (.xel), by the four bytes that such files start with (seen in
/// published samples). They are not read here; their events as XML are.
pub fn is_event_file(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x5A, 0x37, 0xAB, 0xEF])
}

/// Reads a file's bytes (UTF-8 or UTF-16). Text outside of target documents is read as events or as pasted stacks; a
/// stack counts as one where at least half of its frames are understood.
pub fn read(bytes: &[u8]) -> Input {
    let decoded = text::decode(bytes);
    let documents = target::documents(&decoded.text);
    let mut input = Input { targets: documents.targets, pasted: Vec::new(), problems: decoded.problems };
    let mut unread = 0;
    for outside in documents.outside {
        unread += input.outside(&outside);
    }
    if input.is_empty() {
        let message = "the input holds no target document, no event and no call stack";
        input.problems.push(Problem::new("nothing_recognised", Severity::Partial, message));
    } else if unread > 0 {
        let message = format!("{unread} lines outside of documents and stacks were not read");
        input.problems.push(Problem::new("text_not_read", Severity::Info, message));
    }
    input
}

impl Input {
    /// Reads text outside of documents; returns the lines of it that nothing keeps.
    fn outside(&mut self, outside: &Outside<'_>) -> usize {
        if let Some(events) = event::read(outside.text) {
            self.pasted.extend(events.stacks);
            if events.cut {
                let message = "the event document ends inside an element: what was complete before is kept";
                self.problems.push(Problem::new("document_cut", Severity::Partial, message));
            }
            if events.replaced > 0 {
                let message = format!("{} characters that XML does not allow were replaced by U+FFFD", events.replaced);
                self.problems.push(Problem::new("invalid_characters", Severity::Warning, message));
            }
            return 0;
        }
        let Some(said) = target::annotation(outside.text) else { return 0 };
        let mut unread = 0;
        for counted in stack::parse_stacks(&said) {
            if counted.count != 1 || is_stack(&counted.stack.frames) {
                self.pasted.push(counted);
            } else if !outside.kept {
                unread += counted.stack.frames.len();
            }
        }
        unread
    }
}

fn is_stack(frames: &[Arc<Frame>]) -> bool {
    let understood = frames.iter().filter(|frame| is_understood(frame)).count();
    understood > 0 && understood * 2 >= frames.len()
}

fn is_understood(frame: &Frame) -> bool {
    frame.module.is_some() || frame.symbol.is_some() || frame.address.is_some()
}
