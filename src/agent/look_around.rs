//! Owns the short look at a server's counters from which a scenario is chosen. It changes nothing.

use crate::agent::preflight::{self, known_version};
use crate::agent::server::Server;
use crate::agent::{CaptureError, Surroundings, counters};
use crate::model::{Evidence, Window};
use crate::statements::Statements;
use std::sync::Arc;
use std::time::Duration;

/// What is looked at.
const TABLES: [&str; 7] = [
    "dm_os_sys_info",
    "dm_os_schedulers",
    "dm_os_spinlock_stats",
    "dm_os_wait_stats",
    "databases",
    "master_files",
    "dm_io_virtual_file_stats",
];

/// The counters of a server over a short time, as evidence without any session.
pub async fn look_around(surroundings: &Surroundings, length: Duration) -> Result<Evidence, CaptureError> {
    let Surroundings { clock, interrupt, .. } = surroundings;
    let mut server = tokio::select! {
        connected = Server::connect(&surroundings.connect, Arc::clone(clock)) => connected?,
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    };
    let looking = Box::pin(look(&mut server, surroundings, length));
    // Nothing is changed here: an interrupt may drop the connection in the middle of a statement.
    let found = tokio::select! {
        found = looking => found?,
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    };
    server.close().await;
    Ok(found)
}

async fn look(server: &mut Server, surroundings: &Surroundings, length: Duration) -> Result<Evidence, CaptureError> {
    let Surroundings { sessions, clock, .. } = surroundings;
    let identity = preflight::identify(server, sessions).await?;
    let statements = Statements::new(sessions, known_version(&identity)?);
    let names = TABLES.map(str::to_owned);
    let mut problems = Vec::new();
    let (started, started_at) = (clock.monotonic(), clock.utc());
    let before = counters::read(server, &statements, &**clock, &names, &mut problems).await?;
    clock.sleep_until(started + length).await;
    let (ended, ended_at) = (clock.monotonic(), clock.utc());
    let after = counters::read(server, &statements, &**clock, &names, &mut problems).await?;
    let elapsed_ms = u64::try_from(ended.saturating_sub(started).as_millis()).unwrap_or(u64::MAX);
    Ok(Evidence {
        server: Some(identity),
        window: Some(Window { started_at, ended_at, elapsed_ms }),
        before: Some(before),
        after: Some(after),
        problems,
        ..Evidence::default()
    })
}
