//! Owns reading counters: several tables in one batch, so that they are of one moment.

use crate::agent::clock::Clock;
use crate::agent::server::Server;
use crate::model::{Problem, Severity, Snapshot};
use crate::sqlserver::SqlServerError;
use crate::statements::{NO_LOCK_TIMEOUT, Statements};

/// Reads tables by their names in the catalogue. A table that cannot be read is left out and becomes a problem, so that
/// one missing right does not cost the others; only a lost connection is an error.
pub(super) async fn read(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
    problems: &mut Vec<Problem>,
) -> Result<Snapshot, SqlServerError> {
    let (snapshot, refused) = read_each(server, statements, clock, names).await?;
    note(&refused, problems);
    Ok(snapshot)
}

/// A sample: as [`read`], in a batch that waits for no lock.
pub(super) async fn poll(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
    problems: &mut Vec<Problem>,
) -> Result<Snapshot, SqlServerError> {
    let taken_at = clock.utc();
    let Ok(batch) = statements.poll(names) else { return Ok(Snapshot { taken_at, ..Snapshot::default() }) };
    match server.run(&batch).await {
        Ok(tables) => Ok(Snapshot { taken_at, tables: names.iter().cloned().zip(tables).collect() }),
        Err(error) if error.is_connection_lost() => Err(error),
        Err(_) => {
            // The batch may have ended before its last statement.
            match server.run(NO_LOCK_TIMEOUT).await {
                Err(error) if error.is_connection_lost() => return Err(error),
                _ => {}
            }
            let (snapshot, refused) = read_apart(server, statements, clock, names).await?;
            note(&refused, problems);
            Ok(snapshot)
        }
    }
}

/// Reads tables by their names in the catalogue, and gives with them the names of those that could not be read, with the
/// server's word.
pub(super) async fn read_each(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
) -> Result<Told, SqlServerError> {
    let taken_at = clock.utc();
    let Ok(batch) = statements.counters(names) else {
        return Ok((Snapshot { taken_at, ..Snapshot::default() }, vec![]));
    };
    match server.run(&batch).await {
        Ok(tables) => Ok((Snapshot { taken_at, tables: names.iter().cloned().zip(tables).collect() }, vec![])),
        Err(error) if error.is_connection_lost() => Err(error),
        Err(_) => read_apart(server, statements, clock, names).await,
    }
}

/// What could be read, and the names of what could not, with the server's word.
type Told = (Snapshot, Vec<(String, SqlServerError)>);

/// Each table in a batch of its own.
async fn read_apart(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
) -> Result<Told, SqlServerError> {
    let mut snapshot = Snapshot { taken_at: clock.utc(), ..Snapshot::default() };
    let mut refused = Vec::new();
    for name in names {
        let Ok(sql) = statements.common(name, &[]) else { continue };
        match server.table(&sql).await {
            Ok(table) => drop(snapshot.tables.insert(name.clone(), table)),
            Err(error) if error.is_connection_lost() => return Err(error),
            Err(error) => refused.push((name.clone(), error)),
        }
    }
    Ok((snapshot, refused))
}

/// Each table that could not be read is a problem once.
fn note(refused: &[(String, SqlServerError)], problems: &mut Vec<Problem>) {
    for (name, error) in refused {
        let problem = unreadable(name, error);
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
}

/// That a table could not be read.
pub(super) fn unreadable(name: &str, error: &SqlServerError) -> Problem {
    let message = format!("sys.{name} could not be read: {}", chain(error));
    Problem::new("counters_unreadable", Severity::Partial, message)
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// CPU time of SQL Server between two snapshots as a share of all its schedulers, 0 to 1; `None` where it cannot be told.
pub(crate) fn cpu_share(before: &Snapshot, after: &Snapshot) -> Option<f64> {
    let used = |snapshot: &Snapshot| {
        let info = snapshot.tables.get("dm_os_sys_info")?;
        Some(info.integer(0, "process_kernel_time_ms")? + info.integer(0, "process_user_time_ms")?)
    };
    let schedulers = after.tables.get("dm_os_schedulers")?.rows.len() as f64;
    let ticks = |snapshot: &Snapshot| snapshot.tables.get("dm_os_sys_info")?.integer(0, "ms_ticks");
    let elapsed_ms = (ticks(after)? - ticks(before)?) as f64;
    let spent_ms = (used(after)? - used(before)?) as f64;
    (elapsed_ms > 0.0 && schedulers > 0.0 && spent_ms >= 0.0).then(|| (spent_ms / (elapsed_ms * schedulers)).min(1.0))
}

/// Tasks waiting for a worker, over all schedulers.
pub(crate) fn work_queue(snapshot: &Snapshot) -> i64 {
    let Some(schedulers) = snapshot.tables.get("dm_os_schedulers") else { return 0 };
    (0..schedulers.rows.len()).filter_map(|row| schedulers.integer(row, "work_queue_count")).sum()
}
