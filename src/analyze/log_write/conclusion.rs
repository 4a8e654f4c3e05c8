//! Owns what the log question comes to: commits wait for the log, they do not, or it is not decided, and why.

use super::measured::{Durability, HADR_SYNC_COMMIT, LOGBUFFER, Measured, WRITELOG, is_bound_by_file};
use crate::analyze::facts::Facts;

/// Why the log question is not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// Neither waits nor file statistics.
    NothingGiven,
    /// File statistics without waits, which show nothing.
    NoWaits,
    /// The counters of WRITELOG have no difference.
    Reset,
    /// Commits wait longer for a replica than for the log.
    Replica,
    /// Tasks wait for room in the log buffer, more than commits for flushes.
    LogBuffer,
    /// Most of the wait comes after the flush, for a scheduler.
    Signal,
    /// Commits take too little of the sessions' time.
    NotCommits,
    /// How much of the sessions' time commits take is not known, and other waits lead.
    Unproven,
    /// Flushes are large already.
    LargeBlocks,
    /// Commits return before the flush by the database's option.
    Delayed,
}

/// What the evidence supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conclusion {
    /// Commits wait for the log.
    Bound,
    /// The log file alone says so; waits were not given.
    BoundByFile,
    /// Too little to matter.
    None,
    /// Neither.
    Open(Open),
}

/// The conclusion.
pub(super) fn conclude(facts: &Facts<'_>, measured: &Measured) -> Conclusion {
    let settings = &facts.catalog.log_write;
    let gates = &settings.gates;
    let Some(waits) = &measured.waits else { return by_file(facts, measured) };
    if waits.are_negligible(&settings.no_contention) {
        return Conclusion::None;
    }
    let Some(writelog_ms) = measured.wait_ms(WRITELOG) else { return Conclusion::Open(Open::Reset) };
    let leads = |wait_type: &str| measured.wait_ms(wait_type).is_some_and(|ms| ms > writelog_ms);
    if leads(HADR_SYNC_COMMIT) {
        return Conclusion::Open(Open::Replica);
    }
    if leads(LOGBUFFER) {
        return Conclusion::Open(Open::LogBuffer);
    }
    if measured.signal_share().is_some_and(|share| share >= gates.signal_share) {
        return Conclusion::Open(Open::Signal);
    }
    match measured.commit_wait_share() {
        Some((share, _)) if share < gates.commit_wait_share => return Conclusion::Open(Open::NotCommits),
        Some((_, false)) => {}
        Some((_, true)) | None => {
            if measured.writelog_share().is_none_or(|share| share < gates.writelog_share) {
                return Conclusion::Open(Open::Unproven);
            }
        }
    }
    if measured.bytes_per_flush().is_some_and(|bytes| bytes > gates.bytes_per_flush as f64) {
        return Conclusion::Open(Open::LargeBlocks);
    }
    if measured.durability == Some(Durability::Forced) {
        return Conclusion::Open(Open::Delayed);
    }
    Conclusion::Bound
}

fn by_file(facts: &Facts<'_>, measured: &Measured) -> Conclusion {
    match &measured.file {
        None => Conclusion::Open(Open::NothingGiven),
        Some(_) if measured.durability == Some(Durability::Forced) => Conclusion::Open(Open::Delayed),
        Some(file) if is_bound_by_file(facts, file) => Conclusion::BoundByFile,
        Some(_) => Conclusion::Open(Open::NoWaits),
    }
}
