//! Owns saved rows: the bytes of a CSV or JSON file in, counter tables out, whoever saved them.

mod by_name;
mod delimited;
mod documents;
mod known;
mod number;

pub use by_name::number_files;

use super::text;
use crate::model::{KnownTable, Problem, Severity, Table, Value};
use std::collections::BTreeMap;

/// Most columns of a table: those of a SELECT (SQL Server's maximum capacity specifications).
pub const MAX_COLUMNS: usize = 4_096;
/// Most values of a file: 20,000 files or 5,000 databases are far below.
pub const MAX_VALUES: usize = 2_000_000;
/// Most bytes of a text value; the rest is left out.
pub const MAX_TEXT_BYTES: usize = 65_536;

/// What a file of saved rows holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// Tables by the names that snapshots have.
    pub tables: BTreeMap<String, Table>,
    /// `invalid_encoding`, `rows_left_out`, `rows_cut`, `numbers_too_large`, `numbers_rounded`, `text_cut`,
    /// `table_not_known`, `table_twice`.
    pub problems: Vec<Problem>,
}

/// Why a file of saved rows cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowsError {
    /// Nothing in it.
    #[error("holds no rows")]
    Empty,
    /// Not JSON.
    #[error("is no JSON that can be read: {0}")]
    Json(String),
    /// JSON of another shape.
    #[error(
        "holds no rows: expected an array of objects, {{\"columns\": [...], \"rows\": [[...]]}}, an object of such tables by \
         their views' names, or one object a line"
    )]
    Shape,
    /// Not delimited text.
    #[error("line {line}: {message}")]
    Delimited {
        /// Line, from 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// A second header.
    #[error("line {line} is the header of a further table: a CSV file holds one table; save each to a file of its own")]
    SeveralTables {
        /// Line, from 1.
        line: u64,
    },
    /// A bound is exceeded.
    #[error("holds more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// Columns that no known table has.
    #[error("has the columns {columns}, by which no view is known; expected one of: {expected}")]
    NotKnown {
        /// Its columns, the first ones.
        columns: String,
        /// By which columns views are known.
        expected: String,
    },
}

/// Reads saved rows: CSV with a header line (comma, semicolon or tab), or JSON; UTF-8 or UTF-16. What table rows are of is
/// told by their columns, or by the name that JSON gives them.
///
/// # Errors
/// Where no table of the file can be used.
pub fn read(bytes: &[u8], known: &[KnownTable]) -> Result<Rows, RowsError> {
    let decoded = text::decode(bytes);
    let mut reading = Reading { rows: Rows { problems: decoded.problems, ..Rows::default() }, ..Reading::default() };
    let mut not_known = None;
    for raw in raw_tables(&decoded.text, known, &mut reading)? {
        let name = raw.name.clone();
        match known::name(raw, known, &mut reading) {
            Ok(named) => named.into_iter().for_each(|(name, table)| reading.add(name, table)),
            Err(error) => {
                let called = name.map_or_else(|| "a table".to_owned(), |name| format!("the table {name}"));
                reading.note("table_not_known", Severity::Partial, format!("{called} {error}"));
                not_known.get_or_insert(error);
            }
        }
    }
    reading.conclude();
    match not_known {
        Some(error) if reading.rows.tables.is_empty() => Err(error),
        None if reading.rows.tables.is_empty() => Err(RowsError::Empty),
        _ => Ok(reading.rows),
    }
}

fn raw_tables(text: &str, known: &[KnownTable], reading: &mut Reading) -> Result<Vec<RawTable>, RowsError> {
    if documents::is_json(text) {
        return documents::read(text, reading);
    }
    Ok(vec![delimited::read(text, known, reading)?])
}

/// A table as a file has it, before anything is known of its columns.
#[derive(Debug, Default)]
struct RawTable {
    /// The name that the file gives it.
    name: Option<String>,
    table: Table,
    /// Whether its numbers are written as text.
    text_only: bool,
}

/// What is gathered while a file is read.
#[derive(Default)]
struct Reading {
    rows: Rows,
    values: usize,
    too_large: Odd,
    rounded: Odd,
    cut_texts: Odd,
}

/// How often something odd was met, and where first.
#[derive(Default)]
struct Odd {
    count: usize,
    first: String,
}

impl Odd {
    fn meet(&mut self, column: &str, text: &str) {
        if self.count == 0 {
            let shown: String = text.chars().take(40).collect();
            self.first = format!("{column} {shown}");
        }
        self.count += 1;
    }
}

impl Reading {
    /// Counts a value against the bound.
    fn count_value(&mut self) -> Result<(), RowsError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(RowsError::TooMany { what: "values", limit: MAX_VALUES });
        }
        Ok(())
    }

    fn note(&mut self, code: &str, severity: Severity, message: String) {
        self.rows.problems.push(Problem::new(code, severity, message));
    }

    fn add(&mut self, name: String, table: Table) {
        if self.rows.tables.contains_key(&name) {
            self.note("table_twice", Severity::Partial, format!("{name} comes twice; the first stands"));
            return;
        }
        self.rows.tables.insert(name, table);
    }

    /// Text that is no longer than texts may be.
    fn text(&mut self, column: &str, text: String) -> Value {
        if text.len() <= MAX_TEXT_BYTES {
            return Value::Text(text);
        }
        self.cut_texts.meet(column, &text);
        Value::Text(text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default().to_owned())
    }

    fn conclude(&mut self) {
        let told = [
            (&self.too_large, "numbers_too_large", "beyond 2^63 - 1 are kept as text and not calculated with"),
            (&self.rounded, "numbers_rounded", "are in exponent notation, as spreadsheets write them: digits are lost"),
            (&self.cut_texts, "text_cut", "are longer than 64 KB and cut"),
        ];
        let problems: Vec<Problem> = told
            .into_iter()
            .filter(|(odd, ..)| odd.count > 0)
            .map(|(odd, code, what)| {
                let message = format!("{} values {what}; the first: {}", odd.count, odd.first);
                Problem::new(code, Severity::Warning, message)
            })
            .collect();
        self.rows.problems.extend(problems);
    }
}
