//! Owns the cumulative statistics of the simulated server: waits, latches, spinlocks.

use crate::simulator::workload::pace::Progress;

/// A counter as a function of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cumulative {
    /// Its value when the simulated time begins.
    pub base: u64,
    /// What one burst, or ten seconds of steady load, adds.
    pub load: u64,
    /// What an hour adds whatever the load.
    pub per_hour: u64,
}

/// Where a reading stands: the load's progress, and microseconds since the simulated time began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Reading {
    pub progress: Progress,
    pub elapsed_micros: u64,
}

const MICROS_PER_HOUR: u128 = 3_600_000_000;

impl Cumulative {
    /// A counter that only the load moves.
    pub const fn loaded(base: u64, load: u64) -> Self {
        Self { base, load, per_hour: 0 }
    }

    /// Its value.
    pub fn at(self, reading: Reading) -> u64 {
        let background = u128::from(self.per_hour) * u128::from(reading.elapsed_micros) / MICROS_PER_HOUR;
        self.base
            .saturating_add(reading.progress.amount(self.load))
            .saturating_add(u64::try_from(background).unwrap_or(u64::MAX))
    }
}

/// A row of sys.dm_os_wait_stats.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct WaitCounter {
    pub name: &'static str,
    pub waits: Cumulative,
    pub wait_ms: Cumulative,
    pub signal_ms: Cumulative,
    pub max_ms: u64,
}

/// A row of sys.dm_os_latch_stats.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct LatchCounter {
    pub name: &'static str,
    pub requests: Cumulative,
    pub wait_ms: Cumulative,
    pub max_ms: u64,
}

/// A row of sys.dm_os_spinlock_stats.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct SpinlockCounter {
    pub name: &'static str,
    pub collisions: Cumulative,
    pub spins: Cumulative,
    pub sleep_time: Cumulative,
    pub backoffs: Cumulative,
}

/// All of them.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)]
pub struct Counters {
    pub waits: Vec<WaitCounter>,
    pub latches: Vec<LatchCounter>,
    pub spinlocks: Vec<SpinlockCounter>,
}

/// Work done.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs)]
pub struct Throughput {
    pub batches: Cumulative,
    /// Object and page locks, as many of each.
    pub lock_requests: Cumulative,
}
