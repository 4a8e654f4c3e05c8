//! Owns the tables of counters. Here waits, spinlocks and latches; one file each for what has more than one line a row.

mod databases;
mod files;
mod pages;
mod queries;
mod series;

use super::{
    columns::Columns,
    figures::{NONE, coarse_percent_range, count, counted, percent},
    page::{Ink, Page},
};
use crate::model::{LatchRow, Mark, Report, SpinlockRow, WaitRow};

/// Rows of a table before the rest is summed up.
const TABLE_ROWS: usize = 10;

/// The latch class of pages in memory.
const PAGE_LATCHES: &str = "BUFFER";

pub(super) fn print(page: &mut Page, report: &Report) {
    if is_empty(report) {
        page.line(2, Ink::Plain, "None taken.");
    }
    print_waits(page, &report.waits);
    print_spinlocks(page, &report.spinlocks);
    print_latches(page, &report.latches);
    pages::print(page, &report.pages);
    queries::print(page, &report.queries);
    files::print(page, &report.files);
    databases::print(page, &report.databases, report.capture.window.map(|window| window.elapsed_ms));
}

fn is_empty(report: &Report) -> bool {
    let Report { waits, spinlocks, latches, files, databases, pages, queries, .. } = report;
    let rows = [waits.len(), spinlocks.len(), latches.len(), files.len(), databases.len(), pages.len(), queries.len()];
    rows.iter().all(|&rows| rows == 0)
}

fn print_waits(page: &mut Page, waits: &[WaitRow]) {
    let heads = ["waits", "wait ms", "resource\nms", "signal\nms", "mean\nms", "share\nof time"];
    let mut table = Columns::new("Wait type", &heads);
    let (idle, working): (Vec<&WaitRow>, Vec<&WaitRow>) = waits.iter().partition(|wait| is_left_out(wait));
    for wait in working.iter().take(TABLE_ROWS) {
        let figures = vec![
            count(wait.waiting_tasks),
            count(wait.wait_ms),
            count(wait.resource_ms),
            count(wait.signal_ms),
            mean(wait),
            percent(wait.share),
        ];
        table.row(&wait_name(wait), figures);
    }
    print_table(page, "Waits of the window, by wait time", &table, working.len());
    let rest = working.get(TABLE_ROWS..).unwrap_or_default();
    print_rest(page, rest.len(), rest.iter().map(|wait| wait.wait_ms), "ms of wait time");
    if !idle.is_empty() {
        let ms = idle.iter().map(|wait| u128::from(wait.wait_ms)).sum::<u128>();
        if working.is_empty() {
            page.gap();
            page.line(2, Ink::Plain, "Nothing but idle waits in the window");
        }
        let types = counted(idle.len() as u64, "idle wait type", "idle wait types");
        page.paragraph(2, Ink::Dim, &format!("{types} left out: {} ms", count(ms)));
    }
}

/// Idle waits are those that have time and no share of it.
fn is_left_out(wait: &WaitRow) -> bool {
    wait.wait_ms > 0 && wait.share == 0.0
}

/// A wait that no category names may be anything, so it is told.
fn wait_name(wait: &WaitRow) -> String {
    let uncategorised = wait.category.is_none().then_some("uncategorised");
    with_remarks(&wait.wait_type, uncategorised.into_iter().chain(wait.mark.map(in_words)))
}

/// Milliseconds a wait, to a tenth; to a hundredth below 1, where log writes and copies are.
fn mean(wait: &WaitRow) -> String {
    let (tasks, places, ones) = match u128::from(wait.waiting_tasks) {
        tasks if u128::from(wait.wait_ms) < tasks => (tasks, 2, 100),
        tasks => (tasks, 1, 10),
    };
    let parts = (u128::from(wait.wait_ms) * ones + tasks / 2).checked_div(tasks);
    parts.map_or_else(|| NONE.to_owned(), |parts| format!("{}.{:0places$}", count(parts / ones), parts % ones))
}

fn print_spinlocks(page: &mut Page, spinlocks: &[SpinlockRow]) {
    let heads = ["collisions", "spins", "spins/\ncoll.", "sleep\nms", "back-offs", "CPU\nshare %"];
    let mut table = Columns::new("Spinlock", &heads);
    for spinlock in spinlocks.iter().take(TABLE_ROWS) {
        let figures = vec![
            count(spinlock.collisions),
            count(spinlock.spins),
            count(spinlock.spins_per_collision),
            count(spinlock.sleep_time_ms),
            count(spinlock.backoffs),
            spinlock.spin_cpu_share.map_or_else(|| NONE.to_owned(), coarse_percent_range),
        ];
        table.row(&marked(&spinlock.name, spinlock.mark), figures);
    }
    print_table(page, "Spinlocks of the window whose collisions grew", &table, spinlocks.len());
    let rest = spinlocks.get(TABLE_ROWS..).unwrap_or_default();
    print_rest(page, rest.len(), rest.iter().map(|spinlock| spinlock.spins), "spins");
}

fn print_latches(page: &mut Page, latches: &[LatchRow]) {
    let mut table = Columns::new("Latch class", &["requests", "wait ms", "share\nof time"]);
    for latch in latches.iter().take(TABLE_ROWS) {
        let figures = vec![count(latch.requests), count(latch.wait_ms), percent(latch.share)];
        table.row(&marked(&latch.latch_class, latch.mark), figures);
    }
    print_table(page, "Latches of the window, by wait time", &table, latches.len());
    let rest = latches.get(TABLE_ROWS..).unwrap_or_default();
    print_rest(page, rest.len(), rest.iter().map(|latch| latch.wait_ms), "ms of wait time");
    print_page_latches(page, latches);
}

/// Pages in memory have latches of their own kind, and wait types of their own.
fn print_page_latches(page: &mut Page, latches: &[LatchRow]) {
    let is_page = |latch: &&LatchRow| latch.latch_class.eq_ignore_ascii_case(PAGE_LATCHES);
    if latches.iter().any(|latch| is_page(&latch) && latch.wait_ms > 0) {
        let others =
            latches.iter().filter(|latch| !is_page(latch)).map(|latch| u128::from(latch.wait_ms)).sum::<u128>();
        let text = format!(
            "{PAGE_LATCHES} is the class of pages, with the waits PAGELATCH and PAGEIOLATCH; all other classes, with \
             LATCH waits, have {} ms.",
            count(others)
        );
        page.paragraph(2, Ink::Dim, &text);
    }
}

fn print_table(page: &mut Page, title: &str, table: &Columns, rows: usize) {
    if rows > 0 {
        page.gap();
        page.paragraph(2, Ink::Strong, title);
        table.print(page, 2);
    }
}

fn print_rest(page: &mut Page, rows: usize, amounts: impl Iterator<Item = u64>, unit: &str) {
    if rows > 0 {
        let sum = amounts.map(u128::from).sum::<u128>();
        page.paragraph(2, Ink::Dim, &format!("and {rows} more: {} {unit}", count(sum)));
    }
}

fn marked(name: &str, mark: Option<Mark>) -> String {
    with_remarks(name, mark.map(in_words))
}

fn with_remarks<'a>(name: &str, remarks: impl IntoIterator<Item = &'a str>) -> String {
    let remarks: Vec<&str> = remarks.into_iter().collect();
    if remarks.is_empty() { name.to_owned() } else { format!("{name} ({})", remarks.join(", ")) }
}

fn in_words(mark: Mark) -> &'static str {
    match mark {
        Mark::New => "new",
        Mark::Reset => "reset",
        Mark::Restarted => "since restart",
        Mark::Missing => "gone",
        Mark::Renamed => "renamed",
    }
}
