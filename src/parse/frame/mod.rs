//! Owns one frame: the forms in which the parts of a frame are written.

pub(super) mod element;
pub(super) mod line;
mod name;
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
    pub(super) fn unparsed(text: &str) -> Self {
        Self { frame: Frame::unparsed(text), certainty: Certainty::Unparsed }
    }
}
