//! Owns finding `wait_exceeds_capacity`: more wait time than the tasks there were can have waited.

use super::gate;
use crate::{
    analyze::{facts::Facts, words::count},
    model::{Finding, Mark, WaitRow},
};

/// Whether a wait type fits into the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capacity {
    /// At most elapsed x tasks.
    Fits,
    /// More than that.
    Exceeded,
    /// Elapsed time, tasks or the wait are not known.
    Unknown,
}

/// Whether the waits of one type fit into elapsed time x the most tasks that were on the online schedulers at once.
pub fn capacity(facts: &Facts<'_>, wait_type: &str) -> Capacity {
    let rows = facts.deltas.waits.as_deref();
    match (rows, room_ms(facts)) {
        (Some(rows), Some(room)) => match rows.iter().find(|row| row.wait_type == wait_type) {
            Some(row) if counts(row) && row.wait_ms as f64 > room => Capacity::Exceeded,
            Some(row) if !counts(row) => Capacity::Unknown,
            _ => Capacity::Fits,
        },
        _ => Capacity::Unknown,
    }
}

/// The finding, over all waits that are not idle.
pub(super) fn finding(facts: &Facts<'_>) -> Finding {
    let rows = facts.deltas.waits.as_deref().unwrap_or_default();
    let room = room_ms(facts).filter(|_| facts.deltas.waits.is_some());
    let working = rows.iter().filter(|row| counts(row) && !facts.catalog.waits.is_idle(&row.wait_type));
    let most = working.max_by_key(|row| row.wait_ms);
    let ratio = room.map(|room| most.map_or(0.0, |row| row.wait_ms as f64 / room));
    let elapsed = facts.measures.elapsed_ms.unwrap_or(0);
    let tasks = facts.measures.most_tasks.unwrap_or(0);
    let (state, text) = match (ratio, most) {
        (None, _) => ("unknown", "Elapsed time, tasks or waits are not known.".to_owned()),
        (Some(ratio), Some(row)) if ratio > 1.0 => (
            "exceeded",
            format!(
                "{} shows {} ms of waits, more than {} tasks can have waited in {} ms: the counters cover more than the window.",
                row.wait_type,
                count(row.wait_ms),
                count(tasks),
                count(elapsed)
            ),
        ),
        _ => ("within", format!("No wait type exceeds {} tasks over {} ms.", count(tasks), count(elapsed))),
    };
    Finding {
        name: "wait_exceeds_capacity".to_owned(),
        state: state.to_owned(),
        value: ratio,
        low: None,
        high: None,
        gates: vec![gate("wait_ms_of_capacity", ratio, "<= 1", |value| value <= 1.0)],
        text,
    }
}

fn counts(row: &WaitRow) -> bool {
    matches!(row.mark, None | Some(Mark::New))
}

fn room_ms(facts: &Facts<'_>) -> Option<f64> {
    let (elapsed, tasks) = facts.measures.elapsed_ms.zip(facts.measures.most_tasks.filter(|tasks| *tasks > 0))?;
    Some(elapsed as f64 * tasks as f64)
}
