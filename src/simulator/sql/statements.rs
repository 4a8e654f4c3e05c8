//! Owns what each kind of statement does.

use crate::simulator::output::{Message, Output};
use crate::simulator::sql::ast::{Expr, StatementKind, Throw};
use crate::simulator::sql::convert::{DEFAULT_STYLE, convert};
use crate::simulator::sql::messages::{Failure, Reach, error, not_simulated};
use crate::simulator::sql::session::SqlSession;
use crate::simulator::sql::variables::Variables;
use crate::simulator::value::{Datum, SqlType};
use std::borrow::Cow;
use std::time::Duration;

const MESSAGE_TEXT: SqlType = SqlType::NVarChar(Some(4000));

impl SqlSession {
    pub(super) fn run(&mut self, statement: &StatementKind, line: u32) -> Result<(), Failure> {
        match statement {
            StatementKind::Select(query) => return self.select(query),
            StatementKind::Declare(declarations) => {
                for declaration in declarations {
                    // The variables are there since the batch began; one without a value keeps what it has.
                    if let Some(value) = &declaration.value {
                        let (value, _) = self.value(value, Some(declaration.sql_type))?;
                        self.set_variable(&declaration.name, value);
                    }
                }
                return Ok(());
            }
            StatementKind::SetVariable { name, value } => {
                let (value, _) = self.value(value, self.variable_type(name))?;
                self.set_variable(name, value);
                self.set_row_count(1);
            }
            StatementKind::SetOption => self.set_row_count(0),
            StatementKind::Use(name) => self.use_database(name)?,
            StatementKind::Print(value) => self.print(value, line)?,
            StatementKind::Begin => self.open_transactions += 1,
            StatementKind::Commit => {
                if self.open_transactions == 0 {
                    let text = "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.";
                    return Err(error(3902, 16, 1, text).into());
                }
                self.open_transactions -= 1;
            }
            StatementKind::Rollback => {
                if self.open_transactions == 0 {
                    let text = "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.";
                    return Err(error(3903, 16, 1, text).into());
                }
                self.open_transactions = 0;
            }
            StatementKind::RaiseError { message, severity, state, arguments } => {
                self.raise_error(message, severity, state, arguments, line)?;
            }
            StatementKind::Throw(throw) => return Err(self.thrown(throw.as_ref())),
            StatementKind::WaitFor(delay) => self.wait_for(delay)?,
            StatementKind::Return(value) => {
                let status = match value {
                    Some(value) => self.value(value, Some(SqlType::Int))?.0,
                    None => Datum::Int(0),
                };
                self.leave(if let Datum::Int(status) = status { status as i32 } else { 0 });
                return Ok(());
            }
            StatementKind::Execute(call) => return self.call_procedure(call, line),
            StatementKind::ExecuteText(value) => {
                let (text, _) = self.value(value, Some(SqlType::NVarChar(None)))?;
                let Datum::Text(text) = text else { return Ok(()) };
                return self.enter(&text, Variables::default(), Vec::new(), None, None);
            }
            StatementKind::EventSession(tokens) => self.host.event_session(&self.context, tokens)?,
            StatementKind::Dbcc(tokens) => {
                let outputs = self.host.dbcc(&self.context, tokens)?;
                let ended = matches!(outputs.last(), Some(Output::Rows { .. } | Output::Done));
                for output in outputs {
                    self.send(at_line(output, line));
                }
                if ended {
                    return Ok(());
                }
            }
            StatementKind::If { .. }
            | StatementKind::While { .. }
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Block(_)
            | StatementKind::Try { .. } => {
                return Err(not_simulated("control flow that was not compiled").into());
            }
        }
        self.send(Output::Done);
        Ok(())
    }

    fn use_database(&mut self, name: &str) -> Result<(), Failure> {
        let databases = self.host.databases();
        let found = databases.into_iter().find(|(_, known)| self.host.collation().same(known, name));
        let Some((_, known)) = found else {
            let text = format!("Database '{name}' does not exist. Make sure that the name is entered correctly.");
            return Err(error(911, 16, 1, text).into());
        };
        if !self.host.reaches_other_databases() && known != self.context.database {
            let text = "USE statement is not supported to switch between databases. Use a new connection to connect to a \
                        different database.";
            return Err(error(40508, 16, 1, text).into());
        }
        self.context.database.clone_from(&known);
        self.send(Output::Database(known));
        Ok(())
    }

    fn print(&mut self, value: &Expr, line: u32) -> Result<(), Failure> {
        let (value, sql_type) = self.value(value, None)?;
        let printed = convert(Cow::Owned(value), sql_type, MESSAGE_TEXT, DEFAULT_STYLE)?.into_owned();
        let text = if let Datum::Text(text) = printed { text } else { String::new() };
        self.send(Output::Message(Message { number: 0, class: 0, state: 1, text, line }));
        Ok(())
    }

    fn raise_error(
        &mut self,
        message: &Expr,
        severity: &Expr,
        state: &Expr,
        arguments: &[Expr],
        line: u32,
    ) -> Result<(), Failure> {
        let (message, sql_type) = self.value(message, None)?;
        let Datum::Text(text) = message else {
            let what = if matches!(sql_type, SqlType::Int) { "RAISERROR by message number" } else { "this RAISERROR" };
            return Err(not_simulated(what).into());
        };
        let number = |value: Datum| if let Datum::Int(number) = value { number } else { 0 };
        let severity = number(self.value(severity, Some(SqlType::Int))?.0).clamp(0, 25);
        let state = number(self.value(state, Some(SqlType::Int))?.0).clamp(0, 255);
        if severity > 18 {
            let text = "Error severity levels greater than 18 can only be specified by members of the sysadmin role, \
                        using the WITH LOG option.";
            return Err(error(2754, 16, 1, text).into());
        }
        let mut values = Vec::new();
        for argument in arguments {
            let (value, sql_type) = self.value(argument, None)?;
            values.push(match convert(Cow::Owned(value), sql_type, MESSAGE_TEXT, DEFAULT_STYLE)?.into_owned() {
                Datum::Text(text) => text,
                _ => "(null)".to_owned(),
            });
        }
        let text = filled_in(&text, &values);
        let raised = Message { number: 50000, class: severity as u8, state: state as u8, text, line };
        if raised.is_error() {
            return Err(raised.into());
        }
        self.send(Output::Message(raised));
        Ok(())
    }

    fn thrown(&self, throw: Option<&Throw>) -> Failure {
        let Some(throw) = throw else {
            let rethrown = self.caught().map_or_else(nothing_to_rethrow, |caught| caught.message.clone());
            return Failure::new(rethrown, Reach::Batch);
        };
        match self.thrown_message(throw) {
            Ok(message) => Failure::new(message, Reach::Batch),
            Err(failure) => failure,
        }
    }

    fn thrown_message(&self, throw: &Throw) -> Result<Message, Failure> {
        let (number, _) = self.value(&throw.number, Some(SqlType::Int))?;
        let (text, _) = self.value(&throw.message, Some(SqlType::NVarChar(Some(2048))))?;
        let (state, _) = self.value(&throw.state, Some(SqlType::TinyInt))?;
        let (Datum::Int(number), Datum::Text(text), Datum::Int(state)) = (number, text, state) else {
            return Err(not_simulated("THROW with NULL").into());
        };
        let least = u32::try_from(number).ok().filter(|number| (50000..=2_147_483_647).contains(number));
        let Some(number) = least else {
            let text = format!(
                "Error number {number} in the THROW statement is outside the valid range. Specify an error number in \
                 the valid range of 50000 to 2147483647."
            );
            return Err(error(35100, 16, 10, text).into());
        };
        Ok(error(number, 16, state.clamp(0, 255) as u8, text))
    }

    fn wait_for(&mut self, delay: &Expr) -> Result<(), Failure> {
        let (text, _) = self.value(delay, Some(SqlType::VarChar(Some(100))))?;
        let text = if let Datum::Text(text) = text { text } else { String::new() };
        let delay = parse_delay(text.trim()).ok_or_else(|| {
            error(148, 15, 1, format!("Incorrect time syntax in time string '{text}' used with WAITFOR."))
        })?;
        self.wait(delay);
        Ok(())
    }
}

fn nothing_to_rethrow() -> Message {
    let text = "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW statement inside \
                a CATCH block, or add error parameters to the THROW statement.";
    error(10704, 15, 1, text)
}

/// `hh:mm[:ss[.fff]]`, less than 24 hours.
fn parse_delay(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let numbers: Vec<u64> =
        whole
            .split(':')
            .map(|part| {
                if part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit()) { part.parse().ok() } else { None }
            })
            .collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match numbers.as_slice() {
        [hours, minutes] => (*hours, *minutes, 0),
        [hours, minutes, seconds] => (*hours, *minutes, *seconds),
        _ => return None,
    };
    let digits = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if hours > 23 || minutes > 59 || seconds > 59 || !digits {
        return None;
    }
    let milliseconds: u64 = format!("{fraction:0<3}").parse().ok()?;
    Some(Duration::from_millis(((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds))
}

/// RAISERROR's `%s`, `%d`, `%i`, `%u` and `%%`; widths are not offered.
fn filled_in(format: &str, values: &[String]) -> String {
    let mut values = values.iter();
    let mut filled = String::new();
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            filled.push(c);
            continue;
        }
        match rest.next() {
            Some('s' | 'd' | 'i' | 'u') => filled.push_str(values.next().map_or("(null)", String::as_str)),
            Some('%') | None => filled.push('%'),
            Some(other) => filled.extend(['%', other]),
        }
    }
    filled
}

/// A host does not know the statement's line.
fn at_line(output: Output, line: u32) -> Output {
    match output {
        Output::Message(message) if message.line <= 1 => Output::Message(message.at_line(line)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{filled_in, parse_delay};
    use std::time::Duration;

    #[test]
    fn delays_are_hours_minutes_seconds() {
        assert_eq!(parse_delay("00:00:01.250"), Some(Duration::from_millis(1250)));
        assert_eq!(parse_delay("01:02"), Some(Duration::from_mins(62)));
        for wrong in ["", "1", "24:00:00", "00:60", "00:00:01.2345", "a:b", "-1:00"] {
            assert_eq!(parse_delay(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn raiserror_fills_in_its_arguments() {
        assert_eq!(filled_in("%s is 100%% of %d, %s", &["a".to_owned(), "5".to_owned()]), "a is 100% of 5, (null)");
    }
}
