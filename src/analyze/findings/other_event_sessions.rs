//! Owns finding `other_event_sessions`: event sessions of others that ran in the window and can cause what it shows.

use crate::{
    analyze::{deltas::some_of, facts::Facts},
    model::Finding,
};

/// Event sessions that can cause contention themselves: neither known to be harmless nor those of this evidence.
pub fn suspects(facts: &Facts<'_>) -> Vec<String> {
    let ours = |name: &str| facts.evidence.sessions.iter().any(|session| session.name == name);
    let harmless = |name: &str| facts.catalog.spinlock.observers.is_harmless(name);
    let all = facts.evidence.other_event_sessions.iter();
    all.filter(|name| !ours(name) && !harmless(name)).cloned().collect()
}

/// The finding, where any other session ran.
pub(super) fn finding(facts: &Facts<'_>) -> Option<Finding> {
    let suspects = suspects(facts);
    let others = &facts.evidence.other_event_sessions;
    let runs = &facts.evidence.other_runs;
    let (state, text) = if !suspects.is_empty() {
        (
            "running",
            format!(
                "Other event sessions ran in the window, and can cause spinlock contention themselves: {}.",
                some_of(&suspects)
            ),
        )
    } else if !others.is_empty() {
        ("harmless", format!("Only sessions that cause no contention ran beside this one: {}.", some_of(others)))
    } else if !runs.is_empty() {
        ("own", "No event session of others ran in the window.".to_owned())
    } else {
        return None;
    };
    let of_runs = match runs.as_slice() {
        [] => String::new(),
        runs => format!(" Sessions of other runs of this program ran too: {}.", some_of(runs)),
    };
    Some(Finding {
        name: "other_event_sessions".to_owned(),
        state: state.to_owned(),
        value: Some(suspects.len() as f64),
        low: None,
        high: None,
        gates: Vec::new(),
        text: format!("{text}{of_runs}"),
    })
}
