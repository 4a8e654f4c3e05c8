//! Owns the question where the waits of a site's own scenario come from.

use super::facts::Facts;
use crate::model::{Confidence, Finding, Verdict, VerdictKind};

/// What was found, verdict or not.
pub fn findings(_facts: &Facts<'_>) -> Vec<Finding> {
    Vec::new()
}

/// The verdict. `findings` are those of the same facts.
pub fn verdict(facts: &Facts<'_>, _findings: &[Finding]) -> Verdict {
    Verdict {
        kind: VerdictKind::Inconclusive,
        subject: None,
        confidence: Confidence::Low,
        summary: String::new(),
        shares: facts.shares.clone(),
        reasons: Vec::new(),
        next_steps: Vec::new(),
    }
}
