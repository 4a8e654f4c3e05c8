//! Owns what a workload is made of, and makes the truth of it.

use crate::simulator::versions::VersionData;
use crate::simulator::workload::background::{self, Increments};
use crate::simulator::workload::counters::{Cumulative, Throughput};
use crate::simulator::workload::kinds::Rhythm;
use crate::simulator::workload::machine::Machine;
use crate::simulator::workload::paths::Path;
use crate::simulator::workload::stacks::StackTable;
use crate::simulator::workload::storage::Storage;
use crate::simulator::workload::{Truth, events};

/// Yields of one burst that share their call paths.
#[derive(Debug, Clone)]
pub struct Yields {
    /// How many.
    pub count: u64,
    /// Their wait time.
    pub wait_ms: u64,
    /// Part of it that is signal wait.
    pub signal_ms: u64,
    /// Shortest wait; the sessions' waits are up to four quanta longer, then all by what is missing to `wait_ms`.
    pub shortest_ms: u64,
    /// Where the quantum ends.
    pub paths: Vec<Path>,
}

/// What one burst of back-offs on a spinlock comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Spins {
    pub spinlock: &'static str,
    pub collisions: u64,
    pub spins: u64,
    pub sleep_time: u64,
    pub backoffs: u64,
}

/// Work done in one burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Batches.
    pub batches: u64,
    /// Object locks asked for, and page locks likewise.
    pub lock_requests: u64,
}

/// What a workload is made of.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Its processors.
    pub machine: Machine,
    /// Client sessions.
    pub connections: u16,
    /// The statement they run.
    pub statement: &'static str,
    /// Yields.
    pub yields: Vec<Yields>,
    /// Other waits: type, waits, wait time and signal time in ms.
    pub waits: Vec<(&'static str, u64, u64, u64)>,
    /// Waits for a buffer latch and their time in ms, as PAGELATCH_SH.
    pub buffer_latches: (u64, u64),
    /// Spinlocks.
    pub spins: Vec<Spins>,
    /// Paths to a spinlock that are not the workload's usual ones.
    pub special_backoffs: Option<(&'static str, Vec<Path>)>,
    /// Back-offs for each spinlock_backoff event.
    pub backoffs_per_event: u64,
    /// Work done.
    pub work: Work,
    /// Statements that another's event session sees complete in one burst, and that session's DDL.
    pub observer: Option<(u64, &'static str)>,
    /// Whether symbol files are missing, so that the nearest exports are shown.
    pub symbols_missing: bool,
    /// Databases, files and what else it does beside waiting.
    pub storage: Storage,
}

impl Recipe {
    /// What the workload does on a version, by a seed.
    pub fn truth(&self, version: &'static VersionData, seed: u64) -> Truth {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut stacks = StackTable::new(version, seed);
        let mut kinds = Vec::new();
        events::add_yields(version, self, &mut stacks, &mut kinds, &mut random);
        events::add_backoffs(version, self, &mut stacks, &mut kinds, &mut random);
        events::add_latches(version, self, &mut stacks, &mut kinds);
        events::add_statements(version, self, &mut stacks, &mut kinds);
        background::add_events(version, &mut stacks, &mut kinds);
        // A kind's first event comes at another part of its interval than its neighbour's, so that together they are
        // even.
        for (index, kind) in (0_u64..).zip(&mut kinds) {
            if let Rhythm::Load { phase, .. } = &mut kind.rhythm {
                *phase = index * 618 % 1_000;
            }
        }
        let (latches, latch_ms) = self.buffer_latches;
        let mut waits = self.waits.clone();
        waits.push(("SOS_SCHEDULER_YIELD", self.yield_count(), self.yield_wait_ms(), self.yield_signal_ms()));
        waits.push(("PAGELATCH_SH", latches, latch_ms, latch_ms * 96 / 100));
        let load = Increments { waits: &waits, latches: &[("BUFFER", latches, latch_ms)], spinlocks: &self.spins };
        Truth {
            counters: background::counters(version, load),
            throughput: Throughput {
                batches: Cumulative { base: 810_442, load: self.work.batches, per_hour: 3_000 },
                lock_requests: Cumulative { base: 91_220_114, load: self.work.lock_requests, per_hour: 90_000 },
            },
            kinds,
            stacks,
            machine: self.machine,
            connections: self.connections,
            event_sessions: self.observer.iter().map(|(_, ddl)| *ddl).collect(),
            symbols_missing: self.symbols_missing,
            storage: self.storage.clone(),
        }
    }

    /// Yields of one burst.
    pub fn yield_count(&self) -> u64 {
        self.yields.iter().map(|yields| yields.count).sum()
    }

    /// Their wait time in ms.
    pub fn yield_wait_ms(&self) -> u64 {
        self.yields.iter().map(|yields| yields.wait_ms).sum()
    }

    /// Their signal wait time in ms.
    pub fn yield_signal_ms(&self) -> u64 {
        self.yields.iter().map(|yields| yields.signal_ms).sum()
    }
}
