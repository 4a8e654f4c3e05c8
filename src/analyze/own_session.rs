//! Owns what the collector's own session shows of itself: what its readings cost, and how long it can have waited.

use crate::model::{Evidence, Problem, ServerVersion, Severity, Snapshot};

/// Growth over the readings of one session of the collector's after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnSession {
    /// Its CPU, ms.
    pub cpu_ms: u64,
    /// The time in which its statements ran, ms.
    pub busy_ms: u64,
    /// The time between the readings by the server's clock, ms.
    pub elapsed_ms: u64,
    /// Readings paid for.
    pub readings: u64,
}

struct Reading {
    session_id: i64,
    cpu_ms: i64,
    busy_ms: i64,
    at_ms: i64,
}

/// Sums up the readings of `sys.dm_exec_sessions` in the snapshots and samples. A session tells what a reading cost in
/// the next one; what the first of a connection cost lies before.
pub fn own_session(evidence: &Evidence) -> Option<OwnSession> {
    let snapshots = evidence.before.iter().chain(&evidence.samples).chain(&evidence.after);
    let readings: Vec<Reading> = snapshots.filter_map(reading).collect();
    let mut own = OwnSession::default();
    for pair in readings.windows(2) {
        let [before, after] = pair else { continue };
        let growth = |of: fn(&Reading) -> i64| u64::try_from(of(after).checked_sub(of(before))?).ok();
        let grown =
            (growth(|reading| reading.cpu_ms), growth(|reading| reading.busy_ms), growth(|reading| reading.at_ms));
        let (Some(cpu), Some(busy), Some(elapsed)) = grown else { continue };
        if before.session_id == after.session_id {
            own.cpu_ms = own.cpu_ms.saturating_add(cpu);
            own.busy_ms = own.busy_ms.saturating_add(busy);
            own.elapsed_ms = own.elapsed_ms.saturating_add(elapsed);
            own.readings += 1;
        }
    }
    (own.readings > 0 && own.elapsed_ms > 0).then_some(own)
}

fn reading(snapshot: &Snapshot) -> Option<Reading> {
    let own = snapshot.tables.get("dm_exec_sessions")?;
    Some(Reading {
        session_id: own.integer(0, "session_id")?,
        cpu_ms: own.integer(0, "cpu_time")?,
        busy_ms: own.integer(0, "total_elapsed_time")?,
        at_ms: snapshot.tables.get("dm_os_sys_info")?.integer(0, "ms_ticks")?,
    })
}

/// Before SQL Server 2016 there are no waits by session, and those of the collector's own stay in the counters: how long
/// they can be is how long its statements ran without using the CPU.
pub fn waits_included(evidence: &Evidence) -> Option<Problem> {
    let version = evidence.server.as_ref()?.version?;
    let own = own_session(evidence).filter(|_| version < ServerVersion::V2016)?;
    let most = own.busy_ms.saturating_sub(own.cpu_ms);
    let message = format!(
        "before SQL Server 2016 the collector's own waits cannot be left out of sys.dm_os_wait_stats: they are at most {most} ms"
    );
    Some(Problem::new("own_waits_included", Severity::Info, message))
}
