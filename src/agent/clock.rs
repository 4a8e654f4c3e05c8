//! Owns the collector's notion of time; injected, so that tests run a window of minutes in an instant.

use crate::model::UtcMicros;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A pause.
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Where the collector reads the time and waits.
pub trait Clock: Send + Sync {
    /// Now, for what is stored and printed. May jump.
    fn utc(&self) -> UtcMicros;
    /// Time since some fixed moment; never goes back. Durations are differences of it.
    fn monotonic(&self) -> Duration;
    /// Waits until [`Clock::monotonic`] is at least `deadline`.
    fn sleep_until(&self, deadline: Duration) -> Sleep<'_>;
}

/// The machine's clock.
#[derive(Debug)]
pub struct MachineClock {
    origin: Instant,
}

impl Default for MachineClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn default() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for MachineClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn utc(&self) -> UtcMicros {
        UtcMicros(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64))
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    fn sleep_until(&self, deadline: Duration) -> Sleep<'_> {
        Box::pin(tokio::time::sleep_until((self.origin + deadline).into()))
    }
}
