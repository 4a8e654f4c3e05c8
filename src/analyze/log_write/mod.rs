//! Owns the question whether commits wait for the log.

mod conclusion;
mod findings;
mod measured;
mod words;

use super::{
    facts::Facts,
    sessions,
    target_waits::{Seen, counter_limits, may_wait_for},
    verdict::{Limit, confidence_of, limited, unmet},
};
use crate::model::{Confidence, Finding, Verdict, VerdictKind};
use conclusion::{Conclusion, conclude};
use measured::Measured;

pub use measured::WAITS;

/// What was found, verdict or not.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    findings::findings(facts)
}

/// The verdict. `findings` are those of the same facts. Counters decide it; stacks show who commits.
pub fn verdict(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    let measured = Measured::of(facts);
    let conclusion = conclude(facts, &measured);
    let seen = Seen::of(facts, |session| may_wait_for(session, |wait| WAITS.contains(&wait)));
    let (confidence, limits) = match conclusion {
        Conclusion::Open(_) => (Confidence::Low, Vec::new()),
        Conclusion::None => confidence_of(counter_limits(facts, measured.waits.as_ref())),
        Conclusion::Bound => {
            let mut limits = counter_limits(facts, measured.waits.as_ref());
            limits.extend(gate_limits(facts, &measured));
            limits.extend(session_limit(&seen));
            confidence_of(limits)
        }
        Conclusion::BoundByFile => confidence_of(vec![(Confidence::Low, "waits were not given".to_owned())]),
    };
    let is_bound = matches!(conclusion, Conclusion::Bound | Conclusion::BoundByFile);
    let summary = [words::summary(&measured, conclusion)].into_iter().chain(limited(confidence, &limits));
    Verdict {
        kind: match conclusion {
            Conclusion::Bound | Conclusion::BoundByFile => VerdictKind::LogWriteBound,
            Conclusion::None => VerdictKind::NoContention,
            Conclusion::Open(_) => VerdictKind::Inconclusive,
        },
        subject: measured.database.clone().filter(|_| is_bound),
        confidence,
        summary: summary.collect::<Vec<String>>().join(" "),
        shares: seen.shares,
        reasons: words::reasons(facts, &measured, findings, &limits),
        next_steps: words::next_steps(facts, &measured, conclusion),
    }
}

/// What the gates that are not met leave of `log_write_bound`.
fn gate_limits(facts: &Facts<'_>, measured: &Measured) -> Vec<Limit> {
    let unmet_gates = findings::gates(facts, measured).into_iter().filter(|gate| !gate.met);
    unmet_gates
        .map(|gate| {
            let most = match gate.name.as_str() {
                // Nothing then tells small flushes of many commits from large ones.
                "bytes_per_flush" => Confidence::Low,
                _ => Confidence::Medium,
            };
            (most, unmet(&gate))
        })
        .collect()
}

fn session_limit(seen: &Seen<'_>) -> Option<Limit> {
    let text = if seen.sessions.is_empty() {
        "no event session shows who commits"
    } else if seen.sessions.iter().any(|session| sessions::is_missing(session)) {
        "an event session was gone before its target could be read"
    } else if seen.sessions.iter().any(|session| !session.filters.is_empty()) {
        "events are filtered, and the counters are the whole server's"
    } else {
        return None;
    };
    Some((Confidence::Medium, text.to_owned()))
}
