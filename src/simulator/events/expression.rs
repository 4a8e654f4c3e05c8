//! Owns the grammar of predicates: AND, OR, NOT, parentheses, comparisons by operator and by function.

use crate::simulator::events::cursor::{Cursor, Parsed};
use crate::simulator::events::errors;
use crate::simulator::sql::tokenizer::TokenKind;

/// A constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// A whole number; wide enough for every unsigned and signed 64-bit value.
    Number(i128),
    /// Text.
    Text(String),
}

/// An operator between a source and a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
}

impl Operator {
    const SYMBOLS: [(&'static str, Self); 9] = [
        ("=", Self::Equal),
        ("<>", Self::NotEqual),
        ("!=", Self::NotEqual),
        ("<", Self::Less),
        ("<=", Self::LessOrEqual),
        ("!>", Self::LessOrEqual),
        (">", Self::Greater),
        (">=", Self::GreaterOrEqual),
        ("!<", Self::GreaterOrEqual),
    ];

    /// As it is written.
    pub fn text(self) -> &'static str {
        Self::SYMBOLS.iter().find(|(_, operator)| *operator == self).map_or("LIKE", |(text, _)| text)
    }
}

/// How a source and a constant are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparator {
    /// `source operator value`.
    Operator(Operator),
    /// `package.function(source, value)`: the name without its package.
    Function(String),
}

/// A predicate, names not yet looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// Both; the left side is evaluated first.
    And(Box<Expression>, Box<Expression>),
    /// Either; the left side is evaluated first.
    Or(Box<Expression>, Box<Expression>),
    /// Not.
    Not(Box<Expression>),
    /// A comparison.
    Comparison {
        /// A field, or `package.source`.
        source: Vec<String>,
        /// How.
        comparator: Comparator,
        /// With what.
        value: Literal,
    },
}

/// Deepest nesting of parentheses and NOT.
const DEPTH: usize = 100;

/// Longest chain of AND and OR, which binding and evaluation descend into.
const TERMS: usize = 1_000;

struct Limits {
    depth: usize,
    terms: usize,
}

/// Parses an expression. Errors: 102, 156, 191.
pub fn parse(cursor: &mut Cursor<'_>) -> Parsed<Expression> {
    or(cursor, &mut Limits { depth: 0, terms: 0 })
}

fn or(cursor: &mut Cursor<'_>, limits: &mut Limits) -> Parsed<Expression> {
    let mut left = and(cursor, limits)?;
    while cursor.take_word("OR") {
        left = Expression::Or(Box::new(left), Box::new(and(cursor, limits)?));
    }
    Ok(left)
}

fn and(cursor: &mut Cursor<'_>, limits: &mut Limits) -> Parsed<Expression> {
    let mut left = not(cursor, limits)?;
    while cursor.take_word("AND") {
        left = Expression::And(Box::new(left), Box::new(not(cursor, limits)?));
    }
    Ok(left)
}

fn not(cursor: &mut Cursor<'_>, limits: &mut Limits) -> Parsed<Expression> {
    limits.depth += 1;
    limits.terms += 1;
    if limits.depth > DEPTH || limits.terms > TERMS {
        return Err(errors::nested_too_deeply());
    }
    let found = if cursor.take_word("NOT") {
        Expression::Not(Box::new(not(cursor, limits)?))
    } else if cursor.take_symbol("(") {
        let inner = or(cursor, limits)?;
        cursor.expect_symbol(")")?;
        inner
    } else {
        comparison(cursor)?
    };
    limits.depth -= 1;
    Ok(found)
}

fn comparison(cursor: &mut Cursor<'_>) -> Parsed<Expression> {
    let mut name = dotted_name(cursor)?;
    if cursor.take_symbol("(") {
        let source = dotted_name(cursor)?;
        cursor.expect_symbol(",")?;
        let value = literal(cursor)?;
        cursor.expect_symbol(")")?;
        let function = name.pop().unwrap_or_default();
        return Ok(Expression::Comparison { source, comparator: Comparator::Function(function), value });
    }
    let operator = if cursor.take_word("LIKE") {
        Operator::Like
    } else {
        let symbol = cursor.peek().filter(|token| token.kind == TokenKind::Symbol);
        let known =
            symbol.and_then(|token| Operator::SYMBOLS.iter().find(|(text, _)| *text == token.text)).map(|(_, op)| *op);
        let operator = known.ok_or_else(|| cursor.unexpected())?;
        cursor.bump();
        operator
    };
    Ok(Expression::Comparison { source: name, comparator: Comparator::Operator(operator), value: literal(cursor)? })
}

/// One to three names, the module's GUID left out.
fn dotted_name(cursor: &mut Cursor<'_>) -> Parsed<Vec<String>> {
    let mut parts = vec![cursor.expect_name()?.to_owned()];
    while parts.len() < 3 && cursor.take_symbol(".") {
        parts.push(cursor.expect_name()?.to_owned());
    }
    if parts.len() == 3 {
        parts.remove(0);
    }
    Ok(parts)
}

/// A number or text, in any number of parentheses.
pub fn literal(cursor: &mut Cursor<'_>) -> Parsed<Literal> {
    let mut open = 0;
    while cursor.take_symbol("(") {
        open += 1;
    }
    let value = plain_literal(cursor)?;
    for _ in 0..open {
        cursor.expect_symbol(")")?;
    }
    Ok(value)
}

fn plain_literal(cursor: &mut Cursor<'_>) -> Parsed<Literal> {
    if let Some(token) = cursor.peek().filter(|token| token.kind == TokenKind::String) {
        cursor.bump();
        return Ok(Literal::Text(token.text.clone()));
    }
    let negative = cursor.take_symbol("-");
    let number = i128::from(cursor.expect_integer()?);
    Ok(Literal::Number(if negative { -number } else { number }))
}
