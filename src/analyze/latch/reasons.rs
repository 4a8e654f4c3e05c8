//! Owns the reasons of a verdict on latches.

use super::{LatchCase, versions};
use crate::{
    analyze::{facts::Facts, target_waits},
    model::{Finding, Reason, StackClass},
};

/// The reasons, the weightiest first.
pub(super) fn reasons(facts: &Facts<'_>, case: &LatchCase<'_>, findings: &[Finding], limits: &[String]) -> Vec<Reason> {
    let rows = case.classes.as_ref().and_then(|classes| classes.leading());
    let class_row = || rows.map(|row| format!("latches:{}", row.latch_class));
    let mut shown = vec![
        ("latch_contention", case.waits.iter().flat_map(|waits| waits.evidence()).chain(class_row()).collect()),
        ("latch_class", class_row().into_iter().collect::<Vec<String>>()),
    ];
    if case.names.subject().is_some_and(versions::is_insert_point) {
        shown.push(("row_versions", Vec::new()));
    }
    let mut reasons = target_waits::reasons_of(findings, shown);
    let stacks = facts.items_of(|session| LatchCase::has_latch_stacks(facts, session));
    reasons.extend(target_waits::first_stack(stacks, StackClass::Latch, "waits for latches"));
    if let Some(term) = case.names.subject().and_then(|name| facts.catalog.latches.of(name)) {
        reasons.push(Reason {
            text: format!("It protects {}.", term.meaning),
            evidence: class_row().into_iter().collect(),
        });
    }
    reasons.extend(target_waits::limits_as_reason(limits, "latch_contention"));
    reasons
}
