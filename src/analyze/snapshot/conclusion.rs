//! Owns what the snapshot question comes to: copies for snapshots, nothing, or not decided, and why.

use super::measured::Measured;
use crate::analyze::{facts::Facts, target_waits::TargetWaits};

/// Why the snapshot question is not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// Neither counters nor stacks of the waits.
    NothingGiven,
    /// Which databases there are is not known.
    DatabasesUnknown,
    /// No snapshot, and a trace writes a file.
    Trace,
    /// No snapshot that a view lists, and a check of pages runs, which may have made one of its own.
    Check,
    /// No snapshot, and pages are copied for one all the same.
    Hidden,
    /// No snapshot, and nothing tells who writes.
    NoSnapshot,
    /// There is a snapshot, and nothing shows that pages are copied for it.
    NotCopied,
}

/// What the evidence supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conclusion {
    /// Pages are copied for a snapshot before they change.
    CopyOnWrite,
    /// Too little to matter.
    None,
    /// Neither.
    Open(Open),
}

/// The conclusion. The wait alone never decides: a trace and other writers of files wait the same way.
pub(super) fn conclude(facts: &Facts<'_>, measured: &Measured) -> Conclusion {
    let negligible = |waits: &TargetWaits| waits.are_negligible(&facts.catalog.snapshot.no_contention);
    if measured.waits.as_ref().is_some_and(negligible) {
        return Conclusion::None;
    }
    if measured.waits.is_none() && measured.events == 0 {
        return Conclusion::Open(Open::NothingGiven);
    }
    match measured.is_present() {
        None => Conclusion::Open(Open::DatabasesUnknown),
        Some(true) if has_copies(facts, measured) => Conclusion::CopyOnWrite,
        Some(true) => Conclusion::Open(Open::NotCopied),
        Some(false) if measured.trace_frames.events > measured.copy_on_write.events => Conclusion::Open(Open::Trace),
        Some(false) if !measured.checks.is_empty() => Conclusion::Open(Open::Check),
        Some(false) if measured.copy_on_write.events > 0 => Conclusion::Open(Open::Hidden),
        Some(false) if measured.traces.is_some_and(|traces| traces > 0) => Conclusion::Open(Open::Trace),
        Some(false) => Conclusion::Open(Open::NoSnapshot),
    }
}

/// Whether frames or sparse files show copies.
fn has_copies(facts: &Facts<'_>, measured: &Measured) -> bool {
    has_copy_frames(facts, measured) || measured.growing().next().is_some()
}

/// Whether enough of the events hold copy-on-write frames.
pub(super) fn has_copy_frames(facts: &Facts<'_>, measured: &Measured) -> bool {
    let needed = facts.catalog.snapshot.gates.copy_on_write_share;
    measured.copy_on_write_share().is_some_and(|share| share > 0.0 && share >= needed)
}
