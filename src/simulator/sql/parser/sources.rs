//! Owns the grammar of FROM: tables, table functions, derived tables, joins.

use super::{Parsed, Parser};
use crate::simulator::sql::ast::{FromChain, Join, JoinKind, Source};
use crate::simulator::sql::messages::not_simulated;

impl Parser<'_> {
    pub(super) fn joined_sources(&mut self) -> Parsed<FromChain> {
        let first = self.source()?;
        let mut joins = Vec::new();
        while let Some(kind) = self.join_kind()? {
            let source = self.source()?;
            let on = if matches!(kind, JoinKind::Cross | JoinKind::CrossApply | JoinKind::OuterApply) {
                None
            } else {
                self.expect_word("ON")?;
                Some(self.condition()?)
            };
            joins.push(Join { kind, source, on });
        }
        Ok(FromChain { first, joins })
    }

    fn join_kind(&mut self) -> Parsed<Option<JoinKind>> {
        let kind = if self.accept_word("JOIN") {
            return Ok(Some(JoinKind::Inner));
        } else if self.accept_word("INNER") {
            JoinKind::Inner
        } else if self.accept_word("CROSS") {
            if self.accept_word("APPLY") {
                return Ok(Some(JoinKind::CrossApply));
            }
            JoinKind::Cross
        } else if self.is_word("OUTER") && self.is_word_at(1, "APPLY") {
            self.at += 2;
            return Ok(Some(JoinKind::OuterApply));
        } else if self.accept_word("LEFT") {
            self.accept_word("OUTER");
            JoinKind::Left
        } else if self.accept_word("RIGHT") {
            self.accept_word("OUTER");
            JoinKind::Right
        } else if self.accept_word("FULL") {
            self.accept_word("OUTER");
            JoinKind::Full
        } else {
            return Ok(None);
        };
        if kind != JoinKind::Cross {
            // A hint between INNER and JOIN chooses the algorithm, not the answer.
            let _hinted = ["HASH", "LOOP", "MERGE"].iter().any(|hint| self.accept_word(hint));
        }
        self.expect_word("JOIN")?;
        Ok(Some(kind))
    }

    fn source(&mut self) -> Parsed<Source> {
        if self.is_symbol("(") {
            return self.nested(Self::parenthesised_source);
        }
        let line = self.line();
        let name = self.multi_part_name()?;
        let arguments = if self.is_symbol("(") && !self.is_old_hint() {
            self.at += 1;
            let arguments = if self.is_symbol(")") { Vec::new() } else { self.values()? };
            self.expect_symbol(")")?;
            Some(arguments)
        } else {
            None
        };
        if arguments.is_some() && name.len() > 1 && name.last().is_some_and(|name| name == "nodes") {
            return Err(not_simulated("XQuery (the xml method nodes())").at_line(line));
        }
        self.table_hints()?;
        let alias = self.source_alias()?;
        self.table_hints()?;
        if self.is_word("PIVOT") || self.is_word("UNPIVOT") || self.is_word("TABLESAMPLE") {
            return Err(not_simulated("PIVOT, UNPIVOT and TABLESAMPLE").at_line(self.line()));
        }
        Ok(Source::Named { name, alias, arguments, line })
    }

    /// `(NOLOCK)` straight after a table's name.
    fn is_old_hint(&self) -> bool {
        self.is_word_at(1, "NOLOCK") && self.is_symbol_at(2, ")")
    }

    fn table_hints(&mut self) -> Parsed<()> {
        if self.is_word("WITH") && self.is_symbol_at(1, "(") {
            self.at += 1;
            self.skip_parentheses()?;
        } else if self.is_symbol("(") && self.is_old_hint() {
            self.skip_parentheses()?;
        }
        Ok(())
    }

    fn source_alias(&mut self) -> Parsed<Option<String>> {
        if self.accept_word("AS") || self.is_name() { Ok(Some(self.name()?)) } else { Ok(None) }
    }

    fn parenthesised_source(&mut self) -> Parsed<Source> {
        self.expect_symbol("(")?;
        if self.accept_word("VALUES") {
            let rows = self.comma_separated(|parser| {
                parser.expect_symbol("(")?;
                let row = parser.values()?;
                parser.expect_symbol(")")?;
                Ok(row)
            })?;
            self.expect_symbol(")")?;
            self.accept_word("AS");
            let alias = self.name()?;
            let columns = self.column_names()?;
            return Ok(Source::Values { rows, alias, columns });
        }
        if self.is_query() {
            let query = Box::new(self.nested(Self::query)?);
            self.expect_symbol(")")?;
            self.accept_word("AS");
            let alias = self.name()?;
            let columns = self.column_names()?;
            return Ok(Source::Derived { query, alias, columns });
        }
        let chain = Box::new(self.joined_sources()?);
        self.expect_symbol(")")?;
        Ok(Source::Nested(chain))
    }

    /// Whether what follows, behind any opening parentheses, is a SELECT.
    fn is_query(&self) -> bool {
        let mut ahead = 0;
        while self.is_symbol_at(ahead, "(") {
            ahead += 1;
        }
        self.is_word_at(ahead, "SELECT")
    }
}
