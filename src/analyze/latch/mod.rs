//! Owns the question which latch class, other than BUFFER, tasks wait for.

pub mod classes;
pub mod conclusion;
mod findings;
mod limits;
pub mod names;
mod next_steps;
mod reasons;
pub mod versions;

pub use findings::findings;

use super::{
    classify::LATCH_WAITS,
    facts::Facts,
    findings::gate,
    sessions,
    target_waits::{self, Seen, TargetWaits, may_wait_for},
    verdict::{confidence_of, limited},
    words::percent_range,
};
use crate::model::{Finding, Gate, Interval, SessionEvidence, Verdict, VerdictKind};
use classes::Classes;
use conclusion::{Conclusion, Open, conclude};
use names::Names;

/// What the evidence holds on latches.
pub(crate) struct LatchCase<'a> {
    /// The LATCH waits.
    pub waits: Option<TargetWaits>,
    /// What the session of these waits counted.
    pub seen: Seen<'a>,
    /// The classes by the counters.
    pub classes: Option<Classes>,
    /// Who names which class.
    pub names: Names,
}

impl<'a> LatchCase<'a> {
    fn of(facts: &Facts<'a>) -> Self {
        let is_target = |wait: &str| LATCH_WAITS.contains(&wait);
        let waits = TargetWaits::of(facts, is_target);
        let classes = Classes::of(facts, waits.as_ref());
        Self {
            seen: Seen::of(facts, |session| may_wait_for(session, is_target)),
            names: Names::of(facts, classes.as_ref()),
            waits,
            classes,
        }
    }

    /// Whether a session belongs to the question and has stacks of latch waits, by either event.
    fn has_latch_stacks(facts: &Facts<'_>, session: &SessionEvidence) -> bool {
        let waits = may_wait_for(session, |wait| LATCH_WAITS.contains(&wait));
        facts.owns(session) && sessions::has_stacks(session) && (waits || Self::is_of_one_class(facts, session))
    }

    /// Whether a session belongs to the question and counts the event of one latch class.
    fn is_of_one_class(facts: &Facts<'_>, session: &SessionEvidence) -> bool {
        let event = session.context.event.as_deref().and_then(|event| event.rsplit('.').next());
        facts.owns(session) && event.is_some_and(|event| event.trim().eq_ignore_ascii_case("latch_suspend_end"))
    }

    /// The share of the class that the counters name.
    fn share(&self) -> Option<Interval> {
        let classes = self.classes.as_ref()?;
        Some(classes.share(classes.leading()?))
    }

    /// The gates, in the order in which they are shown.
    fn gates(&self, facts: &Facts<'_>) -> Vec<Gate> {
        let settings = &facts.catalog.latch.gates;
        let mut gates = target_waits::gates(self.waits.as_ref(), settings.wait_share, settings.waits);
        let (share, within) = (settings.class_share, settings.reconciled_within);
        gates.push(gate("class_share_low", self.share().map(|found| found.low), format!(">= {share}"), |low| {
            low >= share
        }));
        let apart = self.classes.as_ref().and_then(Classes::apart);
        gates.push(gate("classes_apart_from_waits", apart, format!("<= {within}"), |apart| apart <= within));
        if self.names.subject().is_some_and(versions::is_insert_point) {
            gates.push(versions::gate_of(facts));
        }
        gates
    }
}

/// The verdict. `findings` are those of the same facts.
pub fn verdict(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    let case = LatchCase::of(facts);
    let conclusion = conclude(facts, &case);
    let (confidence, limits) = match conclusion {
        Conclusion::Open(_) => (crate::model::Confidence::Low, Vec::new()),
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
        subject: case.names.subject().filter(|_| conclusion == Conclusion::Contention).map(ToOwned::to_owned),
        confidence,
        summary: summary.join(" "),
        shares: case.seen.shares.clone(),
        reasons: reasons::reasons(facts, &case, findings, &limits),
        next_steps: next_steps::next_steps(facts, &case, conclusion),
    }
}

fn summary(facts: &Facts<'_>, case: &LatchCase<'_>, conclusion: Conclusion) -> String {
    let subject = case.names.subject().unwrap_or("a class that nothing names");
    let waits = case.waits.as_ref().map_or_else(String::new, TargetWaits::in_words);
    let of_class = case.share().map_or_else(String::new, |share| {
        format!(" {} of the latch wait time is of this class.", percent_range(share.low, share.high))
    });
    match conclusion {
        Conclusion::Contention => {
            let meaning =
                facts.catalog.latches.of(subject).map_or_else(String::new, |term| format!(", {}", term.meaning));
            format!("Tasks contend for latch {subject}{meaning}. {waits}{of_class}")
        }
        Conclusion::None => {
            "There were too few waits for latches in this window to matter, and they took too little of the wait time."
                .to_owned()
        }
        Conclusion::Open(why) => why_open(case, why, subject, &waits),
    }
}

fn why_open(case: &LatchCase<'_>, why: Open, subject: &str, waits: &str) -> String {
    match why {
        Open::NoCounters => {
            let shown = case.names.subject().map_or_else(String::new, |name| format!(" The stacks show latch {name}."));
            format!("How long tasks waited for latches is not known without counters of the same time.{shown}")
        }
        Open::CountersReset => {
            "The counters of latch waits have no difference over this window, so how long tasks waited is not known."
                .to_owned()
        }
        Open::NotLeading => {
            format!("Tasks waited for latches, but that is not what most of the time went into. {waits}")
        }
        Open::Nameless => format!("Tasks waited for latches, and nothing names the class. {waits}"),
        Open::Spread => format!("Tasks waited for latches of several classes, and none of them explains it. {waits}"),
        Open::NoVersions => format!(
            "Tasks waited for latch {subject}, but no row versions were made in the window, so the counters contradict each other."
        ),
        Open::ParallelScan => format!(
            "Tasks waited for latch {subject}, which hands out the work of parallel scans, beside waits of parallel plans: this is parallelism, not contention for something shared. {waits}"
        ),
    }
}
