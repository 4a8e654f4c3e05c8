//! Owns workload `capped-cpu`: a cap of Resource Governor, or of the service, keeps the schedulers idle while tasks
//! queue.
//!
//! SQL Server uses 40 % of the schedulers' time and is held back for 55 % of it (total_cpu_idle_capped_ms); every queue
//! has tasks. 8,000 quanta of 4 ms are those 40 %. With 40 tasks in queues all the time the yields waited 400 s together:
//! 50 ms each, five quanta ahead at 40 % of the speed. Figures are invented.
//!
//! True of it: tasks are short of CPU, because of the cap.

use crate::simulator::workload::cases::lock_hash;
use crate::simulator::workload::machine::{Machine, Node};
use crate::simulator::workload::paths::yields;
use crate::simulator::workload::recipe::{Recipe, Work, Yields};

const MACHINE: Machine = Machine {
    nodes: &[Node { schedulers: 8, loaded_cpu_percent: 40, queue: (4, 6) }],
    capped_percent: 55,
    ..Machine::SATURATED
};

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: MACHINE,
        yields: vec![Yields {
            count: 8_003,
            wait_ms: 400_231,
            signal_ms: 400_212,
            shortest_ms: 40,
            paths: yields::counting_rows(),
        }],
        spins: lock_hash::FEW_SPINS.to_vec(),
        work: Work { batches: 0, lock_requests: 4_000_000 },
        ..lock_hash::recipe()
    }
}
