//! Owns which frames name the event or the wait and not its cause.

use super::{Checked, pattern::any_matches};
use crate::catalog::Pattern;
use serde::Deserialize;

/// Frames that say nothing about the cause.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plumbing {
    /// Leading frames of the event machinery and of the scheduler's bookkeeping.
    pub(super) events: Vec<Pattern>,
    /// The wait primitive under the plumbing, such as `SOS_Task::Sleep`.
    pub(super) primitives: Vec<Pattern>,
    /// Frames of a spinlock itself, under which its caller stands.
    pub(super) spinlocks: Vec<Pattern>,
    /// Frames of a latch itself, under which the function stands that waits for it.
    pub(super) latches: Vec<Pattern>,
    /// Leaves out the frame `optional_frame` where it follows `optional_after`: the same path shows it or not.
    optional_after: Pattern,
    optional_frame: Pattern,
}

impl Plumbing {
    /// Whether a leading frame of this name is the event machinery's.
    pub fn is_event_frame(&self, symbol: &str) -> bool {
        any_matches(&self.events, symbol)
    }

    /// Whether a frame of this name is a wait primitive.
    pub fn is_primitive(&self, symbol: &str) -> bool {
        any_matches(&self.primitives, symbol)
    }

    /// Whether a frame of this name is a spinlock's own.
    pub fn is_spinlock(&self, symbol: &str) -> bool {
        any_matches(&self.spinlocks, symbol)
    }

    /// Whether a frame of this name is a latch's own.
    pub fn is_latch(&self, symbol: &str) -> bool {
        any_matches(&self.latches, symbol)
    }

    /// Whether a frame that follows the last dropped one is of the same path with and without it.
    pub fn is_optional(&self, dropped: &str, symbol: &str) -> bool {
        self.optional_after.matches(dropped) && self.optional_frame.matches(symbol)
    }
}

impl Checked for Plumbing {
    fn fault(&self) -> Option<(String, String)> {
        self.events.is_empty().then(|| ("events".to_owned(), "at least one frame is needed".to_owned()))
    }
}
