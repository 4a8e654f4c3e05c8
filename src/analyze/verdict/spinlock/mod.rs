//! Owns the verdict on the spinlock question.

mod limits;
mod next_steps;
mod reasons;

use super::{confidence_of, limited};
use crate::{
    analyze::{
        facts::Facts,
        findings::other_event_sessions,
        spinlock::{
            conclusion::{Conclusion, Open, conclude},
            names::{self, Names},
            sessions_of, warnings,
        },
        words::{count, counted, percent, percent_range},
    },
    model::{Confidence, Finding, Verdict, VerdictKind},
};

/// The verdict. `findings` are those of the same facts.
pub(super) fn verdict(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    let conclusion = conclude(facts);
    let names = Names::of(facts);
    let (confidence, limits) = match conclusion {
        Conclusion::Open(_) => (Confidence::Low, Vec::new()),
        Conclusion::None => confidence_of(limits::of_none(facts)),
        Conclusion::Contention => confidence_of(limits::of_contention(facts, &names)),
    };
    Verdict {
        kind: match conclusion {
            Conclusion::Contention => VerdictKind::SpinlockBackoff,
            Conclusion::None => VerdictKind::NoContention,
            Conclusion::Open(_) => VerdictKind::Inconclusive,
        },
        subject: names.subject().filter(|_| conclusion == Conclusion::Contention).map(ToOwned::to_owned),
        confidence,
        summary: summary(facts, &names, conclusion, confidence, &limits),
        shares: facts.backoffs.shares.clone(),
        reasons: reasons::reasons(facts, &names, findings, &limits),
        next_steps: next_steps::next_steps(facts, &names, conclusion),
    }
}

fn summary(
    facts: &Facts<'_>,
    names: &Names,
    conclusion: Conclusion,
    confidence: Confidence,
    limits: &[String],
) -> String {
    let mut sentences = vec![match conclusion {
        Conclusion::Contention => contention(facts, names),
        Conclusion::None => {
            "There were too few spinlock back-offs in this window to matter, and spins took too little of the CPU."
                .to_owned()
        }
        Conclusion::Open(why) => why_open(facts, names, why),
    }];
    if warnings(facts) > 0 {
        sentences.push("Threads went about 5 seconds without getting a spinlock: this is critical.".to_owned());
    }
    if conclusion == Conclusion::Contention && is_of_an_event_session(facts, names) {
        sentences.push("That spinlock belongs to Extended Events: an event session's own cost is seen.".to_owned());
    }
    let suspects = other_event_sessions::suspects(facts);
    if let (Conclusion::Contention, [first, ..]) = (conclusion, suspects.as_slice()) {
        sentences.push(format!("Another event session, {first}, ran in the window and can be what causes it."));
    }
    sentences.extend(limited(confidence, limits));
    sentences.join(" ")
}

fn contention(facts: &Facts<'_>, names: &Names) -> String {
    let Some(subject) = names.subject() else {
        let events = facts.backoffs.tally.with_stack();
        return format!(
            "{} shows a thread that backs off from a spinlock, which nothing in the evidence names.",
            if events == 1 { "1 event".to_owned() } else { format!("Each of {} events", count(events)) }
        );
    };
    let share = facts.backoffs.types.top().filter(|top| top.name.as_deref() == Some(subject)).and_then(|top| top.share);
    let of_events = share.map_or_else(String::new, |share| {
        format!(" {} of the back-off events are of its type.", percent_range(share.low, share.high))
    });
    match names::row(facts, subject) {
        Some(row) => {
            let cost = row.spin_cpu_share.map_or_else(
                || ", whose share of the CPU is not known".to_owned(),
                |share| {
                    if share.low >= 1.0 {
                        // Then the assumed cycles per spin are too many, and nothing below all is proven either.
                        return ", so many that they can have taken all of the CPU".to_owned();
                    }
                    format!(", at least {} and at most {} of the CPU", percent(share.low), percent(share.high))
                },
            );
            format!(
                "Threads contend for spinlock {subject}: {} ({} a collision){cost}.{of_events}",
                counted(row.spins, "spin"),
                count(row.spins_per_collision)
            )
        }
        None => format!(
            "Threads back off from spinlock {subject}; how much CPU that costs takes its counters of the same window.{of_events}"
        ),
    }
}

fn is_of_an_event_session(facts: &Facts<'_>, names: &Names) -> bool {
    names.subject().and_then(|name| facts.catalog.spinlocks.of(name)).is_some_and(|term| term.observer)
}

fn why_open(facts: &Facts<'_>, names: &Names, why: Open) -> String {
    match why {
        Open::NothingCaptured => {
            "No session of spinlock back-offs was given: counters alone do not show who wants the spinlock.".to_owned()
        }
        Open::SessionMissing => {
            "The event session was gone before its target could be read, so which spinlock it was is not known."
                .to_owned()
        }
        Open::NoEvents => {
            "The session ran and counted no back-off, and the counters do not show that there was nothing to count."
                .to_owned()
        }
        Open::NothingNamed => format!(
            "{} without counters, types or names of functions: which spinlock they are of is not known.",
            counted(facts.backoffs.tally.with_stack(), "event")
        ),
        Open::CostNotProven => {
            let row = names.subject().and_then(|name| names::row(facts, name)).and_then(|row| row.spin_cpu_share);
            let cost = row.map_or_else(
                || "how much CPU its spins take is not known".to_owned(),
                |share| format!("its spins take {} of the CPU", percent_range(share.low, share.high)),
            );
            let events = sessions_of(facts.evidence)
                .fold(0_u128, |sum, session| sum.saturating_add(crate::analyze::sessions::events(session)));
            format!(
                "{} of back-offs, most for {}, but {cost}: that it matters is not proven.",
                counted(events, "event"),
                names.subject().unwrap_or("a spinlock without a name")
            )
        }
    }
}
