//! Owns finding `signal_share`: time spent runnable after waits, without scheduler yields, which are nearly all signal.

use crate::{
    analyze::{classify::YIELD_WAIT, facts::Facts, words::percent},
    model::Finding,
};

/// The finding.
pub(super) fn finding(facts: &Facts<'_>) -> Finding {
    let rows = facts.deltas.waits.as_deref().unwrap_or_default();
    let others =
        || rows.iter().filter(|row| row.wait_type != YIELD_WAIT && !facts.catalog.waits.is_idle(&row.wait_type));
    let wait: f64 = others().map(|row| row.wait_ms as f64).sum();
    let signal: f64 = others().map(|row| row.signal_ms as f64).sum();
    let share = (wait > 0.0).then(|| (signal / wait).clamp(0.0, 1.0));
    let (state, text) = match share {
        Some(share) => (
            "measured",
            format!(
                "Of the wait time of all other working waits, {} was spent waiting for a scheduler.",
                percent(share)
            ),
        ),
        None => ("unknown", "There is no wait time beside the scheduler yields.".to_owned()),
    };
    Finding {
        name: "signal_share".to_owned(),
        state: state.to_owned(),
        value: share,
        low: None,
        high: None,
        gates: Vec::new(),
        text,
    }
}
