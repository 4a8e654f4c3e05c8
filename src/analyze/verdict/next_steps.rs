//! Owns what to do after a verdict, and what that risks.

use super::{Conclusion, Undecided};
use crate::{
    analyze::{
        facts::{Facts, Scope},
        findings::{
            cpu_capped,
            cpu_consumer::is_undecided,
            query_origin::{self, QueryOrigin},
        },
        wrong_symbols::Trust,
    },
    catalog::Relief,
    model::{NextStep, ServerVersion, StackClass},
};

pub(in crate::analyze) const NO_RISK: &str = "none: it only reads";
/// What to do where the kind of the events is not known.
pub const SAY_CONTEXT: &str =
    "Say what the events are, for example: --event sqlos.wait_info --wait-type SOS_SCHEDULER_YIELD.";

/// The steps, the most useful first.
pub(super) fn next_steps(facts: &Facts<'_>, conclusion: Conclusion) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let mut add = |text: &str, risk: &str| steps.push(NextStep { text: text.to_owned(), risk: risk.to_owned() });
    match conclusion {
        Conclusion::CpuBound => {
            statements(facts, &mut add);
            if is_undecided(facts) {
                add(
                    "To decide whether spinning burns this CPU, measure throughput against CPU over several loads, or take an OS CPU profile.",
                    "a CPU profile costs a few percent of CPU while it runs",
                );
            }
            for relief in notable(facts) {
                add(&relief.text, &relief.risk);
            }
        }
        Conclusion::Backoffs => add(
            "Capture with scenario `spinlock` over the same load, with the spinlock counters, to see which spinlock it is and what it costs.",
            "the spinlock_backoff event can be frequent: the capture checks its rate first",
        ),
        Conclusion::Mixed => add(
            "Look at the most frequent stack of each class on its own; repeat the capture over a steadier load.",
            NO_RISK,
        ),
        Conclusion::NoContention => add("Capture while the problem is there.", NO_RISK),
        Conclusion::Inconclusive(why) => undecided(facts, why, &mut add),
    }
    let pressed = matches!(conclusion, Conclusion::CpuBound | Conclusion::Inconclusive(Undecided::NoPressure));
    if pressed && facts.measures.virtual_machine != Some(false) {
        add("Ask the hypervisor's administrator for this guest's CPU ready or steal time.", NO_RISK);
    }
    if pressed && cpu_capped::is_capped(facts) {
        add("Look for a CPU cap: Resource Governor pools, or the limit of the service tier.", NO_RISK);
    }
    if pressed {
        add("Look at power plan and processor frequency in the operating system: T-SQL does not show them.", NO_RISK);
    }
    steps
}

/// Which statement ends its quanta: the question after where quanta end.
fn statements(facts: &Facts<'_>, add: &mut impl FnMut(&str, &str)) {
    let rows = query_origin::rows(facts);
    match rows.as_deref().map(query_origin::origin) {
        Some(QueryOrigin::One(row) | QueryOrigin::Several(row)) => add(
            &format!(
                "Look at the plan of the statement that most of the yields came from, {}: rows read that are not needed, missing indexes, too many executions.",
                query_origin::in_words(&row)
            ),
            NO_RISK,
        ),
        known => {
            add(
                "Find the statements that used most CPU in this window (Query Store, or sys.dm_exec_query_stats), and begin with those that run the functions of the top stacks.",
                NO_RISK,
            );
            if known.is_none() {
                add(
                    "Repeat the capture with --queries: it counts the same yields by statement.",
                    "one more event session over the same events",
                );
            }
        }
    }
}

fn undecided(facts: &Facts<'_>, why: Undecided, add: &mut impl FnMut(&str, &str)) {
    let step = match why {
        Undecided::Unresolved | Undecided::WrongSymbols => {
            let (text, risk) = symbols(facts);
            add(text, risk);
            None
        }
        Undecided::NothingCaptured => {
            Some("Capture stacks with scenario `sos-yield`, or give a saved target document.")
        }
        Undecided::SessionMissing => Some("Find out who stopped the session, and repeat the capture."),
        Undecided::NoEvents => {
            Some("Check that the session's predicate names this build's wait type, and repeat the capture.")
        }
        Undecided::NoBound => {
            Some("Repeat the capture with fewer slots or more session memory, so that nothing is cut or lost.")
        }
        Undecided::AtCapacity => Some("Repeat the capture with more slots (--slots)."),
        Undecided::FewEvents | Undecided::WideInterval => Some("Repeat the capture over a longer window."),
        Undecided::OtherEvents => {
            Some("Read the stacks; capture scenario `sos-yield` for a verdict on scheduler yields.")
        }
        Undecided::NoContext | Undecided::NoPressure => None,
    };
    if let Some(text) = step {
        add(text, NO_RISK);
    }
    if facts.scope == Scope::Unknown {
        add(SAY_CONTEXT, NO_RISK);
    }
}

/// How this capture can get names, and what that risks.
pub fn symbols(facts: &Facts<'_>) -> (&'static str, &'static str) {
    if has_pdb_frames(facts) {
        return (
            "Resolve the stacks with the PDBs that the frames name (PDB name, GUID and age are in each frame).",
            "none: it works on the saved stacks",
        );
    }
    let has_rva_action = |version: ServerVersion| version >= ServerVersion::V2022;
    let version = facts.evidence.server.as_ref().and_then(|server| server.version);
    if version.is_some_and(has_rva_action) {
        return (
            "Capture package0.callstack_rva, which names each frame's PDB, GUID and age, and resolve the stacks with these PDBs.",
            NO_RISK,
        );
    }
    if matches!(facts.trust, Trust::Wrong(_)) {
        return (
            "Put the PDBs of this very build where the server looks for them, or resolve the raw stacks off the server with them.",
            "symbol loading inside the server can stall it; resolving elsewhere cannot",
        );
    }
    if facts.evidence.sessions.iter().any(|session| session.live) {
        return (
            "Repeat the capture with --enable-trace-flags (3656, from 2019 also 2592), with the build's PDBs beside the server, or resolve the raw stacks off the server with them.",
            "symbol loading inside the server can stall it; resolving elsewhere cannot",
        );
    }
    (
        "Resolve the addresses with the PDBs of this build and the module list of the same server start.",
        "none: it works on the saved stacks",
    )
}

fn has_pdb_frames(facts: &Facts<'_>) -> bool {
    facts
        .items
        .iter()
        .filter(|item| item.class == StackClass::Unresolved)
        .any(|item| item.frames.iter().any(|frame| frame.pdb.is_some()))
}

/// What relieves the spinlocks that are proven to take a notable share of the CPU.
fn notable<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = &'a Relief> {
    let least = facts.catalog.spinlock.gates.spin_cpu_share_low;
    let rows = facts.deltas.spinlocks.iter().flatten();
    rows.filter(move |row| row.spin_cpu_share.is_some_and(|share| share.low >= least))
        .filter_map(|row| facts.catalog.spinlocks.of(&row.name)?.relief.as_ref())
}
