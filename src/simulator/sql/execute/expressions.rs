//! Owns evaluating values.

use super::{Env, Executor};
use crate::simulator::output::Message;
use crate::simulator::sql::arithmetic;
use crate::simulator::sql::compare::{Collation, order};
use crate::simulator::sql::convert::{DEFAULT_STYLE, convert};
use crate::simulator::sql::functions::{Call, Function};
use crate::simulator::sql::messages::{Failure, too_many_rows_in_subquery};
use crate::simulator::sql::plan::{ChainStep, Condition, Expr, ExprKind, QueryPlan};
use crate::simulator::value::{Datum, SqlType};
use std::borrow::Cow;
use std::cmp::Ordering;

pub(super) type Value<'v> = Result<Cow<'v, Datum>, Failure>;

impl Executor<'_> {
    /// What is read from a row or a literal is borrowed, not copied.
    pub(in crate::simulator::sql) fn evaluate<'v>(&self, expr: &'v Expr, env: &'v Env<'v>) -> Value<'v> {
        match &expr.kind {
            ExprKind::Literal(value) => Ok(Cow::Borrowed(value)),
            ExprKind::Column { depth, source, column } => Ok(column_of(env, *depth, *source, *column)),
            ExprKind::Aggregate(place) => Ok(env.aggregates.get(*place).map_or(NULL, Cow::Borrowed)),
            ExprKind::Window(place) => Ok(env.windows.get(*place).map_or(NULL, Cow::Borrowed)),
            ExprKind::Variable(name) => {
                Ok(Cow::Owned(self.variables.borrow().value(name).cloned().unwrap_or(Datum::Null)))
            }
            ExprKind::Chain { first, steps } => self.chain(first, steps, env),
            ExprKind::Negate(value) => {
                let sql_type = value.sql_type;
                Ok(Cow::Owned(arithmetic::negate(&*self.evaluate(value, env)?, sql_type)?))
            }
            ExprKind::BitNot(value) => {
                Ok(Cow::Owned(arithmetic::bit_not(&*self.evaluate(value, env)?, value.sql_type)))
            }
            ExprKind::Call { function, arguments } => self.call(function, arguments, expr.sql_type, env),
            ExprKind::SimpleCase { operand, branches, otherwise } => {
                self.simple_case(operand, branches, otherwise.as_deref(), env)
            }
            ExprKind::SearchedCase { branches, otherwise } => self.searched_case(branches, otherwise.as_deref(), env),
            ExprKind::Coalesce(values) => self.coalesce(values, env),
            ExprKind::NullIf { value, other, compared_as } => self.null_if(value, other, *compared_as, env),
            ExprKind::Convert { value, style, lenient } => {
                self.conversion(value, style.as_deref(), *lenient, expr.sql_type, env)
            }
            ExprKind::Subquery(plan) => self.scalar(plan, env),
        }
    }

    fn chain<'v>(&self, first: &'v Expr, steps: &'v [ChainStep], env: &'v Env<'v>) -> Value<'v> {
        let mut value = self.evaluate(first, env)?;
        let mut sql_type = first.sql_type;
        for step in steps {
            let operand = self.evaluate(&step.operand, env)?;
            let right = (operand, step.operand.sql_type);
            value = arithmetic::apply(step.operator, (value, sql_type), right, step.result)?;
            sql_type = step.result;
        }
        Ok(value)
    }

    fn call<'v>(
        &self,
        function: &'static Function,
        arguments: &'v [Expr],
        result: SqlType,
        env: &'v Env<'v>,
    ) -> Value<'v> {
        let mut values = Vec::with_capacity(arguments.len());
        let mut types = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let value = self.evaluate(argument, env)?;
            if function.strict && *value == Datum::Null {
                return Ok(NULL);
            }
            values.push(value);
            types.push(argument.sql_type);
        }
        let call = Call { arguments: &values, types: &types, result, server: &self.server };
        // No answer is longer than its type says.
        Ok(convert(Cow::Owned((function.evaluate)(&call)?), result, result, DEFAULT_STYLE)?)
    }

    fn simple_case<'v>(
        &self,
        operand: &'v Expr,
        branches: &'v [(Expr, Expr)],
        otherwise: Option<&'v Expr>,
        env: &'v Env<'v>,
    ) -> Value<'v> {
        let value = self.evaluate(operand, env)?;
        for (test, answer) in branches {
            let test = self.evaluate(test, env)?;
            if equal(&value, &test, self.collation(operand)) {
                return self.evaluate(answer, env);
            }
        }
        otherwise.map_or(Ok(NULL), |otherwise| self.evaluate(otherwise, env))
    }

    fn searched_case<'v>(
        &self,
        branches: &'v [(Condition, Expr)],
        otherwise: Option<&'v Expr>,
        env: &'v Env<'v>,
    ) -> Value<'v> {
        for (test, answer) in branches {
            if self.holds(test, env)? == Some(true) {
                return self.evaluate(answer, env);
            }
        }
        otherwise.map_or(Ok(NULL), |otherwise| self.evaluate(otherwise, env))
    }

    fn coalesce<'v>(&self, values: &'v [Expr], env: &'v Env<'v>) -> Value<'v> {
        for value in values {
            let value = self.evaluate(value, env)?;
            if *value != Datum::Null {
                return Ok(value);
            }
        }
        Ok(NULL)
    }

    fn null_if<'v>(&self, value: &'v Expr, other: &'v Expr, compared_as: SqlType, env: &'v Env<'v>) -> Value<'v> {
        let (sql_type, collation) = (value.sql_type, self.collation(value));
        let value = self.evaluate(value, env)?;
        let other = self.evaluate(other, env)?;
        let compared = convert(Cow::Borrowed(&*value), sql_type, compared_as, DEFAULT_STYLE)?;
        if equal(&compared, &other, collation) {
            return Ok(NULL);
        }
        drop(compared);
        Ok(value)
    }

    fn conversion<'v>(
        &self,
        value: &'v Expr,
        style: Option<&'v Expr>,
        lenient: bool,
        to: SqlType,
        env: &'v Env<'v>,
    ) -> Value<'v> {
        let style = match style {
            None => DEFAULT_STYLE,
            Some(style) => match &*self.evaluate(style, env)? {
                Datum::Int(style) => *style,
                _ => return Ok(NULL),
            },
        };
        let from = value.sql_type;
        let mut given = self.evaluate(value, env)?;
        if to == SqlType::DateTime
            && style == DEFAULT_STYLE
            && let Datum::Text(text) = &*given
            && let Some(text) = self.server.host.language().datetime_text(text)
        {
            given = Cow::Owned(Datum::Text(text));
        }
        match convert(given, from, to, style) {
            Ok(converted) => Ok(converted),
            Err(_) if lenient => Ok(NULL),
            Err(message) => Err(message.into()),
        }
    }

    fn scalar<'v>(&self, plan: &'v QueryPlan, env: &'v Env<'v>) -> Value<'v> {
        let rows = self.subquery_rows(plan, env)?;
        match rows.as_slice() {
            [] => Ok(NULL),
            [row] => Ok(Cow::Owned(row.first().cloned().unwrap_or(Datum::Null))),
            _ => Err(too_many_rows_in_subquery().into()),
        }
    }

    /// An integer, or `None` for NULL.
    pub(in crate::simulator::sql) fn integer(&self, expr: &Expr) -> Result<Option<i64>, Failure> {
        Ok(match &*self.evaluate(expr, &Env::EMPTY)? {
            Datum::Int(number) => Some(*number),
            _ => None,
        })
    }
}

const NULL: Cow<'static, Datum> = Cow::Borrowed(&Datum::Null);

fn column_of<'v>(env: &'v Env<'v>, depth: usize, source: usize, column: usize) -> Cow<'v, Datum> {
    let mut env = env;
    for _ in 0..depth {
        let Some(outer) = env.outer else { return NULL };
        env = outer;
    }
    let row = env.row.get(source).and_then(Option::as_ref);
    row.and_then(|row| row.get(column)).map_or(NULL, Cow::Borrowed)
}

/// Equal, and neither NULL.
fn equal(left: &Datum, right: &Datum, collation: Collation) -> bool {
    *left != Datum::Null && *right != Datum::Null && order(left, right, collation) == Ordering::Equal
}

/// Error for conversions outside expressions.
pub(in crate::simulator::sql) fn convert_owned(value: Datum, from: SqlType, to: SqlType) -> Result<Datum, Message> {
    convert(Cow::Owned(value), from, to, DEFAULT_STYLE).map(Cow::into_owned)
}
