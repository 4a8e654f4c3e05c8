//! Owns finding `query_origin`: which statement the events came from.

use super::gate;
use crate::{
    analyze::{
        facts::Facts,
        queries::{NO_STATEMENT, is_by_statement, of_sessions},
        words::{count, counted, percent_range},
    },
    model::{Finding, QueryRow, SessionEvidence},
};

/// More than half: then no other statement can have as many.
const MOST: f64 = 0.5;
/// Characters of a statement that are shown in a sentence.
const SHOWN: usize = 120;

/// What the events show.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryOrigin {
    /// Most came from one statement.
    One(QueryRow),
    /// No statement has most of them.
    Several(QueryRow),
    /// Too little is known.
    Unknown,
}

/// The statements that the question's events came from; `None` where no session counts them.
pub fn rows(facts: &Facts<'_>) -> Option<Vec<QueryRow>> {
    let of_question = |session: &&SessionEvidence| is_by_statement(session) && facts.owns(session);
    let sessions: Vec<&SessionEvidence> = facts.evidence.sessions.iter().filter(of_question).collect();
    (!sessions.is_empty()).then(|| of_sessions(&sessions, facts.evidence.statements.as_ref(), &facts.settings().shares))
}

/// What the events of these statements show, over the whole of their intervals.
pub fn origin(rows: &[QueryRow]) -> QueryOrigin {
    let leading = rows.iter().find(|row| row.query_hash != NO_STATEMENT);
    let nameless = rows.iter().find(|row| row.query_hash == NO_STATEMENT).and_then(|row| row.share);
    match leading.and_then(|row| Some((row, row.share?))) {
        Some((row, share)) if share.low > MOST => QueryOrigin::One(row.clone()),
        Some((row, share)) if share.high <= MOST && nameless.is_none_or(|share| share.high <= MOST) => {
            QueryOrigin::Several(row.clone())
        }
        _ => QueryOrigin::Unknown,
    }
}

/// The finding, where a session counts statements.
pub(super) fn finding(facts: &Facts<'_>) -> Option<Finding> {
    let rows = rows(facts)?;
    let leading = rows.iter().find(|row| row.query_hash != NO_STATEMENT);
    let share = leading.and_then(|row| row.share);
    let (state, text) = match origin(&rows) {
        QueryOrigin::One(row) => {
            ("one_statement", format!("{} came from one statement, {}.", of_events(&row), in_words(&row)))
        }
        QueryOrigin::Several(row) => (
            "several",
            format!(
                "The events came from {}; the leading one has {}: {}.",
                counted(rows.iter().filter(|row| row.query_hash != NO_STATEMENT).count() as u64, "statement"),
                of_events(&row),
                in_words(&row)
            ),
        ),
        QueryOrigin::Unknown => ("unknown", "Which statements the events came from is not decided.".to_owned()),
    };
    Some(Finding {
        name: "query_origin".to_owned(),
        state: state.to_owned(),
        value: None,
        low: share.map(|share| share.low),
        high: share.map(|share| share.high),
        gates: vec![gate("statement_share_low", share.map(|share| share.low), format!("> {MOST}"), |low| low > MOST)],
        text: format!("{text}{}", nameless(&rows)),
    })
}

fn of_events(row: &QueryRow) -> String {
    let share = row.share.map_or_else(|| "an unknown share".to_owned(), |share| percent_range(share.low, share.high));
    format!("{share} of the events")
}

fn nameless(rows: &[QueryRow]) -> String {
    let found = rows.iter().find(|row| row.query_hash == NO_STATEMENT);
    found.map_or_else(String::new, |row| format!(" {} of no cached statement.", counted(row.events, "event")))
}

/// A statement with its hash, its text, and what the cache holds of it.
pub fn in_words(row: &QueryRow) -> String {
    let text = row.statement.as_deref().map_or_else(String::new, |text| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut shown: String = words.chars().take(SHOWN).collect();
        if shown.len() < words.len() {
            shown.push('…');
        }
        format!(" ({shown})")
    });
    let cost = match (row.executions, row.cpu_ms) {
        (Some(executions), Some(cpu)) => {
            format!(", with {} and {} ms of CPU since it was cached", counted(executions, "execution"), count(cpu))
        }
        _ => String::new(),
    };
    format!("{}{text}{cost}", row.query_hash)
}
