//! Owns frames that stacks share: a document repeats few frames many times, and each is read and kept once.

use super::{Certainty, Draft};
use crate::model::Frame;
use std::{collections::HashMap, ops::Range, sync::Arc};

/// A frame and the two ways in which it may be meant.
#[derive(Debug, Clone)]
pub(in crate::parse) struct SharedDraft {
    pub(in crate::parse) frame: Arc<Frame>,
    /// What it is if the rest of its stack says so.
    pub(in crate::parse) otherwise: Option<Arc<Frame>>,
    pub(in crate::parse) certainty: Certainty,
}

impl From<Draft> for SharedDraft {
    fn from(draft: Draft) -> Self {
        let otherwise = draft.otherwise().map(Arc::new);
        Self { otherwise, certainty: draft.certainty, frame: Arc::new(draft.frame) }
    }
}

/// Frames that were read alone from their text.
#[derive(Debug, Default)]
pub(in crate::parse) struct SharedFrames {
    /// In the order of first reading, which is that of the paths that calls take.
    known: Vec<Known>,
    /// Their texts one behind the other: comparing is what costs, and neighbours are compared together.
    texts: String,
    by_text: HashMap<Box<str>, usize>,
    /// The one that was met last.
    last: usize,
}

#[derive(Debug)]
struct Known {
    text: Range<usize>,
    draft: SharedDraft,
    /// Which came after it last time: callers repeat, so it is looked at before the table, far away in memory, is.
    next: usize,
}

impl SharedFrames {
    /// The frame that is all of a text, if it was read before.
    pub(in crate::parse) fn known(&mut self, text: &str) -> Option<SharedDraft> {
        let expected = self.known.get(self.last).map_or(0, |last| last.next);
        let at = match self.known.get(expected) {
            Some(known) if self.texts.get(known.text.clone()) == Some(text) => expected,
            _ => *self.by_text.get(text)?,
        };
        self.follow(at);
        self.known.get(at).map(|known| known.draft.clone())
    }

    /// Makes frames that were read from a text ones to share; keeps one that is all of the text.
    pub(in crate::parse) fn keep(&mut self, text: &str, drafts: Vec<Draft>) -> Vec<SharedDraft> {
        let drafts: Vec<SharedDraft> = drafts.into_iter().map(SharedDraft::from).collect();
        if let [draft] = drafts.as_slice() {
            let (at, start) = (self.known.len(), self.texts.len());
            self.texts.push_str(text);
            self.known.push(Known { text: start..self.texts.len(), draft: draft.clone(), next: at + 1 });
            self.by_text.insert(text.into(), at);
            self.follow(at);
        }
        drafts
    }

    fn follow(&mut self, at: usize) {
        if let Some(last) = self.known.get_mut(self.last)
            && last.next != at
        {
            last.next = at;
        }
        self.last = at;
    }
}
