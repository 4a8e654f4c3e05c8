//! Owns binding aggregates, window functions, and the rule that a grouped query shows only groups (error 8120).

use super::Binder;
use super::scope::{Clause, Scope};
use crate::simulator::output::Message;
use crate::simulator::sql::ast::{self, AggregateCall};
use crate::simulator::sql::messages::{error, not_grouped};
use crate::simulator::sql::plan::{AggregatePlan, Condition, Expr, ExprKind, SortBy, SortKey, WindowPlan};
use crate::simulator::sql::types::{is_text, text_length, text_type};
use crate::simulator::value::{Datum, SqlType};

impl Binder<'_> {
    pub(super) fn aggregate(&mut self, call: &AggregateCall, scope: &Scope<'_>) -> Result<Expr, Message> {
        match scope.clause.get() {
            Clause::Output => {}
            Clause::Rows => {
                let text = "An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a \
                            HAVING clause or a select list, and the column being aggregated is an outer reference.";
                return Err(error(147, 15, 1, text));
            }
            Clause::GroupBy => {
                let text = "Cannot use an aggregate or a subquery in an expression used for the group by list of a \
                            GROUP BY clause.";
                return Err(error(144, 15, 1, text));
            }
            Clause::Aggregated => {
                let text =
                    "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.";
                return Err(error(130, 15, 1, text));
            }
        }
        let plan = self.aggregate_plan(call, scope)?;
        let collation = plan.argument.as_ref().and_then(|argument| argument.collation);
        let sql_type = plan.result;
        let mut aggregates = scope.aggregates.borrow_mut();
        let place = aggregates.iter().position(|known| *known == plan).unwrap_or_else(|| {
            aggregates.push(plan);
            aggregates.len() - 1
        });
        Ok(Expr { kind: ExprKind::Aggregate(place), sql_type, nullable: !call.function.counts(), collation })
    }

    fn aggregate_plan(&mut self, call: &AggregateCall, scope: &Scope<'_>) -> Result<AggregatePlan, Message> {
        let (argument, separator, order) = self.in_clause(scope, Clause::Aggregated, |binder| {
            let argument = call.argument.as_ref().map(|argument| binder.expr(argument, scope)).transpose()?;
            let separator = call.separator.as_ref().map(|separator| binder.expr(separator, scope)).transpose()?;
            Ok((argument, separator, binder.sort_values(&call.order_by, scope)?))
        })?;
        if argument.as_ref().is_some_and(holds_subquery) {
            let text = "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.";
            return Err(error(130, 15, 1, text));
        }
        let argument = match argument {
            Some(argument) if separator.is_some() && !is_text(argument.sql_type) => {
                let sql_type = text_type(true, text_length(argument.sql_type));
                Some(super::coerce(argument, sql_type)?)
            }
            Some(argument) if argument.is_null_literal() && !call.function.counts() => {
                return Err(error(8117, 16, 1, "Operand data type NULL is invalid for this aggregate operator."));
            }
            argument => argument,
        };
        let argument_type = argument.as_ref().map_or(SqlType::Int, |argument| argument.sql_type);
        let result = call.function.result_type(argument_type)?;
        Ok(AggregatePlan { function: call.function, distinct: call.distinct, argument, separator, order, result })
    }

    pub(super) fn window(
        &mut self,
        aggregate: Option<&AggregateCall>,
        partition_by: &[ast::Expr],
        order_by: &[ast::OrderItem],
        scope: &Scope<'_>,
    ) -> Result<Expr, Message> {
        if scope.clause.get() != Clause::Output {
            let text = "Windowed functions can only appear in the SELECT or ORDER BY clauses.";
            return Err(error(4108, 15, 1, text));
        }
        let aggregate = aggregate.map(|call| self.aggregate_plan(call, scope)).transpose()?;
        let (sql_type, nullable) = aggregate
            .as_ref()
            .map_or((SqlType::BigInt, true), |aggregate| (aggregate.result, !aggregate.function.counts()));
        let (partition_by, order) = self.in_clause(scope, Clause::Aggregated, |binder| {
            Ok((binder.exprs(partition_by, scope)?, binder.sort_values(order_by, scope)?))
        })?;
        let mut windows = scope.windows.borrow_mut();
        windows.push(WindowPlan { aggregate, partition_by, order });
        Ok(Expr::new(ExprKind::Window(windows.len() - 1), sql_type, nullable))
    }

    /// ORDER BY inside an aggregate or OVER: values only, no ordinals.
    fn sort_values(&mut self, items: &[ast::OrderItem], scope: &Scope<'_>) -> Result<Vec<SortKey>, Message> {
        items
            .iter()
            .map(|item| {
                let value = self.expr(&item.expr, scope)?;
                let collation = self.collation(&[&value]);
                Ok(SortKey { by: SortBy::Value(value), descending: item.descending, collation })
            })
            .collect()
    }
}

fn holds_subquery(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |part| {
        found |= matches!(part.kind, ExprKind::Subquery(_));
        true
    });
    found
}

/// Error 8120 (8121 for HAVING) for a column that is neither grouped nor aggregated.
pub(super) fn check_grouped(expr: &Expr, keys: &[Expr], scope: &Scope<'_>, place: &str) -> Result<(), Message> {
    let mut wrong = None;
    expr.walk(&mut |part| visit(part, keys, &mut wrong));
    wrong.map_or(Ok(()), |(source, column)| Err(not_grouped(&scope.column_name(source, column), place)))
}

pub(super) fn check_grouped_condition(condition: &Condition, keys: &[Expr], scope: &Scope<'_>) -> Result<(), Message> {
    let mut wrong = None;
    condition.walk(&mut |part| visit(part, keys, &mut wrong));
    wrong.map_or(Ok(()), |(source, column)| Err(not_grouped(&scope.column_name(source, column), "HAVING clause")))
}

fn visit(part: &Expr, keys: &[Expr], wrong: &mut Option<(usize, usize)>) -> bool {
    if keys.contains(part) {
        return false;
    }
    if let ExprKind::Column { depth: 0, source, column } = part.kind {
        wrong.get_or_insert((source, column));
    }
    true
}

/// Whether the expression is the same for every row.
pub(super) fn is_constant(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(Datum::Int(_) | Datum::Text(_) | Datum::Decimal(_) | Datum::Float(_)))
}
