//! Owns running queries: select lists, DISTINCT, UNION, ordering, TOP and OFFSET.

use super::expressions::convert_owned;
use super::{CacheKey, Env, Executor, JoinedRow, Row};
use crate::simulator::sql::compare::{Collation, Key, order};
use crate::simulator::sql::messages::{Failure, error};
use crate::simulator::sql::plan::{Expr, Grouping, QueryPlan, SelectPlan, SortBy, SortKey, TermPlan};
use crate::simulator::value::{Column, Datum};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::rc::Rc;

/// An output row and the values it is sorted by.
struct Sorted {
    values: Vec<Datum>,
    keys: Vec<Datum>,
}

impl Executor<'_> {
    /// A query's rows. `outer` is the row of the query around it.
    pub(in crate::simulator::sql) fn query(
        &self,
        plan: &QueryPlan,
        outer: Option<&Env<'_>>,
    ) -> Result<Vec<Vec<Datum>>, Failure> {
        let mut rows = self.term(&plan.first, &plan.columns, &plan.order, outer)?;
        for union in &plan.unions {
            rows.extend(self.term(&union.term, &plan.columns, &[], outer)?);
            if !union.all {
                rows = distinct(rows);
            }
        }
        if !plan.order.is_empty() {
            rows.sort_by(|left, right| compare_sorted(&plan.order, left, right));
        }
        let single = if plan.unions.is_empty() { Some(&plan.first) } else { None };
        if let Some(TermPlan::Select(select)) = single {
            self.keep_top(select, &mut rows)?;
        }
        if let Some(offset) = &plan.offset {
            let skipped = self.count(offset, 10742, "OFFSET")?.min(rows.len());
            rows.drain(..skipped);
        }
        if let Some(fetch) = &plan.fetch {
            rows.truncate(self.count(fetch, 10744, "FETCH")?);
        }
        Ok(rows.into_iter().map(|row| row.values).collect())
    }

    /// A subquery's rows, kept when they are the same each time.
    pub(super) fn subquery_rows(&self, plan: &QueryPlan, env: &Env<'_>) -> Result<Rc<Vec<Row>>, Failure> {
        self.plan_rows(plan, Some(env))
    }

    pub(super) fn plan_rows(&self, plan: &QueryPlan, outer: Option<&Env<'_>>) -> Result<Rc<Vec<Row>>, Failure> {
        let run = || Ok(self.query(plan, outer)?.into_iter().map(Rc::new).collect());
        if plan.correlated { Ok(Rc::new(run()?)) } else { self.cached(CacheKey::Query(plan.id), run) }
    }

    fn keep_top(&self, select: &SelectPlan, rows: &mut Vec<Sorted>) -> Result<(), Failure> {
        if let Some(top) = &select.top {
            rows.truncate(self.count(top, 1060, "TOP")?);
        }
        Ok(())
    }

    /// The number of rows of TOP, OFFSET or FETCH.
    fn count(&self, expr: &Expr, number: u32, clause: &str) -> Result<usize, Failure> {
        let count = self.integer(expr)?.and_then(|count| usize::try_from(count).ok());
        let text = format!("The number of rows provided for a {clause} clause must be a non-negative integer.");
        count.ok_or_else(|| error(number, 15, 1, text).into())
    }

    /// The rows of one part of a UNION, in the column types of the whole.
    fn term(
        &self,
        term: &TermPlan,
        columns: &[Column],
        order: &[SortKey],
        outer: Option<&Env<'_>>,
    ) -> Result<Vec<Sorted>, Failure> {
        let mut rows = match term {
            TermPlan::Select(select) => {
                let mut rows = self.select(select, order, outer)?;
                if order.is_empty() {
                    self.keep_top(select, &mut rows)?;
                }
                rows
            }
            TermPlan::Nested(query) => {
                let rows = self.query(query, outer)?;
                rows.into_iter().map(|values| Sorted { values, keys: Vec::new() }).collect()
            }
        };
        for (place, (from, to)) in term.columns().iter().zip(columns).enumerate() {
            if from.sql_type == to.sql_type {
                continue;
            }
            for row in &mut rows {
                if let Some(value) = row.values.get_mut(place) {
                    let taken = std::mem::replace(value, Datum::Null);
                    *value = convert_owned(taken, from.sql_type, to.sql_type)?;
                }
            }
        }
        Ok(rows)
    }

    /// The rows of FROM that WHERE keeps.
    fn source_rows_of(&self, select: &SelectPlan, outer: Option<&Env<'_>>) -> Result<Vec<JoinedRow>, Failure> {
        let nothing: JoinedRow = vec![None; select.sources];
        let rows = match &select.from {
            None => vec![nothing],
            Some(chain) => self.chain_rows(chain, &nothing, outer)?,
        };
        if select.filter.is_empty() { Ok(rows) } else { self.filtered(rows, &select.filter, outer) }
    }

    fn select(&self, select: &SelectPlan, order: &[SortKey], outer: Option<&Env<'_>>) -> Result<Vec<Sorted>, Failure> {
        let rows = self.source_rows_of(select, outer)?;
        let output = match &select.grouping {
            Some(grouping) => self.grouped_output(select, grouping, order, rows, outer)?,
            None => self.plain_output(select, order, &rows, outer)?,
        };
        Ok(if select.distinct { distinct_by(output, &self.collations(select)) } else { output })
    }

    fn collations(&self, select: &SelectPlan) -> Vec<Collation> {
        select.items.iter().map(|item| self.collation(item)).collect()
    }

    fn grouped_output(
        &self,
        select: &SelectPlan,
        grouping: &Grouping,
        order: &[SortKey],
        rows: Vec<JoinedRow>,
        outer: Option<&Env<'_>>,
    ) -> Result<Vec<Sorted>, Failure> {
        let mut output = Vec::new();
        for group in self.groups(select, grouping, rows, outer)? {
            let env = Env { row: &group.row, aggregates: &group.aggregates, windows: &[], outer };
            let kept = match &select.having {
                None => true,
                Some(having) => self.holds(having, &env)? == Some(true),
            };
            if kept {
                output.push(self.output_row(select, order, &env)?);
            }
        }
        Ok(output)
    }

    fn plain_output(
        &self,
        select: &SelectPlan,
        order: &[SortKey],
        rows: &[JoinedRow],
        outer: Option<&Env<'_>>,
    ) -> Result<Vec<Sorted>, Failure> {
        let windows = self.windows(&select.windows, rows, outer)?;
        // Without an order the first rows are enough.
        let enough = match &select.top {
            Some(top) if order.is_empty() && !select.distinct => self.count(top, 1060, "TOP")?,
            _ => usize::MAX,
        };
        let mut output = Vec::new();
        for (row, windows) in rows.iter().zip(&windows).take(enough) {
            self.step()?;
            output.push(self.output_row(select, order, &Env { row, aggregates: &[], windows, outer })?);
        }
        Ok(output)
    }

    /// `SELECT @v = …`: the last row's values stay; the number of rows is answered. Without groups each row sees what
    /// the one before it assigned, in ORDER BY's order, so that a variable can gather rows.
    pub(in crate::simulator::sql) fn assign(&self, plan: &QueryPlan, select: &SelectPlan) -> Result<usize, Failure> {
        let gathers = select.grouping.is_none() && select.windows.is_empty() && !select.distinct;
        if !gathers || plan.offset.is_some() {
            let rows = self.query(plan, None)?;
            let count = rows.len();
            if let Some(last) = rows.into_iter().next_back() {
                self.set_variables(select, last);
            }
            return Ok(count);
        }
        let mut rows = Vec::new();
        for row in self.source_rows_of(select, None)? {
            let env = Env { row: &row, aggregates: &[], windows: &[], outer: None };
            let keys = plan.order.iter().map(|key| match &key.by {
                SortBy::Value(value) => Ok(self.evaluate(value, &env)?.into_owned()),
                SortBy::Output(place) => match select.items.get(*place) {
                    Some(item) => Ok(self.evaluate(item, &env)?.into_owned()),
                    None => Ok(Datum::Null),
                },
            });
            let keys = keys.collect::<Result<Vec<Datum>, Failure>>()?;
            rows.push((keys, row));
        }
        rows.sort_by(|(left, _), (right, _)| compare_keys(&plan.order, left, right));
        if let Some(top) = &select.top {
            rows.truncate(self.count(top, 1060, "TOP")?);
        }
        for (_, row) in &rows {
            let env = Env { row, aggregates: &[], windows: &[], outer: None };
            let row = self.output_row(select, &[], &env)?;
            self.set_variables(select, row.values);
        }
        Ok(rows.len())
    }

    fn set_variables(&self, select: &SelectPlan, values: Vec<Datum>) {
        for (variable, value) in select.assigned.iter().zip(values) {
            self.variables.borrow_mut().set(variable, value);
        }
    }

    fn output_row(&self, select: &SelectPlan, order: &[SortKey], env: &Env<'_>) -> Result<Sorted, Failure> {
        let mut values = Vec::with_capacity(select.items.len());
        for item in &select.items {
            let value = self.evaluate(item, env)?.into_owned();
            self.account(&value)?;
            values.push(value);
        }
        let mut keys = Vec::new();
        for key in order {
            if let SortBy::Value(value) = &key.by {
                keys.push(self.evaluate(value, env)?.into_owned());
            }
        }
        Ok(Sorted { values, keys })
    }
}

fn distinct(rows: Vec<Sorted>) -> Vec<Sorted> {
    distinct_by(rows, &[])
}

fn distinct_by(rows: Vec<Sorted>, collations: &[Collation]) -> Vec<Sorted> {
    let mut seen: HashSet<Vec<Key>> = HashSet::new();
    rows.into_iter()
        .filter(|row| {
            let keys = row.values.iter().enumerate();
            seen.insert(
                keys.map(|(place, value)| Key::new(value, collations.get(place).copied().unwrap_or_default()))
                    .collect(),
            )
        })
        .collect()
}

fn compare_sorted(order_by: &[SortKey], left: &Sorted, right: &Sorted) -> Ordering {
    let mut computed = 0;
    for key in order_by {
        let (left, right) = match key.by {
            SortBy::Output(place) => (left.values.get(place), right.values.get(place)),
            SortBy::Value(_) => {
                computed += 1;
                (left.keys.get(computed - 1), right.keys.get(computed - 1))
            }
        };
        let found = directed(key, left, right);
        if found != Ordering::Equal {
            return found;
        }
    }
    Ordering::Equal
}

/// Compares rows whose keys are all computed values.
pub(super) fn compare_keys(order_by: &[SortKey], left: &[Datum], right: &[Datum]) -> Ordering {
    let pairs = order_by.iter().zip(left.iter().zip(right));
    pairs
        .map(|(key, (left, right))| directed(key, Some(left), Some(right)))
        .find(|found| *found != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

fn directed(key: &SortKey, left: Option<&Datum>, right: Option<&Datum>) -> Ordering {
    let found = order(left.unwrap_or(&Datum::Null), right.unwrap_or(&Datum::Null), key.collation);
    if key.descending { found.reverse() } else { found }
}
