//! Owns the grammar of values and conditions, by precedence:
//! `OR` < `AND` < `NOT` < comparisons < `+ - & ^ |` < `* / %` < `~`, signs.

use super::{Parsed, Parser};
use crate::simulator::collation::Collation;
use crate::simulator::output::Message;
use crate::simulator::sql::ast::{Arithmetic, Comparison, Condition, Expr, Query};
use crate::simulator::sql::messages::{error, not_simulated};
use crate::simulator::sql::tokenizer::TokenKind;

/// What parentheses can hold before it is known which is meant. Boxed, as it lies on the stack at every level.
pub(super) enum Operand {
    Value(Expr),
    Condition(Box<Condition>),
}

impl Parser<'_> {
    /// A condition; error 4145 for a value.
    pub(super) fn condition(&mut self) -> Parsed<Condition> {
        let operand = self.nested(Self::disjunction)?;
        self.require_condition(operand)
    }

    /// A value; a condition is a syntax error.
    pub(super) fn value(&mut self) -> Parsed<Expr> {
        let operand = self.nested(Self::additive)?;
        self.require_value(operand)
    }

    pub(super) fn values(&mut self) -> Parsed<Vec<Expr>> {
        self.comma_separated(Self::value)
    }

    fn require_condition(&self, operand: Operand) -> Parsed<Condition> {
        match operand {
            Operand::Condition(condition) => Ok(*condition),
            Operand::Value(_) => Err(self.not_a_condition()),
        }
    }

    fn require_value(&self, operand: Operand) -> Parsed<Expr> {
        match operand {
            Operand::Value(value) => Ok(value),
            Operand::Condition(_) => Err(self.unexpected_here()),
        }
    }

    fn not_a_condition(&self) -> Message {
        let near = self.peek().or(self.tokens.last());
        let (text, line) = near.map_or(("", 1), |token| (token.text.as_str(), token.line));
        let text = format!(
            "An expression of non-boolean type specified in a context where a condition is expected, near '{text}'."
        );
        error(4145, 15, 1, text).at_line(line)
    }

    fn disjunction(&mut self) -> Parsed<Operand> {
        let first = self.conjunction()?;
        if !self.is_word("OR") {
            return Ok(first);
        }
        let mut alternatives = vec![self.require_condition(first)?];
        while self.accept_word("OR") {
            let next = self.conjunction()?;
            alternatives.push(self.require_condition(next)?);
        }
        Ok(condition(Condition::Or(alternatives)))
    }

    fn conjunction(&mut self) -> Parsed<Operand> {
        let first = self.negation()?;
        if !self.is_word("AND") {
            return Ok(first);
        }
        let mut conditions = vec![self.require_condition(first)?];
        while self.accept_word("AND") {
            let next = self.negation()?;
            conditions.push(self.require_condition(next)?);
        }
        Ok(condition(Condition::And(conditions)))
    }

    fn negation(&mut self) -> Parsed<Operand> {
        if !self.accept_word("NOT") {
            return self.comparison();
        }
        let operand = self.nested(Self::negation)?;
        let negated = self.require_condition(operand)?;
        Ok(condition(Condition::Not(Box::new(negated))))
    }

    fn comparison(&mut self) -> Parsed<Operand> {
        if self.is_word("EXISTS") {
            self.at += 1;
            return Ok(condition(Condition::Exists(Box::new(self.subquery()?))));
        }
        match self.additive()? {
            Operand::Value(value) => self.compared(value),
            condition @ Operand::Condition(_) => Ok(condition),
        }
    }

    /// What follows the first value of a comparison, if anything.
    fn compared(&mut self, value: Expr) -> Parsed<Operand> {
        if let Some(operator) = self.comparison_operator() {
            if self.is_word("ALL") || self.is_word("ANY") || self.is_word("SOME") {
                return Err(not_simulated("comparisons with ALL, ANY or SOME").at_line(self.line()));
            }
            let operand = self.additive()?;
            let right = self.require_value(operand)?;
            return Ok(condition(Condition::Compare { operator, left: value, right }));
        }
        if self.accept_word("IS") {
            let negated = self.accept_word("NOT");
            self.expect_word("NULL")?;
            return Ok(negate(negated, Condition::IsNull(value)));
        }
        let negated = self.is_word("NOT");
        let ahead = usize::from(negated);
        if self.is_word_at(ahead, "IN") {
            self.at += ahead + 1;
            return Ok(negate(negated, self.membership(value)?));
        }
        if self.is_word_at(ahead, "LIKE") {
            self.at += ahead + 1;
            return Ok(negate(negated, self.like(value)?));
        }
        if self.is_word_at(ahead, "BETWEEN") {
            self.at += ahead + 1;
            let operand = self.additive()?;
            let low = self.require_value(operand)?;
            self.expect_word("AND")?;
            let operand = self.additive()?;
            let high = self.require_value(operand)?;
            return Ok(negate(negated, Condition::Between { value, low, high }));
        }
        Ok(Operand::Value(value))
    }

    fn membership(&mut self, value: Expr) -> Parsed<Condition> {
        if self.is_symbol("(") && (self.is_word_at(1, "SELECT") || self.is_word_at(1, "WITH")) {
            return Ok(Condition::InQuery { value, query: Box::new(self.subquery()?) });
        }
        self.expect_symbol("(")?;
        let list = self.values()?;
        self.expect_symbol(")")?;
        Ok(Condition::InList { value, list })
    }

    fn like(&mut self, value: Expr) -> Parsed<Condition> {
        let operand = self.additive()?;
        let pattern = self.require_value(operand)?;
        let escape = if self.accept_word("ESCAPE") { Some(self.value()?) } else { None };
        Ok(Condition::Like { value, pattern, escape })
    }

    fn comparison_operator(&mut self) -> Option<Comparison> {
        let token = self.peek().filter(|token| token.kind == TokenKind::Symbol)?;
        let operator = match token.text.as_str() {
            "=" => Comparison::Equal,
            "<>" | "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" | "!>" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" | "!<" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.at += 1;
        // Blanks may stand inside an operator.
        Some(match operator {
            Comparison::Less if self.accept_symbol(">") => Comparison::NotEqual,
            Comparison::Less if self.accept_symbol("=") => Comparison::LessOrEqual,
            Comparison::Greater if self.accept_symbol("=") => Comparison::GreaterOrEqual,
            whole => whole,
        })
    }

    fn additive(&mut self) -> Parsed<Operand> {
        self.chain(Self::multiplicative, additive_operator)
    }

    fn multiplicative(&mut self) -> Parsed<Operand> {
        self.chain(Self::signed, multiplicative_operator)
    }

    fn chain(
        &mut self,
        operand: fn(&mut Self) -> Parsed<Operand>,
        operator: fn(&str) -> Option<Arithmetic>,
    ) -> Parsed<Operand> {
        let first = operand(self)?;
        let mut steps = Vec::new();
        while let Some(found) =
            self.peek().filter(|token| token.kind == TokenKind::Symbol).and_then(|token| operator(&token.text))
        {
            if matches!(first, Operand::Condition(_)) {
                return Err(self.unexpected_here());
            }
            self.at += 1;
            let next = operand(self)?;
            steps.push((found, self.require_value(next)?));
        }
        match first {
            Operand::Value(first) if !steps.is_empty() => {
                Ok(Operand::Value(Expr::Chain { first: Box::new(first), steps }))
            }
            unchained => Ok(unchained),
        }
    }

    fn signed(&mut self) -> Parsed<Operand> {
        for (symbol, wrap) in [("-", Expr::Negate as fn(Box<Expr>) -> Expr), ("~", Expr::BitNot)] {
            if self.accept_symbol(symbol) {
                let operand = self.nested(Self::signed)?;
                let value = self.require_value(operand)?;
                return Ok(Operand::Value(wrap(Box::new(value))));
            }
        }
        if self.accept_symbol("+") {
            return self.nested(Self::signed);
        }
        let operand = self.primary()?;
        let operand = self.refuse_xml_method(operand)?;
        self.collated(operand)
    }

    /// `COLLATE name` after a value, any number of times.
    fn collated(&mut self, operand: Operand) -> Parsed<Operand> {
        let mut collation = None;
        while self.is_word("COLLATE") {
            if matches!(operand, Operand::Condition(_)) {
                return Err(self.unexpected_here());
            }
            self.at += 1;
            let line = self.line();
            let name = self.name()?;
            collation = Some(named_collation(&name, line)?);
        }
        Ok(match (operand, collation) {
            (Operand::Value(value), Some(collation)) => {
                Operand::Value(Expr::Collate { value: Box::new(value), collation })
            }
            (operand, _) => operand,
        })
    }

    fn primary(&mut self) -> Parsed<Operand> {
        let Some(token) = self.peek() else { return Err(self.unexpected_here()) };
        let value = match token.kind {
            TokenKind::String => {
                self.at += 1;
                Expr::Text { value: token.text.clone(), national: token.is_national() }
            }
            TokenKind::Number => {
                self.at += 1;
                Expr::Number(token.text.clone())
            }
            TokenKind::Variable if token.text.starts_with("@@") => self.server_variable(token)?,
            TokenKind::Variable => Expr::Variable(self.declared_variable()?),
            TokenKind::Symbol if token.is_symbol("(") => return self.parenthesised(),
            TokenKind::Symbol => return Err(self.unexpected_here()),
            TokenKind::Word | TokenKind::QuotedIdentifier => self.named_value(token)?,
        };
        Ok(Operand::Value(value))
    }

    pub(super) fn subquery(&mut self) -> Parsed<Query> {
        self.expect_symbol("(")?;
        let query = self.nested(Self::query)?;
        self.expect_symbol(")")?;
        Ok(query)
    }

    fn parenthesised(&mut self) -> Parsed<Operand> {
        if self.is_word_at(1, "SELECT") || self.is_word_at(1, "WITH") {
            return Ok(Operand::Value(Expr::Subquery(Box::new(self.subquery()?))));
        }
        self.expect_symbol("(")?;
        let operand = self.nested(Self::disjunction)?;
        self.expect_symbol(")")?;
        Ok(operand)
    }
}

fn negate(negated: bool, condition: Condition) -> Operand {
    Operand::Condition(Box::new(if negated { Condition::Not(Box::new(condition)) } else { condition }))
}

fn condition(condition: Condition) -> Operand {
    Operand::Condition(Box::new(condition))
}

fn additive_operator(symbol: &str) -> Option<Arithmetic> {
    Some(match symbol {
        "+" => Arithmetic::Add,
        "-" => Arithmetic::Subtract,
        "&" => Arithmetic::BitAnd,
        "|" => Arithmetic::BitOr,
        "^" => Arithmetic::BitXor,
        _ => return None,
    })
}

fn multiplicative_operator(symbol: &str) -> Option<Arithmetic> {
    Some(match symbol {
        "*" => Arithmetic::Multiply,
        "/" => Arithmetic::Divide,
        "%" => Arithmetic::Modulo,
        _ => return None,
    })
}

/// A collation by its name, `None` being the database's; error 448 where the name is no collation's.
fn named_collation(name: &str, line: u32) -> Parsed<Option<Collation>> {
    if ["DATABASE_DEFAULT", "CATALOG_DEFAULT"].iter().any(|default| name.eq_ignore_ascii_case(default)) {
        return Ok(None);
    }
    Collation::named(name).map(Some).ok_or_else(|| invalid_collation(name, line))
}

fn invalid_collation(name: &str, line: u32) -> Message {
    error(448, 16, 1, format!("Invalid collation '{name}'.")).at_line(line)
}
