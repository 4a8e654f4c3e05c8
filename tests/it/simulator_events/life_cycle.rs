//! The life of an event session, in the catalogue and in the running views.

use super::{CALLSTACKS, Server, YIELDS, int, login, total};
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::host::{Host, SessionContext};
use xestack::simulator::value::{Datum, SqlType};

const CREATE: &str = "CREATE EVENT SESSION [x] ON SERVER
    ADD EVENT sqlos.wait_info(ACTION(package0.callstack)
        WHERE [package0].[equal_uint64]([wait_type],(123)) AND [opcode] = (1) AND [package0].[counter] <= (5000)),
    ADD EVENT sqlserver.sql_batch_completed(SET collect_batch_text = (0))
    ADD TARGET package0.asynchronous_bucketizer(SET slots = (300), source_type = 1, source = N'package0.callstack')
    WITH (MAX_MEMORY = 8 MB, EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS, MAX_DISPATCH_LATENCY = 1 SECONDS,
        MEMORY_PARTITION_MODE = PER_NODE, TRACK_CAUSALITY = OFF, STARTUP_STATE = OFF);";

fn text(value: &str) -> Datum {
    Datum::Text(value.to_owned())
}

fn names(server: &Server, view: &str) -> Vec<Datum> {
    server.view(view, &["name"]).into_iter().map(|mut row| row.remove(0)).collect()
}

#[test]
fn the_catalogue_keeps_what_was_asked_for() {
    let server = Server::new(ServerVersion::V2017);
    server.ddl(CREATE);
    let id = server
        .view("server_event_sessions", &["name", "event_session_id"])
        .into_iter()
        .find(|row| row[0] == text("x"))
        .map(|row| row[1].clone())
        .unwrap();
    let of = |view: &str, columns: &[&str]| -> Vec<Vec<Datum>> {
        let with_id: Vec<&str> = std::iter::once("event_session_id").chain(columns.iter().copied()).collect();
        server.view(view, &with_id).into_iter().filter(|row| row[0] == id).map(|row| row[1..].to_vec()).collect()
    };
    let options = [
        "event_retention_mode",
        "max_dispatch_latency",
        "max_memory",
        "max_event_size",
        "memory_partition_mode",
        "track_causality",
        "startup_state",
    ];
    let expected = [
        text("S"),
        Datum::Int(1_000),
        Datum::Int(8_192),
        Datum::Int(0),
        text("N"),
        Datum::Bit(false),
        Datum::Bit(false),
    ];
    assert_eq!(of("server_event_sessions", &options), [expected.to_vec()]);
    assert_eq!(
        of("server_event_session_events", &["event_id", "name", "package", "predicate"]),
        [
            vec![
                Datum::Int(1),
                text("wait_info"),
                text("sqlos"),
                text(
                    "(([package0].[equal_uint64]([wait_type],(123)) AND [package0].[equal_uint64]([opcode],(1))) AND [package0].[less_than_equal_uint64]([package0].[counter],(5000)))"
                )
            ],
            vec![Datum::Int(2), text("sql_batch_completed"), text("sqlserver"), Datum::Null],
        ]
    );
    assert_eq!(of("server_event_session_actions", &["event_id", "name"]), [[Datum::Int(1), text("callstack")]]);
    assert_eq!(of("server_event_session_targets", &["target_id", "name"]), [[Datum::Int(3), text("histogram")]]);
    let variant = |number: i64| Datum::Variant(SqlType::Int, Box::new(Datum::Int(number)));
    let fields = of("server_event_session_fields", &["object_id", "name", "value"]);
    assert_eq!(fields[0], [Datum::Int(2), text("collect_batch_text"), variant(0)]);
    assert_eq!(fields[1], [Datum::Int(3), text("slots"), variant(300)]);
    assert_eq!(
        fields[3],
        [
            Datum::Int(3),
            text("source"),
            Datum::Variant(SqlType::NVarChar(Some(18)), Box::new(text("package0.callstack")))
        ]
    );
}

#[test]
fn a_session_runs_from_start_to_stop_and_its_data_with_it() {
    let server = Server::new(ServerVersion::V2017);
    server.ddl(CREATE);
    assert!(!names(&server, "dm_xe_sessions").contains(&text("x")));
    server.ddl("ALTER EVENT SESSION x ON SERVER STATE = START");
    server.pass(Duration::from_secs(11));
    assert!(server.target("x").starts_with("<HistogramTarget truncated=\"0\" buckets=\"512\"><Slot count="));
    assert_eq!(total(&server.slots("x")), 5_000, "capped by the counter");
    for (view, rows) in [("dm_xe_session_events", 2), ("dm_xe_session_event_actions", 1), ("dm_xe_session_targets", 1)]
    {
        let address =
            server.view("dm_xe_sessions", &["name", "address"]).into_iter().find(|r| r[0] == text("x")).unwrap()[1]
                .clone();
        let found = server.view(view, &["event_session_address"]).into_iter().filter(|row| row[0] == address).count();
        assert_eq!(found, rows, "{view}");
    }
    server.ddl("ALTER EVENT SESSION x ON SERVER STATE = STOP");
    assert!(!names(&server, "dm_xe_sessions").contains(&text("x")));
    assert!(names(&server, "server_event_sessions").contains(&text("x")));
    server.ddl("ALTER EVENT SESSION x ON SERVER STATE = START");
    assert_eq!(server.slots("x"), [], "the old data are gone");
    server.ddl("DROP EVENT SESSION X ON SERVER");
    assert!(!names(&server, "dm_xe_sessions").contains(&text("x")));
    assert!(!names(&server, "server_event_sessions").contains(&text("x")));
}

#[test]
fn dropping_an_event_stops_it_at_once_and_keeps_the_target() {
    let server = Server::new(ServerVersion::V2017);
    server.start("x", YIELDS, CALLSTACKS);
    server.start("ref", YIELDS, CALLSTACKS);
    server.pass(Duration::from_millis(5_500));
    server.ddl("ALTER EVENT SESSION x ON SERVER DROP EVENT sqlos.wait_info");
    let at_drop = total(&server.slots("x"));
    let expected = 20_647 * 45 / 90;
    server.pass(Duration::from_millis(500));
    let after = total(&server.slots("x"));
    assert!(at_drop < after, "what fired before the drop is still dispatched: {at_drop} {after}");
    assert!(after.abs_diff(expected) < 40, "{after} is about {expected}");
    assert!(total(&server.slots("ref")) > after, "the other session goes on");
    server.pass(Duration::from_secs(20));
    assert_eq!(total(&server.slots("x")), after);
    assert_eq!(total(&server.slots("ref")), 20_647);
    let address =
        server.view("dm_xe_sessions", &["name", "address"]).into_iter().find(|r| r[0] == text("x")).unwrap()[1].clone();
    assert!(!server.view("dm_xe_session_events", &["event_session_address"]).contains(&vec![address]));
}

#[test]
fn the_last_event_of_a_running_session_can_be_refused() {
    let server = Server::with(ServerVersion::V2017, &["drop-last-event=refused"], |_| ());
    server.start("x", YIELDS, CALLSTACKS);
    server.pass(Duration::from_secs(5));
    let before = server.slots("x");
    assert_eq!(server.ddl_error("ALTER EVENT SESSION x ON SERVER DROP EVENT sqlos.wait_info"), 25644);
    assert_eq!(server.slots("x"), before);
    server.pass(Duration::from_secs(10));
    assert_eq!(total(&server.slots("x")), 20_647, "it still fires");
    server.ddl("ALTER EVENT SESSION x ON SERVER ADD EVENT sqlos.wait_completed");
    server.ddl("ALTER EVENT SESSION x ON SERVER DROP EVENT sqlos.wait_info");
}

#[test]
fn events_and_targets_are_added_to_a_running_session() {
    let server = Server::new(ServerVersion::V2017);
    server.start("x", "sqlserver.error_reported", "package0.ring_buffer");
    server.pass(Duration::from_millis(5_500));
    server.ddl(
        "ALTER EVENT SESSION x ON SERVER ADD EVENT sqlos.wait_info(WHERE wait_type = 123 AND opcode = 1)
        ADD TARGET package0.event_counter",
    );
    server.pass(Duration::from_secs(10));
    let address =
        server.view("dm_xe_sessions", &["name", "address"]).into_iter().find(|r| r[0] == text("x")).unwrap()[1].clone();
    let targets = server.view("dm_xe_session_targets", &["event_session_address", "target_name", "target_data"]);
    let counter = targets.into_iter().find(|row| row[0] == address && row[1] == text("event_counter")).unwrap();
    let Datum::Text(document) = &counter[2] else { panic!() };
    let count: u64 =
        document.split_once("count=\"").and_then(|(_, rest)| rest.split_once('"')).unwrap().0.parse().unwrap();
    assert!(count.abs_diff(20_647 / 2) < 40, "from the middle on: {count}");
    server.ddl("ALTER EVENT SESSION x ON SERVER DROP TARGET package0.event_counter");
    assert_eq!(
        server
            .view("dm_xe_session_targets", &["event_session_address"])
            .into_iter()
            .filter(|row| row[0] == address)
            .count(),
        1
    );
}

#[test]
fn an_alter_that_fails_changes_nothing() {
    let server = Server::new(ServerVersion::V2017);
    server.start("x", YIELDS, CALLSTACKS);
    let before = server.view("server_event_session_events", &["event_session_id", "event_id", "name"]);
    assert_eq!(
        server.ddl_error("ALTER EVENT SESSION x ON SERVER ADD EVENT sqlos.wait_completed, ADD EVENT sqlos.nothing"),
        25623
    );
    assert_eq!(
        server.ddl_error("ALTER EVENT SESSION x ON SERVER ADD EVENT sqlos.wait_completed WITH (MAX_MEMORY = 1 MB)"),
        25707
    );
    assert_eq!(server.view("server_event_session_events", &["event_session_id", "event_id", "name"]), before);
    server.ddl("ALTER EVENT SESSION x ON SERVER WITH (STARTUP_STATE = ON)");
    server.ddl("ALTER EVENT SESSION x ON SERVER STATE = STOP");
    server.ddl("ALTER EVENT SESSION x ON SERVER WITH (MAX_MEMORY = 1 MB)");
    assert_eq!(server.number("server_event_sessions", ("name", "x"), "max_memory"), 1_024);
}

#[test]
fn the_servers_own_sessions_run() {
    for version in super::VERSIONS {
        let server = Server::new(version);
        let telemetry = version >= ServerVersion::V2016;
        let expected = [text("system_health"), text("telemetry_xevents")];
        assert_eq!(names(&server, "dm_xe_sessions"), expected[..if telemetry { 2 } else { 1 }], "{version}");
        if telemetry {
            assert_eq!(server.view("dm_xe_sessions", &["session_source"]).concat(), [text("server"), text("internal")]);
        }
        server.pass(Duration::from_hours(24));
        let spinlocks = server.number("dm_os_spinlock_stats", ("name", "LOCK_HASH"), "collisions");
        assert_eq!(spinlocks, 88_213, "they start no burst");
    }
}

#[test]
fn dropped_events_are_shown_by_retention() {
    let server = Server::with(ServerVersion::V2019, &["dropped-events=17", "dropped-buffers=3"], |_| ());
    for (name, mode) in [("one", "ALLOW_SINGLE_EVENT_LOSS"), ("many", "ALLOW_MULTIPLE_EVENT_LOSS")] {
        server.ddl(&format!(
            "CREATE EVENT SESSION {name} ON SERVER ADD EVENT sqlos.wait_info WITH (EVENT_RETENTION_MODE = {mode})"
        ));
        server.ddl(&format!("ALTER EVENT SESSION {name} ON SERVER STATE = START"));
    }
    let lost = |name: &str| {
        let number = |column: &str| server.number("dm_xe_sessions", ("name", name), column);
        (number("dropped_event_count"), number("dropped_buffer_count"))
    };
    assert_eq!((lost("one"), lost("many"), lost("system_health")), ((17, 0), (0, 3), (0, 0)));
}

#[test]
fn logins_sessions_and_locks() {
    let server = Server::new(ServerVersion::V2019);
    assert_eq!(server.instance.open_session(&login("sa", "wrong")).unwrap_err().number, 18456);
    assert_eq!(server.instance.open_session(&login("nobody", "secret")).unwrap_err().number, 18456);
    let mut elsewhere = login("SA", "secret");
    elsewhere.database = "missing".into();
    assert_eq!(server.instance.open_session(&elsewhere).unwrap_err().number, 4060);
    elsewhere.database = "onerow".into();
    let elsewhere = server.instance.open_session(&elsewhere).unwrap();
    assert_eq!(elsewhere.database, "OneRow");
    let other = SessionContext { database: server.session.database.clone(), ..elsewhere.clone() };
    let spids = || server.view("dm_exec_sessions", &["session_id"]).iter().map(|row| int(&row[0])).collect::<Vec<_>>();
    assert!(spids().contains(&i64::from(other.spid)));
    assert_eq!(server.instance.get_app_lock(&server.session, "xestack/flags"), 0);
    assert_eq!(server.instance.get_app_lock(&server.session, "xestack/flags"), 0);
    assert_eq!(server.instance.get_app_lock(&other, "xestack/flags"), -1);
    assert_eq!(server.instance.get_app_lock(&elsewhere, "xestack/flags"), 0, "locks are a database's");
    assert_eq!(server.instance.release_app_lock(&other, "xestack/flags"), -999);
    assert_eq!(server.instance.release_app_lock(&server.session, "xestack/flags"), 0);
    assert_eq!(server.instance.get_app_lock(&other, "xestack/flags"), -1, "taken twice");
    server.instance.end_session(&server.session);
    assert_eq!(server.instance.get_app_lock(&other, "xestack/flags"), 0, "a lock dies with its session");
    assert!(!spids().contains(&i64::from(server.session.spid)));
}
