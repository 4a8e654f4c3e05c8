//! Owns workload `spin-burn`: the yields of `lock-hash`, from processors that mostly spin.
//!
//! LOCK_HASH spins 12,960,000,000 times in ten seconds. Even at ten cycles a spin that is 60 % of what eight processors
//! of 2.7 GHz have in that time; at forty it is more than all. Collisions and back-offs are those of `lock-hash`, a spin
//! takes longer to give up; a third of the locks are taken.
//!
//! True of it: the yields are voluntary, and yet at least half of the CPU goes into spinning. Nobody may read the yields
//! as the spinlock's innocence.

use crate::simulator::workload::cases::lock_hash;
use crate::simulator::workload::recipe::{Recipe, Spins, Work};

/// What the workload is made of.
pub fn recipe() -> Recipe {
    let burn = |row: Spins| if row.spinlock == "LOCK_HASH" { Spins { spins: 12_960_000_000, ..row } } else { row };
    Recipe {
        spins: lock_hash::SPINS.map(burn).to_vec(),
        work: Work { batches: 0, lock_requests: 3_100_000 },
        ..lock_hash::recipe()
    }
}
