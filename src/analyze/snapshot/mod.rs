//! Owns the question whether database snapshots make writes wait.

mod conclusion;
mod findings;
mod measured;
mod words;

use super::{
    facts::Facts,
    target_waits::{Seen, counter_limits, may_wait_for},
    verdict::{Limit, confidence_of, limited, unmet},
};
use crate::model::{Confidence, Finding, Verdict, VerdictKind};
use conclusion::{Conclusion, conclude, has_copy_frames};
use measured::Measured;

pub use measured::WAITS;

/// What was found, verdict or not.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    findings::findings(facts)
}

/// The verdict. `findings` are those of the same facts.
pub fn verdict(facts: &Facts<'_>, findings: &[Finding]) -> Verdict {
    let measured = Measured::of(facts);
    let conclusion = conclude(facts, &measured);
    let (confidence, limits) = match conclusion {
        Conclusion::Open(_) => (Confidence::Low, Vec::new()),
        Conclusion::None => confidence_of(counter_limits(facts, measured.waits.as_ref())),
        Conclusion::CopyOnWrite => {
            let mut limits = counter_limits(facts, measured.waits.as_ref());
            limits.extend(copy_limits(facts, &measured));
            confidence_of(limits)
        }
    };
    let is_copied = conclusion == Conclusion::CopyOnWrite;
    let summary = [words::summary(&measured, conclusion)].into_iter().chain(limited(confidence, &limits));
    Verdict {
        kind: match conclusion {
            Conclusion::CopyOnWrite => VerdictKind::SnapshotCopyOnWrite,
            Conclusion::None => VerdictKind::NoContention,
            Conclusion::Open(_) => VerdictKind::Inconclusive,
        },
        subject: measured.source().filter(|_| is_copied).map(ToOwned::to_owned),
        confidence,
        summary: summary.collect::<Vec<String>>().join(" "),
        shares: Seen::of(facts, |session| may_wait_for(session, |wait| WAITS.contains(&wait))).shares,
        reasons: words::reasons(&measured, findings, &limits),
        next_steps: words::next_steps(facts, &measured, conclusion),
    }
}

/// What limits `snapshot_copy_on_write`: one kind of evidence is less than two, and a trace writes in the same waits.
fn copy_limits(facts: &Facts<'_>, measured: &Measured) -> Vec<Limit> {
    let mut limits = Vec::new();
    let (by_frames, by_files) = (has_copy_frames(facts, measured), measured.growing().next().is_some());
    if by_frames != by_files {
        let only = if by_frames {
            "the sparse files were not seen to grow with writes"
        } else {
            "no stacks show pages copied for a snapshot"
        };
        limits.push((Confidence::Medium, only.to_owned()));
    }
    if measured.trace_frames.events > 0 {
        limits.push((Confidence::Medium, "a SQL Trace writes its file in some of these waits".to_owned()));
    }
    let share = findings::gates(facts, measured).into_iter().find(|gate| gate.name == "wait_share" && !gate.met);
    // Without counters another limit says so.
    limits.extend(share.filter(|gate| gate.value.is_some()).map(|gate| (Confidence::Medium, unmet(&gate))));
    limits
}
