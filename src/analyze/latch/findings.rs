//! Owns the findings on latches: `latch_contention`, `latch_class`, and `row_versions`.

use super::{
    LatchCase,
    classes::Classes,
    conclusion::{Conclusion, conclude},
    names::Agreement,
    versions,
};
use crate::{
    analyze::{
        facts::Facts,
        target_waits::TargetWaits,
        words::{count, figure, percent},
    },
    model::Finding,
};

/// What was found, verdict or not.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let case = LatchCase::of(facts);
    let mut findings = vec![contention(facts, &case), class(facts, &case)];
    let about_versions = case.names.subject().is_some_and(versions::is_insert_point);
    if about_versions || facts.databases.versions_generated_kb.is_some() {
        findings.push(versions::finding(facts));
    }
    findings
}

fn contention(facts: &Facts<'_>, case: &LatchCase<'_>) -> Finding {
    let state = match conclude(facts, case) {
        Conclusion::Contention => "contention",
        Conclusion::None => "none",
        Conclusion::Open(_) => "open",
    };
    let mut sentences =
        vec![case.waits.as_ref().map_or_else(|| "Waits are not known.".to_owned(), TargetWaits::in_words)];
    sentences.extend(case.classes.as_ref().map(classes));
    let work = [
        (facts.databases.index_searches_per_second, "index searches"),
        (facts.measures.batch_requests_per_second, "batch requests"),
    ];
    let work: Vec<String> =
        work.into_iter().filter_map(|(rate, what)| Some(format!("{} {what} a second", figure(rate?)))).collect();
    if !work.is_empty() {
        sentences.push(format!("The server did {} meanwhile.", work.join(" and ")));
    }
    let share = case.share();
    Finding {
        name: "latch_contention".to_owned(),
        state: state.to_owned(),
        value: case.waits.as_ref().map(|waits| waits.share),
        low: share.map(|share| share.low),
        high: share.map(|share| share.high),
        gates: case.gates(facts),
        text: sentences.join(" "),
    }
}

fn classes(classes: &Classes) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = classes
        .rows
        .iter()
        .take(SHOWN)
        .filter(|row| row.wait_ms > 0)
        .map(|row| format!("{} {} ms ({})", row.latch_class, count(row.wait_ms), percent(row.share)))
        .collect();
    if shown.is_empty() {
        return "No latch class other than BUFFER grew.".to_owned();
    }
    format!("By class, without BUFFER: {}.", shown.join(", "))
}

fn class(facts: &Facts<'_>, case: &LatchCase<'_>) -> Finding {
    let names = &case.names;
    let state = match names.agreement(facts) {
        Agreement::Agree => "agree",
        Agreement::CountersOnly => "counters_only",
        Agreement::WithoutCounters => "without_counters",
        Agreement::Disagree => "disagree",
        Agreement::Nobody => "unknown",
    };
    let named = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
    let share = case.share();
    Finding {
        name: "latch_class".to_owned(),
        state: state.to_owned(),
        value: None,
        low: share.map(|share| share.low),
        high: share.map(|share| share.high),
        gates: Vec::new(),
        text: format!(
            "Named by most wait time: {}; by the functions that wait: {}; by the latch's own event: {}.",
            named(&names.by_counters),
            named(&names.by_frames),
            named(&names.by_event)
        ),
    }
}
