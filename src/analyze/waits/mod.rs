//! Owns the question where the waits of a site's own scenario come from. It shows them and draws no verdict beyond that
//! there is nothing to explain.

use super::{
    classify::wait_types,
    facts::Facts,
    findings::gate,
    sessions, shares,
    target_waits::{self, Seen, TargetWaits},
    verdict::{NO_RISK, confidence_of, limited},
    words::{counted, percent_range},
};
use crate::{
    catalog::WaitsSettings,
    model::{Confidence, Finding, Gate, Interval, NextStep, Reason, SessionEvidence, StackClass, Verdict, VerdictKind},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// Parts of the engine shown.
const SHOWN: usize = 3;

/// What the events of a site's scenario show.
struct WaitsCase<'a> {
    settings: WaitsSettings,
    /// `None` where its events are no waits, or the counters are not known.
    waits: Option<TargetWaits>,
    seen: Seen<'a>,
    origins: Vec<Origin>,
}

/// A part of the engine that events come from.
struct Origin {
    class: StackClass,
    area: Option<String>,
    share: Interval,
    /// The stack with most of its events.
    stack: String,
}

impl Origin {
    fn in_words(&self) -> String {
        let area = self.area.as_deref().map_or_else(String::new, |area| format!(" in {area}"));
        format!("{} class {}{area}", percent_range(self.share.low, self.share.high), self.class.name())
    }
}

impl<'a> WaitsCase<'a> {
    fn of(facts: &Facts<'a>) -> Self {
        let types = target_types(facts);
        let seen = Seen::of(facts, |_| true);
        Self {
            settings: facts.catalog.site_waits.get(&facts.scenario).cloned().unwrap_or_default(),
            waits: (!types.is_empty())
                .then(|| TargetWaits::of(facts, |wait| types.iter().any(|known| known.eq_ignore_ascii_case(wait))))
                .flatten(),
            origins: origins(facts, &seen),
            seen,
        }
    }

    fn is_negligible(&self) -> bool {
        self.waits.as_ref().is_some_and(|waits| waits.are_negligible(&self.settings.no_contention()))
    }

    fn gates(&self) -> Vec<Gate> {
        let (share, rate) = (self.settings.share_of_wait_time, self.settings.events_per_second);
        let waits = self.waits.as_ref();
        vec![
            gate("wait_share", waits.map(|waits| waits.share), format!(">= {share}"), |value| value >= share),
            gate("waits_per_second", waits.and_then(|waits| waits.per_second), format!(">= {rate}"), |value| {
                value >= rate
            }),
        ]
    }
}

/// The wait types that the scenario is about: those of its sessions, and those that it is written for.
fn target_types(facts: &Facts<'_>) -> BTreeSet<String> {
    let captured = facts.evidence.sessions.iter().filter(|session| facts.owns(session));
    let captured = captured.flat_map(|session| wait_types(&session.context)).map(ToOwned::to_owned);
    let scenario = facts.catalog.sessions.scenario(&facts.scenario).ok();
    let written = scenario.iter().flat_map(|scenario| &scenario.sessions).filter(|session| session.map == "wait_types");
    captured.chain(written.flat_map(|session| session.values.clone())).collect()
}

/// Parts of the engine by their events, most first.
fn origins(facts: &Facts<'_>, seen: &Seen<'_>) -> Vec<Origin> {
    let tally = &seen.tally;
    let with_stack = tally.with_stack();
    let mut found: BTreeMap<(StackClass, Option<String>), (u128, String)> = BTreeMap::new();
    for item in facts.items_of(|session| facts.owns(session) && sessions::has_stacks(session)) {
        let (events, _) = found.entry((item.class, item.area.clone())).or_insert_with(|| (0, item.id.clone()));
        *events = events.saturating_add(item.events.into());
    }
    let missing = tally.without_slot.saturating_add(tally.lost);
    let total = with_stack.saturating_add(missing).max(1) as f64;
    let provable = tally.bounded && tally.unplaced == 0;
    let unresolved = seen.placed(StackClass::Unresolved);
    let mut origins: Vec<(u128, Origin)> = found
        .into_iter()
        .map(|((class, area), (events, stack))| {
            let nameless = if class == StackClass::Unresolved { 0 } else { unresolved };
            let possible = events.saturating_add(missing).saturating_add(nameless) as f64 / total;
            let share = if provable {
                shares::interval(events as f64 / total, possible, with_stack, &facts.settings().shares)
            } else {
                Interval { low: 0.0, high: 1.0 }
            };
            (events, Origin { class, area, share, stack })
        })
        .collect();
    origins.sort_by_key(|(events, origin)| (Reverse(*events), origin.class, origin.area.clone()));
    origins.into_iter().map(|(_, origin)| origin).collect()
}

/// What was found, verdict or not.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let case = WaitsCase::of(facts);
    let first = case.origins.first();
    let state = match first {
        None => "unknown",
        Some(origin) if origin.class == StackClass::Unresolved => "unresolved",
        Some(origin) if origin.share.low > 0.5 => "one_area",
        Some(_) => "several",
    };
    let shown: Vec<String> = case.origins.iter().take(SHOWN).map(Origin::in_words).collect();
    let more = case.origins.len().saturating_sub(SHOWN);
    let text = match (shown.is_empty(), more) {
        (true, _) => "No stacks of these events were counted.".to_owned(),
        (false, 0) => format!("Of {}: {}.", counted(case.seen.tally.with_stack(), "event"), shown.join("; ")),
        (false, more) => format!(
            "Of {}: {}; and {}.",
            counted(case.seen.tally.with_stack(), "event"),
            shown.join("; "),
            counted(more as u64, "other part")
        ),
    };
    vec![Finding {
        name: "wait_origin".to_owned(),
        state: state.to_owned(),
        value: case.waits.as_ref().map(|waits| waits.share),
        low: first.map(|origin| origin.share.low),
        high: first.map(|origin| origin.share.high),
        gates: case.gates(),
        text,
    }]
}

/// The verdict. `findings` are those of the same facts.
pub fn verdict(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    let case = WaitsCase::of(facts);
    let negligible = case.is_negligible();
    let (confidence, limits) = if negligible {
        confidence_of(target_waits::counter_limits(facts, case.waits.as_ref()))
    } else {
        (Confidence::Low, Vec::new())
    };
    let mut summary = summary(&case, negligible);
    summary.extend(limited(confidence, &limits));
    Verdict {
        kind: if negligible { VerdictKind::NoContention } else { VerdictKind::Inconclusive },
        subject: None,
        confidence,
        summary: summary.join(" "),
        shares: case.seen.shares.clone(),
        reasons: reasons(facts, &case, findings, &limits),
        next_steps: next_steps(facts, &case, negligible),
    }
}

fn summary(case: &WaitsCase<'_>, negligible: bool) -> Vec<String> {
    if negligible {
        return vec![
            "There were too few of these waits in this window to matter, and they took too little of the wait time."
                .to_owned(),
        ];
    }
    let mut sentences = vec![
        "A scenario of the site draws no verdict: the stacks and their parts of the engine are what it shows."
            .to_owned(),
    ];
    sentences.extend(case.waits.as_ref().map(TargetWaits::in_words));
    sentences.push(match case.origins.first() {
        Some(first) => format!("Of its events, {} leads.", first.in_words()),
        None => "No stacks of these events were counted.".to_owned(),
    });
    sentences
}

fn reasons(facts: &Facts<'_>, case: &WaitsCase<'_>, findings: &[Finding], limits: &[String]) -> Vec<Reason> {
    let stacks = case.origins.iter().take(SHOWN).map(|origin| origin.stack.clone());
    let rows = case.waits.iter().flat_map(|waits| waits.evidence());
    let mut reasons = target_waits::reasons_of(findings, vec![("wait_origin", stacks.chain(rows).collect())]);
    let is_missing = |session: &&SessionEvidence| facts.owns(session) && sessions::is_missing(session);
    if let Some(session) = facts.evidence.sessions.iter().find(is_missing) {
        reasons.push(Reason {
            text: format!("Session {} was gone before its target could be read.", session.name),
            evidence: vec!["findings:wait_origin".to_owned()],
        });
    }
    reasons.extend(target_waits::limits_as_reason(limits, "wait_origin"));
    reasons
}

fn next_steps(facts: &Facts<'_>, case: &WaitsCase<'_>, negligible: bool) -> Vec<NextStep> {
    let step = |text: &str, risk: &str| vec![NextStep { text: text.to_owned(), risk: risk.to_owned() }];
    if negligible {
        return step("Capture while the problem is there.", NO_RISK);
    }
    match case.origins.first() {
        Some(first) if first.class == StackClass::Unresolved => {
            let (text, risk) = super::verdict::symbols(facts);
            step(text, risk)
        }
        Some(first) => step(&format!("Read the path of stack {} down to the statement.", first.stack), NO_RISK),
        None => step("Repeat the capture over a longer window.", NO_RISK),
    }
}
