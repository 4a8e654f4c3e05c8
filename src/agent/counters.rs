//! Owns reading counters: several tables in one batch, so that they are of one moment.

use crate::agent::clock::Clock;
use crate::agent::server::Server;
use crate::catalog::sessions::Scenario;
use crate::model::{Problem, Severity, Snapshot};
use crate::sqlserver::SqlServerError;
use crate::statements::Statements;

/// The counters of scenarios, each once.
pub(super) fn names<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in scenarios.into_iter().flat_map(|scenario| &scenario.counters.snapshot) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
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
    let (snapshot, refused) = read_each(server, statements, clock, names).await?;
    for (name, error) in &refused {
        let problem = unreadable(name, error);
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    Ok(snapshot)
}

/// Reads tables by their names in the catalogue, and gives with them the names of those that could not be read, with the
/// server's word.
pub(super) async fn read_each(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
) -> Result<(Snapshot, Vec<(String, SqlServerError)>), SqlServerError> {
    let mut snapshot = Snapshot { taken_at: clock.utc(), ..Snapshot::default() };
    let mut unreadable = Vec::new();
    let Ok(batch) = statements.counters(names) else { return Ok((snapshot, unreadable)) };
    match server.run(&batch).await {
        Ok(tables) => snapshot.tables = names.iter().cloned().zip(tables).collect(),
        Err(error) if error.is_connection_lost() => return Err(error),
        Err(_) => {
            for name in names {
                let Ok(sql) = statements.common(name, &[]) else { continue };
                match server.table(&sql).await {
                    Ok(table) => {
                        snapshot.tables.insert(name.clone(), table);
                    }
                    Err(error) if error.is_connection_lost() => return Err(error),
                    Err(error) => unreadable.push((name.clone(), error)),
                }
            }
        }
    }
    Ok((snapshot, unreadable))
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
