//! Owns the order of an answer's tokens: which DONE follows what, and which of them says that more follows.

use crate::simulator::output::Message;
use crate::simulator::value::Column;
use crate::simulator::wire::token::{
    Done, DoneKind, put_column_metadata, put_database_change, put_done, put_message, put_return_handle,
    put_return_status,
};

/// SQL Server's limit of columns in a result set.
const COLUMN_LIMIT: usize = 4_096;

/// What the answer is an answer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// SQLBatch: statements end in DONE.
    Batch,
    /// A call: statements end in DONEINPROC, the call in RETURNSTATUS and DONEPROC.
    Call,
}

/// An answer as far as it is written. A DONE is held back until it is known whether more follows.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    scope: Scope,
    server_name: &'a str,
    /// The DONE held back.
    held: Option<(DoneKind, Done)>,
    /// A statement has sent messages and no DONE yet.
    open: bool,
    /// That statement has failed.
    failed: bool,
    /// The number of the last error, which sp_executesql returns.
    last_error: u32,
    return_status: Option<i32>,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(scope: Scope, server_name: &'a str) -> Self {
        Self { scope, server_name, held: None, open: false, failed: false, last_error: 0, return_status: None }
    }

    fn statement_kind(&self) -> DoneKind {
        match self.scope {
            Scope::Batch => DoneKind::Batch,
            Scope::Call => DoneKind::InProcedure,
        }
    }

    /// Something follows: the DONE held back says so.
    fn continue_after_held(&mut self, out: &mut Vec<u8>) {
        if let Some((kind, done)) = self.held.take() {
            put_done(out, kind, Done { more: true, ..done });
        }
    }

    fn hold(&mut self, out: &mut Vec<u8>, kind: DoneKind, rows: Option<u64>) {
        self.continue_after_held(out);
        self.held = Some((kind, Done { error: self.failed, rows, ..Done::default() }));
        self.open = false;
        self.failed = false;
    }

    pub(crate) fn message(&mut self, out: &mut Vec<u8>, message: &Message) {
        self.continue_after_held(out);
        put_message(out, self.server_name, message);
        self.open = true;
        if message.is_error() {
            self.failed = true;
            self.last_error = message.number;
        }
    }

    pub(crate) fn database(&mut self, out: &mut Vec<u8>, new: &str, old: &str) {
        self.continue_after_held(out);
        put_database_change(out, self.server_name, new, old);
        self.open = true;
    }

    /// A result set begins; `false`: it has too many columns, which is told instead.
    pub(crate) fn begin_rows(&mut self, out: &mut Vec<u8>, columns: &[Column]) -> bool {
        if self.failed {
            self.statement_done(out);
        }
        if columns.len() > COLUMN_LIMIT {
            let text = "The number of elements in the select list exceeds the maximum allowed number of 4096 elements.";
            self.message(out, &Message::new(1056, 15, text));
            self.statement_done(out);
            return false;
        }
        self.continue_after_held(out);
        put_column_metadata(out, columns);
        self.open = true;
        true
    }

    /// The result set ends after so many rows.
    pub(crate) fn end_rows(&mut self, out: &mut Vec<u8>, rows: u64) {
        self.hold(out, self.statement_kind(), Some(rows));
    }

    /// A statement without a result set ends.
    pub(crate) fn statement_done(&mut self, out: &mut Vec<u8>) {
        self.hold(out, self.statement_kind(), None);
    }

    /// What a procedure returned: in a call, the call's own; in a batch, that of an EXEC.
    pub(crate) fn return_status(&mut self, out: &mut Vec<u8>, status: i32) {
        match self.scope {
            Scope::Call => self.return_status = Some(status),
            Scope::Batch => {
                self.continue_after_held(out);
                put_return_status(out, status);
                self.hold(out, DoneKind::Procedure, None);
            }
        }
    }

    /// The answer ends. `handle` is that of a prepared statement; `more`: another call's answer follows.
    pub(crate) fn end(mut self, out: &mut Vec<u8>, handle: Option<&(String, i32)>, more: bool) {
        if self.open {
            self.statement_done(out);
        }
        if self.scope == Scope::Call {
            self.continue_after_held(out);
            put_return_status(out, self.return_status.unwrap_or(self.last_error as i32));
            if let Some((name, handle)) = handle {
                put_return_handle(out, name, *handle);
            }
            self.failed = self.last_error != 0;
            self.hold(out, DoneKind::Procedure, None);
        } else if self.held.is_none() {
            self.statement_done(out);
        }
        if let Some((kind, done)) = self.held {
            put_done(out, kind, Done { more, ..done });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::value::SqlType;

    /// The tokens of an answer without rows, DONEs with their status.
    fn tokens(out: &[u8]) -> String {
        let mut words = Vec::new();
        let mut rest = out;
        while let [token, after @ ..] = rest {
            let (word, length) = match token {
                0x79 => (format!("status({})", after[0]), 4),
                0x81 => ("columns".to_owned(), usize::from(after[0]) * 9 + 2),
                0xFD => (format!("done({:#x})", after[0]), 12),
                0xFE => (format!("doneproc({:#x})", after[0]), 12),
                0xFF => (format!("doneinproc({:#x})", after[0]), 12),
                0xAA => ("error".to_owned(), usize::from(u16::from_le_bytes([after[0], after[1]])) + 2),
                0xAB => ("info".to_owned(), usize::from(u16::from_le_bytes([after[0], after[1]])) + 2),
                0xE3 => ("environment".to_owned(), usize::from(u16::from_le_bytes([after[0], after[1]])) + 2),
                other => panic!("token {other:#x} in a test without it"),
            };
            words.push(word);
            rest = &after[length..];
        }
        words.join(" ")
    }

    fn answer(scope: Scope, fill: impl FnOnce(&mut Answer<'_>, &mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        let mut answer = Answer::new(scope, "S");
        fill(&mut answer, &mut out);
        answer.end(&mut out, None, false);
        tokens(&out)
    }

    fn error() -> Message {
        Message::new(208, 16, "x")
    }

    fn info() -> Message {
        Message::new(2528, 0, "x")
    }

    fn columns() -> [Column; 1] {
        [Column::new("", SqlType::Bit)]
    }

    #[test]
    fn an_empty_batch_is_one_done() {
        assert_eq!(answer(Scope::Batch, |_, _| {}), "done(0x0)");
        assert_eq!(answer(Scope::Call, |_, _| {}), "status(0) doneproc(0x0)");
    }

    #[test]
    fn every_done_but_the_last_says_that_more_follows() {
        let two_sets = |answer: &mut Answer<'_>, out: &mut Vec<u8>| {
            answer.begin_rows(out, &columns());
            answer.end_rows(out, 0);
            answer.statement_done(out);
            answer.begin_rows(out, &columns());
            answer.end_rows(out, 0);
        };
        assert_eq!(answer(Scope::Batch, two_sets), "columns done(0x11) done(0x1) columns done(0x10)");
        assert_eq!(
            answer(Scope::Call, two_sets),
            "columns doneinproc(0x11) doneinproc(0x1) columns doneinproc(0x11) status(0) doneproc(0x0)"
        );
    }

    #[test]
    fn an_error_marks_the_done_of_its_statement_only() {
        let middle = |answer: &mut Answer<'_>, out: &mut Vec<u8>| {
            answer.message(out, &error());
            answer.begin_rows(out, &columns());
            answer.end_rows(out, 0);
        };
        assert_eq!(answer(Scope::Batch, middle), "error done(0x3) columns done(0x10)");
        let last = |answer: &mut Answer<'_>, out: &mut Vec<u8>| answer.message(out, &error());
        assert_eq!(answer(Scope::Batch, last), "error done(0x2)");
        assert_eq!(answer(Scope::Call, last), "error doneinproc(0x3) status(208) doneproc(0x2)");
    }

    #[test]
    fn information_belongs_to_the_statement_that_goes_on() {
        let filled = |answer: &mut Answer<'_>, out: &mut Vec<u8>| {
            answer.begin_rows(out, &columns());
            answer.end_rows(out, 0);
            answer.message(out, &info());
            answer.statement_done(out);
            answer.database(out, "a", "b");
        };
        assert_eq!(answer(Scope::Batch, filled), "columns done(0x11) info done(0x1) environment info done(0x0)");
    }

    #[test]
    fn what_an_exec_returns_stands_in_its_place() {
        let filled = |answer: &mut Answer<'_>, out: &mut Vec<u8>| {
            answer.return_status(out, 7);
            answer.begin_rows(out, &columns());
            answer.end_rows(out, 0);
        };
        assert_eq!(answer(Scope::Batch, filled), "status(7) doneproc(0x1) columns done(0x10)");
        assert_eq!(answer(Scope::Call, filled), "columns doneinproc(0x11) status(7) doneproc(0x0)");
    }

    #[test]
    fn too_many_columns_are_an_error() {
        let many = vec![Column::new("", SqlType::Bit); COLUMN_LIMIT + 1];
        let filled = |answer: &mut Answer<'_>, out: &mut Vec<u8>| assert!(!answer.begin_rows(out, &many));
        assert_eq!(answer(Scope::Batch, filled), "error done(0x2)");
    }
}
