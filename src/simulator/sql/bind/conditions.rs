//! Owns binding conditions.

use super::query::{more_than_one_column, with_column_types};
use super::scope::Scope;
use super::{Binder, cast, common_type, comparable};
use crate::simulator::output::Message;
use crate::simulator::sql::ast;
use crate::simulator::sql::messages::invalid_argument_type;
use crate::simulator::sql::plan::{Condition, Expr};
use crate::simulator::sql::types::{Family, common, family, is_text, name, text_length, text_type};

impl Binder<'_> {
    pub(super) fn conditions(
        &mut self,
        conditions: &[ast::Condition],
        scope: &Scope<'_>,
    ) -> Result<Vec<Condition>, Message> {
        conditions.iter().map(|condition| self.condition(condition, scope)).collect()
    }

    pub(super) fn condition(&mut self, condition: &ast::Condition, scope: &Scope<'_>) -> Result<Condition, Message> {
        Ok(match condition {
            ast::Condition::And(parts) => Condition::And(self.conditions(parts, scope)?),
            ast::Condition::Or(parts) => Condition::Or(self.conditions(parts, scope)?),
            ast::Condition::Not(inner) => Condition::Not(Box::new(self.condition(inner, scope)?)),
            ast::Condition::Compare { operator, left, right } => {
                let (left, right) = (self.expr(left, scope)?, self.expr(right, scope)?);
                let sql_type = common_type(&[&left, &right])?;
                let collation = self.collation(&[&left, &right]);
                let (left, right) = (comparable(left, sql_type)?, comparable(right, sql_type)?);
                Condition::Compare { operator: *operator, left, right, collation }
            }
            ast::Condition::Between { value, low, high } => {
                let (value, low, high) = (self.expr(value, scope)?, self.expr(low, scope)?, self.expr(high, scope)?);
                let sql_type = common_type(&[&value, &low, &high])?;
                let collation = self.collation(&[&value, &low, &high]);
                Condition::Between {
                    value: comparable(value, sql_type)?,
                    low: comparable(low, sql_type)?,
                    high: comparable(high, sql_type)?,
                    collation,
                }
            }
            ast::Condition::Like { value, pattern, escape } => {
                let (value, pattern) = (self.expr(value, scope)?, self.expr(pattern, scope)?);
                let escape = escape.as_ref().map(|escape| self.expr(escape, scope)).transpose()?;
                let collation = self.collation(&[&value, &pattern]);
                Condition::Like {
                    value: text_operand(value, 1)?,
                    pattern: text_operand(pattern, 2)?,
                    escape: escape.map(|escape| text_operand(escape, 3)).transpose()?,
                    collation,
                }
            }
            ast::Condition::InList { value, list } => {
                let value = self.expr(value, scope)?;
                let list = self.exprs(list, scope)?;
                let mut all = vec![&value];
                all.extend(&list);
                let (sql_type, collation) = (common_type(&all)?, self.collation(&all));
                let value = comparable(value, sql_type)?;
                let list = list.into_iter().map(|member| comparable(member, sql_type)).collect::<Result<_, _>>()?;
                Condition::InList { value, list, collation }
            }
            ast::Condition::InQuery { value, query } => {
                let value = self.expr(value, scope)?;
                let mut query = self.subquery(query, scope)?;
                let [column] = query.columns.as_mut_slice() else { return Err(more_than_one_column()) };
                let sql_type =
                    if value.is_null_literal() { column.sql_type } else { common(value.sql_type, column.sql_type)? };
                let collation = self.collation(&[&value]);
                let value = comparable(value, sql_type)?;
                if !is_text(sql_type) || !is_text(column.sql_type) {
                    query = with_column_types(query, &[sql_type]);
                }
                Condition::InQuery { value, query: Box::new(query), collation }
            }
            ast::Condition::IsNull(value) => Condition::IsNull(self.expr(value, scope)?),
            ast::Condition::Exists(query) => Condition::Exists(Box::new(self.subquery(query, scope)?)),
        })
    }
}

/// LIKE takes text, and what becomes text unasked.
fn text_operand(value: Expr, place: usize) -> Result<Expr, Message> {
    match family(value.sql_type) {
        Family::Text => Ok(value),
        Family::Xml | Family::Variant => Err(invalid_argument_type(name(value.sql_type), place, "like")),
        _ => {
            let sql_type = text_type(false, text_length(value.sql_type));
            cast(value, sql_type)
        }
    }
}
