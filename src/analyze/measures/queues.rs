//! Owns the runnable queues of schedulers and NUMA nodes over the samples.

use super::{growth_by_scheduler, online_rows};
use crate::{
    catalog::GateSettings,
    model::{Evidence, Table},
};
use std::collections::BTreeMap;

/// The runnable queues of one NUMA node over the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeQueues {
    /// `parent_node_id`.
    pub node: i64,
    /// Online schedulers.
    pub schedulers: u64,
    /// Those with a queue in most samples.
    pub queued: u64,
    /// SQL Server's share of these schedulers' time (`total_cpu_usage_ms`, from 2016).
    pub cpu_share: Option<f64>,
}

impl NodeQueues {
    /// Whether more than this share of its schedulers has a queue.
    pub fn is_queued(&self, most: f64) -> bool {
        self.queued as f64 > self.schedulers as f64 * most
    }
}

/// The runnable queues over the samples.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Queues {
    /// Samples taken.
    pub samples: u64,
    /// By NUMA node, ascending.
    pub nodes: Vec<NodeQueues>,
    /// Mean runnable tasks of a scheduler that has a queue in most samples; of all online ones where none has.
    pub runnable_ahead: Option<f64>,
}

/// One scheduler over the samples.
#[derive(Default)]
struct Seen {
    samples: u64,
    queued: u64,
    runnable: f64,
}

impl Seen {
    fn is_queued(&self, most: f64) -> bool {
        self.queued as f64 > self.samples as f64 * most
    }
}

/// Reads the queues. `elapsed_ms` is `None` where processor time has no meaning.
pub(super) fn queues(evidence: &Evidence, elapsed_ms: Option<u64>, settings: &GateSettings) -> Queues {
    let tables: Vec<&Table> = evidence
        .samples
        .iter()
        .filter_map(|sample| sample.tables.get("dm_os_schedulers"))
        .filter(|table| table.column("runnable_tasks_count").is_some() && online_rows(table).next().is_some())
        .collect();
    // By (node, scheduler).
    let mut seen: BTreeMap<(i64, i64), Seen> = BTreeMap::new();
    for table in &tables {
        for row in online_rows(table) {
            let node = table.integer(row, "parent_node_id").unwrap_or(0);
            let id = table.integer(row, "scheduler_id").unwrap_or(0);
            let runnable = table.integer(row, "runnable_tasks_count").unwrap_or(0).max(0);
            let scheduler = seen.entry((node, id)).or_default();
            scheduler.samples += 1;
            scheduler.queued += u64::from(runnable > 0);
            scheduler.runnable += runnable as f64;
        }
    }
    let most = settings.runnable_most;
    let cpu_ms = growth_by_scheduler(evidence, "total_cpu_usage_ms").unwrap_or_default();
    let mut nodes: BTreeMap<i64, (NodeQueues, Option<i128>)> = BTreeMap::new();
    for ((node, id), scheduler) in &seen {
        let empty = NodeQueues { node: *node, schedulers: 0, queued: 0, cpu_share: None };
        let (entry, used) = nodes.entry(*node).or_insert((empty, Some(0)));
        entry.schedulers += 1;
        entry.queued += u64::from(scheduler.is_queued(most));
        *used = used.zip(cpu_ms.get(id)).map(|(sum, ms)| sum + ms);
    }
    let with_share = |(node, used): (NodeQueues, Option<i128>)| NodeQueues {
        cpu_share: used.zip(elapsed_ms).map(|(ms, elapsed)| ms as f64 / (elapsed as f64 * node.schedulers as f64)),
        ..node
    };
    Queues {
        samples: tables.len() as u64,
        nodes: nodes.into_values().map(with_share).collect(),
        runnable_ahead: runnable_ahead(&seen, most),
    }
}

/// Yields happen where tasks queue, so idle schedulers do not thin the queue out.
fn runnable_ahead(seen: &BTreeMap<(i64, i64), Seen>, most: f64) -> Option<f64> {
    let any_queued = seen.values().any(|scheduler| scheduler.is_queued(most));
    let counted = || seen.values().filter(|scheduler| !any_queued || scheduler.is_queued(most));
    let samples: u64 = counted().map(|scheduler| scheduler.samples).sum();
    let runnable: f64 = counted().map(|scheduler| scheduler.runnable).sum();
    (samples > 0).then(|| runnable / samples as f64)
}
