//! Owns the tables of counters: waits, spinlocks, latches.

use super::{
    columns::Columns,
    figures::{NONE, coarse_percent_range, count, percent},
    page::{Ink, Page},
};
use crate::model::{LatchRow, Mark, Report, SpinlockRow, WaitRow};

/// Rows of a table before the rest is summed up.
const TABLE_ROWS: usize = 10;

pub(super) fn print(page: &mut Page, report: &Report) {
    if is_empty(report) {
        page.line(2, Ink::Plain, "None taken.");
    }
    print_waits(page, &report.waits);
    print_spinlocks(page, &report.spinlocks);
    print_latches(page, &report.latches);
    for (rows, what) in [(report.files.len(), "files"), (report.databases.len(), "databases")] {
        if rows > 0 {
            page.gap();
            page.paragraph(2, Ink::Plain, &format!("Figures of {rows} {what} are in the JSON report."));
        }
    }
}

fn is_empty(report: &Report) -> bool {
    let Report { waits, spinlocks, latches, files, databases, .. } = report;
    [waits.len(), spinlocks.len(), latches.len(), files.len(), databases.len()].iter().all(|&rows| rows == 0)
}

fn print_waits(page: &mut Page, waits: &[WaitRow]) {
    let heads = ["waits", "wait ms", "resource\nms", "signal\nms", "mean\nms", "share\nof time"];
    let mut table = Columns::new("Wait type", &heads);
    for wait in waits.iter().take(TABLE_ROWS) {
        let figures = vec![
            count(wait.waiting_tasks),
            count(wait.wait_ms),
            count(wait.resource_ms),
            count(wait.signal_ms),
            mean(wait),
            percent(wait.share),
        ];
        table.row(&marked(&wait.wait_type, wait.mark), figures);
    }
    print_table(page, "Waits of the window, by wait time", &table, waits.len());
    let rest = waits.get(TABLE_ROWS..).unwrap_or_default();
    print_rest(page, rest.len(), rest.iter().map(|wait| wait.wait_ms), "ms of wait time");
}

/// Milliseconds a wait, to a tenth.
fn mean(wait: &WaitRow) -> String {
    let tenths = (u128::from(wait.wait_ms) * 10 + u128::from(wait.waiting_tasks) / 2)
        .checked_div(u128::from(wait.waiting_tasks));
    tenths.map_or_else(|| NONE.to_owned(), |tenths| format!("{}.{}", count(tenths / 10), tenths % 10))
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
    let told = match mark {
        None => return name.to_owned(),
        Some(Mark::New) => "new",
        Some(Mark::Reset) => "reset",
        Some(Mark::Restarted) => "since restart",
        Some(Mark::Missing) => "gone",
        Some(Mark::Renamed) => "renamed",
    };
    format!("{name} ({told})")
}
