//! Owns the reasons of a verdict, each with the stacks and rows it rests on.

use super::Conclusion;
use crate::{
    analyze::{
        classify::YIELD_WAIT,
        facts::Facts,
        findings::cpu_pressure,
        words::{count, counted, percent, percent_range},
    },
    model::{Finding, Reason, SpinlockRow, StackClass},
};

/// Spinlocks named in the reasons.
const SPINLOCKS_SHOWN: usize = 3;

/// The reasons, the weightiest first.
pub(super) fn reasons(
    facts: &Facts<'_>,
    conclusion: Conclusion,
    findings: &[Finding],
    limits: &[String],
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if facts.tally.with_stack() > 0 {
        reasons.push(stacks(facts, findings));
    }
    reasons.extend(areas(facts, conclusion));
    reasons.extend(waits(facts));
    reasons.extend(spinlocks(facts));
    for name in ["cpu_pressure", "cpu_consumer", "wait_exceeds_capacity"] {
        let found = findings.iter().find(|finding| finding.name == name && finding.state != "unknown");
        reasons.extend(
            found.map(|finding| Reason { text: finding.text.clone(), evidence: vec![format!("findings:{name}")] }),
        );
    }
    if !limits.is_empty() {
        reasons.push(Reason {
            text: format!("Confidence is limited: {}.", limits.join("; ")),
            evidence: cpu_pressure::evidence(),
        });
    }
    reasons
}

fn stacks(facts: &Facts<'_>, findings: &[Finding]) -> Reason {
    let found = findings.iter().find(|finding| finding.name == "yield_origin").filter(|f| f.state != "unknown");
    let text = found.map_or_else(
        || format!("{} with a stack.", counted(facts.tally.with_stack(), "event")),
        |finding| finding.text.clone(),
    );
    let classes = [StackClass::CpuYield, StackClass::SpinlockBackoff, StackClass::Unresolved];
    let mut evidence: Vec<String> = classes.iter().flat_map(|class| facts.ids(*class)).collect();
    if evidence.is_empty() {
        evidence.extend(facts.yield_items().next().map(|item| item.id.clone()));
    }
    evidence.push("findings:yield_origin".to_owned());
    Reason { text, evidence }
}

/// Where the most frequent voluntary yield ends its quantum.
fn areas(facts: &Facts<'_>, conclusion: Conclusion) -> Option<Reason> {
    let item = facts.yield_items().find(|item| item.class == StackClass::CpuYield)?;
    let area = item.area.as_deref().filter(|_| conclusion == Conclusion::CpuBound)?;
    Some(Reason {
        text: format!(
            "The most frequent stack, with {}, ends its quantum in {area}. A yield shows where a quantum ended, not what used it.",
            counted(item.events, "event")
        ),
        evidence: vec![item.id.clone()],
    })
}

fn waits(facts: &Facts<'_>) -> Option<Reason> {
    let row = facts.yield_waits()?;
    let mean = if row.waiting_tasks == 0 { 0.0 } else { row.wait_ms as f64 / row.waiting_tasks as f64 };
    let signal = if row.wait_ms == 0 { 0.0 } else { (row.signal_ms as f64 / row.wait_ms as f64).min(1.0) };
    Some(Reason {
        text: format!(
            "{YIELD_WAIT}: {}, {} ms, {} of the wait time that is not idle, {} of it signal, {mean:.1} ms a wait.",
            counted(row.waiting_tasks, "wait"),
            count(row.wait_ms),
            percent(row.share),
            percent(signal)
        ),
        evidence: vec![format!("waits:{YIELD_WAIT}")],
    })
}

/// The busiest spinlock that threads backed off from, and others that may take a notable share of the CPU.
fn spinlocks(facts: &Facts<'_>) -> Vec<Reason> {
    let notable = facts.catalog.spinlock.gates.spin_cpu_share_low;
    let rows = facts.deltas.spinlocks.as_deref().unwrap_or_default();
    rows.iter()
        .enumerate()
        .filter(|(index, row)| {
            let busiest = *index == 0 && row.backoffs > 0;
            busiest || row.spin_cpu_share.is_some_and(|share| share.high >= notable)
        })
        .take(SPINLOCKS_SHOWN)
        .map(|(_, row)| Reason { text: spinlock(facts, row), evidence: vec![format!("spinlocks:{}", row.name)] })
        .collect()
}

fn spinlock(facts: &Facts<'_>, row: &SpinlockRow) -> String {
    let share = row.spin_cpu_share.map_or_else(String::new, |share| {
        format!("; its spins can have taken {} of the CPU", percent_range(share.low, share.high))
    });
    let term = facts.catalog.spinlocks.of(&row.name);
    let meaning = term.map_or_else(String::new, |term| format!(" It protects {}.", term.meaning));
    let observer = match term {
        Some(term) if term.observer => " It may be the cost of an event session.",
        _ => "",
    };
    format!(
        "{}: {} collisions, {} spins ({} a collision), {} back-offs{share}.{meaning}{observer}",
        row.name,
        count(row.collisions),
        count(row.spins),
        count(row.spins_per_collision),
        count(row.backoffs)
    )
}
