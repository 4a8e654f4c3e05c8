//! Owns what is asked of a set of evidence: sessions of several scenarios may have been captured together, and the
//! verdict answers one question.

use super::classify::Captured;
use crate::model::Evidence;

/// What the verdict answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Where scheduler yields come from (scenario `sos-yield`).
    Yields,
    /// Which spinlock is contended (scenario `spinlock`).
    Spinlock,
}

impl Question {
    /// The question asked first: by the scenario's name, of several joined by `+` by the first one; without a name by
    /// the events that were captured.
    pub fn of(evidence: &Evidence) -> Self {
        let named = evidence.scenario.as_deref().and_then(|scenario| scenario.split('+').find_map(Self::named));
        named.unwrap_or_else(|| {
            let any = |captured: Captured| evidence.sessions.iter().any(|s| Captured::of(&s.context) == captured);
            if any(Captured::Backoffs) && !any(Captured::Yields) { Self::Spinlock } else { Self::Yields }
        })
    }

    fn named(scenario: &str) -> Option<Self> {
        match scenario.trim() {
            "sos-yield" => Some(Self::Yields),
            "spinlock" => Some(Self::Spinlock),
            _ => None,
        }
    }
}
