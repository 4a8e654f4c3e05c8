//! Owns which statements events came from: a session bucketed by query hash, joined to the cached statements.

use super::{sessions::is_missing, shares};
use crate::{
    catalog::{ShareSettings, sessions::QUERY_HASH},
    model::{Basis, Evidence, Interval, QueryRow, SessionEvidence, Share, Table},
};
use std::{cmp::Reverse, collections::BTreeMap};

/// The hash of events that no cached statement had.
pub const NO_STATEMENT: &str = "0x0000000000000000";

/// The statements of the evidence, descending.
pub fn queries(evidence: &Evidence, settings: &ShareSettings) -> Vec<QueryRow> {
    let sessions: Vec<&SessionEvidence> = evidence.sessions.iter().filter(|session| is_by_statement(session)).collect();
    of_sessions(&sessions, evidence.statements.as_ref(), settings)
}

/// Whether the target of a session counts events by the statement that they came from.
pub fn is_by_statement(session: &SessionEvidence) -> bool {
    session.bucket.as_deref().is_some_and(|bucket| bucket.eq_ignore_ascii_case(QUERY_HASH))
}

/// The statements that the events of these sessions came from, most events first. Their shares are of all events of these
/// sessions.
pub fn of_sessions(
    sessions: &[&SessionEvidence],
    statements: Option<&Table>,
    settings: &ShareSettings,
) -> Vec<QueryRow> {
    let mut events: BTreeMap<u64, u128> = BTreeMap::new();
    let (mut unreadable, mut lost) = (0_u128, Some(0_u128));
    for session in sessions {
        for slot in session.target.iter().flat_map(|target| &target.slots) {
            match hash(&slot.value) {
                Some(hash) => *events.entry(hash).or_default() += u128::from(slot.count),
                None => unreadable += u128::from(slot.count),
            }
        }
        let without_slot = shares::events_without_slot(session);
        // Once every slot is in use, events of other statements may be among those of the last ones.
        let overfull = shares::is_at_capacity(session) && without_slot.is_none();
        let missing = shares::lost_events(session, settings).filter(|_| !overfull && !is_missing(session));
        lost = lost
            .zip(missing)
            .map(|(sum, missing)| sum.saturating_add(missing).saturating_add(without_slot.unwrap_or(0).into()));
    }
    let counted = events.values().fold(0_u128, |sum, events| sum.saturating_add(*events));
    let open = lost.map(|lost| lost.saturating_add(unreadable));
    let mut rows: Vec<QueryRow> = events
        .into_iter()
        .filter(|(_, events)| *events > 0)
        .map(|(hash, events)| {
            let share = open.map(|open| {
                let total = counted.saturating_add(open) as f64;
                let possible = events.saturating_add(open) as f64 / total;
                let Interval { low, high } = shares::interval(events as f64 / total, possible, counted, settings);
                Share { low, high, basis: Basis::Events }
            });
            let query_hash = format!("0x{hash:016X}");
            let events = u64::try_from(events).unwrap_or(u64::MAX);
            with_statement(QueryRow { query_hash, events, share, ..QueryRow::default() }, statements)
        })
        .collect();
    rows.sort_by(|left, right| {
        (Reverse(left.events), &left.query_hash).cmp(&(Reverse(right.events), &right.query_hash))
    });
    rows
}

/// A hash as targets show it, a decimal number; views show it in hexadecimal.
fn hash(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned)),
    }
}

/// The row with what the cache holds of its statements: the text of the one that used most CPU, the figures of all.
fn with_statement(row: QueryRow, statements: Option<&Table>) -> QueryRow {
    let Some(table) = statements.filter(|_| row.query_hash != NO_STATEMENT) else { return row };
    let wanted = hash(&row.query_hash);
    let same = (0..table.rows.len()).filter(|at| table.text(*at, "query_hash").and_then(hash) == wanted);
    let same: Vec<usize> = same.collect();
    let figure = |at: usize, column: &str| table.integer(at, column).and_then(|figure| u64::try_from(figure).ok());
    let sum = |column: &str| same.iter().filter_map(|at| figure(*at, column)).reduce(u64::saturating_add);
    let texts =
        same.iter().filter_map(|at| Some((figure(*at, "total_worker_time"), table.text(*at, "statement_text")?)));
    QueryRow {
        statement: texts.max_by_key(|(cpu, _)| *cpu).map(|(_, text)| text.trim().to_owned()),
        executions: sum("execution_count"),
        // The view counts microseconds.
        cpu_ms: sum("total_worker_time").map(|us| us / 1_000),
        ..row
    }
}
