//! Owns reading counters: several tables in one batch, so that they are of one moment.

use crate::agent::clock::Clock;
use crate::agent::server::Server;
use crate::model::{Problem, Severity, Snapshot, Table};
use crate::sqlserver::SqlServerError;
use crate::statements::{CounterStatement, NO_LOCK_TIMEOUT, Statements, batch, is_watched, polled};

/// `Invalid column name` and `Invalid object name`: this build lacks what the statement names.
const LACKING: [u32; 2] = [207, 208];

/// Whether a statement was refused because this build lacks what it names.
pub(super) fn is_lacking(error: &SqlServerError) -> bool {
    error.number().is_some_and(|number| LACKING.contains(&number))
}

/// What reading tables gave.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The tables by their names in the catalogue.
    pub snapshot: Snapshot,
    /// What tables came without on this build.
    pub lacking: Vec<Problem>,
    /// Views that could not be read, with the server's word.
    pub unreadable: Vec<(String, SqlServerError)>,
}

/// Reads tables by their names in the catalogue. What is missing becomes a problem, as does a table that cannot be read at
/// all, so that one missing right does not cost the others; only a lost connection is an error.
pub(super) async fn read(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
    problems: &mut Vec<Problem>,
) -> Result<Snapshot, SqlServerError> {
    Ok(noted(read_each(server, statements, clock, names).await?, problems))
}

/// A sample: as [`read`], in a batch that waits for no lock.
pub(super) async fn poll(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
    problems: &mut Vec<Problem>,
) -> Result<Snapshot, SqlServerError> {
    Ok(noted(read_ways(server, statements, clock, names, true).await?, problems))
}

/// Reads tables by their names in the catalogue. A build may lack what its version is said to have: then older texts are
/// tried, the one that works is remembered, and what is missing is told.
pub(super) async fn read_each(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
) -> Result<Reading, SqlServerError> {
    read_ways(server, statements, clock, names, false).await
}

async fn read_ways(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
    is_poll: bool,
) -> Result<Reading, SqlServerError> {
    let snapshot = Snapshot { taken_at: clock.utc(), ..Snapshot::default() };
    let mut reading = Reading { snapshot, ..Reading::default() };
    let way_now = |name: &String| {
        let way = statements.counter(name).ok()?.into_iter().nth(server.way(name))?;
        Some((name.clone(), way.sql))
    };
    let (names, texts): (Vec<String>, Vec<String>) = names.iter().filter_map(way_now).unzip();
    if names.is_empty() {
        return Ok(reading);
    }
    match server.run(&if is_poll { polled(&texts) } else { batch(&texts) }).await {
        Ok(tables) => reading.snapshot.tables = names.into_iter().zip(tables).collect(),
        Err(error) if error.is_connection_lost() => return Err(error),
        Err(_) => {
            if is_poll {
                // The batch may have ended before its last statement.
                match server.run(NO_LOCK_TIMEOUT).await {
                    Err(error) if error.is_connection_lost() => return Err(error),
                    _ => {}
                }
            }
            for name in &names {
                read_alone(server, statements, name, &mut reading).await?;
            }
        }
    }
    Ok(reading)
}

/// One table, in the first way that this build understands.
async fn read_alone(
    server: &mut Server,
    statements: &Statements<'_>,
    name: &str,
    reading: &mut Reading,
) -> Result<(), SqlServerError> {
    let Ok(ways) = statements.counter(name) else { return Ok(()) };
    let first_view = ways.first().map(|way| way.view.clone()).unwrap_or_default();
    let mut refusal = None;
    for (n, way) in ways.into_iter().enumerate().skip(server.way(name)) {
        match server.table(&way.sql).await {
            Ok(table) => {
                reading.lacking.extend(lacking(&first_view, &way, &table));
                reading.snapshot.tables.insert(name.to_owned(), table);
                server.keep_way(name, n);
                return Ok(());
            }
            Err(error) if error.is_connection_lost() => return Err(error),
            Err(error) => {
                let lacks = is_lacking(&error);
                refusal = Some(error);
                if !lacks {
                    break;
                }
                server.keep_way(name, n + 1);
            }
        }
    }
    reading.unreadable.extend(refusal.map(|error| (first_view, error)));
    Ok(())
}

/// What was read; what is missing is a problem once.
fn noted(reading: Reading, problems: &mut Vec<Problem>) -> Snapshot {
    let refused = reading.unreadable.iter().map(|(view, error)| unreadable(view, error));
    for problem in reading.lacking.into_iter().chain(refused) {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    reading.snapshot
}

/// What a table came without. What a verdict cannot do without, the analysis says.
fn lacking(first_view: &str, way: &CounterStatement, table: &Table) -> Option<Problem> {
    let missing: Vec<&str> =
        way.columns.iter().map(String::as_str).filter(|column| table.column(column).is_none()).collect();
    let mut told = Vec::new();
    if way.view != first_view {
        told.push(format!(
            "sys.{first_view} or columns of it do not exist on this build, sys.{} was read instead",
            way.view
        ));
    }
    if !missing.is_empty() {
        told.push(format!("sys.{} has no {} on this build: what needs that is missing", way.view, missing.join(", ")));
    }
    (!told.is_empty()).then(|| Problem::new("figures_missing", Severity::Warning, told.join("; ")))
}

/// That a view could not be read.
pub(super) fn unreadable(view: &str, error: &SqlServerError) -> Problem {
    let message = format!("sys.{view} could not be read: {}", chain(error));
    let severity = if is_watched(view) { Severity::Warning } else { Severity::Partial };
    Problem::new("counters_unreadable", severity, message)
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
