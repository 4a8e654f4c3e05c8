//! Owns the errors of running SQL: numbers, severities and texts as SQL Server words them
//! (sys.messages, Database Engine error reference).

use crate::simulator::output::Message;
use crate::simulator::sql::keywords::is_reserved;
use crate::simulator::sql::tokenizer::Token;

/// Why a statement did not finish: the messages it sends, the last of them the error that CATCH sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// At least one.
    pub(super) messages: Vec<Message>,
    /// What it ends.
    pub(super) reach: Reach,
}

/// How far a failure reaches when nothing catches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The statement; the batch goes on.
    Statement,
    /// The batch; CATCH at the same level sees it.
    Batch,
    /// The batch, as name resolution does: CATCH at the same level does not see it, one further out does.
    Scope,
}

impl Failure {
    pub(super) fn new(message: Message, reach: Reach) -> Self {
        Self { messages: vec![message], reach }
    }

    /// Puts messages that carry no line of their own on the statement's line.
    #[must_use]
    pub(super) fn at_line(mut self, line: u32) -> Self {
        for message in &mut self.messages {
            if message.line == NO_LINE {
                message.line = line;
            }
        }
        self
    }
}

/// The line of a message until its statement is known.
const NO_LINE: u32 = 0;

impl From<Message> for Failure {
    fn from(message: Message) -> Self {
        let reach = match message.number {
            207 | 208 | 209 | 4104 | 8120 => Reach::Scope,
            217 | 241 | 242 | 244 | 245 | 248 | 295 | 911 | 8114 | 8169 => Reach::Batch,
            _ => Reach::Statement,
        };
        Self::new(message, reach)
    }
}

/// The messages of the host, which knows lines only where it read tokens: line 1 may mean that it does not.
impl From<Vec<Message>> for Failure {
    fn from(mut messages: Vec<Message>) -> Self {
        for message in messages.iter_mut().filter(|message| message.line == 1) {
            message.line = NO_LINE;
        }
        let aborts = messages.iter().any(|message| message.number == 3609);
        Self { messages, reach: if aborts { Reach::Batch } else { Reach::Statement } }
    }
}

/// A message whose line is its statement's.
pub(super) fn error(number: u32, class: u8, state: u8, text: impl Into<String>) -> Message {
    Message { number, class, state, text: text.into(), line: NO_LINE }
}

/// What this server cannot do although SQL Server can: never a silent success.
pub(super) fn not_simulated(what: &str) -> Message {
    error(50000, 16, 1, format!("The simulated server does not do {what}."))
}

/// Error 156 for a reserved word, 102 for anything else.
pub(super) fn unexpected(token: &Token) -> Message {
    let keyword = token.identifier().is_some_and(|word| token.is_word(word) && is_reserved(word));
    let (number, near) = if keyword { (156, "the keyword ") } else { (102, "") };
    error(number, 15, 1, format!("Incorrect syntax near {near}'{}'.", token.text)).at_line(token.line)
}

pub(super) fn undeclared_variable(name: &str, line: u32) -> Message {
    error(137, 15, 2, format!("Must declare the scalar variable \"{name}\".")).at_line(line)
}

pub(super) fn invalid_column(name: &str, line: u32) -> Message {
    error(207, 16, 1, format!("Invalid column name '{name}'.")).at_line(line)
}

pub(super) fn ambiguous_column(name: &str, line: u32) -> Message {
    error(209, 16, 1, format!("Ambiguous column name '{name}'.")).at_line(line)
}

pub(super) fn unbound_identifier(name: &str, line: u32) -> Message {
    error(4104, 16, 1, format!("The multi-part identifier \"{name}\" could not be bound.")).at_line(line)
}

pub(super) fn invalid_object(name: &str) -> Message {
    error(208, 16, 1, format!("Invalid object name '{name}'."))
}

/// Azure SQL Database: a name with another database.
pub(super) fn other_database(name: &str) -> Message {
    let text =
        format!("Reference to database and/or server name in '{name}' is not supported in this version of SQL Server.");
    error(40515, 15, 1, text)
}

pub(super) fn not_grouped(column: &str, place: &str) -> Message {
    let number = match place {
        "HAVING clause" => 8121,
        "ORDER BY clause" => 8127,
        _ => 8120,
    };
    error(
        number,
        16,
        1,
        format!(
            "Column '{column}' is invalid in the {place} because it is not contained in either an aggregate function \
             or the GROUP BY clause."
        ),
    )
}

pub(super) fn argument_count(function: &str, least: usize, most: usize) -> Message {
    if least == most {
        error(174, 15, 1, format!("The {function} function requires {least} argument(s)."))
    } else {
        error(189, 15, 1, format!("The {function} function requires {least} to {most} arguments."))
    }
}

pub(super) fn unknown_function(name: &str) -> Message {
    error(195, 15, 10, format!("'{name}' is not a recognized built-in function name."))
}

pub(super) fn divide_by_zero() -> Message {
    error(8134, 16, 1, "Divide by zero error encountered.")
}

pub(super) fn overflow(type_name: &str) -> Message {
    error(8115, 16, 2, format!("Arithmetic overflow error converting expression to data type {type_name}."))
}

pub(super) fn too_many_rows_in_subquery() -> Message {
    error(
        512,
        16,
        1,
        "Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or \
         when the subquery is used as an expression.",
    )
}

/// A value longer than any that this server could have to answer (error 7119; a real value may have 2 GB).
pub(super) fn too_long_value() -> Message {
    error(7119, 16, 1, "Attempting to grow LOB beyond maximum allowed size of 67108864 bytes.")
}

pub(super) fn nested_too_deeply(line: u32) -> Message {
    error(
        191,
        15,
        1,
        "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.",
    )
    .at_line(line)
}

pub(super) fn invalid_operand(type_name: &str, operator: &str) -> Message {
    error(8117, 16, 1, format!("Operand data type {type_name} is invalid for {operator} operator."))
}

pub(super) fn operand_clash(left: &str, right: &str) -> Message {
    error(206, 16, 2, format!("Operand type clash: {left} is incompatible with {right}"))
}

pub(super) fn invalid_argument_type(type_name: &str, position: usize, function: &str) -> Message {
    error(
        8116,
        16,
        1,
        format!("Argument data type {type_name} is invalid for argument {position} of {function} function."),
    )
}
