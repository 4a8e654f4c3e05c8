//! Owns turning tokens into statements. A batch that does not parse does not run at all.

mod expressions;
mod procedures;
mod query;
mod sources;
mod special_forms;
mod statements;
mod type_names;

use crate::model::ServerVersion;
use crate::simulator::output::Message;
use crate::simulator::sql::ast::Statement;
use crate::simulator::sql::keywords::is_reserved;
use crate::simulator::sql::messages::{error, nested_too_deeply, undeclared_variable, unexpected};
use crate::simulator::sql::tokenizer::{Token, TokenKind, tokenize};
use crate::simulator::value::SqlType;

/// Deepest nesting of parentheses, CASE, blocks and subqueries; keeps recursion inside a thread's stack.
const MAX_NESTING: u32 = 48;

/// Parses a batch. `declared` are the variables that exist before it (the parameters of sp_executesql).
pub(super) fn parse_batch(
    sql: &str,
    version: ServerVersion,
    declared: impl Iterator<Item = String>,
) -> Result<Vec<Statement>, Message> {
    let tokens = tokenize(sql)?;
    let mut parser = Parser { tokens: &tokens, at: 0, nesting: 0, loops: 0, version, declared: declared.collect() };
    parser.batch()
}

/// Parses the parameter declarations of sp_executesql: `@a int, @b nvarchar(10)`.
pub(super) fn parse_parameters(text: &str, version: ServerVersion) -> Result<Vec<(String, SqlType)>, Message> {
    let tokens = tokenize(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, nesting: 0, loops: 0, version, declared: Vec::new() };
    let mut parameters = Vec::new();
    while parser.peek().is_some() {
        if !parameters.is_empty() {
            parser.expect_symbol(",")?;
        }
        let name = parser.variable_name()?;
        parser.accept_word("AS");
        parameters.push((name, parser.data_type()?));
        if !parser.accept_word("OUTPUT") {
            parser.accept_word("OUT");
        }
    }
    Ok(parameters)
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    nesting: u32,
    /// WHILE loops around the current statement.
    loops: u32,
    version: ServerVersion,
    declared: Vec<String>,
}

type Parsed<T> = Result<T, Message>;

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    fn peek_at(&self, ahead: usize) -> Option<&'t Token> {
        self.tokens.get(self.at + ahead)
    }

    fn next(&mut self) -> Parsed<&'t Token> {
        let token = self.peek().ok_or_else(|| self.unexpected_here())?;
        self.at += 1;
        Ok(token)
    }

    /// The line of the next token, or of the last one.
    fn line(&self) -> u32 {
        self.peek().or(self.tokens.last()).map_or(1, |token| token.line)
    }

    /// The error of a token that does not fit here; at the end of the batch it names the last token.
    fn unexpected_here(&self) -> Message {
        match (self.peek(), self.tokens.last()) {
            (Some(token), _) => unexpected(token),
            (None, Some(last)) => {
                error(102, 15, 1, format!("Incorrect syntax near '{}'.", last.text)).at_line(last.line)
            }
            (None, None) => error(102, 15, 1, "Incorrect syntax near ''.").at_line(1),
        }
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek().is_some_and(|token| token.is_word(word))
    }

    fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        self.peek_at(ahead).is_some_and(|token| token.is_word(word))
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        self.peek().is_some_and(|token| token.is_symbol(symbol))
    }

    fn is_symbol_at(&self, ahead: usize, symbol: &str) -> bool {
        self.peek_at(ahead).is_some_and(|token| token.is_symbol(symbol))
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn accept_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.unexpected_here()) }
    }

    fn expect_symbol(&mut self, symbol: &str) -> Parsed<()> {
        if self.accept_symbol(symbol) { Ok(()) } else { Err(self.unexpected_here()) }
    }

    /// Whether the next token can be a name: a quoted identifier, or a word that is not reserved.
    fn is_name(&self) -> bool {
        self.peek().is_some_and(is_name)
    }

    fn name(&mut self) -> Parsed<String> {
        match self.peek().filter(|token| is_name(token)) {
            Some(token) => {
                self.at += 1;
                checked_identifier(token)
            }
            None => Err(self.unexpected_here()),
        }
    }

    /// `a`, `a.b`, `a..b`, `a.b.c.d`; a part left out is empty.
    fn multi_part_name(&mut self) -> Parsed<Vec<String>> {
        let mut parts = vec![self.name()?];
        while self.is_symbol(".") {
            if parts.len() >= 4 {
                return Err(self.too_many_prefixes(&parts));
            }
            self.at += 1;
            if self.is_symbol(".") {
                parts.push(String::new());
            } else {
                parts.push(self.name()?);
            }
        }
        Ok(parts)
    }

    /// Error 117.
    fn too_many_prefixes(&self, parts: &[String]) -> Message {
        let text = format!(
            "The object name '{}' contains more than the maximum number of prefixes. The maximum is 3.",
            parts.join(".")
        );
        error(117, 15, 1, text).at_line(self.line())
    }

    fn variable_name(&mut self) -> Parsed<String> {
        let token = self.next()?;
        if token.kind == TokenKind::Variable && !token.text.starts_with("@@") {
            checked_identifier(token)
        } else {
            self.at -= 1;
            Err(self.unexpected_here())
        }
    }

    fn is_variable(&self) -> bool {
        self.peek().is_some_and(|token| token.kind == TokenKind::Variable && !token.text.starts_with("@@"))
    }

    /// A variable that must have been declared (error 137).
    fn declared_variable(&mut self) -> Parsed<String> {
        let line = self.line();
        let name = self.variable_name()?;
        if self.declared.iter().any(|declared| declared.eq_ignore_ascii_case(&name)) {
            Ok(name)
        } else {
            Err(undeclared_variable(&name, line))
        }
    }

    /// Runs a parser one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            return Err(nested_too_deeply(self.line()));
        }
        self.nesting += 1;
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    /// One or more, separated by commas.
    fn comma_separated<T>(&mut self, mut parse: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![parse(self)?];
        while self.accept_symbol(",") {
            items.push(parse(self)?);
        }
        Ok(items)
    }

    /// Passes over `( … )`, whatever is inside.
    fn skip_parentheses(&mut self) -> Parsed<()> {
        self.expect_symbol("(")?;
        let mut depth = 1_u32;
        while depth > 0 {
            let token = self.next()?;
            if token.is_symbol("(") {
                depth += 1;
            } else if token.is_symbol(")") {
                depth -= 1;
            }
        }
        Ok(())
    }
}

fn is_name(token: &Token) -> bool {
    match token.kind {
        TokenKind::QuotedIdentifier => true,
        TokenKind::Word => !is_reserved(&token.text),
        _ => false,
    }
}

/// Longest identifier, in characters.
const MAX_IDENTIFIER: usize = 128;

fn identifier_too_long(text: &str, line: u32) -> Message {
    let start: String = text.chars().take(MAX_IDENTIFIER).collect();
    let text = format!("The identifier that starts with '{start}' is too long. Maximum length is 128.");
    error(103, 15, 4, text).at_line(line)
}

fn empty_identifier(line: u32) -> Message {
    let text = "An object or column name is missing or empty. For SELECT INTO statements, verify each column has a name. \
                For other statements, look for empty alias names. Aliases defined as \"\" or [] are not allowed. Change \
                the alias to a valid name.";
    error(1038, 15, 4, text).at_line(line)
}

/// Errors 103 and 1038.
fn checked_identifier(token: &Token) -> Parsed<String> {
    if token.text.chars().count() > MAX_IDENTIFIER {
        return Err(identifier_too_long(&token.text, token.line));
    }
    if token.text.is_empty() {
        return Err(empty_identifier(token.line));
    }
    Ok(token.text.clone())
}
