//! Owns the latch classes by the counters: which one leads, and whether they tell the same as the LATCH waits.

use crate::{
    analyze::{
        deltas::is_of_pages,
        facts::Facts,
        target_waits::{TargetWaits, apart},
    },
    model::{Interval, LatchRow, Mark},
};

/// Latch classes other than BUFFER, over the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// Those that grew, by wait time, descending.
    pub rows: Vec<LatchRow>,
    /// Wait time of all of them.
    pub wait_ms: u64,
    /// Wait time of the LATCH waits; `None` where it is not known.
    pub waits_ms: Option<u64>,
}

impl Classes {
    /// The classes; `None` where the view was not read twice, or where some class has no difference, so that no share of
    /// them is known.
    pub fn of(facts: &Facts<'_>, waits: Option<&TargetWaits>) -> Option<Self> {
        let rows = facts.deltas.latches.as_ref()?.iter().filter(|row| !is_of_pages(row));
        let (grown, others): (Vec<&LatchRow>, Vec<&LatchRow>) =
            rows.partition(|row| matches!(row.mark, None | Some(Mark::New)));
        let waits = waits.filter(|waits| waits.without_difference.is_empty());
        others.is_empty().then(|| Self {
            wait_ms: grown.iter().fold(0, |sum, row| sum.saturating_add(row.wait_ms)),
            waits_ms: waits.map(|waits| waits.wait_ms),
            rows: grown.into_iter().cloned().collect(),
        })
    }

    /// The class with most wait time.
    pub fn leading(&self) -> Option<&LatchRow> {
        self.rows.first().filter(|row| row.wait_ms > 0)
    }

    /// The share of a class: time that only the waits show may be any class's, and time that only the classes show may be
    /// none's.
    pub fn share(&self, row: &LatchRow) -> Interval {
        let waits_ms = self.waits_ms.unwrap_or(self.wait_ms);
        let total = self.wait_ms.max(waits_ms).max(1) as f64;
        let open = waits_ms.saturating_sub(self.wait_ms);
        let share = |ms: u64| (ms as f64 / total).clamp(0.0, 1.0);
        Interval { low: share(row.wait_ms), high: share(row.wait_ms.saturating_add(open)) }
    }

    /// How far the classes' wait time and that of the LATCH waits are apart, as a share of the larger one.
    pub fn apart(&self) -> Option<f64> {
        self.waits_ms.map(|waits_ms| apart(self.wait_ms, waits_ms))
    }
}
