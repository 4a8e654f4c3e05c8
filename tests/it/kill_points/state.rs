//! What another client sees of a server: everything that a capture may not leave changed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use xestack::sqlserver::{ConnectOptions, Connection};

const LIMIT: Duration = Duration::from_secs(30);

/// What is looked at, by name.
const STATEMENTS: [(&str, &str); 7] = [
    (
        "definitions",
        "SELECT s.name, s.event_retention_mode, s.max_dispatch_latency, s.max_memory, s.max_event_size, \
                s.memory_partition_mode, s.track_causality, s.startup_state FROM sys.server_event_sessions AS s",
    ),
    (
        "events",
        "SELECT s.name AS session, e.package, e.name, e.predicate FROM sys.server_event_session_events AS e \
         JOIN sys.server_event_sessions AS s ON s.event_session_id = e.event_session_id",
    ),
    (
        "actions",
        "SELECT s.name AS session, a.package, a.name FROM sys.server_event_session_actions AS a \
         JOIN sys.server_event_sessions AS s ON s.event_session_id = a.event_session_id",
    ),
    (
        "targets",
        "SELECT s.name AS session, t.package, t.name FROM sys.server_event_session_targets AS t \
         JOIN sys.server_event_sessions AS s ON s.event_session_id = t.event_session_id",
    ),
    ("running", "SELECT r.name FROM sys.dm_xe_sessions AS r"),
    ("trace flags", "DBCC TRACESTATUS (-1) WITH NO_INFOMSGS"),
    (
        "locks that can be had",
        "DECLARE @a int; DECLARE @b int; DECLARE @c int; \
         EXEC @a = sys.sp_getapplock @Resource = N'xestack/sos-yield', @LockMode = N'Exclusive', \
              @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public'; \
         EXEC @b = sys.sp_getapplock @Resource = N'xestack/spinlock', @LockMode = N'Exclusive', \
              @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public'; \
         EXEC @c = sys.sp_getapplock @Resource = N'xestack/flags', @LockMode = N'Exclusive', \
              @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public'; \
         SELECT @a AS sos_yield, @b AS spinlock, @c AS flags",
    ),
];

/// Rows by what they are of, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerState(BTreeMap<&'static str, Vec<String>>);

/// Looks, once no connection of a capture is left: session flags live in connections.
pub(crate) async fn look(options: &ConnectOptions) -> ServerState {
    let mut connection = Connection::open(options).await.unwrap();
    let others = "SELECT s.session_id FROM sys.dm_exec_sessions AS s \
                  WHERE s.program_name = N'xestack' AND s.session_id <> @@SPID";
    let since = Instant::now();
    while !connection.run(others, LIMIT).await.unwrap()[0].rows.is_empty() {
        assert!(since.elapsed() < LIMIT, "a connection of a capture that has ended is still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let edition = "SELECT CAST(SERVERPROPERTY('EngineEdition') AS int) AS engine_edition";
    let of_database = connection.run(edition, LIMIT).await.unwrap()[0].integer(0, "engine_edition") == Some(5);
    let mut state = BTreeMap::new();
    for (name, sql) in STATEMENTS {
        // Azure SQL Database has its sessions in a database, and no trace flags.
        if of_database && name == "trace flags" {
            continue;
        }
        let sql = if of_database {
            sql.replace("server_event", "database_event").replace("dm_xe_", "dm_xe_database_")
        } else {
            sql.to_owned()
        };
        let tables = connection.run(&sql, LIMIT).await.unwrap();
        let mut rows: Vec<String> = tables.iter().flat_map(|table| &table.rows).map(|row| format!("{row:?}")).collect();
        rows.sort_unstable();
        state.insert(name, rows);
    }
    connection.close().await;
    ServerState(state)
}
