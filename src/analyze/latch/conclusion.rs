//! Owns what the latch question comes to: contention, none, or not decided, and why.

use super::{LatchCase, versions};
use crate::analyze::facts::Facts;

/// Why the latch question is not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// How long tasks waited is not known.
    NoCounters,
    /// The counters have no difference over the window.
    CountersReset,
    /// Latches were waited for, but too seldom or too short to be what the server waits for.
    NotLeading,
    /// Nothing names a class.
    Nameless,
    /// No class has most of the wait time.
    Spread,
    /// The class is that of row versions, and none were made.
    NoVersions,
    /// The class is how a parallel scan hands out its work, and parallel plans waited.
    ParallelScan,
}

/// What the evidence supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// One latch class is contended.
    Contention,
    /// Too few and too short waits to matter.
    None,
    /// Neither.
    Open(Open),
}

/// The conclusion, by the counters: event sessions show where the waits come from, not how long they are.
pub(super) fn conclude(facts: &Facts<'_>, case: &LatchCase<'_>) -> Conclusion {
    let settings = &facts.catalog.latch;
    let Some(waits) = case.waits.as_ref().filter(|_| facts.measures.elapsed_ms.is_some()) else {
        return Conclusion::Open(Open::NoCounters);
    };
    if waits.are_negligible(&settings.no_contention) {
        return Conclusion::None;
    }
    if !waits.without_difference.is_empty() {
        return Conclusion::Open(Open::CountersReset);
    }
    if case.gates(facts).iter().any(|gate| ["wait_share", "waits"].contains(&gate.name.as_str()) && !gate.met) {
        return Conclusion::Open(Open::NotLeading);
    }
    let Some(subject) = case.names.subject() else { return Conclusion::Open(Open::Nameless) };
    if case.share().is_some_and(|share| share.low < settings.gates.class_share) {
        return Conclusion::Open(Open::Spread);
    }
    if versions::is_insert_point(subject) && facts.databases.versions_generated_kb == Some(0) {
        return Conclusion::Open(Open::NoVersions);
    }
    if is_parallel_scan(facts, subject) && parallel_plans_waited(facts) {
        return Conclusion::Open(Open::ParallelScan);
    }
    Conclusion::Contention
}

/// Whether waiting for a class is how a parallel scan works.
pub(super) fn is_parallel_scan(facts: &Facts<'_>, subject: &str) -> bool {
    facts.catalog.latches.of(subject).is_some_and(|term| term.parallel_scan)
}

/// Whether the threads of parallel plans waited for each other in the window.
pub(super) fn parallel_plans_waited(facts: &Facts<'_>) -> bool {
    facts.deltas.waits.iter().flatten().any(|row| row.wait_ms > 0 && row.wait_type.starts_with("CX"))
}
