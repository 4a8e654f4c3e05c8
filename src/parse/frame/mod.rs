//! Owns one frame: the forms in which the parts of a frame are written.

pub(super) mod element;
pub(super) mod line;
mod name;
pub(super) mod shared;
mod words;

use crate::model::Frame;

/// A frame whose meaning may depend on the stack that it stands in.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) frame: Frame,
    pub(super) certainty: Certainty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    /// Means the same anywhere.
    Certain,
    /// `name+hex`: a module's offset, or a function's where the stack's other frames are functions without module. Read as
    /// the first.
    NameAndOffset,
    /// `name` alone: a function where the rest of the stack is one, else any word. Read as the first.
    Word,
    /// Nothing was understood.
    Unparsed,
}

impl Draft {
    /// What the frame is if the rest of its stack says so.
    pub(super) fn otherwise(&self) -> Option<Frame> {
        match self.certainty {
            Certainty::NameAndOffset => {
                let mut frame = self.frame.clone();
                (frame.symbol, frame.offset) = (frame.module.take(), frame.rva.take());
                Some(frame)
            }
            Certainty::Word => Some(Frame::unparsed(self.frame.text.as_str())),
            Certainty::Certain | Certainty::Unparsed => None,
        }
    }

    pub(super) fn unparsed(text: &str) -> Self {
        Self { frame: Frame::unparsed(text), certainty: Certainty::Unparsed }
    }
}
