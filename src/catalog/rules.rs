//! Owns the rules from frames to classes.

use super::{Checked, Entry, found, pattern::any_matches};
use crate::{catalog::Pattern, model::StackClass};
use serde::Deserialize;

/// Where in a stack a rule looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// Every frame.
    Anywhere,
    /// The plumbing and the 8 frames under it.
    Top,
    /// The 3 frames directly under the plumbing and the wait primitives.
    UnderPrimitive,
}

/// One rule: a frame that gives a stack its class.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Stable name, shown with every stack that it decides.
    pub id: String,
    /// The class it gives.
    pub class: StackClass,
    /// The area it gives; without one the frames under the primitive do.
    pub area: Option<String>,
    /// Why such a frame means that class.
    pub why: String,
    /// Where it looks.
    pub look: Look,
    /// The frame.
    frames: Vec<Pattern>,
    /// What the frame directly under it must be, where that matters.
    #[serde(default)]
    callers: Vec<Pattern>,
    /// What no frame within the same look may be.
    #[serde(default)]
    unless: Vec<Pattern>,
    /// Stacks, leaf first, that this rule must be the one to decide. They are tests.
    pub must_match: Vec<Vec<String>>,
    /// Stacks, leaf first, that this rule must not match. They are tests.
    pub must_not_match: Vec<Vec<String>>,
}

impl Rule {
    /// Whether the rule holds for these names, leaf first; `None` stands for an unresolved frame.
    pub fn matches(&self, symbols: &[Option<&str>]) -> bool {
        let found = symbols.iter().enumerate().any(|(index, symbol)| {
            symbol.is_some_and(|symbol| any_matches(&self.frames, symbol))
                && (self.callers.is_empty() || {
                    let caller = symbols.get(index + 1).copied().flatten();
                    caller.is_some_and(|caller| any_matches(&self.callers, caller))
                })
        });
        found && !symbols.iter().flatten().any(|symbol| any_matches(&self.unless, symbol))
    }
}

/// All rules, in the order in which they are tried.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    pub(super) rule: Vec<Rule>,
}

impl Rules {
    /// In the order in which they are tried.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rule.iter()
    }
}

impl Checked for Rules {
    fn fault(&self) -> Option<(String, String)> {
        self.rule.iter().enumerate().find_map(|(index, rule)| {
            let twice = self.rule.iter().take(index).any(|earlier| earlier.id == rule.id);
            let twice = twice.then_some(("id", "another rule has this id"));
            let (key, message) = rule.faults().into_iter().chain(twice).next()?;
            Some((format!("rule[{index}].{key}"), message.to_owned()))
        })
    }
}

impl Entry for Rule {
    const LIST: &'static str = "rule";

    fn faults(&self) -> Vec<(&'static str, &'static str)> {
        let is_empty = |text: &str| text.trim().is_empty();
        found([
            (is_empty(&self.id) || is_empty(&self.why), "id", "a rule needs an id and a why"),
            (self.frames.is_empty(), "frames", "a rule needs at least one frame"),
            (
                self.must_match.is_empty() || self.must_not_match.is_empty(),
                "must_match",
                "a rule needs stacks that it must and must not match",
            ),
        ])
    }

    fn names(&self) -> Vec<(&'static str, String)> {
        vec![("id", self.id.clone())]
    }
}
