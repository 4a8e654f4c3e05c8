//! Owns binding queries: select lists, grouping, UNION, ORDER BY, TOP and OFFSET.

use super::grouping::{check_grouped, check_grouped_condition, is_constant};
use super::scope::{Clause, Scope};
use super::sources::push_down;
use super::{Binder, cast, coerce};
use crate::simulator::output::Message;
use crate::simulator::sql::ast;
use crate::simulator::sql::compare::Collation;
use crate::simulator::sql::messages::{ambiguous_column, error, not_simulated, unbound_identifier};
use crate::simulator::sql::plan::{
    Expr, ExprKind, Grouping, QueryPlan, SelectPlan, SortBy, SortKey, TermPlan, UnionPlan,
};
use crate::simulator::sql::types::common;
use crate::simulator::value::{Column, SqlType};
use std::rc::Rc;

/// Values, output names, and the variables the values are assigned to.
type SelectList = (Vec<Expr>, Vec<String>, Vec<String>);

/// Where a query stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Statement,
    /// Inside another query: ORDER BY needs TOP or OFFSET (error 1033), assignments are not allowed.
    Inner,
}

impl Binder<'_> {
    pub(super) fn subquery(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<QueryPlan, Message> {
        self.query(query, Some(scope), Place::Inner)
    }

    pub(super) fn query(
        &mut self,
        query: &ast::Query,
        outer: Option<&Scope<'_>>,
        place: Place,
    ) -> Result<QueryPlan, Message> {
        let visible = self.visible_ctes.len();
        for cte in &query.ctes {
            let plan = self.query(&cte.query, None, Place::Inner)?;
            let plan = named_columns(plan, &cte.columns, &cte.name, self.names())?;
            self.ctes.push(Rc::new(plan));
            self.visible_ctes.push((cte.name.clone(), self.ctes.len() - 1));
        }
        let plan = self.query_body(query, outer, place);
        self.visible_ctes.truncate(visible);
        plan
    }

    fn query_body(
        &mut self,
        query: &ast::Query,
        outer: Option<&Scope<'_>>,
        place: Place,
    ) -> Result<QueryPlan, Message> {
        self.next_id += 1;
        let id = self.next_id;
        let counts = Scope::new(None, self.names());
        let offset = query.offset.as_ref().map(|rows| self.row_count(rows, &counts)).transpose()?;
        let fetch = query.fetch.as_ref().map(|rows| self.row_count(rows, &counts)).transpose()?;
        if place == Place::Inner && !query.order_by.is_empty() && offset.is_none() && !has_top(&query.first) {
            let text = "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and \
                        common table expressions, unless TOP, OFFSET or FOR XML is also specified.";
            return Err(error(1033, 15, 1, text));
        }
        if let (ast::Term::Select(select), true) = (&query.first, query.unions.is_empty()) {
            let (select, order, correlated) = self.select(select, outer, place, &query.order_by)?;
            let columns = select.columns.clone();
            let first = TermPlan::Select(Box::new(select));
            return Ok(QueryPlan { id, correlated, columns, first, unions: Vec::new(), order, offset, fetch });
        }
        let (first, mut correlated) = self.term(&query.first, outer)?;
        let mut columns = first.columns().to_vec();
        let mut unions = Vec::new();
        for union in &query.unions {
            let (term, term_correlated) = self.term(&union.term, outer)?;
            correlated |= term_correlated;
            combine_columns(&mut columns, term.columns())?;
            unions.push(UnionPlan { all: union.all, term });
        }
        let order =
            query.order_by.iter().map(|item| union_sort_key(item, &columns, self.names())).collect::<Result<_, _>>()?;
        Ok(QueryPlan { id, correlated, columns, first, unions, order, offset, fetch })
    }

    fn term(&mut self, term: &ast::Term, outer: Option<&Scope<'_>>) -> Result<(TermPlan, bool), Message> {
        match term {
            ast::Term::Select(select) => {
                let (select, _, correlated) = self.select(select, outer, Place::Inner, &[])?;
                Ok((TermPlan::Select(Box::new(select)), correlated))
            }
            ast::Term::Nested(query) => {
                let query = self.query(query, outer, Place::Inner)?;
                let correlated = query.correlated;
                Ok((TermPlan::Nested(Box::new(query)), correlated))
            }
        }
    }

    /// TOP, OFFSET and FETCH take a bigint that no column decides.
    fn row_count(&mut self, rows: &ast::Expr, scope: &Scope<'_>) -> Result<Expr, Message> {
        let rows = self.expr(rows, scope)?;
        coerce(rows, SqlType::BigInt)
    }

    fn select(
        &mut self,
        select: &ast::Select,
        outer: Option<&Scope<'_>>,
        place: Place,
        order_by: &[ast::OrderItem],
    ) -> Result<(SelectPlan, Vec<SortKey>, bool), Message> {
        let mut scope = Scope::new(outer, self.names());
        let from = self.from(&select.from, &mut scope)?;
        let scope = scope;
        let filter = match &select.filter {
            None => Vec::new(),
            Some(ast::Condition::And(parts)) => self.conditions(parts, &scope)?,
            Some(condition) => vec![self.condition(condition, &scope)?],
        };
        let keys = self.in_clause(&scope, Clause::GroupBy, |binder| binder.exprs(&select.group_by, &scope))?;
        for key in &keys {
            if is_constant(key) {
                let text = "Each GROUP BY expression must contain at least one column that is not an outer reference.";
                return Err(error(164, 15, 1, text));
            }
        }
        scope.clause.set(Clause::Output);
        let (items, names, assigned) = self.items(&select.items, &scope, place)?;
        let having = select.having.as_ref().map(|having| self.condition(having, &scope)).transpose()?;
        let order = order_by
            .iter()
            .enumerate()
            .map(|(at, item)| self.sort_key(item, at + 1, &items, &names, select.distinct, &scope))
            .collect::<Result<Vec<_>, _>>()?;
        let top = select.top.as_ref().map(|rows| self.row_count(rows, &Scope::new(None, self.names()))).transpose()?;

        let aggregates = scope.aggregates.take();
        let windows = scope.windows.take();
        let grouped = !keys.is_empty() || !aggregates.is_empty() || having.is_some();
        if grouped {
            for item in &items {
                check_grouped(item, &keys, &scope, "select list")?;
            }
            if let Some(having) = &having {
                check_grouped_condition(having, &keys, &scope)?;
            }
            for key in &order {
                if let SortBy::Value(value) = &key.by {
                    check_grouped(value, &keys, &scope, "ORDER BY clause")?;
                }
            }
            if !windows.is_empty() {
                return Err(not_simulated("functions with OVER in a query with GROUP BY or aggregates"));
            }
        }
        let columns = items
            .iter()
            .zip(&names)
            .map(|(item, name)| Column { name: name.clone(), sql_type: item.sql_type, nullable: item.nullable })
            .collect();
        let grouping = grouped.then_some(Grouping { keys, aggregates });
        let mut plan = SelectPlan {
            sources: scope.sources.len(),
            from,
            filter,
            grouping,
            having,
            windows,
            items,
            assigned,
            columns,
            distinct: select.distinct,
            top,
        };
        push_down(&mut plan);
        Ok((plan, order, scope.correlated.get()))
    }

    fn items(&mut self, items: &[ast::SelectItem], scope: &Scope<'_>, place: Place) -> Result<SelectList, Message> {
        let (mut values, mut names, mut assigned) = (Vec::new(), Vec::new(), Vec::new());
        for item in items {
            match item {
                ast::SelectItem::Star { qualifier, line } => {
                    star(qualifier, *line, scope, &mut values, &mut names)?;
                }
                ast::SelectItem::Value { expr, alias } => {
                    let name = match (alias, expr) {
                        (Some(alias), _) => alias.clone(),
                        (None, ast::Expr::Column { parts, .. }) => parts.last().cloned().unwrap_or_default(),
                        _ => String::new(),
                    };
                    let value = self.expr(expr, scope)?;
                    // A column keeps the name the table gives it.
                    names.push(match (&value.kind, alias) {
                        (ExprKind::Column { depth: 0, source, column }, None) => {
                            column_of(scope, *source, *column).map_or(name, |column| column.name.clone())
                        }
                        _ => name,
                    });
                    values.push(value);
                }
                ast::SelectItem::Assign { variable, expr } => {
                    let value = self.expr(expr, scope)?;
                    let sql_type = self.variables.sql_type(variable).unwrap_or(value.sql_type);
                    values.push(coerce(value, sql_type)?);
                    names.push(String::new());
                    assigned.push(variable.clone());
                }
            }
        }
        if !assigned.is_empty() && (assigned.len() < values.len() || place == Place::Inner) {
            let text = "A SELECT statement that assigns a value to a variable must not be combined with data-retrieval \
                        operations.";
            return Err(error(141, 15, 1, text));
        }
        Ok((values, names, assigned))
    }

    fn sort_key(
        &mut self,
        item: &ast::OrderItem,
        position: usize,
        items: &[Expr],
        names: &[String],
        distinct: bool,
        scope: &Scope<'_>,
    ) -> Result<SortKey, Message> {
        let descending = item.descending;
        if let Some(place) = ordinal(&item.expr, items.len())? {
            return Ok(SortKey {
                by: SortBy::Output(place),
                descending,
                collation: self.collation(items.get(place).as_slice()),
            });
        }
        if let ast::Expr::Column { parts, line } = &item.expr
            && let [name] = parts.as_slice()
        {
            let mut matching =
                names.iter().enumerate().filter(|(_, known)| scope.names.same(known, name)).map(|(place, _)| place);
            if let Some(place) = matching.next() {
                if matching.any(|other| items.get(other) != items.get(place)) {
                    return Err(ambiguous_column(name, *line));
                }
                return Ok(SortKey {
                    by: SortBy::Output(place),
                    descending,
                    collation: self.collation(items.get(place).as_slice()),
                });
            }
        }
        let value = self.expr(&item.expr, scope)?;
        if is_constant(&value) {
            let text = format!("A constant expression was encountered in the ORDER BY list, position {position}.");
            return Err(error(408, 16, 1, text));
        }
        let collation = self.collation(&[&value]);
        if let Some(place) = items.iter().position(|item| *item == value) {
            return Ok(SortKey { by: SortBy::Output(place), descending, collation });
        }
        if distinct {
            let text = "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.";
            return Err(error(145, 15, 1, text));
        }
        Ok(SortKey { by: SortBy::Value(value), descending, collation })
    }
}

/// The columns `*` or `a.*` stands for.
fn star(
    qualifier: &[String],
    line: u32,
    scope: &Scope<'_>,
    values: &mut Vec<Expr>,
    names: &mut Vec<String>,
) -> Result<(), Message> {
    let mut found = false;
    for (source, columns) in scope.sources.iter().enumerate() {
        if !qualifier.is_empty() && !columns.answers_to(qualifier, scope.names) {
            continue;
        }
        found = true;
        for (column, definition) in columns.columns.iter().enumerate() {
            let kind = ExprKind::Column { depth: 0, source, column };
            values.push(Expr::new(kind, definition.sql_type, definition.nullable));
            names.push(definition.name.clone());
        }
    }
    if found {
        Ok(())
    } else if qualifier.is_empty() {
        Err(error(263, 16, 1, "Must specify table to select from.").at_line(line))
    } else {
        let name = qualifier.join(".");
        let text = "The column prefix '{}' does not match with a table name or alias name used in the query.";
        Err(error(107, 15, 1, text.replace("{}", &name)).at_line(line))
    }
}

fn column_of<'s>(scope: &'s Scope<'_>, source: usize, column: usize) -> Option<&'s Column> {
    scope.sources.get(source).and_then(|columns| columns.columns.get(column))
}

fn has_top(term: &ast::Term) -> bool {
    matches!(term, ast::Term::Select(select) if select.top.is_some())
}

/// The place (from 0) of ORDER BY's number; error 108 where there is no such column.
fn ordinal(expr: &ast::Expr, columns: usize) -> Result<Option<usize>, Message> {
    let ast::Expr::Number(text) = expr else { return Ok(None) };
    let Ok(position) = text.parse::<usize>() else { return Ok(None) };
    if (1..=columns).contains(&position) {
        return Ok(Some(position - 1));
    }
    let text =
        format!("The ORDER BY position number {position} is out of range of the number of items in the select list.");
    Err(error(108, 16, 1, text))
}

/// ORDER BY of a UNION: output columns only.
fn union_sort_key(item: &ast::OrderItem, columns: &[Column], names: Collation) -> Result<SortKey, Message> {
    let place = match ordinal(&item.expr, columns.len())? {
        Some(place) => Some(place),
        None => match &item.expr {
            ast::Expr::Column { parts, .. } if parts.len() == 1 => {
                columns.iter().position(|column| parts.iter().all(|name| names.same(&column.name, name)))
            }
            ast::Expr::Column { parts, line } => return Err(unbound_identifier(&parts.join("."), *line)),
            _ => None,
        },
    };
    let place = place.ok_or_else(|| {
        let text = "ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or \
                    EXCEPT operator.";
        error(104, 16, 1, text)
    })?;
    Ok(SortKey { by: SortBy::Output(place), descending: item.descending, collation: names })
}

/// The columns of a UNION take names from the first query and the common type of all (error 205).
fn combine_columns(columns: &mut [Column], next: &[Column]) -> Result<(), Message> {
    if columns.len() != next.len() {
        let text = "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of \
                    expressions in their target lists.";
        return Err(error(205, 16, 1, text));
    }
    for (column, next) in columns.iter_mut().zip(next) {
        column.sql_type = common(column.sql_type, next.sql_type)?;
        column.nullable |= next.nullable;
    }
    Ok(())
}

/// The same query with its columns brought to these types.
pub(super) fn with_column_types(mut query: QueryPlan, types: &[SqlType]) -> QueryPlan {
    for (column, sql_type) in query.columns.iter_mut().zip(types) {
        column.sql_type = *sql_type;
    }
    query
}

/// Error 116.
pub(super) fn more_than_one_column() -> Message {
    let text = "Only one expression can be specified in the select list when the subquery is not introduced with \
                EXISTS.";
    error(116, 16, 1, text)
}

/// Names the columns of a derived table or CTE (errors 8155, 8156, 8158, 8159).
pub(super) fn named_columns(
    mut plan: QueryPlan,
    names: &[String],
    table: &str,
    collation: Collation,
) -> Result<QueryPlan, Message> {
    if !names.is_empty() {
        let (number, more_or_fewer) = if plan.columns.len() > names.len() { (8158, "more") } else { (8159, "fewer") };
        if plan.columns.len() != names.len() {
            let text = format!("'{table}' has {more_or_fewer} columns than were specified in the column list.");
            return Err(error(number, 16, 1, text));
        }
        for (column, name) in plan.columns.iter_mut().zip(names) {
            column.name.clone_from(name);
        }
    }
    for (place, column) in plan.columns.iter().enumerate() {
        if column.name.is_empty() {
            let text = format!("No column name was specified for column {} of '{table}'.", place + 1);
            return Err(error(8155, 16, 2, text));
        }
        if plan.columns.iter().take(place).any(|earlier| collation.same(&earlier.name, &column.name)) {
            let text = format!("The column '{}' was specified multiple times for '{table}'.", column.name);
            return Err(error(8156, 16, 1, text));
        }
    }
    Ok(plan)
}

/// The rows of VALUES: as many values in each, each column of one type.
pub(super) fn values_table(rows: Vec<Vec<Expr>>) -> Result<(Vec<Vec<Expr>>, Vec<SqlType>), Message> {
    let width = rows.first().map_or(0, Vec::len);
    if rows.iter().any(|row| row.len() != width) {
        let text = "The number of expressions in each row of a table value constructor must be equal to the number of \
                    columns.";
        return Err(error(10709, 16, 1, text));
    }
    let mut types: Vec<Option<SqlType>> = vec![None; width];
    for row in &rows {
        for (found, value) in types.iter_mut().zip(row).filter(|(_, value)| !value.is_null_literal()) {
            *found = Some(found.map_or(Ok(value.sql_type), |found| common(found, value.sql_type))?);
        }
    }
    let types: Vec<SqlType> = types.into_iter().map(|found| found.unwrap_or(SqlType::Int)).collect();
    let rows = rows
        .into_iter()
        .map(|row| row.into_iter().zip(&types).map(|(value, sql_type)| cast(value, *sql_type)).collect())
        .collect::<Result<_, Message>>()?;
    Ok((rows, types))
}
