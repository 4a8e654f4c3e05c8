//! Owns running plans over the host's rows, in memory.

mod conditions;
mod expressions;
mod grouping;
mod query;
mod sources;

pub(super) use expressions::convert_owned;

use crate::simulator::collation::Collation;
use crate::simulator::output::Message;
use crate::simulator::sql::functions::ServerState;
use crate::simulator::sql::messages::{Failure, error};
use crate::simulator::sql::plan::{Expr, QueryPlan};
use crate::simulator::sql::variables::Variables;
use crate::simulator::value::Datum;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// A row of one table.
pub(super) type Row = Rc<Vec<Datum>>;
/// A row of FROM: a place for each table, empty where an outer join found no partner.
pub(super) type JoinedRow = Vec<Option<Row>>;

/// Row combinations and conditions one statement may look at, far above what the system views need.
const MAX_STEPS: u64 = 10_000_000;
/// Rows one statement may hold at a time.
const MAX_ROWS: usize = 2_000_000;

/// Bytes of text and binary values one statement may produce.
const MAX_OUTPUT_BYTES: usize = 512 << 20;

/// What an expression sees.
#[derive(Clone, Copy)]
pub(super) struct Env<'a> {
    pub(super) row: &'a [Option<Row>],
    pub(super) aggregates: &'a [Datum],
    pub(super) windows: &'a [Datum],
    pub(super) outer: Option<&'a Env<'a>>,
}

impl Env<'static> {
    /// Outside any query.
    pub(super) const EMPTY: Self = Self { row: &[], aggregates: &[], windows: &[], outer: None };
}

/// Runs one statement.
pub(super) struct Executor<'a> {
    pub(super) server: ServerState<'a>,
    pub(super) variables: &'a RefCell<Variables>,
    ctes: &'a [Rc<QueryPlan>],
    steps: Cell<u64>,
    output_bytes: Cell<usize>,
    /// Rows of what gives the same rows throughout the statement: views, CTEs, uncorrelated subqueries.
    cached: RefCell<HashMap<CacheKey, Rc<Vec<Row>>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum CacheKey {
    View(String),
    Cte(usize),
    Query(usize),
}

impl<'a> Executor<'a> {
    pub(super) fn new(server: ServerState<'a>, variables: &'a RefCell<Variables>, ctes: &'a [Rc<QueryPlan>]) -> Self {
        Self { server, variables, ctes, steps: Cell::new(0), output_bytes: Cell::new(0), cached: RefCell::default() }
    }

    /// Counts work, so that no statement runs for ever.
    /// How the values of an expression compare.
    fn collation(&self, expr: &Expr) -> Collation {
        expr.collation.unwrap_or_else(|| self.server.host.collation())
    }

    fn step(&self) -> Result<(), Message> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MAX_STEPS { Err(too_much_work()) } else { Ok(()) }
    }

    /// Counts what rows hold, so that no statement fills the memory.
    fn account(&self, value: &Datum) -> Result<(), Message> {
        let bytes = match value {
            Datum::Text(text) => text.len(),
            Datum::Binary(bytes) => bytes.len(),
            _ => return Ok(()),
        };
        self.output_bytes.set(self.output_bytes.get().saturating_add(bytes));
        if self.output_bytes.get() > MAX_OUTPUT_BYTES { Err(too_much_work()) } else { Ok(()) }
    }

    fn cached(&self, key: CacheKey, fill: impl FnOnce() -> Result<Vec<Row>, Failure>) -> Result<Rc<Vec<Row>>, Failure> {
        if let Some(rows) = self.cached.borrow().get(&key) {
            return Ok(Rc::clone(rows));
        }
        let rows = Rc::new(fill()?);
        self.cached.borrow_mut().insert(key, Rc::clone(&rows));
        Ok(rows)
    }
}

fn too_much_work() -> Message {
    error(50000, 16, 1, "The simulated server ended a statement that looks at too many rows or produces too much.")
}
