//! Owns the findings of the snapshot question: the gates, the snapshots with what each cost, waits for replicas, other writers.

use super::{
    conclusion::{Conclusion, Open, conclude},
    measured::{FCB_REPLICA_WRITE, Measured, SnapshotCost},
};
use crate::{
    analyze::{
        deltas::some_of,
        facts::Facts,
        findings::gate,
        maintenance::Request,
        words::{count, counted, percent},
    },
    model::{Finding, Gate},
};

/// All of them.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let measured = Measured::of(facts);
    let mut findings = vec![copies(facts, &measured), snapshots(&measured)];
    findings.extend(replica_writes(&measured));
    findings.push(other_writers(&measured));
    findings
}

/// The conditions of `snapshot_copy_on_write`: the first, and one of the next two.
pub(super) fn gates(facts: &Facts<'_>, measured: &Measured) -> Vec<Gate> {
    let settings = &facts.catalog.snapshot.gates;
    let snapshots = measured.snapshots.as_ref().map(|snapshots| snapshots.len() as f64);
    let growing = facts.files.rows.as_ref().zip(measured.snapshots.as_ref()).map(|_| measured.growing().count() as f64);
    let share = measured.waits.as_ref().map(|waits| waits.share);
    vec![
        gate("snapshots", snapshots, ">= 1", |value| value >= 1.0),
        gate(
            "copy_on_write_events_share",
            measured.copy_on_write_share(),
            format!(">= {}", settings.copy_on_write_share),
            |share| share > 0.0 && share >= settings.copy_on_write_share,
        ),
        gate("growing_sparse_files", growing, ">= 1 snapshot whose files grow with writes", |value| value >= 1.0),
        gate("wait_share", share, format!(">= {}", settings.wait_share), |share| share >= settings.wait_share),
    ]
}

fn copies(facts: &Facts<'_>, measured: &Measured) -> Finding {
    let state = match conclude(facts, measured) {
        Conclusion::CopyOnWrite => "copied",
        Conclusion::None => "few",
        Conclusion::Open(why) => match why {
            Open::NothingGiven | Open::DatabasesUnknown => "unknown",
            Open::Trace => "trace",
            Open::Check => "check",
            Open::Hidden => "hidden_snapshot",
            Open::NoSnapshot => "no_snapshot",
            Open::NotCopied => "not_copied",
        },
    };
    let waits = measured.waits.as_ref().map_or_else(|| "Waits were not given.".to_owned(), |waits| waits.in_words());
    let frames = measured.copy_on_write_share().map_or_else(String::new, |share| {
        format!(
            " {} of {} hold functions that copy a page for a snapshot before it changes.",
            percent(share),
            counted(measured.events, "event")
        )
    });
    Finding {
        name: "copy_on_write".to_owned(),
        state: state.to_owned(),
        value: measured.copy_on_write_share(),
        low: None,
        high: None,
        gates: gates(facts, measured),
        text: format!("{waits}{frames}"),
    }
}

fn snapshots(measured: &Measured) -> Finding {
    let known = measured.snapshots.as_deref();
    let (state, text) = match known {
        None => ("unknown", "Which snapshots there are is not known.".to_owned()),
        Some([]) => ("none", "No database has a snapshot.".to_owned()),
        Some(snapshots) => {
            let each: Vec<String> = snapshots.iter().map(cost).collect();
            ("present", format!("{}: {}.", counted(snapshots.len() as u64, "snapshot"), some_of(&each)))
        }
    };
    Finding {
        name: "snapshots".to_owned(),
        state: state.to_owned(),
        value: known.map(|snapshots| snapshots.len() as f64),
        low: None,
        high: None,
        gates: Vec::new(),
        text,
    }
}

/// What one snapshot cost.
fn cost(snapshot: &SnapshotCost) -> String {
    let growth = u64::try_from(snapshot.growth_bytes).unwrap_or(0);
    format!(
        "{} of {} took {} in {} ms and grew by {} bytes",
        snapshot.name,
        snapshot.source,
        counted(snapshot.writes, "write"),
        count(snapshot.stall_ms),
        count(growth)
    )
}

/// One published test never saw this wait with one snapshot, and always with two. That is shown, and decides nothing.
fn replica_writes(measured: &Measured) -> Option<Finding> {
    let ms = measured.wait_ms(FCB_REPLICA_WRITE)?;
    let snapshots = measured.snapshots.as_ref()?.len();
    let (state, text) = if ms == 0 {
        ("none", format!("No {FCB_REPLICA_WRITE} with {}", counted(snapshots as u64, "snapshot")))
    } else {
        ("waited", format!("{FCB_REPLICA_WRITE} took {} ms with {}", count(ms), counted(snapshots as u64, "snapshot")))
    };
    Some(Finding {
        name: "replica_writes".to_owned(),
        state: state.to_owned(),
        value: Some(ms as f64),
        low: None,
        high: None,
        gates: Vec::new(),
        text: format!("{text}; a published test saw this wait with more than one only, which is no rule."),
    })
}

fn other_writers(measured: &Measured) -> Finding {
    let mut others = Vec::new();
    if measured.trace_frames.events > 0 {
        let events = counted(measured.trace_frames.events, "event");
        others.push(format!("a SQL Trace writes its file in the stacks of {events}"));
    }
    if let Some(traces) = measured.traces.filter(|traces| *traces > 0) {
        others.push(format!("{} beside the server's own in sys.traces", counted(traces, "running trace")));
    }
    if !measured.checks.is_empty() {
        let checks: Vec<String> = measured.checks.iter().map(Request::in_words).collect();
        others.push(format!("{} ran, which may read from a snapshot of its own that no view lists", some_of(&checks)));
    }
    let state = match (
        measured.trace_frames.events > 0 || measured.traces.is_some_and(|traces| traces > 0),
        measured.checks.is_empty(),
    ) {
        (true, _) => "trace",
        (false, false) => "check",
        (false, true) => "none",
    };
    let text = if others.is_empty() {
        "Nothing else was seen that writes files in these waits.".to_owned()
    } else {
        format!("What else writes files in these waits: {}.", others.join("; "))
    };
    Finding {
        name: "other_writers".to_owned(),
        state: state.to_owned(),
        value: None,
        low: None,
        high: None,
        gates: Vec::new(),
        text,
    }
}
