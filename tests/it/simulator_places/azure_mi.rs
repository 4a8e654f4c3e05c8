//! Azure SQL Managed Instance.

use super::Place;
use std::time::Duration;
use xestack::model::ServerVersion;

async fn place(faults: &[&str], logins: &[&str]) -> Place {
    Place::new(ServerVersion::AzureMi, faults, logins).await
}

fn create(name: &str, level: &str, options: &str) -> String {
    format!(
        "CREATE EVENT SESSION [{name}] ON {level}
         ADD EVENT sqlos.wait_info(ACTION(package0.callstack) WHERE wait_type = 162 AND opcode = 1)
         ADD TARGET package0.histogram(SET slots = 512, source = N'package0.callstack')
         WITH (MAX_DISPATCH_LATENCY = 1 SECONDS{options})"
    )
}

#[tokio::test]
async fn it_says_what_it_is() {
    let place = place(&[], &[]).await;
    let mut session = place.login("sa").await;
    let property = |name: &str| format!("SELECT CAST(SERVERPROPERTY('{name}') AS nvarchar(128))");
    assert_eq!(session.value(&property("EngineEdition")).await, "8");
    assert_eq!(session.value(&property("ProductVersion")).await, "12.0.2000.8");
    assert_eq!(session.value(&property("Edition")).await, "SQL Azure");
    assert_eq!(session.rows("SELECT name FROM sys.databases").await.len(), 5);
    assert_eq!(session.error("USE OneRow").await, 0);
    assert_eq!(session.error("SELECT name FROM master.sys.databases").await, 0);
    assert!(session.rows("SELECT name FROM sys.dm_os_loaded_modules").await.len() > 10);
}

#[tokio::test]
async fn sessions_are_on_the_server_or_in_a_database() {
    let place = place(&[], &[]).await;
    let mut session = place.login_to("OneRow").await;
    for level in ["SERVER", "DATABASE"] {
        session.run(&create("s", level, "")).await;
        session.run(&format!("ALTER EVENT SESSION s ON {level} STATE = START")).await;
    }
    place.pass(Duration::from_secs(12));
    let target = |of: &str| {
        format!(
            "SELECT CAST(t.target_data AS nvarchar(max)) FROM sys.dm_xe_{of}sessions AS x
             JOIN sys.dm_xe_{of}session_targets AS t ON t.event_session_address = x.address WHERE x.name = N's'"
        )
    };
    let (server, database) = (session.value(&target("")).await, session.value(&target("database_")).await);
    assert!(server.contains("<Slot count=") && server == database, "{server}");
    let mut elsewhere = place.login("sa").await;
    assert_eq!(elsewhere.rows(&target("database_")).await.len(), 0);
    assert_eq!(elsewhere.rows(&target("")).await.len(), 1);
    session.run("DROP EVENT SESSION s ON SERVER").await;
    assert_eq!(session.rows("SELECT name FROM sys.database_event_sessions").await, [["s"]]);
    let on_server = session.rows("SELECT name FROM sys.server_event_sessions ORDER BY name").await;
    assert_eq!(on_server, [["system_health"], ["telemetry_xevents"]]);
}

#[tokio::test]
async fn trace_flags_for_symbols_cannot_be_turned_on() {
    let place = place(&[], &[]).await;
    let mut session = place.login("sa").await;
    for (flags, number) in [("3656, 2592, -1", 40518), ("3656", 40518), ("2467", 40518), ("2467, -1", 0)] {
        assert_eq!(session.error(&format!("DBCC TRACEON ({flags}) WITH NO_INFOMSGS")).await, number, "{flags}");
    }
    let status = session.rows("DBCC TRACESTATUS (3656, 2592, 2467) WITH NO_INFOMSGS").await;
    assert_eq!(status, [["3656", "0", "0", "0"], ["2592", "0", "0", "0"], ["2467", "1", "1", "0"]]);
    assert_eq!(session.error("DBCC SQLPERF ('sys.dm_os_wait_stats', CLEAR)").await, 0);
}

#[tokio::test]
async fn rights_are_fine_on_the_server_and_in_databases() {
    let logins = [
        "creator=CREATE ANY EVENT SESSION",
        "all=ALTER ANY EVENT SESSION,VIEW SERVER PERFORMANCE STATE",
        "of_database=ALTER ANY DATABASE EVENT SESSION,VIEW DATABASE STATE",
    ];
    let place = place(&[], &logins).await;
    let start = "ALTER EVENT SESSION s ON SERVER STATE = START";
    let mut creator = place.login("creator").await;
    assert_eq!(creator.error(&create("s", "SERVER", "")).await, 0);
    assert_eq!(creator.error(start).await, 15247);
    let mut of_database = place.login("of_database").await;
    assert_eq!(of_database.error(start).await, 15247);
    assert_eq!(of_database.error("SELECT * FROM sys.dm_xe_sessions").await, 300);
    assert_eq!(of_database.error("SELECT * FROM sys.dm_xe_database_sessions").await, 0);
    assert_eq!(of_database.error(&create("s", "DATABASE", "")).await, 0);
    let mut all = place.login("all").await;
    assert_eq!(all.error(start).await, 0);
    assert_eq!(all.error("DROP EVENT SESSION s ON DATABASE").await, 0, "the server's right covers the database's");
}

#[tokio::test]
async fn both_call_stacks_are_there_and_a_duration_may_be() {
    let names =
        "SELECT name FROM sys.dm_xe_objects WHERE object_type = N'action' AND name LIKE N'callstack%' ORDER BY name";
    let duration = ", MAX_DURATION = 60 SECONDS";
    for (faults, number) in [(&[][..], 0), (&["max-duration=absent"][..], 102)] {
        let place = place(faults, &[]).await;
        let mut session = place.login("sa").await;
        assert_eq!(session.rows(names).await, [["callstack"], ["callstack_rva"]]);
        assert_eq!(session.error(&create("s", "SERVER", duration)).await, number);
        let column = if number == 0 { 0 } else { 207 };
        assert_eq!(session.error("SELECT max_duration FROM sys.server_event_sessions").await, column);
    }
}
