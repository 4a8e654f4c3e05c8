//! Owns workload `one-hot-node`: two NUMA nodes, all connections on one of them.
//!
//! Node 0 has eight schedulers, saturated and with queues; node 1 has eight, idle. Over both nodes SQL Server uses 48 %
//! of the CPU and half of the queues are empty. 18,804 quanta of 4 ms are what eight saturated schedulers end in ten
//! seconds. Figures are invented.
//!
//! True of it: the tasks are short of CPU on their node, and a mean over all schedulers hides it.

use crate::simulator::workload::cases::lock_hash;
use crate::simulator::workload::machine::{Machine, Node};
use crate::simulator::workload::paths::yields;
use crate::simulator::workload::recipe::{Recipe, Yields};

const MACHINE: Machine = Machine {
    nodes: &[
        Node { schedulers: 8, loaded_cpu_percent: 94, queue: (3, 6) },
        Node { schedulers: 8, loaded_cpu_percent: 2, queue: (0, 0) },
    ],
    ..Machine::SATURATED
};

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: MACHINE,
        yields: vec![Yields {
            count: 18_804,
            wait_ms: 414_211,
            signal_ms: 414_194,
            shortest_ms: 14,
            paths: yields::counting_rows(),
        }],
        spins: lock_hash::FEW_SPINS.to_vec(),
        ..lock_hash::recipe()
    }
}
