//! Owns the look at a server before a capture: its load, the event rate to be expected, and how its trace flags stand.

use super::rights::Rights;
use crate::agent::clock::Clock;
use crate::agent::listing::Listing;
use crate::agent::progress::Interrupt;
use crate::agent::server::Server;
use crate::agent::{CaptureError, CaptureOptions, Refusal, counters, meaning};
use crate::catalog::sessions::Scenario;
use crate::model::{Problem, Severity, Snapshot, Table};
use crate::sqlserver::SqlServerError;
use crate::statements::{Statements, TRACE_FLAGS_NOT_NEEDED, counter_names, symbol_trace_flags};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long the look takes.
const LENGTH: Duration = Duration::from_secs(2);

/// A trace flag before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlagState {
    /// Flag.
    pub flag: u32,
    /// Whether it is on globally; `None` where TRACESTATUS could not be read.
    pub global: Option<bool>,
    /// Whether another run of ours names it in its marker: on, it is on by that run, and counts as off before.
    pub of_another_run: bool,
}

impl FlagState {
    /// A flag that no other run names.
    pub(crate) fn new(flag: u32, global: Option<bool>) -> Self {
        Self { flag, global, of_another_run: false }
    }

    /// Whether it was on before any run of ours, by -T or by somebody.
    pub(crate) fn is_on_before(self) -> bool {
        self.global == Some(true) && !self.of_another_run
    }
}

/// The rate of events that are counted, against the limit.
pub(crate) fn check_rate(scenario: &Scenario, rate: f64, options: &CaptureOptions) -> Result<(), CaptureError> {
    let limit = options.max_events_per_second.unwrap_or(scenario.limits.max_events_per_second);
    let counted = rate / options.sample_one_in.unwrap_or(1).max(1) as f64;
    if counted <= limit as f64 {
        return Ok(());
    }
    let enough = (rate / limit.max(1) as f64).ceil();
    Err(CaptureError::refused(
        Refusal::Policy,
        format!(
            "{}: about {counted:.0} events a second are to be expected, more than the limit of {limit}",
            scenario.name
        ),
        Some(format!(
            "--sample {enough:.0} counts each {enough:.0}th, --max-events-per-second {:.0} allows it",
            counted.ceil()
        )),
    ))
}

pub(super) async fn flag_states(
    server: &mut Server,
    statements: &Statements<'_>,
    problems: &mut Vec<Problem>,
) -> Result<Vec<FlagState>, CaptureError> {
    let flags = symbol_trace_flags(statements.version());
    if flags.is_empty() {
        return Ok(Vec::new());
    }
    match read_with_runs(server, statements, flags).await {
        Ok(states) => Ok(states),
        Err(error) if error.is_connection_lost() => Err(error.into()),
        Err(error) => {
            let message = format!("the state of trace flags is unknown: {}", counters::chain(&error));
            problems.push(Problem::new("trace_status_unknown", Severity::Warning, message));
            Ok(flags.iter().map(|&flag| FlagState::new(flag, None)).collect())
        }
    }
}

/// The flags, and of those on which another run of ours names. A run can end between the two answers and take its flag and
/// its name with it, so a flag that nobody names is looked at once more.
async fn read_with_runs(
    server: &mut Server,
    statements: &Statements<'_>,
    flags: &[u32],
) -> Result<Vec<FlagState>, SqlServerError> {
    let mut states = read_flags(server, statements, flags).await?;
    if !states.iter().any(|state| state.global == Some(true)) {
        return Ok(states);
    }
    let Ok(sql) = statements.common("list_sessions", &[]) else { return Ok(states) };
    // Without the right to see event sessions a flag counts as somebody's, and stays on.
    let seen = match server.table(&sql).await {
        Ok(table) => Listing::from_table(&table),
        Err(error) if error.is_connection_lost() => return Err(error),
        Err(_) => return Ok(states),
    };
    let is_named = |flag: u32| seen.markers().any(|marker| marker.flags.contains(&flag));
    if states.iter().any(|state| state.global == Some(true) && !is_named(state.flag)) {
        states = read_flags(server, statements, flags).await?;
    }
    for state in &mut states {
        state.of_another_run = is_named(state.flag);
    }
    Ok(states)
}

/// Reads TRACESTATUS of some flags. A flag without a row is off.
pub(crate) async fn read_flags(
    server: &mut Server,
    statements: &Statements<'_>,
    flags: &[u32],
) -> Result<Vec<FlagState>, SqlServerError> {
    let Ok(sql) = statements.trace_status(flags) else { return Ok(Vec::new()) };
    let table = server.table(&sql).await?;
    let is_on = |flag: u32| {
        (0..table.rows.len()).any(|row| {
            table.integer(row, "TraceFlag") == Some(i64::from(flag)) && table.integer(row, "Global") == Some(1)
        })
    };
    Ok(flags.iter().map(|&flag| FlagState::new(flag, Some(is_on(flag)))).collect())
}

/// Reads every counter once. One that is refused is told now, with what to do about it; where none can be read there is
/// nothing to capture.
pub(super) async fn check_counters(
    server: &mut Server,
    statements: &Statements<'_>,
    rights: &Rights,
    scenarios: &[Scenario],
    clock: &dyn Clock,
    problems: &mut Vec<Problem>,
) -> Result<(), CaptureError> {
    let counters::Reading { snapshot, lacking, unreadable } =
        counters::read_each(server, statements, clock, &counter_names(scenarios)).await?;
    problems.extend(lacking);
    let hint = |error: &SqlServerError| error.number().and_then(|number| rights.view_refused_hint(number));
    problems.extend(unreadable.iter().map(|(view, error)| {
        let problem = counters::unreadable(view, error);
        hint(error).map_or(problem.clone(), |hint| problem.with_hint(hint))
    }));
    match unreadable.into_iter().next() {
        Some((_, error)) if snapshot.tables.is_empty() => {
            let reason = if meaning::is_permission(error.number()) { Refusal::Permission } else { Refusal::Version };
            let hint = hint(&error);
            Err(CaptureError::refused(reason, "none of the counters can be read", hint).caused_by(error))
        }
        _ => Ok(()),
    }
}

/// The look at how busy the server is and how many events are to be expected.
pub(super) struct Look {
    /// Of the scenarios whose rate can be told beforehand.
    pub events_per_second: Vec<(String, f64)>,
    /// Share of its schedulers that SQL Server uses, 0 to 1.
    pub cpu_share: Option<f64>,
    /// The counters at its end.
    pub after: Snapshot,
    /// Names of the rows that lead by wait time, by view.
    leading: BTreeMap<String, String>,
}

impl Look {
    /// The name of the row of a view whose wait time grew most; `None` where none grew.
    pub(super) fn leading(&self, view: &str) -> Option<String> {
        self.leading.get(view).cloned()
    }
}

/// The row whose wait time grew most: its name is in the view's first column.
fn leader(before: &Table, after: &Table, never: &[String]) -> Option<String> {
    const TIME: &str = "wait_time_ms";
    let name = |table: &Table, row: usize| table.text(row, table.columns.first()?).map(str::to_owned);
    let of_before: BTreeMap<String, i64> =
        (0..before.rows.len()).filter_map(|row| Some((name(before, row)?, before.integer(row, TIME)?))).collect();
    let growth = |row: usize| {
        let name = name(after, row)?;
        let grown = after.integer(row, TIME)?.checked_sub(of_before.get(&name).copied().unwrap_or_default())?;
        Some((grown, name))
    };
    let grown = (0..after.rows.len()).filter_map(growth).filter(|(grown, _)| *grown > 0);
    let allowed = grown.filter(|(_, name)| !never.iter().any(|never| never.eq_ignore_ascii_case(name)));
    allowed.max().map(|(_, name)| name)
}

/// Reads CPU and the scenarios' volumes twice.
pub(super) async fn look(
    server: &mut Server,
    statements: &Statements<'_>,
    scenarios: &[Scenario],
    clock: &dyn Clock,
    interrupt: &Interrupt,
    problems: &mut Vec<Problem>,
) -> Result<Look, CaptureError> {
    let mut names = vec!["dm_os_sys_info".to_owned(), "dm_os_schedulers".to_owned()];
    let templates = || scenarios.iter().flat_map(|scenario| &scenario.sessions);
    for view in templates().filter_map(|template| template.values_from.as_ref()) {
        if !names.contains(view) {
            names.push(view.clone());
        }
    }
    let started = clock.monotonic();
    let before = counters::read(server, statements, clock, &names, problems).await?;
    let first = volumes(server, statements, scenarios, problems).await?;
    tokio::select! {
        () = clock.sleep_until(started + LENGTH) => {}
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    }
    let second = volumes(server, statements, scenarios, problems).await?;
    let seconds = clock.monotonic().saturating_sub(started).as_secs_f64().max(0.001);
    let after = counters::read(server, statements, clock, &names, problems).await?;
    let rate = |((scenario, first), second): ((&Scenario, Option<i64>), Option<i64>)| {
        Some((scenario.name.clone(), (second? - first?).max(0) as f64 / seconds))
    };
    let events_per_second = scenarios.iter().zip(first).zip(second).filter_map(rate).collect();
    let mut leading = BTreeMap::new();
    for template in templates() {
        let Some(view) = &template.values_from else { continue };
        let tables = before.tables.get(view).zip(after.tables.get(view));
        let name = tables.and_then(|(before, after)| leader(before, after, &template.never));
        leading.extend(name.map(|name| (view.clone(), name)));
    }
    Ok(Look { events_per_second, cpu_share: counters::cpu_share(&before, &after), after, leading })
}

/// The scenarios' counts of events so far; nothing where the build lacks the view of one, which leaves the event cap.
async fn volumes(
    server: &mut Server,
    statements: &Statements<'_>,
    scenarios: &[Scenario],
    problems: &mut Vec<Problem>,
) -> Result<Vec<Option<i64>>, CaptureError> {
    let mut counts = Vec::new();
    for scenario in scenarios {
        let Some(statement) = &scenario.counters.volume else {
            counts.push(None);
            continue;
        };
        counts.push(match server.table(&statements.volume(statement, scenario)?).await {
            Ok(table) => sum(&table, "events"),
            Err(error) if counters::is_lacking(&error) => {
                let message =
                    format!("{}: the event rate is not predicted: {}", scenario.name, counters::chain(&error));
                let problem = Problem::new("rate_unknown", Severity::Warning, message);
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
                None
            }
            Err(error) => return Err(error.into()),
        });
    }
    Ok(counts)
}

/// A column over all rows: a view may tell of one name in several.
fn sum(table: &Table, column: &str) -> Option<i64> {
    (0..table.rows.len()).filter_map(|row| table.integer(row, column)).reduce(i64::saturating_add)
}

/// Why symbolising on the server would be refused now; `limit` is the share of scheduler time above which it is.
pub(crate) fn flags_policy(cpu_share: Option<f64>, now: &Snapshot, limit: f64) -> Option<String> {
    let queued = counters::work_queue(now);
    if queued > 0 {
        return Some(format!("{queued} tasks wait for a worker"));
    }
    cpu_share.filter(|share| *share > limit).map(|share| {
        format!("SQL Server uses {:.0} % of its schedulers, more than {:.0} %", share * 100.0, limit * 100.0)
    })
}

/// The flags that may be turned on: none without the opt-in.
pub(super) fn flags_to_use(
    flags: &[FlagState],
    look: &Look,
    limit: f64,
    options: &CaptureOptions,
    uses_rva: bool,
) -> Result<Vec<u32>, CaptureError> {
    if !options.trace_flags.enable {
        return Ok(Vec::new());
    }
    let hint = "leave out --enable-trace-flags, or insist with --force-flags";
    let refused = |text: String| CaptureError::refused(Refusal::Policy, text, Some(hint.to_owned()));
    if flags.iter().any(|state| state.global.is_none()) {
        // Not even --force-flags: what was before could not be restored.
        return Err(refused("the state of trace flags is unknown, so they could not be restored".to_owned()));
    }
    if !options.trace_flags.force {
        if uses_rva {
            return Err(refused(TRACE_FLAGS_NOT_NEEDED.to_owned()));
        }
        if let Some(reason) = flags_policy(look.cpu_share, &look.after, limit) {
            return Err(refused(format!("trace flags are refused: {reason}")));
        }
    }
    Ok(flags.iter().map(|state| state.flag).collect())
}
