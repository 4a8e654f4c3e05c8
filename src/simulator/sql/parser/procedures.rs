//! Owns the grammar of EXECUTE.

use super::{Parsed, Parser};
use crate::simulator::sql::ast::{Argument, Execute, Expr, StatementKind};
use crate::simulator::sql::messages::not_simulated;
use crate::simulator::sql::tokenizer::TokenKind;

impl Parser<'_> {
    /// What follows EXEC.
    pub(super) fn execute(&mut self) -> Parsed<StatementKind> {
        if self.accept_symbol("(") {
            let value = self.value()?;
            self.expect_symbol(")")?;
            return Ok(StatementKind::ExecuteText(value));
        }
        let result = if self.is_variable() && self.is_symbol_at(1, "=") {
            let name = self.declared_variable()?;
            self.at += 1;
            Some(name)
        } else {
            None
        };
        if self.is_variable() {
            return Err(not_simulated("EXEC of a procedure named by a variable").at_line(self.line()));
        }
        let StatementKind::Execute(call) = self.procedure_call()? else { return Err(self.unexpected_here()) };
        Ok(StatementKind::Execute(Execute { result, ..call }))
    }

    /// A procedure's name and arguments; also the first statement of a batch without EXEC.
    pub(super) fn procedure_call(&mut self) -> Parsed<StatementKind> {
        let parts = self.multi_part_name()?;
        let arguments =
            if self.is_statement_end() { Vec::new() } else { self.comma_separated(Self::procedure_argument)? };
        Ok(StatementKind::Execute(Execute { procedure: parts, result: None, arguments }))
    }

    /// A constant, a variable, or a bare word, which is text.
    fn procedure_argument(&mut self) -> Parsed<Argument> {
        let name = if self.is_variable() && self.is_symbol_at(1, "=") {
            let name = self.variable_name()?;
            self.at += 1;
            Some(name)
        } else {
            None
        };
        let negative = self.accept_symbol("-");
        let Some(token) = self.peek() else { return Err(self.unexpected_here()) };
        let value = match token.kind {
            TokenKind::Number => Expr::Number(token.text.clone()),
            TokenKind::String if !negative => Expr::Text { value: token.text.clone(), national: token.is_national() },
            TokenKind::Variable if !negative && token.text.starts_with("@@") => {
                let value = self.server_variable(token)?;
                return Ok(Argument { name, value, output: false });
            }
            TokenKind::Variable if !negative => {
                let value = Expr::Variable(self.declared_variable()?);
                let output = self.accept_word("OUTPUT") || self.accept_word("OUT");
                return Ok(Argument { name, value, output });
            }
            TokenKind::Word if !negative && token.is_word("NULL") => Expr::Null,
            TokenKind::Word | TokenKind::QuotedIdentifier if !negative && self.is_name() => {
                Expr::Text { value: token.text.clone(), national: true }
            }
            _ => return Err(self.unexpected_here()),
        };
        self.at += 1;
        let value = if negative { Expr::Negate(Box::new(value)) } else { value };
        Ok(Argument { name, value, output: false })
    }
}
