//! Owns the question which pages in memory tasks wait for. PAGEIOLATCH, the wait for a page to be read from disk, is never
//! counted.

pub mod hot;
mod limits;
mod next_steps;

use super::{
    classify::PAGE_LATCH_WAITS,
    deltas::is_of_pages,
    facts::Facts,
    findings::gate,
    pages::{self, Pages},
    sessions,
    target_waits::{self, Seen, TargetWaits, apart, may_wait_for},
    verdict::{confidence_of, limited},
    words::percent_range,
};
use crate::model::{Confidence, Finding, Gate, Mark, Reason, SessionEvidence, StackClass, Verdict, VerdictKind};
use hot::Hot;

/// Why the page question is not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// How long tasks waited is not known.
    NoCounters,
    /// The counters have no difference over the window.
    CountersReset,
    /// Pages were waited for, but too seldom or too short to be what the server waits for.
    NotLeading,
}

/// What the evidence supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// Pages are contended.
    Contention,
    /// Too few and too short waits to matter.
    None,
    /// Neither.
    Open(Open),
}

/// What the evidence holds on pages.
pub(crate) struct PageCase<'a> {
    /// The PAGELATCH waits.
    pub waits: Option<TargetWaits>,
    /// What the session of these waits counted with stacks.
    pub seen: Seen<'a>,
    /// The pages.
    pub pages: Pages,
}

impl<'a> PageCase<'a> {
    fn of(facts: &Facts<'a>) -> Self {
        let is_target = |wait: &str| PAGE_LATCH_WAITS.contains(&wait);
        Self {
            waits: TargetWaits::of(facts, is_target),
            seen: Seen::of(facts, |session| may_wait_for(session, is_target)),
            pages: pages::pages(facts.evidence, &facts.settings().shares),
        }
    }

    /// Whether a session belongs to the question and has stacks of waits for pages.
    fn has_page_stacks(facts: &Facts<'_>, session: &SessionEvidence) -> bool {
        let waits = may_wait_for(session, |wait| PAGE_LATCH_WAITS.contains(&wait));
        facts.owns(session) && sessions::has_stacks(session) && waits
    }

    /// How far latch class BUFFER and the waits for pages, in memory and from disk, are apart in wait time.
    fn apart_from_buffer(facts: &Facts<'_>) -> Option<f64> {
        let buffer = facts.deltas.latches.as_ref()?.iter().find(|row| is_of_pages(row))?;
        let of_pages =
            TargetWaits::of(facts, |wait| wait.starts_with("PAGELATCH_") || wait.starts_with("PAGEIOLATCH_"))?;
        let holds = matches!(buffer.mark, None | Some(Mark::New)) && of_pages.without_difference.is_empty();
        holds.then(|| apart(buffer.wait_ms, of_pages.wait_ms))
    }

    /// The gates, in the order in which they are shown.
    fn gates(&self, facts: &Facts<'_>) -> Vec<Gate> {
        let settings = &facts.catalog.page_latch.gates;
        let mut gates = target_waits::gates(self.waits.as_ref(), settings.wait_share, settings.waits);
        let database = hot::leading_database(facts, self).map(|(_, share)| share.low);
        let (share, within) = (settings.database_share_low, settings.reconciled_within);
        gates.push(gate("database_share_low", database, format!(">= {share}"), |low| low >= share));
        let apart = Self::apart_from_buffer(facts);
        gates.push(gate("buffer_apart_from_waits", apart, format!("<= {within}"), |apart| apart <= within));
        gates
    }

    /// The database that the hot pages are of.
    fn subject(&self, facts: &Facts<'_>) -> Option<String> {
        let needed = facts.catalog.page_latch.gates.database_share_low;
        let (name, share) = hot::leading_database(facts, self)?;
        (share.low >= needed).then_some(name)
    }
}

fn conclude(facts: &Facts<'_>, case: &PageCase<'_>) -> Conclusion {
    let Some(waits) = case.waits.as_ref().filter(|_| facts.measures.elapsed_ms.is_some()) else {
        return Conclusion::Open(Open::NoCounters);
    };
    if waits.are_negligible(&facts.catalog.page_latch.no_contention) {
        return Conclusion::None;
    }
    if !waits.without_difference.is_empty() {
        return Conclusion::Open(Open::CountersReset);
    }
    let leads = |gate: &Gate| !["wait_share", "waits"].contains(&gate.name.as_str()) || gate.met;
    if case.gates(facts).iter().all(leads) { Conclusion::Contention } else { Conclusion::Open(Open::NotLeading) }
}

/// What was found, verdict or not.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let case = PageCase::of(facts);
    let state = match conclude(facts, &case) {
        Conclusion::Contention => "contention",
        Conclusion::None => "none",
        Conclusion::Open(_) => "open",
    };
    let contention = Finding {
        name: "page_latch_contention".to_owned(),
        state: state.to_owned(),
        value: case.waits.as_ref().map(|waits| waits.share),
        low: None,
        high: None,
        gates: case.gates(facts),
        text: case.waits.as_ref().map_or_else(|| "Waits are not known.".to_owned(), TargetWaits::in_words),
    };
    vec![contention, hot::finding(facts, &case)]
}

/// The verdict. `findings` are those of the same facts.
pub fn verdict(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    let case = PageCase::of(facts);
    let conclusion = conclude(facts, &case);
    let (confidence, limits) = match conclusion {
        Conclusion::Open(_) => (Confidence::Low, Vec::new()),
        _ => confidence_of(limits::limits(facts, &case, conclusion)),
    };
    let mut summary = vec![summary(facts, &case, conclusion)];
    summary.extend(limited(confidence, &limits));
    Verdict {
        kind: match conclusion {
            Conclusion::Contention => VerdictKind::LatchContention,
            Conclusion::None => VerdictKind::NoContention,
            Conclusion::Open(_) => VerdictKind::Inconclusive,
        },
        subject: case.subject(facts).filter(|_| conclusion == Conclusion::Contention),
        confidence,
        summary: summary.join(" "),
        shares: case.seen.shares.clone(),
        reasons: reasons(facts, &case, findings, &limits),
        next_steps: next_steps::next_steps(facts, &case, conclusion),
    }
}

fn summary(facts: &Facts<'_>, case: &PageCase<'_>, conclusion: Conclusion) -> String {
    let waits = case.waits.as_ref().map_or_else(String::new, TargetWaits::in_words);
    match conclusion {
        Conclusion::Contention => format!("{} {waits}", contended(facts, case)),
        Conclusion::None => {
            "There were too few waits for pages in memory to matter, and they took too little of the wait time."
                .to_owned()
        }
        Conclusion::Open(Open::NoCounters) => {
            "How long tasks waited for pages in memory is not known without counters of the same time.".to_owned()
        }
        Conclusion::Open(Open::CountersReset) => {
            "The counters of waits for pages have no difference over this window, so how long tasks waited is not known."
                .to_owned()
        }
        Conclusion::Open(Open::NotLeading) => format!(
            "Tasks waited for pages in memory, but that is not what most of the time went into. {waits}"
        ),
    }
}

fn contended(facts: &Facts<'_>, case: &PageCase<'_>) -> String {
    let page = hot::leading_page(facts, case);
    let share = |share: crate::model::Interval| percent_range(share.low, share.high);
    match (hot::hot(facts, case), page) {
        (Hot::TempdbAllocation, _) => format!(
            "Tasks contend for the allocation pages of tempdb: {} of the waits are for them.",
            share(hot::allocation_share(facts, case))
        ),
        (Hot::LastPageInsert, Some((row, its))) => format!(
            "Sessions insert rows into one and the same page, {}: {} of the waits are for it.",
            hot::in_words(row),
            share(its)
        ),
        (Hot::Page, Some((row, its))) => format!(
            "Tasks contend for one page, {} ({}): {} of the waits are for it.",
            hot::in_words(row),
            row.page_type,
            share(its)
        ),
        (_, Some((row, its))) => format!(
            "Tasks contend for pages in memory, and no page leads: {} has {} of the waits.",
            hot::in_words(row),
            share(its)
        ),
        (_, None) => "Tasks contend for pages in memory; which ones is not known.".to_owned(),
    }
}

fn reasons(facts: &Facts<'_>, case: &PageCase<'_>, findings: &[Finding], limits: &[String]) -> Vec<Reason> {
    let rows = case.waits.iter().flat_map(|waits| waits.evidence()).collect();
    let shown = vec![("page_latch_contention", rows), ("hot_pages", Vec::new())];
    let mut reasons = target_waits::reasons_of(findings, shown);
    let stacks = facts.items_of(|session| PageCase::has_page_stacks(facts, session));
    reasons.extend(target_waits::first_stack(stacks, StackClass::Latch, "waits for pages"));
    reasons.extend(target_waits::limits_as_reason(limits, "page_latch_contention"));
    reasons
}
