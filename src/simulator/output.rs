//! Owns what running a statement gives back, before it becomes TDS tokens.

use crate::simulator::value::{Column, Datum};
use std::time::Duration;

/// A server message: an error from class 11 up, information below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Message number.
    pub number: u32,
    /// Severity.
    pub class: u8,
    /// State.
    pub state: u8,
    /// Text.
    pub text: String,
    /// Line in the batch, from 1.
    pub line: u32,
}

impl Message {
    /// A message of state 1 on line 1.
    pub fn new(number: u32, class: u8, text: impl Into<String>) -> Self {
        Self { number, class, state: 1, text: text.into(), line: 1 }
    }

    /// The same message on another line.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> Self {
        self.line = line;
        self
    }

    /// Whether it is sent as ERROR rather than INFO.
    pub fn is_error(&self) -> bool {
        self.class > 10
    }
}

/// One piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A whole result set.
    Rows {
        /// Its columns.
        columns: Vec<Column>,
        /// Its rows, each as long as `columns`.
        rows: Vec<Vec<Datum>>,
    },
    /// ERROR or INFO.
    Message(Message),
    /// A statement without a result set is done (SET, DDL).
    Done,
    /// USE: the connection's database is now this one.
    Database(String),
    /// The value of RETURN or of a called procedure, at the end of an RPC.
    ReturnStatus(i32),
}

/// What a running request does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send this.
    Output(Output),
    /// Wait that long (WAITFOR, a fault); an attention ends the wait and the request.
    Wait(Duration),
    /// Close the connection; what is not sent yet is not sent.
    Close,
    /// Close it in the middle of the next row, or of the answer when no row comes.
    CloseInRow,
    /// Send the answer at so many bytes in a second.
    Drip(u32),
}
