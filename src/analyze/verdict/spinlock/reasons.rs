//! Owns the reasons of a verdict on spinlocks.

use crate::{
    analyze::{
        facts::Facts,
        spinlock::names::{self, Names},
        words::counted,
    },
    model::{Finding, Reason},
};

/// Findings that are reasons, the weightiest first.
const REASONS: [&str; 6] = [
    "spinlock_backoff_warning",
    "spinlock_contention",
    "spinlock_name",
    "spinlock_types",
    "events_per_backoff",
    "other_event_sessions",
];

/// The reasons, the weightiest first.
pub(super) fn reasons(facts: &Facts<'_>, names: &Names, findings: &[Finding], limits: &[String]) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = REASONS
        .iter()
        .filter_map(|name| findings.iter().find(|finding| finding.name == *name && finding.state != "unknown"))
        .map(|finding| Reason { text: finding.text.clone(), evidence: cited(facts, names, &finding.name) })
        .collect();
    let first_stack = names::stacks(facts).next().map(|item| {
        let area = item.area.as_deref().map_or_else(String::new, |area| format!(", in {area}"));
        Reason {
            text: format!("The most frequent stack of back-offs has {}{area}.", counted(item.events, "event")),
            evidence: vec![item.id.clone()],
        }
    });
    reasons.extend(first_stack);
    if let Some(term) = names.subject().and_then(|name| facts.catalog.spinlocks.of(name)) {
        reasons.push(Reason { text: format!("It protects {}.", term.meaning), evidence: row(facts, names) });
    }
    if !limits.is_empty() {
        reasons.push(Reason {
            text: format!("Confidence is limited: {}.", limits.join("; ")),
            evidence: vec!["findings:spinlock_contention".to_owned()],
        });
    }
    reasons
}

fn cited(facts: &Facts<'_>, names: &Names, finding: &str) -> Vec<String> {
    let mut cited = vec![format!("findings:{finding}")];
    if finding == "spinlock_contention" {
        cited.extend(row(facts, names));
    }
    cited
}

fn row(facts: &Facts<'_>, names: &Names) -> Vec<String> {
    let row = names.subject().and_then(|name| names::row(facts, name));
    row.map(|row| format!("spinlocks:{}", row.name)).into_iter().collect()
}
