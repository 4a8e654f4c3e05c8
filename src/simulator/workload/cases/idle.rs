//! Owns workload `idle`: a server that nobody uses.
//!
//! Only its own tasks wait, as on any server. Two connections are open and say nothing.
//!
//! True of it: nothing waits.

use crate::simulator::workload::machine::{Machine, Node};
use crate::simulator::workload::recipe::Recipe;

const MACHINE: Machine = Machine {
    nodes: &[Node { schedulers: 8, loaded_cpu_percent: 1, queue: (0, 0) }],
    idle_cpu_percent: 1,
    ..Machine::SATURATED
};

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe { machine: MACHINE, spins: Vec::new(), ..Recipe::quiet(2, "SELECT 1;") }
}
