//! Owns finding `spinlock_backoff_warning`: threads that did not get a spinlock for about five seconds.

use crate::{
    analyze::{facts::Facts, spinlock::warnings, words::counted},
    model::Finding,
};

/// The finding, where there was any such event: critical whatever else is found.
pub(super) fn finding(facts: &Facts<'_>) -> Option<Finding> {
    let events = warnings(facts);
    (events > 0).then(|| Finding {
        name: "spinlock_backoff_warning".to_owned(),
        state: "critical".to_owned(),
        value: Some(events as f64),
        low: None,
        high: None,
        gates: Vec::new(),
        text: format!(
            "{} spinlock_backoff_warning: a thread went about 5 seconds without getting a spinlock.",
            counted(events, "event")
        ),
    })
}
