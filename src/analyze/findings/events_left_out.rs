//! Owns finding `events_left_out`: which events were not counted by design.

use crate::{
    analyze::{deltas::some_of, facts::Facts},
    model::{Finding, ServerVersion},
};

/// Whether any session counts only some of its events by design.
pub fn is_partial(facts: &Facts<'_>) -> bool {
    facts.evidence.sessions.iter().any(|session| session.sample_one_in.is_some() || !session.filters.is_empty())
}

/// The finding, where events were sampled or filtered.
pub(super) fn finding(facts: &Facts<'_>) -> Option<Finding> {
    let sessions = &facts.evidence.sessions;
    let sampled = sessions.iter().filter_map(|session| session.sample_one_in).max();
    let mut filters: Vec<String> = sessions.iter().flat_map(|session| session.filters.clone()).collect();
    filters.sort_unstable();
    filters.dedup();
    let mut sentences = Vec::new();
    if let Some(one_in) = sampled {
        sentences.push(format!(
            "About one event in {one_in} was counted: shares hold, counts are those counted and are not scaled, and no rate of events is judged."
        ));
    }
    if !filters.is_empty() {
        let version = facts.evidence.server.as_ref().and_then(|server| server.version);
        let counters = if version == Some(ServerVersion::AzureDb) {
            "waits are those of the connected database (sys.dm_db_wait_stats), and the other counters the whole server's"
        } else {
            "the counters are the whole server's"
        };
        sentences
            .push(format!("Only events of {} were counted: shares are of these, while {counters}.", some_of(&filters)));
    }
    let state = match (sampled.is_some(), filters.is_empty()) {
        (true, true) => "sampled",
        (true, false) => "sampled_and_filtered",
        (false, _) => "filtered",
    };
    is_partial(facts).then(|| Finding {
        name: "events_left_out".to_owned(),
        state: state.to_owned(),
        value: sampled.map(|one_in| one_in as f64),
        low: None,
        high: None,
        gates: Vec::new(),
        text: sentences.join(" "),
    })
}
