//! Owns what to do after a verdict on latches. Flags and options are named with what they cost, and never set.

use super::{
    LatchCase,
    conclusion::{Conclusion, Open},
    versions,
};
use crate::{
    analyze::{
        deltas::some_of,
        facts::Facts,
        verdict::{NO_RISK, symbols},
    },
    model::{NextStep, ServerVersion, StackClass},
};

/// The steps, the most useful first.
pub(super) fn next_steps(facts: &Facts<'_>, case: &LatchCase<'_>, conclusion: Conclusion) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let mut add = |text: &str, risk: &str| steps.push(NextStep { text: text.to_owned(), risk: risk.to_owned() });
    match conclusion {
        Conclusion::Contention => contended(facts, case, &mut add),
        Conclusion::None => add("Capture while the problem is there.", NO_RISK),
        Conclusion::Open(Open::NoCounters | Open::CountersReset | Open::NoVersions) => {
            add("Repeat the capture with the counters of waits and latches over the same time.", NO_RISK);
        }
        Conclusion::Open(Open::NotLeading) => {
            add("Capture the waits that most of the time went into (--scenario auto picks them).", NO_RISK);
        }
        Conclusion::Open(Open::Nameless | Open::Spread) => {
            add("Read the most frequent stacks of each class; repeat the capture over a steadier load.", NO_RISK);
        }
        Conclusion::Open(Open::ParallelScan) => add(
            "Look at the plans that scan in parallel: a missing index, or a degree of parallelism that is too high for the rows they read.",
            NO_RISK,
        ),
    }
    if case.seen.tally.with_stack() > 0 && case.seen.tally.with_stack() == case.seen.placed(StackClass::Unresolved) {
        let (text, risk) = symbols(facts);
        add(text, risk);
    }
    steps
}

fn contended(facts: &Facts<'_>, case: &LatchCase<'_>, add: &mut impl FnMut(&str, &str)) {
    let of_latches = facts.items_of(|session| LatchCase::has_latch_stacks(facts, session));
    let first = of_latches.into_iter().find(|item| item.class == StackClass::Latch);
    if let Some(first) = first {
        add(
            &format!(
                "Read the path of stack {} down to the statement: doing that work less often, or in fewer sessions at once, relieves the latch.",
                first.id
            ),
            NO_RISK,
        );
    }
    let subject = case.names.subject().unwrap_or_default();
    if versions::is_insert_point(subject) {
        insert_point(facts, add);
    } else if let Some(relief) = facts.catalog.latches.of(subject).and_then(|term| term.relief.as_ref()) {
        add(&relief.text, &relief.risk);
    }
    add(
        "Measure throughput (index searches a second) against the number of sessions: contention shows as more waits without more throughput.",
        NO_RISK,
    );
    if versions::is_insert_point(subject) {
        drastic(facts, add);
    }
}

fn insert_point(facts: &Facts<'_>, add: &mut impl FnMut(&str, &str)) {
    let databases = versions::versioned(facts);
    let which = if databases.is_empty() { "each database".to_owned() } else { some_of(&databases) };
    add(
        &format!(
            "Every change of a versioned row takes this latch once: change fewer rows, or each row once instead of column by column, in {which}."
        ),
        "none beyond that of any change of code",
    );
    add(
        &format!(
            "Ask whether row versioning is needed in {which}: only a load without it is free of this latch. A published test of nothing but updates lost 25 % of its throughput to versioning, mixed loads 10 to 15 %."
        ),
        "without it readers and writers block each other again, and code that relies on versions reads other rows",
    );
}

/// What changes the whole instance or database: named last, because each can cost more than the latch.
fn drastic(facts: &Facts<'_>, add: &mut impl FnMut(&str, &str)) {
    if versions::has_parallel_redo(facts) || !versions::readable_secondaries(facts).is_empty() {
        add(
            "If redo of a readable replica is what makes the versions, read the documentation of trace flag 3459, which turns parallel redo off. This program never sets it.",
            "redo of all databases of the instance runs on fewer threads, and may fall behind",
        );
    }
    let version = facts.evidence.server.as_ref().and_then(|server| server.version);
    if version.is_some_and(|version| version >= ServerVersion::V2019) {
        add(
            "Accelerated database recovery keeps row versions in the database itself, without this latch: measure it on a test server before anything else.",
            "in a published test of such updates it cost far more throughput than the latch did",
        );
    }
}
