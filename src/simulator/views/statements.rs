//! Owns the rows about statements in the plan cache.

use crate::simulator::seeded;
use crate::simulator::value::Datum;
use crate::simulator::views::Source;
use crate::simulator::views::schema::{Record, time};
use crate::simulator::workload::counters::Cumulative;

/// Bursts whose executions are counted before the simulated time begins, or as much.
const BURSTS_BEFORE: u64 = 40;

/// A statement of the workload.
struct Statement<'a> {
    hash: u64,
    text: &'a str,
    executions: Cumulative,
    cpu_ms: Cumulative,
}

/// Those of the workload.
fn statements(source: Source<'_>) -> Vec<Statement<'_>> {
    let counter = |load: u64| Cumulative::loaded(load.saturating_mul(BURSTS_BEFORE), load);
    let cached = source.instance.truth().storage.statements.iter().map(|statement| Statement {
        hash: statement.hash,
        text: statement.text,
        executions: counter(statement.executions),
        cpu_ms: counter(statement.cpu_ms),
    });
    cached.collect()
}

/// The handle of a statement's text: type and hash, as long as the product's.
pub(super) fn sql_handle(text: &str) -> Datum {
    let mut handle = vec![2, 0, 0, 0];
    handle.extend(seeded::guid(&["sql", text]));
    handle.resize(44, 0);
    Datum::Binary(handle)
}

/// sys.dm_exec_query_stats: the workload's statements, once they have run since the server's start. Assumed: nobody
/// else's are cached, and each has one plan and a batch of its own.
pub fn query_stats(source: Source<'_>) -> Vec<Record> {
    let since = source.since_start();
    let ran = statements(source).into_iter().filter(|statement| since.plain(statement.executions) > 0);
    let rows = ran.map(|statement| {
        let executions = since.plain(statement.executions);
        let worker_micros = since.plain(statement.cpu_ms).saturating_mul(1_000);
        let each = worker_micros / executions;
        let plan = seeded::guid(&["plan", statement.text]);
        let mut plan_handle = vec![6, 0, 5, 0];
        plan_handle.extend(plan);
        let plan_hash = plan.iter().take(8).copied().collect();
        Record::new()
            .with("sql_handle", sql_handle(statement.text))
            .with("statement_start_offset", 0)
            .with("statement_end_offset", -1)
            .with("plan_generation_num", 1)
            .with("plan_handle", Datum::Binary(plan_handle))
            .with("creation_time", time(source.state.process.started.utc))
            .with("last_execution_time", time(source.now.utc))
            .with("execution_count", executions)
            .with("total_worker_time", worker_micros)
            .with("last_worker_time", each)
            .with("min_worker_time", each / 2)
            .with("max_worker_time", each.saturating_mul(9))
            .with("total_logical_reads", executions.saturating_mul(3))
            .with("last_logical_reads", 3)
            .with("min_logical_reads", 3)
            .with("max_logical_reads", 3)
            .with("total_elapsed_time", worker_micros.saturating_mul(4))
            .with("last_elapsed_time", each.saturating_mul(4))
            .with("min_elapsed_time", each / 2)
            .with("max_elapsed_time", each.saturating_mul(30))
            .with("query_hash", Datum::Binary(statement.hash.to_be_bytes().to_vec()))
            .with("query_plan_hash", Datum::Binary(plan_hash))
            .with("total_rows", executions)
            .with("last_rows", 1)
            .with("min_rows", 1)
            .with("max_rows", 1)
            .with("total_dop", executions)
            .with("last_dop", 1)
            .with("min_dop", 1)
            .with("max_dop", 1)
    });
    rows.collect()
}

/// sys.dm_exec_sql_text(handle): the workload's statements and its maintenance. Assumed: no row for another handle.
pub fn sql_text(source: Source<'_>) -> Vec<Record> {
    let Some(handle @ Datum::Binary(_)) = source.arguments.first() else { return Vec::new() };
    let maintenance = source.instance.truth().storage.maintenance.iter().map(|request| request.statement);
    let mut texts = statements(source).into_iter().map(|statement| statement.text).chain(maintenance);
    let found = texts.find(|text| sql_handle(text) == *handle);
    found.map(|text| Record::new().with("encrypted", false).with("text", text)).into_iter().collect()
}
