//! Owns what limits a conclusion on pages.

use super::{
    Conclusion, PageCase,
    hot::{self, Hot},
};
use crate::{
    analyze::{
        facts::Facts,
        target_waits::{counter_limits, stack_limits},
        verdict::Limit,
        words::{counted, percent},
    },
    model::Confidence,
};

/// The limits of a conclusion.
pub(super) fn limits(facts: &Facts<'_>, case: &PageCase<'_>, conclusion: Conclusion) -> Vec<Limit> {
    let mut limits = match conclusion {
        Conclusion::Open(_) => return Vec::new(),
        Conclusion::None => return counter_limits(facts, case.waits.as_ref()),
        Conclusion::Contention => stack_limits(facts, &case.seen),
    };
    limits.extend(counter_limits(facts, case.waits.as_ref()));
    let mut add = |most: Confidence, text: String| limits.push((most, text));
    match hot::hot(facts, case) {
        Hot::Unknown => add(Confidence::Low, "which pages tasks waited for is not known".to_owned()),
        Hot::Spread => add(Confidence::Medium, "no page has most of the waits".to_owned()),
        Hot::TempdbAllocation | Hot::LastPageInsert | Hot::Page => {}
    }
    let few = facts.settings().shares.few_events;
    let sampled = case.pages.rows.first().is_some_and(|row| row.basis == "samples");
    if sampled && case.pages.waits < u128::from(few) {
        let text = format!("the pages are known from {} in samples only", counted(case.pages.waits, "waiting task"));
        add(Confidence::Medium, text);
    }
    match PageCase::apart_from_buffer(facts) {
        Some(apart) if apart > facts.catalog.page_latch.gates.reconciled_within => add(
            Confidence::Medium,
            format!("latch class BUFFER and the waits for pages are {} apart in wait time", percent(apart)),
        ),
        _ => {}
    }
    limits
}
