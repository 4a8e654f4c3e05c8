//! Owns the simulated server's notion of time; injected, so that tests move it by hand.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Where the server reads the time.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970-01-01T00:00:00Z.
    fn utc_micros(&self) -> i64;
    /// Microseconds since some fixed moment; never goes back.
    fn monotonic_micros(&self) -> i64;
}

/// The machine's clock.
#[derive(Debug)]
pub struct MachineClock {
    origin: Instant,
}

impl Default for MachineClock {
    #[expect(clippy::disallowed_methods, reason = "this is the simulator's clock")]
    fn default() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for MachineClock {
    #[expect(clippy::disallowed_methods, reason = "this is the simulator's clock")]
    fn utc_micros(&self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
    }

    fn monotonic_micros(&self) -> i64 {
        self.origin.elapsed().as_micros() as i64
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
pub struct ManualClock {
    micros: AtomicI64,
}

impl ManualClock {
    /// Moves both readings forward.
    pub fn advance_micros(&self, micros: i64) {
        self.micros.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn utc_micros(&self) -> i64 {
        // 2026-01-01T00:00:00Z, so that dates look like dates.
        1_767_225_600_000_000 + self.micros.load(Ordering::SeqCst)
    }

    fn monotonic_micros(&self) -> i64 {
        self.micros.load(Ordering::SeqCst)
    }
}
