//! What differs from version to version.

use super::{Server, YIELDS, slots};
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::host::Host;
use xestack::simulator::value::{Datum, SqlType};

fn key(server: &Server, map: &str, text: &str) -> i64 {
    let rows = server.view("dm_xe_map_values", &["name", "map_value", "map_key"]);
    let wanted = [Datum::Text(map.into()), Datum::Text(text.into())];
    rows.into_iter()
        .find(|row| row[..2] == wanted)
        .map_or_else(|| panic!("no {text} in {map}"), |row| super::int(&row[2]))
}

#[test]
fn map_keys_must_be_looked_up() {
    let keys = |map: &str, text: &str| super::VERSIONS.map(|version| key(&Server::new(version), map, text));
    assert_eq!(keys("wait_types", "SOS_SCHEDULER_YIELD"), [120, 124, 124, 123, 123, 137, 145, 158]);
    assert_eq!(keys("spinlock_types", "LOCK_HASH"), [61, 113, 129, 151, 153, 156, 187, 194]);
    assert_eq!(keys("latch_class", "BUF"), [24, 26, 27, 27, 28, 28, 30, 33]);
    assert_eq!(keys("latch_mode", "EX"), [4; 8]);
    assert_eq!(keys("event_opcode", "End"), [1; 8]);
}

#[test]
fn some_map_texts_are_not_the_statistics_names() {
    let server = Server::new(ServerVersion::V2019);
    let texts: Vec<Datum> = server.view("dm_xe_map_values", &["map_value"]).concat();
    let waits: Vec<Datum> = server.view("dm_os_wait_stats", &["wait_type"]).concat();
    let has = |list: &[Datum], text: &str| list.contains(&Datum::Text(text.into()));
    assert!(has(&texts, "NETWORK_IO") && !has(&texts, "ASYNC_NETWORK_IO"));
    assert!(has(&waits, "ASYNC_NETWORK_IO") && !has(&waits, "NETWORK_IO"));
}

#[test]
fn stacks_end_at_the_versions_depth() {
    for (version, depth, last) in [
        (ServerVersion::V2008R2, 16, "CMsqlExecContext::FExecute"),
        (ServerVersion::V2012, 24, "WorkerEntryPoint"),
        (ServerVersion::V2014, 24, "WorkerEntryPoint"),
        (ServerVersion::V2016, 24, "WorkerEntryPoint"),
        (ServerVersion::V2017, 24, "WorkerEntryPoint"),
        (ServerVersion::V2019, 25, "ProcessWorker"),
        (ServerVersion::V2022, 25, "ThreadScheduler::RunWorker"),
        (ServerVersion::V2025, 25, "ThreadScheduler::RunWorker"),
    ] {
        let server = Server::new(version);
        let key = key(&server, "wait_types", "SOS_SCHEDULER_YIELD");
        let event = YIELDS.replace("123", &key.to_string());
        server.start("s", &event, &super::bucketizer(version, "SET slots = 1024, source = N'package0.callstack'"));
        server.pass(Duration::from_secs(12));
        server.dbcc("DBCC TRACEON (3656, 2592, -1)");
        let (leading, _) = server.slots("s").remove(0);
        assert_eq!(leading.lines().count(), depth, "{version}");
        assert!(leading.lines().last().unwrap().contains(last), "{version}: {leading}");
    }
}

#[test]
fn relative_stacks_exist_from_2022_on() {
    let create = "CREATE EVENT SESSION s ON SERVER ADD EVENT sqlos.wait_info(ACTION(package0.callstack_rva) WHERE wait_type = 145 AND opcode = 1)
        ADD TARGET package0.histogram(SET slots = 512, source = N'package0.callstack_rva') WITH (MAX_DISPATCH_LATENCY = 1 SECONDS)";
    for (version, number) in [(ServerVersion::V2017, 25623), (ServerVersion::V2019, 25623), (ServerVersion::V2022, 0)] {
        let server = Server::new(version);
        assert_eq!(server.ddl_error(create), number, "{version}");
        let objects = server.view("dm_xe_objects", &["name", "object_type"]);
        let listed = objects.contains(&vec![Datum::Text("callstack_rva".into()), Datum::Text("action".into())]);
        assert_eq!(listed, number == 0, "{version}");
    }
    let server = Server::new(ServerVersion::V2022);
    server.ddl(create);
    server.ddl("ALTER EVENT SESSION s ON SERVER STATE = START");
    server.pass(Duration::from_secs(12));
    let (frames, count) = slots(&server.target("s")).remove(0);
    assert!(count > 12_000);
    let frames = frames.strip_prefix("<![CDATA[").and_then(|rest| rest.strip_suffix("]]>")).unwrap();
    assert!(frames.starts_with("<frame id=\"00\" pdb=\"SqlDK.pdb\" age=\"2\" guid=\""), "{frames}");
    assert!(
        frames.contains("<frame id=\"10\" pdb=\"sqlmin.pdb\"") && frames.contains("module=\"sqlmin\" rva=\"0x"),
        "{frames}"
    );
    assert!(!frames.contains("address="));
    assert_eq!(frames.matches("<frame ").count(), 25);
}

#[test]
fn addresses_and_module_bases_agree() {
    let server = Server::new(ServerVersion::V2017);
    server.start("s", YIELDS, super::CALLSTACKS);
    server.pass(Duration::from_secs(12));
    let raw = server.slots("s").remove(0).0;
    server.dbcc("DBCC TRACEON (3656, -1)");
    let named = server.slots("s").remove(0).0;
    let bases: Vec<(u64, String)> = server
        .view("dm_os_loaded_modules", &["base_address", "name"])
        .into_iter()
        .map(|row| match (&row[0], &row[1]) {
            (Datum::Binary(base), Datum::Text(name)) => {
                (u64::from_be_bytes(base.as_slice().try_into().unwrap()), name.rsplit('\\').next().unwrap().to_owned())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    for (address, frame) in raw.lines().zip(named.lines()) {
        let address = u64::from_str_radix(address.strip_prefix("0x").unwrap(), 16).unwrap();
        let (_, module) = bases.iter().filter(|(base, _)| *base <= address).max().unwrap();
        assert_eq!(frame.split('!').next().unwrap(), module);
    }
}

#[test]
fn columns_follow_the_version() {
    let column = |version: ServerVersion, view: &str, name: &str| {
        let server = Server::new(version);
        let columns = server.instance.columns("sys", view)?;
        columns.into_iter().find(|column| column.name == name).map(|column| column.sql_type)
    };
    assert_eq!(column(ServerVersion::V2017, "dm_os_spinlock_stats", "backoffs"), Some(SqlType::Int));
    assert_eq!(column(ServerVersion::V2019, "dm_os_spinlock_stats", "backoffs"), Some(SqlType::BigInt));
    assert_eq!(column(ServerVersion::V2019, "dm_os_spinlock_stats", "spins_per_collision"), Some(SqlType::Real));
    assert_eq!(column(ServerVersion::V2017, "databases", "is_accelerated_database_recovery_on"), None);
    assert_eq!(column(ServerVersion::V2022, "dm_xe_sessions", "total_target_memory"), Some(SqlType::BigInt));
    let old = Server::new(ServerVersion::V2017);
    assert_eq!(old.instance.columns("sys", "dm_tran_persistent_version_store_stats"), None);
    assert_eq!(old.instance.columns("dbo", "dm_os_wait_stats"), None);
    assert_eq!(old.instance.columns("SYS", "DM_OS_WAIT_STATS").map(|columns| columns.len()), Some(5));
    let missing = old.instance.rows(&old.session, "sys", "database_event_sessions", &[]).unwrap_err();
    assert_eq!(
        (missing[0].number, missing[0].text.as_str()),
        (208, "Invalid object name 'sys.database_event_sessions'.")
    );
}

#[test]
fn permissions_are_finer_from_2022_on() {
    let may = |version: ServerVersion, permission: &str| {
        let server = Server::new(version);
        server.instance.has_permission(&server.session, permission)
    };
    for permission in
        ["VIEW SERVER PERFORMANCE STATE", "CREATE ANY EVENT SESSION", "ALTER ANY EVENT SESSION DROP EVENT"]
    {
        assert_eq!(may(ServerVersion::V2019, permission), None, "{permission}");
        assert_eq!(may(ServerVersion::V2022, permission), Some(true), "{permission}");
    }
    assert_eq!(may(ServerVersion::V2017, "ALTER ANY EVENT SESSION"), Some(true));
    for (version, permission) in
        [(ServerVersion::V2019, "VIEW SERVER STATE"), (ServerVersion::V2022, "VIEW SERVER PERFORMANCE STATE")]
    {
        let server = Server::with(version, &["deny=VIEW SERVER STATE"], |_| ());
        let refused = server.instance.rows(&server.session, "sys", "dm_os_wait_stats", &[]).unwrap_err();
        assert_eq!(refused.iter().map(|message| message.number).collect::<Vec<_>>(), [300, 297]);
        assert!(refused[0].text.starts_with(&format!("{permission} permission was denied")), "{}", refused[0].text);
        assert_eq!(server.view("dm_exec_sessions", &["session_id"]).len(), 1, "one's own session stays visible");
        assert_eq!(server.view("databases", &["name"]).len(), 5);
    }
}

#[test]
fn the_server_says_what_it_is() {
    for (version, product) in
        [(ServerVersion::V2017, "14.0."), (ServerVersion::V2019, "15.0."), (ServerVersion::V2022, "16.0.")]
    {
        let server = Server::new(version);
        let text = server.instance.version_text();
        assert!(text.contains("(simulated by xestack)") && text.contains(product), "{text}");
        let Datum::Variant(_, value) = server.instance.server_property("productversion") else { panic!() };
        assert!(matches!(&*value, Datum::Text(text) if text.starts_with(product)));
        assert_eq!(server.instance.server_property("InstanceName"), Datum::Null);
        assert_eq!(server.instance.server_property("nonsense"), Datum::Null);
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let unknown = "lock-hashh".parse::<xestack::simulator::workload::Workload>().unwrap_err();
    assert!(unknown.to_string().starts_with("unknown workload `lock-hashh`: use one of lock-hash, "), "{unknown}");
}
