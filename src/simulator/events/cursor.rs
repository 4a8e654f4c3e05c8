//! Owns walking over a statement's tokens: the base of the parsers for event sessions and DBCC.

use crate::simulator::output::Message;
use crate::simulator::sql::tokenizer::{Token, TokenKind, syntax_error};

/// Words that cannot be a name without brackets; a syntax error near one of them is 156, not 102.
const RESERVED: [&str; 42] = [
    "ADD",
    "ALL",
    "ALTER",
    "AND",
    "AS",
    "BEGIN",
    "BETWEEN",
    "BY",
    "CREATE",
    "DATABASE",
    "DBCC",
    "DECLARE",
    "DELETE",
    "DROP",
    "ELSE",
    "END",
    "EXEC",
    "EXECUTE",
    "FOR",
    "FROM",
    "FUNCTION",
    "GRANT",
    "IF",
    "IN",
    "INSERT",
    "INTO",
    "IS",
    "LIKE",
    "NOT",
    "NULL",
    "ON",
    "OR",
    "ORDER",
    "PROCEDURE",
    "SELECT",
    "SET",
    "TABLE",
    "UPDATE",
    "USE",
    "VALUES",
    "WHERE",
    "WITH",
];

/// A place among tokens.
#[derive(Debug, Clone)]
pub struct Cursor<'t> {
    tokens: &'t [Token],
    at: usize,
}

/// What a parser gives.
pub type Parsed<T> = Result<T, Message>;

impl<'t> Cursor<'t> {
    /// At the first of these tokens.
    pub fn new(tokens: &'t [Token]) -> Self {
        Self { tokens, at: 0 }
    }

    /// The token here.
    pub fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    /// The token `ahead` of here.
    pub fn peek_at(&self, ahead: usize) -> Option<&'t Token> {
        self.tokens.get(self.at + ahead)
    }

    /// The token before this place.
    pub fn previous(&self) -> Option<&'t Token> {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at))
    }

    /// The token here, and on to the next.
    pub fn bump(&mut self) -> Option<&'t Token> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    /// 102 or 156 near the token here, or near the last one at the end.
    pub fn unexpected(&self) -> Message {
        let Some(token) = self.peek().or_else(|| self.tokens.last()) else {
            return syntax_error("", 1);
        };
        let reserved = RESERVED.iter().any(|word| token.is_word(word));
        if reserved {
            Message::new(156, 15, format!("Incorrect syntax near the keyword '{}'.", token.text)).at_line(token.line)
        } else {
            syntax_error(&token.text, token.line)
        }
    }

    /// Whether the word is here; if so, on.
    pub fn take_word(&mut self, word: &str) -> bool {
        let here = self.peek().is_some_and(|token| token.is_word(word));
        self.at += usize::from(here);
        here
    }

    /// Whether the symbol is here; if so, on.
    pub fn take_symbol(&mut self, symbol: &str) -> bool {
        let here = self.peek().is_some_and(|token| token.is_symbol(symbol));
        self.at += usize::from(here);
        here
    }

    /// The word, or a syntax error.
    pub fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The symbol, or a syntax error.
    pub fn expect_symbol(&mut self, symbol: &str) -> Parsed<()> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// A name, quoted or an unreserved word.
    pub fn expect_name(&mut self) -> Parsed<&'t str> {
        let name = self.peek().filter(|token| {
            token.kind == TokenKind::QuotedIdentifier || !RESERVED.iter().any(|word| token.is_word(word))
        });
        let name = name.and_then(Token::identifier).ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(name)
    }

    /// An unsigned integer.
    pub fn expect_integer(&mut self) -> Parsed<u64> {
        let number = self
            .peek()
            .filter(|token| token.kind == TokenKind::Number)
            .and_then(|token| token.text.parse().ok())
            .ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(number)
    }

    /// The statement ends here, but for semicolons.
    pub fn expect_end(&mut self) -> Parsed<()> {
        while self.take_symbol(";") {}
        if self.peek().is_none() { Ok(()) } else { Err(self.unexpected()) }
    }
}
