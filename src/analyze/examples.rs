//! Owns the test of rules on the example stacks that they bring along.

use super::classify::classify;
use crate::{
    catalog::Catalog,
    model::{EventContext, Frame, Stack},
};

/// An example on which a rule does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The rule's id.
    pub rule: String,
    /// Whether it is one of those that the rule must match.
    pub must_match: bool,
    /// Its place among them.
    pub index: usize,
    /// The rule that decided it.
    pub decided_by: Option<String>,
}

/// Every example on which its rule does not hold, each stack judged without context.
pub fn failing_examples(catalog: &Catalog) -> Vec<Example> {
    let mut failing = Vec::new();
    for rule in catalog.rules.iter() {
        for (must_match, examples) in [(true, &rule.must_match), (false, &rule.must_not_match)] {
            for (index, names) in examples.iter().enumerate() {
                let decided_by = classify(&EventContext::default(), &stack(names), catalog).rule;
                if (decided_by.as_ref() == Some(&rule.id)) != must_match {
                    failing.push(Example { rule: rule.id.clone(), must_match, index, decided_by });
                }
            }
        }
    }
    failing
}

/// A stack of functions, leaf first.
fn stack(names: &[String]) -> Stack {
    let frame = |name: &String| Frame { symbol: Some(name.clone()), ..Frame::unparsed(name.as_str()) };
    names.iter().map(frame).collect()
}
