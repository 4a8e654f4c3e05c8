//! Owns how files did over the window: virtual file statistics differenced, named, and as a series.

mod names;
mod reading;

use super::{
    deltas::{count_overflow, some_of},
    measures::{Continuity, Measures},
};
use crate::model::{Evidence, FilePoint, FileRow, Mark, Problem, Severity, Snapshot};
use names::Names;
use reading::{Counter, Counters, Key, Reading};
use std::{cmp::Reverse, collections::BTreeMap};

pub(super) use names::database_names;

/// The view, without `sys.`.
pub(super) const VIEW: &str = "dm_io_virtual_file_stats";

/// The files of a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Files {
    /// Files with I/O, and marked ones, by time spent in I/O, descending; `None` where the view was not read.
    pub rows: Option<Vec<FileRow>>,
    /// Resets and what else went other than it should have.
    pub problems: Vec<Problem>,
}

/// The files of the evidence: how the statistics of each grew between the two snapshots. A mean is over the operations of
/// the window; the mean since the counters began stands beside it, because it hides when.
pub fn files(evidence: &Evidence, measures: &Measures) -> Files {
    let of = |snapshot: &Option<Snapshot>| snapshot.as_ref()?.tables.get(VIEW).map(Reading::of);
    let Some((before, after)) = of(&evidence.before).zip(of(&evidence.after)) else { return Files::default() };
    if measures.continuity == Continuity::OtherServer {
        return Files::default();
    }
    let mut found = Found::default();
    for reading in [&before, &after] {
        found.note(reading);
    }
    if !before.is_usable() || !after.is_usable() {
        return Files { rows: None, problems: found.problems() };
    }
    let restarted = measures.continuity == Continuity::Restarted;
    let names = Names::of(evidence, &before, &after);
    let mut rows: BTreeMap<&Key, FileRow> = BTreeMap::new();
    let nothing = Counters::default();
    for (key, now) in &after.files {
        let then = before.files.get(key);
        let mark = if restarted {
            Some(Mark::Restarted)
        } else {
            match then {
                None => Some(Mark::New),
                Some(_) if names.is_renamed(key) => Some(Mark::Renamed),
                Some(then) => now.went_down(then).then_some(Mark::Reset),
            }
        };
        let grown = match mark {
            None => now.since(then.unwrap_or(&nothing)),
            Some(Mark::New | Mark::Restarted) => now.since(&Counters::ZERO),
            Some(_) => Counters::ZERO,
        };
        let row = found.row(key, &names, &grown, mark);
        let worth_showing = row.mark.is_some_and(|mark| mark != Mark::Restarted) || row.reads > 0 || row.writes > 0;
        if worth_showing {
            let row = FileRow {
                cumulative_read_latency_ms: now.mean(Counter::ReadStallMs, Counter::Reads),
                cumulative_write_latency_ms: now.mean(Counter::WriteStallMs, Counter::Writes),
                size_bytes: now.size_bytes.and_then(|bytes| u64::try_from(bytes).ok()),
                growth_bytes: growth_bytes(then, now).filter(|_| mark != Some(Mark::Renamed)),
                ..row
            };
            rows.insert(key, row);
        }
    }
    for key in before.files.keys().filter(|key| !restarted && !after.files.contains_key(*key)) {
        rows.insert(key, found.row(key, &names, &Counters::ZERO, Some(Mark::Missing)));
    }
    for (key, series) in series(evidence, &before, &after) {
        if let Some(row) = rows.get_mut(&key) {
            row.series = series;
        }
    }
    let mut rows: Vec<FileRow> = rows.into_values().collect();
    rows.sort_by_cached_key(|row| {
        let stall_ms = u128::from(row.read_stall_ms) + u128::from(row.write_stall_ms);
        (Reverse(stall_ms), row.database.clone(), row.file.clone(), row.database_id, row.file_id)
    });
    Files { rows: Some(rows), problems: found.problems() }
}

fn growth_bytes(then: Option<&Counters>, now: &Counters) -> Option<i64> {
    let growth = now.size_bytes?.saturating_sub(then?.size_bytes?);
    Some(i64::try_from(growth).unwrap_or(if growth < 0 { i64::MIN } else { i64::MAX }))
}

/// The intervals of every file, from the window's start over each snapshot of the series to the window's end.
fn series(evidence: &Evidence, before: &Reading, after: &Reading) -> BTreeMap<Key, Vec<FilePoint>> {
    let mut points: BTreeMap<Key, Vec<FilePoint>> = BTreeMap::new();
    let started = evidence.window.map(|window| window.started_at);
    let started = started.or_else(|| evidence.before.as_ref().map(|first| first.taken_at)).unwrap_or_default();
    let between =
        evidence.series.iter().filter_map(|snapshot| Some((snapshot, Reading::of(snapshot.tables.get(VIEW)?))));
    let between: Vec<(&Snapshot, Reading)> = between.filter(|(_, reading)| reading.is_usable()).collect();
    let Some((last, _)) = between.last() else { return points };
    // What the series leaves of the window is its last interval.
    let end = evidence.after.as_ref().filter(|end| end.taken_at > last.taken_at).map(|end| (end, after));
    let mut earlier = before;
    for (snapshot, reading) in between.iter().map(|(snapshot, reading)| (*snapshot, reading)).chain(end) {
        let at_ms = u64::try_from(snapshot.taken_at.0.saturating_sub(started.0) / 1_000).unwrap_or(0);
        for (key, now) in &reading.files {
            let grown = match earlier.files.get(key) {
                Some(then) if now.went_down(then) => Counters::ZERO,
                Some(then) => now.since(then),
                None => now.since(&Counters::ZERO),
            };
            points.entry(key.clone()).or_default().push(FilePoint {
                at_ms,
                reads: grown.held(Counter::Reads).0,
                writes: grown.held(Counter::Writes).0,
                read_latency_ms: grown.mean(Counter::ReadStallMs, Counter::Reads),
                write_latency_ms: grown.mean(Counter::WriteStallMs, Counter::Writes),
            });
        }
        earlier = reading;
    }
    points
}

/// What is found beside the figures.
#[derive(Default)]
struct Found {
    overflow: bool,
    reset: Vec<String>,
    changed: Vec<String>,
    unreadable: Vec<String>,
    twice: Vec<String>,
    missing_columns: Vec<&'static str>,
    unusable: bool,
}

impl Found {
    fn note(&mut self, reading: &Reading) {
        self.unusable |= !reading.is_usable();
        for column in &reading.missing_columns {
            if !self.missing_columns.contains(column) {
                self.missing_columns.push(column);
            }
        }
        let names = |keys: &[Key]| keys.iter().map(ToString::to_string).collect::<Vec<String>>();
        self.twice.extend(names(&reading.twice));
        self.unreadable.extend(names(&reading.unreadable));
    }

    /// The figures of the window.
    fn row(&mut self, key: &Key, names: &Names, grown: &Counters, mark: Option<Mark>) -> FileRow {
        let (database, file) = (names.database(key), names.file(key));
        let shown = format!("{database}.{file}");
        match mark {
            Some(Mark::Reset) => self.reset.push(shown),
            Some(Mark::New) => self.changed.push(format!("{shown} is new")),
            Some(Mark::Missing) => self.changed.push(format!("{shown} is gone")),
            Some(Mark::Renamed) => {
                let before = names.before(key).unwrap_or_default();
                self.changed.push(format!("{shown} was {before}"));
            }
            Some(Mark::Restarted) | None => {}
        }
        let mut held = |counter: Counter| {
            let (value, overflow) = grown.held(counter);
            self.overflow |= overflow;
            value
        };
        let queued = |counter: Counter, held: u64| grown.value(counter).map(|_| held);
        let (queued_read, queued_write) = (held(Counter::QueuedReadMs), held(Counter::QueuedWriteMs));
        let both =
            grown.sum(Counter::Reads, Counter::Writes).zip(grown.sum(Counter::ReadStallMs, Counter::WriteStallMs));
        FileRow {
            database_id: key.database_id(),
            file_id: key.file_id(),
            kind: names.kind(key).to_owned(),
            reads: held(Counter::Reads),
            writes: held(Counter::Writes),
            read_bytes: held(Counter::ReadBytes),
            write_bytes: held(Counter::WriteBytes),
            read_stall_ms: held(Counter::ReadStallMs),
            write_stall_ms: held(Counter::WriteStallMs),
            queued_read_ms: queued(Counter::QueuedReadMs, queued_read),
            queued_write_ms: queued(Counter::QueuedWriteMs, queued_write),
            read_latency_ms: grown.mean(Counter::ReadStallMs, Counter::Reads),
            write_latency_ms: grown.mean(Counter::WriteStallMs, Counter::Writes),
            latency_ms: both.filter(|(operations, _)| *operations > 0).map(|(n, ms)| ms as f64 / n as f64),
            bytes_per_read: grown.mean(Counter::ReadBytes, Counter::Reads),
            bytes_per_write: grown.mean(Counter::WriteBytes, Counter::Writes),
            mark,
            database,
            file,
            ..FileRow::default()
        }
    }

    fn problems(self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |problem: Problem| problems.push(problem);
        if !self.missing_columns.is_empty() {
            let (severity, so) = if self.unusable {
                (Severity::Partial, "it is not used")
            } else {
                (Severity::Warning, "what they tell is not known")
            };
            let missing = self.missing_columns.join(", ");
            add(Problem::new("columns_missing", severity, format!("sys.{VIEW} came without {missing}: {so}")));
        }
        if !self.reset.is_empty() {
            let message = format!(
                "counters of sys.{VIEW} went down inside the window, because the database went offline, was detached or restored, or the server restarted: {}",
                some_of(&self.reset)
            );
            add(Problem::new("counters_reset", Severity::Partial, message).with_hint("repeat the capture"));
        }
        if !self.changed.is_empty() {
            let message = format!("files changed inside the window: {}", some_of(&self.changed));
            add(Problem::new("files_changed", Severity::Info, message));
        }
        if !self.twice.is_empty() {
            let message =
                format!("sys.{VIEW} has more than one row of a file, which are summed: {}", some_of(&self.twice));
            add(Problem::new("duplicate_rows", Severity::Warning, message));
        }
        if !self.unreadable.is_empty() {
            let message = format!("counters of sys.{VIEW} were NULL or no number: {}", some_of(&self.unreadable));
            add(Problem::new("counters_unreadable", Severity::Warning, message));
        }
        if self.overflow {
            add(count_overflow());
        }
        problems
    }
}
