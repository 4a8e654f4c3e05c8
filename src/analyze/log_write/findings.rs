//! Owns the findings of the log question: waits of commits with their gates, what the log file did, delayed durability.

use super::{
    conclusion::{Conclusion, Open, conclude},
    measured::{Durability, HADR_SYNC_COMMIT, LOGBUFFER, Measured, WRITELOG, durability},
};
use crate::{
    analyze::{
        deltas::some_of,
        facts::Facts,
        findings::gate,
        words::{count, counted, figure, percent},
    },
    model::{DatabaseRow, Finding, Gate, Mark},
};

/// Largest block of the log, bytes (documentation of the transaction log).
pub(super) const LARGEST_BLOCK_BYTES: u64 = 61_440;
/// Below this size of a write, sectors of 4 KB put a floor under it.
const LARGE_SECTOR_BYTES: f64 = 4_096.0;

/// All of them.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let measured = Measured::of(facts);
    let mut findings = vec![commit_waits(facts, &measured)];
    findings.extend(log_writes(&measured));
    findings.push(delayed_durability(facts, &measured));
    findings
}

/// The conditions of `log_write_bound`.
pub(super) fn gates(facts: &Facts<'_>, measured: &Measured) -> Vec<Gate> {
    let settings = &facts.catalog.log_write.gates;
    let share = measured.commit_wait_share();
    let needed = settings.commit_wait_share;
    // A bound below the limit proves that it is not met; one above it proves nothing.
    let known = share.filter(|(value, is_bound)| !is_bound || *value < needed).map(|(value, _)| value);
    let sessions = measured.sessions.map_or_else(
        || "an unknown number of committing sessions".to_owned(),
        |sessions| counted(sessions, "committing session"),
    );
    let at_least = |name: &str, value: Option<f64>, least: f64| {
        gate(name, value, format!(">= {least}"), move |value| value >= least)
    };
    let not_above = |wait_type: &str, name: &str| {
        let others = measured.wait_ms(wait_type).zip(measured.wait_ms(WRITELOG));
        let ratio = others.map(|(other, log)| if log == 0 { other as f64 } else { other as f64 / log as f64 });
        gate(name, ratio, "<= 1", |ratio| ratio <= 1.0)
    };
    let delayed = measured.durability.map(|durability| f64::from(u8::from(durability != Durability::Off)));
    vec![
        gate("commit_wait_share", known, format!(">= {needed} of elapsed x {sessions}"), |value| value >= needed),
        at_least("flushed_commits_share", measured.flushed_commits_share(), settings.flushed_commits_share),
        gate(
            "bytes_per_flush",
            measured.bytes_per_flush(),
            format!("<= {} (a block holds up to {LARGEST_BLOCK_BYTES})", settings.bytes_per_flush),
            |bytes| bytes <= settings.bytes_per_flush as f64,
        ),
        at_least("writelog_share", measured.writelog_share(), settings.writelog_share),
        gate(
            "writelog_signal_share",
            measured.signal_share(),
            format!("< {}: the rest is waiting for a scheduler", settings.signal_share),
            |share| share < settings.signal_share,
        ),
        not_above(HADR_SYNC_COMMIT, "replica_wait_of_writelog"),
        not_above(LOGBUFFER, "log_buffer_wait_of_writelog"),
        gate("delayed_durability", delayed, "= 0", |value| value == 0.0),
    ]
}

/// The gates for the log file alone.
pub(super) fn gates_of_file(facts: &Facts<'_>, measured: &Measured) -> Vec<Gate> {
    let (settings, gates) = (&facts.catalog.log_write.files_alone, &facts.catalog.log_write.gates);
    let rate = measured.file.as_ref().and_then(|file| measured.per_second(file.writes));
    let at_least =
        |name: &str, value: Option<f64>, least: f64| gate(name, value, format!(">= {least}"), |value| value >= least);
    vec![
        at_least("log_write_stall_share", measured.write_stall_share(), settings.write_stall_share),
        at_least("log_writes_per_second", rate, settings.writes_per_second),
        gate("bytes_per_flush", measured.bytes_per_flush(), format!("<= {}", gates.bytes_per_flush), |bytes| {
            bytes <= gates.bytes_per_flush as f64
        }),
    ]
}

fn commit_waits(facts: &Facts<'_>, measured: &Measured) -> Finding {
    let conclusion = conclude(facts, measured);
    let state = match conclusion {
        Conclusion::Bound => "log_bound",
        Conclusion::BoundByFile => "log_bound_by_file",
        Conclusion::None => "few",
        Conclusion::Open(why) => match why {
            Open::NothingGiven | Open::NoWaits | Open::Reset => "unknown",
            Open::Replica => "replica",
            Open::LogBuffer => "log_buffer",
            Open::Signal => "cpu",
            Open::NotCommits => "little",
            Open::Unproven => "unproven",
            Open::LargeBlocks => "large_blocks",
            Open::Delayed => "delayed",
        },
    };
    let share = measured.commit_wait_share();
    let text = match (&measured.waits, share) {
        (Some(waits), Some((share, is_bound))) => {
            let of = match measured.sessions {
                Some(sessions) if !is_bound => format!("of the time of {}", counted(sessions, "committing session")),
                _ => "of the time of one session, and less if there are more".to_owned(),
            };
            format!("{} {WRITELOG} took {} {of}.", waits.in_words(), percent(share))
        }
        (Some(waits), None) => waits.in_words(),
        (None, _) => "Waits were not given.".to_owned(),
    };
    let mut gates = gates(facts, measured);
    if measured.waits.is_none() {
        gates = gates_of_file(facts, measured);
    }
    Finding {
        name: "commit_waits".to_owned(),
        state: state.to_owned(),
        value: share.map(|(share, _)| share),
        low: None,
        high: share.filter(|(_, is_bound)| *is_bound).map(|(share, _)| share),
        gates,
        text,
    }
}

/// What the log file did. Its latency is shown and decides nothing: a faster one lets more commits through, and their waits
/// may grow.
fn log_writes(measured: &Measured) -> Option<Finding> {
    let (file, database) = measured.file.as_ref().zip(measured.database.as_ref())?;
    let (bytes, latency) = file.bytes_per_write().zip(file.latency_ms())?;
    let rate =
        measured.per_second(file.writes).map_or_else(String::new, |rate| format!(" ({} a second)", figure(rate)));
    let sectors =
        if bytes < LARGE_SECTOR_BYTES { " Disks with sectors of 4 KB write at least as much each time." } else { "" };
    let commits = measured.row.as_ref().and_then(|row| row.transactions.zip(row.log_flushes)).map_or_else(
        String::new,
        |(transactions, flushes)| {
            format!(" {} in {} of the log.", counted(transactions, "transaction"), counted_flushes(flushes))
        },
    );
    Some(Finding {
        name: "log_writes".to_owned(),
        state: "measured".to_owned(),
        value: Some(bytes),
        low: None,
        high: None,
        gates: Vec::new(),
        text: format!(
            "The log of {database}: {}{rate} of {} bytes, {latency:.2} ms each, which decides nothing by itself.{commits}{sectors}",
            counted(file.writes, "write"),
            count(bytes as u64),
        ),
    })
}

fn counted_flushes(flushes: u64) -> String {
    if flushes == 1 { "1 flush".to_owned() } else { format!("{} flushes", count(flushes)) }
}

fn delayed_durability(facts: &Facts<'_>, measured: &Measured) -> Finding {
    let rows = facts.databases.rows.as_deref().unwrap_or_default();
    let with = |wanted: Durability| -> Vec<String> {
        let of = |row: &&DatabaseRow| row.mark != Some(Mark::Missing) && durability(row) == Some(wanted);
        rows.iter().filter(of).map(|row| row.database.clone()).collect()
    };
    let (allowed, forced) = (with(Durability::Allowed), with(Durability::Forced));
    let off = with(Durability::Off).len() as u64;
    let any = if !forced.is_empty() {
        Some(Durability::Forced)
    } else if !allowed.is_empty() {
        Some(Durability::Allowed)
    } else if off > 0 {
        Some(Durability::Off)
    } else {
        measured.durability
    };
    let mut parts = Vec::new();
    if !forced.is_empty() {
        parts.push(format!("forced in {}", some_of(&forced)));
    }
    if !allowed.is_empty() {
        parts.push(format!("allowed in {}", some_of(&allowed)));
    }
    if off > 0 {
        parts.push(format!("off in {}", counted(off, "database")));
    }
    let (state, text) = match any {
        Some(Durability::Off) => {
            ("off", "Delayed durability is off: each commit is flushed before it returns.".to_owned())
        }
        Some(used) => (
            if used == Durability::Forced { "forced" } else { "allowed" },
            format!(
                "Delayed durability is {}. Such commits return before their log is written: {RISK}. {NOT_FOR}",
                parts.join(", ")
            ),
        ),
        None => ("unknown", "Whether durability is delayed is not known.".to_owned()),
    };
    Finding {
        name: "delayed_durability".to_owned(),
        state: state.to_owned(),
        value: None,
        low: None,
        high: None,
        gates: Vec::new(),
        text,
    }
}

/// What delayed durability risks.
pub(super) const RISK: &str = "a crash, and a planned restart too, loses committed work: up to a log block of 60 KB where storage keeps up, up to the log buffer of about 7 MB where it does not";
/// Where it does nothing.
pub(super) const NOT_FOR: &str = "Transactions of the system, across databases, and those of change data capture, change tracking and replication stay durable.";
