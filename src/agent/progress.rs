//! Owns what a run tells while it runs, and how it is told to stop.

use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A step of a capture, for progress bars and logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Logged in.
    Connected {
        /// `@@SERVERNAME`.
        server: String,
        /// Product version.
        product_version: String,
    },
    /// Something a person should know before the window opens, or that happened on the way.
    Note(String),
    /// A session without call stacks counts which keys there are.
    Surveying {
        /// How long it will count.
        length: Duration,
    },
    /// The window is open.
    WindowOpened {
        /// How long it will stay open.
        length: Duration,
    },
    /// The window is open since.
    WindowElapsed(Duration),
    /// The window is closed; targets are read.
    Reading,
    /// Call stacks are read with trace flags on.
    Symbolising,
    /// Everything is put back.
    Restoring,
    /// Everything is back.
    Restored,
}

/// Who is told.
pub type Observer = Arc<dyn Fn(&Progress) + Send + Sync>;

/// The wish to stop: once to end early, twice to wait less. Restoring is never skipped.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    first: CancellationToken,
    second: CancellationToken,
}

impl Interrupt {
    /// A wish of its own that this one implies.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { first: self.first.child_token(), second: self.second.child_token() }
    }

    /// Says it once more.
    pub fn signal(&self) {
        if self.first.is_cancelled() {
            self.second.cancel();
        }
        self.first.cancel();
    }

    /// Whether it has been said.
    pub fn is_signalled(&self) -> bool {
        self.first.is_cancelled()
    }

    /// Waits until it is said.
    pub async fn signalled(&self) {
        self.first.cancelled().await;
    }

    /// Waits until it is said twice.
    pub async fn insisted(&self) {
        self.second.cancelled().await;
    }
}
