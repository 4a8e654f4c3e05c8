//! Owns the grammar of SELECT: common table expressions, select list, grouping, UNION, ordering.

use super::{Parsed, Parser, is_name};
use crate::model::ServerVersion;
use crate::simulator::sql::ast::{Cte, Expr, FromChain, OrderItem, Query, Select, SelectItem, Term, Union};
use crate::simulator::sql::messages::not_simulated;
use crate::simulator::sql::tokenizer::TokenKind;

impl Parser<'_> {
    pub(super) fn query(&mut self) -> Parsed<Query> {
        let ctes = if self.accept_word("WITH") { self.comma_separated(Self::cte)? } else { Vec::new() };
        let first = self.term()?;
        let mut unions = Vec::new();
        loop {
            if self.is_word("EXCEPT") || self.is_word("INTERSECT") {
                return Err(not_simulated("EXCEPT and INTERSECT").at_line(self.line()));
            }
            if !self.accept_word("UNION") {
                break;
            }
            let all = self.accept_word("ALL");
            unions.push(Union { all, term: self.term()? });
        }
        let order_by = if self.is_word("ORDER") { self.order_by()? } else { Vec::new() };
        let (mut offset, mut fetch) = (None, None);
        if !order_by.is_empty() && self.version >= ServerVersion::V2012 && self.accept_word("OFFSET") {
            offset = Some(self.value()?);
            self.row_word()?;
            if self.accept_word("FETCH") {
                if !self.accept_word("NEXT") {
                    self.expect_word("FIRST")?;
                }
                fetch = Some(self.value()?);
                self.row_word()?;
                self.expect_word("ONLY")?;
            }
        }
        if self.is_word("FOR") {
            let what = self.peek_at(1).map(|token| token.text.to_ascii_uppercase()).unwrap_or_default();
            return Err(not_simulated(&format!("FOR {what}")).at_line(self.line()));
        }
        if self.accept_word("OPTION") {
            self.skip_parentheses()?;
        }
        Ok(Query { ctes, first, unions, order_by, offset, fetch })
    }

    fn row_word(&mut self) -> Parsed<()> {
        if self.accept_word("ROWS") { Ok(()) } else { self.expect_word("ROW") }
    }

    fn cte(&mut self) -> Parsed<Cte> {
        let name = self.name()?;
        let columns = self.column_names()?;
        self.expect_word("AS")?;
        let query = self.subquery()?;
        Ok(Cte { name, columns, query })
    }

    /// `(a, b)` after the alias of a derived table, or nothing.
    pub(super) fn column_names(&mut self) -> Parsed<Vec<String>> {
        if !self.accept_symbol("(") {
            return Ok(Vec::new());
        }
        let names = self.comma_separated(Self::name)?;
        self.expect_symbol(")")?;
        Ok(names)
    }

    fn term(&mut self) -> Parsed<Term> {
        if self.accept_symbol("(") {
            let query = self.nested(Self::query)?;
            self.expect_symbol(")")?;
            return Ok(Term::Nested(Box::new(query)));
        }
        Ok(Term::Select(Box::new(self.select()?)))
    }

    fn select(&mut self) -> Parsed<Select> {
        self.expect_word("SELECT")?;
        let distinct = self.accept_word("DISTINCT");
        if !distinct {
            self.accept_word("ALL");
        }
        let top = if self.accept_word("TOP") { Some(self.top()?) } else { None };
        let items = self.comma_separated(Self::select_item)?;
        if self.is_word("INTO") {
            return Err(not_simulated("SELECT INTO").at_line(self.line()));
        }
        let from: Vec<FromChain> =
            if self.accept_word("FROM") { self.comma_separated(Self::joined_sources)? } else { Vec::new() };
        let filter = if self.accept_word("WHERE") { Some(self.condition()?) } else { None };
        let mut group_by = Vec::new();
        if self.accept_word("GROUP") {
            self.expect_word("BY")?;
            group_by = self.values()?;
            if self.is_word("WITH") {
                return Err(not_simulated("ROLLUP and CUBE").at_line(self.line()));
            }
        }
        let having = if self.accept_word("HAVING") { Some(self.condition()?) } else { None };
        Ok(Select { distinct, top, items, from, filter, group_by, having })
    }

    fn top(&mut self) -> Parsed<Expr> {
        let rows = if self.accept_symbol("(") {
            let rows = self.value()?;
            self.expect_symbol(")")?;
            rows
        } else {
            let number = self.peek().filter(|token| token.kind == TokenKind::Number);
            let text = number.ok_or_else(|| self.unexpected_here())?.text.clone();
            self.at += 1;
            Expr::Number(text)
        };
        if self.is_word("PERCENT") || (self.is_word("WITH") && self.is_word_at(1, "TIES")) {
            return Err(not_simulated("TOP with PERCENT or WITH TIES").at_line(self.line()));
        }
        Ok(rows)
    }

    fn select_item(&mut self) -> Parsed<SelectItem> {
        let line = self.line();
        if let Some(qualifier) = self.star() {
            return Ok(SelectItem::Star { qualifier, line });
        }
        if self.is_variable() && self.is_symbol_at(1, "=") {
            let variable = self.declared_variable()?;
            self.at += 1;
            return Ok(SelectItem::Assign { variable, expr: self.value()? });
        }
        if (self.is_name() || self.is_string()) && self.is_symbol_at(1, "=") {
            let alias = Some(self.alias()?);
            self.at += 1;
            return Ok(SelectItem::Value { expr: self.value()?, alias });
        }
        let expr = self.value()?;
        let alias =
            if self.accept_word("AS") || self.is_name() || self.is_string() { Some(self.alias()?) } else { None };
        Ok(SelectItem::Value { expr, alias })
    }

    /// `*` or `a.b.*`: the qualifier, and the tokens are taken.
    fn star(&mut self) -> Option<Vec<String>> {
        let mut ahead = 0;
        let mut qualifier = Vec::new();
        while let Some(name) = self.peek_at(ahead).filter(|token| is_name(token)).map(|token| &token.text) {
            if !self.is_symbol_at(ahead + 1, ".") {
                return None;
            }
            qualifier.push(name.clone());
            ahead += 2;
        }
        if !self.is_symbol_at(ahead, "*") {
            return None;
        }
        self.at += ahead + 1;
        Some(qualifier)
    }

    fn is_string(&self) -> bool {
        self.peek().is_some_and(|token| token.kind == TokenKind::String)
    }

    /// A column alias may be a string.
    fn alias(&mut self) -> Parsed<String> {
        if let Some(token) = self.peek().filter(|token| token.kind == TokenKind::String) {
            self.at += 1;
            return Ok(token.text.clone());
        }
        self.name()
    }

    pub(super) fn order_by(&mut self) -> Parsed<Vec<OrderItem>> {
        self.expect_word("ORDER")?;
        self.expect_word("BY")?;
        self.comma_separated(|parser| {
            let expr = parser.value()?;
            let descending = parser.accept_word("DESC");
            if !descending {
                parser.accept_word("ASC");
            }
            Ok(OrderItem { expr, descending })
        })
    }
}
