//! Owns the rows about sessions, requests and tasks: the workload's and the clients' own.

use crate::simulator::host::SessionContext;
use crate::simulator::seeded;
use crate::simulator::value::Datum;
use crate::simulator::views::Source;
use crate::simulator::views::databases;
use crate::simulator::views::schema::{Record, address, time};
use crate::simulator::workload::{FIRST_WORKLOAD_SESSION, WORKLOAD_DATABASE_ID};

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
}

/// All sessions that the reader may see: its own, or all with the right to see server state.
fn seen(source: Source<'_>) -> Vec<Seen<'_>> {
    let loaded = source.state.load.is_on(source.now.monotonic);
    let begun = (source.instance.origin().utc - 120_000_000).max(source.state.process.started.utc);
    let workload = (0..source.instance.truth().connections).map(|index| Seen {
        spid: FIRST_WORKLOAD_SESSION + index,
        login: "loadgen",
        host: "LOADGEN",
        application: "workload",
        database: WORKLOAD_DATABASE_ID,
        since: begun,
        running: loaded,
        is_workload: true,
        cpu_ms: 0,
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
    });
    let sees_all = source.sees_state();
    workload.chain(clients).filter(|session| sees_all || session.spid == source.session.spid).collect()
}

fn database_id(source: Source<'_>, context: &SessionContext) -> i32 {
    databases::of(source.instance.version_data())
        .find(|known| known.name == context.database)
        .map_or(1, |known| known.id)
}

fn connection_id(spid: u16) -> Datum {
    Datum::Guid(seeded::guid(&["connection", &spid.to_string()]))
}

fn task_address(spid: u16) -> Datum {
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

/// sys.dm_exec_requests.
pub fn requests(source: Source<'_>) -> Vec<Record> {
    let rows = seen(source).into_iter().filter(|session| session.running).map(|session| {
        let on_cpu = is_on_cpu(&session, source);
        let since_ms = (source.now.utc - session.since).max(0) / 1_000;
        Record::new()
            .with("session_id", i32::from(session.spid))
            .with("start_time", time(if session.is_workload { session.since } else { source.now.utc }))
            .with("status", if on_cpu { "running" } else { "runnable" })
            .with("command", "SELECT")
            .with("database_id", session.database)
            .with("user_id", 1)
            .with("connection_id", connection_id(session.spid))
            .with("blocking_session_id", 0)
            .with("last_wait_type", if session.is_workload { "SOS_SCHEDULER_YIELD" } else { "MISCELLANEOUS" })
            .with("total_elapsed_time", if session.is_workload { since_ms } else { 0 })
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
    let rows = seen(source).into_iter().filter(|session| session.running).map(|session| {
        let on_cpu = is_on_cpu(&session, source);
        Record::new()
            .with("task_address", task_address(session.spid))
            .with("task_state", if on_cpu { "RUNNING" } else { "RUNNABLE" })
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

/// sys.dm_os_waiting_tasks: system tasks. Yielding tasks are runnable, not suspended, and do not show here.
pub fn waiting_tasks(source: Source<'_>) -> Vec<Record> {
    let waits =
        ["XE_TIMER_EVENT", "LAZYWRITER_SLEEP", "LOGMGR_QUEUE", "REQUEST_FOR_DEADLOCK_SEARCH", "CHECKPOINT_QUEUE"];
    let rows = (2_u16..).zip(waits).map(|(spid, wait)| {
        Record::new()
            .with("waiting_task_address", task_address(spid))
            .with("session_id", i32::from(spid))
            .with("exec_context_id", 0)
            .with("wait_duration_ms", source.now.monotonic.rem_euclid(5_000_000) / 1_000)
            .with("wait_type", wait)
    });
    rows.collect()
}
