//! Owns the question which files are slow, and when. It never says why a file is slow: latency alone is no proof against
//! storage.

mod findings;
mod pending;
mod slow;

use super::{
    deltas::some_of,
    facts::Facts,
    maintenance::{Request, maintenance},
    measures::Continuity,
    verdict::{Limit, NO_RISK, confidence_of, limited, unmet},
};
use crate::model::{Confidence, Finding, Gate, NextStep, Reason, Verdict, VerdictKind};
use pending::{Pending, is_completion_delayed};
use slow::{Slow, slow_files};

/// What was found, verdict or not.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    findings::findings(facts)
}

/// What the evidence supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conclusion {
    /// A file is slow.
    Slow,
    /// None is.
    None,
    /// File statistics were not given.
    NothingGiven,
    /// Finished I/Os wait for SQL Server to take notice.
    CompletionDelayed,
    /// Resource Governor held the I/O back.
    HeldBack,
}

fn conclude(facts: &Facts<'_>, slow: &[Slow<'_>]) -> Conclusion {
    if facts.files.rows.is_none() {
        return Conclusion::NothingGiven;
    }
    match slow.first() {
        None => Conclusion::None,
        Some(_) if is_completion_delayed(facts, &Pending::of(facts)) => Conclusion::CompletionDelayed,
        Some(first) if !first.by_itself => Conclusion::HeldBack,
        Some(_) => Conclusion::Slow,
    }
}

/// The verdict. `findings` are those of the same facts.
pub fn verdict(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    let slow = slow_files(facts);
    let conclusion = conclude(facts, &slow);
    let (confidence, limits) = match conclusion {
        Conclusion::Slow => confidence_of(slow_limits(facts)),
        Conclusion::None => confidence_of(none_limits(facts)),
        _ => (Confidence::Low, Vec::new()),
    };
    let first = slow.first().filter(|_| conclusion == Conclusion::Slow);
    let mut summary = vec![summary(facts, conclusion, &slow)];
    summary.extend(limited(confidence, &limits));
    Verdict {
        kind: match conclusion {
            Conclusion::Slow => VerdictKind::FileLatency,
            Conclusion::None => VerdictKind::NoContention,
            _ => VerdictKind::Inconclusive,
        },
        subject: first.map(Slow::name),
        confidence,
        summary: summary.join(" "),
        shares: facts.shares.clone(),
        reasons: reasons(findings, &slow, &limits),
        next_steps: next_steps(facts, conclusion),
    }
}

fn summary(facts: &Facts<'_>, conclusion: Conclusion, slow: &[Slow<'_>]) -> String {
    let figures =
        || slow.first().map_or_else(String::new, |first| format!("{} has {}", first.name(), first.mean_in_words()));
    match conclusion {
        Conclusion::NothingGiven => {
            "Statistics of files were not given: which of them are slow is not known.".to_owned()
        }
        Conclusion::None => {
            let settings = &facts.catalog.file_latency.gates;
            let judged = facts.files.rows.iter().flatten().filter(|row| slow::is_judged(row, settings)).count();
            if judged == 0 {
                format!("No file had {} I/Os in this window: there is nothing to judge.", settings.operations)
            } else {
                format!(
                    "No file was slow in this window: all stayed within {} ms an I/O, logs within {} ms.",
                    settings.data_latency_ms, settings.log_latency_ms
                )
            }
        }
        Conclusion::CompletionDelayed => format!(
            "{}, but finished I/Os waited for SQL Server to take notice while tasks queued for its schedulers (completion_delayed): how slow the file is, is not known.",
            figures()
        ),
        Conclusion::HeldBack => {
            format!(
                "{}, but only with the time for which Resource Governor held I/O back: the file itself is not slow.",
                figures()
            )
        }
        Conclusion::Slow => {
            let when = slow.first().and_then(Slow::when).map_or_else(String::new, |when| format!("; it was {when}"));
            let beside = match running(facts).as_slice() {
                [] => String::new(),
                commands => format!(" Beside it ran {}.", some_of(commands)),
            };
            format!(
                "{}{when}.{beside} That is no proof against the storage: plans that read too much, too little memory, implicit conversions, sparsely filled pages and forwarded records make the same picture, and some loads, a warehouse for one, can live with it.",
                figures()
            )
        }
    }
}

fn running(facts: &Facts<'_>) -> Vec<String> {
    maintenance(facts).iter().flatten().map(|(request, _): &(Request, u64)| request.in_words()).collect()
}

/// Whether I/O of the window is known to be maintenance's, at least in part.
fn slow_limits(facts: &Facts<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    if facts.measures.continuity != Continuity::Same {
        limits.push((Confidence::Low, "the server did not run through the window".to_owned()));
    }
    let running = running(facts);
    if !running.is_empty() {
        limits.push((Confidence::Medium, format!("{} ran in the window", some_of(&running))));
    }
    let waits = gate_of(facts, "io_wait_share");
    match waits.filter(|gate| !gate.met) {
        Some(gate) if gate.value.is_some() => limits.push((Confidence::Medium, unmet(&gate))),
        Some(_) => limits.push((Confidence::Medium, "there is no evidence beside the statistics of files".to_owned())),
        None => {}
    }
    limits
}

fn none_limits(facts: &Facts<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    if facts.measures.continuity != Continuity::Same {
        limits.push((Confidence::Low, "the server did not run through the window".to_owned()));
    }
    if !slow::too_few(facts).is_empty() {
        limits.push((Confidence::Medium, "a file was slow over too few I/Os to judge".to_owned()));
    }
    limits
}

fn gate_of(facts: &Facts<'_>, name: &str) -> Option<Gate> {
    findings::gates(facts).into_iter().find(|gate| gate.name == name)
}

fn reasons(findings: &[Finding], slow: &[Slow<'_>], limits: &[String]) -> Vec<Reason> {
    const SHOWN: usize = 3;
    let mut reasons = Vec::new();
    for name in ["slow_files", "pending_io", "concurrent_maintenance", "cumulative_differs"] {
        let worth =
            |finding: &&Finding| finding.name == name && !["unknown", "agrees"].contains(&finding.state.as_str());
        let Some(finding) = findings.iter().find(worth) else { continue };
        let mut evidence = vec![format!("findings:{name}")];
        if name == "slow_files" {
            evidence.extend(slow.iter().take(SHOWN).map(Slow::evidence));
        }
        reasons.push(Reason { text: finding.text.clone(), evidence });
    }
    if !limits.is_empty() {
        reasons.push(Reason {
            text: format!("Confidence is limited: {}.", limits.join("; ")),
            evidence: vec!["findings:slow_files".to_owned()],
        });
    }
    reasons
}

fn next_steps(facts: &Facts<'_>, conclusion: Conclusion) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let mut add = |text: &str, risk: &str| steps.push(NextStep { text: text.to_owned(), risk: risk.to_owned() });
    match conclusion {
        Conclusion::NothingGiven => {
            add("Capture scenario `file-latency`, or give two readings of sys.dm_io_virtual_file_stats.", NO_RISK)
        }
        Conclusion::None => {
            add("Capture while the problem is there; with --every the window comes in intervals.", NO_RISK)
        }
        Conclusion::CompletionDelayed => {
            add("Capture scenario `sos-yield`: relieve the schedulers first, then measure the files again.", NO_RISK);
        }
        Conclusion::HeldBack => {
            add("Look at the I/O limits of the Resource Governor pools (MAX_IOPS_PER_VOLUME).", NO_RISK);
        }
        Conclusion::Slow => {
            if !running(facts).is_empty() {
                add(
                    "Repeat the capture while the maintenance does not run: the file may be slow only beside it.",
                    NO_RISK,
                );
            }
            if facts.evidence.series.is_empty() {
                add("Repeat the capture with --every, to see when the file is slow.", NO_RISK);
            }
            add(
                "Look for the statements that read and write most (Query Store, or sys.dm_exec_query_stats): missing indexes, conversions and scans make I/O that nobody needs.",
                NO_RISK,
            );
            add("Compare with what the operating system and the storage measured in the same time.", NO_RISK);
        }
    }
    steps
}
