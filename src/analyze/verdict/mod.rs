//! Owns the verdict: the one kind that the evidence supports, how far to trust it, and what would decide more.

mod confidence;
mod next_steps;
mod reasons;
mod spinlock;

use super::{
    auto,
    classify::YIELD_WAIT,
    facts::{Facts, Scope},
    file_latency,
    findings::{
        cpu_consumer::{all_spins, is_spinning, is_undecided},
        cpu_pressure,
        yield_origin::{Origin, origin},
    },
    latch, log_write, page_latch, question, sessions, snapshot,
    spinlock::names::wanted_by_callers,
    target_waits::TargetWaits,
    waits,
    words::{count, counted, percent, percent_range},
    wrong_symbols::Trust,
};
use crate::catalog::sessions::Question;
use crate::model::{Confidence, Finding, SessionEvidence, StackClass, Verdict, VerdictKind};

pub(in crate::analyze) use confidence::{Limit, confidence_of, limited, unmet};
pub(in crate::analyze) use next_steps::NO_RISK;
pub use next_steps::{SAY_CONTEXT, symbols};

/// Why nothing could be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecided {
    /// There was no session.
    NothingCaptured,
    /// A session was gone before its target was read.
    SessionMissing,
    /// The names are those of nearest exports.
    WrongSymbols,
    /// Sessions ran and counted nothing, and the counters do not say that there was nothing.
    NoEvents,
    /// What is missing has no upper bound: a cut document, or unknown loss.
    NoBound,
    /// Stacks have no names.
    Unresolved,
    /// The target was at capacity.
    AtCapacity,
    /// Too few events for a narrow interval.
    FewEvents,
    /// The events are of a kind that no verdict speaks of yet.
    OtherEvents,
    /// The kind of the events is unknown, and the frames alone do not tell.
    NoContext,
    /// The yields are voluntary, but the CPU was neither busy nor queued for.
    NoPressure,
    /// The interval holds more than one answer.
    WideInterval,
}

/// What is concluded, before it is put in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// Yields of threads whose quantum was over.
    CpuBound,
    /// Stacks of spinlock back-offs.
    Backoffs,
    /// Proven to be both, or something else.
    Mixed,
    /// Too little of the target wait to matter.
    NoContention,
    /// Nothing, and why.
    Inconclusive(Undecided),
}

/// The conclusion over the whole of the intervals.
pub fn conclude(facts: &Facts<'_>) -> Conclusion {
    // What is missing of another question does not touch this one.
    let decides =
        |session: &&SessionEvidence| question::is_of_yields(session, facts.catalog) && sessions::has_stacks(session);
    let missing = |facts: &Facts<'_>| facts.evidence.sessions.iter().filter(decides).any(sessions::is_missing);
    if facts.scope == Scope::Nothing {
        // Counters alone never show an origin; that there was nothing to explain they can.
        return if has_no_contention(facts) {
            Conclusion::NoContention
        } else {
            Conclusion::Inconclusive(Undecided::NothingCaptured)
        };
    }
    if missing(facts) {
        return Conclusion::Inconclusive(Undecided::SessionMissing);
    }
    if matches!(facts.trust, Trust::Wrong(_)) {
        return Conclusion::Inconclusive(Undecided::WrongSymbols);
    }
    if has_no_contention(facts) {
        return Conclusion::NoContention;
    }
    match origin(facts) {
        Origin::Voluntary if cpu_pressure::is_contradicted(facts) => Conclusion::Inconclusive(Undecided::NoPressure),
        Origin::Voluntary => Conclusion::CpuBound,
        Origin::Backoffs => Conclusion::Backoffs,
        Origin::Mixed => Conclusion::Mixed,
        Origin::Undecided => Conclusion::Inconclusive(undecided(facts)),
    }
}

/// The verdict. `findings` are those of the same facts.
pub fn verdict(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    match facts.question {
        Question::Yields => on_yields(facts, findings),
        Question::Spinlock => spinlock::verdict(facts, findings),
        Question::Latch => latch::verdict(facts, findings),
        Question::PageLatch => page_latch::verdict(facts, findings),
        Question::LogWrite => log_write::verdict(facts, findings),
        Question::Snapshot => snapshot::verdict(facts, findings),
        Question::FileLatency => file_latency::verdict(facts, findings),
        Question::Waits => waits::verdict(facts, findings),
        Question::Any => auto::verdict(&auto::choose(facts.evidence, facts.catalog)),
    }
}

fn on_yields(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    let conclusion = conclude(facts);
    let (confidence, limits) = confidence::confidence(facts, conclusion);
    let kind = match conclusion {
        Conclusion::CpuBound => VerdictKind::CpuBoundYields,
        Conclusion::Backoffs => VerdictKind::SpinlockBackoff,
        Conclusion::Mixed => VerdictKind::MixedYields,
        Conclusion::NoContention => VerdictKind::NoContention,
        Conclusion::Inconclusive(_) => VerdictKind::Inconclusive,
    };
    Verdict {
        kind,
        subject: (conclusion == Conclusion::Backoffs).then(|| top_spinlock(facts)).flatten(),
        confidence,
        summary: summary(facts, conclusion, confidence, &limits),
        shares: facts.shares.clone(),
        reasons: reasons::reasons(facts, conclusion, findings, &limits),
        next_steps: next_steps::next_steps(facts, conclusion),
    }
}

/// Yields below both limits of the settings, by counters that hold.
fn has_no_contention(facts: &Facts<'_>) -> bool {
    let waits = TargetWaits::of(facts, |wait| wait == YIELD_WAIT);
    matches!(facts.scope, Scope::Yields | Scope::Nothing)
        && waits.is_some_and(|waits| waits.are_negligible(&facts.settings().no_contention))
}

fn undecided(facts: &Facts<'_>) -> Undecided {
    let with_stack = facts.tally.with_stack();
    let unresolved = facts.tally.placed.get(&StackClass::Unresolved).copied().unwrap_or(0);
    let few = u128::from(facts.settings().shares.few_events);
    if !facts.tally.bounded {
        Undecided::NoBound
    } else if with_stack == 0 {
        Undecided::NoEvents
    } else if facts.tally.unplaced > 0 {
        Undecided::AtCapacity
    } else if unresolved as f64 > with_stack as f64 * (1.0 - facts.settings().shares.cpu_yield_low) {
        Undecided::Unresolved
    } else {
        match facts.scope {
            Scope::Others => Undecided::OtherEvents,
            Scope::Unknown if with_stack < few && only_shown(facts).is_some() => Undecided::FewEvents,
            Scope::Unknown => Undecided::NoContext,
            _ if with_stack < few => Undecided::FewEvents,
            _ if unresolved > 0 => Undecided::Unresolved,
            _ => Undecided::WideInterval,
        }
    }
}

/// What all stacks show, where their frames alone tell.
fn only_shown(facts: &Facts<'_>) -> Option<StackClass> {
    let mut classes = facts.tally.placed.iter().filter(|(_, events)| **events > 0).map(|(class, _)| *class);
    let class = classes.next().filter(|_| classes.next().is_none())?;
    (!matches!(class, StackClass::Other | StackClass::Unresolved)).then_some(class)
}

/// The spinlock with most back-offs, where there were any; else what the functions under the spinlock frames want.
fn top_spinlock(facts: &Facts<'_>) -> Option<String> {
    let rows = facts.deltas.spinlocks.as_deref().unwrap_or_default();
    let top = rows.iter().filter(|row| row.backoffs > 0).max_by_key(|row| (row.backoffs, row.spins));
    top.map(|row| row.name.clone()).or_else(|| wanted_by_callers(facts, facts.yield_items()))
}

fn summary(facts: &Facts<'_>, conclusion: Conclusion, confidence: Confidence, limits: &[String]) -> String {
    let events = count(facts.tally.with_stack());
    let (yields_low, yields_high) = facts.share(StackClass::CpuYield);
    let (spins_low, spins_high) = facts.share(StackClass::SpinlockBackoff);
    let (voluntary, backoffs) = (percent_range(yields_low, yields_high), percent_range(spins_low, spins_high));
    let mut sentences = vec![match conclusion {
        Conclusion::CpuBound => format!(
            "{voluntary} of {events} yields are voluntary: threads that ran to the end of their quantum; at most {} of them hold spinlock frames.",
            percent(spins_high)
        ),
        Conclusion::Backoffs => format!("{backoffs} of {events} events show a thread that backs off from a spinlock."),
        Conclusion::Mixed => format!(
            "Of {events} yields, {voluntary} are voluntary and {backoffs} hold spinlock frames: no single origin explains them."
        ),
        Conclusion::NoContention => {
            "There were too few scheduler yields in this window to matter, and they took too little of the wait time."
                .to_owned()
        }
        Conclusion::Inconclusive(why) => why_undecided(facts, why),
    }];
    let undecided_spins = all_spins(facts).filter(|_| is_undecided(facts));
    if let (Conclusion::CpuBound, Some(share), true) = (conclusion, undecided_spins, is_spinning(facts)) {
        sentences.push(format!(
            "At least {} of the CPU went into spinning on spinlocks: the yields show where quanta ended, not what used them up.",
            percent(share.low)
        ));
    } else if let (Conclusion::CpuBound, Some(share)) = (conclusion, undecided_spins) {
        sentences.push(format!(
            "The yields are not spinlock back-offs; whether spinning burns this CPU is not decided here: it can have taken {} of it. Throughput against CPU over several loads, or an OS CPU profile, decides it.",
            percent_range(share.low, share.high)
        ));
    }
    if conclusion == Conclusion::Backoffs && all_spins(facts).is_none() {
        sentences.push(
            "How much CPU that costs is not shown by stacks: it takes the spinlock counters of the same window."
                .to_owned(),
        );
    }
    let concludes = !matches!(conclusion, Conclusion::Inconclusive(_));
    sentences.extend(limited(confidence, limits).filter(|_| concludes));
    sentences.join(" ")
}

pub(in crate::analyze) fn confidence_name(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    }
}

/// What few events show, which is not how much of the load they are.
fn few_events(facts: &Facts<'_>) -> String {
    let with_stack = facts.tally.with_stack();
    let events = counted(with_stack, "event");
    let shown = match only_shown(facts) {
        Some(StackClass::SpinlockBackoff) => match wanted_by_callers(facts, facts.yield_items()) {
            Some(name) => format!("threads that back off from a spinlock, {name} by the function that wants it"),
            None => "threads that back off from a spinlock".to_owned(),
        },
        Some(StackClass::CpuYield) => "voluntary yields".to_owned(),
        Some(class) => format!("class `{}`", class.name()),
        None => "more than one origin".to_owned(),
    };
    let (are, their) = if with_stack == 1 { ("is", "its") } else { ("are", "their") };
    format!("{events} {are} too few to tell the origin of a load; {their} frames show {shown}.")
}

fn why_undecided(facts: &Facts<'_>, why: Undecided) -> String {
    let events = counted(facts.tally.with_stack(), "event");
    match why {
        Undecided::NothingCaptured => "No event session and no stacks were given: counters alone do not show where yields come from.".to_owned(),
        Undecided::SessionMissing => "The event session was gone before its target could be read, so where the waits came from is not known.".to_owned(),
        Undecided::WrongSymbols => "The stacks show the names of nearest exports instead of the functions that ran, so no name can be trusted.".to_owned(),
        Undecided::NoEvents => "The session ran and counted no event, and the counters do not show that there was nothing to count.".to_owned(),
        Undecided::NoBound => "What is missing from the target has no upper bound, so its shares prove nothing.".to_owned(),
        Undecided::Unresolved => format!(
            "{} of {events} have stacks without names, so where they come from is not known; symbols decide it.",
            count(facts.tally.placed.get(&StackClass::Unresolved).copied().unwrap_or(0))
        ),
        Undecided::AtCapacity => "Every slot of the target was in use, so it is not known which stacks the events belong to.".to_owned(),
        Undecided::FewEvents => few_events(facts),
        Undecided::OtherEvents => "These events are not scheduler yields: their stacks are shown, and no verdict is drawn from them.".to_owned(),
        Undecided::NoContext => "Which event and wait type these stacks belong to is not known, and their frames alone do not tell.".to_owned(),
        Undecided::NoPressure => "The yields are voluntary, but SQL Server used little CPU and no task queued for it: a shortage of CPU does not explain these waits.".to_owned(),
        Undecided::WideInterval => "The possible shares are too far apart for one answer.".to_owned(),
    }
}
