//! Owns the way from evidence to a report: classify, merge, difference, weigh, conclude. Pure: the same evidence and
//! catalogue give the same report, whatever the machine, and every input gives one.

mod agreement;
pub mod auto;
pub mod cache;
mod cells;
pub mod classify;
pub mod combine;
pub mod databases;
pub mod deltas;
pub mod examples;
pub mod facts;
pub mod file_latency;
pub mod files;
pub mod findings;
pub mod frames;
pub mod latch;
pub mod log_write;
mod maintenance;
pub mod measures;
pub mod merge;
pub mod own_session;
pub mod page_latch;
pub mod pages;
mod parallel;
pub mod queries;
pub mod question;
pub mod sessions;
pub mod shares;
pub mod snapshot;
pub mod spinlock;
pub mod target_waits;
pub mod verdict;
pub mod waits;
pub mod words;
pub mod wrong_symbols;

pub use combine::combine;

use crate::{
    catalog::{Catalog, sessions::Question},
    model::{
        Answer, Capture, ClassTotal, Evidence, Problem, Report, SCHEMA, SessionEvidence, Severity, StackClass,
        StackItem, Stacks, Tool, VerdictKind,
    },
};
use cache::StackCache;
use classify::{Captured, YIELD_WAIT};
use facts::{Facts, Scope};
use merge::{Located, MergedStack};
use shares::Tally;
use spinlock::{Backoffs, types::Types};
use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};
use words::counted;
use wrong_symbols::{Trust, trust};

/// The report of the evidence.
pub fn analyze(evidence: &Evidence, catalog: &Catalog, tool: Tool) -> Report {
    let asked_for = &evidence.sessions;
    let evidence = &of_created_sessions(evidence);
    let settings = &catalog.sos_yield;
    let located = locate(&evidence.sessions);
    let trust = trust(located.iter().map(|located| located.stack));
    let cache = StackCache::new(catalog, matches!(trust, Trust::Wrong(_)));
    let merged = merge::merge(&located, &cache);
    let items = merge::items(&merged);

    let measures = measures::measures(evidence, &settings.gates);
    let files = files::files(evidence, &measures);
    let asked = question::asked(evidence, &files, catalog);
    let of_yields = |session: &SessionEvidence| question::is_of_yields(session, catalog);
    let scope = scope(&evidence.sessions, of_yields);
    let in_scope = |session: &SessionEvidence| of_yields(session) && scope.holds(Captured::of(&session.context));
    let tally = tally(&evidence.sessions, in_scope, &located, &cache);
    let backoffs = backoffs(evidence, &located, &cache);
    let (before, after) = (evidence.before.as_ref(), evidence.after.as_ref());
    let deltas = deltas::deltas(before, after, &measures, &catalog.waits, &settings.spins);
    let shares = tally.shares(&settings.shares);
    let (question, scenario) =
        asked.first().map_or((Question::Yields, String::new()), |first| (first.question, first.scenario.clone()));
    let slots = classes_by_session(&evidence.sessions, &located, &cache);
    let databases = databases::databases(evidence, &measures);
    let pages = pages::pages(evidence, &settings.shares).rows;
    let queries = queries::queries(evidence, &settings.shares);
    let mut facts = Facts {
        evidence,
        question,
        scenario: scenario.clone(),
        catalog,
        measures,
        deltas,
        items,
        scope,
        tally,
        shares,
        backoffs,
        trust,
        slots,
        files,
        databases,
        pages,
        queries,
    };

    let findings = findings::findings(&facts, &asked);
    let verdict = verdict::verdict(&facts, &findings);
    let mut differences: Vec<Problem> = agreement::problem(&facts).into_iter().collect();
    let mut further = Vec::new();
    for other in asked.iter().skip(1) {
        facts.question = other.question;
        facts.scenario.clone_from(&other.scenario);
        further.push(Answer { scenario: other.scenario.clone(), verdict: verdict::verdict(&facts, &findings) });
        differences.extend(agreement::problem(&facts));
    }
    facts.question = question;
    facts.scenario = scenario;
    let problems = problems(&facts, &merged, verdict.kind, differences);
    let stacks = stacks(&merged, facts.items.clone());
    Report {
        schema: SCHEMA.to_owned(),
        tool,
        capture: Capture {
            id: evidence.id.clone(),
            scenario: evidence.scenario.clone(),
            server: evidence.server.clone(),
            window: evidence.window,
            sessions: asked_for.iter().map(sessions::report).collect(),
            trace_flags: evidence.trace_flags.clone(),
            problems,
        },
        verdict,
        further,
        findings,
        stacks,
        waits: facts.deltas.waits.unwrap_or_default(),
        latches: facts.deltas.latches.unwrap_or_default(),
        spinlocks: facts.deltas.spinlocks.unwrap_or_default(),
        files: facts.files.rows.unwrap_or_default(),
        databases: facts.databases.rows.unwrap_or_default(),
        pages: facts.pages,
        queries: facts.queries,
    }
}

/// The evidence without sessions that never were: nothing is missing of them, and nothing follows from them.
fn of_created_sessions(evidence: &Evidence) -> Cow<'_, Evidence> {
    if evidence.sessions.iter().all(sessions::was_created) {
        return Cow::Borrowed(evidence);
    }
    let mut of_created = evidence.clone();
    of_created.sessions.retain(sessions::was_created);
    Cow::Owned(of_created)
}

/// Every stack with its place. Pasted stacks of a session count on after its target's slots. Values of a target that
/// buckets by another field are no stacks.
fn locate(sessions: &[SessionEvidence]) -> Vec<Located<'_>> {
    let mut located = Vec::new();
    for (document, session) in sessions.iter().enumerate().filter(|(_, session)| sessions::has_stacks(session)) {
        let context = &session.context;
        let slots = session.target.iter().flat_map(|target| &target.slots);
        located.extend(slots.map(|slot| Located {
            document,
            slot: slot.index,
            count: slot.count,
            context,
            stack: &slot.stack,
        }));
        let first = session.target.as_ref().map_or(0, |target| target.slots.len());
        let pasted = session.pasted.iter().enumerate();
        located.extend(pasted.map(|(index, pasted)| Located {
            document,
            slot: first + index,
            count: pasted.count,
            context,
            stack: &pasted.stack,
        }));
    }
    located
}

/// Yields decide where any session counts their stacks; the rest is judged by its frames where its kind is not known.
fn scope(sessions: &[SessionEvidence], of_yields: impl Fn(&SessionEvidence) -> bool) -> Scope {
    let captured: Vec<Captured> = sessions
        .iter()
        .filter(|session| sessions::has_stacks(session) && of_yields(session))
        .map(|session| Captured::of(&session.context))
        .collect();
    if captured.is_empty() {
        Scope::Nothing
    } else if captured.contains(&Captured::Yields) {
        Scope::Yields
    } else if captured.contains(&Captured::Unknown) {
        Scope::Unknown
    } else {
        Scope::Others
    }
}

/// What the sessions of spinlock back-offs counted.
fn backoffs(evidence: &Evidence, located: &[Located<'_>], cache: &StackCache<'_>) -> Backoffs {
    let settings = &cache.catalog().sos_yield.shares;
    let backs_off = |session: &SessionEvidence| Captured::of(&session.context) == Captured::Backoffs;
    let tally = tally(&evidence.sessions, backs_off, located, cache);
    Backoffs { types: Types::of(evidence, settings), shares: tally.shares(settings), tally }
}

/// The events of some sessions with stacks, by class.
fn tally(
    sessions: &[SessionEvidence],
    counts: impl Fn(&SessionEvidence) -> bool,
    located: &[Located<'_>],
    cache: &StackCache<'_>,
) -> Tally {
    let slots = classes_by_session(sessions, located, cache);
    let mut tally = Tally::default();
    for (session, slots) in sessions.iter().zip(&slots) {
        if sessions::has_stacks(session) && counts(session) {
            tally.add(session, slots, &cache.catalog().sos_yield.shares);
        }
    }
    tally
}

/// Classes and events of each session's slots.
fn classes_by_session(
    sessions: &[SessionEvidence],
    located: &[Located<'_>],
    cache: &StackCache<'_>,
) -> Vec<Vec<(StackClass, u64)>> {
    let mut slots: Vec<Vec<(StackClass, u64)>> = vec![Vec::new(); sessions.len()];
    for Located { document, context, stack, count, .. } in located {
        let class = cache.classification(context, stack, &cache.merge_ids(&stack.frames)).class;
        if let Some(slots) = slots.get_mut(*document) {
            slots.push((class, *count));
        }
    }
    slots
}

fn stacks(merged: &[MergedStack], items: Vec<StackItem>) -> Stacks {
    let mut by_class: BTreeMap<(StackClass, Option<&str>), u128> = BTreeMap::new();
    for stack in merged {
        let key = (stack.classification.class, stack.classification.area.as_deref());
        let events = by_class.entry(key).or_default();
        *events = events.saturating_add(stack.events);
    }
    let total: u128 = by_class.values().fold(0, |sum, events| sum.saturating_add(*events));
    let unresolved = by_class.iter().filter(|((class, _), _)| *class == StackClass::Unresolved);
    let unresolved: u128 = unresolved.fold(0, |sum, (_, events)| sum.saturating_add(*events));
    let mut classes: Vec<((StackClass, Option<&str>), u128)> = by_class.into_iter().collect();
    classes.sort_by_key(|(key, events)| (Reverse(*events), *key));
    let share = |events: u128| if total == 0 { 0.0 } else { events as f64 / total as f64 };
    Stacks {
        total_events: held(total),
        distinct: items.len() as u64,
        unresolved_events: held(unresolved),
        classes: classes
            .into_iter()
            .map(|((class, area), events)| ClassTotal {
                class,
                area: area.map(ToOwned::to_owned),
                events: held(events),
                share: share(events),
            })
            .collect(),
        items,
    }
}

/// A sum at the end of its range where it goes beyond; [`deltas::count_overflow`] says so.
fn held(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

/// Everything that went other than it should have: while collecting, in the documents, and in what they show.
fn problems(facts: &Facts<'_>, merged: &[MergedStack], kind: VerdictKind, differences: Vec<Problem>) -> Vec<Problem> {
    let mut problems = facts.evidence.problems.clone();
    problems.extend(facts.evidence.sessions.iter().flat_map(sessions::problems));
    problems.extend(facts.deltas.problems.iter().cloned());
    problems.extend(facts.files.problems.iter().cloned());
    problems.extend(facts.databases.problems.iter().cloned());
    problems.extend(differences);
    problems.extend(agreement::coverage_problem(facts));
    problems.extend(own_session::waits_included(facts.evidence));
    problems.extend(symbol_problems(facts, merged, kind));
    problems.extend(spinlock_in_yield(facts));
    problems.extend(missing_evidence(facts));
    if merged.iter().fold(0_u128, |sum, stack| sum.saturating_add(stack.events)) > u128::from(u64::MAX) {
        problems.push(deltas::count_overflow());
    }
    let mut seen = BTreeSet::new();
    problems.retain(|problem| seen.insert((problem.code.clone(), problem.message.clone())));
    problems
}

/// What there is no evidence of at all.
fn missing_evidence(facts: &Facts<'_>) -> Option<Problem> {
    let counters = facts.evidence.before.is_some() && facts.evidence.after.is_some();
    let said = facts.evidence.problems.iter().any(|problem| problem.code == "counters_only");
    if facts.evidence.sessions.is_empty() {
        // The capture itself may have said so, and why.
        // These ask nothing that takes stacks.
        let takes_stacks = !matches!(facts.question, Question::FileLatency | Question::Any);
        return (counters && !said && takes_stacks).then(|| {
            Problem::new("counters_only", Severity::Partial, "there are counters, and no stacks beside them")
        });
    }
    (facts.question == Question::Yields && facts.scope == Scope::Unknown).then(|| {
        Problem::new("context_unknown", Severity::Info, "which event and wait type the stacks belong to is not known")
            .with_hint(verdict::SAY_CONTEXT)
    })
}

fn symbol_problems(facts: &Facts<'_>, merged: &[MergedStack], kind: VerdictKind) -> Vec<Problem> {
    let (hint, _) = verdict::symbols(facts);
    match &facts.trust {
        Trust::Wrong(why) => {
            let message = format!("the stacks show nearest exports, not the functions that ran: {why}");
            return vec![Problem::new("wrong_symbols", Severity::Partial, message).with_hint(hint)];
        }
        Trust::Suspect(why) => {
            return vec![Problem::new("symbols_suspect", Severity::Warning, format!("names may be wrong: {why}"))];
        }
        Trust::Trusted => {}
    }
    let nameless = merged.iter().filter(|stack| stack.classification.class == StackClass::Unresolved);
    let events = nameless.fold(0_u128, |sum, stack| sum.saturating_add(stack.events));
    if events == 0 {
        return Vec::new();
    }
    // Where the verdict holds whatever they are, nothing that decides is missing.
    let severity = if kind == VerdictKind::Inconclusive { Severity::Partial } else { Severity::Warning };
    let message =
        format!("{} with unresolved frames in the stack where its class is looked for", counted(events, "event"));
    vec![Problem::new("unresolved_frames", severity, message).with_hint(hint)]
}

fn spinlock_in_yield(facts: &Facts<'_>) -> Option<Problem> {
    let events = facts.tally.placed.get(&StackClass::SpinlockBackoff).copied().unwrap_or(0);
    (facts.scope == Scope::Yields && events > 0).then(|| {
        Problem::new(
            "spinlock_in_yield",
            Severity::Warning,
            format!(
                "{} of {YIELD_WAIT} with spinlock frames, which no published evidence shows",
                counted(events, "event")
            ),
        )
        .with_hint("look at these stacks: either symbols are wrong, or this build records back-offs as yields")
    })
}
