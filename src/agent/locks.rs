//! Owns the locks that keep runs apart on one instance. They live in master, and on Azure SQL Database in the connected
//! database, and die with their connection.

use crate::agent::outcome::{CaptureError, Refusal};
use crate::agent::progress::Progress;
use crate::agent::run::Marker;
use crate::agent::server::Server;
use crate::agent::{Surroundings, listing};
use crate::catalog::sessions::Scenario;
use crate::model::UtcMicros;
use crate::statements::Statements;
use std::time::Duration;

/// The lock around global trace flags.
pub(super) const FLAGS: &str = "xestack/flags";
/// How long another run's use of global trace flags is waited for, and how often is asked.
const FLAGS_WAIT: Duration = Duration::from_secs(90);
const FLAGS_PAUSE: Duration = Duration::from_secs(1);

/// The lock that keeps captures of a scenario apart on one instance.
pub(super) fn of_scenario(scenario: &Scenario) -> String {
    format!("xestack/{}", scenario.name)
}

/// Asks for a lock, without waiting; whether it was granted.
pub(super) async fn ask(
    server: &mut Server,
    statements: &Statements<'_>,
    resource: &str,
) -> Result<bool, CaptureError> {
    let result = server.table(&statements.take_lock(resource)?).await?.integer(0, "result");
    Ok(result.is_some_and(|result| result >= 0))
}

/// Takes a lock, or says that it is busy.
pub(super) async fn take(server: &mut Server, statements: &Statements<'_>, resource: &str) -> Result<(), CaptureError> {
    if ask(server, statements, resource).await? { Ok(()) } else { Err(busy(resource, "another run")) }
}

/// Takes a scenario's lock, or says which run has it.
pub(super) async fn take_scenario(
    server: &mut Server,
    statements: &Statements<'_>,
    scenario: &Scenario,
    surroundings: &Surroundings,
) -> Result<(), CaptureError> {
    let resource = of_scenario(scenario);
    if ask(server, statements, &resource).await? {
        return Ok(());
    }
    let clock = listing::server_clock(server, statements).await.unwrap_or(i64::MIN);
    let is_live = |marker: &Marker| marker.scenario == scenario.name && !marker.is_dead(&surroundings.here, clock);
    let seen = listing::read(server, statements).await.unwrap_or_default();
    let holder = seen.markers().find(is_live);
    Err(busy(&resource, &holder.map_or_else(|| "another run".to_owned(), |marker| in_words(&marker, surroundings))))
}

/// A run for people: its id, where it runs, until when.
pub(super) fn in_words(marker: &Marker, surroundings: &Surroundings) -> String {
    let Marker { run_id, owner, deadline_unix, .. } = marker;
    let place = if owner.host == surroundings.here.host {
        format!("on this machine (process {})", owner.pid)
    } else {
        "on another machine".to_owned()
    };
    let (year, month, day, hour, minute, second) = UtcMicros(deadline_unix.saturating_mul(1_000_000)).civil();
    let until = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
    format!("run {run_id} {place}, which ends by {until} UTC of the server's clock,")
}

fn busy(resource: &str, holder: &str) -> CaptureError {
    let hint = "wait for it to end; xestack cleanup --dry-run shows all runs on a server".to_owned();
    CaptureError::refused(Refusal::Busy, format!("{holder} holds the lock {resource} on this server"), Some(hint))
}

/// Takes the lock around global trace flags, waiting for another run's short use of it; false where it was not to be
/// had in time, or the user wants the end and this may be given up.
pub(super) async fn take_flags(
    server: &mut Server,
    statements: &Statements<'_>,
    surroundings: &Surroundings,
    may_be_given_up: bool,
) -> Result<bool, CaptureError> {
    let Surroundings { clock, observer, interrupt, .. } = surroundings;
    let since = clock.monotonic();
    let mut is_told = false;
    while !ask(server, statements, FLAGS).await? {
        let next = clock.monotonic() + FLAGS_PAUSE;
        if next.saturating_sub(since) > FLAGS_WAIT {
            return Ok(false);
        }
        if !is_told {
            let text = format!("another run uses the trace flags; waiting for it, up to {} s", FLAGS_WAIT.as_secs());
            observer(&Progress::Note(text));
            is_told = true;
        }
        tokio::select! {
            () = clock.sleep_until(next) => {}
            () = interrupt.signalled(), if may_be_given_up => return Ok(false),
        }
    }
    Ok(true)
}
