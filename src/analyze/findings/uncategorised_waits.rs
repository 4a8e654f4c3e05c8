//! Owns finding `uncategorised_waits`: wait types with time that no category knows, which are counted as work.

use crate::{
    analyze::{
        deltas::some_of,
        facts::Facts,
        words::{count, percent},
    },
    model::{Finding, WaitRow},
};

/// The finding, where such a wait has time.
pub(super) fn finding(facts: &Facts<'_>) -> Option<Finding> {
    let unknown = |row: &&WaitRow| row.wait_ms > 0 && facts.catalog.waits.of(&row.wait_type).is_none();
    let rows: Vec<&WaitRow> = facts.deltas.waits.iter().flatten().filter(unknown).collect();
    let share = rows.iter().map(|row| row.share).sum::<f64>().clamp(0.0, 1.0);
    let wait_ms = rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.wait_ms));
    let names: Vec<String> = rows.iter().map(|row| row.wait_type.clone()).collect();
    (!rows.is_empty()).then(|| Finding {
        name: "uncategorised_waits".to_owned(),
        state: "counted_as_work".to_owned(),
        value: Some(share),
        low: None,
        high: None,
        gates: Vec::new(),
        text: format!(
            "{} ms, {} of the wait time that is not idle, is in wait types of no category (list of {}): {}.",
            count(wait_ms),
            percent(share),
            facts.catalog.waits.version,
            some_of(&names)
        ),
    })
}
