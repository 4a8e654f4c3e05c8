//! Owns binding values.

use super::query::more_than_one_column;
use super::scope::{Clause, Scope};
use super::{Binder, cast, coerce, common_type, comparable};
use crate::simulator::output::Message;
use crate::simulator::sql::arithmetic::{negate, result_type};
use crate::simulator::sql::ast::{self, Arithmetic};
use crate::simulator::sql::convert::{check, decimal, parse_hexadecimal};
use crate::simulator::sql::functions::Function;
use crate::simulator::sql::messages::{error, invalid_argument_type, invalid_operand, undeclared_variable};
use crate::simulator::sql::plan::{ChainStep, Expr, ExprKind};
use crate::simulator::sql::types::{
    Family, MAX_PRECISION, family, is_national, is_number, is_text, literal_text_type, name, text_length, text_type,
};
use crate::simulator::value::{Datum, SqlType};

impl Binder<'_> {
    pub(super) fn exprs(&mut self, exprs: &[ast::Expr], scope: &Scope<'_>) -> Result<Vec<Expr>, Message> {
        exprs.iter().map(|expr| self.expr(expr, scope)).collect()
    }

    pub(super) fn expr(&mut self, expr: &ast::Expr, scope: &Scope<'_>) -> Result<Expr, Message> {
        match expr {
            ast::Expr::Null => Ok(Expr::literal(Datum::Null, SqlType::Int)),
            ast::Expr::Text { value, national } => {
                let sql_type = literal_text_type(*national, value.encode_utf16().count());
                Ok(Expr::literal(Datum::Text(value.clone()), sql_type))
            }
            ast::Expr::Number(text) => number(text),
            ast::Expr::Variable(name) => {
                let sql_type = self.variables.sql_type(name).ok_or_else(|| undeclared_variable(name, 0))?;
                Ok(Expr::new(ExprKind::Variable(name.clone()), sql_type, true))
            }
            ast::Expr::Column { parts, line } => scope.column(parts, *line),
            ast::Expr::Chain { first, steps } => self.chain(first, steps, scope),
            ast::Expr::Negate(value) => {
                let value = self.expr(value, scope)?;
                negated(value)
            }
            ast::Expr::BitNot(value) => {
                let value = self.expr(value, scope)?;
                if family(value.sql_type) != Family::Integer {
                    return Err(invalid_operand(name(value.sql_type), "'~'"));
                }
                let (sql_type, nullable) = (value.sql_type, value.nullable);
                Ok(Expr::new(ExprKind::BitNot(Box::new(value)), sql_type, nullable))
            }
            ast::Expr::Call { function, arguments } => {
                let arguments = self.exprs(arguments, scope)?;
                call(function, arguments)
            }
            ast::Expr::Aggregate(aggregate) => self.aggregate(aggregate, scope),
            ast::Expr::Window { aggregate, partition_by, order_by } => {
                self.window(aggregate.as_deref(), partition_by, order_by, scope)
            }
            ast::Expr::SimpleCase { operand, branches, otherwise } => {
                self.simple_case(operand, branches, otherwise.as_deref(), scope)
            }
            ast::Expr::SearchedCase { branches, otherwise } => {
                self.searched_case(branches, otherwise.as_deref(), scope)
            }
            ast::Expr::Coalesce(values) => {
                let values = self.exprs(values, scope)?;
                if values.iter().all(Expr::is_null_literal) {
                    let text = "At least one of the arguments to COALESCE must be an expression that is not the NULL \
                                constant.";
                    return Err(error(4127, 16, 1, text));
                }
                let sql_type = common_type(&values.iter().collect::<Vec<_>>())?;
                let nullable = values.iter().all(|value| value.nullable);
                let values = values.into_iter().map(|value| coerce(value, sql_type)).collect::<Result<_, _>>()?;
                Ok(Expr::new(ExprKind::Coalesce(values), sql_type, nullable))
            }
            ast::Expr::NullIf(value, other) => {
                let (value, other) = (self.expr(value, scope)?, self.expr(other, scope)?);
                if value.is_null_literal() {
                    let text = "The type of the first argument to NULLIF cannot be the NULL constant because the type \
                                of the first argument has to be known.";
                    return Err(error(4151, 16, 1, text));
                }
                let compared_as = common_type(&[&value, &other])?;
                let other = Box::new(comparable(other, compared_as)?);
                let sql_type = value.sql_type;
                Ok(Expr::new(ExprKind::NullIf { value: Box::new(value), other, compared_as }, sql_type, true))
            }
            ast::Expr::IsNull(value, replacement) => {
                let (value, replacement) = (self.expr(value, scope)?, self.expr(replacement, scope)?);
                // The first argument's type wins, unless it is the literal NULL.
                let sql_type = if value.is_null_literal() { replacement.sql_type } else { value.sql_type };
                let nullable = value.nullable && replacement.nullable;
                let values = vec![coerce(value, sql_type)?, coerce(replacement, sql_type)?];
                Ok(Expr::new(ExprKind::Coalesce(values), sql_type, nullable))
            }
            ast::Expr::Convert { value, to, style, lenient } => {
                let value = self.expr(value, scope)?;
                let style = style.as_ref().map(|style| self.expr(style, scope)).transpose()?;
                let style = style.map(|style| coerce(style, SqlType::Int)).transpose()?.map(Box::new);
                if !value.is_null_literal() {
                    check(value.sql_type, *to)?;
                }
                let nullable = value.nullable || *lenient;
                let kind = ExprKind::Convert { value: Box::new(value), style, lenient: *lenient };
                Ok(Expr::new(kind, *to, nullable))
            }
            ast::Expr::Collate { value, collation } => {
                let value = self.expr(value, scope)?;
                if !is_text(value.sql_type) {
                    let text = format!("Expression type {} is invalid for COLLATE clause.", name(value.sql_type));
                    return Err(error(447, 16, 0, text));
                }
                Ok(Expr { collation: *collation, ..value })
            }
            ast::Expr::Subquery(query) => {
                let plan = self.subquery(query, scope)?;
                let column = plan.columns.first().ok_or_else(more_than_one_column)?;
                if plan.columns.len() > 1 {
                    return Err(more_than_one_column());
                }
                let sql_type = column.sql_type;
                Ok(Expr::new(ExprKind::Subquery(Box::new(plan)), sql_type, true))
            }
        }
    }

    fn chain(
        &mut self,
        first: &ast::Expr,
        steps: &[(Arithmetic, ast::Expr)],
        scope: &Scope<'_>,
    ) -> Result<Expr, Message> {
        let mut first = self.expr(first, scope)?;
        let mut sql_type = first.sql_type;
        let mut nullable = first.nullable;
        let mut collation = first.collation;
        let mut untyped = first.is_null_literal();
        let mut bound = Vec::with_capacity(steps.len());
        for (operator, operand) in steps {
            let mut operand = self.expr(operand, scope)?;
            if operand.is_null_literal() {
                operand.sql_type = sql_type;
            } else if untyped {
                first.sql_type = operand.sql_type;
                sql_type = operand.sql_type;
                untyped = false;
            }
            if matches!(sql_type, SqlType::Decimal { .. }) {
                operand = as_decimal_literal(operand);
            } else if bound.is_empty() && matches!(operand.sql_type, SqlType::Decimal { .. }) {
                first = as_decimal_literal(first);
                sql_type = first.sql_type;
            }
            sql_type = result_type(*operator, sql_type, operand.sql_type)?;
            nullable |= operand.nullable;
            collation = collation.or(operand.collation);
            bound.push(ChainStep { operator: *operator, operand, result: sql_type });
        }
        Ok(Expr { kind: ExprKind::Chain { first: Box::new(first), steps: bound }, sql_type, nullable, collation })
    }

    fn simple_case(
        &mut self,
        operand: &ast::Expr,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        scope: &Scope<'_>,
    ) -> Result<Expr, Message> {
        let operand = self.expr(operand, scope)?;
        let mut tests = Vec::new();
        let mut answers = Vec::new();
        for (test, answer) in branches {
            tests.push(self.expr(test, scope)?);
            answers.push(self.expr(answer, scope)?);
        }
        let mut compared = vec![&operand];
        compared.extend(&tests);
        let compared_as = common_type(&compared)?;
        let operand = Box::new(comparable(operand, compared_as)?);
        let otherwise = otherwise.map(|otherwise| self.expr(otherwise, scope)).transpose()?;
        let (answers, otherwise, sql_type, nullable) = case_answers(answers, otherwise)?;
        let tests = tests.into_iter().map(|test| comparable(test, compared_as)).collect::<Result<Vec<_>, _>>()?;
        let branches = tests.into_iter().zip(answers).collect();
        Ok(Expr::new(ExprKind::SimpleCase { operand, branches, otherwise }, sql_type, nullable))
    }

    fn searched_case(
        &mut self,
        branches: &[(ast::Condition, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        scope: &Scope<'_>,
    ) -> Result<Expr, Message> {
        let mut tests = Vec::new();
        let mut answers = Vec::new();
        for (test, answer) in branches {
            tests.push(self.condition(test, scope)?);
            answers.push(self.expr(answer, scope)?);
        }
        let otherwise = otherwise.map(|otherwise| self.expr(otherwise, scope)).transpose()?;
        let (answers, otherwise, sql_type, nullable) = case_answers(answers, otherwise)?;
        let branches = tests.into_iter().zip(answers).collect();
        Ok(Expr::new(ExprKind::SearchedCase { branches, otherwise }, sql_type, nullable))
    }

    /// Runs `bind` while the scope is in another clause.
    pub(super) fn in_clause<T>(
        &mut self,
        scope: &Scope<'_>,
        clause: Clause,
        bind: impl FnOnce(&mut Self) -> Result<T, Message>,
    ) -> Result<T, Message> {
        let before = scope.clause.replace(clause);
        let bound = bind(self);
        scope.clause.set(before);
        bound
    }
}

type CaseAnswers = (Vec<Expr>, Option<Box<Expr>>, SqlType, bool);

/// Brings the answers of a CASE to one type (error 8133 when all are the literal NULL).
fn case_answers(answers: Vec<Expr>, otherwise: Option<Expr>) -> Result<CaseAnswers, Message> {
    let all: Vec<&Expr> = answers.iter().chain(&otherwise).collect();
    if all.iter().all(|answer| answer.is_null_literal()) {
        let text = "At least one of the result expressions in a CASE specification must be an expression other than \
                    the NULL constant.";
        return Err(error(8133, 16, 1, text));
    }
    let sql_type = common_type(&all)?;
    let nullable = otherwise.is_none() || all.iter().any(|answer| answer.nullable);
    let answers = answers.into_iter().map(|answer| coerce(answer, sql_type)).collect::<Result<_, _>>()?;
    let otherwise = otherwise.map(|otherwise| coerce(otherwise, sql_type)).transpose()?.map(Box::new);
    Ok((answers, otherwise, sql_type, nullable))
}

/// Beside a decimal an integer literal is a decimal of just its digits.
fn as_decimal_literal(value: Expr) -> Expr {
    let ExprKind::Literal(Datum::Int(number)) = value.kind else { return value };
    let (precision, scale) = decimal::literal_size(i128::from(number), 0);
    Expr::literal(Datum::Decimal(i128::from(number)), SqlType::Decimal { precision, scale })
}

/// The minus of a literal belongs to the literal.
fn negated(value: Expr) -> Result<Expr, Message> {
    if !is_number(value.sql_type) || value.sql_type == SqlType::Bit {
        return Err(invalid_operand(name(value.sql_type), "minus"));
    }
    if let ExprKind::Literal(literal) = &value.kind
        && let Ok(literal) = negate(literal, value.sql_type)
    {
        return Ok(Expr::literal(literal, value.sql_type));
    }
    let (sql_type, nullable) = (value.sql_type, value.nullable);
    Ok(Expr::new(ExprKind::Negate(Box::new(value)), sql_type, nullable))
}

/// A number as written: int, beyond it and with a point numeric, with an exponent float, `0x…` varbinary.
fn number(text: &str) -> Result<Expr, Message> {
    if let Some(digits) = text.strip_prefix("0x") {
        let padded = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_owned() };
        let bytes = parse_hexadecimal(&padded).unwrap_or_default();
        let length = u16::try_from(bytes.len().max(1)).ok().filter(|length| *length <= 8000);
        return Ok(Expr::literal(Datum::Binary(bytes), SqlType::VarBinary(length)));
    }
    if text.contains('e') {
        let float: f64 = text.parse().unwrap_or(f64::INFINITY);
        if !float.is_finite() {
            let text = format!("The floating point value '{text}' is out of the range of computer representation.");
            return Err(error(168, 15, 1, text));
        }
        return Ok(Expr::literal(Datum::Float(float), SqlType::Float));
    }
    if let Ok(int) = text.parse::<i32>() {
        return Ok(Expr::literal(Datum::Int(i64::from(int)), SqlType::Int));
    }
    let parsed = decimal::parse(text).map(|(value, scale)| (value, decimal::literal_size(value, scale)));
    match parsed {
        Some((value, (precision, scale))) if precision <= MAX_PRECISION => {
            Ok(Expr::literal(Datum::Decimal(value), SqlType::Decimal { precision, scale }))
        }
        _ => {
            let text =
                format!("The number '{text}' is out of the range for numeric representation (maximum precision 38).");
            Err(error(1007, 15, 1, text))
        }
    }
}

fn call(function: &'static Function, arguments: Vec<Expr>) -> Result<Expr, Message> {
    let types: Vec<SqlType> = arguments.iter().map(|argument| argument.sql_type).collect();
    let signature = (function.signature)(&types).map_err(|place| {
        let sql_type = types.get(place.saturating_sub(1)).copied().unwrap_or(SqlType::Int);
        invalid_argument_type(name(sql_type), place, &function.name.to_ascii_lowercase())
    })?;
    let nullable = !function.name.starts_with("@@") && !function.name.starts_with("CONCAT");
    let result = known_length(function, &arguments, signature.result);
    let arguments = arguments
        .into_iter()
        .zip(signature.parameters)
        .map(|(argument, parameter)| {
            let fits = is_text(argument.sql_type) && is_text(parameter) && text_length(parameter).is_none();
            if fits { Ok(argument) } else { cast(argument, parameter) }
        })
        .collect::<Result<_, _>>()?;
    Ok(Expr::new(ExprKind::Call { function, arguments }, result, nullable))
}

/// LEFT, RIGHT and SUBSTRING by a literal length are no longer than that.
fn known_length(function: &Function, arguments: &[Expr], result: SqlType) -> SqlType {
    let place = match function.name {
        "LEFT" | "RIGHT" => 1,
        "SUBSTRING" => 2,
        _ => return result,
    };
    let Some(ExprKind::Literal(Datum::Int(length))) = arguments.get(place).map(|argument| &argument.kind) else {
        return result;
    };
    let length = u16::try_from(*length).unwrap_or(u16::MAX);
    match text_length(result) {
        Some(longest) if is_text(result) => text_type(is_national(result), Some(longest.min(length))),
        _ => result,
    }
}
