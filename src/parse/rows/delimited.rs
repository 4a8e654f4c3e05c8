//! Owns delimited text: a header line and rows, apart by commas, semicolons or tabs.

use super::{MAX_COLUMNS, RawTable, Reading, RowsError, known};
use crate::model::{KnownTable, Severity, Table};
use csv::{ReaderBuilder, StringRecord, Trim};
use std::collections::HashSet;

/// What fields may be apart by.
const DELIMITERS: [char; 3] = [',', ';', '\t'];

/// Reads one table. Lines as sqlcmd adds them (dashes under the header, `(5 rows affected)`) and rows of another length
/// are left out.
pub(super) fn read(text: &str, known: &[KnownTable], reading: &mut Reading) -> Result<RawTable, RowsError> {
    let text = without_hint(text);
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter(text))
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .from_reader(text.as_bytes());
    let mut records = reader.records();
    let Some(header) = records.next() else { return Err(RowsError::Empty) };
    let header = header.map_err(|error| delimited(&error))?;
    if header.len() > MAX_COLUMNS {
        return Err(RowsError::TooMany { what: "columns", limit: MAX_COLUMNS });
    }
    let columns: Vec<String> = header.iter().map(|name| name.trim_matches(['[', ']']).to_owned()).collect();
    let mut table = Table { columns, rows: Vec::new() };
    let names = known::all_names(known);
    let (mut left_out, mut first_left_out) = (0_usize, 0);
    for (index, record) in records.enumerate() {
        let record = record.map_err(|error| delimited(&error))?;
        let line = record.position().map_or(0, csv::Position::line);
        if (index == 0 && is_ruler(&record)) || is_count(&record) {
            continue;
        }
        if is_header(&record, known, &names) {
            return Err(RowsError::SeveralTables { line });
        }
        if record.len() != table.columns.len() {
            left_out += 1;
            first_left_out = if left_out == 1 { line } else { first_left_out };
            continue;
        }
        let mut row = Vec::with_capacity(record.len());
        for (field, column) in record.iter().zip(&table.columns) {
            reading.count_value()?;
            row.push(reading.text(column, field.to_owned()));
        }
        table.rows.push(row);
    }
    if left_out > 0 {
        let wanted = table.columns.len();
        let message =
            format!("{left_out} rows are left out that have not {wanted} fields; the first on line {first_left_out}");
        reading.note("rows_left_out", Severity::Partial, message);
    }
    if table.rows.is_empty() && known::told(&table.columns, known).is_some() {
        return Err(RowsError::Empty);
    }
    Ok(RawTable { name: None, table, text_only: true })
}

/// Spreadsheets may say the delimiter in a first line of its own.
fn without_hint(text: &str) -> &str {
    let is_hint = text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("sep="));
    match text.split_once('\n') {
        Some((_, rest)) if is_hint => rest,
        _ => text,
    }
}

/// The delimiter that stands most often in the header, outside of quotes.
fn delimiter(text: &str) -> u8 {
    let header = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut quoted = false;
    let mut counts = [0_usize; DELIMITERS.len()];
    for c in header.chars() {
        quoted ^= c == '"';
        for (count, _) in counts.iter_mut().zip(DELIMITERS).filter(|(_, delimiter)| c == *delimiter && !quoted) {
            *count += 1;
        }
    }
    let most = counts.iter().zip(DELIMITERS).rev().max_by_key(|(count, _)| **count);
    most.map_or(b',', |(_, delimiter)| delimiter as u8)
}

fn is_ruler(record: &StringRecord) -> bool {
    record.iter().all(|field| !field.is_empty() && field.bytes().all(|byte| byte == b'-'))
}

fn is_count(record: &StringRecord) -> bool {
    let is_count = |text: &str| text.starts_with('(') && text.ends_with("affected)");
    record.len() == 1 && record.get(0).is_some_and(is_count)
}

/// Whether a row holds the names of columns by which a table is known.
fn is_header(record: &StringRecord, known: &[KnownTable], names: &HashSet<String>) -> bool {
    let may_be = |field: &str| field.len() <= 128 && !field.starts_with(|c: char| c.is_ascii_digit());
    if record.len() > MAX_COLUMNS || !record.iter().all(may_be) {
        return false;
    }
    let is_name = |field: &str| names.contains(&known::plain(field));
    record.iter().any(is_name) && {
        let columns: Vec<String> = record.iter().map(str::to_owned).collect();
        known::told(&columns, known).is_some()
    }
}

fn delimited(error: &csv::Error) -> RowsError {
    let line = error.position().map_or(0, csv::Position::line);
    RowsError::Delimited { line, message: error.to_string() }
}
