//! Owns the findings of the file question: slow files, pending I/Os, maintenance beside them, and what cumulative means hide.

use super::{
    pending::{Pending, are_schedulers_saturated, is_completion_delayed},
    slow::{self, Apart, Slow, is_judged},
};
use crate::{
    analyze::{
        deltas::some_of,
        facts::Facts,
        findings::gate,
        maintenance::maintenance,
        words::{count, counted, percent},
    },
    model::{Finding, Gate},
};

/// All of them.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    vec![slow_files(facts), pending_io(facts), concurrent_maintenance(facts), cumulative_differs(facts)]
}

fn finding(name: &str, state: &str, value: Option<f64>, gates: Vec<Gate>, text: String) -> Finding {
    Finding { name: name.to_owned(), state: state.to_owned(), value, low: None, high: None, gates, text }
}

/// The conditions of `file_latency`, of the worst file.
pub(super) fn gates(facts: &Facts<'_>) -> Vec<Gate> {
    let settings = &facts.catalog.file_latency.gates;
    let slow = slow::slow_files(facts);
    let first = slow.first();
    let rows = facts.files.rows.as_ref();
    let operations = |row: &crate::model::FileRow| row.reads as f64 + row.writes as f64;
    let most = rows.map(|rows| rows.iter().filter(|row| slow::counts(row)).map(operations).fold(0.0, f64::max));
    let slowest = || {
        let judged = rows?.iter().filter(|row| is_judged(row, settings)).filter_map(|row| row.latency_ms);
        judged.max_by(f64::total_cmp)
    };
    let threshold = first.map_or_else(
        || format!("> {} (log: > {})", settings.data_latency_ms, settings.log_latency_ms),
        |first| format!("> {}", first.threshold_ms),
    );
    let pending = Pending::of(facts);
    let saturated = (facts.measures.queues.samples > 0).then(|| f64::from(u8::from(are_schedulers_saturated(facts))));
    let maintained = maintenance(facts).map(|seen| seen.len() as f64);
    vec![
        gate(
            "file_operations",
            first.map(|first| operations(first.row)).or(most),
            format!(">= {}", settings.operations),
            |value| value >= settings.operations as f64,
        ),
        gate("file_latency_ms", first.map(|first| first.latency_ms).or_else(slowest), threshold, |_| first.is_some()),
        gate("io_wait_share", io_wait_share(facts), format!(">= {}", settings.io_wait_share), |share| {
            share >= settings.io_wait_share
        }),
        gate(
            "awaiting_notice_share",
            pending.awaiting_notice_share(),
            format!("< {} of samples, or schedulers without queues", settings.awaiting_notice_share),
            |_| !is_completion_delayed(facts, &pending),
        ),
        gate("saturated_schedulers", saturated, "= 0, or no I/O waits to be noticed", |_| {
            !is_completion_delayed(facts, &pending)
        }),
        gate("maintenance_commands", maintained, "= 0", |value| value == 0.0),
    ]
}

/// The share of waits for files in all wait time that is not idle.
pub(super) fn io_wait_share(facts: &Facts<'_>) -> Option<f64> {
    let rows = facts.deltas.waits.as_ref()?.iter();
    let waits = rows.filter(|row| facts.catalog.file_latency.waits.is_io(&row.wait_type));
    Some(waits.map(|row| row.share).sum::<f64>().clamp(0.0, 1.0))
}

fn slow_files(facts: &Facts<'_>) -> Finding {
    let slow = slow::slow_files(facts);
    let settings = &facts.catalog.file_latency.gates;
    let few = slow::too_few(facts);
    let few_words = || {
        let names: Vec<String> = few.iter().map(|row| slow::name(row)).collect();
        format!("Above it over fewer than {} I/Os, which tell little: {}.", settings.operations, some_of(&names))
    };
    let (state, mut text) = match (&facts.files.rows, slow.as_slice()) {
        (None, _) => ("unknown", "Statistics of files are not known.".to_owned()),
        (Some(_), []) => (
            "none",
            format!(
                "No file with at least {} I/Os was above {} ms, logs {} ms.",
                settings.operations, settings.data_latency_ms, settings.log_latency_ms
            ),
        ),
        (Some(_), slow) => {
            let each: Vec<String> = slow.iter().map(shown).collect();
            ("slow", format!("{}: {}.", files(slow.len()), each.join("; ")))
        }
    };
    if !few.is_empty() {
        text.push(' ');
        text.push_str(&few_words());
    }
    finding("slow_files", state, facts.files.rows.as_ref().map(|_| slow.len() as f64), gates(facts), text)
}

fn files(number: usize) -> String {
    if number == 1 { "1 slow file".to_owned() } else { format!("{number} slow files, the first by time") }
}

fn shown(slow: &Slow<'_>) -> String {
    let when = slow.when().map_or_else(String::new, |when| format!(", {when}"));
    let governed = if slow.by_itself { "" } else { ", by Resource Governor alone" };
    format!("{}{when}{governed}", slow.in_words())
}

fn pending_io(facts: &Facts<'_>) -> Finding {
    let pending = Pending::of(facts);
    let share = pending.awaiting_notice_share();
    let (state, text) = match share {
        None => ("unknown", "Pending I/Os were not sampled.".to_owned()),
        Some(share) => {
            let state = if is_completion_delayed(facts, &pending) {
                "completion_delayed"
            } else if pending.awaiting_notice > 0 {
                "some_awaiting_notice"
            } else if pending.at_system > 0 {
                "at_system"
            } else {
                "none"
            };
            let oldest = pending.longest_ms.map_or_else(String::new, |ms| format!(", the oldest {} ms", count(ms)));
            let why = if state == "completion_delayed" {
                " With tasks queueing for the schedulers, part of the measured time is SQL Server's own."
            } else {
                ""
            };
            (
                state,
                format!(
                    "I/Os were pending at the operating system in {} of {}, up to {} at once{oldest}; in {} of the samples some were done and waited for SQL Server to take notice.{why}",
                    count(pending.at_system),
                    counted(pending.samples, "sample"),
                    count(pending.most),
                    percent(share)
                ),
            )
        }
    };
    finding("pending_io", state, share, Vec::new(), text)
}

fn concurrent_maintenance(facts: &Facts<'_>) -> Finding {
    let seen = maintenance(facts);
    let commands: Vec<String> = seen.iter().flatten().map(|(request, _)| request.in_words()).collect();
    let grown: Vec<String> = facts
        .files
        .rows
        .iter()
        .flatten()
        .filter(|row| row.kind != "snapshot" && row.growth_bytes.is_some_and(|bytes| bytes > 0))
        .map(slow::name)
        .collect();
    let mut parts = Vec::new();
    if !commands.is_empty() {
        parts.push(format!("ran in the window: {}", some_of(&commands)));
    }
    if !grown.is_empty() {
        parts.push(format!("files grew: {}", some_of(&grown)));
    }
    let (state, text) = match (&seen, commands.is_empty(), grown.is_empty()) {
        (_, false, _) => ("running", format!("Maintenance {}.", parts.join("; "))),
        (_, true, false) => ("growing", format!("No maintenance was seen; {}.", parts.join("; "))),
        (Some(_), true, true) => ("none", "No maintenance was seen in the window, and no file grew.".to_owned()),
        (None, true, true) => ("unknown", "Whether maintenance ran is not known; no file grew.".to_owned()),
    };
    finding("concurrent_maintenance", state, seen.map(|seen| seen.len() as f64), Vec::new(), text)
}

fn cumulative_differs(facts: &Facts<'_>) -> Finding {
    let apart = slow::apart(facts);
    let (state, text) = if facts.files.rows.is_none() {
        ("unknown", "Statistics of files are not known.".to_owned())
    } else if apart.is_empty() {
        ("agrees", "For no file the window and the time since its counters began tell different things.".to_owned())
    } else {
        let each: Vec<String> = apart.iter().map(Apart::in_words).collect();
        ("differs", format!("The cumulative mean hides when: {}.", some_of(&each)))
    };
    let ratio = apart.first().map(|apart| apart.window_ms / apart.cumulative_ms).filter(|ratio| ratio.is_finite());
    finding("cumulative_differs", state, ratio, Vec::new(), text)
}
