//! Owns predicates that were looked up: their text in the catalogue, and their evaluation over runs of equal events.

use crate::simulator::events::catalogue::{self, COUNTER, EventObject, FieldType};
use crate::simulator::events::errors;
use crate::simulator::events::expression::{Comparator, Expression, Literal, Operator};
use crate::simulator::events::statement::PredicateClause;
use crate::simulator::maps;
use crate::simulator::output::Message;
use crate::simulator::versions::VersionData;
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
    /// Looks names up and checks types. Errors: 25706, 25713, 25715, 25716, 25630, 25636.
    pub fn bind(clause: &PredicateClause, event: &'static EventObject, version: &VersionData) -> Result<Self, Message> {
        if clause.length > MAX_LENGTH {
            return Err(errors::predicate_too_long(&event.full_name(), MAX_LENGTH));
        }
        let mut binder = Binder { event, version, counters: 0 };
        let root = binder.node(&clause.expression)?;
        Ok(Self { root, counters: binder.counters })
    }

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

struct Binder<'v> {
    event: &'static EventObject,
    version: &'v VersionData,
    counters: usize,
}

impl Binder<'_> {
    fn node(&mut self, expression: &Expression) -> Result<Node, Message> {
        Ok(match expression {
            Expression::And(left, right) => Node::And(Box::new(self.node(left)?), Box::new(self.node(right)?)),
            Expression::Or(left, right) => Node::Or(Box::new(self.node(left)?), Box::new(self.node(right)?)),
            Expression::Not(inner) => Node::Not(Box::new(self.node(inner)?)),
            Expression::Comparison { source, comparator, value } => Node::Test(self.test(source, comparator, value)?),
        })
    }

    fn test(&mut self, source: &[String], comparator: &Comparator, value: &Literal) -> Result<Test, Message> {
        let written = source.join(".");
        let (name, field_type) = self.source(source, &written)?;
        let event = self.event.full_name();
        let type_name = match field_type {
            FieldType::Text => "unicode_string",
            FieldType::Integer(signed @ ("int32" | "int64")) => signed,
            FieldType::Integer(_) | FieldType::Map(_) | FieldType::CallStack => "uint64",
        };
        let undefined = |operator: &str| errors::predicate_operator(&event, operator, field_type.name(), &written);
        if field_type == FieldType::CallStack {
            return Err(undefined(match comparator {
                Comparator::Operator(operator) => operator.text(),
                Comparator::Function(function) => function,
            }));
        }
        let operation = match comparator {
            Comparator::Operator(Operator::Like) if field_type != FieldType::Text => return Err(undefined("LIKE")),
            Comparator::Operator(operator) => Operation::Compare(*operator),
            Comparator::Function(function) => self.function(function, field_type, value)?,
        };
        let value = self.value(field_type, value).ok_or_else(|| errors::predicate_value(&written, &event))?;
        let counter = (name == COUNTER).then_some(self.counters);
        self.counters += usize::from(counter.is_some());
        Ok(Test { source: name, operation, value, type_name, counter })
    }

    /// The name in an event's values, and its type.
    fn source(&self, source: &[String], written: &str) -> Result<(String, FieldType), Message> {
        match source {
            [field] => self.event.field(field).map(|(name, field_type)| ((*name).to_owned(), *field_type)),
            [_, _] if written.eq_ignore_ascii_case(COUNTER) => Some((COUNTER.to_owned(), FieldType::Integer("uint64"))),
            [package, name] => catalogue::action_named(self.version, package, name)
                .map(|action| (action.full_name(), action.field_type)),
            _ => None,
        }
        .ok_or_else(|| errors::predicate_name("event attribute or predicate source", written))
    }

    /// `equal_uint64`, `less_than_equal_int64`, `equal_i_unicode_string`, `divides_by_uint64` and their like.
    fn function(&self, function: &str, field_type: FieldType, value: &Literal) -> Result<Operation, Message> {
        let unknown = || errors::predicate_name("predicate comparator", function);
        let lower = function.to_lowercase();
        let (operation, compared) = COMPARE_FUNCTIONS
            .iter()
            .find_map(|(prefix, operation)| lower.strip_prefix(prefix).map(|rest| (*operation, rest)))
            .ok_or_else(unknown)?;
        let compares_text = match compared {
            "uint64" | "int64" | "boolean" => false,
            "unicode_string" | "i_unicode_string" | "sql_unicode_string" | "i_sql_unicode_string"
                if operation != Operation::DividesBy =>
            {
                true
            }
            _ => return Err(unknown()),
        };
        if compares_text != (field_type == FieldType::Text) {
            return Err(errors::source_and_comparator());
        }
        // A map's text may stand for its key, which `value` decides.
        let is_text = matches!(value, Literal::Text(_));
        if is_text != compares_text && !matches!(field_type, FieldType::Map(_)) {
            return Err(errors::mismatching_types(&self.event.full_name()));
        }
        Ok(operation)
    }

    fn value(&self, field_type: FieldType, value: &Literal) -> Option<Literal> {
        match (field_type, value) {
            (FieldType::Text, Literal::Text(_)) | (FieldType::Integer(_) | FieldType::Map(_), Literal::Number(_)) => {
                Some(value.clone())
            }
            (FieldType::Map(map), Literal::Text(text)) if self.version.map_text_in_predicates => {
                maps::map(self.version, map)?.key(text).map(|key| Literal::Number(i128::from(key)))
            }
            _ => None,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::Predicate;
    use crate::model::ServerVersion;
    use crate::simulator::events::catalogue;
    use crate::simulator::events::cursor::Cursor;
    use crate::simulator::events::expression;
    use crate::simulator::events::statement::PredicateClause;
    use crate::simulator::sql::tokenizer::tokenize;
    use crate::simulator::versions::VersionData;
    use crate::simulator::workload::kinds::{EventKind, FieldValue, Rhythm};
    use proptest::prelude::*;

    fn bind_on(version: ServerVersion, text: &str) -> Result<Predicate, u32> {
        let tokens = tokenize(text).unwrap();
        let mut cursor = Cursor::new(&tokens);
        let expression = expression::parse(&mut cursor).map_err(|message| message.number)?;
        cursor.expect_end().map_err(|message| message.number)?;
        let clause = PredicateClause { expression, length: text.len() };
        let event = catalogue::event("sqlos", "wait_info").unwrap();
        let version = VersionData::of(version).unwrap();
        Predicate::bind(&clause, event, version).map_err(|message| message.number)
    }

    fn bind(text: &str) -> Predicate {
        bind_on(ServerVersion::V2017, text).unwrap_or_else(|number| panic!("{text}: {number}"))
    }

    fn wait() -> EventKind {
        EventKind {
            event: "wait_info",
            values: vec![
                ("wait_type", FieldValue::Number(123)),
                ("opcode", FieldValue::Number(1)),
                ("duration", FieldValue::Number(20)),
                ("sqlserver.session_id", FieldValue::Number(52)),
                ("sqlserver.sql_text", FieldValue::Text("SELECT Count".into())),
            ],
            stack: 0,
            rhythm: Rhythm::PerHour(0),
        }
    }

    fn passing(text: &str, batches: &[u64]) -> Vec<u64> {
        let predicate = bind(text);
        let mut counters = predicate.new_counters();
        batches.iter().map(|count| predicate.passing(&wait(), *count, &mut counters)).collect()
    }

    #[test]
    fn comparisons() {
        for (text, passes) in [
            ("wait_type = 123", true),
            ("([wait_type]=(123))", true),
            ("wait_type <> 123", false),
            ("wait_type != (124)", true),
            ("duration > 20", false),
            ("duration >= 20", true),
            ("duration !> 20", true),
            ("duration !< 21", false),
            ("duration > -1", true),
            ("sqlserver.session_id = 52", true),
            ("[sqlserver].[session_id] < 52", false),
            ("[6fdd0bcb].sqlserver.session_id = 52", true),
            ("[package0].[equal_uint64]([wait_type],(123))", true),
            ("package0.less_than_equal_uint64(duration, 19)", false),
            ("package0.greater_than_int64(duration, 19)", true),
            ("package0.divides_by_uint64(duration, 10)", true),
            ("package0.divides_by_uint64(duration, 0)", false),
            ("sqlserver.sql_text = N'select COUNT'", true),
            ("sqlserver.sql_text LIKE '%lect c_unt'", true),
            ("sqlserver.sql_text LIKE 'x%'", false),
            ("package0.like_i_sql_unicode_string(sqlserver.sql_text, N'%COUNT%')", true),
            ("sqlserver.client_app_name = 'x'", false),
            ("NOT wait_type = 1", true),
            ("NOT (wait_type = 123 AND opcode = 1)", false),
            ("opcode = 0 AND wait_type = 1 OR duration = 20", true),
            ("opcode = 0 AND (wait_type = 1 OR duration = 20)", false),
            ("NOT opcode = 0 AND NOT duration = 1", true),
        ] {
            assert_eq!(passing(text, &[3]), [if passes { 3 } else { 0 }], "{text}");
        }
    }

    #[test]
    fn map_texts_are_taken_from_2022_on() {
        assert!(bind_on(ServerVersion::V2022, "wait_type = 'SOS_SCHEDULER_YIELD'").is_ok());
        assert_eq!(bind_on(ServerVersion::V2022, "wait_type = 'SOS_YIELD'"), Err(25713));
        assert_eq!(bind_on(ServerVersion::V2019, "wait_type = 'SOS_SCHEDULER_YIELD'"), Err(25713));
        let shown = bind_on(ServerVersion::V2022, "wait_type = 'SOS_SCHEDULER_YIELD'").unwrap().to_string();
        assert_eq!(shown, "([package0].[equal_uint64]([wait_type],(145)))");
    }

    #[test]
    fn a_counter_is_exact_across_batches() {
        assert_eq!(passing("package0.counter <= 1000", &[600, 600, 600]), [600, 400, 0]);
        assert_eq!(passing("package0.counter < 1000", &[999, 1]), [999, 0]);
        assert_eq!(passing("package0.counter = 5", &[4, 1, 10]), [0, 1, 0]);
        assert_eq!(passing("package0.counter > 5", &[4, 4]), [0, 3]);
        assert_eq!(passing("package0.divides_by_uint64(package0.counter, 10)", &[9, 1, 25]), [0, 1, 2]);
        assert_eq!(passing("package0.divides_by_uint64(package0.counter, 1)", &[7]), [7]);
    }

    #[test]
    fn a_counter_counts_what_reaches_it() {
        // Nothing gets past the first test, so the counter stands still.
        let predicate = bind("duration >= 100 AND package0.counter <= 2");
        let mut counters = predicate.new_counters();
        assert_eq!(predicate.passing(&wait(), 50, &mut counters), 0);
        let mut long = wait();
        long.values[2].1 = FieldValue::Number(100);
        assert_eq!(predicate.passing(&long, 5, &mut counters), 2);
        // The other way round it counts everything.
        assert_eq!(passing("package0.counter <= 2 AND wait_type = 123", &[5]), [2]);
        // Every tenth, of those the first three.
        let sampled = "package0.divides_by_uint64(package0.counter, 10) AND package0.counter <= 3";
        assert_eq!(passing(sampled, &[25, 100]), [2, 1]);
        // OR: the right side sees only what the left side let fall.
        assert_eq!(passing("package0.counter <= 2 OR package0.counter <= 3", &[10]), [5]);
    }

    proptest! {
        #[test]
        fn batches_pass_as_single_events_do(
            batches in proptest::collection::vec(0_u64..40, 1..8), cap in 0_u64..60, every in 1_u64..7,
        ) {
            let text = format!(
                "wait_type = 123 AND package0.divides_by_uint64(package0.counter, {every}) AND NOT package0.counter > {cap}"
            );
            let total = batches.iter().sum::<u64>();
            let single = passing(&text, &vec![1; total as usize]).into_iter().sum::<u64>();
            prop_assert_eq!(passing(&text, &batches).into_iter().sum::<u64>(), single);
            prop_assert_eq!(single, (total / every).min(cap));
        }
    }
}
