//! Owns frames that stacks share: a document repeats few frames many times, and each is read and kept once.

use super::{Certainty, Draft};
use crate::model::Frame;
use std::{borrow::Borrow, collections::HashSet, hash, sync::Arc};

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

/// Frames that were read alone from their text, by that text.
#[derive(Debug, Default)]
pub(in crate::parse) struct SharedFrames {
    known: HashSet<ByText>,
}

impl SharedFrames {
    /// The frame that is all of a text, if it was read before.
    pub(in crate::parse) fn known(&self, text: &str) -> Option<SharedDraft> {
        self.known.get(text).map(|ByText(draft)| draft.clone())
    }

    /// Makes frames that were read from a text ones to share; keeps one that is all of the text.
    pub(in crate::parse) fn keep(&mut self, text: &str, drafts: Vec<Draft>) -> Vec<SharedDraft> {
        let drafts: Vec<SharedDraft> = drafts.into_iter().map(SharedDraft::from).collect();
        if let [draft] = drafts.as_slice()
            && draft.frame.text == text
        {
            self.known.insert(ByText(draft.clone()));
        }
        drafts
    }
}

#[derive(Debug)]
struct ByText(SharedDraft);

impl Borrow<str> for ByText {
    fn borrow(&self) -> &str {
        &self.0.frame.text
    }
}

impl PartialEq for ByText {
    fn eq(&self, other: &Self) -> bool {
        self.0.frame.text == other.0.frame.text
    }
}

impl Eq for ByText {}

impl hash::Hash for ByText {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.0.frame.text.hash(state);
    }
}
