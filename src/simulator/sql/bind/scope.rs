//! Owns the tables a query sees and the look-up of column names in them.

use crate::simulator::collation::Collation;
use crate::simulator::output::Message;
use crate::simulator::sql::messages::{ambiguous_column, invalid_column, unbound_identifier};
use crate::simulator::sql::plan::{AggregatePlan, Expr, ExprKind, WindowPlan};
use crate::simulator::value::Column;
use std::cell::{Cell, RefCell};

/// A table of FROM.
pub(super) struct SourceColumns {
    /// The alias, or the parts of the name as written.
    pub(super) exposed: Vec<String>,
    pub(super) columns: Vec<Column>,
}

/// Where an expression stands in its query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clause {
    /// Neither aggregates nor window functions.
    Rows,
    /// The select list, HAVING and ORDER BY.
    Output,
    GroupBy,
    /// The argument of an aggregate.
    Aggregated,
}

/// What one query sees, inside the queries around it.
pub(super) struct Scope<'s> {
    pub(super) sources: Vec<SourceColumns>,
    outer: Option<&'s Scope<'s>>,
    /// How names are told apart.
    pub(super) names: Collation,
    /// Set when a name was found in a query around this one.
    pub(super) correlated: Cell<bool>,
    pub(super) clause: Cell<Clause>,
    pub(super) aggregates: RefCell<Vec<AggregatePlan>>,
    pub(super) windows: RefCell<Vec<WindowPlan>>,
}

impl<'s> Scope<'s> {
    pub(super) fn new(outer: Option<&'s Scope<'s>>, names: Collation) -> Self {
        Self {
            sources: Vec::new(),
            outer,
            names,
            correlated: Cell::new(false),
            clause: Cell::new(Clause::Rows),
            aggregates: RefCell::default(),
            windows: RefCell::default(),
        }
    }

    pub(super) fn outer(&self) -> Option<&'s Scope<'s>> {
        self.outer
    }

    /// Finds a column; errors 207, 209 and 4104.
    pub(super) fn column(&self, parts: &[String], line: u32) -> Result<Expr, Message> {
        let (name, qualifier) = parts.split_last().map_or(("", [].as_slice()), |(name, rest)| (name.as_str(), rest));
        let mut scope = Some(self);
        let mut depth = 0;
        while let Some(current) = scope {
            if let Some((source, column, found)) = current.find(qualifier, name, line)? {
                self.mark_correlated(depth);
                return Ok(Expr::new(ExprKind::Column { depth, source, column }, found.sql_type, found.nullable));
            }
            depth += 1;
            scope = current.outer;
        }
        let known = qualifier.is_empty() || self.knows(qualifier);
        Err(if known { invalid_column(name, line) } else { unbound_identifier(&parts.join("."), line) })
    }

    /// Every query between this one and the one `depth` levels out depends on it.
    fn mark_correlated(&self, depth: usize) {
        let mut scope = Some(self);
        for _ in 0..depth {
            let Some(current) = scope else { return };
            current.correlated.set(true);
            scope = current.outer;
        }
    }

    fn knows(&self, qualifier: &[String]) -> bool {
        self.sources.iter().any(|source| source.answers_to(qualifier, self.names))
            || self.outer.is_some_and(|outer| outer.knows(qualifier))
    }

    fn find(&self, qualifier: &[String], name: &str, line: u32) -> Result<Option<(usize, usize, &Column)>, Message> {
        let mut found = None;
        for (source, columns) in self.sources.iter().enumerate() {
            if !qualifier.is_empty() && !columns.answers_to(qualifier, self.names) {
                continue;
            }
            for (place, column) in columns.columns.iter().enumerate() {
                if self.names.same(&column.name, name) {
                    if found.is_some() {
                        return Err(ambiguous_column(name, line));
                    }
                    found = Some((source, place, column));
                }
            }
        }
        Ok(found)
    }

    /// The name of a column for messages.
    pub(super) fn column_name(&self, source: usize, column: usize) -> String {
        let Some(columns) = self.sources.get(source) else { return String::new() };
        let name = columns.columns.get(column).map_or("", |column| column.name.as_str());
        format!("{}.{name}", columns.exposed.join("."))
    }
}

impl SourceColumns {
    /// Whether `a.` or `sys.a.` means this table.
    pub(super) fn answers_to(&self, qualifier: &[String], names: Collation) -> bool {
        let mut exposed = self.exposed.iter().rev();
        qualifier.len() <= self.exposed.len()
            && qualifier.iter().rev().all(|part| exposed.next().is_some_and(|known| names.same(known, part)))
    }
}
