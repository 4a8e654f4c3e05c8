//! Owns how the answer to the log question is put: summary, reasons, next steps.

use super::{
    conclusion::{Conclusion, Open},
    findings::{LARGEST_BLOCK_BYTES, NOT_FOR, RISK},
    measured::{Durability, HADR_SYNC_COMMIT, LOGBUFFER, Measured, WRITELOG},
};
use crate::{
    analyze::{
        facts::Facts,
        verdict::NO_RISK,
        words::{count, percent},
    },
    model::{Finding, NextStep, Reason, ServerVersion},
};

/// What is concluded, in one sentence or two.
pub(super) fn summary(measured: &Measured, conclusion: Conclusion) -> String {
    let database = measured.database.as_deref().unwrap_or("the server");
    let bytes = measured
        .bytes_per_flush()
        .map_or_else(|| "whose size is not known".to_owned(), |bytes| format!("of {} bytes", count(bytes as u64)));
    match conclusion {
        Conclusion::Bound => {
            let share = measured.commit_wait_share().map_or_else(String::new, |(share, is_bound)| {
                let at_most = if is_bound { "at most " } else { "" };
                format!("{at_most}{} of the time of the sessions that commit", percent(share))
            });
            format!("Commits in {database} wait for the log: {share}, for flushes {bytes}.")
        }
        Conclusion::BoundByFile => {
            let share = measured.write_stall_share().unwrap_or(0.0);
            format!(
                "Writes to the log of {database} took {} of the elapsed time, each {bytes}: commits that wait for the log explain that. Waits were not given.",
                percent(share)
            )
        }
        Conclusion::None => {
            "There were too few waits for the log in this window to matter, and they took too little of the wait time."
                .to_owned()
        }
        Conclusion::Open(why) => open(measured, why, &bytes),
    }
}

fn open(measured: &Measured, why: Open, bytes: &str) -> String {
    match why {
        Open::NothingGiven => {
            "Neither waits nor statistics of log files were given: whether commits wait for the log is not known."
                .to_owned()
        }
        Open::NoWaits => format!(
            "The log's writes, {bytes}, take too little of the elapsed time to show that commits wait for them, and waits were not given."
        ),
        Open::Reset => {
            format!("The counters of {WRITELOG} were reset inside the window: how long commits waited is not known.")
        }
        Open::Replica => format!(
            "Commits wait for the replica, not for the log: {HADR_SYNC_COMMIT} took {} ms, {WRITELOG} {} ms.",
            ms(measured, HADR_SYNC_COMMIT),
            ms(measured, WRITELOG)
        ),
        Open::LogBuffer => format!(
            "Tasks wait for room in the log buffer ({LOGBUFFER} {} ms, {WRITELOG} {} ms): log records come faster than they are written, whatever the commits.",
            ms(measured, LOGBUFFER),
            ms(measured, WRITELOG)
        ),
        Open::Signal => format!(
            "{} of the time in {WRITELOG} came after the flush, while commits waited for a scheduler: that is CPU, not the log.",
            percent(measured.signal_share().unwrap_or(0.0))
        ),
        Open::NotCommits => {
            let share = measured.commit_wait_share().map_or(0.0, |(share, _)| share);
            let delayed = match measured.durability {
                Some(Durability::Forced) => " Delayed durability is forced, so few commits wait for a flush.",
                _ => "",
            };
            format!(
                "Commits are not what this load waits for: {WRITELOG} takes {} of the time of the sessions that commit, and flushes are {bytes}.{delayed}",
                percent(share)
            )
        }
        Open::Unproven => format!(
            "How many sessions commit is not known, and {WRITELOG} is not what this load waits for most: that commits wait for the log is not proven."
        ),
        Open::LargeBlocks => format!(
            "Commits wait for the log, but its flushes are {bytes} already, of {} at most: the amount of log, not the number of commits, is what is written.",
            count(LARGEST_BLOCK_BYTES)
        ),
        Open::Delayed => {
            "Delayed durability is forced, so commits do not wait for the log; what still does is log that must be durable, or that comes faster than it is written.".to_owned()
        }
    }
}

fn ms(measured: &Measured, wait_type: &str) -> String {
    count(measured.wait_ms(wait_type).unwrap_or(0))
}

/// The reasons, the weightiest first.
pub(super) fn reasons(facts: &Facts<'_>, measured: &Measured, findings: &[Finding], limits: &[String]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for name in ["commit_waits", "log_writes", "delayed_durability"] {
        let Some(finding) = findings.iter().find(|finding| finding.name == name && finding.state != "unknown") else {
            continue;
        };
        let mut evidence = vec![format!("findings:{name}")];
        match name {
            "commit_waits" => evidence.extend(measured.waits.iter().flat_map(|waits| waits.evidence())),
            "log_writes" => evidence.extend(measured.file.iter().map(|file| file.evidence.clone())),
            _ => {}
        }
        reasons.push(Reason { text: finding.text.clone(), evidence });
    }
    if let Some(text) = page_reads(facts) {
        let rows = facts.deltas.waits.iter().flatten().filter(|row| row.wait_type.starts_with(PAGE_READS));
        reasons.push(Reason { text, evidence: rows.map(|row| format!("waits:{}", row.wait_type)).take(3).collect() });
    }
    if !limits.is_empty() {
        reasons.push(Reason {
            text: format!("Confidence is limited: {}.", limits.join("; ")),
            evidence: vec!["findings:commit_waits".to_owned()],
        });
    }
    reasons
}

const PAGE_READS: &str = "PAGEIOLATCH_";

/// Waits for pages often stand beside waits for the log; they are context only.
fn page_reads(facts: &Facts<'_>) -> Option<String> {
    let rows = facts.deltas.waits.iter().flatten().filter(|row| row.wait_type.starts_with(PAGE_READS));
    let share: f64 = rows.map(|row| row.share).sum();
    (share > 0.0).then(|| {
        format!(
            "Waits for pages from disk took {} of the wait time; they decide nothing here.",
            percent(share.min(1.0))
        )
    })
}

/// The steps, the most useful first. Delayed durability is never the first.
pub(super) fn next_steps(facts: &Facts<'_>, measured: &Measured, conclusion: Conclusion) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let mut add = |text: &str, risk: &str| steps.push(NextStep { text: text.to_owned(), risk: risk.to_owned() });
    match conclusion {
        Conclusion::Bound | Conclusion::BoundByFile => {
            add(
                "Commit several changes in one transaction where the application allows it: one flush then serves them all.",
                "locks are held longer, and a failure rolls all of them back",
            );
            add(
                "Look at the storage of this log: its write latency bounds how fast one session commits. With a faster one more commits fit into the same time, and their waits may even grow.",
                "moving a log file takes the database offline for a moment",
            );
            if conclusion == Conclusion::BoundByFile {
                add("Capture scenario `log-write` over the same load: waits and counters decide it.", NO_RISK);
            }
            let version = facts.evidence.server.as_ref().and_then(|server| server.version);
            if version.is_none_or(|version| version >= ServerVersion::V2014) {
                add(
                    &format!(
                        "Only where losing the last commits can be borne: read Microsoft's documentation of delayed durability, which can be allowed and then chosen for single commits. {NOT_FOR}"
                    ),
                    RISK,
                );
            }
        }
        Conclusion::None => add("Capture while the problem is there.", NO_RISK),
        Conclusion::Open(why) => add(after_open(why, measured), NO_RISK),
    }
    steps
}

fn after_open(why: Open, measured: &Measured) -> &'static str {
    match why {
        Open::NothingGiven | Open::NoWaits => {
            "Capture scenario `log-write` over this load: waits, counters and call stacks decide it."
        }
        Open::Reset => "Repeat the capture, with no DBCC SQLPERF(..., CLEAR) inside the window.",
        Open::Replica => {
            "Look at the synchronous replica and the network to it: sys.dm_hadr_database_replica_states shows its queues."
        }
        Open::LogBuffer | Open::LargeBlocks => {
            "Look for what writes so much log (sys.dm_tran_database_transactions, index maintenance), and at the write throughput of the log's storage."
        }
        Open::Signal => "Capture scenario `sos-yield`: it tells whether the schedulers are short of CPU.",
        Open::NotCommits if measured.durability == Some(Durability::Forced) => {
            "Look at the waits that lead; whether delayed durability is worth its risk is a question for those who own the data."
        }
        Open::NotCommits | Open::Unproven => {
            "Look at the waits that lead: `--scenario auto` picks the scenario for them."
        }
        Open::Delayed => "Look for transactions that stay durable, and at the write throughput of the log's storage.",
    }
}
