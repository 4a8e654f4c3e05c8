//! Owns turning SIGINT and SIGTERM into the wish to stop.

use crate::agent::progress::Interrupt;
use std::io;

/// Listens from now on; a second signal insists.
#[cfg(unix)]
pub(super) fn listen(interrupt: &Interrupt) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signals = signal(kind)?;
        let interrupt = interrupt.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                interrupt.signal();
            }
        });
    }
    Ok(())
}

/// Listens from now on; a second Ctrl-C insists.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "unix can fail here")]
pub(super) fn listen(interrupt: &Interrupt) -> io::Result<()> {
    let interrupt = interrupt.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            interrupt.signal();
        }
    });
    Ok(())
}
