//! Azure SQL Database.

use super::{Place, Session};
use std::time::Duration;
use xestack::model::ServerVersion;

async fn place(faults: &[&str], logins: &[&str]) -> Place {
    Place::new(ServerVersion::AzureDb, faults, logins).await
}

const NAMES: &str = "SELECT name FROM sys.database_event_sessions ORDER BY name";
const RUNNING: &str = "SELECT name FROM sys.dm_xe_database_sessions ORDER BY name";

fn create(name: &str, options: &str) -> String {
    format!(
        "CREATE EVENT SESSION [{name}] ON DATABASE
         ADD EVENT sqlos.wait_info(ACTION(package0.callstack_rva) WHERE wait_type = 165 AND opcode = 1)
         ADD TARGET package0.histogram(SET slots = 512, source = N'package0.callstack_rva')
         WITH (MAX_DISPATCH_LATENCY = 1 SECONDS{options})"
    )
}

async fn start(session: &mut Session, name: &str) -> u32 {
    session.error(&format!("ALTER EVENT SESSION [{name}] ON DATABASE STATE = START")).await
}

#[tokio::test]
async fn it_says_what_it_is() {
    let place = place(&[], &[]).await;
    let mut session = place.login("sa").await;
    let property = |name: &str| format!("SELECT CAST(SERVERPROPERTY('{name}') AS nvarchar(128))");
    assert_eq!(session.value(&property("EngineEdition")).await, "5");
    assert_eq!(session.value(&property("ProductVersion")).await, "12.0.2000.8");
    assert_eq!(session.value(&property("Edition")).await, "SQL Azure");
    assert!(session.value("SELECT @@VERSION").await.starts_with("Microsoft SQL Azure (RTM) - 12.0.2000.8"));
    assert_eq!(session.value("SELECT DB_NAME()").await, "master", "a login without a database is in master");
    assert_eq!(session.rows("SELECT name FROM sys.databases ORDER BY database_id").await.len(), 3);
    assert_eq!(place.login_to("onerow").await.value("SELECT DB_NAME()").await, "OneRow");
    assert_eq!(place.try_login("sa", Some("tempdb")).await.err(), Some(4060));
}

#[tokio::test]
async fn a_session_belongs_to_its_database() {
    let place = place(&[], &[]).await;
    let mut here = place.login_to("OneRow").await;
    here.run(&create("s", "")).await;
    assert_eq!(here.error(&create("S", "")).await, 25631);
    assert_eq!(start(&mut here, "s").await, 0);
    assert_eq!(start(&mut here, "s").await, 25705);
    let mut there = place.login_to("Archive").await;
    assert_eq!(there.rows(NAMES).await.len(), 0);
    assert_eq!(start(&mut there, "s").await, 15151);
    there.run(&create("s", "")).await;
    assert_eq!(start(&mut there, "s").await, 0);
    place.pass(Duration::from_secs(12));
    let target = "SELECT CAST(t.target_data AS nvarchar(max)), e.event_fire_count, x.dropped_event_count
        FROM sys.dm_xe_database_sessions AS x
        JOIN sys.dm_xe_database_session_targets AS t ON t.event_session_address = x.address
        JOIN sys.dm_xe_database_session_events AS e ON e.event_session_address = x.address
        WHERE x.name = N's'";
    let seen = here.rows(target).await.remove(0);
    assert!(seen[0].contains("<frame id=\"00\"") && seen[1].parse::<u64>().unwrap() > 10_000, "{seen:?}");
    let seen = there.rows(target).await.remove(0);
    assert!(!seen[0].contains("<Slot ") && seen[1] == "0", "nothing happens in Archive: {seen:?}");
    assert_eq!(here.rows("SELECT * FROM sys.database_event_session_actions").await.len(), 1);
    assert_eq!(here.rows("SELECT * FROM sys.database_event_session_fields").await.len(), 2);
    there.run("DROP EVENT SESSION s ON DATABASE").await;
    assert_eq!(here.rows(RUNNING).await, [["s"]]);
    here.run("ALTER EVENT SESSION s ON DATABASE DROP EVENT sqlos.wait_info").await;
    here.run("ALTER EVENT SESSION s ON DATABASE STATE = STOP").await;
    assert_eq!(here.rows(RUNNING).await.len(), 0);
    assert_eq!(here.rows(NAMES).await, [["s"]]);
}

#[tokio::test]
async fn only_databases_of_users_have_sessions() {
    let place = place(&[], &[]).await;
    let mut master = place.login("sa").await;
    assert_eq!(master.error(&create("s", "")).await, 25737);
    let mut session = place.login_to("OneRow").await;
    assert_eq!(session.error(&create("s", "").replace("ON DATABASE", "ON SERVER")).await, 25737);
    let refusing = place_refusing(25744).await;
    assert_eq!(refusing.login_to("OneRow").await.error(&create("s", "")).await, 25744);
}

/// One that refuses CREATE with this number.
async fn place_refusing(number: u32) -> Place {
    let fault = format!("error={number}@create");
    place(&[fault.as_str()], &[]).await
}

#[tokio::test]
async fn views_of_the_server_are_missing() {
    let place = place(&[], &[]).await;
    let mut session = place.login_to("OneRow").await;
    for view in [
        "server_event_sessions",
        "dm_xe_sessions",
        "dm_xe_session_targets",
        "dm_os_loaded_modules",
        "server_triggers",
        "master_files",
        "traces",
    ] {
        assert_eq!(session.error(&format!("SELECT * FROM sys.{view}")).await, 208, "{view}");
    }
    for view in ["dm_os_wait_stats", "dm_db_wait_stats", "dm_os_spinlock_stats", "dm_xe_objects", "dm_xe_map_values"] {
        assert!(!session.rows(&format!("SELECT * FROM sys.{view}")).await.is_empty(), "{view}");
    }
    assert_eq!(session.rows("SELECT * FROM sys.triggers").await.len(), 0);
    assert_eq!(session.error("SELECT * FROM sys.trigger_events").await, 0);
    let box_product = Place::new(ServerVersion::V2025, &[], &[]).await;
    let mut box_product_session = box_product.login("sa").await;
    for view in ["database_event_sessions", "dm_xe_database_sessions", "dm_db_wait_stats"] {
        assert_eq!(box_product_session.error(&format!("SELECT * FROM sys.{view}")).await, 208, "{view}");
    }
}

#[tokio::test]
async fn there_is_no_way_to_another_database_and_no_dbcc() {
    let place = place(&[], &[]).await;
    let mut session = place.login_to("OneRow").await;
    assert_eq!(session.error("USE master").await, 40508);
    assert_eq!(session.error("USE OneRow").await, 0);
    assert_eq!(session.error("SELECT name FROM master.sys.databases").await, 40515);
    assert_eq!(session.error("SELECT name FROM OneRow.sys.databases").await, 0);
    let lock = |procedure: &str| {
        format!("EXEC {procedure} @Resource = 'r', @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = 0")
    };
    assert_eq!(session.error(&lock("master.sys.sp_getapplock")).await, 40515);
    assert_eq!(session.error(&lock("sys.sp_getapplock")).await, 0);
    for command in
        ["TRACEON (3656, -1)", "TRACEOFF (3656)", "TRACESTATUS (-1)", "SQLPERF ('sys.dm_os_wait_stats', CLEAR)"]
    {
        assert_eq!(session.error(&format!("DBCC {command}")).await, 40518, "{command}");
    }
}

#[tokio::test]
async fn each_thing_needs_its_right_in_the_database() {
    let rights = [
        "creator=CREATE ANY DATABASE EVENT SESSION",
        "dropper=DROP ANY DATABASE EVENT SESSION",
        "enabler=ALTER ANY DATABASE EVENT SESSION ENABLE,VIEW DATABASE STATE",
        "disabler=ALTER ANY DATABASE EVENT SESSION DISABLE",
        "adder=ALTER ANY DATABASE EVENT SESSION ADD EVENT",
        "remover=ALTER ANY DATABASE EVENT SESSION DROP EVENT",
        "all=ALTER ANY DATABASE EVENT SESSION",
        "none",
    ];
    let place = place(&[], &rights).await;
    let create = create("s", "");
    let steps = [
        ("creator", create.as_str()),
        ("enabler", "ALTER EVENT SESSION s ON DATABASE STATE = START"),
        ("adder", "ALTER EVENT SESSION s ON DATABASE ADD EVENT sqlos.wait_completed"),
        ("remover", "ALTER EVENT SESSION s ON DATABASE DROP EVENT sqlos.wait_completed"),
        ("disabler", "ALTER EVENT SESSION s ON DATABASE STATE = STOP"),
        ("dropper", "DROP EVENT SESSION s ON DATABASE"),
    ];
    for (login, statement) in steps {
        let mut others = vec!["none"];
        others.extend(steps.iter().map(|(other, _)| *other).filter(|other| *other != login));
        for other in others {
            let mut session = place.try_login(other, Some("OneRow")).await.unwrap();
            assert_eq!(session.error(statement).await, 15247, "{other}: {statement}");
        }
        let mut session = place.try_login(login, Some("OneRow")).await.unwrap();
        assert_eq!(session.error(statement).await, 0, "{login}: {statement}");
    }
    let mut session = place.try_login("all", Some("OneRow")).await.unwrap();
    for (_, statement) in steps {
        assert_eq!(session.error(statement).await, 0, "{statement}");
    }
    let right = |name: &str| format!("SELECT HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', '{name}')");
    assert_eq!(session.value(&right("ALTER ANY DATABASE EVENT SESSION ENABLE")).await, "1");
    assert_eq!(session.value(&right("VIEW DATABASE PERFORMANCE STATE")).await, "0");
    let on_server = "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION')";
    assert_eq!(session.value(on_server).await, "NULL", "no permission of this server");
}

#[tokio::test]
async fn state_is_for_a_right_in_the_database_or_on_small_tiers_for_a_role() {
    let logins = [
        "state=VIEW DATABASE STATE",
        "performance=VIEW DATABASE PERFORMANCE STATE",
        "reader=##MS_ServerStateReader##",
        "none",
    ];
    let waits = "SELECT wait_type FROM sys.dm_os_wait_stats";
    for (tier, expected) in
        [("", [0, 0, 0, 262]), ("tier=basic", [300, 300, 0, 300]), ("tier=pool", [300, 300, 0, 300])]
    {
        let faults: Vec<&str> = [tier].into_iter().filter(|fault| !fault.is_empty()).collect();
        let place = place(&faults, &logins).await;
        for (login, expected) in ["state", "performance", "reader", "none"].into_iter().zip(expected) {
            let mut session = place.try_login(login, Some("OneRow")).await.unwrap();
            assert_eq!(session.error(waits).await, expected, "{tier} {login}");
            let of_database = if login == "none" { 262 } else { 0 };
            for view in ["dm_db_wait_stats", "dm_xe_database_sessions", "database_event_sessions", "dm_xe_objects"] {
                assert_eq!(
                    session.error(&format!("SELECT * FROM sys.{view}")).await,
                    of_database,
                    "{tier} {login} {view}"
                );
            }
        }
        assert_eq!(place.login_to("OneRow").await.error(waits).await, 0, "the administrator sees it");
    }
    let small = place(&["tier=basic"], &["none"]).await;
    let (_, text) = small.login("none").await.answer(waits).await.unwrap_err();
    assert_eq!(text, "VIEW SERVER PERFORMANCE STATE permission was denied on object 'server', database 'master'.");
    let single = place(&[], &["none"]).await;
    let mut session = single.try_login("none", Some("OneRow")).await.unwrap();
    let (_, text) = session.answer(waits).await.unwrap_err();
    assert_eq!(text, "VIEW DATABASE PERFORMANCE STATE permission denied in database 'OneRow'.");
}

#[tokio::test]
async fn memory_of_started_sessions_is_capped() {
    let single = place(&[], &[]).await;
    let mut session = single.login_to("OneRow").await;
    session.run(&create("large", ", MAX_MEMORY = 129 MB")).await;
    assert_eq!(start(&mut session, "large").await, 25746);
    for name in ["a", "b", "c"] {
        session.run(&create(name, ", MAX_MEMORY = 60 MB")).await;
    }
    assert_eq!(start(&mut session, "a").await, 0);
    assert_eq!(start(&mut session, "b").await, 0);
    assert_eq!(start(&mut session, "c").await, 25746);
    session.run("DROP EVENT SESSION a ON DATABASE").await;
    assert_eq!(start(&mut session, "c").await, 0);
}

#[tokio::test]
async fn options_are_the_newest_and_loss_is_always_allowed() {
    let place_with = place(&["dropped-events=7"], &[]).await;
    let mut session = place_with.login_to("OneRow").await;
    session.run(&create("s", ", EVENT_RETENTION_MODE = NO_EVENT_LOSS, MAX_DURATION = 60 SECONDS")).await;
    let stored = session.rows("SELECT event_retention_mode_desc, max_duration FROM sys.database_event_sessions").await;
    assert_eq!(stored, [["NO_EVENT_LOSS", "60000"]]);
    assert_eq!(start(&mut session, "s").await, 0);
    let running = session.rows("SELECT buffer_policy_desc, dropped_event_count FROM sys.dm_xe_database_sessions").await;
    assert_eq!(running, [["drop_event", "7"]]);
    place_with.pass(Duration::from_secs(60));
    assert_eq!(session.rows(RUNNING).await.len(), 0, "stopped by the server");
    assert_eq!(session.rows(NAMES).await, [["s"]]);
    let without = place(&["max-duration=absent"], &[]).await;
    let mut raw = without.login_to("OneRow").await;
    assert_eq!(raw.error(&create("s", ", MAX_DURATION = 60 SECONDS")).await, 102);
    assert_eq!(raw.error("SELECT max_duration FROM sys.database_event_sessions").await, 207);
    let columns = "SELECT name FROM sys.all_columns
        WHERE object_id = OBJECT_ID(N'sys.database_event_sessions') AND name = N'max_duration'";
    assert_eq!(raw.rows(columns).await.len(), 0);
    assert_eq!(session.rows(columns).await.len(), 1);
    let raw_stack = create("t", "").replace("callstack_rva", "callstack");
    assert_eq!(session.error(&raw_stack).await, 0);
}

#[tokio::test]
async fn a_session_can_be_there_and_not_be_listed() {
    let place = place(&["catalogue=hidden"], &[]).await;
    let mut session = place.login_to("OneRow").await;
    session.run(&create("s", "")).await;
    assert_eq!(session.rows(NAMES).await.len(), 0);
    assert_eq!(session.error(&create("s", "")).await, 25631);
}
