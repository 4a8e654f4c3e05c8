//! Owns the table of files: two lines each, reads and writes, the window's mean beside the one since the counters began.

use super::{TABLE_ROWS, in_words, print_table, series, with_remarks};
use crate::{
    model::FileRow,
    report::text::{
        columns::Columns,
        figures::{NONE, change, count, mean, percent, size},
        layout::{columns, shorten_two, visible},
        page::{Ink, Page},
    },
};
use std::collections::BTreeMap;

const INDENT: usize = 2;

/// Shown whatever their share is: a file beside the slow one, a log file say, tells by being fast.
const FEWEST: usize = 4;

/// The share of all I/O time after which the rest is summed up.
const ENOUGH: f64 = 0.95;

pub(super) fn print(page: &mut Page, files: &[FileRow]) {
    let total = sum(files);
    let (shown, rest) = files.split_at(shown_rows(files, total));
    let titles = titles(shown, page.width().saturating_sub(INDENT));
    let mut table = Columns::new("File", &["count", "mean\nms", "cum.\nms", "KB\neach", "ms\nspent", "share\nof I/O"]);
    for (file, title) in shown.iter().zip(&titles) {
        table.line(title);
        for (what, figures) in [("  reads", reads(file)), ("  writes", writes(file))] {
            if has_figures(file) {
                table.row(what, figures.cells(total));
            }
        }
        if let Some(note) = note(file) {
            table.note(&note);
        }
    }
    print_table(page, "Files of the window, by time spent in I/O", &table, shown.len());
    print_rest(page, rest, total);
    if shown.iter().any(has_figures) {
        page.paragraph(INDENT, Ink::Dim, "cum. is the mean since the counters began, which hides when it was slow.");
    }
    series::print(page, shown, &titles);
}

/// Reads or writes of a file.
struct Operations {
    number: u64,
    latency_ms: Option<f64>,
    cumulative_latency_ms: Option<f64>,
    bytes_each: Option<f64>,
    stall_ms: u64,
}

impl Operations {
    fn cells(&self, total: u128) -> Vec<String> {
        // What no operation took is no figure, whatever stands there.
        let some = |figure: Option<f64>| figure.filter(|_| self.number > 0);
        vec![
            count(self.number),
            mean(some(self.latency_ms)),
            mean(self.cumulative_latency_ms),
            mean(some(self.bytes_each).map(|bytes| bytes / 1024.0)),
            count(self.stall_ms),
            share(self.stall_ms.into(), total),
        ]
    }
}

fn reads(file: &FileRow) -> Operations {
    Operations {
        number: file.reads,
        latency_ms: file.read_latency_ms,
        cumulative_latency_ms: file.cumulative_read_latency_ms,
        bytes_each: file.bytes_per_read,
        stall_ms: file.read_stall_ms,
    }
}

fn writes(file: &FileRow) -> Operations {
    Operations {
        number: file.writes,
        latency_ms: file.write_latency_ms,
        cumulative_latency_ms: file.cumulative_write_latency_ms,
        bytes_each: file.bytes_per_write,
        stall_ms: file.write_stall_ms,
    }
}

fn share(part: u128, total: u128) -> String {
    if total == 0 { NONE.to_owned() } else { percent(part as f64 / total as f64) }
}

fn stall(file: &FileRow) -> u128 {
    u128::from(file.read_stall_ms) + u128::from(file.write_stall_ms)
}

fn sum(files: &[FileRow]) -> u128 {
    files.iter().map(stall).sum()
}

fn has_figures(file: &FileRow) -> bool {
    file.reads > 0 || file.writes > 0
}

fn shown_rows(files: &[FileRow], total: u128) -> usize {
    let mut seen = 0;
    let enough = files.iter().position(|file| {
        let enough = seen as f64 >= total as f64 * ENOUGH;
        seen += stall(file);
        enough
    });
    // One more row takes no more room than the line that would stand for it.
    let shown = enough.unwrap_or(files.len()).clamp(FEWEST, TABLE_ROWS);
    if files.len() <= shown + 1 { files.len() } else { shown }
}

/// Database, file, kind and what is special; with the ids where two would read alike.
fn titles(files: &[FileRow], width: usize) -> Vec<String> {
    let plain: Vec<String> = files.iter().map(|file| title(file, false, width)).collect();
    let mut alike: BTreeMap<&str, usize> = BTreeMap::new();
    for title in &plain {
        *alike.entry(title).or_default() += 1;
    }
    let told_apart =
        |(file, plain): (&FileRow, &String)| title(file, alike.get(plain.as_str()).is_some_and(|&n| n > 1), width);
    files.iter().zip(&plain).map(told_apart).collect()
}

fn title(file: &FileRow, with_ids: bool, width: usize) -> String {
    const BETWEEN: &str = ": ";
    let kind = visible(&file.kind).chars().take(12).collect::<String>();
    let ids = with_ids.then(|| format!("database {}, file {}", file.database_id, file.file_id));
    let remarks = [Some(kind.as_str()).filter(|kind| !kind.is_empty()), ids.as_deref(), file.mark.map(in_words)];
    let remarks = with_remarks("", remarks.into_iter().flatten());
    let room = width.saturating_sub(columns(BETWEEN) + columns(&remarks));
    let (database, name) = shorten_two(&visible(&file.database), &visible(&file.file), room);
    format!("{database}{BETWEEN}{name}{remarks}")
}

fn note(file: &FileRow) -> Option<String> {
    let mut parts = Vec::new();
    let queued = |ms: Option<u64>, what: &str| ms.filter(|&ms| ms > 0).map(|ms| format!("{} ms of {what}", count(ms)));
    let held: Vec<String> =
        [queued(file.queued_read_ms, "reads"), queued(file.queued_write_ms, "writes")].into_iter().flatten().collect();
    if !held.is_empty() {
        parts.push(format!("held back by Resource Governor: {}", held.join(", ")));
    }
    if let Some(bytes) = file.growth_bytes.filter(|&bytes| bytes != 0) {
        let to = file.size_bytes.map(|bytes| format!(" to {}", size(bytes.into()))).unwrap_or_default();
        parts.push(format!("{}{to}", change(bytes.into())));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn print_rest(page: &mut Page, rest: &[FileRow], total: u128) {
    if rest.is_empty() {
        return;
    }
    let marked = rest.iter().filter(|file| file.mark.is_some()).count();
    let marked = if marked > 0 { format!("; {marked} of them new, gone, renamed or reset") } else { String::new() };
    let stall = sum(rest);
    let line = format!("and {} more: {} ms in I/O, {}{marked}", rest.len(), count(stall), share(stall, total));
    page.paragraph(INDENT, Ink::Dim, &line);
}
