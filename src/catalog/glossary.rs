//! Owns what spinlocks and latch classes protect, in words.

use super::{Checked, Entry, found, pattern::any_matches};
use crate::catalog::Pattern;
use serde::Deserialize;

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// The names; patterns, because some come in families.
    names: Vec<Pattern>,
    /// What it protects, as the end of a sentence.
    pub meaning: String,
    /// How sure that is: `documented` by Microsoft, `published` by known experts, or `name` where only the name tells.
    pub basis: String,
    /// Whether collisions may be the cost of an event session itself.
    #[serde(default)]
    pub observer: bool,
    /// Whether waiting for it is how a parallel scan works, rather than contention for something shared.
    #[serde(default)]
    pub parallel_scan: bool,
    /// Functions that spin for it: what stands directly under the spinlock's own frames names it.
    #[serde(default)]
    callers: Vec<Pattern>,
    /// Functions that wait for it: what stands directly under the latch's own frames names its class.
    #[serde(default)]
    waiters: Vec<Pattern>,
    /// What relieves it, where more is known than for all.
    pub relief: Option<Relief>,
}

/// What can be done about contention.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relief {
    /// What to do, a sentence.
    pub text: String,
    /// What that risks, a fragment.
    pub risk: String,
}

impl Term {
    /// Whether a name is one of its names.
    pub fn names(&self, name: &str) -> bool {
        any_matches(&self.names, name)
    }

    /// Its name in reports; where it is a family, the pattern of the family.
    pub fn title(&self) -> String {
        self.names.first().map(ToString::to_string).unwrap_or_default()
    }
}

/// All terms of one kind; the first that matches counts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Glossary {
    pub(super) term: Vec<Term>,
}

impl Glossary {
    /// What is known of a name.
    pub fn of(&self, name: &str) -> Option<&Term> {
        self.term.iter().find(|term| term.names(name))
    }

    /// What a function is known to wait for.
    pub fn waited_for_by(&self, waiter: &str) -> Option<&Term> {
        self.term.iter().find(|term| any_matches(&term.waiters, waiter))
    }

    /// What a function is known to spin for.
    pub fn spun_for_by(&self, caller: &str) -> Option<&Term> {
        self.term.iter().find(|term| any_matches(&term.callers, caller))
    }
}

impl Checked for Glossary {
    fn fault(&self) -> Option<(String, String)> {
        self.term.iter().enumerate().find_map(|(index, term)| {
            let (key, message) = term.faults().into_iter().next()?;
            Some((format!("term[{index}].{key}"), message.to_owned()))
        })
    }
}

impl Entry for Term {
    const LIST: &'static str = "term";

    fn faults(&self) -> Vec<(&'static str, &'static str)> {
        let is_known = ["documented", "published", "name"].contains(&self.basis.as_str());
        found([
            (self.names.is_empty(), "names", "a term needs a name"),
            (self.meaning.trim().is_empty(), "meaning", "a term needs a meaning"),
            (!is_known, "basis", "must be documented, published or name"),
        ])
    }

    fn names(&self) -> Vec<(&'static str, String)> {
        self.names.iter().map(|name| ("names", name.to_string())).collect()
    }
}
