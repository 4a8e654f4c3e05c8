//! Owns workload `lock-manager-no-spin`: quanta that end inside the lock manager.
//!
//! The yields of `lock-hash` by number and time, but most stacks have lck_lockInternal or the release of a lock near
//! the top. Nothing spins under them, nobody waits for a lock, and LOCK_HASH has a hundredth of its usual spins.
//!
//! True of it: CPU-bound yields like any other; the lock manager's names alone are neither a lock wait nor a back-off.

use crate::simulator::workload::cases::lock_hash;
use crate::simulator::workload::paths::yields;
use crate::simulator::workload::recipe::{Recipe, Yields};

/// What the workload is made of.
pub fn recipe() -> Recipe {
    let yields = |yields: Yields| Yields { paths: yields::taking_locks(), ..yields };
    let lock_hash = lock_hash::recipe();
    Recipe {
        yields: lock_hash.yields.iter().cloned().map(yields).collect(),
        spins: lock_hash::FEW_SPINS.to_vec(),
        ..lock_hash
    }
}
