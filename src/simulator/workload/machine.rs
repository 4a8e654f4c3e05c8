//! Owns the processors of the simulated server: schedulers, NUMA nodes, how busy they are, what holds them back.

use crate::simulator::seeded;

/// A NUMA node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Visible online schedulers.
    pub schedulers: u32,
    /// CPU that SQL Server uses here while loaded, in percent of the schedulers.
    pub loaded_cpu_percent: u32,
    /// Fewest and most tasks in a scheduler's runnable queue while loaded.
    pub queue: (u64, u64),
}

/// Processors and what they run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Its NUMA nodes; schedulers are numbered through them.
    pub nodes: &'static [Node],
    /// CPU use while nothing is loaded, in percent.
    pub idle_cpu_percent: u32,
    /// Part of the schedulers' time in which a cap keeps them idle while loaded, in percent.
    pub capped_percent: u32,
    /// Whether a hypervisor is below.
    pub is_virtual: bool,
}

/// A visible scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduler {
    /// Its number.
    pub id: u32,
    /// Number of its node.
    pub node_id: u32,
    /// Its node.
    pub node: &'static Node,
}

/// Microseconds in which the tasks of a queue change: the quantum (documented).
const QUANTUM_MICROS: i64 = 4_000;

impl Machine {
    /// Eight schedulers on one node, saturated.
    pub const SATURATED: Self = Self {
        nodes: &[Node { schedulers: 8, loaded_cpu_percent: 94, queue: (3, 6) }],
        idle_cpu_percent: 2,
        capped_percent: 0,
        is_virtual: false,
    };

    /// The same with little to do: one or a few sessions that wait.
    pub const QUIET: Self =
        Self { nodes: &[Node { schedulers: 8, loaded_cpu_percent: 12, queue: (0, 0) }], ..Self::SATURATED };

    /// The same with something to do: many sessions that mostly wait.
    pub const MODERATE: Self =
        Self { nodes: &[Node { schedulers: 8, loaded_cpu_percent: 34, queue: (0, 1) }], ..Self::SATURATED };

    /// CPU that SQL Server uses in ten seconds of load, ms.
    pub fn burst_cpu_ms(&self) -> u64 {
        // 10,000 ms of a scheduler, a hundredth of it for each percent.
        self.nodes.iter().map(|node| u64::from(node.schedulers) * u64::from(node.loaded_cpu_percent) * 100).sum()
    }

    /// All schedulers.
    pub fn schedulers(&self) -> impl Iterator<Item = Scheduler> + use<> {
        let nodes = (0..).zip(self.nodes);
        let all = nodes.flat_map(|(node_id, node)| (0..node.schedulers).map(move |_| (node_id, node)));
        (0..).zip(all).map(|(id, (node_id, node))| Scheduler { id, node_id, node })
    }

    /// How many schedulers there are.
    pub fn scheduler_count(&self) -> u32 {
        self.nodes.iter().map(|node| node.schedulers).sum()
    }

    /// The schedulers that the load keeps busy.
    pub fn busy_schedulers(&self) -> impl Iterator<Item = Scheduler> + use<> {
        let idle = self.idle_cpu_percent;
        self.schedulers().filter(move |scheduler| scheduler.node.loaded_cpu_percent > idle)
    }

    /// The scheduler that a session's tasks run on.
    pub fn scheduler_of(&self, session: u16) -> u32 {
        let busy: Vec<u32> = self.busy_schedulers().map(|scheduler| scheduler.id).collect();
        usize::from(session).checked_rem(busy.len()).and_then(|place| busy.get(place)).copied().unwrap_or(0)
    }

    /// CPU use while loaded, in percent of all schedulers.
    pub fn loaded_cpu_percent(&self) -> u32 {
        let busy: u32 = self.nodes.iter().map(|node| node.schedulers * node.loaded_cpu_percent).sum();
        busy / self.scheduler_count().max(1)
    }
}

impl Scheduler {
    /// Tasks ready to run here while loaded: they change every quantum, the same way for the same moment.
    pub fn runnable(&self, monotonic_micros: i64) -> u64 {
        let (fewest, most) = self.node.queue;
        let quantum = (monotonic_micros / QUANTUM_MICROS).to_string();
        fewest + seeded::hash(&[&quantum, &self.id.to_string()]) % (most - fewest + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, Node};

    const UNEVEN: Machine = Machine {
        nodes: &[
            Node { schedulers: 2, loaded_cpu_percent: 1, queue: (0, 0) },
            Node { schedulers: 2, loaded_cpu_percent: 93, queue: (2, 4) },
        ],
        idle_cpu_percent: 1,
        capped_percent: 0,
        is_virtual: false,
    };

    #[test]
    fn sessions_run_where_the_load_is() {
        let schedulers: Vec<(u32, u32)> = UNEVEN.schedulers().map(|s| (s.id, s.node_id)).collect();
        assert_eq!(schedulers, [(0, 0), (1, 0), (2, 1), (3, 1)]);
        assert_eq!((50..54).map(|session| UNEVEN.scheduler_of(session)).collect::<Vec<_>>(), [2, 3, 2, 3]);
        assert_eq!((UNEVEN.scheduler_count(), UNEVEN.loaded_cpu_percent()), (4, 47));
    }

    #[test]
    fn queues_stay_between_their_ends_and_change() {
        let scheduler = UNEVEN.busy_schedulers().next().unwrap();
        let seen: Vec<u64> = (0..200).map(|quantum| scheduler.runnable(quantum * 4_000)).collect();
        assert!((2..=4).all(|length| seen.contains(&length)) && seen.iter().all(|length| (2..=4).contains(length)));
        assert!(UNEVEN.schedulers().take(2).all(|idle| idle.runnable(77_000) == 0));
    }
}
