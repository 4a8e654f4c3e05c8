//! Owns which files are slow: means over enough I/Os, above the threshold of their kind, and when in the window.

use crate::{
    analyze::{facts::Facts, words::count},
    catalog::FileGateSettings,
    model::{FilePoint, FileRow, Mark},
};
use std::cmp::Reverse;

/// Reads, writes, or both together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Reads,
    Writes,
    Both,
}

impl Of {
    fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Both => "I/Os",
        }
    }
}

/// A file that is slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slow<'a> {
    pub(super) row: &'a FileRow,
    /// Of what the mean is above the threshold; of several the slowest.
    pub(super) of: Of,
    /// That mean, ms.
    pub(super) latency_ms: f64,
    /// The threshold, ms.
    pub(super) threshold_ms: f64,
    /// Whether it is above it without the time in which Resource Governor held I/O back.
    pub(super) by_itself: bool,
}

impl Slow<'_> {
    /// `database.file`.
    pub(super) fn name(&self) -> String {
        name(self.row)
    }

    /// Its row in the report.
    pub(super) fn evidence(&self) -> String {
        format!("files:{}", self.name())
    }

    /// Its figures.
    pub(super) fn in_words(&self) -> String {
        let row = self.row;
        let one = |operations: u64, latency: Option<f64>, bytes: Option<f64>, what: &str| {
            let latency = latency.filter(|_| operations > 0)?;
            let size = bytes.map_or_else(String::new, |bytes| format!(" of {} bytes", count(bytes as u64)));
            Some(format!("{} {what}{size} at {latency:.1} ms", count(operations)))
        };
        let parts: Vec<String> = [
            one(row.reads, row.read_latency_ms, row.bytes_per_read, "reads"),
            one(row.writes, row.write_latency_ms, row.bytes_per_write, "writes"),
        ]
        .into_iter()
        .flatten()
        .collect();
        format!("{} ({}): {}", self.name(), row.kind, parts.join(", "))
    }

    /// The slow figure alone.
    pub(super) fn mean_in_words(&self) -> String {
        format!("{} at {:.1} ms a piece, above {} ms", self.of.name(), self.latency_ms, self.threshold_ms)
    }

    /// When it was slow, where the window was taken in intervals.
    pub(super) fn when(&self) -> Option<String> {
        let points = &self.row.series;
        let is_slow = |point: &&FilePoint| {
            let above = |latency: Option<f64>| latency.is_some_and(|latency| latency > self.threshold_ms);
            above(point.read_latency_ms) || above(point.write_latency_ms)
        };
        let slow: Vec<&FilePoint> = points.iter().filter(is_slow).collect();
        let (first, last) = (slow.first()?, slow.last()?);
        let started = points.iter().rev().find(|point| point.at_ms < first.at_ms).map_or(0, |point| point.at_ms);
        Some(format!(
            "slow in {} of {} intervals, between {:.1} s and {:.1} s after the start",
            slow.len(),
            points.len(),
            started as f64 / 1_000.0,
            last.at_ms as f64 / 1_000.0
        ))
    }
}

/// `database.file`.
pub(super) fn name(row: &FileRow) -> String {
    format!("{}.{}", row.database, row.file)
}

/// The threshold for a file of this kind.
pub(super) fn threshold_ms(row: &FileRow, settings: &FileGateSettings) -> f64 {
    if row.kind == "log" { settings.log_latency_ms } else { settings.data_latency_ms }
}

/// Whether a row's figures are those of the window, or of less of it.
pub(super) fn counts(row: &FileRow) -> bool {
    matches!(row.mark, None | Some(Mark::New | Mark::Restarted))
}

/// Means of a file over enough I/Os: of what, the mean, and the mean without the time that Resource Governor took.
fn means(row: &FileRow, settings: &FileGateSettings) -> impl Iterator<Item = (Of, f64, f64)> {
    let both = |one: u64, other: u64| u128::from(one) + u128::from(other);
    let (queued_read, queued_write) = (row.queued_read_ms.unwrap_or(0), row.queued_write_ms.unwrap_or(0));
    let of = |of: Of, operations: u128, mean: Option<f64>, queued: u128| {
        let mean = mean.filter(|_| operations > 0 && operations >= u128::from(settings.operations))?;
        Some((of, mean, (mean - queued as f64 / operations as f64).max(0.0)))
    };
    [
        of(Of::Reads, row.reads.into(), row.read_latency_ms, queued_read.into()),
        of(Of::Writes, row.writes.into(), row.write_latency_ms, queued_write.into()),
        of(Of::Both, both(row.reads, row.writes), row.latency_ms, both(queued_read, queued_write)),
    ]
    .into_iter()
    .flatten()
}

/// Whether a file had enough I/O to be judged.
pub(super) fn is_judged(row: &FileRow, settings: &FileGateSettings) -> bool {
    counts(row) && means(row, settings).next().is_some()
}

/// The slow files, those that took most time first; what only Resource Governor slowed down stands last.
pub(super) fn slow_files<'a>(facts: &'a Facts<'_>) -> Vec<Slow<'a>> {
    let settings = &facts.catalog.file_latency.gates;
    let rows = facts.files.rows.iter().flatten().filter(|row| counts(row));
    let mut slow: Vec<Slow<'a>> = rows
        .filter_map(|row| {
            let threshold_ms = threshold_ms(row, settings);
            let above = means(row, settings).filter(|(_, mean, _)| *mean > threshold_ms);
            let (of, latency_ms, _) = above.max_by(|one, other| one.1.total_cmp(&other.1))?;
            let by_itself = means(row, settings).any(|(_, _, without_queue)| without_queue > threshold_ms);
            Some(Slow { row, of, latency_ms, threshold_ms, by_itself })
        })
        .collect();
    slow.sort_by_cached_key(|slow| {
        let stall_ms = u128::from(slow.row.read_stall_ms) + u128::from(slow.row.write_stall_ms);
        (!slow.by_itself, Reverse(stall_ms), slow.name())
    });
    slow
}

/// Files above the threshold over too few I/Os to judge.
pub(super) fn too_few<'a>(facts: &'a Facts<'_>) -> Vec<&'a FileRow> {
    let settings = &facts.catalog.file_latency.gates;
    let rows = facts.files.rows.iter().flatten().filter(|row| counts(row) && !is_judged(row, settings));
    rows.filter(|row| row.latency_ms.is_some_and(|latency| latency > threshold_ms(row, settings))).collect()
}

/// A file whose mean of the window and mean since the counters began are far apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Apart<'a> {
    pub(super) row: &'a FileRow,
    pub(super) of: Of,
    pub(super) window_ms: f64,
    pub(super) cumulative_ms: f64,
}

impl Apart<'_> {
    /// The two means.
    pub(super) fn in_words(&self) -> String {
        format!(
            "{}: {} took {:.1} ms in this window and {:.1} ms since the counters began",
            name(self.row),
            self.of.name(),
            self.window_ms,
            self.cumulative_ms
        )
    }
}

/// Files with such means, where either is above the threshold; those with most time first.
pub(super) fn apart<'a>(facts: &'a Facts<'_>) -> Vec<Apart<'a>> {
    let settings = &facts.catalog.file_latency.gates;
    let mut found = Vec::new();
    for row in facts.files.rows.iter().flatten().filter(|row| row.mark.is_none()) {
        let threshold = threshold_ms(row, settings);
        for (of, operations, window, cumulative) in [
            (Of::Reads, row.reads, row.read_latency_ms, row.cumulative_read_latency_ms),
            (Of::Writes, row.writes, row.write_latency_ms, row.cumulative_write_latency_ms),
        ] {
            let Some((window_ms, cumulative_ms)) = window.zip(cumulative) else { continue };
            let (less, more) = (window_ms.min(cumulative_ms), window_ms.max(cumulative_ms));
            let is_apart =
                operations >= settings.operations && more > threshold && more >= less * settings.cumulative_factor;
            if is_apart {
                found.push(Apart { row, of, window_ms, cumulative_ms });
            }
        }
    }
    found
}
