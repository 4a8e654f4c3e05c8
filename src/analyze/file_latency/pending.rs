//! Owns the I/Os that were pending in the samples: at the operating system, or done there and not noticed yet.

use crate::analyze::{
    cells::{Columns, number_in},
    facts::Facts,
};

/// What the samples of sys.dm_io_pending_io_requests saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pending {
    /// Samples that looked.
    pub(super) samples: u64,
    /// Those with I/Os at the operating system.
    pub(super) at_system: u64,
    /// Those with I/Os that are done and wait for SQL Server to take notice: `io_pending` is 0.
    pub(super) awaiting_notice: u64,
    /// Most I/Os of either kind in one sample.
    pub(super) most: u64,
    /// Age of the oldest, ms.
    pub(super) longest_ms: Option<u64>,
}

impl Pending {
    pub(super) fn of(facts: &Facts<'_>) -> Self {
        let mut pending = Self::default();
        let tables = facts.evidence.samples.iter().filter_map(|sample| sample.tables.get("dm_io_pending_io_requests"));
        for table in tables {
            let columns = Columns::of(table);
            let place = |name: &str| columns.place(&[name]);
            let (state, requests) = (place("io_pending"), place("requests"));
            let longest = columns.place(&["longest_ms", "io_pending_ms_ticks"]);
            if state.is_none() {
                continue;
            }
            pending.samples += 1;
            let (mut at_system, mut awaiting) = (0_u64, 0_u64);
            for row in &table.rows {
                // A row of the view itself is one request; grouped rows count them.
                let count = requests.map_or(Some(1), |_| number_in(row, requests));
                let count = count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
                match number_in(row, state) {
                    Some(0) => awaiting = awaiting.saturating_add(count),
                    Some(_) => at_system = at_system.saturating_add(count),
                    None => {}
                }
                let age = number_in(row, longest).and_then(|age| u64::try_from(age).ok());
                pending.longest_ms = pending.longest_ms.max(age);
            }
            pending.at_system += u64::from(at_system > 0);
            pending.awaiting_notice += u64::from(awaiting > 0);
            pending.most = pending.most.max(at_system.saturating_add(awaiting));
        }
        pending
    }

    /// Share of the samples with I/Os that wait to be noticed; `None` without samples.
    pub(super) fn awaiting_notice_share(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.awaiting_notice as f64 / self.samples as f64)
    }
}

/// Whether tasks queue on the schedulers of a NUMA node in most samples, and CPU use is not known to be low: then a finished
/// I/O waits for a scheduler before SQL Server takes notice of it.
pub(super) fn are_schedulers_saturated(facts: &Facts<'_>) -> bool {
    let settings = &facts.settings().gates;
    let queued = facts.measures.queues.nodes.iter().any(|node| node.is_queued(settings.runnable_most));
    let idle = facts.measures.sql_cpu_share.is_some_and(|share| share < settings.sql_cpu_share);
    let busy_node = facts.measures.queues.nodes.iter().any(|node| {
        node.is_queued(settings.runnable_most) && node.cpu_share.is_some_and(|share| share >= settings.sql_cpu_share)
    });
    busy_node || (queued && !idle)
}

/// Whether the time of I/Os includes a wait for SQL Server itself.
pub(super) fn is_completion_delayed(facts: &Facts<'_>, pending: &Pending) -> bool {
    let from = facts.catalog.file_latency.gates.awaiting_notice_share;
    let awaiting = pending.awaiting_notice_share().is_some_and(|share| share > 0.0 && share >= from);
    awaiting && are_schedulers_saturated(facts)
}
