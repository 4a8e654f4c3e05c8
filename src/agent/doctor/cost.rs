//! Owns measuring what reading a scenario's counters costs the server.

use crate::agent::clock::Clock;
use crate::agent::counters;
use crate::agent::server::Server;
use crate::catalog::sessions::Scenario;
use crate::model::PollCost;
use crate::sqlserver::SqlServerError;
use crate::statements::{Statements, counter_names};
use std::sync::Arc;

/// Readings for one figure: cpu_time counts whole milliseconds.
const READINGS: u32 = 5;
/// Milliseconds of server CPU that one reading may cost.
const CPU_MS_BOUND: f64 = 5.0;

/// Reads the counters a few times; `None` where not even that works.
pub(super) async fn of_a_poll(
    server: &mut Server,
    statements: &Statements<'_>,
    clock: &Arc<dyn Clock>,
    scenarios: &[Scenario],
) -> Result<Option<PollCost>, SqlServerError> {
    let names = counter_names(scenarios);
    let before = own_cpu_ms(server, statements).await?;
    let started = clock.monotonic();
    for _reading in 0..READINGS {
        let snapshot = counters::read_each(server, statements, &**clock, &names).await?.snapshot;
        if snapshot.tables.is_empty() {
            return Ok(None);
        }
    }
    let elapsed = clock.monotonic().saturating_sub(started);
    let after = own_cpu_ms(server, statements).await?;
    let each = |total: f64| total / f64::from(READINGS);
    Ok(Some(PollCost {
        cpu_ms: before.zip(after).map(|(before, after)| each((after - before).max(0) as f64)),
        cpu_ms_bound: CPU_MS_BOUND,
        answer_ms: each(elapsed.as_secs_f64() * 1000.0),
        readings: READINGS,
    }))
}

async fn own_cpu_ms(server: &mut Server, statements: &Statements<'_>) -> Result<Option<i64>, SqlServerError> {
    let Ok(sql) = statements.common("dm_exec_sessions", &[]) else { return Ok(None) };
    match server.table(&sql).await {
        Ok(table) => Ok(table.integer(0, "cpu_time")),
        Err(error) if error.is_connection_lost() => Err(error),
        Err(_) => Ok(None),
    }
}
