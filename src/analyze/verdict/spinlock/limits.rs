//! Owns what limits the confidence in a verdict on spinlocks.

use crate::{
    analyze::{
        facts::Facts,
        findings::{other_event_sessions, spinlock_contention},
        measures::Continuity,
        sessions,
        spinlock::{
            names::{Agreement, Names},
            sessions_of,
        },
        verdict::{Limit, unmet},
        words::{count, counted},
    },
    model::Confidence,
};

/// What limits `spinlock_backoff`.
pub(super) fn of_contention(facts: &Facts<'_>, names: &Names) -> Vec<Limit> {
    let mut limits = of_counters(facts);
    let mut add = |most: Confidence, text: String| limits.push((most, text));
    for gate in spinlock_contention::gates(facts).iter().filter(|gate| !gate.met) {
        match (gate.name.as_str(), gate.value) {
            ("schedulers", _) => {
                let many = facts.catalog.spinlock.gates.many_schedulers;
                let here = facts.measures.schedulers.map_or_else(String::new, |here| format!(", and here are {here}"));
                add(Confidence::Medium, format!("spinlock contention is known from {many} schedulers on{here}"));
            }
            ("stack_events_per_minute", None) => {}
            ("stack_events_per_minute", Some(_)) => add(Confidence::Medium, unmet(gate)),
            _ => add(Confidence::Low, unmet(gate)),
        }
    }
    match names.agreement(facts) {
        Agreement::All => {}
        Agreement::WithoutCallers => {
            add(Confidence::Medium, "no known calling function confirms the spinlock's name".to_owned());
        }
        Agreement::SpinsElsewhere => {
            add(Confidence::Medium, "most spins and most back-offs are of different spinlocks".to_owned());
        }
        Agreement::Disagree => {
            add(Confidence::Low, "events, counters and calling functions name different spinlocks".to_owned());
        }
        Agreement::Partial => add(Confidence::Low, "events or counters do not name the spinlock".to_owned()),
    }
    let types = &facts.backoffs.types;
    if types.top().is_some() && !types.top_is_alone() {
        add(Confidence::Medium, "another type may have as many events".to_owned());
    }
    let suspects = other_event_sessions::suspects(facts);
    if let Some(first) = suspects.first() {
        let others = match suspects.len() {
            1 => String::new(),
            all => format!(" and {}", counted((all - 1) as u64, "other")),
        };
        add(Confidence::Low, format!("event session {first}{others} ran beside this one and can cause it"));
    }
    if names.subject().and_then(|name| facts.catalog.spinlocks.of(name)).is_some_and(|term| term.observer) {
        add(Confidence::Low, "the spinlock is that of an event session".to_owned());
    }
    if sessions_of(facts.evidence).any(sessions::is_missing) {
        add(Confidence::Low, "a session was gone before its target could be read".to_owned());
    }
    let events = sessions_of(facts.evidence).fold(0_u128, |sum, session| sum.saturating_add(sessions::events(session)));
    let few = facts.settings().shares.few_events;
    if events < u128::from(few) {
        add(Confidence::Medium, format!("{} are fewer than {}", counted(events, "event"), count(few)));
    }
    limits
}

/// What limits `no_contention`.
pub(super) fn of_none(facts: &Facts<'_>) -> Vec<Limit> {
    of_counters(facts)
}

fn of_counters(facts: &Facts<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    if facts.deltas.spinlocks.is_some() && facts.measures.continuity != Continuity::Same {
        limits.push((Confidence::Low, "the server did not run through the window".to_owned()));
    }
    if sessions_of(facts.evidence).any(|session| !session.filters.is_empty()) {
        limits.push((Confidence::Medium, "events are filtered, and the counters are the whole server's".to_owned()));
    }
    limits
}
