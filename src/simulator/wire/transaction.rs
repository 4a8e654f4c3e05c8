//! Owns transactions that clients begin outside of T-SQL, as drivers with autocommit off do ([MS-TDS] 2.2.6.9).
//!
//! The session behind the wire is told only whether one is open.

use crate::simulator::output::Message;
use crate::simulator::wire::answer::{Answer, Scope};
use crate::simulator::wire::request::TransactionRequest;
use crate::simulator::wire::token::{TransactionChange, put_transaction_change};

/// The open transaction of a connection, by its descriptor.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    open: Option<u64>,
    last: u64,
}

impl Transactions {
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The connection is reset: what was open is rolled back.
    pub(crate) fn reset(&mut self) {
        self.open = None;
    }

    /// Carries a request out and puts its whole answer.
    pub(crate) fn answer(&mut self, request: TransactionRequest, server_name: &str, out: &mut Vec<u8>) {
        let mut answer = Answer::new(Scope::Batch, server_name);
        match request {
            TransactionRequest::Begin => self.begin(out),
            TransactionRequest::Commit { and_begin } => {
                let none = "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.";
                self.end(TransactionChange::Committed, &Message::new(3902, 16, none), &mut answer, out);
                if and_begin {
                    self.begin(out);
                }
            }
            TransactionRequest::RollBack { and_begin } => {
                let none = "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.";
                self.end(TransactionChange::RolledBack, &Message::new(3903, 16, none), &mut answer, out);
                if and_begin {
                    self.begin(out);
                }
            }
            TransactionRequest::Save => {}
            TransactionRequest::Other(_) => {
                let text = format!("MSDTC on server '{server_name}' is unavailable.");
                answer.message(out, &Message::new(8501, 16, text));
            }
        }
        answer.end(out, None, false);
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        self.last += 1;
        self.open = Some(self.last);
        put_transaction_change(out, TransactionChange::Begun, self.last);
    }

    fn end(&mut self, change: TransactionChange, none: &Message, answer: &mut Answer<'_>, out: &mut Vec<u8>) {
        match self.open.take() {
            Some(descriptor) => put_transaction_change(out, change, descriptor),
            None => answer.message(out, none),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(transactions: &mut Transactions, request: TransactionRequest) -> Vec<u8> {
        let mut out = Vec::new();
        transactions.answer(request, "S", &mut out);
        out
    }

    /// The descriptors of the transaction that ends and of the one that begins, in the order of their tokens.
    fn changes(mut answer: &[u8]) -> Vec<(u8, u8)> {
        let mut changes = Vec::new();
        while let [0xE3, 11, 0, change, rest @ ..] = answer {
            changes.push((*change, rest[if *change == 8 { 1 } else { 2 }]));
            answer = &rest[10..];
        }
        changes
    }

    #[test]
    fn a_commit_may_begin_the_next_transaction() {
        let transactions = &mut Transactions::default();
        assert_eq!(changes(&answer(transactions, TransactionRequest::Begin)), [(8, 1)]);
        let commit = answer(transactions, TransactionRequest::Commit { and_begin: true });
        assert_eq!(changes(&commit), [(9, 1), (8, 2)]);
        let roll_back = answer(transactions, TransactionRequest::RollBack { and_begin: false });
        assert_eq!(changes(&roll_back), [(10, 2)]);
    }

    #[test]
    fn what_is_not_open_cannot_end() {
        let transactions = &mut Transactions::default();
        answer(transactions, TransactionRequest::Begin);
        transactions.reset();
        for (request, number) in [
            (TransactionRequest::Commit { and_begin: false }, 3902_u32),
            (TransactionRequest::RollBack { and_begin: false }, 3903),
            (TransactionRequest::Other(1), 8501),
        ] {
            let answer = answer(transactions, request);
            assert_eq!((answer[0], &answer[3..7]), (0xAA, number.to_le_bytes().as_slice()));
        }
    }
}
