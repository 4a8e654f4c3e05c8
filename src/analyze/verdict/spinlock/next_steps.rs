//! Owns what to do after a verdict on spinlocks. Flags are named with their risk, and never set.

use crate::{
    analyze::{
        facts::Facts,
        findings::other_event_sessions,
        spinlock::{
            conclusion::{Conclusion, Open},
            names::{self, Names},
        },
        verdict::NO_RISK,
    },
    model::{NextStep, ServerVersion},
};

/// The steps, the most useful first.
pub(super) fn next_steps(facts: &Facts<'_>, names: &Names, conclusion: Conclusion) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let mut add = |text: &str, risk: &str| steps.push(NextStep { text: text.to_owned(), risk: risk.to_owned() });
    match conclusion {
        Conclusion::Contention => contended(facts, names, &mut add),
        Conclusion::None => add("Capture while the problem is there.", NO_RISK),
        Conclusion::Open(Open::CostNotProven) => add(
            "Measure throughput against CPU over several loads: contention shows as more CPU and spins without more throughput. Or take an OS CPU profile.",
            "a CPU profile costs a few percent of CPU while it runs",
        ),
        Conclusion::Open(Open::SessionMissing) => {
            add("Find out who stopped the session, and repeat the capture.", NO_RISK);
        }
        Conclusion::Open(Open::NoEvents) => add("Repeat the capture over a longer window.", NO_RISK),
        Conclusion::Open(Open::NothingCaptured | Open::NothingNamed) => {
            add("Capture scenario `spinlock`: it counts back-offs by type beside the counters.", NO_RISK);
        }
    }
    steps
}

fn contended(facts: &Facts<'_>, names: &Names, add: &mut impl FnMut(&str, &str)) {
    if !other_event_sessions::suspects(facts).is_empty() {
        add(
            "Repeat the capture with the other event sessions stopped: if the contention is gone, one of them causes it.",
            "what these sessions watch is not seen meanwhile",
        );
    }
    let term = names.subject().and_then(|name| facts.catalog.spinlocks.of(name));
    if let Some(relief) = term.and_then(|term| term.relief.as_ref()) {
        add(&relief.text, &relief.risk);
    }
    if let Some(first) = names::stacks(facts).next() {
        add(
            &format!(
                "Read the path of stack {} down to the statement: doing that work less often, or spreading it, relieves the spinlock.",
                first.id
            ),
            NO_RISK,
        );
    }
    add(
        "Measure throughput against CPU over several loads: contention shows as more CPU and spins without more throughput.",
        NO_RISK,
    );
    let version = facts.evidence.server.as_ref().and_then(|server| server.version);
    if version == Some(ServerVersion::V2019) {
        add(
            "On SQL Server 2019, read Microsoft's documentation of trace flags 8101 and 8102 and of the cumulative updates they need (KB4538688): they change how spinlocks spin on machines with many processors. This program never sets them.",
            "they change all spinlocks of the instance: try them under the real load on a test server first",
        );
    }
}
