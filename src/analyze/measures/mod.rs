//! Owns what the snapshots say of the server itself: time, schedulers, CPU, queues, and whether it is the same server.

mod queues;

pub use queues::{NodeQueues, Queues};

use crate::{
    catalog::GateSettings,
    model::{Evidence, Snapshot, Table},
};
use std::collections::BTreeMap;

/// Scheduler ids from here on are the server's own, not for user work (documentation of sys.dm_os_schedulers).
const HIDDEN_FROM: i64 = 1_048_576;
/// How much longer than the window a server may have been up that restarted in it: clocks and round trips.
const RESTART_SLACK_MS: i64 = 5_000;

/// Whether two snapshots are of one server's one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuity {
    /// Same start, or nothing says otherwise.
    Same,
    /// It started anew in between.
    Restarted,
    /// The second snapshot is of another server, or of a run that began before the first one.
    OtherServer,
}

/// What the snapshots say of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Measures {
    /// Whether the two snapshots are of one run.
    pub continuity: Continuity,
    /// Time between the snapshots; `None` where unknown or zero.
    pub elapsed_ms: Option<u64>,
    /// Schedulers that are online for user work.
    pub schedulers: Option<u64>,
    /// Milliseconds between the snapshots by the server's clock (`ms_ticks`).
    pub ms_ticks: Option<u64>,
    /// Processor cycles between the snapshots (`cpu_ticks`).
    pub cpu_ticks: Option<u64>,
    /// SQL Server's share of the online schedulers' time.
    pub sql_cpu_share: Option<f64>,
    /// Time that a governor kept schedulers idle; from 2016.
    pub idle_capped_ms: Option<u64>,
    /// Most tasks that were on the online schedulers at once.
    pub most_tasks: Option<u64>,
    /// Runnable queues.
    pub queues: Queues,
    /// Batch requests a second (`Batch Requests/sec` of `sys.dm_os_performance_counters`, which counts batches).
    pub batch_requests_per_second: Option<f64>,
    /// Whether it is a virtual machine.
    pub virtual_machine: Option<bool>,
}

/// Reads the measures.
pub fn measures(evidence: &Evidence, settings: &GateSettings) -> Measures {
    let continuity =
        evidence.before.as_ref().zip(evidence.after.as_ref()).map_or(Continuity::Same, |(before, after)| {
            continuity(before, after, evidence.window.map(|window| window.elapsed_ms))
        });
    let elapsed_ms = evidence
        .window
        .map(|window| window.elapsed_ms)
        .or_else(|| growth(evidence, "dm_os_sys_info", "ms_ticks").and_then(|ms| u64::try_from(ms).ok()))
        .filter(|elapsed| *elapsed > 0);
    let schedulers = schedulers(evidence);
    let same = |value: Option<i128>| {
        value.filter(|_| continuity == Continuity::Same).and_then(|value| u64::try_from(value).ok())
    };
    let cpu_ms = same(process_cpu_ms(evidence)).or_else(|| same(scheduler_growth(evidence, "total_cpu_usage_ms")));
    let sql_cpu_share = elapsed_ms
        .zip(schedulers)
        .zip(cpu_ms)
        .map(|((elapsed, schedulers), cpu)| cpu as f64 / (elapsed as f64 * schedulers as f64));
    Measures {
        continuity,
        elapsed_ms,
        schedulers,
        ms_ticks: same(growth(evidence, "dm_os_sys_info", "ms_ticks")),
        cpu_ticks: same(growth(evidence, "dm_os_sys_info", "cpu_ticks")).filter(|ticks| *ticks > 0),
        sql_cpu_share,
        idle_capped_ms: same(scheduler_growth(evidence, "total_cpu_idle_capped_ms")),
        most_tasks: snapshots(evidence).filter_map(online_tasks).max(),
        queues: queues::queues(evidence, elapsed_ms.filter(|_| continuity == Continuity::Same), settings),
        batch_requests_per_second: elapsed_ms
            .zip(same(batch_requests(evidence)))
            .map(|(elapsed, batches)| batches as f64 * 1_000.0 / elapsed as f64),
        virtual_machine: virtual_machine(evidence),
    }
}

/// Whether two snapshots are of one run of one server, by their `dm_os_sys_info`; `elapsed_ms` lies between them at
/// most.
pub fn continuity(before: &Snapshot, after: &Snapshot, elapsed_ms: Option<u64>) -> Continuity {
    let both = |column: &str| {
        let of = |snapshot: &Snapshot| snapshot.tables.get("dm_os_sys_info")?.value(0, column).cloned();
        of(before).zip(of(after))
    };
    if both("server_name").is_some_and(|(before, after)| before != after) {
        return Continuity::OtherServer;
    }
    let changed = |column: &str| both(column).is_some_and(|(before, after)| before != after);
    let older = |column: &str| {
        both(column).is_some_and(|(before, after)| {
            before.as_integer().zip(after.as_integer()).is_some_and(|(before, after)| after < before)
                || before.as_text().zip(after.as_text()).is_some_and(|(before, after)| after < before)
        })
    };
    if !changed("sqlserver_start_time_ms_ticks") && !changed("sqlserver_start_time") {
        // The machine's own clock going back means that it started anew.
        return if older("ms_ticks") { Continuity::Restarted } else { Continuity::Same };
    }
    let up_ms = both("ms_ticks")
        .zip(both("sqlserver_start_time_ms_ticks"))
        .and_then(|((_, now), (_, started))| now.as_integer()?.checked_sub(started.as_integer()?));
    let window_ms = elapsed_ms.and_then(|elapsed| i64::try_from(elapsed).ok());
    let started_before_the_window =
        up_ms.zip(window_ms).is_some_and(|(up, window)| up > window.saturating_add(RESTART_SLACK_MS));
    if started_before_the_window || older("sqlserver_start_time") {
        Continuity::OtherServer
    } else {
        Continuity::Restarted
    }
}

fn snapshots(evidence: &Evidence) -> impl Iterator<Item = &Snapshot> {
    evidence.before.iter().chain(&evidence.samples).chain(&evidence.after)
}

/// Growth of a column of a view with one row.
fn growth(evidence: &Evidence, view: &str, column: &str) -> Option<i128> {
    let of = |snapshot: &Option<Snapshot>| snapshot.as_ref()?.tables.get(view)?.integer(0, column);
    Some(i128::from(of(&evidence.after)?) - i128::from(of(&evidence.before)?))
}

/// Growth of the batch requests. Names of counters are padded with spaces to a fixed length.
fn batch_requests(evidence: &Evidence) -> Option<i128> {
    let of = |snapshot: &Option<Snapshot>| -> Option<i64> {
        let table = snapshot.as_ref()?.tables.get("dm_os_performance_counters")?;
        let is_batches = |row: &usize| {
            let name = table.text(*row, "counter_name");
            name.is_some_and(|name| name.trim().eq_ignore_ascii_case("Batch Requests/sec"))
        };
        table.integer((0..table.rows.len()).find(is_batches)?, "cntr_value")
    };
    Some(i128::from(of(&evidence.after)?) - i128::from(of(&evidence.before)?))
}

fn process_cpu_ms(evidence: &Evidence) -> Option<i128> {
    let kernel = growth(evidence, "dm_os_sys_info", "process_kernel_time_ms")?;
    let user = growth(evidence, "dm_os_sys_info", "process_user_time_ms")?;
    Some(kernel + user).filter(|_| kernel >= 0 && user >= 0)
}

/// Growth of a column for each scheduler that is online in both snapshots; `None` where one went down.
fn growth_by_scheduler(evidence: &Evidence, column: &str) -> Option<BTreeMap<i64, i128>> {
    let of = |snapshot: &Option<Snapshot>| -> Option<BTreeMap<i64, i64>> {
        let table = snapshot.as_ref()?.tables.get("dm_os_schedulers")?;
        table.column(column)?;
        let rows = online_rows(table);
        Some(rows.filter_map(|row| Some((table.integer(row, "scheduler_id")?, table.integer(row, column)?))).collect())
    };
    let (before, after) = (of(&evidence.before)?, of(&evidence.after)?);
    let both = after.iter().filter_map(|(id, after)| Some((*id, i128::from(*after) - i128::from(*before.get(id)?))));
    let growths: BTreeMap<i64, i128> = both.collect();
    (!growths.is_empty() && growths.values().all(|growth| *growth >= 0)).then_some(growths)
}

fn scheduler_growth(evidence: &Evidence, column: &str) -> Option<i128> {
    growth_by_scheduler(evidence, column).map(|growths| growths.values().sum())
}

/// Rows of dm_os_schedulers that are online for user work.
fn online_rows(table: &Table) -> impl Iterator<Item = usize> + '_ {
    (0..table.rows.len()).filter(|row| {
        let online = match table.text(*row, "status") {
            Some(status) => status.trim().eq_ignore_ascii_case("VISIBLE ONLINE"),
            None => table.integer(*row, "is_online") == Some(1),
        };
        online && table.integer(*row, "scheduler_id").is_some_and(|id| (0..HIDDEN_FROM).contains(&id))
    })
}

fn schedulers(evidence: &Evidence) -> Option<u64> {
    let last_first = || evidence.after.iter().chain(evidence.samples.iter().rev()).chain(&evidence.before);
    let counted = last_first()
        .filter_map(|snapshot| snapshot.tables.get("dm_os_schedulers"))
        .map(|table| online_rows(table).count() as u64)
        .find(|count| *count > 0);
    let stated = || {
        last_first().filter_map(|snapshot| snapshot.tables.get("dm_os_sys_info")).find_map(|table| {
            let columns = ["scheduler_count", "cpu_count"].iter();
            let mut counts = columns.filter_map(|column| u64::try_from(table.integer(0, column)?).ok());
            counts.find(|count| *count > 0)
        })
    };
    counted.or_else(stated)
}

fn online_tasks(snapshot: &Snapshot) -> Option<u64> {
    let table = snapshot.tables.get("dm_os_schedulers")?;
    table.column("current_tasks_count")?;
    let tasks = online_rows(table).filter_map(|row| u64::try_from(table.integer(row, "current_tasks_count")?).ok());
    Some(tasks.fold(0, u64::saturating_add))
}

fn virtual_machine(evidence: &Evidence) -> Option<bool> {
    let stated = evidence.server.as_ref().and_then(|server| server.virtual_machine.as_deref());
    let counted = snapshots(evidence)
        .filter_map(|snapshot| snapshot.tables.get("dm_os_sys_info"))
        .find_map(|table| table.text(0, "virtual_machine_type_desc"));
    stated.or(counted).map(|kind| !kind.trim().eq_ignore_ascii_case("NONE"))
}
