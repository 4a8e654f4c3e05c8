//! Owns finding `cpu_pressure`: whether the schedulers were short of CPU time, by the counters, and the gates of
//! `cpu_bound_yields` that rest on them.

use super::{cpu_capped, gate};
use crate::{
    analyze::{classify::YIELD_WAIT, facts::Facts, measures::NodeQueues, words::percent},
    model::{Confidence, Finding, Gate},
};

/// A gate and the most confidence that remains where it is not met.
#[derive(Debug, Clone, PartialEq)]
pub struct PressureGate {
    /// What it asks; several gates may ask the same of several NUMA nodes.
    pub question: &'static str,
    /// The condition with its value.
    pub gate: Gate,
    /// Most confidence without it.
    pub without: Confidence,
}

/// Whether the schedulers had work waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    /// On every NUMA node.
    Everywhere,
    /// On some NUMA nodes only.
    Somewhere,
    /// On no scheduler in most samples.
    Nowhere,
    /// Too few samples.
    Unknown,
}

/// The gates, in the order in which they are shown.
pub fn gates(facts: &Facts<'_>) -> Vec<PressureGate> {
    let ask = |question, gate, without| PressureGate { question, gate, without };
    // Little use of the whole machine is explained where a cap took the rest, or where one node is saturated.
    let explained = cpu_capped::explains_low_cpu(facts) || has_saturated_node(facts);
    let without_cpu = if explained { Confidence::Medium } else { Confidence::Low };
    let mut gates = vec![ask("cpu", sql_cpu(facts), without_cpu)];
    gates.extend(node_cpu(facts).into_iter().map(|gate| ask("cpu", gate, Confidence::Medium)));
    gates.extend(runnable(facts).into_iter().map(|gate| ask("queue", gate, Confidence::Medium)));
    gates.push(ask("quantum", yields_per_second(facts), Confidence::Low));
    gates.push(ask("mean wait", mean_wait(facts), Confidence::Medium));
    gates.push(ask("virtual machine", virtual_machine(facts), Confidence::Medium));
    gates
}

/// Whether a NUMA node used its processors up, and had tasks queueing for them.
fn has_saturated_node(facts: &Facts<'_>) -> bool {
    let settings = &facts.settings().gates;
    let queues = &facts.measures.queues;
    queues.samples >= settings.runnable_samples
        && queues.nodes.len() > 1
        && queues.nodes.iter().any(|node| {
            let busy = node.cpu_share.is_some_and(|share| share >= settings.sql_cpu_share);
            busy && node.is_queued(settings.runnable_most)
        })
}

/// Whether counters speak against any shortage of CPU: little of it used, and no queue.
pub fn is_contradicted(facts: &Facts<'_>) -> bool {
    let needed = facts.settings().gates.sql_cpu_share;
    let little = facts.measures.sql_cpu_share.is_some_and(|share| share < needed);
    little && queue(facts) == Queue::Nowhere && !cpu_capped::explains_low_cpu(facts)
}

/// The finding.
pub fn finding(facts: &Facts<'_>) -> Finding {
    let needed = facts.settings().gates.sql_cpu_share;
    let share = facts.measures.sql_cpu_share;
    let busy = share.map(|share| share >= needed);
    let (state, judged) = match (busy, queue(facts)) {
        (Some(true), Queue::Everywhere) => ("pressed", "the schedulers were short of CPU time"),
        (_, Queue::Somewhere) => ("some_nodes", "only some NUMA nodes had tasks queueing for CPU"),
        (Some(true), Queue::Nowhere) => ("busy_without_queue", "the CPU was busy, but no task queued for it"),
        (Some(false), Queue::Everywhere) => ("queue_without_cpu", "tasks queued, but SQL Server used little CPU"),
        (Some(false), Queue::Nowhere) => ("none", "the schedulers were not short of CPU time"),
        (_, Queue::Unknown) => ("unknown", "the queues were sampled too seldom to tell"),
        (None, _) => ("unknown", "SQL Server's CPU time is not known"),
    };
    let used = share.map_or_else(
        || "SQL Server's CPU time is not known".to_owned(),
        |share| format!("SQL Server used {} of the online schedulers' time", percent(share)),
    );
    Finding {
        name: "cpu_pressure".to_owned(),
        state: state.to_owned(),
        value: share,
        low: None,
        high: None,
        gates: gates(facts).into_iter().map(|checked| checked.gate).collect(),
        text: format!("{used}; {judged}.{}{}", node_remark(facts), wait_remark(facts)),
    }
}

fn queue(facts: &Facts<'_>) -> Queue {
    let (settings, queues) = (&facts.settings().gates, &facts.measures.queues);
    if queues.samples < settings.runnable_samples || queues.nodes.is_empty() {
        return Queue::Unknown;
    }
    if queues.nodes.iter().all(|node| node.is_queued(settings.runnable_most)) {
        Queue::Everywhere
    } else if queues.nodes.iter().any(|node| node.queued > 0) {
        Queue::Somewhere
    } else {
        Queue::Nowhere
    }
}

fn sql_cpu(facts: &Facts<'_>) -> Gate {
    let needed = facts.settings().gates.sql_cpu_share;
    gate("sql_cpu_share", facts.measures.sql_cpu_share, format!(">= {needed}"), |value| value >= needed)
}

/// Where there are several NUMA nodes and their processor time is known, a gate for each.
fn node_cpu(facts: &Facts<'_>) -> Vec<Gate> {
    let needed = facts.settings().gates.sql_cpu_share;
    let nodes = &facts.measures.queues.nodes;
    let known = nodes.iter().filter(|node| nodes.len() > 1 && node.cpu_share.is_some());
    known
        .map(|node| {
            let name = format!("sql_cpu_share_node_{}", node.node);
            gate(name, node.cpu_share, format!(">= {needed}"), |value| value >= needed)
        })
        .collect()
}

/// Which NUMA nodes had tasks queueing, where not all had.
fn node_remark(facts: &Facts<'_>) -> String {
    let queues = &facts.measures.queues;
    if queue(facts) != Queue::Somewhere || queues.nodes.len() < 2 {
        return String::new();
    }
    let one = |node: &NodeQueues| {
        let cpu = node.cpu_share.map_or_else(String::new, |share| format!(" and {} of its CPU in use", percent(share)));
        format!("node {} has a queue on {} of {} schedulers{cpu}", node.node, node.queued, node.schedulers)
    };
    let nodes: Vec<String> = queues.nodes.iter().map(one).collect();
    format!(" By NUMA node: {}.", nodes.join("; "))
}

/// One gate over all schedulers, and where there are several NUMA nodes, one for each.
fn runnable(facts: &Facts<'_>) -> Vec<Gate> {
    let (settings, queues) = (&facts.settings().gates, &facts.measures.queues);
    let enough = queues.samples >= settings.runnable_samples;
    let needed = format!(
        "> {} of the schedulers have a queue in most of >= {} samples ({} taken)",
        settings.runnable_most, settings.runnable_samples, queues.samples
    );
    let share = |queued: u64, all: u64| (enough && all > 0).then(|| queued as f64 / all as f64);
    let met = |value: f64| value > settings.runnable_most;
    let all =
        share(queues.nodes.iter().map(|node| node.queued).sum(), queues.nodes.iter().map(|node| node.schedulers).sum());
    let mut gates = vec![gate("runnable_schedulers_share", all, needed.clone(), met)];
    if queues.nodes.len() > 1 {
        gates.extend(queues.nodes.iter().map(|node| {
            let name = format!("runnable_schedulers_share_node_{}", node.node);
            gate(name, share(node.queued, node.schedulers), needed.clone(), met)
        }));
    }
    gates
}

/// A scheduler ends at most one quantum after the other: more yields than that do not fit into the window.
fn yields_per_second(facts: &Facts<'_>) -> Gate {
    let (settings, measures) = (&facts.settings().gates, &facts.measures);
    let yields = facts.yield_waits().map(|row| row.waiting_tasks as f64);
    let rate = yields.zip(measures.elapsed_ms).map(|(yields, elapsed)| yields * 1_000.0 / elapsed as f64);
    let quanta = measures.schedulers.map(|schedulers| schedulers as f64 * 1_000.0 / settings.quantum_ms);
    let needed = quanta.map_or_else(
        || "schedulers are not known".to_owned(),
        |quanta| format!("<= {quanta} quanta a second, + {}", percent(settings.quantum_tolerance)),
    );
    let limit = quanta.map(|quanta| quanta * (1.0 + settings.quantum_tolerance));
    gate("yields_per_second", rate, needed, |rate| limit.is_some_and(|limit| rate <= limit))
}

/// How the mean wait of a yield compares with a quantum for each runnable task ahead of it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MeanWait {
    ms: f64,
    ahead: f64,
    least_ms: f64,
    most_ms: f64,
    too_short_ms: f64,
}

impl MeanWait {
    fn of(facts: &Facts<'_>) -> Option<Self> {
        let settings = &facts.settings().gates;
        let (ms, ahead) = mean_wait_ms(facts).zip(facts.measures.queues.runnable_ahead)?;
        let expected = settings.quantum_ms * ahead;
        let factor = settings.mean_wait_factor;
        let too_short_ms = settings.short_wait_ms;
        Some(Self { ms, ahead, least_ms: expected / factor, most_ms: expected * factor, too_short_ms })
    }

    /// Nobody was ahead, and nobody waited.
    fn is_without_pressure(self) -> bool {
        self.ms < self.too_short_ms && self.ahead < 1.0
    }

    fn is_too_long(self) -> bool {
        !self.is_without_pressure() && self.ms > self.most_ms
    }

    fn fits(self) -> bool {
        !self.is_without_pressure() && self.ms >= self.least_ms && self.ms <= self.most_ms
    }
}

fn mean_wait_ms(facts: &Facts<'_>) -> Option<f64> {
    let row = facts.yield_waits().filter(|row| row.waiting_tasks > 0)?;
    Some(row.wait_ms as f64 / row.waiting_tasks as f64)
}

fn mean_wait(facts: &Facts<'_>) -> Gate {
    let settings = &facts.settings().gates;
    let Some(mean) = MeanWait::of(facts) else {
        return gate("mean_yield_wait_ms", mean_wait_ms(facts), "yields and sampled queues", |_| false);
    };
    let needed = format!(
        "{:.1} to {:.1}: {} ms x {:.1} runnable tasks ahead, within a factor of {}",
        mean.least_ms, mean.most_ms, settings.quantum_ms, mean.ahead, settings.mean_wait_factor
    );
    gate("mean_yield_wait_ms", Some(mean.ms), needed, |_| mean.fits())
}

fn wait_remark(facts: &Facts<'_>) -> &'static str {
    match MeanWait::of(facts) {
        Some(mean) if mean.is_too_long() => {
            " Yields waited longer than the tasks ahead of them explain: a delayed virtual processor, or code that does not yield."
        }
        Some(mean) if mean.is_without_pressure() => " Yields hardly waited: quanta were used up without pressure.",
        _ => "",
    }
}

fn virtual_machine(facts: &Facts<'_>) -> Gate {
    let value = facts.measures.virtual_machine.map(|is| f64::from(u8::from(is)));
    gate("virtual_machine", value, "= 0: another guest can take CPU time unseen", |value| value == 0.0)
}

/// The wait whose figures the gates rest on, as evidence.
pub fn evidence() -> Vec<String> {
    vec!["findings:cpu_pressure".to_owned(), format!("waits:{YIELD_WAIT}")]
}
