//! Owns turning T-SQL text into tokens; the one tokenizer of the simulated server.

use crate::simulator::output::Message;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// An unquoted identifier or keyword.
    Word,
    /// `[name]` or `"name"`: an identifier, never a keyword.
    QuotedIdentifier,
    /// `'text'` or `N'text'`.
    String,
    /// A number: `12`, `1.5`, `1e3`, `0x1F`.
    Number,
    /// `@name` or `@@name`.
    Variable,
    /// An operator or punctuation; two-character operators are one token (`<=`, `>=`, `<>`, `!=`, `+=`, `::` …).
    Symbol,
}

/// A token of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its value: quotes removed and doubled quotes made single; words as written.
    pub text: String,
    /// Line in the batch, from 1.
    pub line: u32,
    /// Where it starts in the batch, in bytes.
    pub start: usize,
    /// Where it ends in the batch, in bytes.
    pub end: usize,
}

impl Token {
    /// Whether it is this keyword, in any case. Quoted identifiers are never keywords.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this symbol.
    pub fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }

    /// Whether a string is `N'…'`: the one that is a character longer than its quotes and text make it.
    pub fn is_national(&self) -> bool {
        let doubled = self.text.matches('\'').count();
        self.kind == TokenKind::String && self.end - self.start == self.text.len() + doubled + "N''".len()
    }

    /// The name it can be, quoted or not.
    pub fn identifier(&self) -> Option<&str> {
        matches!(self.kind, TokenKind::Word | TokenKind::QuotedIdentifier).then_some(self.text.as_str())
    }
}

/// Error 102, `Incorrect syntax near '…'.`
pub fn syntax_error(near: &str, line: u32) -> Message {
    Message::new(102, 15, format!("Incorrect syntax near '{near}'.")).at_line(line)
}

const TWO_CHARACTER_SYMBOLS: [&str; 13] =
    ["<=", ">=", "<>", "!=", "!<", "!>", "+=", "-=", "*=", "/=", "%=", "::", "||"];

/// The tokens of a batch, comments left out. Errors: 105 (unclosed quote), 113 (unclosed comment).
pub fn tokenize(sql: &str) -> Result<Vec<Token>, Message> {
    let mut scanner = Scanner { text: sql, at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = scanner.next_token()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        if next == '\n' {
            self.line += 1;
        }
        Some(next)
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(next) = self.peek().filter(|&next| keep(next)) {
            taken.push(next);
            self.bump();
        }
        taken
    }

    fn skip_blanks_and_comments(&mut self) -> Result<(), Message> {
        loop {
            if self.rest().starts_with("--") {
                self.take_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                self.skip_block_comment()?;
            } else if self.peek().is_some_and(|c| c.is_whitespace() || c == '\u{feff}' || c == '\0') {
                self.bump();
            } else {
                return Ok(());
            }
        }
    }

    /// Block comments nest in T-SQL.
    fn skip_block_comment(&mut self) -> Result<(), Message> {
        let line = self.line;
        let mut depth = 0_u32;
        loop {
            if self.rest().starts_with("/*") {
                depth += 1;
                self.at += 2;
            } else if self.rest().starts_with("*/") {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    return Ok(());
                }
            } else if self.bump().is_none() {
                return Err(Message::new(113, 15, "Missing end comment mark '*/'.").at_line(line));
            }
        }
    }

    fn next_token(&mut self) -> Result<Option<Token>, Message> {
        self.skip_blanks_and_comments()?;
        let (start, line) = (self.at, self.line);
        let Some(first) = self.peek() else { return Ok(None) };
        let (kind, text) = match first {
            '\'' => (TokenKind::String, self.quoted('\'', line)?),
            'N' | 'n' if self.rest().get(1..2) == Some("'") => {
                self.bump();
                (TokenKind::String, self.quoted('\'', line)?)
            }
            '[' => (TokenKind::QuotedIdentifier, self.quoted(']', line)?),
            '"' => (TokenKind::QuotedIdentifier, self.quoted('"', line)?),
            '@' => (TokenKind::Variable, self.take_while(|c| c == '@' || is_word_character(c))),
            _ if first.is_ascii_digit()
                || (first == '.' && self.rest().chars().nth(1).is_some_and(|c| c.is_ascii_digit())) =>
            {
                (TokenKind::Number, self.number())
            }
            _ if is_word_character(first) => (TokenKind::Word, self.take_while(is_word_character)),
            _ => (TokenKind::Symbol, self.symbol(first)),
        };
        Ok(Some(Token { kind, text, line, start, end: self.at }))
    }

    fn quoted(&mut self, close: char, line: u32) -> Result<String, Message> {
        self.bump();
        let mut text = String::new();
        while let Some(next) = self.bump() {
            if next != close {
                text.push(next);
            } else if self.peek() == Some(close) {
                self.bump();
                text.push(close);
            } else {
                return Ok(text);
            }
        }
        Err(Message::new(105, 15, format!("Unclosed quotation mark after the character string '{text}'."))
            .at_line(line))
    }

    fn number(&mut self) -> String {
        if self.rest().starts_with("0x") || self.rest().starts_with("0X") {
            self.at += 2;
            return format!("0x{}", self.take_while(|c| c.is_ascii_hexdigit()));
        }
        let mut text = self.take_while(|c| c.is_ascii_digit());
        if self.peek() == Some('.') {
            self.bump();
            text.push('.');
            text += &self.take_while(|c| c.is_ascii_digit());
        }
        let mut after = self.rest().chars();
        let (exponent, sign, digit) = (after.next(), after.next(), after.next());
        let signed = matches!(sign, Some('+' | '-')) && digit.is_some_and(|c| c.is_ascii_digit());
        if matches!(exponent, Some('e' | 'E')) && (signed || sign.is_some_and(|c| c.is_ascii_digit())) {
            text.push('e');
            self.bump();
            text.extend(self.bump());
            text += &self.take_while(|c| c.is_ascii_digit());
        }
        text
    }

    fn symbol(&mut self, first: char) -> String {
        if let Some(symbol) = TWO_CHARACTER_SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol)) {
            self.at += symbol.len();
            return (*symbol).to_owned();
        }
        self.bump();
        first.to_string()
    }
}

fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '#' | '$' | '@')
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, tokenize};

    fn texts(sql: &str) -> Vec<(TokenKind, String)> {
        tokenize(sql).unwrap().into_iter().map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn every_kind_of_token_is_told_apart() {
        use TokenKind::{Number, QuotedIdentifier, String, Symbol, Variable, Word};
        let expected = [
            (Word, "SELECT"),
            (Variable, "@@VERSION"),
            (Symbol, ","),
            (String, "it's"),
            (Symbol, ","),
            (QuotedIdentifier, "a]b"),
            (Symbol, "<="),
            (Number, "1.5e-3"),
            (Symbol, "+"),
            (Number, "0x1F"),
            (String, "ž"),
        ];
        let found = texts("SELECT @@VERSION, 'it''s', [a]]b] <= 1.5e-3 -- c\n/* a /* b */ c */ + 0x1F N'ž'");
        assert_eq!(found, expected.map(|(kind, text)| (kind, text.to_owned())).to_vec());
    }

    #[test]
    fn what_is_not_closed_is_an_error_with_its_line() {
        let unclosed = tokenize("SELECT\n'abc").unwrap_err();
        assert_eq!((unclosed.number, unclosed.line), (105, 2));
        assert_eq!(tokenize("/* /* */").unwrap_err().number, 113);
    }
}
