//! Owns the table of statements that events came from, each with the beginning of its text.

use super::{TABLE_ROWS, print_rest, print_table};
use crate::{
    model::QueryRow,
    report::text::{
        columns::Columns,
        figures::{NONE, count, percent_range},
        layout::{cut_end, visible},
        page::Page,
    },
};

/// Lines shown of a statement.
const MOST_LINES: usize = 2;

/// Characters looked at of a line; no page is as wide.
const LONGEST_LINE: usize = 600;

/// Lines looked at for such as are not empty.
const LINES_LOOKED_AT: usize = 1000;

pub(super) fn print(page: &mut Page, queries: &[QueryRow]) {
    let room = page.width().saturating_sub(4);
    let mut table = Columns::new("Query hash", &["events", "share", "executions", "CPU ms"]);
    for query in queries.iter().take(TABLE_ROWS) {
        let share = query.share.map_or_else(|| NONE.to_owned(), |share| percent_range(share.low, share.high));
        let known = |number: Option<u64>| number.map_or_else(|| NONE.to_owned(), count);
        table.row(&query.query_hash, vec![count(query.events), share, known(query.executions), known(query.cpu_ms)]);
        match &query.statement {
            Some(statement) => beginning(statement, room).iter().for_each(|line| table.line(&format!("  {line}"))),
            None => table.note(without_text(&query.query_hash)),
        }
    }
    print_table(page, "Statements that the events came from", &table, queries.len());
    let rest = queries.get(TABLE_ROWS..).unwrap_or_default();
    print_rest(page, rest.len(), rest.iter().map(|query| query.events), "events");
}

fn without_text(query_hash: &str) -> &'static str {
    let is_zero = query_hash.trim_start_matches("0x").chars().all(|digit| digit == '0');
    if is_zero { "no cached statement" } else { "text not in the plan cache, or not for this login to see" }
}

/// The first lines that say something, cut at the end where they are long.
fn beginning(statement: &str, room: usize) -> Vec<String> {
    let mut lines = statement.lines().take(LINES_LOOKED_AT).map(str::trim).filter(|line| !line.is_empty());
    let mut shown: Vec<String> = lines.by_ref().take(MOST_LINES).map(|line| cut(line, room)).collect();
    if lines.next().is_some()
        && let Some(last) = shown.last_mut().filter(|last| !last.ends_with("..."))
    {
        *last = cut(&format!("{last} ..."), room);
    }
    shown
}

/// White space is one space, so that an indented statement shows words.
fn cut(line: &str, room: usize) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(LONGEST_LINE).collect();
    cut_end(&visible(&line), room)
}
