//! Owns what is asked of a set of evidence: sessions of several scenarios may have been captured together, and each of them
//! asks one question.

use super::{
    auto::{self, AUTO},
    classify::{Captured, LATCH_WAITS, PAGE_LATCH_WAITS, wait_types},
    files::{self, Files},
    log_write, snapshot,
};
use crate::{
    catalog::{Catalog, sessions::Question},
    model::{EventContext, Evidence, SessionEvidence, Snapshot},
};

/// A question, and the scenario that asks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Scenario; the question's own where the evidence names none.
    pub scenario: String,
    /// Question.
    pub question: Question,
}

/// The questions by the scenarios' names, in their order, the one that the verdict answers first; without a known name by
/// the events that were captured, and without any by the counters.
pub fn asked(evidence: &Evidence, files: &Files, catalog: &Catalog) -> Vec<Asked> {
    let names = evidence.scenario.as_deref().unwrap_or_default().split('+').map(str::trim);
    let known = names.filter_map(|name| {
        let scenario = catalog.sessions.scenario(name).ok()?;
        Some(Asked { scenario: name.to_owned(), question: scenario.question })
    });
    let mut asked: Vec<Asked> = Vec::new();
    for one in known {
        if !asked.contains(&one) {
            asked.push(one);
        }
    }
    if evidence.scenario.as_deref() == Some(AUTO) {
        asked.push(Asked { scenario: AUTO.to_owned(), question: Question::Any });
    }
    if asked.is_empty() {
        let by_counters = || by_waits(evidence, catalog).or_else(|| by_tables(evidence, files));
        let question = by_events(evidence).or_else(by_counters).unwrap_or(Question::Yields);
        let scenarios = catalog.sessions.scenarios();
        let usual = scenarios.iter().find(|scenario| scenario.question == question);
        asked.push(Asked { scenario: usual.map(|scenario| scenario.name.clone()).unwrap_or_default(), question });
    }
    asked
}

/// Whether a session is evidence for a question: it was made for the scenario that asks it, or is of a file whose events are
/// of no other question.
pub fn is_of(session: &SessionEvidence, scenario: &str, question: Question) -> bool {
    match &session.scenario {
        Some(its) => its == scenario,
        // A site's own scenario may be about any events.
        None => question == Question::Waits || of_events(&session.context).is_none_or(|its| its == question),
    }
}

/// Whether a session can tell of scheduler yields: it was made for them, or is of a file whose events are of no other
/// question.
pub fn is_of_yields(session: &SessionEvidence, catalog: &Catalog) -> bool {
    let scenario = session.scenario.as_deref().and_then(|name| catalog.sessions.scenario(name).ok());
    match scenario {
        Some(scenario) => scenario.question == Question::Yields,
        None => of_events(&session.context).is_none_or(|its| its == Question::Yields),
    }
}

/// The question that events are of, where they tell.
fn of_events(context: &EventContext) -> Option<Question> {
    let waits_for = |types: &[&str]| wait_types(context).any(|wait| types.contains(&wait));
    let is = |name: &str| {
        let event = context.event.as_deref().and_then(|event| event.rsplit('.').next());
        event.is_some_and(|event| event.trim().eq_ignore_ascii_case(name))
    };
    match Captured::of(context) {
        Captured::Yields => Some(Question::Yields),
        Captured::Backoffs | Captured::BackoffWarnings => Some(Question::Spinlock),
        _ if waits_for(&LATCH_WAITS) || is("latch_suspend_end") => Some(Question::Latch),
        _ if waits_for(&PAGE_LATCH_WAITS) => Some(Question::PageLatch),
        _ if waits_for(&log_write::WAITS) => Some(Question::LogWrite),
        _ if waits_for(&snapshot::WAITS) => Some(Question::Snapshot),
        Captured::Others | Captured::Unknown => None,
    }
}

/// The question that the captured events are of: the first of these that any session is of. Every question of waits has a
/// place in the order.
fn by_events(evidence: &Evidence) -> Option<Question> {
    const ORDER: [Question; 6] = [
        Question::Yields,
        Question::Spinlock,
        Question::Latch,
        Question::PageLatch,
        Question::LogWrite,
        Question::Snapshot,
    ];
    let of = |question: &Question| evidence.sessions.iter().any(|s| of_events(&s.context) == Some(*question));
    ORDER.into_iter().find(of)
}

/// The question that the leading wait of counters without events is of.
fn by_waits(evidence: &Evidence, catalog: &Catalog) -> Option<Question> {
    let has_waits = |snapshot: &Option<Snapshot>| {
        snapshot.as_ref().is_some_and(|snapshot| snapshot.tables.contains_key("dm_os_wait_stats"))
    };
    if !evidence.sessions.is_empty() || !has_waits(&evidence.before) || !has_waits(&evidence.after) {
        return None;
    }
    let chosen = auto::choose(evidence, catalog).scenario?;
    catalog.sessions.scenario(&chosen).ok().map(|scenario| scenario.question)
}

/// Share of the I/O that is the logs' from which file statistics alone ask about the log.
const MOSTLY_LOG: f64 = 0.9;

/// The question of counters that people write down, by which tables there are: of spinlocks or latches alone; of files,
/// whether commits wait for the log where the I/O is the log's, or most of it with delayed durability or WRITELOG told of;
/// else which files are slow.
fn by_tables(evidence: &Evidence, files: &Files) -> Option<Question> {
    let last = evidence.after.as_ref()?;
    let has = |view: &str| last.tables.contains_key(view);
    if !evidence.sessions.is_empty() {
        return None;
    }
    match (has(files::VIEW), has("dm_os_spinlock_stats"), has("dm_os_latch_stats")) {
        (false, true, false) => return Some(Question::Spinlock),
        (false, false, true) => return Some(Question::Latch),
        (true, false, false) => {}
        _ => return None,
    }
    let operations = |of_log: bool| {
        let rows = files.rows.iter().flatten().filter(|row| (row.kind == "log") == of_log);
        rows.fold(0_u128, |sum, row| sum.saturating_add(row.reads.into()).saturating_add(row.writes.into()))
    };
    let holds = |view: &str, column: &str, what: &dyn Fn(&str) -> bool| {
        last.tables.get(view).is_some_and(|table| {
            let place = table.column(column);
            place.is_some_and(|place| {
                let cells = table.rows.iter().filter_map(|row| row.get(place)?.as_text());
                cells.map(str::trim).any(what)
            })
        })
    };
    let durability = holds("databases", "delayed_durability_desc", &|_| true);
    let commits = holds("dm_os_wait_stats", "wait_type", &|wait| wait == "WRITELOG");
    let (of_logs, of_others) = (operations(true) as f64, operations(false) as f64);
    let mostly = of_logs > 0.0 && of_logs >= (of_logs + of_others) * MOSTLY_LOG;
    Some(if mostly || (of_logs > of_others && (durability || commits)) {
        Question::LogWrite
    } else {
        Question::FileLatency
    })
}
