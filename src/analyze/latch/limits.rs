//! Owns what limits a conclusion on latches.

use super::{
    LatchCase,
    conclusion::{Conclusion, is_parallel_scan},
    names::Agreement,
    versions,
};
use crate::{
    analyze::{
        facts::Facts,
        target_waits::{counter_limits, stack_limits},
        verdict::{Limit, unmet},
        words::percent,
    },
    model::Confidence,
};

/// The limits of a conclusion.
pub(super) fn limits(facts: &Facts<'_>, case: &LatchCase<'_>, conclusion: Conclusion) -> Vec<Limit> {
    let mut limits = match conclusion {
        Conclusion::Open(_) => return Vec::new(),
        Conclusion::None => return counter_limits(facts, case.waits.as_ref()),
        Conclusion::Contention => stack_limits(facts, &case.seen),
    };
    limits.extend(counter_limits(facts, case.waits.as_ref()));
    let mut add = |most: Confidence, text: String| limits.push((most, text));
    match case.classes.as_ref().map(|classes| classes.apart()) {
        None | Some(None) => add(Confidence::Low, "no counters of the latch classes confirm it".to_owned()),
        Some(Some(apart)) if apart > facts.catalog.latch.gates.reconciled_within => add(
            Confidence::Medium,
            format!("the latch classes and the LATCH waits are {} apart in wait time", percent(apart)),
        ),
        Some(Some(_)) => {}
    }
    match case.names.agreement(facts) {
        Agreement::Agree => {}
        Agreement::CountersOnly => {
            add(Confidence::Medium, "neither a known function nor the latch's own event confirms the class".to_owned());
        }
        Agreement::Disagree => add(Confidence::Low, "counters, functions and events name different classes".to_owned()),
        // Said above.
        Agreement::WithoutCounters | Agreement::Nobody => {}
    }
    let subject = case.names.subject().unwrap_or_default();
    let gate = versions::gate_of(facts);
    if versions::is_insert_point(subject) && !gate.met {
        add(Confidence::Medium, unmet(&gate));
    }
    if is_parallel_scan(facts, subject) {
        add(Confidence::Medium, "parallel scans wait for this class by the way they work".to_owned());
    }
    limits
}
