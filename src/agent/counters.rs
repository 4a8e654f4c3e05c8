//! Owns reading counters: several tables in one batch, so that they are of one moment.

use crate::agent::clock::Clock;
use crate::agent::server::Server;
use crate::model::{Problem, Severity, Snapshot, Table};
use crate::sqlserver::SqlServerError;
use crate::statements::{CounterStatement, Statements, poll};

/// `Invalid column name` and `Invalid object name`: this build lacks what the statement names.
const LACKING: [u32; 2] = [207, 208];

/// Reads tables by their names in the catalogue; each is kept under the name of the view that was read. A build may lack
/// what its version is said to have: then older texts are tried, and what is missing becomes a problem, as does a table
/// that cannot be read at all, so that one missing right does not cost the others. Only a lost connection is an error.
pub(super) async fn read(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &dyn Clock,
    names: &[String],
    problems: &mut Vec<Problem>,
) -> Result<Snapshot, SqlServerError> {
    let mut snapshot = Snapshot { taken_at: clock.utc(), ..Snapshot::default() };
    let way_now = |name: &String| Some(statements.counter(name).ok()?.into_iter().nth(server.way(name)));
    let ways: Vec<Option<CounterStatement>> = names.iter().filter_map(way_now).collect();
    let batch: Vec<String> = ways.iter().flatten().map(|way| way.sql.clone()).collect();
    if batch.is_empty() {
        return Ok(snapshot);
    }
    match server.run(&poll(&batch)).await {
        Ok(tables) => {
            snapshot.tables = ways.into_iter().flatten().map(|way| way.view).zip(tables).collect();
        }
        Err(error) if error.is_connection_lost() => return Err(error),
        Err(_) => {
            for name in names {
                snapshot.tables.extend(read_alone(server, statements, name, problems).await?);
            }
        }
    }
    Ok(snapshot)
}

/// One table, in the first way that this build understands; that way is remembered.
async fn read_alone(
    server: &mut Server,
    statements: &Statements<'_>,
    name: &str,
    problems: &mut Vec<Problem>,
) -> Result<Option<(String, Table)>, SqlServerError> {
    let Ok(ways) = statements.counter(name) else { return Ok(None) };
    let mut note = |problem: Problem| {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    };
    let first_view = ways.first().map(|way| way.view.clone()).unwrap_or_default();
    let mut refusal = None;
    for (n, way) in ways.into_iter().enumerate().skip(server.way(name)) {
        match server.table(&poll(std::slice::from_ref(&way.sql))).await {
            Ok(table) => {
                lacking(&first_view, &way, &table).into_iter().for_each(note);
                server.keep_way(name, n);
                return Ok(Some((way.view, table)));
            }
            Err(error) if error.is_connection_lost() => return Err(error),
            Err(error) => {
                let lacks = error.number().is_some_and(|number| LACKING.contains(&number));
                refusal = Some(error);
                if !lacks {
                    break;
                }
                server.keep_way(name, n + 1);
            }
        }
    }
    if let Some(error) = refusal {
        let message = format!("sys.{first_view} could not be read: {}", chain(&error));
        note(Problem::new("counters_unreadable", Severity::Partial, message));
    }
    Ok(None)
}

/// What a table came without. What a verdict cannot do without, the analysis says.
fn lacking(first_view: &str, way: &CounterStatement, table: &Table) -> Option<Problem> {
    let missing: Vec<&str> =
        way.columns.iter().map(String::as_str).filter(|column| table.column(column).is_none()).collect();
    let mut told = Vec::new();
    if way.view != first_view {
        told.push(format!("sys.{first_view} does not exist on this build, sys.{} was read instead", way.view));
    }
    if !missing.is_empty() {
        told.push(format!("sys.{} has no {} on this build: what needs that is missing", way.view, missing.join(", ")));
    }
    (!told.is_empty()).then(|| Problem::new("figures_missing", Severity::Warning, told.join("; ")))
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
