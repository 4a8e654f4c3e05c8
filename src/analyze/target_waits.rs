//! Owns the waits that a question is about: what the counters say of them, what the question's own event sessions counted
//! of them, and what limits a conclusion from either.

use super::{
    agreement,
    classify::wait_types,
    deltas::some_of,
    facts::Facts,
    findings::{Capacity, capacity, gate},
    measures::Continuity,
    sessions,
    shares::Tally,
    verdict::Limit,
    words::{count, counted, figure, percent, percent_range},
    wrong_symbols::Trust,
};
use crate::{
    catalog::NoContentionSettings,
    model::{Confidence, Finding, Gate, Mark, Reason, SessionEvidence, Share, StackClass, StackItem, WaitRow},
};
use std::collections::BTreeMap;

/// The counters of a question's wait types over the window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TargetWaits {
    /// Rows that grew, by wait time, descending.
    pub rows: Vec<WaitRow>,
    /// Waits of all of them.
    pub waits: u64,
    /// Their wait time.
    pub wait_ms: u64,
    /// The part of it that was spent runnable, waiting for a scheduler.
    pub signal_ms: u64,
    /// Their share of all wait time that is not idle, 0 to 1.
    pub share: f64,
    /// Waits a second; `None` where the time is not known.
    pub per_second: Option<f64>,
    /// Wait types of the question whose counters have no difference: they were reset, or the server restarted.
    pub without_difference: Vec<String>,
}

impl TargetWaits {
    /// The counters of the wait types that `is_target` names; zeros where the view was read and none of them grew, `None`
    /// where it was not read twice.
    pub fn of(facts: &Facts<'_>, is_target: impl Fn(&str) -> bool) -> Option<Self> {
        let rows = facts.deltas.waits.as_ref()?.iter().filter(|row| is_target(&row.wait_type));
        let (grown, others): (Vec<&WaitRow>, Vec<&WaitRow>) =
            rows.partition(|row| matches!(row.mark, None | Some(Mark::New)));
        let sum = |of: fn(&WaitRow) -> u64| grown.iter().fold(0_u64, |sum, row| sum.saturating_add(of(row)));
        let waits = sum(|row| row.waiting_tasks);
        Some(Self {
            waits,
            wait_ms: sum(|row| row.wait_ms),
            signal_ms: sum(|row| row.signal_ms),
            share: grown.iter().map(|row| row.share).sum::<f64>().clamp(0.0, 1.0),
            per_second: facts.measures.elapsed_ms.map(|elapsed| waits as f64 * 1_000.0 / elapsed as f64),
            without_difference: others.into_iter().map(|row| row.wait_type.clone()).collect(),
            rows: grown.into_iter().cloned().collect(),
        })
    }

    /// The wait type with most wait time.
    pub fn leading(&self) -> Option<&WaitRow> {
        self.rows.first()
    }

    /// Whether they are below both limits, by counters that hold: then there is nothing to explain.
    pub fn are_negligible(&self, settings: &NoContentionSettings) -> bool {
        self.without_difference.is_empty()
            && self.share < settings.wait_share
            && self.per_second.is_some_and(|rate| rate < settings.events_per_second)
    }

    /// Mean wait, milliseconds; `None` without waits.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.waits > 0).then(|| self.wait_ms as f64 / self.waits as f64)
    }

    /// The figures in one sentence.
    pub fn in_words(&self) -> String {
        let Some(leading) = self.leading().filter(|_| self.waits > 0) else {
            return "None of its waits grew in this window.".to_owned();
        };
        let others = match self.rows.iter().filter(|row| row.waiting_tasks > 0).count() {
            0 | 1 => String::new(),
            all => format!(" and {}", counted((all - 1) as u64, "other")),
        };
        let rate = self.per_second.map_or_else(String::new, |rate| format!(" ({} a second)", figure(rate)));
        let mean = self.mean_ms().map_or_else(String::new, |mean| format!(", {mean:.1} ms a wait"));
        format!(
            "{}{others}: {}{rate}, {} ms, {} of the wait time that is not idle{mean}.",
            leading.wait_type,
            counted(self.waits, "wait"),
            count(self.wait_ms),
            percent(self.share)
        )
    }

    /// Rows that a reason rests on, such as `waits:LATCH_EX`.
    pub fn evidence(&self) -> Vec<String> {
        const SHOWN: usize = 3;
        self.rows.iter().take(SHOWN).map(|row| format!("waits:{}", row.wait_type)).collect()
    }
}

/// The gates that every question of waits has: `wait_share`, and `waits` of the window.
pub fn gates(found: Option<&TargetWaits>, wait_share: f64, waits: u64) -> Vec<Gate> {
    vec![
        gate("wait_share", found.map(|found| found.share), format!(">= {wait_share}"), |share| share >= wait_share),
        gate("waits", found.map(|found| found.waits as f64), format!(">= {waits}"), |count| count >= waits as f64),
    ]
}

/// What the event sessions of a question counted with stacks.
#[derive(Debug, Clone)]
pub struct Seen<'a> {
    /// The sessions, those without a document included.
    pub sessions: Vec<&'a SessionEvidence>,
    /// Their events by class.
    pub tally: Tally,
    /// Shares of the classes.
    pub shares: BTreeMap<StackClass, Share>,
}

impl<'a> Seen<'a> {
    /// What the sessions counted that belong to the question asked, bucket by call stack, and are among `decides`.
    pub fn of(facts: &Facts<'a>, decides: impl Fn(&SessionEvidence) -> bool) -> Self {
        let is_of =
            |session: &SessionEvidence| facts.owns(session) && sessions::has_stacks(session) && decides(session);
        let tally = facts.tally_of(is_of);
        Self {
            sessions: facts.evidence.sessions.iter().filter(|session| is_of(session)).collect(),
            shares: tally.shares(&facts.settings().shares),
            tally,
        }
    }

    /// The interval of a class's share in words.
    pub fn share_in_words(&self, class: StackClass) -> String {
        let (low, high) = self.shares.get(&class).map_or((0.0, 1.0), |share| (share.low, share.high));
        percent_range(low, high)
    }

    /// Events of a class that is proven.
    pub fn placed(&self, class: StackClass) -> u128 {
        self.tally.placed.get(&class).copied().unwrap_or(0)
    }
}

/// Whether the events of a session are waits of these types, or may be because nothing is known of them.
pub fn may_wait_for(session: &SessionEvidence, is_target: impl Fn(&str) -> bool) -> bool {
    let mut types = wait_types(&session.context).peekable();
    if types.peek().is_none() { session.context.event.is_none() } else { types.any(is_target) }
}

/// What the stacks leave of confidence, where the counters prove the conclusion and the stacks show where it comes from.
pub fn stack_limits(facts: &Facts<'_>, seen: &Seen<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    let mut add = |most: Confidence, text: String| limits.push((most, text));
    let few = facts.settings().shares.few_events;
    let events = seen.tally.with_stack();
    if seen.sessions.is_empty() {
        add(Confidence::Low, "no event session shows where these waits come from".to_owned());
        return limits;
    }
    if seen.sessions.iter().any(|session| sessions::is_missing(session)) {
        add(Confidence::Low, "an event session was gone before its target could be read".to_owned());
    } else if !seen.tally.bounded {
        add(Confidence::Low, "what is missing from the target has no upper bound".to_owned());
    } else if events == 0 {
        add(Confidence::Low, "the event session counted nothing".to_owned());
    } else if events < u128::from(few) {
        add(Confidence::Medium, format!("{} are fewer than {}", counted(events, "event"), count(few)));
    }
    if seen.tally.unplaced > 0 {
        add(Confidence::Medium, "every slot of the target was in use".to_owned());
    }
    let unresolved = seen.placed(StackClass::Unresolved);
    if matches!(facts.trust, Trust::Wrong(_)) {
        add(Confidence::Low, "the stacks show nearest exports, so no name in them can be trusted".to_owned());
    } else if unresolved as f64 > events as f64 * (1.0 - facts.settings().shares.cpu_yield_low) {
        let text = format!("{} of {} have stacks without names", count(unresolved), counted(events, "event"));
        add(Confidence::Medium, text);
    }
    if seen.sessions.iter().any(|session| session.context.event.is_none() && session.context.wait_type.is_none()) {
        add(Confidence::Low, "the event and the wait type of the stacks are not known".to_owned());
    }
    if seen.sessions.iter().any(|session| !session.filters.is_empty()) {
        add(Confidence::Medium, "events are filtered, and the counters are the whole server's".to_owned());
    }
    limits
}

/// What the counters of these waits leave of confidence.
pub fn counter_limits(facts: &Facts<'_>, waits: Option<&TargetWaits>) -> Vec<Limit> {
    let mut limits = Vec::new();
    let Some(waits) = waits.filter(|_| facts.measures.elapsed_ms.is_some()) else {
        limits.push((Confidence::Low, "there are no counters of the same time beside the stacks".to_owned()));
        return limits;
    };
    if facts.measures.continuity != Continuity::Same {
        limits.push((Confidence::Low, "the server did not run through the window".to_owned()));
    } else if !waits.without_difference.is_empty() {
        let text = format!("the counters of {} were reset inside the window", some_of(&waits.without_difference));
        limits.push((Confidence::Low, text));
    }
    let exceeded = waits.rows.iter().find(|row| capacity(facts, &row.wait_type) == Capacity::Exceeded);
    if let Some(row) = exceeded {
        let text = format!("{} shows more wait time than all tasks can have waited in this window", row.wait_type);
        limits.push((Confidence::Low, text));
    } else if facts.measures.most_tasks.is_none() {
        limits.push((Confidence::Medium, "how many tasks can have waited is not known".to_owned()));
    }
    if agreement::difference(facts).is_some() {
        limits.push((Confidence::Medium, "events and counters differ".to_owned()));
    }
    limits
}

/// How far two sums that should be one are apart, as a share of the larger one; 0 where both are 0.
pub fn apart(left: u64, right: u64) -> f64 {
    let most = left.max(right);
    if most == 0 { 0.0 } else { left.abs_diff(right) as f64 / most as f64 }
}

/// Findings as reasons, in this order, each with further rows that it rests on.
pub fn reasons_of(findings: &[Finding], shown: Vec<(&str, Vec<String>)>) -> Vec<Reason> {
    let reason = |(name, rows): (&str, Vec<String>)| {
        let found = findings.iter().find(|finding| finding.name == name && finding.state != "unknown")?;
        let evidence = std::iter::once(format!("findings:{name}")).chain(rows).collect();
        Some(Reason { text: found.text.clone(), evidence })
    };
    shown.into_iter().filter_map(reason).collect()
}

/// The most frequent of these stacks of a class as a reason; `of` says what they are.
pub fn first_stack<'a>(mut items: impl Iterator<Item = &'a StackItem>, class: StackClass, of: &str) -> Option<Reason> {
    let item = items.find(|item| item.class == class)?;
    let area = item.area.as_deref().map_or_else(String::new, |area| format!(", in {area}"));
    Some(Reason {
        text: format!("The most frequent stack of {of} has {}{area}.", counted(item.events, "event")),
        evidence: vec![item.id.clone()],
    })
}

/// What limits the confidence as a reason, with the finding whose gates show it.
pub fn limits_as_reason(limits: &[String], finding: &str) -> Option<Reason> {
    (!limits.is_empty()).then(|| Reason {
        text: format!("Confidence is limited: {}.", limits.join("; ")),
        evidence: vec![format!("findings:{finding}")],
    })
}
