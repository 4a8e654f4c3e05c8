//! Owns finding `spinlock_name`: who names the contended spinlock, and whether they agree.

use crate::{
    analyze::{
        facts::Facts,
        spinlock::names::{Agreement, Names},
    },
    model::Finding,
};

/// The finding.
pub(super) fn finding(facts: &Facts<'_>) -> Finding {
    let names = Names::of(facts);
    let state = match names.agreement(facts) {
        Agreement::All => "agree",
        Agreement::WithoutCallers => "callers_unknown",
        Agreement::SpinsElsewhere => "counters_split",
        Agreement::Disagree => "disagree",
        Agreement::Partial => "unconfirmed",
    };
    let named = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
    let mut sentences = vec![format!(
        "Named by the events' type: {}; by most spins: {}; by most back-offs: {}; by the calling functions: {}.",
        named(&names.by_events),
        named(&names.by_spins),
        named(&names.by_backoffs),
        named(&names.by_callers)
    )];
    if !names.template_numbers.is_empty() {
        let numbers: Vec<String> = names.template_numbers.iter().map(ToString::to_string).collect();
        sentences.push(format!(
            "The frames show Spinlock<{},...>: that number is not the type's key on every build, and names nothing.",
            numbers.join(" and ")
        ));
    }
    Finding {
        name: "spinlock_name".to_owned(),
        state: state.to_owned(),
        value: None,
        low: None,
        high: None,
        gates: Vec::new(),
        text: sentences.join(" "),
    }
}
