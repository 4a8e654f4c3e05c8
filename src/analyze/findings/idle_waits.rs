//! Owns finding `idle_waits`: which waits were left out of the shares of wait time, and which no category knows.

use crate::{
    analyze::{deltas::some_of, facts::Facts, words::count},
    model::Finding,
};

/// The finding.
pub(super) fn finding(facts: &Facts<'_>) -> Finding {
    let categories = &facts.catalog.waits;
    let rows = facts.deltas.waits.as_deref().unwrap_or_default();
    let idle: Vec<String> =
        rows.iter().filter(|row| categories.is_idle(&row.wait_type)).map(|row| row.wait_type.clone()).collect();
    let unknown: Vec<String> =
        rows.iter().filter(|row| categories.of(&row.wait_type).is_none()).map(|row| row.wait_type.clone()).collect();
    let left_out_ms = rows
        .iter()
        .filter(|row| categories.is_idle(&row.wait_type))
        .fold(0_u128, |sum, row| sum.saturating_add(row.wait_ms.into()));
    let mut text = match (&facts.deltas.waits, idle.is_empty()) {
        (None, _) => "Waits are not known.".to_owned(),
        (Some(_), true) => "No idle wait grew.".to_owned(),
        (Some(_), false) => format!(
            "Left out of shares as idle (list of {}): {} ms in {}.",
            categories.version,
            count(left_out_ms),
            some_of(&idle)
        ),
    };
    if !unknown.is_empty() {
        text.push_str(" In no category, and counted as work: ");
        text.push_str(&some_of(&unknown));
        text.push('.');
    }
    let state = match &facts.deltas.waits {
        None => "unknown",
        Some(_) if !unknown.is_empty() => "uncategorised",
        Some(_) => "categorised",
    };
    Finding {
        name: "idle_waits".to_owned(),
        state: state.to_owned(),
        value: facts.deltas.waits.as_ref().map(|_| left_out_ms as f64),
        low: None,
        high: None,
        gates: Vec::new(),
        text,
    }
}
