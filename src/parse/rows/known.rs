//! Owns what a table is, by its columns, and its values under the names that views give them.

use super::{RawTable, Reading, RowsError, number};
use crate::model::{KnownColumn, KnownTable, Table, Value};
use number::Written;
use std::collections::HashSet;

/// How many columns an error shows.
const SHOWN: usize = 12;

/// The tables that a raw one is, under the names that snapshots have: the same rows may stand under several.
pub(super) fn name(
    raw: RawTable,
    known: &[KnownTable],
    reading: &mut Reading,
) -> Result<Vec<(String, Table)>, RowsError> {
    let given = raw.name.as_deref().map(view_name);
    let by_name = given.as_deref().and_then(|given| {
        known.iter().find(|table| table.name == given || table.also.iter().any(|also| also == given))
    });
    let Some(shape) = by_name.or_else(|| told(&raw.table.columns, known)) else {
        return match given.filter(|given| is_view(given)) {
            // Not analysed by any rule of this file, but not lost either.
            Some(given) => Ok(vec![(given, values(raw, None, reading))]),
            None => Err(not_known(&raw.table.columns, known)),
        };
    };
    // A view of another name with the columns of a known one, such as sys.dm_db_wait_stats, keeps its name.
    let name = given.filter(|given| is_view(given)).unwrap_or_else(|| shape.name.clone());
    let also = shape.also.iter().filter(|_| name == shape.name).cloned();
    // A file that names several tables says itself which rows are under which name.
    let also: Vec<String> = if raw.name.is_some() { Vec::new() } else { also.collect() };
    let table = values(raw, Some(shape), reading);
    Ok(also.into_iter().map(|also| (also, table.clone())).chain([(name, table.clone())]).collect())
}

/// The first table that is told by some of these columns.
pub(super) fn told<'k>(columns: &[String], known: &'k [KnownTable]) -> Option<&'k KnownTable> {
    let has: Vec<String> = columns.iter().map(|column| plain(column)).collect();
    known.iter().find(|table| {
        let is_there = |name: &String| {
            let column = table.columns.iter().find(|column| column.name == *name);
            column.is_some_and(|column| names(column).any(|name| has.contains(&plain(name))))
        };
        table.told_by.iter().any(|set| set.iter().all(is_there))
    })
}

fn names(column: &KnownColumn) -> impl Iterator<Item = &str> {
    std::iter::once(&column.name).chain(&column.aliases).chain(&column.seconds).map(String::as_str)
}

/// Every name of every column, as [`plain`] has it.
pub(super) fn all_names(known: &[KnownTable]) -> HashSet<String> {
    known.iter().flat_map(|table| &table.columns).flat_map(names).map(plain).collect()
}

/// Letters and digits of a name, in lower case.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// `sys.dm_os_wait_stats` as snapshots name it.
fn view_name(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    name.strip_prefix("sys.").map(str::to_owned).unwrap_or(name)
}

fn is_view(name: &str) -> bool {
    let is_word = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_word
        && name.len() <= 128
        && (name.starts_with("dm_") || ["databases", "master_files", "log_counters"].contains(&name))
}

/// What becomes of a column.
struct Becomes<'k> {
    name: String,
    known: Option<&'k KnownColumn>,
    is_seconds: bool,
}

/// The table with its columns' usual names and its values as numbers where they are such.
fn values(raw: RawTable, shape: Option<&KnownTable>, reading: &mut Reading) -> Table {
    let RawTable { table, text_only, .. } = raw;
    let columns = becomes(&table.columns, shape);
    let rows = table.rows.into_iter().map(|row| {
        let values = row.into_iter().zip(&columns);
        values.map(|(value, column)| column.value(value, text_only, reading)).collect()
    });
    let rows = rows.collect();
    Table { columns: columns.into_iter().map(|column| column.name).collect(), rows }
}

/// A known column goes to the first of the file's that has its own name, else to the first with one of the others.
fn becomes<'k>(columns: &[String], shape: Option<&'k KnownTable>) -> Vec<Becomes<'k>> {
    let mut all: Vec<Becomes<'k>> =
        columns.iter().map(|name| Becomes { name: name.clone(), known: None, is_seconds: false }).collect();
    let of_file: Vec<String> = columns.iter().map(|column| plain(column)).collect();
    for known in shape.iter().flat_map(|shape| &shape.columns) {
        let place = names(known).find_map(|name| {
            let name = plain(name);
            of_file.iter().zip(&all).position(|(of_file, column)| *of_file == name && column.known.is_none())
        });
        let Some(column) = place.and_then(|place| Some((all.get_mut(place)?, of_file.get(place)?))) else { continue };
        let (column, of_file) = column;
        let is_own = || [&known.name].into_iter().chain(&known.aliases).any(|name| plain(name) == *of_file);
        *column = Becomes { name: known.name.clone(), known: Some(known), is_seconds: !is_own() };
    }
    all
}

impl Becomes<'_> {
    fn value(&self, value: Value, text_only: bool, reading: &mut Reading) -> Value {
        let is_text = self.known.is_some_and(|known| known.text);
        let value = match value {
            Value::Text(text) if is_text => {
                let is_null = text_only && (text.is_empty() || text == "NULL");
                return if is_null { Value::Null } else { Value::Text(text) };
            }
            // JSON says itself what is text.
            Value::Text(text) if !text_only && self.known.is_none() => return Value::Text(text),
            Value::Text(text) => match number::read(&text) {
                Written::Plain(value) => value,
                Written::Rounded(number) => {
                    reading.rounded.meet(&self.name, &text);
                    Value::Real(number)
                }
                Written::TooLarge => {
                    reading.too_large.meet(&self.name, &text);
                    Value::Text(text)
                }
                Written::Text => Value::Text(text),
            },
            Value::Integer(number) if is_text => return Value::Text(number.to_string()),
            Value::Real(number) if is_text => return Value::Text(number.to_string()),
            other => other,
        };
        if self.is_seconds { milliseconds(&value) } else { value }
    }
}

/// Seconds as whole milliseconds.
fn milliseconds(value: &Value) -> Value {
    let milliseconds = match value {
        Value::Integer(seconds) => seconds.checked_mul(1_000).map(Value::Integer),
        Value::Real(seconds) => {
            let rounded = (seconds * 1_000.0).round();
            // Whole numbers are exact up to here.
            (rounded.abs() < 9e15).then_some(Value::Integer(rounded as i64))
        }
        _ => None,
    };
    milliseconds.unwrap_or_else(|| value.clone())
}

fn not_known(columns: &[String], known: &[KnownTable]) -> RowsError {
    let shown = |names: &[String]| {
        let few: Vec<String> = names.iter().take(SHOWN).map(|name| name.chars().take(40).collect()).collect();
        let more = names.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", few.join(", "))
    };
    let expected: Vec<String> = known
        .iter()
        .filter_map(|table| Some(format!("{} ({})", table.name, table.told_by.first()?.join(", "))))
        .collect();
    RowsError::NotKnown { columns: shown(columns), expected: expected.join("; ") }
}
