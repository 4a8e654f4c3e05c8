//! Owns finding `cpu_capped`: whether a governor kept schedulers idle inside the window.

use super::gate;
use crate::{
    analyze::{
        facts::Facts,
        words::{count, percent},
    },
    model::Finding,
};

/// Whether a governor held schedulers back inside the window.
pub fn is_capped(facts: &Facts<'_>) -> bool {
    facts.measures.idle_capped_ms.is_some_and(|ms| ms > 0)
}

/// The share of the online schedulers' time that the cap took.
pub fn capped_share(facts: &Facts<'_>) -> Option<f64> {
    let measures = &facts.measures;
    let ((capped, elapsed), schedulers) = measures.idle_capped_ms.zip(measures.elapsed_ms).zip(measures.schedulers)?;
    Some((capped as f64 / (elapsed as f64 * schedulers as f64)).clamp(0.0, 1.0))
}

/// Whether used and capped time together are as much as `cpu_bound_yields` needs: the cap explains the low use.
pub fn explains_low_cpu(facts: &Facts<'_>) -> bool {
    let needed = facts.settings().gates.sql_cpu_share;
    let both = facts.measures.sql_cpu_share.zip(capped_share(facts));
    is_capped(facts) && both.is_some_and(|(used, capped)| used < needed && used + capped >= needed)
}

/// The finding, where the server counts capped time (2016 and later).
pub(super) fn finding(facts: &Facts<'_>) -> Option<Finding> {
    let ms = facts.measures.idle_capped_ms?;
    let share = capped_share(facts);
    let of_time = share.map_or_else(String::new, |share| format!(", {} of their time", percent(share)));
    let (state, text) = if is_capped(facts) {
        let explained = if explains_low_cpu(facts) { " That explains why SQL Server used no more CPU." } else { "" };
        (
            "capped",
            format!(
                "A cap kept schedulers idle for {} ms{of_time}: Resource Governor, or the service's own limit.{explained}",
                count(ms)
            ),
        )
    } else {
        ("uncapped", "No cap kept schedulers idle.".to_owned())
    };
    Some(Finding {
        name: "cpu_capped".to_owned(),
        state: state.to_owned(),
        value: share,
        low: None,
        high: None,
        gates: vec![gate("idle_capped_ms", Some(ms as f64), "= 0", |ms| ms == 0.0)],
        text,
    })
}
