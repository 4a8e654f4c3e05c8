//! Owns workload `vm-steal`: a virtual machine whose hypervisor runs its processors late.
//!
//! 1,204 yields of 50 to 66 ms, 60.1 ms on average, with nobody ahead in any queue; SQL Server uses 35 % of the CPU that
//! its own clock counts. Yields are enough to judge and all stacks are voluntary, so that only queue, CPU use and length
//! speak against a shortage of CPU inside the guest. Figures are invented.
//!
//! True of it: the CPU time that is missing was taken outside, which no view of the server shows.

use crate::simulator::workload::cases::lock_hash;
use crate::simulator::workload::machine::{Machine, Node};
use crate::simulator::workload::paths::yields;
use crate::simulator::workload::recipe::{Recipe, Work, Yields};
use crate::simulator::workload::waits::Waits;

const MACHINE: Machine = Machine {
    nodes: &[Node { schedulers: 8, loaded_cpu_percent: 35, queue: (0, 0) }],
    is_virtual: true,
    ..Machine::SATURATED
};

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        machine: MACHINE,
        connections: 10,
        yields: vec![Yields {
            count: 1_204,
            wait_ms: 72_391,
            signal_ms: 72_388,
            shortest_ms: 50,
            paths: yields::counting_rows(),
        }],
        waits: vec![
            Waits::new("ASYNC_NETWORK_IO", 61, 418, 6),
            Waits::new("WRITELOG", 18, 114, 3),
            Waits::new("PAGELATCH_SH", 40, 41, 39).on("5:1:312"),
        ],
        spins: lock_hash::FEW_SPINS.to_vec(),
        work: Work { batches: 0, lock_requests: 2_400_000 },
        ..lock_hash::recipe()
    }
}
