//! Owns the conclusion in words: verdict, reasons, next steps.

use super::{
    figures::percent_range,
    page::{Ink, Page},
};
use crate::model::{Basis, Confidence, Share, StackClass, Verdict, VerdictKind};

pub(super) fn print(page: &mut Page, verdict: &Verdict) {
    let subject = verdict.subject.as_deref().map(|subject| format!(": {subject}")).unwrap_or_default();
    let confidence = match verdict.confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    };
    let ink = if verdict.kind == VerdictKind::Inconclusive { Ink::Warning } else { Ink::Strong };
    page.paragraph(2, ink, &format!("{}{subject} (confidence {confidence})", in_words(verdict.kind)));
    page.paragraph(2, Ink::Plain, &verdict.summary);
    for (basis, of) in [(Basis::Events, "Of the events"), (Basis::WaitMs, "Of the wait time")] {
        if let Some(shares) = shares(verdict, basis) {
            page.paragraph(2, Ink::Plain, &format!("{of}: {shares}."));
        }
    }
}

fn in_words(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::CpuBoundYields => "CPU-bound yields",
        VerdictKind::SpinlockBackoff => "Spinlock back-offs",
        VerdictKind::MixedYields => "Yields of mixed origin",
        VerdictKind::LatchContention => "Latch contention",
        VerdictKind::LogWriteBound => "Bound by log writes",
        VerdictKind::SnapshotCopyOnWrite => "Copy-on-write for a database snapshot",
        VerdictKind::FileLatency => "File latency",
        VerdictKind::NoContention => "No contention",
        VerdictKind::Inconclusive => "Inconclusive",
    }
}

/// The classes that something was proven for, and back-offs, which so many questions turn on; then what is left for the
/// others at most.
fn shares(verdict: &Verdict, basis: Basis) -> Option<String> {
    let of_basis = || verdict.shares.iter().filter(|(_, share)| share.basis == basis);
    let told = |(class, share): &(&StackClass, &Share)| share.low > 0.0 || **class == StackClass::SpinlockBackoff;
    let mut named: Vec<(&StackClass, &Share)> = of_basis().filter(told).collect();
    named.sort_by(|(_, a), (_, b)| b.low.total_cmp(&a.low));
    let mut parts: Vec<String> = named
        .iter()
        .map(|(class, share)| format!("{} {}", class.name(), percent_range(share.low, share.high)))
        .collect();
    let rest = of_basis().filter(|entry| !told(entry)).map(|(_, share)| share.high).reduce(f64::max);
    match rest {
        Some(most) if most > 0.0 => parts.push(format!("each other class {}", percent_range(0.0, most))),
        Some(_) => parts.push("no other class".to_owned()),
        None => {}
    }
    let says_something = of_basis().any(|(_, share)| share.high > 0.0);
    says_something.then(|| parts.join(", "))
}

pub(super) fn print_reasons(page: &mut Page, verdict: &Verdict) {
    if verdict.reasons.is_empty() {
        page.line(2, Ink::Plain, "None.");
    }
    for (number, reason) in (1..).zip(&verdict.reasons) {
        let cited =
            if reason.evidence.is_empty() { String::new() } else { format!(" [{}]", reason.evidence.join(", ")) };
        page.entry(2, (Ink::Plain, &format!("{number}. ")), Ink::Plain, &format!("{}{cited}", reason.text));
    }
}

pub(super) fn print_next_steps(page: &mut Page, verdict: &Verdict) {
    if verdict.next_steps.is_empty() {
        page.line(2, Ink::Plain, "None.");
    }
    for (number, step) in (1..).zip(&verdict.next_steps) {
        let lead = format!("{number}. ");
        page.entry(2, (Ink::Plain, &lead), Ink::Plain, &step.text);
        if !step.risk.is_empty() {
            page.entry(2 + lead.len(), (Ink::Dim, "Risk: "), Ink::Dim, &step.risk);
        }
    }
}
