//! Owns findings and their gates in words.

use super::{
    MOST_ROWS,
    figures::{NONE, figure, percent, percent_range},
    page::{Ink, Page},
};
use crate::model::{Finding, Gate};

pub(super) fn print(page: &mut Page, findings: &[Finding]) {
    for finding in findings.iter().take(MOST_ROWS) {
        page.gap();
        page.paragraph(
            2,
            Ink::Strong,
            &format!("Finding {}: {}{}", finding.name, finding.state.replace('_', " "), value(finding)),
        );
        page.paragraph(4, Ink::Plain, &finding.text);
        for gate in &finding.gates {
            print_gate(page, gate);
        }
    }
}

/// Findings whose figures are shares between 0 and 1.
const SHARES: [&str; 6] =
    ["yield_origin", "cpu_consumer", "cpu_capped", "spinlock_contention", "spinlock_types", "own_cost"];

fn value(finding: &Finding) -> String {
    if SHARES.contains(&finding.name.as_str()) {
        return share(finding);
    }
    let value = finding.value.map(|value| format!(", {}", figure(value))).unwrap_or_default();
    match (finding.low, finding.high) {
        (Some(low), Some(high)) => format!("{value} (range {} to {})", figure(low), figure(high)),
        _ => value,
    }
}

fn share(finding: &Finding) -> String {
    match (finding.low, finding.high, finding.value) {
        (Some(low), Some(high), _) => format!(", {}", percent_range(low, high)),
        (_, _, Some(value)) => format!(", {}", percent(value)),
        _ => String::new(),
    }
}

fn print_gate(page: &mut Page, gate: &Gate) {
    let (ink, lead) = match (gate.met, gate.value) {
        (true, _) => (Ink::Good, "met      "),
        (false, Some(_)) => (Ink::Bad, "not met  "),
        (false, None) => (Ink::Warning, "unknown  "),
    };
    let value = match gate.value {
        None => NONE.to_owned(),
        Some(value) if gate.name.ends_with("_share") => percent(value),
        Some(value) => figure(value),
    };
    page.entry(4, (ink, lead), Ink::Plain, &format!("{} {value}, needed {}", gate.name, gate.needed));
}
