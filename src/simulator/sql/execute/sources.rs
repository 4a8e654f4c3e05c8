//! Owns FROM at run time: rows of views, derived tables and joins.

use super::{CacheKey, Env, Executor, JoinedRow, MAX_ROWS, Row, too_much_work};
use crate::simulator::sql::ast::JoinKind;
use crate::simulator::sql::compare::Key;
use crate::simulator::sql::messages::Failure;
use crate::simulator::sql::plan::{ChainPlan, Condition, EqualPair, Expr, JoinPlan, SourcePlan};
use crate::simulator::value::Datum;
use std::collections::HashMap;
use std::rc::Rc;

/// Places of rows by the values that joins compare.
type Index = HashMap<Vec<Key>, Vec<usize>>;
type Joined = Result<Vec<JoinedRow>, Failure>;

impl Executor<'_> {
    /// The rows of a chain; `start` is what is already there (an APPLY's left row), `env` what is around the query.
    pub(super) fn chain_rows(&self, chain: &ChainPlan, start: &JoinedRow, outer: Option<&Env<'_>>) -> Joined {
        let mut rows = self.source_rows(&chain.first, start, outer)?;
        if !chain.first_filter.is_empty() {
            rows = self.filtered(rows, &chain.first_filter, outer)?;
        }
        for join in &chain.joins {
            rows = match join.kind {
                JoinKind::CrossApply | JoinKind::OuterApply => self.apply(rows, join, outer)?,
                _ => self.join(rows, join, start, outer)?,
            };
        }
        Ok(rows)
    }

    pub(super) fn filtered(&self, rows: Vec<JoinedRow>, filter: &[Condition], outer: Option<&Env<'_>>) -> Joined {
        let mut kept = Vec::new();
        for row in rows {
            self.step()?;
            let env = Env { row: &row, aggregates: &[], windows: &[], outer };
            if self.all_hold(filter, &env)? == Some(true) {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    fn source_rows(&self, source: &SourcePlan, start: &JoinedRow, outer: Option<&Env<'_>>) -> Joined {
        match source {
            SourcePlan::View { slot, schema, name, arguments } => {
                let env = Env { row: start, aggregates: &[], windows: &[], outer };
                let rows = self.view_rows(schema, name, arguments, &env)?;
                Ok(placed(&rows, *slot, start))
            }
            SourcePlan::Derived { slot, plan } => {
                // A derived table sees what is around the query; one of APPLY sees the row to its left first.
                let beside = Env { row: start, aggregates: &[], windows: &[], outer };
                let applied = start.iter().any(Option::is_some);
                let around = if applied { Some(&beside) } else { outer };
                let rows = self.plan_rows(plan, around)?;
                Ok(placed(&rows, *slot, start))
            }
            SourcePlan::Cte { slot, index } => {
                let rows = self.cached(CacheKey::Cte(*index), || {
                    let Some(plan) = self.ctes.get(*index) else { return Ok(Vec::new()) };
                    Ok(self.query(plan, None)?.into_iter().map(Rc::new).collect())
                })?;
                Ok(placed(&rows, *slot, start))
            }
            SourcePlan::Values { slot, rows } => {
                let beside = Env { row: start, aggregates: &[], windows: &[], outer };
                let applied = start.iter().any(Option::is_some);
                let around = if applied { Some(&beside) } else { outer };
                let env = Env { row: &[], aggregates: &[], windows: &[], outer: around };
                let mut made: Vec<Row> = Vec::new();
                for row in rows {
                    let values = row.iter().map(|value| self.evaluate(value, &env).map(std::borrow::Cow::into_owned));
                    made.push(Rc::new(values.collect::<Result<_, _>>()?));
                }
                Ok(placed(&made, *slot, start))
            }
            SourcePlan::Nested(chain) => self.chain_rows(chain, start, outer),
        }
    }

    fn view_rows(&self, schema: &str, name: &str, arguments: &[Expr], env: &Env<'_>) -> Result<Rc<Vec<Row>>, Failure> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.evaluate(argument, env)?.into_owned());
        }
        let key = CacheKey::View(format!("{}.{} {values:?}", schema.to_lowercase(), name.to_lowercase()));
        self.cached(key, || {
            let rows = self.server.host.rows(self.server.context, schema, name, &values)?;
            Ok(rows.into_iter().map(Rc::new).collect())
        })
    }

    fn apply(&self, left: Vec<JoinedRow>, join: &JoinPlan, outer: Option<&Env<'_>>) -> Joined {
        let mut joined = Vec::new();
        for row in left {
            self.step()?;
            let right = self.source_rows(&join.source, &row, outer)?;
            if right.is_empty() && join.kind == JoinKind::OuterApply {
                joined.push(row);
            } else {
                joined.extend(right);
            }
            check_size(&joined)?;
        }
        Ok(joined)
    }

    fn join(&self, left: Vec<JoinedRow>, join: &JoinPlan, start: &JoinedRow, outer: Option<&Env<'_>>) -> Joined {
        let right = self.source_rows(&join.source, start, outer)?;
        let index = self.index(&right, &join.equal, outer)?;
        let everything: Vec<usize> = if index.is_none() { (0..right.len()).collect() } else { Vec::new() };
        let mut right_matched = vec![false; right.len()];
        let mut joined = Vec::new();
        for row in left {
            let candidates = match &index {
                None => everything.as_slice(),
                Some(index) => {
                    self.step()?;
                    let key = self.key(&row, &join.equal, |pair| &pair.earlier, outer)?;
                    key.and_then(|key| index.get(&key)).map_or([].as_slice(), Vec::as_slice)
                }
            };
            let mut matched = false;
            for place in candidates {
                self.step()?;
                let Some(partner) = right.get(*place) else { continue };
                let merged = merge(&row, partner, &join.slots);
                let env = Env { row: &merged, aggregates: &[], windows: &[], outer };
                if self.all_hold(&join.on, &env)? == Some(true) {
                    matched = true;
                    if let Some(flag) = right_matched.get_mut(*place) {
                        *flag = true;
                    }
                    joined.push(merged);
                    check_size(&joined)?;
                }
            }
            if !matched && matches!(join.kind, JoinKind::Left | JoinKind::Full) {
                joined.push(row);
            }
        }
        if matches!(join.kind, JoinKind::Right | JoinKind::Full) {
            let alone = right.into_iter().zip(right_matched).filter(|(_, matched)| !matched);
            joined.extend(alone.map(|(row, _)| row));
        }
        Ok(joined)
    }

    /// Places of rows by their keys; `None` where no equality helps.
    fn index(
        &self,
        rows: &[JoinedRow],
        equal: &[EqualPair],
        outer: Option<&Env<'_>>,
    ) -> Result<Option<Index>, Failure> {
        if equal.is_empty() {
            return Ok(None);
        }
        let mut index = Index::new();
        for (place, row) in rows.iter().enumerate() {
            self.step()?;
            if let Some(key) = self.key(row, equal, |pair| &pair.joined, outer)? {
                index.entry(key).or_default().push(place);
            }
        }
        Ok(Some(index))
    }

    /// `None` when a part is NULL: it equals nothing.
    fn key(
        &self,
        row: &JoinedRow,
        equal: &[EqualPair],
        side: fn(&EqualPair) -> &Expr,
        outer: Option<&Env<'_>>,
    ) -> Result<Option<Vec<Key>>, Failure> {
        let env = Env { row, aggregates: &[], windows: &[], outer };
        let mut key = Vec::with_capacity(equal.len());
        for pair in equal {
            let value = self.evaluate(side(pair), &env)?;
            if *value == Datum::Null {
                return Ok(None);
            }
            key.push(Key::new(&value, pair.collation));
        }
        Ok(Some(key))
    }
}

fn placed(rows: &[Row], slot: usize, start: &JoinedRow) -> Vec<JoinedRow> {
    rows.iter()
        .map(|row| {
            let mut joined = start.clone();
            if let Some(place) = joined.get_mut(slot) {
                *place = Some(Rc::clone(row));
            }
            joined
        })
        .collect()
}

fn merge(left: &JoinedRow, right: &JoinedRow, slots: &std::ops::Range<usize>) -> JoinedRow {
    let mut merged = left.clone();
    for slot in slots.clone() {
        if let (Some(place), Some(part)) = (merged.get_mut(slot), right.get(slot)) {
            place.clone_from(part);
        }
    }
    merged
}

fn check_size(rows: &[JoinedRow]) -> Result<(), Failure> {
    if rows.len() > MAX_ROWS { Err(too_much_work().into()) } else { Ok(()) }
}
