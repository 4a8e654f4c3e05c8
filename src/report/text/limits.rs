//! Owns what the evidence at hand cannot show, so that nobody reads it in.

use super::{
    figures::{count, counted},
    page::{Ink, Page},
};
use crate::model::{Basis, Report, SessionReport};

/// The cut depths of call stacks lie at and above this many frames (16 documented for 2008, 32 from 2012).
const SHALLOWEST_CUT: usize = 16;

pub(super) fn print(page: &mut Page, report: &Report) {
    for limit in limits(report) {
        page.entry(2, (Ink::Plain, "- "), Ink::Plain, &limit);
    }
}

fn limits(report: &Report) -> Vec<String> {
    let mut limits = Vec::new();
    let has_stacks = report.stacks.total_events > 0;
    if has_stacks && report.findings.iter().any(|finding| finding.name == "yield_origin") {
        limits.push("What used the CPU: a yield stack names where a quantum ended, not what used it.".to_owned());
    }
    if has_stacks && report.verdict.shares.values().all(|share| share.basis == Basis::Events) {
        limits.push("How long the waits of a stack took: stacks are counted in events, not in time.".to_owned());
    }
    if report.spinlocks.iter().any(|spinlock| spinlock.spin_cpu_share.is_some()) {
        let text = "What a spin costs: the CPU share of a spinlock is a range because cycles per spin are assumed, not \
                    measured.";
        limits.push(text.to_owned());
    }
    limits.extend(of_rows(report).into_iter().map(str::to_owned));
    limits.extend(losses(report));
    limits.extend(missing_sources(report));
    limits.push(hardware(report));
    limits
}

/// What the rows of files, pages and statements do not say.
fn of_rows(report: &Report) -> Vec<&'static str> {
    let mut limits = Vec::new();
    if report.files.iter().any(|file| file.reads > 0 || file.writes > 0) {
        limits.push(
            "Why a file is slow: a latency holds the storage's part and all that stands before it: queues, drivers, the \
             host, more load than there was.",
        );
    }
    if report.pages.iter().any(|page| page.basis == "samples") {
        limits.push("Waits for pages between the samples: each sample sees the tasks that wait at its moment.");
    }
    if report.queries.iter().any(|query| query.executions.is_some() || query.cpu_ms.is_some()) {
        limits.push(
            "What a statement took in the window: its executions and CPU time are those since its plan was cached.",
        );
    }
    limits
}

fn losses(report: &Report) -> Vec<String> {
    let stacks = &report.stacks;
    let mut losses = Vec::new();
    if stacks.unresolved_events > 0 {
        losses.push(format!(
            "Where {} of {} come from: their stacks have frames without a function name.",
            count(stacks.unresolved_events),
            counted(stacks.total_events, "event", "events")
        ));
    }
    let sum = |field: fn(&SessionReport) -> Option<u64>| -> u128 {
        report.capture.sessions.iter().filter_map(field).map(u128::from).sum()
    };
    for (number, text) in [
        (sum(|session| session.events_without_slot), "Events that found no free slot and have no stack"),
        (sum(|session| session.dropped_events), "Events that the session dropped"),
        (sum(|session| session.dropped_buffers), "Buffers of events that the session dropped"),
    ] {
        if number > 0 {
            losses.push(format!("{text}: {}.", count(number)));
        }
    }
    if report.capture.sessions.iter().any(|session| session.target_cut) {
        losses.push("What stood behind the cut of a target document.".to_owned());
    }
    let deepest = stacks.items.iter().map(|item| item.frames.len()).max().unwrap_or_default();
    if deepest >= SHALLOWEST_CUT {
        losses.push(format!(
            "Callers beyond the {deepest} frames of the deepest stack: a server cuts stacks at a fixed depth."
        ));
    }
    losses
}

fn missing_sources(report: &Report) -> Vec<String> {
    let mut missing = Vec::new();
    if report.stacks.total_events == 0 {
        missing.push("Where waits come from: there are no stacks.");
    }
    if report.waits.is_empty() {
        missing.push("How much wait time there was: there are no wait counters.");
    }
    if report.capture.window.is_none() {
        missing.push("Rates: the length of time that this covers is not known.");
    }
    missing.into_iter().map(str::to_owned).collect()
}

fn hardware(report: &Report) -> String {
    let machine = report.capture.server.as_ref().and_then(|server| server.virtual_machine.as_deref());
    let told = "CPU time taken by a hypervisor (steal), power plan and clock frequency: T-SQL does not show them.";
    match machine {
        Some(kind) if !kind.eq_ignore_ascii_case("none") => {
            format!("{told} This server is a virtual machine: ask for its CPU ready or steal time.")
        }
        _ => told.to_owned(),
    }
}
