//! Owns workload `few-events`: short batches that end before their quantum does.
//!
//! Twelve yields in the whole burst. Everything else looks like a shortage of CPU, busy schedulers with queues, so that
//! only the number of events speaks against a verdict: the tasks wait for the scheduler after other waits. Figures are
//! invented.
//!
//! True of it: the yields are too few to say anything.

use crate::simulator::workload::cases::lock_hash;
use crate::simulator::workload::paths::yields;
use crate::simulator::workload::recipe::{Recipe, Work, Yields};

/// What the workload is made of.
pub fn recipe() -> Recipe {
    Recipe {
        yields: vec![Yields {
            count: 12,
            wait_ms: 266,
            signal_ms: 265,
            shortest_ms: 4,
            paths: yields::counting_rows(),
        }],
        spins: lock_hash::FEW_SPINS.to_vec(),
        work: Work { batches: 412_000, lock_requests: 824_000 },
        ..lock_hash::recipe()
    }
}
