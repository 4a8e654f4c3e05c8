//! Owns looking up what a predicate names: fields, sources, functions, map texts.

use crate::simulator::events::catalogue::{self, COUNTER, EventObject, FieldType};
use crate::simulator::events::errors;
use crate::simulator::events::expression::{Comparator, Expression, Literal, Operator};
use crate::simulator::events::predicate::{COMPARE_FUNCTIONS, MAX_LENGTH, Node, Operation, Predicate, Test};
use crate::simulator::events::statement::PredicateClause;
use crate::simulator::maps;
use crate::simulator::output::Message;
use crate::simulator::versions::VersionData;

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
        if operation == Operation::DividesBy && matches!(value, Literal::Number(divisor) if divisor < 0) {
            return Err(errors::predicate_value(&written, &event));
        }
        let counter = (name == COUNTER).then_some(self.counters);
        self.counters += usize::from(counter.is_some());
        Ok(Test { source: name, operation, value, type_name, counter })
    }

    /// The name in an event's values, and its type.
    fn source(&self, source: &[String], written: &str) -> Result<(String, FieldType), Message> {
        match source {
            [field] => self.event.field(field).map(|(name, field_type)| ((*name).to_owned(), *field_type)),
            [_, _] if written.eq_ignore_ascii_case(COUNTER) => Some((COUNTER.to_owned(), FieldType::Integer("uint64"))),
            [package, name] => {
                catalogue::action(self.version, package, name).map(|action| (action.full_name(), action.field_type))
            }
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
