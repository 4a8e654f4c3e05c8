//! Owns binding FROM, and choosing where WHERE's conditions are tested: as early as their tables are there.

use super::Binder;
use super::query::{Place, named_columns, values_table};
use super::scope::{Scope, SourceColumns, same_name};
use crate::simulator::output::Message;
use crate::simulator::sql::ast::{self, Comparison, JoinKind};
use crate::simulator::sql::messages::{error, invalid_object};
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
                    let visible = self.visible_ctes.iter().rev().find(|(known, _)| same_name(known, name));
                    if let Some((_, index)) = visible {
                        let index = *index;
                        let columns = self.ctes.get(index).map(|plan| plan.columns.clone()).unwrap_or_default();
                        scope.sources.push(SourceColumns { exposed, columns });
                        return Ok(SourcePlan::Cte { slot, index });
                    }
                }
                let (schema, object, columns) =
                    self.system_object(name).ok_or_else(|| invalid_object(&name.join(".")).at_line(*line))?;
                let arguments = match arguments {
                    None => Vec::new(),
                    Some(arguments) if apply => self.exprs(arguments, scope)?,
                    Some(arguments) => {
                        let plain = Scope::new(scope.outer());
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
                let plan = named_columns(plan, columns, alias)?;
                if plan.correlated && !apply {
                    scope.correlated.set(true);
                }
                scope.sources.push(SourceColumns { exposed: vec![alias.clone()], columns: plan.columns.clone() });
                Ok(SourcePlan::Derived { slot, plan: Box::new(plan) })
            }
            ast::Source::Values { rows, alias, columns } => {
                let plain = Scope::new(if apply { Some(&*scope) } else { scope.outer() });
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
            self.host.databases().iter().find(|(_, known)| same_name(known, database))?;
        }
        // Without a schema only the compatibility views (sysprocesses, sysdatabases) answer, from sys.
        let schema = match schema.to_ascii_lowercase() {
            schema if schema == "sys" => schema,
            schema if (schema.is_empty() || schema == "dbo") && object.to_ascii_lowercase().starts_with("sys") => {
                "sys".to_owned()
            }
            _ => return None,
        };
        let columns = self.host.columns(&schema, object)?;
        Some((schema, object.clone(), columns))
    }
}

/// Error 1011 and 1013: each table has a name of its own.
fn check_exposed_names(scope: &Scope<'_>) -> Result<(), Message> {
    for (place, source) in scope.sources.iter().enumerate() {
        let same = |earlier: &SourceColumns| {
            earlier.exposed.len() == source.exposed.len()
                && earlier.exposed.iter().zip(&source.exposed).all(|(left, right)| same_name(left, right))
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

/// The sources of this query an expression reads: first and one past the last. `None` where a subquery reads more
/// than is seen here; an empty range where it reads none.
fn sources_read(expr: &Expr) -> Option<Range<usize>> {
    let mut read = NOTHING_READ;
    expr.walk(&mut |part| note_read(part, &mut read));
    read
}

fn condition_reads(condition: &Condition) -> Option<Range<usize>> {
    let mut read = NOTHING_READ;
    let plain = condition.walk(&mut |part| note_read(part, &mut read));
    read.filter(|_| plain)
}

const NOTHING_READ: Option<Range<usize>> = Some(usize::MAX..0);

fn note_read(part: &Expr, read: &mut Option<Range<usize>>) -> bool {
    match &part.kind {
        ExprKind::Column { depth: 0, source, .. } => widen(read, *source),
        // The conditions of a CASE may hold subqueries too.
        ExprKind::Subquery(_) | ExprKind::SearchedCase { .. } => *read = None,
        _ => {}
    }
    true
}

fn widen(read: &mut Option<Range<usize>>, source: usize) {
    if let Some(range) = read {
        *range = range.start.min(source)..range.end.max(source + 1);
    }
}

fn equal_pairs(on: &[Condition], start: usize, slots: &Range<usize>) -> Vec<EqualPair> {
    let within = |read: &Range<usize>, allowed: &Range<usize>| {
        !read.is_empty() && read.start >= allowed.start && read.end <= allowed.end
    };
    let earlier = start..slots.start;
    let mut pairs = Vec::new();
    for condition in on {
        let Condition::Compare { operator: Comparison::Equal, left, right, collation } = condition else { continue };
        // Keys are only equal within one type.
        if left.sql_type != right.sql_type && !(is_text(left.sql_type) && is_text(right.sql_type)) {
            continue;
        }
        if left.sql_type == SqlType::SqlVariant {
            continue;
        }
        let (Some(left_reads), Some(right_reads)) = (sources_read(left), sources_read(right)) else { continue };
        let (one, other) = if within(&left_reads, &earlier) && within(&right_reads, slots) {
            (left, right)
        } else if within(&right_reads, &earlier) && within(&left_reads, slots) {
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
        let Some(reads) = condition_reads(&condition).filter(|reads| !reads.is_empty()) else {
            plan.filter.push(condition);
            continue;
        };
        let last = reads.end.saturating_sub(1);
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
