//! Owns finding `own_cost`: what the capture's own readings took of the server's CPU.

use crate::{
    analyze::{facts::Facts, own_session::own_session},
    model::Finding,
};

/// The finding, where the collector's own session was read with the samples.
pub(super) fn finding(facts: &Facts<'_>) -> Option<Finding> {
    let own = own_session(facts.evidence)?;
    Some(Finding {
        name: "own_cost".to_owned(),
        state: "measured".to_owned(),
        value: Some(own.cpu_ms as f64 / own.elapsed_ms as f64),
        low: None,
        high: None,
        gates: Vec::new(),
        text: format!(
            "Reading counters and samples took {} ms of the server's CPU in {:.1} s, {:.1} ms a reading. What counting the \
             events takes beside that, the server does not tell.",
            own.cpu_ms,
            own.elapsed_ms as f64 / 1_000.0,
            own.cpu_ms as f64 / own.readings as f64
        ),
    })
}
