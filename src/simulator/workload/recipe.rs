//! Owns what a workload is made of, and makes the truth of it.

use crate::simulator::versions::VersionData;
use crate::simulator::workload::background::{self, Increments, LatchIncrement, WaitIncrement};
use crate::simulator::workload::callers::Callers;
use crate::simulator::workload::counters::{Cumulative, Throughput};
use crate::simulator::workload::kinds::Rhythm;
use crate::simulator::workload::machine::Machine;
use crate::simulator::workload::paths::Path;
use crate::simulator::workload::stacks::StackTable;
use crate::simulator::workload::storage::{CachedStatement, Storage};
use crate::simulator::workload::waits::{self, Waits};
use crate::simulator::workload::{Truth, events};

const YIELD: &str = "SOS_SCHEDULER_YIELD";

/// `query_hash` of the one statement of a workload without others.
const ONE_STATEMENT: u64 = 0x8f2c_41d0_77aa_10e3;

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

/// A load that contends for no spinlock. Figures are invented.
pub const HARDLY_ANY_SPINS: [Spins; 2] = [
    Spins { spinlock: "LOCK_HASH", collisions: 211, spins: 61_004, sleep_time: 0, backoffs: 40 },
    Spins { spinlock: "SOS_OBJECT_STORE", collisions: 12, spins: 96, sleep_time: 0, backoffs: 0 },
];

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
    /// Other waits.
    pub waits: Vec<Waits>,
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
    /// Sessions that have yet nothing to wait for, on a machine with little to do.
    pub fn quiet(connections: u16, statement: &'static str) -> Self {
        Self {
            machine: Machine::QUIET,
            connections,
            statement,
            yields: Vec::new(),
            waits: Vec::new(),
            spins: HARDLY_ANY_SPINS.to_vec(),
            special_backoffs: None,
            backoffs_per_event: events::BACKOFFS_PER_EVENT,
            work: Work { batches: 0, lock_requests: 0 },
            observer: None,
            symbols_missing: false,
            storage: Storage::default(),
        }
    }

    /// What the workload does on a version, by a seed.
    pub fn truth(&self, version: &'static VersionData, seed: u64) -> Truth {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut stacks = StackTable::new(version, seed);
        let mut kinds = Vec::new();
        let callers = Callers::new(self);
        events::add_yields(version, self, &callers, &mut stacks, &mut kinds, &mut random);
        events::add_backoffs(version, self, &callers, &mut stacks, &mut kinds, &mut random);
        waits::add_waits(version, &self.waits, &callers, &mut stacks, &mut kinds, &mut random);
        events::add_statements(version, self, &callers, &mut stacks, &mut kinds);
        background::add_events(version, &mut stacks, &mut kinds);
        // A kind's first event comes at another part of its interval than its neighbour's, so that together they are
        // even.
        for (index, kind) in (0_u64..).zip(&mut kinds) {
            if let Rhythm::Load { phase, .. } = &mut kind.rhythm {
                *phase = index * 618 % 1_000;
            }
        }
        let waits = self.wait_increments();
        let latches: Vec<LatchIncrement> = self.waits.iter().filter_map(Waits::latches).collect();
        let load = Increments { waits: &waits, latches: &latches, spinlocks: &self.spins };
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
            storage: Storage { statements: self.statements(), ..self.storage.clone() },
        }
    }

    /// The statements that it runs: those of its plan cache, or its one.
    pub fn statements(&self) -> Vec<CachedStatement> {
        if !self.storage.statements.is_empty() {
            return self.storage.statements.clone();
        }
        // Each asks for one lock on its table.
        let executions = self.work.lock_requests;
        let cpu_ms = self.machine.burst_cpu_ms();
        vec![CachedStatement { hash: ONE_STATEMENT, text: self.statement, share: 1_000, executions, cpu_ms }]
    }

    /// What it adds to wait statistics: yields, and other waits as often as they stand there.
    fn wait_increments(&self) -> Vec<WaitIncrement> {
        let yields = self.yields.iter().map(|yields| (YIELD, yields.count, yields.wait_ms, yields.signal_ms));
        let others = self.waits.iter().map(|waits| (waits.wait_type, waits.count, waits.wait_ms, waits.signal_ms));
        yields.chain(others).collect()
    }

    /// Waits, wait time and signal wait time in ms of a type in one burst.
    pub fn total(&self, wait_type: &str) -> (u64, u64, u64) {
        let of_type = self.wait_increments().into_iter().filter(|(name, ..)| *name == wait_type);
        of_type.fold((0, 0, 0), |sum, (_, count, wait, signal)| (sum.0 + count, sum.1 + wait, sum.2 + signal))
    }

    /// Yields of one burst.
    pub fn yield_count(&self) -> u64 {
        self.total(YIELD).0
    }
}
