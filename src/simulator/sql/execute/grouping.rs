//! Owns GROUP BY, aggregates and window functions at run time.

use super::query::compare_keys;
use super::{Env, Executor, JoinedRow};
use crate::simulator::sql::compare::Key;
use crate::simulator::sql::messages::Failure;
use crate::simulator::sql::plan::{AggregatePlan, Expr, Grouping, SelectPlan, SortBy, SortKey, WindowPlan};
use crate::simulator::value::{Datum, SqlType};
use std::collections::{HashMap, HashSet};

/// A group: one of its rows stands for all, as every key is the same on each.
pub(super) struct Group {
    pub(super) row: JoinedRow,
    pub(super) aggregates: Vec<Datum>,
}

impl Executor<'_> {
    pub(super) fn groups(
        &self,
        select: &SelectPlan,
        grouping: &Grouping,
        rows: Vec<JoinedRow>,
        outer: Option<&Env<'_>>,
    ) -> Result<Vec<Group>, Failure> {
        let mut members: Vec<Vec<JoinedRow>> = Vec::new();
        let mut places: HashMap<Vec<Key>, usize> = HashMap::new();
        if grouping.keys.is_empty() {
            members.push(rows);
        } else {
            for row in rows {
                self.step()?;
                let key = self.keys(&grouping.keys, &row, outer)?;
                let place = *places.entry(key).or_insert_with(|| {
                    members.push(Vec::new());
                    members.len() - 1
                });
                if let Some(group) = members.get_mut(place) {
                    group.push(row);
                }
            }
        }
        members
            .into_iter()
            .map(|rows| {
                let aggregates = grouping
                    .aggregates
                    .iter()
                    .map(|aggregate| self.aggregate(aggregate, &rows, outer))
                    .collect::<Result<_, _>>()?;
                let row = rows.into_iter().next().unwrap_or_else(|| vec![None; select.sources]);
                Ok(Group { row, aggregates })
            })
            .collect()
    }

    fn keys(&self, exprs: &[Expr], row: &JoinedRow, outer: Option<&Env<'_>>) -> Result<Vec<Key>, Failure> {
        let env = Env { row, aggregates: &[], windows: &[], outer };
        exprs.iter().map(|expr| Ok(Key::new(&*self.evaluate(expr, &env)?, self.collation(expr)))).collect()
    }

    /// The values of sort keys that are values.
    fn sort_values(&self, keys: &[SortKey], row: &JoinedRow, outer: Option<&Env<'_>>) -> Result<Vec<Datum>, Failure> {
        let env = Env { row, aggregates: &[], windows: &[], outer };
        keys.iter()
            .map(|key| match &key.by {
                SortBy::Value(value) => Ok(self.evaluate(value, &env)?.into_owned()),
                SortBy::Output(_) => Ok(Datum::Null),
            })
            .collect()
    }

    fn aggregate(
        &self,
        aggregate: &AggregatePlan,
        rows: &[JoinedRow],
        outer: Option<&Env<'_>>,
    ) -> Result<Datum, Failure> {
        let collation = aggregate.argument.as_ref().map(|argument| self.collation(argument)).unwrap_or_default();
        let argument_type = aggregate.argument.as_ref().map_or(SqlType::Int, |argument| argument.sql_type);
        let mut collected: Vec<(Vec<Datum>, Datum, Datum)> = Vec::new();
        let mut seen: HashSet<Key> = HashSet::new();
        for row in rows {
            self.step()?;
            let env = Env { row, aggregates: &[], windows: &[], outer };
            let value = match &aggregate.argument {
                None => Datum::Int(1),
                Some(argument) => self.evaluate(argument, &env)?.into_owned(),
            };
            if value == Datum::Null || (aggregate.distinct && !seen.insert(Key::new(&value, collation))) {
                continue;
            }
            let separator = match &aggregate.separator {
                None => Datum::Null,
                Some(separator) => self.evaluate(separator, &env)?.into_owned(),
            };
            collected.push((self.sort_values(&aggregate.order, row, outer)?, value, separator));
        }
        if !aggregate.order.is_empty() {
            collected.sort_by(|(left, ..), (right, ..)| compare_keys(&aggregate.order, left, right));
        }
        let mut values = Vec::with_capacity(collected.len());
        let mut separators = Vec::with_capacity(collected.len());
        for (_, value, separator) in collected {
            values.push(value);
            separators.push(separator);
        }
        let answer = aggregate.function.compute(&values, &separators, argument_type, aggregate.result, collation)?;
        Ok(answer)
    }

    /// For each row, the answers of the query's window functions.
    pub(super) fn windows(
        &self,
        plans: &[WindowPlan],
        rows: &[JoinedRow],
        outer: Option<&Env<'_>>,
    ) -> Result<Vec<Vec<Datum>>, Failure> {
        let mut answers = vec![Vec::with_capacity(plans.len()); rows.len()];
        for plan in plans {
            let mut partitions: HashMap<Vec<Key>, Vec<(usize, Vec<Datum>)>> = HashMap::new();
            for (place, row) in rows.iter().enumerate() {
                self.step()?;
                let key = self.keys(&plan.partition_by, row, outer)?;
                let values = self.sort_values(&plan.order, row, outer)?;
                partitions.entry(key).or_default().push((place, values));
            }
            for mut partition in partitions.into_values() {
                partition.sort_by(|(_, left), (_, right)| compare_keys(&plan.order, left, right));
                let whole = match &plan.aggregate {
                    None => None,
                    Some(aggregate) => {
                        let members: Vec<JoinedRow> =
                            partition.iter().filter_map(|(place, _)| rows.get(*place).cloned()).collect();
                        Some(self.aggregate(aggregate, &members, outer)?)
                    }
                };
                for (number, (place, _)) in partition.into_iter().enumerate() {
                    if let Some(answer) = answers.get_mut(place) {
                        answer.push(whole.clone().unwrap_or(Datum::Int(number as i64 + 1)));
                    }
                }
            }
        }
        Ok(answers)
    }
}
