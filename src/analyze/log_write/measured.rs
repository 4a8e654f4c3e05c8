//! Owns what the log question rests on: waits for the log, the sessions that commit, and what the log of one database did.

use crate::{
    analyze::{
        cells::{Columns, id_in, text_in},
        facts::Facts,
        target_waits::TargetWaits,
    },
    model::{DatabaseRow, FileRow, Mark, ServerVersion, WaitRow},
};
use std::collections::BTreeSet;

/// A commit waits for the flush of its log block.
pub(super) const WRITELOG: &str = "WRITELOG";
/// A task waits for room in the log buffer.
pub(super) const LOGBUFFER: &str = "LOGBUFFER";
/// A commit waits for a synchronous replica.
pub(super) const HADR_SYNC_COMMIT: &str = "HADR_SYNC_COMMIT";
/// The waits of the question.
pub const WAITS: [&str; 3] = [WRITELOG, LOGBUFFER, HADR_SYNC_COMMIT];

/// What the log files of one database did.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LogFile {
    /// Row of the report, such as `files:Orders.Orders_log`.
    pub(super) evidence: String,
    pub(super) writes: u64,
    pub(super) bytes: u64,
    pub(super) stall_ms: u64,
}

impl LogFile {
    fn of(row: &FileRow) -> Self {
        Self {
            evidence: format!("files:{}.{}", row.database, row.file),
            writes: row.writes,
            bytes: row.write_bytes,
            stall_ms: row.write_stall_ms,
        }
    }

    /// Bytes of a write.
    pub(super) fn bytes_per_write(&self) -> Option<f64> {
        (self.writes > 0).then(|| self.bytes as f64 / self.writes as f64)
    }

    /// Mean time of a write, ms.
    pub(super) fn latency_ms(&self) -> Option<f64> {
        (self.writes > 0).then(|| self.stall_ms as f64 / self.writes as f64)
    }
}

/// How far commits of a database may return before their log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Durability {
    Off,
    Allowed,
    Forced,
}

/// The figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    /// The waits of the question; `None` where they were not read twice.
    pub(super) waits: Option<TargetWaits>,
    /// Sessions that commit; `None` where none was seen in a wait for the log.
    pub(super) sessions: Option<u64>,
    /// The database with most waits for log flushes, or most writes to its log.
    pub(super) database: Option<String>,
    /// Its counters.
    pub(super) row: Option<DatabaseRow>,
    /// Its log.
    pub(super) file: Option<LogFile>,
    /// Its delayed durability.
    pub(super) durability: Option<Durability>,
    elapsed_ms: Option<u64>,
}

impl Measured {
    pub(super) fn of(facts: &Facts<'_>) -> Self {
        let waits = TargetWaits::of(facts, |wait| WAITS.contains(&wait));
        let row = busiest_database(facts);
        let files = facts.files.rows.as_deref().unwrap_or_default();
        let logs = || files.iter().filter(|row| row.kind == "log" && counts(row.mark));
        let file = match row {
            Some(database) => logs().filter(|row| is_of(row, database)).max_by_key(|row| row.writes),
            None if waits.is_none() => {
                logs().filter(|row| is_bound_by_file(facts, &LogFile::of(row))).max_by_key(|row| row.write_stall_ms)
            }
            None => None,
        };
        let file = file.or_else(|| logs().filter(|_| row.is_none()).max_by_key(|row| row.writes));
        let of_file = || {
            let file = file?;
            facts.databases.rows.as_deref()?.iter().find(|row| is_of(file, row))
        };
        let row = row.or_else(of_file);
        Self {
            sessions: committing_sessions(facts, waits.as_ref()),
            database: row.map(|row| row.database.clone()).or_else(|| file.map(|file| file.database.clone())),
            durability: row.and_then(durability).or_else(|| {
                // It came with 2014.
                let version = facts.evidence.server.as_ref()?.version?;
                (version < ServerVersion::V2014).then_some(Durability::Off)
            }),
            row: row.cloned(),
            file: file.filter(|file| file.writes > 0).map(LogFile::of),
            elapsed_ms: facts.measures.elapsed_ms,
            waits,
        }
    }

    /// One of the waits; zeros where it did not grow, `None` where it has no difference.
    fn wait(&self, wait_type: &str) -> Option<(u64, u64, u64)> {
        let waits = self.waits.as_ref()?;
        if waits.without_difference.iter().any(|name| name == wait_type) {
            return None;
        }
        let row: Option<&WaitRow> = waits.rows.iter().find(|row| row.wait_type == wait_type);
        Some(row.map_or((0, 0, 0), |row| (row.waiting_tasks, row.wait_ms, row.signal_ms)))
    }

    /// Time in one of the waits, ms.
    pub(super) fn wait_ms(&self, wait_type: &str) -> Option<u64> {
        self.wait(wait_type).map(|(_, wait_ms, _)| wait_ms)
    }

    /// Share of WRITELOG in all wait time that is not idle.
    pub(super) fn writelog_share(&self) -> Option<f64> {
        self.wait(WRITELOG)?;
        let row = self.waits.as_ref()?.rows.iter().find(|row| row.wait_type == WRITELOG);
        Some(row.map_or(0.0, |row| row.share))
    }

    /// The part of WRITELOG's time that is signal time.
    pub(super) fn signal_share(&self) -> Option<f64> {
        let (_, wait_ms, signal_ms) = self.wait(WRITELOG)?;
        (wait_ms > 0).then(|| (signal_ms as f64 / wait_ms as f64).min(1.0))
    }

    /// WRITELOG's time over elapsed x committing sessions. Where the sessions are not known, it is at most that of one;
    /// the second figure says whether it is a bound.
    pub(super) fn commit_wait_share(&self) -> Option<(f64, bool)> {
        let (wait_ms, elapsed) = self.wait_ms(WRITELOG).zip(self.elapsed_ms)?;
        let of = |sessions: u64| wait_ms as f64 / (elapsed as f64 * sessions as f64);
        match self.sessions {
            // Waits of several at a time prove that there are several, whatever the samples saw.
            Some(sessions) => Some((of(sessions.max(wait_ms.div_ceil(elapsed)).max(1)), false)),
            None => Some((of(1), true)),
        }
    }

    /// Commits that waited for a flush, of all transactions: by the database's own counters, else by the server's waits.
    pub(super) fn flushed_commits_share(&self) -> Option<f64> {
        let row = self.row.as_ref()?;
        let transactions = row.transactions.filter(|transactions| *transactions > 0)?;
        let waited = row.log_flush_waits.or_else(|| self.wait(WRITELOG).map(|(waits, _, _)| waits))?;
        Some(waited as f64 / transactions as f64)
    }

    /// Bytes of a flush: of a write to the log file, else by the counters of flushes.
    pub(super) fn bytes_per_flush(&self) -> Option<f64> {
        let by_counters = || {
            let row = self.row.as_ref()?;
            let (bytes, flushes) = row.log_bytes_flushed.zip(row.log_flushes)?;
            (flushes > 0).then(|| bytes as f64 / flushes as f64)
        };
        self.file.as_ref().and_then(LogFile::bytes_per_write).or_else(by_counters)
    }

    /// A count as a rate.
    pub(super) fn per_second(&self, count: u64) -> Option<f64> {
        self.elapsed_ms.map(|elapsed| count as f64 * 1_000.0 / elapsed as f64)
    }

    /// Time of the log's writes over the elapsed time.
    pub(super) fn write_stall_share(&self) -> Option<f64> {
        let (file, elapsed) = self.file.as_ref().zip(self.elapsed_ms)?;
        Some(file.stall_ms as f64 / elapsed as f64)
    }
}

/// Whether a log file alone shows that its writes take the time: much of it, small, and often.
pub(super) fn is_bound_by_file(facts: &Facts<'_>, file: &LogFile) -> bool {
    let (settings, gates) = (&facts.catalog.log_write.files_alone, &facts.catalog.log_write.gates);
    facts.measures.elapsed_ms.is_some_and(|elapsed| {
        file.stall_ms as f64 >= settings.write_stall_share * elapsed as f64
            && file.writes as f64 * 1_000.0 >= settings.writes_per_second * elapsed as f64
            && file.bytes_per_write().is_some_and(|bytes| bytes <= gates.bytes_per_flush as f64)
    })
}

/// The delayed durability of a database.
pub(super) fn durability(row: &DatabaseRow) -> Option<Durability> {
    match row.delayed_durability.as_deref()? {
        "DISABLED" => Some(Durability::Off),
        "ALLOWED" => Some(Durability::Allowed),
        "FORCED" => Some(Durability::Forced),
        _ => None,
    }
}

/// Whether a file belongs to a database; tables that people write may name it instead of its id.
fn is_of(file: &FileRow, database: &DatabaseRow) -> bool {
    file.database_id == database.database_id || file.database == database.database
}

fn counts(mark: Option<Mark>) -> bool {
    matches!(mark, None | Some(Mark::New))
}

fn busiest_database<'a>(facts: &'a Facts<'_>) -> Option<&'a DatabaseRow> {
    let rows = facts.databases.rows.as_deref()?.iter().filter(|row| counts(row.mark));
    let flushed = rows.filter(|row| row.log_flush_waits.is_some_and(|waits| waits > 0));
    flushed.max_by_key(|row| (row.log_flush_waits, row.log_flushes))
}

/// Sessions seen in waits for the log, over all samples.
fn committing_sessions(facts: &Facts<'_>, waits: Option<&TargetWaits>) -> Option<u64> {
    waits?;
    let mut sessions = BTreeSet::new();
    for table in facts.evidence.samples.iter().filter_map(|sample| sample.tables.get("dm_os_waiting_tasks")) {
        let columns = Columns::of(table);
        let (session, wait_type) = (columns.place(&["session_id"]), columns.place(&["wait_type"]));
        let waiting = table.rows.iter().filter(|row| text_in(row, wait_type).is_some_and(|wait| WAITS.contains(&wait)));
        sessions.extend(waiting.filter_map(|row| id_in(row, session)));
    }
    Some(sessions.len() as u64).filter(|seen| *seen > 0)
}
