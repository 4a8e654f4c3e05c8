//! Owns predicates that were looked up: their text in the catalogue, and their evaluation over runs of equal events.

mod bind;
#[cfg(test)]
mod tests;

use crate::simulator::events::expression::{Literal, Operator};
use crate::simulator::workload::kinds::{EventKind, FieldValue};

/// Longest predicate, in characters (documented).
pub const MAX_LENGTH: usize = 3_000;

/// A predicate over one event.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    root: Node,
    counters: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Test(Test),
}

#[derive(Debug, Clone, PartialEq)]
struct Test {
    /// Name in [`EventKind::values`]: a field, or `package.source`.
    source: String,
    operation: Operation,
    value: Literal,
    type_name: &'static str,
    /// Number of this test's own counter, when its source is `package0.counter`.
    counter: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Compare(Operator),
    DividesBy,
}

/// How many events in a row did or did not pass.
type Run = (u64, bool);

impl Predicate {
    /// One counter for each use of `package0.counter`, before any event.
    pub fn new_counters(&self) -> Vec<u64> {
        vec![0; self.counters]
    }

    /// How many of the next `count` events of this kind pass. `package0.counter` counts the events that reach it:
    /// evaluation goes from left to right and stops as soon as the outcome is known.
    pub fn passing(&self, kind: &EventKind, count: u64, counters: &mut [u64]) -> u64 {
        self.root.runs(kind, count, counters).iter().filter(|(_, passed)| *passed).map(|(count, _)| count).sum()
    }
}

impl Node {
    fn runs(&self, kind: &EventKind, count: u64, counters: &mut [u64]) -> Vec<Run> {
        match self {
            Self::Test(test) => test.runs(kind, count, counters),
            Self::Not(inner) => {
                inner.runs(kind, count, counters).into_iter().map(|(count, passed)| (count, !passed)).collect()
            }
            Self::And(left, right) => chain(left, right, true, kind, count, counters),
            Self::Or(left, right) => chain(left, right, false, kind, count, counters),
        }
    }
}

/// The right side decides where the left side came out as `undecided`.
fn chain(left: &Node, right: &Node, undecided: bool, kind: &EventKind, count: u64, counters: &mut [u64]) -> Vec<Run> {
    let mut runs = Vec::new();
    for (count, passed) in left.runs(kind, count, counters) {
        if passed == undecided {
            runs.extend(right.runs(kind, count, counters));
        } else {
            runs.push((count, passed));
        }
    }
    runs
}

impl Test {
    fn runs(&self, kind: &EventKind, count: u64, counters: &mut [u64]) -> Vec<Run> {
        if count == 0 {
            return Vec::new();
        }
        match self.counter.and_then(|counter| counters.get_mut(counter)) {
            Some(counter) => {
                let first = *counter + 1;
                *counter += count;
                self.counter_runs(first, *counter)
            }
            // A source that this event does not have compares as false.
            None => vec![(count, kind.value(&self.source).is_some_and(|value| self.holds(value)))],
        }
    }

    /// The outcomes of the counter's values `first..=last`.
    fn counter_runs(&self, first: u64, last: u64) -> Vec<Run> {
        let Literal::Number(value) = self.value else { return vec![(last - first + 1, false)] };
        let value = value.clamp(0, i128::from(u64::MAX)) as u64;
        let mut runs: Vec<Run> = Vec::new();
        let mut from = first;
        while from <= last {
            let passed = self.holds(&FieldValue::Number(from));
            // The outcome can change only behind or at the value, or at the next multiple of it.
            let until = match self.operation {
                Operation::Compare(_) if from < value => value - 1,
                Operation::Compare(_) if from == value => value,
                Operation::DividesBy if value > 1 && !from.is_multiple_of(value) => from - from % value + (value - 1),
                Operation::DividesBy if value > 1 => from,
                _ => last,
            }
            .min(last);
            runs.push((until - from + 1, passed));
            from = until + 1;
        }
        runs
    }

    fn holds(&self, value: &FieldValue) -> bool {
        match (value, &self.value, self.operation) {
            (FieldValue::Number(value), Literal::Number(than), Operation::DividesBy) => {
                *than != 0 && i128::from(*value) % than == 0
            }
            (FieldValue::Number(value), Literal::Number(than), Operation::Compare(operator)) => {
                compare(operator, &i128::from(*value), than)
            }
            (FieldValue::Text(value), Literal::Text(pattern), Operation::Compare(Operator::Like)) => {
                like(&value.to_lowercase(), &pattern.to_lowercase())
            }
            (FieldValue::Text(value), Literal::Text(than), Operation::Compare(operator)) => {
                compare(operator, &value.to_lowercase(), &than.to_lowercase())
            }
            _ => false,
        }
    }
}

fn compare<T: Ord>(operator: Operator, value: &T, than: &T) -> bool {
    match operator {
        Operator::Equal => value == than,
        Operator::NotEqual => value != than,
        Operator::Less => value < than,
        Operator::LessOrEqual => value <= than,
        Operator::Greater => value > than,
        Operator::GreaterOrEqual => value >= than,
        Operator::Like => false,
    }
}

/// LIKE with `%` and `_`. Assumed: predicates know no character sets.
fn like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut in_pattern) = (0, 0);
    // Where to go on when what follows the last `%` did not fit.
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(in_pattern) {
            Some('%') => {
                retry = Some((at, in_pattern));
                in_pattern += 1;
            }
            Some(wanted) if *wanted == '_' || Some(wanted) == text.get(at) => {
                at += 1;
                in_pattern += 1;
            }
            _ => {
                let Some((from, percent)) = retry else { return false };
                retry = Some((from + 1, percent));
                at = from + 1;
                in_pattern = percent + 1;
            }
        }
    }
    pattern.get(in_pattern..).unwrap_or_default().iter().all(|c| *c == '%')
}

/// Longer prefixes first: `less_than_` begins `less_than_equal_` too.
const COMPARE_FUNCTIONS: [(&str, Operation); 8] = [
    ("not_equal_", Operation::Compare(Operator::NotEqual)),
    ("equal_", Operation::Compare(Operator::Equal)),
    ("less_than_equal_", Operation::Compare(Operator::LessOrEqual)),
    ("less_than_", Operation::Compare(Operator::Less)),
    ("greater_than_equal_", Operation::Compare(Operator::GreaterOrEqual)),
    ("greater_than_", Operation::Compare(Operator::Greater)),
    ("like_", Operation::Compare(Operator::Like)),
    ("divides_by_", Operation::DividesBy),
];

/// Names of the predicate functions, for sys.dm_xe_objects.
pub fn function_names() -> Vec<String> {
    let mut names = Vec::new();
    for (prefix, operation) in COMPARE_FUNCTIONS {
        if operation != Operation::Compare(Operator::Like) {
            names.extend(["uint64", "int64"].map(|compared| format!("{prefix}{compared}")));
        }
        if operation != Operation::DividesBy {
            names.extend(["i_unicode_string", "i_sql_unicode_string"].map(|compared| format!("{prefix}{compared}")));
        }
    }
    names
}

/// As the catalogue shows it: `([package0].[equal_uint64]([wait_type],(123)) AND …)`.
impl std::fmt::Display for Predicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.root {
            root @ (Node::And(..) | Node::Or(..)) => root.fmt(f),
            root => write!(f, "({root})"),
        }
    }
}

impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::And(left, right) => write!(f, "({left} AND {right})"),
            Self::Or(left, right) => write!(f, "({left} OR {right})"),
            Self::Not(inner) => write!(f, "NOT ({inner})"),
            Self::Test(test) => test.fmt(f),
        }
    }
}

impl std::fmt::Display for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let prefix = COMPARE_FUNCTIONS
            .iter()
            .find(|(_, operation)| *operation == self.operation)
            .map_or("equal_", |(prefix, _)| prefix);
        let compared = match self.type_name {
            "unicode_string" => "i_unicode_string",
            "int32" => "int64",
            other => other,
        };
        let source = self.source.split('.').map(|part| format!("[{part}]")).collect::<Vec<_>>().join(".");
        write!(f, "[package0].[{prefix}{compared}]({source},")?;
        match &self.value {
            Literal::Number(number) => write!(f, "({number}))"),
            Literal::Text(text) => write!(f, "N'{}')", text.replace('\'', "''")),
        }
    }
}
