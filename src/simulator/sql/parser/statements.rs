//! Owns the grammar of statements and where each ends.

use super::{Parsed, Parser};
use crate::model::ServerVersion;
use crate::simulator::sql::ast::{Arithmetic, Declaration, Expr, Statement, StatementKind, Throw};
use crate::simulator::sql::keywords::{is_reserved, starts_statement};
use crate::simulator::sql::messages::{error, not_simulated, unexpected};
use crate::simulator::sql::tokenizer::{Token, TokenKind};

impl Parser<'_> {
    pub(super) fn batch(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        self.skip_semicolons();
        if self.is_name() && !self.is_statement_word() {
            statements.push(Statement { line: self.line(), kind: self.procedure_call()? });
        }
        self.skip_semicolons();
        while self.peek().is_some() {
            self.check_terminated(!statements.is_empty())?;
            statements.push(self.statement()?);
            self.skip_semicolons();
        }
        Ok(statements)
    }

    fn skip_semicolons(&mut self) {
        while self.accept_symbol(";") {}
    }

    /// Error 319: WITH starts a statement only after a semicolon.
    fn check_terminated(&self, follows_statement: bool) -> Parsed<()> {
        let semicolon = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).is_some_and(|t| t.is_symbol(";"));
        if !follows_statement || semicolon || !self.is_word("WITH") {
            return Ok(());
        }
        let text = "Incorrect syntax near the keyword 'with'. If this statement is a common table expression, an \
                    xmlnamespaces clause or a change tracking context clause, the previous statement must be terminated \
                    with a semicolon.";
        Err(error(319, 15, 1, text).at_line(self.line()))
    }

    /// THROW, which came with 2012, is the one statement whose first word is not reserved.
    fn is_statement_word(&self) -> bool {
        self.version >= ServerVersion::V2012 && self.is_word("THROW")
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let line = self.line();
        let kind = self.nested(Self::statement_kind)?;
        Ok(Statement { line, kind })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        let Some(token) = self.peek() else { return Err(self.unexpected_here()) };
        if token.is_symbol("(") {
            return Ok(StatementKind::Select(self.query()?));
        }
        if token.kind != TokenKind::Word {
            return Err(self.unexpected_here());
        }
        match token.text.to_ascii_uppercase().as_str() {
            "SELECT" | "WITH" => return Ok(StatementKind::Select(self.query()?)),
            "CREATE" | "ALTER" | "DROP" if self.is_event_session_ahead() => {
                return Ok(StatementKind::EventSession(self.raw_statement()));
            }
            "DBCC" => return Ok(StatementKind::Dbcc(self.raw_statement())),
            _ => {}
        }
        self.at += 1;
        match token.text.to_ascii_uppercase().as_str() {
            "DECLARE" => Ok(StatementKind::Declare(self.comma_separated(Self::declaration)?)),
            "SET" => self.set(),
            "USE" => Ok(StatementKind::Use(self.name()?)),
            "PRINT" => Ok(StatementKind::Print(self.value()?)),
            "IF" => self.if_statement(),
            "WHILE" => self.while_statement(),
            "BREAK" if self.loops > 0 => Ok(StatementKind::Break),
            "CONTINUE" if self.loops > 0 => Ok(StatementKind::Continue),
            "BREAK" => Err(error(135, 15, 1, "Cannot use a BREAK statement outside the scope of a WHILE statement.")
                .at_line(token.line)),
            "CONTINUE" => {
                Err(error(136, 15, 1, "Cannot use a CONTINUE statement outside the scope of a WHILE statement.")
                    .at_line(token.line))
            }
            "BEGIN" => self.begin(),
            "COMMIT" => {
                self.transaction_end();
                Ok(StatementKind::Commit)
            }
            "ROLLBACK" => {
                self.transaction_end();
                Ok(StatementKind::Rollback)
            }
            "RAISERROR" => self.raise_error(),
            "THROW" if self.version >= ServerVersion::V2012 => self.throw(),
            "WAITFOR" => self.wait_for(),
            "RETURN" => {
                let value = if self.is_statement_end() { None } else { Some(self.value()?) };
                Ok(StatementKind::Return(value))
            }
            "EXEC" | "EXECUTE" => self.execute(),
            "CREATE" | "ALTER" | "DROP" => {
                let what = self.peek().map(|token| token.text.to_ascii_uppercase()).unwrap_or_default();
                Err(not_simulated(&format!("{} {what}", token.text.to_ascii_uppercase())).at_line(token.line))
            }
            word if starts_statement(word) && !matches!(word, "ELSE" | "END") => {
                Err(not_simulated(word).at_line(token.line))
            }
            _ => {
                self.at -= 1;
                Err(self.unexpected_here())
            }
        }
    }

    fn is_event_session_ahead(&self) -> bool {
        self.is_word_at(1, "EVENT") && self.is_word_at(2, "SESSION")
    }

    /// Whether the statement before the next token is over.
    pub(super) fn is_statement_end(&self) -> bool {
        self.peek().is_none_or(|token| {
            token.is_symbol(";")
                || (token.kind == TokenKind::Word
                    && (starts_statement(&token.text)
                        || ["SET", "DROP", "WITH"].iter().any(|word| token.is_word(word))))
        })
    }

    /// The tokens of a statement that another parser reads: to `;` or the next statement's first word.
    fn raw_statement(&mut self) -> Vec<Token> {
        let start = self.at;
        let dbcc = self.is_word("DBCC");
        let mut depth = 0_u32;
        self.at += 1;
        while let Some(token) = self.peek() {
            if token.is_symbol("(") {
                depth += 1;
            } else if token.is_symbol(")") {
                depth = depth.saturating_sub(1);
            } else if token.is_symbol(";") {
                break;
            } else if depth == 0 && token.kind == TokenKind::Word && !self.follows_dot() {
                let clause = !dbcc && (self.is_word_at(1, "TARGET") || self.is_drop_of_event());
                let drops = token.is_word("DROP") && !clause;
                if drops || token.is_word("SET") || starts_statement(&token.text) {
                    break;
                }
            }
            self.at += 1;
        }
        self.tokens.get(start..self.at).unwrap_or_default().to_vec()
    }

    /// DROP EVENT of ALTER EVENT SESSION, not DROP EVENT SESSION.
    fn is_drop_of_event(&self) -> bool {
        self.is_word_at(1, "EVENT") && !self.is_word_at(2, "SESSION")
    }

    fn follows_dot(&self) -> bool {
        self.at.checked_sub(1).and_then(|before| self.tokens.get(before)).is_some_and(|token| token.is_symbol("."))
    }

    fn declaration(&mut self) -> Parsed<Declaration> {
        let line = self.line();
        if self.is_name() {
            return Err(not_simulated("cursors").at_line(line));
        }
        let name = self.variable_name()?;
        self.accept_word("AS");
        let sql_type = self.data_type()?;
        if self.declared.iter().any(|declared| declared.eq_ignore_ascii_case(&name)) {
            let text = format!(
                "The variable name '{name}' has already been declared. Variable names must be unique within a query \
                 batch or stored procedure."
            );
            return Err(error(134, 15, 1, text).at_line(line));
        }
        let value = if self.accept_symbol("=") { Some(self.value()?) } else { None };
        self.declared.push(name.clone());
        Ok(Declaration { name, sql_type, value })
    }

    fn set(&mut self) -> Parsed<StatementKind> {
        if !self.is_variable() {
            return self.set_option();
        }
        let name = self.declared_variable()?;
        if self.accept_symbol("=") {
            return Ok(StatementKind::SetVariable { name, value: self.value()? });
        }
        let operator = match self.next()?.text.as_str() {
            "+=" => Arithmetic::Add,
            "-=" => Arithmetic::Subtract,
            "*=" => Arithmetic::Multiply,
            "/=" => Arithmetic::Divide,
            "%=" => Arithmetic::Modulo,
            _ => {
                self.at -= 1;
                return Err(self.unexpected_here());
            }
        };
        let steps = vec![(operator, self.value()?)];
        let value = Expr::Chain { first: Box::new(Expr::Variable(name.clone())), steps };
        Ok(StatementKind::SetVariable { name, value })
    }

    fn set_option(&mut self) -> Parsed<StatementKind> {
        let token = self.next()?;
        let option = token.text.to_ascii_uppercase();
        match option.as_str() {
            "TRANSACTION" => self.isolation_level()?,
            "LOCK_TIMEOUT" | "TEXTSIZE" | "DATEFIRST" | "QUERY_GOVERNOR_COST_LIMIT" | "CONTEXT_INFO" => {
                self.option_value()?;
            }
            "STATISTICS" => {
                self.name()?;
                if self.accept_word("ON") {
                    return Err(not_simulated("SET STATISTICS ON").at_line(token.line));
                }
                self.expect_word("OFF")?;
            }
            "LANGUAGE" | "DATEFORMAT" | "DEADLOCK_PRIORITY" => {
                if self.is_name() {
                    self.at += 1;
                } else {
                    self.option_value()?;
                }
            }
            "ROWCOUNT" => {
                if !matches!(self.value()?, Expr::Number(number) if number == "0") {
                    return Err(not_simulated("SET ROWCOUNT other than 0").at_line(token.line));
                }
            }
            _ => {
                let mut options = vec![token];
                while self.accept_symbol(",") {
                    options.push(self.next()?);
                }
                for token in &options {
                    check_switch(token)?;
                }
                let on = self.accept_word("ON");
                if !on {
                    self.expect_word("OFF")?;
                }
                if let Some(token) =
                    options.iter().find(|token| on && CHANGES_EXECUTION.iter().any(|o| token.is_word(o)))
                {
                    let what = format!("SET {} ON", token.text.to_ascii_uppercase());
                    return Err(not_simulated(&what).at_line(token.line));
                }
            }
        }
        Ok(StatementKind::SetOption)
    }

    /// A number, a string or a variable; what SET options take instead of expressions.
    fn option_value(&mut self) -> Parsed<()> {
        let negative = self.accept_symbol("-");
        if self.is_variable() && !negative {
            return self.declared_variable().map(|_| ());
        }
        let token = self.next()?;
        let allowed = token.kind == TokenKind::Number || (token.kind == TokenKind::String && !negative);
        if allowed { Ok(()) } else { Err(unexpected(token)) }
    }

    fn isolation_level(&mut self) -> Parsed<()> {
        self.expect_word("ISOLATION")?;
        self.expect_word("LEVEL")?;
        if self.accept_word("SNAPSHOT") || self.accept_word("SERIALIZABLE") {
            return Ok(());
        }
        if self.accept_word("REPEATABLE") {
            return self.expect_word("READ");
        }
        self.expect_word("READ")?;
        if self.accept_word("COMMITTED") { Ok(()) } else { self.expect_word("UNCOMMITTED") }
    }

    fn if_statement(&mut self) -> Parsed<StatementKind> {
        let condition = self.condition()?;
        let then = Box::new(self.statement()?);
        let ahead = usize::from(self.is_symbol(";") && self.is_word_at(1, "ELSE"));
        let otherwise = if self.is_word_at(ahead, "ELSE") {
            self.at += ahead + 1;
            Some(Box::new(self.statement()?))
        } else {
            None
        };
        Ok(StatementKind::If { condition, then, otherwise })
    }

    fn while_statement(&mut self) -> Parsed<StatementKind> {
        let condition = self.condition()?;
        self.loops += 1;
        let body = self.statement();
        self.loops -= 1;
        Ok(StatementKind::While { condition, body: Box::new(body?) })
    }

    fn begin(&mut self) -> Parsed<StatementKind> {
        if self.accept_word("TRAN") || self.accept_word("TRANSACTION") {
            self.transaction_name();
            return Ok(StatementKind::Begin);
        }
        if self.accept_word("TRY") {
            let body = self.statements_to_end()?;
            self.expect_word("TRY")?;
            self.skip_semicolons();
            self.expect_word("BEGIN")?;
            self.expect_word("CATCH")?;
            let handler = self.statements_to_end()?;
            self.expect_word("CATCH")?;
            return Ok(StatementKind::Try { body, handler });
        }
        Ok(StatementKind::Block(self.statements_to_end()?))
    }

    /// At least one statement (a CATCH block may be empty), then END.
    fn statements_to_end(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        self.skip_semicolons();
        while !self.accept_word("END") {
            self.check_terminated(!statements.is_empty())?;
            statements.push(self.statement()?);
            self.skip_semicolons();
        }
        Ok(statements)
    }

    fn transaction_end(&mut self) {
        if self.accept_word("TRAN") || self.accept_word("TRANSACTION") {
            self.transaction_name();
        } else {
            self.accept_word("WORK");
        }
    }

    fn transaction_name(&mut self) {
        if (self.is_name() && !self.is_statement_word()) || self.is_variable() {
            self.at += 1;
        }
    }

    fn raise_error(&mut self) -> Parsed<StatementKind> {
        self.expect_symbol("(")?;
        let message = self.value()?;
        self.expect_symbol(",")?;
        let severity = self.value()?;
        self.expect_symbol(",")?;
        let state = self.value()?;
        let arguments = if self.accept_symbol(",") { self.values()? } else { Vec::new() };
        self.expect_symbol(")")?;
        if self.accept_word("WITH") {
            self.comma_separated(Self::name)?;
        }
        Ok(StatementKind::RaiseError { message, severity, state, arguments })
    }

    fn throw(&mut self) -> Parsed<StatementKind> {
        if self.is_statement_end() {
            return Ok(StatementKind::Throw(None));
        }
        let number = self.value()?;
        self.expect_symbol(",")?;
        let message = self.value()?;
        self.expect_symbol(",")?;
        Ok(StatementKind::Throw(Some(Throw { number, message, state: self.value()? })))
    }

    fn wait_for(&mut self) -> Parsed<StatementKind> {
        if self.is_word("TIME") || self.is_symbol("(") {
            return Err(not_simulated("WAITFOR other than DELAY").at_line(self.line()));
        }
        self.expect_word("DELAY")?;
        Ok(StatementKind::WaitFor(self.value()?))
    }
}

/// SET options that are ON or OFF.
#[rustfmt::skip]
const SWITCHES: &[&str] = &[
    "ANSI_DEFAULTS", "ANSI_NULL_DFLT_OFF", "ANSI_NULL_DFLT_ON", "ANSI_NULLS", "ANSI_PADDING", "ANSI_WARNINGS",
    "ARITHABORT", "ARITHIGNORE", "CONCAT_NULL_YIELDS_NULL", "CURSOR_CLOSE_ON_COMMIT", "FORCEPLAN",
    "IMPLICIT_TRANSACTIONS", "NOCOUNT", "NO_BROWSETABLE", "NUMERIC_ROUNDABORT", "QUOTED_IDENTIFIER", "REMOTE_PROC_TRANSACTIONS",
    "XACT_ABORT",
];

/// SET options that keep statements from running; OFF is their normal state.
const CHANGES_EXECUTION: &[&str] = &["FMTONLY", "NOEXEC", "PARSEONLY", "SHOWPLAN_ALL", "SHOWPLAN_TEXT", "SHOWPLAN_XML"];

fn check_switch(token: &Token) -> Parsed<()> {
    if token.is_word("IDENTITY_INSERT") || token.is_word("OFFSETS") {
        let what = format!("SET {}", token.text.to_ascii_uppercase());
        return Err(not_simulated(&what).at_line(token.line));
    }
    let known = SWITCHES.iter().chain(CHANGES_EXECUTION).any(|option| token.is_word(option));
    if known {
        return Ok(());
    }
    if token.kind != TokenKind::Word || is_reserved(&token.text) {
        return Err(unexpected(token));
    }
    Err(error(195, 15, 5, format!("'{}' is not a recognized SET option.", token.text)).at_line(token.line))
}
