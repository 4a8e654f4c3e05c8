//! Owns who raises a workload's events: its sessions, and the statements that they run.

use crate::simulator::workload::FIRST_WORKLOAD_SESSION;
use crate::simulator::workload::kinds::{FieldValue, number};
use crate::simulator::workload::recipe::Recipe;
use crate::simulator::workload::shares::{overlaps, split};
use crate::simulator::workload::storage::CachedStatement;

/// The sessions of a workload.
#[derive(Debug)]
pub struct Callers<'r> {
    recipe: &'r Recipe,
    statements: Vec<CachedStatement>,
    database_id: i32,
}

/// One of them, and what it runs.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'c> {
    /// Its number.
    pub session: u16,
    statement: &'c CachedStatement,
    scheduler: u32,
    database_id: i32,
}

impl<'r> Callers<'r> {
    /// Those of a recipe.
    pub fn new(recipe: &'r Recipe) -> Self {
        Self { recipe, statements: recipe.statements(), database_id: recipe.storage.own_database_id() }
    }

    /// A total in equal parts for the sessions, and for the statements by their shares, or all for the one of this
    /// `query_hash`: most sessions run one statement.
    pub fn of(&self, total: u64, only: Option<u64>) -> impl Iterator<Item = (Caller<'_>, u64)> {
        let sessions: Vec<u16> = (FIRST_WORKLOAD_SESSION..).take(usize::from(self.recipe.connections)).collect();
        let by_session = split(total, &vec![1; sessions.len()]);
        let share = |statement: &CachedStatement| match only {
            Some(hash) => u64::from(statement.hash == hash),
            None => statement.share,
        };
        let shares: Vec<u64> = self.statements.iter().map(share).collect();
        overlaps(&by_session, &split(total, &shares)).into_iter().filter_map(move |(session, statement, count)| {
            let session = sessions.get(session).copied()?;
            let caller = Caller {
                session,
                statement: self.statements.get(statement)?,
                scheduler: self.recipe.machine.scheduler_of(session),
                database_id: self.database_id,
            };
            Some((caller, count))
        })
    }
}

impl Caller<'_> {
    /// Values of the actions that any of its events can carry, in another database where one is given.
    pub fn values(&self, database_id: Option<i32>) -> Vec<(&'static str, FieldValue)> {
        vec![
            ("sqlserver.session_id", number(self.session)),
            ("sqlserver.database_id", number(database_id.unwrap_or(self.database_id).unsigned_abs())),
            ("sqlserver.is_system", number(0_u8)),
            ("sqlserver.query_hash", number(self.statement.hash)),
            ("sqlserver.sql_text", FieldValue::Text(self.statement.text.to_owned())),
            ("sqlos.scheduler_id", number(self.scheduler)),
        ]
    }

    /// The text of what it runs.
    pub fn statement_text(&self) -> &'static str {
        self.statement.text
    }
}
