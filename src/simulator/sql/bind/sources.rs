//! Owns binding FROM, and choosing where WHERE's conditions are tested: as early as their tables are there.

use super::Binder;
use super::query::{Place, named_columns, values_table};
use super::scope::{Scope, SourceColumns};
use crate::simulator::output::Message;
use crate::simulator::sql::ast::{self, Comparison, JoinKind};
use crate::simulator::sql::messages::{error, invalid_object, not_simulated, other_database};
use crate::simulator::sql::plan::{ChainPlan, Condition, EqualPair, Expr, ExprKind, JoinPlan, SelectPlan, SourcePlan};
use crate::simulator::sql::types::is_text;
use crate::simulator::value::{Column, SqlType};
use std::ops::Range;

impl Binder<'_> {
    /// Tables separated by commas are cross joined.
    pub(super) fn from(
        &mut self,
        chains: &[ast::FromChain],
        scope: &mut Scope<'_>,
    ) -> Result<Option<ChainPlan>, Message> {
        let Some((first, rest)) = chains.split_first() else { return Ok(None) };
        let mut plan = self.chain_plan(first, scope)?;
        for chain in rest {
            let start = scope.sources.len();
            let chain = self.chain_plan(chain, scope)?;
            let slots = start..scope.sources.len();
            let source = SourcePlan::Nested(Box::new(chain));
            plan.joins.push(JoinPlan { kind: JoinKind::Cross, source, slots, on: Vec::new(), equal: Vec::new() });
        }
        check_exposed_names(scope)?;
        Ok(Some(plan))
    }

    fn chain_plan(&mut self, chain: &ast::FromChain, scope: &mut Scope<'_>) -> Result<ChainPlan, Message> {
        let start = scope.sources.len();
        let first = self.source(&chain.first, scope, false)?;
        let mut joins = Vec::new();
        for join in &chain.joins {
            let slot = scope.sources.len();
            let apply = matches!(join.kind, JoinKind::CrossApply | JoinKind::OuterApply);
            let source = self.source(&join.source, scope, apply)?;
            let slots = slot..scope.sources.len();
            let on = match &join.on {
                None => Vec::new(),
                Some(ast::Condition::And(parts)) => self.conditions(parts, scope)?,
                Some(condition) => vec![self.condition(condition, scope)?],
            };
            let equal = equal_pairs(&on, start, &slots);
            joins.push(JoinPlan { kind: join.kind, source, slots, on, equal });
        }
        Ok(ChainPlan { first, first_filter: Vec::new(), joins })
    }

    /// A source of APPLY sees the tables before it.
    fn source(&mut self, source: &ast::Source, scope: &mut Scope<'_>, apply: bool) -> Result<SourcePlan, Message> {
        let slot = scope.sources.len();
        match source {
            ast::Source::Named { name, alias, arguments, line } => {
                let exposed = alias.clone().map_or_else(|| name.clone(), |alias| vec![alias]);
                if let ([name], None) = (name.as_slice(), arguments) {
                    let visible = self.visible_ctes.iter().rev().find(|(known, _)| self.names().same(known, name));
                    if let Some((_, index)) = visible {
                        let index = *index;
                        let columns = self.ctes.get(index).map(|plan| plan.columns.clone()).unwrap_or_default();
                        scope.sources.push(SourceColumns { exposed, columns });
                        return Ok(SourcePlan::Cte { slot, index });
                    }
                }
                if let [database, _, _] = name.as_slice()
                    && !self.host.reaches_other_databases()
                    && !self.names().same(database, self.database)
                {
                    return Err(other_database(&name.join(".")).at_line(*line));
                }
                let (schema, object, columns) =
                    self.system_object(name).ok_or_else(|| invalid_object(&name.join(".")).at_line(*line))?;
                let arguments = match arguments {
                    None => Vec::new(),
                    Some(arguments) if apply => self.exprs(arguments, scope)?,
                    Some(arguments) => {
                        let plain = Scope::new(scope.outer(), scope.names);
                        let arguments = self.exprs(arguments, &plain)?;
                        if plain.correlated.get() {
                            scope.correlated.set(true);
                        }
                        arguments
                    }
                };
                scope.sources.push(SourceColumns { exposed, columns });
                Ok(SourcePlan::View { slot, schema, name: object, arguments })
            }
            ast::Source::Derived { query, alias, columns } => {
                let outer = if apply { Some(&*scope) } else { scope.outer() };
                let plan = self.query(query, outer, Place::Inner)?;
                let plan = named_columns(plan, columns, alias, self.names())?;
                if plan.correlated && !apply {
                    scope.correlated.set(true);
                }
                scope.sources.push(SourceColumns { exposed: vec![alias.clone()], columns: plan.columns.clone() });
                Ok(SourcePlan::Derived { slot, plan: Box::new(plan) })
            }
            ast::Source::Values { rows, alias, columns } => {
                let plain = Scope::new(if apply { Some(&*scope) } else { scope.outer() }, scope.names);
                let rows = rows.iter().map(|row| self.exprs(row, &plain)).collect::<Result<Vec<_>, _>>()?;
                if plain.correlated.get() {
                    scope.correlated.set(true);
                }
                let (rows, types) = values_table(rows)?;
                if columns.len() != types.len() {
                    let (number, word) = if columns.len() < types.len() { (8158, "more") } else { (8159, "fewer") };
                    let text = format!("'{alias}' has {word} columns than were specified in the column list.");
                    return Err(error(number, 16, 1, text));
                }
                let columns = columns.iter().zip(types).map(|(name, sql_type)| Column::new(name, sql_type)).collect();
                scope.sources.push(SourceColumns { exposed: vec![alias.clone()], columns });
                Ok(SourcePlan::Values { slot, rows })
            }
            ast::Source::Nested(_) if apply => Err(not_simulated("APPLY of joined tables in parentheses")),
            ast::Source::Nested(chain) => Ok(SourcePlan::Nested(Box::new(self.chain_plan(chain, scope)?))),
        }
    }

    /// `sys.x`, `master.sys.x`, `master..sysx`: schema, name and columns.
    fn system_object(&self, name: &[String]) -> Option<(String, String, Vec<Column>)> {
        let (database, schema, object) = match name {
            [object] => (None, "", object),
            [schema, object] => (None, schema.as_str(), object),
            [database, schema, object] => (Some(database), schema.as_str(), object),
            _ => return None,
        };
        if let Some(database) = database {
            self.host.databases().iter().find(|(_, known)| self.names().same(known, database))?;
        }
        // Without a schema only the compatibility views (sysprocesses, sysdatabases) answer, from sys.
        let names = self.names();
        let of_compatibility = (schema.is_empty() || names.same(schema, "dbo"))
            && object.get(..3).is_some_and(|start| names.same(start, "sys"));
        if !names.same(schema, "sys") && !of_compatibility {
            return None;
        }
        let schema = "sys".to_owned();
        let columns = self.host.columns(&schema, object)?;
        Some((schema, object.clone(), columns))
    }
}

/// Error 1011 and 1013: each table has a name of its own.
fn check_exposed_names(scope: &Scope<'_>) -> Result<(), Message> {
    for (place, source) in scope.sources.iter().enumerate() {
        let same = |earlier: &SourceColumns| {
            earlier.exposed.len() == source.exposed.len()
                && earlier.exposed.iter().zip(&source.exposed).all(|(left, right)| scope.names.same(left, right))
        };
        if scope.sources.iter().take(place).any(same) {
            let name = source.exposed.join(".");
            return Err(if source.exposed.len() == 1 {
                let text = format!("The correlation name '{name}' is specified multiple times in a FROM clause.");
                error(1011, 16, 1, text)
            } else {
                let text = format!(
                    "The objects \"{name}\" and \"{name}\" in the FROM clause have the same exposed names. Use \
                     correlation names to distinguish them."
                );
                error(1013, 16, 1, text)
            });
        }
    }
    Ok(())
}

/// The sources of this query that an expression or condition reads.
struct Reads {
    /// `end` is 0 while it reads none.
    first: usize,
    end: usize,
    /// Whether a subquery may read others.
    opaque: bool,
}

impl Reads {
    fn of_expr(expr: &Expr) -> Self {
        let mut reads = Self { first: usize::MAX, end: 0, opaque: false };
        expr.walk(&mut |part| reads.note(part));
        reads
    }

    fn of_condition(condition: &Condition) -> Self {
        let mut reads = Self { first: usize::MAX, end: 0, opaque: false };
        let plain = condition.walk(&mut |part| reads.note(part));
        reads.opaque |= !plain;
        reads
    }

    fn note(&mut self, part: &Expr) -> bool {
        match &part.kind {
            ExprKind::Column { depth: 0, source, .. } => {
                self.first = self.first.min(*source);
                self.end = self.end.max(source + 1);
            }
            // The conditions of a CASE may hold subqueries too.
            ExprKind::Subquery(_) | ExprKind::SearchedCase { .. } => self.opaque = true,
            _ => {}
        }
        true
    }

    /// Whether it reads some of these sources and no other.
    fn only(&self, sources: &Range<usize>) -> bool {
        !self.opaque && self.end > 0 && self.first >= sources.start && self.end <= sources.end
    }

    /// The last source it waits for; `None` where that is not known or there is none.
    fn last(&self) -> Option<usize> {
        if self.opaque { None } else { self.end.checked_sub(1) }
    }
}

fn equal_pairs(on: &[Condition], start: usize, slots: &Range<usize>) -> Vec<EqualPair> {
    let earlier = start..slots.start;
    let mut pairs = Vec::new();
    for condition in on {
        let Condition::Compare { operator: Comparison::Equal, left, right, collation } = condition else { continue };
        // Keys are only equal within one type.
        let same_type = left.sql_type == right.sql_type || (is_text(left.sql_type) && is_text(right.sql_type));
        if !same_type || left.sql_type == SqlType::SqlVariant {
            continue;
        }
        let (left_reads, right_reads) = (Reads::of_expr(left), Reads::of_expr(right));
        let (one, other) = if left_reads.only(&earlier) && right_reads.only(slots) {
            (left, right)
        } else if right_reads.only(&earlier) && left_reads.only(slots) {
            (right, left)
        } else {
            continue;
        };
        pairs.push(EqualPair { earlier: one.clone(), joined: other.clone(), collation: *collation });
    }
    pairs
}

/// Moves WHERE's conditions into the joins that first have all their tables. Outer joins keep them where they are.
pub(super) fn push_down(plan: &mut SelectPlan) {
    let Some(chain) = &mut plan.from else { return };
    let movable = chain.joins.iter().all(|join| matches!(join.kind, JoinKind::Inner | JoinKind::Cross))
        && !matches!(chain.first, SourcePlan::Nested(_));
    if !movable {
        return;
    }
    for condition in std::mem::take(&mut plan.filter) {
        let Some(last) = Reads::of_condition(&condition).last() else {
            plan.filter.push(condition);
            continue;
        };
        match chain.joins.iter_mut().find(|join| join.slots.contains(&last)) {
            Some(join) => join.on.push(condition),
            None => chain.first_filter.push(condition),
        }
    }
    for join in &mut chain.joins {
        if join.kind == JoinKind::Cross && !join.on.is_empty() {
            join.kind = JoinKind::Inner;
        }
        join.equal = equal_pairs(&join.on, 0, &join.slots);
    }
}
