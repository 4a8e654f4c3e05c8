//! Owns the conclusions in words: verdict, reasons, next steps; of several questions the first one's in full.

use super::{
    figures::percent_range,
    page::{Ink, Page},
};
use crate::model::{Answer, Basis, Confidence, NextStep, Reason, Report, Share, StackClass, Verdict, VerdictKind};

/// What is told of the reasons and the next steps of a further question.
const MOST_OF_FURTHER: usize = 3;

pub(super) fn print(page: &mut Page, report: &Report) {
    // Without any event every share may be anything, and a line that says so says nothing.
    let has_events = report.stacks.total_events > 0;
    conclusion(page, 2, &report.verdict, has_events);
    for answer in &report.further {
        also_asked(page, answer);
        conclusion(page, 4, &answer.verdict, has_events);
    }
}

fn also_asked(page: &mut Page, answer: &Answer) {
    page.gap();
    page.line(2, Ink::Strong, &format!("Also asked: {}", answer.scenario));
}

fn conclusion(page: &mut Page, indent: usize, verdict: &Verdict, has_events: bool) {
    let subject = verdict.subject.as_deref().map(|subject| format!(": {subject}")).unwrap_or_default();
    let confidence = match verdict.confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    };
    let ink = if verdict.kind == VerdictKind::Inconclusive { Ink::Warning } else { Ink::Strong };
    page.paragraph(indent, ink, &format!("{}{subject} (confidence {confidence})", in_words(verdict.kind)));
    page.paragraph(indent, Ink::Plain, &verdict.summary);
    if !has_events {
        return;
    }
    for (basis, of) in [(Basis::Events, "Of the events"), (Basis::WaitMs, "Of the wait time")] {
        if let Some(shares) = shares(verdict, basis) {
            page.paragraph(indent, Ink::Plain, &format!("{of}: {shares}."));
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

pub(super) fn print_reasons(page: &mut Page, report: &Report) {
    if report.verdict.reasons.is_empty() {
        page.line(2, Ink::Plain, "None.");
    }
    for (number, reason) in (1..).zip(&report.verdict.reasons) {
        print_reason(page, 2, number, reason);
    }
    for answer in report.further.iter().filter(|answer| !answer.verdict.reasons.is_empty()) {
        also_asked(page, answer);
        for (number, reason) in (1..).zip(answer.verdict.reasons.iter().take(MOST_OF_FURTHER)) {
            print_reason(page, 4, number, reason);
        }
        print_rest(page, answer.verdict.reasons.len());
    }
}

fn print_reason(page: &mut Page, indent: usize, number: usize, reason: &Reason) {
    let cited = if reason.evidence.is_empty() { String::new() } else { format!(" [{}]", reason.evidence.join(", ")) };
    page.entry(indent, (Ink::Plain, &format!("{number}. ")), Ink::Plain, &format!("{}{cited}", reason.text));
}

/// A step that was told already is not told again.
pub(super) fn print_next_steps(page: &mut Page, report: &Report) {
    if report.verdict.next_steps.is_empty() {
        page.line(2, Ink::Plain, "None.");
    }
    for (number, step) in (1..).zip(&report.verdict.next_steps) {
        print_step(page, 2, number, step);
    }
    let mut told: Vec<&NextStep> = report.verdict.next_steps.iter().collect();
    for answer in &report.further {
        let steps: Vec<&NextStep> = answer.verdict.next_steps.iter().filter(|step| !told.contains(step)).collect();
        if steps.is_empty() {
            continue;
        }
        also_asked(page, answer);
        for (number, step) in (1..).zip(steps.iter().take(MOST_OF_FURTHER)) {
            print_step(page, 4, number, step);
        }
        print_rest(page, steps.len());
        told.extend(steps);
    }
}

fn print_step(page: &mut Page, indent: usize, number: usize, step: &NextStep) {
    let lead = format!("{number}. ");
    page.entry(indent, (Ink::Plain, &lead), Ink::Plain, &step.text);
    if !step.risk.is_empty() {
        page.entry(indent + lead.len(), (Ink::Dim, "Risk: "), Ink::Dim, &step.risk);
    }
}

fn print_rest(page: &mut Page, all: usize) {
    if let Some(more) = all.checked_sub(MOST_OF_FURTHER).filter(|&more| more > 0) {
        page.line(4, Ink::Dim, &format!("and {more} more in the JSON report"));
    }
}
