//! Owns one report from several windows of the same capture: what they agree on, and how far.

use super::words::count;
use crate::model::{Confidence, Finding, Gate, Problem, Reason, Report, VerdictKind};

/// The first report of those that give the most frequent answer, with what the windows say together: confidence is the
/// lowest of those that agree, one step lower where some window could not answer, and low where one answers otherwise.
/// `None` without reports.
pub fn combine(reports: &[Report]) -> Option<Report> {
    let agreeing = |report: &Report| reports.iter().filter(|other| answer(other) == answer(report)).count();
    let most = reports.iter().map(agreeing).max()?;
    let chosen = reports.iter().find(|report| agreeing(report) == most)?;
    let mut combined = chosen.clone();
    if reports.len() < 2 {
        return Some(combined);
    }
    let others = || reports.iter().filter(|report| answer(report) != answer(chosen));
    let contradicted = others().any(|report| report.verdict.kind != VerdictKind::Inconclusive);
    let lowest =
        reports.iter().filter(|report| answer(report) == answer(chosen)).map(|report| report.verdict.confidence);
    let lowest = lowest.min().unwrap_or(Confidence::Low);
    let (state, confidence) = match (most == reports.len(), contradicted) {
        (true, _) => ("agree", lowest),
        (false, false) => ("partly", one_lower(lowest)),
        (false, true) => ("disagree", Confidence::Low),
    };
    let text = format!(
        "{most} of {} windows give this answer: {}.",
        reports.len(),
        reports.iter().map(in_words).collect::<Vec<_>>().join("; ")
    );
    combined.verdict.confidence = confidence;
    combined.verdict.summary = match state {
        "agree" => format!("{} All {} windows give this answer.", chosen.verdict.summary, reports.len()),
        _ => format!("{} {text} Confidence falls for that.", chosen.verdict.summary),
    };
    combined.verdict.reasons.push(Reason { text: text.clone(), evidence: vec!["findings:windows".to_owned()] });
    combined.findings.push(Finding {
        name: "windows".to_owned(),
        state: state.to_owned(),
        value: Some(most as f64 / reports.len() as f64),
        low: None,
        high: None,
        gates: vec![Gate {
            name: "windows_agreeing".to_owned(),
            value: Some(most as f64),
            needed: format!("= {}", reports.len()),
            met: most == reports.len(),
        }],
        text,
    });
    combined.capture.problems = problems(reports);
    Some(combined)
}

type Answer<'a> = (VerdictKind, Option<&'a str>);

fn answer(report: &Report) -> Answer<'_> {
    (report.verdict.kind, report.verdict.subject.as_deref())
}

fn one_lower(confidence: Confidence) -> Confidence {
    match confidence {
        Confidence::High => Confidence::Medium,
        Confidence::Medium | Confidence::Low => Confidence::Low,
    }
}

fn in_words(report: &Report) -> String {
    let subject = report.verdict.subject.as_deref().map_or_else(String::new, |subject| format!(" of {subject}"));
    format!("{}{subject}", report.verdict.kind.name().replace('_', " "))
}

/// Those of every window, each with its number; of equal ones the first.
fn problems(reports: &[Report]) -> Vec<Problem> {
    let mut all: Vec<Problem> = Vec::new();
    for (number, report) in (1_u64..).zip(reports) {
        for problem in &report.capture.problems {
            let seen = |known: &Problem| known.code == problem.code && known.message.ends_with(&problem.message);
            if !all.iter().any(seen) {
                let message = format!("window {}: {}", count(number), problem.message);
                all.push(Problem { message, ..problem.clone() });
            }
        }
    }
    all
}
