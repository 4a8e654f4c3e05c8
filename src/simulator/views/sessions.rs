//! Owns the rows about sessions, requests and tasks: the workload's and the clients' own.

use crate::simulator::host::SessionContext;
use crate::simulator::seeded;
use crate::simulator::value::Datum;
use crate::simulator::views::Source;
use crate::simulator::views::schema::{Record, address, time};
use crate::simulator::views::{statements, waiting};
use crate::simulator::workload::FIRST_WORKLOAD_SESSION;
use crate::simulator::workload::storage::Maintenance;

/// A session that is seen: a client's or one of the workload's.
struct Seen<'a> {
    spid: u16,
    login: &'a str,
    host: &'a str,
    application: &'a str,
    database: i32,
    since: i64,
    running: bool,
    is_workload: bool,
    cpu_ms: u32,
    /// What it runs beside the workload.
    maintenance: Option<Maintenance>,
}

/// All sessions that the reader may see: its own, or all with the right to see server state.
fn seen(source: Source<'_>) -> Vec<Seen<'_>> {
    let loaded = source.is_loaded();
    let begun = (source.instance.origin().utc - 120_000_000).max(source.state.process.started.utc);
    let workload = (0..source.instance.truth().connections).map(|index| Seen {
        spid: FIRST_WORKLOAD_SESSION + index,
        login: "loadgen",
        host: "LOADGEN",
        application: "workload",
        database: source.instance.truth().storage.own_database_id(),
        since: begun,
        running: loaded,
        is_workload: true,
        cpu_ms: 0,
        maintenance: None,
    });
    let after = FIRST_WORKLOAD_SESSION.saturating_add(source.instance.truth().connections);
    let running = if loaded { source.instance.truth().storage.maintenance.as_slice() } else { &[] };
    let maintenance = (after..).zip(running).map(|(spid, maintenance)| Seen {
        spid,
        login: "sa",
        host: "LOADGEN",
        application: "maintenance",
        database: maintenance.database_id,
        since: begun,
        running: true,
        is_workload: false,
        cpu_ms: 0,
        maintenance: Some(*maintenance),
    });
    let clients = source.state.sessions.values().map(|client| Seen {
        spid: client.context.spid,
        login: &client.context.login,
        host: &client.context.host,
        application: &client.context.application,
        database: database_id(source, &client.context),
        since: client.since.utc,
        running: client.context.spid == source.session.spid,
        is_workload: false,
        cpu_ms: client.cpu_ms,
        maintenance: None,
    });
    let sees_all = source.sees_state();
    workload
        .chain(maintenance)
        .chain(clients)
        .filter(|session| sees_all || session.spid == source.session.spid)
        .collect()
}

fn database_id(source: Source<'_>, context: &SessionContext) -> i32 {
    source.database_of(context).map_or(1, |known| known.database.id)
}

fn connection_id(spid: u16) -> Datum {
    Datum::Guid(seeded::guid(&["connection", &spid.to_string()]))
}

pub(super) fn task_address(spid: u16) -> Datum {
    address(0x0000_01f4_6000_0088 + u64::from(spid) * 0x400)
}

/// Whether a session is on its scheduler now, not in the queue: clients' are, and of the workload's one in six, or all
/// where nothing queues.
fn is_on_cpu(session: &Seen<'_>, source: Source<'_>) -> bool {
    let queues = source.instance.truth().machine.busy_schedulers().any(|scheduler| scheduler.node.queue.1 > 0);
    let turn = || {
        let quantum = (source.now.monotonic / 4_000).to_string();
        seeded::hash(&[&quantum, &session.spid.to_string()]).is_multiple_of(6)
    };
    !session.is_workload || !queues || turn()
}

/// sys.dm_exec_sessions.
pub fn sessions(source: Source<'_>) -> Vec<Record> {
    let rows = seen(source).into_iter().map(|session| {
        Record::new()
            .with("session_id", i32::from(session.spid))
            .with("login_time", time(session.since))
            .with("host_name", session.host)
            .with("program_name", session.application)
            .with("host_process_id", 1_000 + i32::from(session.spid))
            .with("client_version", 7)
            .with("client_interface_name", "TDS")
            .with("security_id", Datum::Binary(vec![1]))
            .with("login_name", session.login)
            .with("status", if session.running { "running" } else { "sleeping" })
            .with("cpu_time", session.cpu_ms)
            .with("total_elapsed_time", session.cpu_ms)
            .with("memory_usage", 4)
            .with("endpoint_id", 4)
            .with("last_request_start_time", time(source.now.utc))
            .with("is_user_process", true)
            .with("text_size", 2_147_483_647)
            .with("language", source.instance.switches().places.language.name())
            .with("date_format", source.instance.switches().places.language.date_format())
            .with("date_first", source.instance.switches().places.language.first_day())
            .with("quoted_identifier", true)
            .with("transaction_isolation_level", 2)
            .with("lock_timeout", -1)
            .with("original_security_id", Datum::Binary(vec![1]))
            .with("original_login_name", session.login)
            .with("group_id", 2)
            .with("database_id", session.database)
    });
    rows.collect()
}

/// sys.dm_exec_requests. Maintenance gets on with the load's burst, or in ten seconds of steady load.
pub fn requests(source: Source<'_>) -> Vec<Record> {
    let waiters = waiting::waiters(source);
    let percent = source.added_since_origin(10_000) % 10_000;
    let rows = seen(source).into_iter().filter(|session| session.running).map(|session| {
        let on_cpu = is_on_cpu(&session, source);
        let since_ms = (source.now.utc - session.since).max(0) / 1_000;
        let begun_before = session.is_workload || session.maintenance.is_some();
        let waiter = waiters.iter().find(|waiter| waiter.spid == session.spid);
        let mut record = Record::new();
        if let Some(maintenance) = session.maintenance {
            record = record
                .with("sql_handle", statements::sql_handle(maintenance.statement))
                .with("percent_complete", percent as f64 / 100.0);
        }
        if let Some(waiter) = waiter {
            record = record
                .with("wait_type", waiter.waits.wait_type)
                .with("wait_time", waiter.duration_ms)
                .with("wait_resource", waiter.waits.resource);
        }
        let status = match waiter {
            Some(_) => "suspended",
            None if on_cpu => "running",
            None => "runnable",
        };
        record
            .with("session_id", i32::from(session.spid))
            .with("start_time", time(if begun_before { session.since } else { source.now.utc }))
            .with("status", status)
            .with("command", session.maintenance.map_or("SELECT", |maintenance| maintenance.command))
            .with("database_id", session.database)
            .with("user_id", 1)
            .with("connection_id", connection_id(session.spid))
            .with("blocking_session_id", 0)
            .with("last_wait_type", if session.is_workload { "SOS_SCHEDULER_YIELD" } else { "MISCELLANEOUS" })
            .with("total_elapsed_time", if begun_before { since_ms } else { 0 })
            .with("scheduler_id", source.instance.truth().machine.scheduler_of(session.spid))
            .with("task_address", task_address(session.spid))
            .with("text_size", 2_147_483_647)
            .with("language", source.instance.switches().places.language.name())
            .with("date_format", source.instance.switches().places.language.date_format())
            .with("date_first", source.instance.switches().places.language.first_day())
            .with("quoted_identifier", true)
            .with("transaction_isolation_level", 2)
            .with("lock_timeout", -1)
            .with("group_id", 2)
            .with("dop", 1)
    });
    rows.collect()
}

/// sys.dm_exec_connections.
pub fn connections(source: Source<'_>) -> Vec<Record> {
    let rows = seen(source).into_iter().map(|session| {
        Record::new()
            .with("session_id", i32::from(session.spid))
            .with("most_recent_session_id", i32::from(session.spid))
            .with("connect_time", time(session.since))
            .with("net_transport", "TCP")
            .with("protocol_type", "TSQL")
            .with("protocol_version", 0x7400_0004)
            .with("endpoint_id", 4)
            .with("encrypt_option", "FALSE")
            .with("auth_scheme", "SQL")
            .with("net_packet_size", 4_096)
            .with("client_net_address", "127.0.0.1")
            .with("local_net_address", "127.0.0.1")
            .with("local_tcp_port", 1_433)
            .with("connection_id", connection_id(session.spid))
    });
    rows.collect()
}

/// sys.dm_os_tasks.
pub fn tasks(source: Source<'_>) -> Vec<Record> {
    let waiters = waiting::waiters(source);
    let rows = seen(source).into_iter().filter(|session| session.running).map(|session| {
        let state = match waiters.iter().any(|waiter| waiter.spid == session.spid) {
            true => "SUSPENDED",
            false if is_on_cpu(&session, source) => "RUNNING",
            false => "RUNNABLE",
        };
        Record::new()
            .with("task_address", task_address(session.spid))
            .with("task_state", state)
            .with("scheduler_id", source.instance.truth().machine.scheduler_of(session.spid))
            .with("session_id", i32::from(session.spid))
            .with("exec_context_id", 0)
            .with("request_id", 0)
            .with("worker_address", address(0x0000_01f4_5000_0160 + u64::from(session.spid) * 0x1000))
    });
    rows.collect()
}

/// sys.dm_os_workers: one for each task.
pub fn workers(source: Source<'_>) -> Vec<Record> {
    let rows = seen(source).into_iter().filter(|session| session.running).map(|session| {
        let on_cpu = is_on_cpu(&session, source);
        Record::new()
            .with("worker_address", address(0x0000_01f4_5000_0160 + u64::from(session.spid) * 0x1000))
            .with("is_preemptive", false)
            .with("state", if on_cpu { "RUNNING" } else { "RUNNABLE" })
            .with("last_wait_type", "SOS_SCHEDULER_YIELD")
            .with("task_address", task_address(session.spid))
    });
    rows.collect()
}
