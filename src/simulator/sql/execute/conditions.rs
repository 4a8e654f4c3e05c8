//! Owns evaluating conditions: true, false or unknown (`None`).

use super::{Env, Executor};
use crate::simulator::sql::ast::Comparison;
use crate::simulator::sql::compare::{Collation, like, order};
use crate::simulator::sql::messages::{Failure, error};
use crate::simulator::sql::plan::{Condition, Expr, QueryPlan};
use crate::simulator::value::Datum;
use std::cmp::Ordering;

type Truth = Result<Option<bool>, Failure>;

impl Executor<'_> {
    pub(in crate::simulator::sql) fn holds(&self, condition: &Condition, env: &Env<'_>) -> Truth {
        match condition {
            Condition::And(parts) => self.all_hold(parts, env),
            Condition::Or(parts) => {
                let mut unknown = false;
                for part in parts {
                    match self.holds(part, env)? {
                        Some(true) => return Ok(Some(true)),
                        Some(false) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(false) })
            }
            Condition::Not(inner) => Ok(self.holds(inner, env)?.map(|truth| !truth)),
            Condition::Compare { operator, left, right, collation } => {
                let (left, right) = (self.evaluate(left, env)?, self.evaluate(right, env)?);
                Ok(compare(*operator, &left, &right, *collation))
            }
            Condition::Between { value, low, high, collation } => {
                let value = self.evaluate(value, env)?;
                let above = compare(Comparison::GreaterOrEqual, &value, &*self.evaluate(low, env)?, *collation);
                let below = compare(Comparison::LessOrEqual, &value, &*self.evaluate(high, env)?, *collation);
                Ok(match (above, below) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                })
            }
            Condition::Like { value, pattern, escape, collation } => {
                self.like(value, pattern, escape.as_ref(), *collation, env)
            }
            Condition::InList { value, list, collation } => {
                let value = self.evaluate(value, env)?;
                let mut unknown = false;
                for member in list {
                    match compare(Comparison::Equal, &value, &*self.evaluate(member, env)?, *collation) {
                        Some(true) => return Ok(Some(true)),
                        Some(false) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(false) })
            }
            Condition::InQuery { value, query, collation } => self.in_query(value, query, *collation, env),
            Condition::IsNull(value) => Ok(Some(*self.evaluate(value, env)? == Datum::Null)),
            Condition::Exists(query) => Ok(Some(!self.subquery_rows(query, env)?.is_empty())),
        }
    }

    /// AND over any number of conditions.
    pub(super) fn all_hold(&self, conditions: &[Condition], env: &Env<'_>) -> Truth {
        let mut unknown = false;
        for condition in conditions {
            match self.holds(condition, env)? {
                Some(false) => return Ok(Some(false)),
                Some(true) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(true) })
    }

    fn like(&self, value: &Expr, pattern: &Expr, escape: Option<&Expr>, collation: Collation, env: &Env<'_>) -> Truth {
        let value = self.evaluate(value, env)?;
        let pattern = self.evaluate(pattern, env)?;
        let escape = escape.map(|escape| self.evaluate(escape, env)).transpose()?;
        let (Datum::Text(text), Datum::Text(pattern)) = (&*value, &*pattern) else { return Ok(None) };
        let escape = match escape.as_deref() {
            None => None,
            Some(Datum::Text(escape)) => Some(escape.as_str()),
            Some(_) => return Ok(None),
        };
        let matches = like(text, pattern, escape, collation).ok_or_else(|| {
            let escape = escape.unwrap_or_default();
            error(506, 16, 1, format!("The invalid escape character \"{escape}\" was specified in a LIKE predicate."))
        })?;
        Ok(Some(matches))
    }

    fn in_query(&self, value: &Expr, query: &QueryPlan, collation: Collation, env: &Env<'_>) -> Truth {
        let value = self.evaluate(value, env)?;
        let rows = self.subquery_rows(query, env)?;
        let mut unknown = false;
        for row in rows.iter() {
            self.step()?;
            let member = row.first().unwrap_or(&Datum::Null);
            match compare(Comparison::Equal, &value, member, collation) {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(false) })
    }
}

/// Unknown when either is NULL.
fn compare(operator: Comparison, left: &Datum, right: &Datum, collation: Collation) -> Option<bool> {
    if *left == Datum::Null || *right == Datum::Null {
        return None;
    }
    let order = order(left, right, collation);
    Some(match operator {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::NotEqual => order != Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    })
}
