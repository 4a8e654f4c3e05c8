//! Owns what the counters grew by between two snapshots: waits, latches and spinlocks, each view judged on its own.

mod growth;

pub use growth::{Grown, Growth, Shape, grow};

use super::measures::{Continuity, Measures};
use crate::{
    catalog::{SpinSettings, WaitCategories},
    model::{Interval, LatchRow, Mark, Problem, Severity, Snapshot, SpinlockRow, Table, Value, WaitRow},
};
use std::{cmp::Reverse, collections::BTreeMap};

/// `sys.dm_os_wait_stats`; on Azure SQL Database `sys.dm_db_wait_stats`, with the same columns.
const WAITS: Shape = Shape {
    view: "dm_os_wait_stats",
    name: "wait_type",
    counters: &["waiting_tasks_count", "wait_time_ms", "signal_wait_time_ms"],
};
const DATABASE_WAITS: Shape = Shape { view: "dm_db_wait_stats", ..WAITS };
const LATCHES: Shape =
    Shape { view: "dm_os_latch_stats", name: "latch_class", counters: &["waiting_requests_count", "wait_time_ms"] };
const SPINLOCKS: Shape =
    Shape { view: "dm_os_spinlock_stats", name: "name", counters: &["collisions", "spins", "sleep_time", "backoffs"] };

/// The counters' growth.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Deltas {
    /// Waits: work first, by wait time; idle waits last, with share 0. `None` where the view was not read twice.
    pub waits: Option<Vec<WaitRow>>,
    /// Latches, by wait time.
    pub latches: Option<Vec<LatchRow>>,
    /// Spinlocks whose collisions grew, and marked ones, by spins.
    pub spinlocks: Option<Vec<SpinlockRow>>,
    /// What went other than it should have.
    pub problems: Vec<Problem>,
}

/// The growth between two snapshots. Nothing is negative, infinite or no number, whatever they hold.
pub fn deltas(
    before: Option<&Snapshot>,
    after: Option<&Snapshot>,
    measures: &Measures,
    categories: &WaitCategories,
    spins: &SpinSettings,
) -> Deltas {
    let mut deltas = Deltas::default();
    let (Some(before), Some(after)) = (before, after) else { return deltas };
    match measures.continuity {
        Continuity::Same => {}
        Continuity::Restarted => deltas.problems.push(
            Problem::new(
                "server_restarted",
                Severity::Partial,
                "the server restarted inside the window: its counters cover less time than the window",
            )
            .with_hint("repeat the capture"),
        ),
        Continuity::OtherServer => {
            deltas.problems.push(
                Problem::new(
                    "identity_changed",
                    Severity::Partial,
                    "the two snapshots are of different servers or runs: no counter has a difference",
                )
                .with_hint("connect to one instance by its own name, and repeat the capture"),
            );
            return deltas;
        }
    }
    let restarted = measures.continuity == Continuity::Restarted;
    let mut problems = Vec::new();
    let mut read = |shape: Shape| {
        let (before, after) = (before.tables.get(shape.view)?, after.tables.get(shape.view)?);
        let grown = grow(shape, before, after, restarted);
        problems.extend(growth_problems(shape, &grown));
        grown.missing_columns.is_empty().then_some((grown, after.clone()))
    };
    let mut overflow = Overflow(false);
    deltas.waits =
        read(WAITS).or_else(|| read(DATABASE_WAITS)).map(|(grown, _)| waits(grown, categories, &mut overflow));
    deltas.latches = read(LATCHES).map(|(grown, _)| latches(grown, &mut overflow));
    deltas.spinlocks = read(SPINLOCKS).map(|(grown, after)| spinlocks(grown, &after, measures, spins, &mut overflow));
    deltas.problems.extend(problems);
    if overflow.0 {
        deltas.problems.push(count_overflow());
    }
    deltas
}

/// A sum went beyond what can be shown.
pub fn count_overflow() -> Problem {
    Problem::new("count_overflow", Severity::Warning, "a sum exceeds 2^64 - 1 and is shown as that")
}

/// Whether a figure had to be held at the end of its range.
struct Overflow(bool);

impl Overflow {
    fn hold(&mut self, growth: &Growth, index: usize) -> u64 {
        let (value, held) = growth.counter(index);
        self.0 |= held;
        value
    }
}

fn waits(grown: Grown, categories: &WaitCategories, overflow: &mut Overflow) -> Vec<WaitRow> {
    let idle = |wait_type: &str| categories.is_idle(wait_type);
    let mut rows: Vec<WaitRow> = grown
        .rows
        .into_iter()
        .map(|growth| {
            let wait_ms = overflow.hold(&growth, 1);
            let signal_ms = overflow.hold(&growth, 2);
            WaitRow {
                category: categories.of(&growth.name).map(|category| category.name.clone()),
                waiting_tasks: overflow.hold(&growth, 0),
                wait_ms,
                resource_ms: wait_ms.saturating_sub(signal_ms),
                signal_ms,
                share: 0.0,
                mark: growth.mark,
                wait_type: growth.name,
            }
        })
        .collect();
    let total: f64 = rows.iter().filter(|row| !idle(&row.wait_type)).map(|row| row.wait_ms as f64).sum();
    for row in rows.iter_mut().filter(|row| total > 0.0 && !idle(&row.wait_type)) {
        row.share = (row.wait_ms as f64 / total).clamp(0.0, 1.0);
    }
    rows.sort_by_cached_key(|row| (idle(&row.wait_type), Reverse(row.wait_ms), row.wait_type.clone()));
    rows
}

fn latches(grown: Grown, overflow: &mut Overflow) -> Vec<LatchRow> {
    let mut rows: Vec<LatchRow> = grown
        .rows
        .into_iter()
        .map(|growth| LatchRow {
            requests: overflow.hold(&growth, 0),
            wait_ms: overflow.hold(&growth, 1),
            share: 0.0,
            mark: growth.mark,
            latch_class: growth.name,
        })
        .collect();
    let total: f64 = rows.iter().filter(|row| !is_of_pages(row)).map(|row| row.wait_ms as f64).sum();
    for row in rows.iter_mut().filter(|row| total > 0.0 && !is_of_pages(row)) {
        row.share = (row.wait_ms as f64 / total).clamp(0.0, 1.0);
    }
    rows.sort_by_cached_key(|row| (Reverse(row.wait_ms), row.latch_class.clone()));
    rows
}

/// Whether a row is of the class of buffer pages. Its waits are PAGELATCH and PAGEIOLATCH, those of all others LATCH, so it
/// takes no part in their shares.
pub fn is_of_pages(row: &LatchRow) -> bool {
    row.latch_class.eq_ignore_ascii_case("BUFFER")
}

fn spinlocks(
    grown: Grown,
    after: &Table,
    measures: &Measures,
    spins: &SpinSettings,
    overflow: &mut Overflow,
) -> Vec<SpinlockRow> {
    let own_ratios = own_ratios(after);
    let mut rows: Vec<SpinlockRow> = grown
        .rows
        .into_iter()
        .map(|growth| {
            let (collisions, spun) = (overflow.hold(&growth, 0), overflow.hold(&growth, 1));
            let own_ratio = own_ratios.get(growth.name.as_str()).copied().flatten();
            let own_ratio = own_ratio.filter(|_| growth.mark == Some(Mark::New));
            // After a restart the values cover less than the window, so nothing is known per second.
            let timed = growth.mark != Some(Mark::Restarted);
            SpinlockRow {
                collisions,
                spins: spun,
                spins_per_collision: own_ratio.or_else(|| spun.checked_div(collisions)).unwrap_or(0),
                sleep_time_ms: overflow.hold(&growth, 2),
                backoffs: overflow.hold(&growth, 3),
                spins_per_second_per_cpu: timed.then(|| per_second_and_cpu(spun, measures)).flatten(),
                spin_cpu_share: spin_cpu_share(spun.into(), measures, spins),
                mark: growth.mark,
                name: growth.name,
            }
        })
        .filter(|row| row.collisions > 0 || row.mark.is_some())
        .collect();
    rows.sort_by_cached_key(|row| (Reverse(row.spins), Reverse(row.collisions), row.name.clone()));
    rows
}

/// `spins_per_collision` as the view itself shows it, for names that one row has.
fn own_ratios(table: &Table) -> BTreeMap<&str, Option<u64>> {
    let mut ratios = BTreeMap::new();
    for row in 0..table.rows.len() {
        let Some(name) = table.text(row, SPINLOCKS.name).map(str::trim) else { continue };
        let ratio = match table.value(row, "spins_per_collision") {
            Some(Value::Real(ratio)) if ratio.is_finite() && *ratio >= 0.0 => Some(*ratio as u64),
            other => other.and_then(Value::as_integer).and_then(|ratio| u64::try_from(ratio).ok()),
        };
        ratios.entry(name).and_modify(|known| *known = None).or_insert(ratio);
    }
    ratios
}

fn per_second_and_cpu(spins: u64, measures: &Measures) -> Option<f64> {
    let (elapsed_ms, schedulers) = measures.elapsed_ms.zip(measures.schedulers)?;
    Some(spins as f64 * 1_000.0 / elapsed_ms as f64 / schedulers as f64)
}

/// The share of the online schedulers' cycles that a number of spins can have taken: spins x cycles a spin, a range,
/// over `cpu_ticks` of the window x online schedulers, at most 1.
pub fn spin_cpu_share(spins: u128, measures: &Measures, settings: &SpinSettings) -> Option<Interval> {
    let (ticks, schedulers) = measures.cpu_ticks.zip(measures.schedulers)?;
    let cycles = ticks as f64 * schedulers as f64;
    let share = |cycles_per_spin: f64| (spins as f64 * cycles_per_spin / cycles).clamp(0.0, 1.0);
    Some(Interval { low: share(settings.cycles_per_spin_low), high: share(settings.cycles_per_spin_high) })
}

fn growth_problems(shape: Shape, grown: &Grown) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !grown.missing_columns.is_empty() {
        problems.push(Problem::new(
            "columns_missing",
            Severity::Partial,
            format!("sys.{} came without {}: it is not used", shape.view, grown.missing_columns.join(", ")),
        ));
    }
    if !grown.reset.is_empty() {
        let message = if grown.cleared {
            format!("sys.{} was cleared inside the window: its counters have no difference", shape.view)
        } else {
            format!("counters of sys.{} went down inside the window: {}", shape.view, some_of(&grown.reset))
        };
        problems.push(
            Problem::new("counters_reset", Severity::Partial, message)
                .with_hint("repeat the capture, with no DBCC SQLPERF(..., CLEAR) inside the window"),
        );
    }
    if !grown.unreadable.is_empty() {
        problems.push(Problem::new(
            "counters_unreadable",
            Severity::Warning,
            format!("counters of sys.{} were NULL or no number: {}", shape.view, some_of(&grown.unreadable)),
        ));
    }
    problems
}

/// The first few of many names.
pub fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
