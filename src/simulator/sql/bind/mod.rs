//! Owns binding: names to columns, expressions to types, a syntax tree to a plan. What cannot be typed is refused.

mod conditions;
mod expressions;
mod grouping;
mod query;
mod scope;
mod sources;

use crate::simulator::collation::Collation;
use crate::simulator::host::Host;
use crate::simulator::output::Message;
use crate::simulator::sql::convert::check;
use crate::simulator::sql::messages::{error, operand_clash};
use crate::simulator::sql::plan::{Condition, Expr, ExprKind, QueryPlan};
use crate::simulator::sql::types::{Family, common, family, is_text, name};
use crate::simulator::sql::{ast, variables::Variables};
use crate::simulator::value::{Datum, SqlType};
use scope::Scope;
use std::rc::Rc;

/// Binds one statement.
pub(super) struct Binder<'b> {
    host: &'b dyn Host,
    /// The current database.
    database: &'b str,
    variables: &'b Variables,
    /// CTEs in view, innermost last.
    visible_ctes: Vec<(String, usize)>,
    /// All CTEs of the statement; plans refer to them by place.
    ctes: Vec<Rc<QueryPlan>>,
    next_id: usize,
}

impl<'b> Binder<'b> {
    pub(super) fn new(host: &'b dyn Host, database: &'b str, variables: &'b Variables) -> Self {
        Self { host, database, variables, visible_ctes: Vec::new(), ctes: Vec::new(), next_id: 0 }
    }

    /// The server's collation, by which names are told apart.
    fn names(&self) -> Collation {
        self.host.collation()
    }

    /// How these compare with each other: by the first collation that one of them has of its own, else by the server's.
    fn collation(&self, values: &[&Expr]) -> Collation {
        values.iter().find_map(|value| value.collation).unwrap_or_else(|| self.names())
    }

    /// A SELECT statement.
    pub(super) fn statement(&mut self, query: &ast::Query) -> Result<QueryPlan, Message> {
        self.query(query, None, query::Place::Statement)
    }

    /// A value outside any query.
    pub(super) fn standalone(&mut self, expr: &ast::Expr) -> Result<Expr, Message> {
        self.expr(expr, &Scope::new(None, self.names()))
    }

    /// A condition outside any query.
    pub(super) fn standalone_condition(&mut self, condition: &ast::Condition) -> Result<Condition, Message> {
        self.condition(condition, &Scope::new(None, self.names()))
    }

    /// The plans of the statement's CTEs.
    pub(super) fn into_ctes(self) -> Vec<Rc<QueryPlan>> {
        self.ctes
    }
}

/// Converts where the type differs; the conversion must exist (error 529).
pub(super) fn cast(value: Expr, to: SqlType) -> Result<Expr, Message> {
    if value.is_null_literal() {
        return Ok(Expr::literal(Datum::Null, to));
    }
    check(value.sql_type, to)?;
    Ok(converted(value, to))
}

/// What an assignment or an argument does: conversions that T-SQL does unasked (error 257 for the others).
pub(super) fn coerce(value: Expr, to: SqlType) -> Result<Expr, Message> {
    if value.is_null_literal() || value.sql_type == to {
        return cast(value, to);
    }
    let (from, target) = (family(value.sql_type), family(to));
    let asked_only = match (from, target) {
        (Family::Variant | Family::Xml, _) => from != target,
        (Family::Time, Family::Integer | Family::Decimal | Family::Float) | (Family::Text, Family::Binary) => true,
        _ => false,
    };
    if asked_only {
        let text = format!(
            "Implicit conversion from data type {} to {} is not allowed. Use the CONVERT function to run this query.",
            name(value.sql_type),
            name(to)
        );
        return Err(error(257, 16, 3, text));
    }
    if check(value.sql_type, to).is_err() {
        return Err(operand_clash(name(value.sql_type), name(to)));
    }
    Ok(converted(value, to))
}

fn converted(value: Expr, to: SqlType) -> Expr {
    if value.sql_type == to {
        return value;
    }
    let (nullable, collation) = (value.nullable, value.collation);
    let kind = ExprKind::Convert { value: Box::new(value), style: None, lenient: false };
    Expr { kind, sql_type: to, nullable, collation }
}

/// The type all values are brought to; literal NULLs take any.
fn common_type(values: &[&Expr]) -> Result<SqlType, Message> {
    let mut found: Option<SqlType> = None;
    for value in values.iter().filter(|value| !value.is_null_literal()) {
        found = Some(match found {
            None => value.sql_type,
            Some(sql_type) => common(sql_type, value.sql_type)?,
        });
    }
    Ok(found.unwrap_or(SqlType::Int))
}

/// Brings values to a type for comparing: text of any length compares as it is.
fn comparable(value: Expr, sql_type: SqlType) -> Result<Expr, Message> {
    if is_text(sql_type) && is_text(value.sql_type) {
        return Ok(value);
    }
    if family(sql_type) == Family::Xml {
        let text = "The xml data type cannot be compared or sorted, except when using the IS NULL operator.";
        return Err(error(305, 16, 1, text));
    }
    cast(value, sql_type)
}
