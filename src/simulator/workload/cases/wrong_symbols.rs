//! Owns workload `wrong-symbols`: `lock-hash` on a server without symbol files.
//!
//! With the trace flags on, the nearest export of the module stands in for every function: `OrdinalNNN`, and a few names
//! that come back at offsets spread over hundreds of kilobytes. Some of those exports are called after spinlocks and
//! latches.
//!
//! True of it: nothing can be said from the stacks, whatever the names suggest.

use crate::simulator::workload::cases::lock_hash;
use crate::simulator::workload::recipe::Recipe;

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe { symbols_missing: true, ..lock_hash::recipe() }
}
