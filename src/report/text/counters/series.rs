//! Owns how a file fared in the course of the window: a line an interval, of the slowest files.

use crate::{
    model::{FilePoint, FileRow},
    report::text::{
        columns::Columns,
        figures::{count, mean},
        page::{Ink, Page},
    },
};

/// Files whose series is shown.
const MOST_FILES: usize = 3;

/// Lines of one series; longer ones are merged evenly.
const MOST_LINES: usize = 12;

pub(super) fn print(page: &mut Page, files: &[FileRow], titles: &[String]) {
    let with_series = || files.iter().zip(titles).filter(|(file, _)| !file.series.is_empty());
    if with_series().next().is_some() {
        page.gap();
        page.paragraph(2, Ink::Strong, "The course of the window, for the files with most time in I/O");
    }
    for (at, (file, title)) in with_series().take(MOST_FILES).enumerate() {
        if at > 0 {
            page.gap();
        }
        page.line(2, Ink::Plain, title);
        let each = file.series.len().div_ceil(MOST_LINES);
        let width = file.series.iter().map(|point| seconds(point.at_ms).len()).max().unwrap_or_default();
        let mut table = Columns::new("Until", &["reads", "read\nms", "writes", "write\nms"]);
        for point in file.series.chunks(each.max(1)).filter_map(merged) {
            let figures = vec![
                count(point.reads),
                mean(point.read_latency_ms),
                count(point.writes),
                mean(point.write_latency_ms),
            ];
            table.row(&format!("{:>width$}", seconds(point.at_ms)), figures);
        }
        table.print(page, 4);
        if each > 1 {
            page.paragraph(4, Ink::Dim, &merging(&file.series, each));
        }
    }
    if let Some(more) = with_series().count().checked_sub(MOST_FILES).filter(|&more| more > 0) {
        page.paragraph(2, Ink::Dim, &format!("The course of {more} more is in the JSON report."));
    }
}

/// Several intervals as one: operations add up, means are weighted by them.
fn merged(points: &[FilePoint]) -> Option<FilePoint> {
    let at_ms = points.last()?.at_ms;
    let reads = points.iter().map(|point| (point.reads, point.read_latency_ms));
    let writes = points.iter().map(|point| (point.writes, point.write_latency_ms));
    let ((reads, read_latency_ms), (writes, write_latency_ms)) = (weighted(reads), weighted(writes));
    Some(FilePoint { at_ms, reads, writes, read_latency_ms, write_latency_ms })
}

fn weighted(parts: impl Iterator<Item = (u64, Option<f64>)>) -> (u64, Option<f64>) {
    let (mut all, mut timed, mut time) = (0_u64, 0.0, 0.0);
    for (operations, latency) in parts {
        all = all.saturating_add(operations);
        if let Some(latency) = latency.filter(|_| operations > 0) {
            timed += operations as f64;
            time += operations as f64 * latency;
        }
    }
    (all, (timed > 0.0).then(|| time / timed))
}

/// Merging hides peaks, so they are told.
fn merging(series: &[FilePoint], each: usize) -> String {
    let slowest = |what: &str, latency: fn(&FilePoint) -> Option<f64>| {
        let known = series.iter().filter_map(|point| Some((latency(point)?, point.at_ms)));
        let (ms, at_ms) = known.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some(format!("; slowest {what} {} ms until {}", mean(Some(ms)), seconds(at_ms)))
    };
    let reads = slowest("reads", |point| point.read_latency_ms.filter(|_| point.reads > 0)).unwrap_or_default();
    let writes = slowest("writes", |point| point.write_latency_ms.filter(|_| point.writes > 0)).unwrap_or_default();
    format!("{} intervals, {each} to a line{reads}{writes}", series.len())
}

/// `5.0 s` into the window.
fn seconds(at_ms: u64) -> String {
    format!("{}.{} s", count(at_ms / 1000), at_ms % 1000 / 100)
}
