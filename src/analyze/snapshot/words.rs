//! Owns how the answer to the snapshot question is put: summary, reasons, next steps.

use super::{
    conclusion::{Conclusion, Open},
    measured::{Measured, PREEMPTIVE_OS_WRITEFILE},
};
use crate::{
    analyze::{
        deltas::some_of,
        facts::Facts,
        maintenance::Request,
        verdict::{NO_RISK, symbols},
        words::{count, counted, percent},
    },
    model::{Finding, NextStep, Reason},
};

/// What is concluded.
pub(super) fn summary(measured: &Measured, conclusion: Conclusion) -> String {
    match conclusion {
        Conclusion::CopyOnWrite => {
            let source = measured.source().unwrap_or("a database");
            let of_source = measured.snapshots.iter().flatten().filter(|snapshot| snapshot.source == source);
            let (snapshots, writes, stall) = of_source.fold((0_u64, 0_u64, 0_u64), |(n, writes, stall), snapshot| {
                (n + 1, writes.saturating_add(snapshot.writes), stall.saturating_add(snapshot.stall_ms))
            });
            let share = measured.waits.as_ref().map_or_else(String::new, |waits| {
                format!(" These waits took {} of the wait time.", percent(waits.share))
            });
            format!(
                "Each page of {source} that changes for the first time is copied for {} before: {} into sparse files, {} ms.{share}",
                counted(snapshots, "snapshot"),
                counted(writes, "write"),
                count(stall)
            )
        }
        Conclusion::None => {
            "There were too few waits for writes into files in this window to matter, and they took too little of the wait time."
                .to_owned()
        }
        Conclusion::Open(why) => open(measured, why),
    }
}

fn open(measured: &Measured, why: Open) -> String {
    match why {
        Open::NothingGiven => {
            "Neither counters nor stacks of these waits were given: what makes writes wait is not known.".to_owned()
        }
        Open::DatabasesUnknown => format!(
            "Which database snapshots there are is not known, and {PREEMPTIVE_OS_WRITEFILE} alone is no proof of one: a trace waits the same way."
        ),
        Open::Trace => {
            let shown = if measured.trace_frames.events > 0 {
                format!("the stacks of {} show a SQL Trace that writes its file", counted(measured.trace_frames.events, "event"))
            } else {
                "a SQL Trace runs that writes a file".to_owned()
            };
            format!("There is no database snapshot; {shown}.")
        }
        Open::Check => {
            let checks: Vec<String> = measured.checks.iter().map(Request::in_words).collect();
            format!(
                "No view lists a database snapshot, and {} ran: it may have made a snapshot of its own, for which pages are copied as long as it runs.",
                some_of(&checks)
            )
        }
        Open::Hidden => "Stacks show pages copied for a snapshot, and no view lists one: a check of pages may have made its own, or the snapshot is hidden from this login.".to_owned(),
        Open::NoSnapshot => "There is no database snapshot: something else writes files in these waits.".to_owned(),
        Open::NotCopied => "There is a database snapshot, but neither the stacks nor its files show that pages were copied for it in this window.".to_owned(),
    }
}

/// The reasons, the weightiest first.
pub(super) fn reasons(measured: &Measured, findings: &[Finding], limits: &[String]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for name in ["copy_on_write", "snapshots", "other_writers", "replica_writes"] {
        let worth = |finding: &&Finding| {
            finding.name == name && finding.state != "unknown" && !(name == "other_writers" && finding.state == "none")
        };
        let Some(finding) = findings.iter().find(worth) else { continue };
        let mut evidence = vec![format!("findings:{name}")];
        match name {
            "copy_on_write" => {
                evidence.extend(measured.copy_on_write.stacks.iter().cloned());
                evidence.extend(measured.waits.iter().flat_map(|waits| waits.evidence()));
            }
            "snapshots" => {
                evidence.extend(measured.snapshots.iter().flatten().flat_map(|s| s.evidence.iter().cloned()));
            }
            "other_writers" => evidence.extend(measured.trace_frames.stacks.iter().cloned()),
            _ => {}
        }
        reasons.push(Reason { text: finding.text.clone(), evidence });
    }
    if !limits.is_empty() {
        reasons.push(Reason {
            text: format!("Confidence is limited: {}.", limits.join("; ")),
            evidence: vec!["findings:copy_on_write".to_owned()],
        });
    }
    reasons
}

/// The steps, the most useful first.
pub(super) fn next_steps(facts: &Facts<'_>, measured: &Measured, conclusion: Conclusion) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let mut add = |text: &str, risk: &str| steps.push(NextStep { text: text.to_owned(), risk: risk.to_owned() });
    match conclusion {
        Conclusion::CopyOnWrite => {
            add(
                "Drop snapshots that nobody reads any more, and make new ones after large loads instead of before.",
                "a dropped snapshot is gone: nothing can be read from it, or reverted to it",
            );
            add(
                "Put the sparse files on storage that takes these writes beside those of the data files.",
                "a snapshot cannot be moved: it is made anew in the other place, as of then",
            );
        }
        Conclusion::None => add("Capture while the problem is there.", NO_RISK),
        Conclusion::Open(why) => {
            let step = match why {
                Open::NothingGiven => "Capture scenario `snapshot` over this load.",
                Open::DatabasesUnknown => "Give the list of databases (sys.databases), or a login that may see it.",
                Open::Trace => {
                    "Find out who started the trace (sys.traces); an event session with a file target does the same outside of the sessions that are traced."
                }
                Open::Check => {
                    "Repeat the capture while no check of pages runs: if these waits are gone, they were its."
                }
                Open::Hidden => {
                    "Look at sys.databases with a login that sees all of them, and for a check of pages that runs."
                }
                Open::NoSnapshot => "Read the stacks: they name what writes.",
                Open::NotCopied => "Repeat the capture over a longer window, with the sparse files' statistics.",
            };
            add(step, NO_RISK);
            let unnamed =
                measured.events > 0 && measured.copy_on_write.events == 0 && measured.trace_frames.events == 0;
            if unnamed && !matches!(why, Open::NothingGiven) {
                let (text, risk) = symbols(facts);
                add(text, risk);
            }
        }
    }
    steps
}
