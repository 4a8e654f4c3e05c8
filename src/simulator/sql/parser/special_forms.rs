//! Owns values that begin with a word: columns, function calls, and the forms with a grammar of their own
//! (CASE, CAST, CONVERT, date parts, aggregates, ROW_NUMBER).

use super::expressions::Operand;
use super::{Parsed, Parser};
use crate::model::ServerVersion;
use crate::simulator::output::Message;
use crate::simulator::sql::aggregate::AggregateFunction;
use crate::simulator::sql::ast::{AggregateCall, Expr, OrderItem};
use crate::simulator::sql::functions::{Function, date_part, find_function};
use crate::simulator::sql::keywords::is_reserved;
use crate::simulator::sql::messages::{argument_count, error, not_simulated, undeclared_variable, unknown_function};
use crate::simulator::sql::tokenizer::{Token, TokenKind};

impl Parser<'_> {
    /// `@@NAME`.
    pub(super) fn server_variable(&mut self, token: &Token) -> Parsed<Expr> {
        self.at += 1;
        let function =
            find_function(&token.text, self.version).ok_or_else(|| undeclared_variable(&token.text, token.line))?;
        Ok(Expr::Call { function, arguments: Vec::new() })
    }

    pub(super) fn named_value(&mut self, token: &Token) -> Parsed<Expr> {
        if token.kind == TokenKind::Word {
            let word = token.text.to_ascii_uppercase();
            match word.as_str() {
                "NULL" => {
                    self.at += 1;
                    return Ok(Expr::Null);
                }
                "CASE" => return self.nested(Self::case),
                "CURRENT_TIMESTAMP" => return self.niladic("GETDATE"),
                "CURRENT_USER" | "SESSION_USER" | "USER" => return self.niladic("USER_NAME"),
                "SYSTEM_USER" => return self.niladic("SUSER_SNAME"),
                _ => {}
            }
            if self.is_symbol_at(1, "(") && (!is_reserved(&word) || RESERVED_FUNCTIONS.contains(&word.as_str())) {
                return self.nested(|parser| parser.call(&word, token));
            }
            if is_reserved(&word) {
                return Err(self.unexpected_here());
            }
        }
        let parts = self.multi_part_name()?;
        if self.is_symbol("(") {
            return Err(method_or_user_function(&parts, token.line));
        }
        Ok(Expr::Column { parts, line: token.line })
    }

    fn niladic(&mut self, function: &str) -> Parsed<Expr> {
        self.at += 1;
        let function = find_function(function, self.version).ok_or_else(|| self.unexpected_here())?;
        Ok(Expr::Call { function, arguments: Vec::new() })
    }

    /// Refuses `(…).value(…)`.
    pub(super) fn refuse_xml_method(&self, operand: Operand) -> Parsed<Operand> {
        let method = self.peek_at(1).and_then(Token::identifier);
        match method.filter(|method| self.is_symbol(".") && is_xml_method(method)) {
            Some(method) => Err(not_simulated(&format!("XQuery (the xml method {method}())")).at_line(self.line())),
            None => Ok(operand),
        }
    }

    fn call(&mut self, word: &str, token: &Token) -> Parsed<Expr> {
        self.at += 2;
        let since_2012 = self.version >= ServerVersion::V2012;
        let value = match word {
            "CAST" => self.cast(false)?,
            "TRY_CAST" if since_2012 => self.cast(true)?,
            "CONVERT" => self.convert(false)?,
            "TRY_CONVERT" if since_2012 => self.convert(true)?,
            "COALESCE" => Expr::Coalesce(self.values()?),
            "ISNULL" | "NULLIF" => {
                let (first, second) = self.two_arguments(word, token.line)?;
                if word == "ISNULL" { Expr::IsNull(first, second) } else { Expr::NullIf(first, second) }
            }
            "IIF" if since_2012 => self.iif()?,
            "DATEADD" | "DATEDIFF" | "DATEDIFF_BIG" | "DATEPART" | "DATENAME" => {
                return self.date_part_call(word, token);
            }
            "ROW_NUMBER" => return self.row_number(),
            _ => {
                return match AggregateFunction::find(word, self.version) {
                    Some(function) => self.aggregate(function, token),
                    None => self.function_call(token),
                };
            }
        };
        self.expect_symbol(")")?;
        Ok(value)
    }

    fn cast(&mut self, lenient: bool) -> Parsed<Expr> {
        let value = Box::new(self.value()?);
        self.expect_word("AS")?;
        let to = self.data_type_with_default_length(30)?;
        Ok(Expr::Convert { value, to, style: None, lenient })
    }

    fn convert(&mut self, lenient: bool) -> Parsed<Expr> {
        let to = self.data_type_with_default_length(30)?;
        self.expect_symbol(",")?;
        let value = Box::new(self.value()?);
        let style = if self.accept_symbol(",") { Some(Box::new(self.value()?)) } else { None };
        Ok(Expr::Convert { value, to, style, lenient })
    }

    fn two_arguments(&mut self, word: &str, line: u32) -> Parsed<(Box<Expr>, Box<Expr>)> {
        let arguments = if self.is_symbol(")") { Vec::new() } else { self.values()? };
        let Ok([first, second]) = <[Expr; 2]>::try_from(arguments) else {
            return Err(argument_count(&word.to_ascii_lowercase(), 2, 2).at_line(line));
        };
        Ok((Box::new(first), Box::new(second)))
    }

    fn iif(&mut self) -> Parsed<Expr> {
        let condition = self.condition()?;
        self.expect_symbol(",")?;
        let then = self.value()?;
        self.expect_symbol(",")?;
        let otherwise = Some(Box::new(self.value()?));
        Ok(Expr::SearchedCase { branches: vec![(condition, then)], otherwise })
    }

    fn case(&mut self) -> Parsed<Expr> {
        self.expect_word("CASE")?;
        if self.is_word("WHEN") {
            let mut branches = Vec::new();
            while self.accept_word("WHEN") {
                let condition = self.condition()?;
                self.expect_word("THEN")?;
                branches.push((condition, self.value()?));
            }
            let otherwise = self.case_end()?;
            return Ok(Expr::SearchedCase { branches, otherwise });
        }
        let operand = Box::new(self.value()?);
        let mut branches = Vec::new();
        self.expect_word("WHEN")?;
        loop {
            let when = self.value()?;
            self.expect_word("THEN")?;
            branches.push((when, self.value()?));
            if !self.accept_word("WHEN") {
                break;
            }
        }
        let otherwise = self.case_end()?;
        Ok(Expr::SimpleCase { operand, branches, otherwise })
    }

    fn case_end(&mut self) -> Parsed<Option<Box<Expr>>> {
        let otherwise = if self.accept_word("ELSE") { Some(Box::new(self.value()?)) } else { None };
        self.expect_word("END")?;
        Ok(otherwise)
    }

    /// The first argument is a word, not a value; it is handed on as text.
    fn date_part_call(&mut self, word: &str, token: &Token) -> Parsed<Expr> {
        let function =
            find_function(word, self.version).ok_or_else(|| unknown_function(&token.text).at_line(token.line))?;
        let part = self.next()?;
        let name = part.identifier().ok_or_else(|| {
            error(1023, 15, 1, format!("Invalid parameter 1 specified for {}.", word.to_ascii_lowercase()))
                .at_line(part.line)
        })?;
        let known = date_part(name).ok_or_else(|| {
            let text = format!("'{name}' is not a recognized {} option.", word.to_ascii_lowercase());
            error(155, 15, 1, text).at_line(part.line)
        })?;
        let mut arguments = vec![Expr::Text { value: known.to_owned(), national: false }];
        while self.accept_symbol(",") {
            arguments.push(self.value()?);
        }
        self.expect_symbol(")")?;
        checked_call(function, arguments, token.line)
    }

    fn function_call(&mut self, token: &Token) -> Parsed<Expr> {
        let arguments = if self.is_symbol(")") { Vec::new() } else { self.values()? };
        let function = find_function(&token.text, self.version).filter(|_| !token.text.starts_with("@@"));
        let function = function.ok_or_else(|| unknown_function(&token.text).at_line(token.line))?;
        self.expect_symbol(")")?;
        checked_call(function, arguments, token.line)
    }

    fn aggregate(&mut self, function: AggregateFunction, token: &Token) -> Parsed<Expr> {
        if self.is_symbol(")") {
            return Err(argument_count(&token.text, 1, 1).at_line(token.line));
        }
        let distinct = self.accept_word("DISTINCT");
        if !distinct {
            self.accept_word("ALL");
        }
        let counts = matches!(function, AggregateFunction::Count | AggregateFunction::CountBig);
        let argument = if counts && !distinct && self.accept_symbol("*") { None } else { Some(self.value()?) };
        let mut separator = None;
        if function == AggregateFunction::StringAgg {
            self.expect_symbol(",")?;
            separator = Some(self.value()?);
        }
        self.expect_symbol(")")?;
        let mut order_by = Vec::new();
        if function == AggregateFunction::StringAgg && self.accept_word("WITHIN") {
            self.expect_word("GROUP")?;
            self.expect_symbol("(")?;
            order_by = self.order_by()?;
            self.expect_symbol(")")?;
        }
        let call = Box::new(AggregateCall { function, distinct, argument, separator, order_by });
        if !self.is_word("OVER") {
            return Ok(Expr::Aggregate(call));
        }
        let (partition_by, order_by) = self.over()?;
        if !order_by.is_empty() {
            return Err(not_simulated("aggregates with OVER (ORDER BY …)").at_line(token.line));
        }
        Ok(Expr::Window { aggregate: Some(call), partition_by, order_by })
    }

    fn row_number(&mut self) -> Parsed<Expr> {
        self.expect_symbol(")")?;
        let (partition_by, order_by) = self.over()?;
        if order_by.is_empty() {
            let text = "The function 'ROW_NUMBER' must have an OVER clause with ORDER BY.";
            return Err(error(4112, 15, 1, text).at_line(self.line()));
        }
        Ok(Expr::Window { aggregate: None, partition_by, order_by })
    }

    fn over(&mut self) -> Parsed<(Vec<Expr>, Vec<OrderItem>)> {
        self.expect_word("OVER")?;
        self.expect_symbol("(")?;
        let mut partition_by = Vec::new();
        if self.accept_word("PARTITION") {
            self.expect_word("BY")?;
            partition_by = self.values()?;
        }
        let order_by = if self.is_word("ORDER") { self.order_by()? } else { Vec::new() };
        self.expect_symbol(")")?;
        Ok((partition_by, order_by))
    }
}

/// Functions whose names are reserved words.
const RESERVED_FUNCTIONS: [&str; 6] = ["COALESCE", "CONVERT", "LEFT", "NULLIF", "RIGHT", "TRY_CONVERT"];

fn checked_call(function: &'static Function, arguments: Vec<Expr>, line: u32) -> Parsed<Expr> {
    let (least, most) = function.arguments;
    if (least..=most).contains(&arguments.len()) {
        Ok(Expr::Call { function, arguments })
    } else {
        Err(argument_count(&function.name.to_ascii_lowercase(), least, most).at_line(line))
    }
}

/// XQuery methods are refused; any other `a.b(…)` is a user-defined function, of which there are none.
fn method_or_user_function(parts: &[String], line: u32) -> Message {
    let method = parts.last().map(String::as_str).unwrap_or_default();
    if parts.len() > 1 && is_xml_method(method) {
        return not_simulated(&format!("XQuery (the xml method {method}())")).at_line(line);
    }
    let name = parts.join(".");
    if parts.len() < 2 {
        return unknown_function(&name).at_line(line);
    }
    let text = format!(
        "Cannot find either column \"{}\" or the user-defined function or aggregate \"{name}\", or the name is \
         ambiguous.",
        parts.first().map(String::as_str).unwrap_or_default()
    );
    error(4121, 16, 1, text).at_line(line)
}

fn is_xml_method(name: &str) -> bool {
    ["value", "query", "nodes", "exist", "modify"].contains(&name)
}
