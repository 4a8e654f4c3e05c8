//! Owns reading counters: several tables in one batch, so that they are of one moment.

use crate::agent::clock::Clock;
use crate::agent::server::Server;
use crate::model::{Problem, Severity, Snapshot, Table};
use crate::sqlserver::SqlServerError;
use crate::statements::{NO_LOCK_TIMEOUT, Statements};

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
            read_apart(server, statements, clock, names, problems).await
        }
    }
}

/// Reads tables by their names in the catalogue. A table that cannot be read is left out and becomes a problem, so that
/// one missing right does not cost the others; only a lost connection is an error.
pub(super) async fn read(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
    problems: &mut Vec<Problem>,
) -> Result<Snapshot, SqlServerError> {
    let taken_at = clock.utc();
    let Ok(batch) = statements.counters(names) else { return Ok(Snapshot { taken_at, ..Snapshot::default() }) };
    match server.run(&batch).await {
        Ok(tables) => Ok(Snapshot { taken_at, tables: names.iter().cloned().zip(tables).collect() }),
        Err(error) if error.is_connection_lost() => Err(error),
        Err(_) => read_apart(server, statements, clock, names, problems).await,
    }
}

/// Each table in a batch of its own.
async fn read_apart(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
    problems: &mut Vec<Problem>,
) -> Result<Snapshot, SqlServerError> {
    let mut snapshot = Snapshot { taken_at: clock.utc(), ..Snapshot::default() };
    for name in names {
        if let Some(table) = read_alone(server, statements, name, problems).await? {
            snapshot.tables.insert(name.clone(), table);
        }
    }
    Ok(snapshot)
}

async fn read_alone(
    server: &mut Server,
    statements: &Statements<'_>,
    name: &str,
    problems: &mut Vec<Problem>,
) -> Result<Option<Table>, SqlServerError> {
    let Ok(sql) = statements.common(name, &[]) else { return Ok(None) };
    match server.table(&sql).await {
        Ok(table) => Ok(Some(table)),
        Err(error) if error.is_connection_lost() => Err(error),
        Err(error) => {
            let message = format!("sys.{name} could not be read: {}", chain(&error));
            let problem = Problem::new("counters_unreadable", Severity::Partial, message);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
            Ok(None)
        }
    }
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
