//! Trace flags, clearing of statistics, and what flags do to call stacks.

use super::{CALLSTACKS, Server, login, slots};
use proptest::prelude::*;
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::host::{Host, SessionContext};
use xestack::simulator::output::Output;
use xestack::simulator::permissions::Account;
use xestack::simulator::value::Datum;

fn rows(outputs: &[Output]) -> Option<Vec<Vec<i64>>> {
    outputs.iter().find_map(|output| match output {
        Output::Rows { columns, rows } => {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            assert_eq!(names, ["TraceFlag", "Status", "Global", "Session"]);
            Some(rows.iter().map(|row| row.iter().map(super::int).collect()).collect())
        }
        _ => None,
    })
}

fn messages(outputs: &[Output]) -> Vec<u32> {
    outputs
        .iter()
        .filter_map(|output| if let Output::Message(message) = output { Some(message.number) } else { None })
        .collect()
}

impl Server {
    fn dbcc_as(&self, session: &SessionContext, sql: &str) {
        self.instance.dbcc(session, &super::tokens(sql)).expect("DBCC runs");
    }

    fn dbcc_error(&self, sql: &str) -> u32 {
        self.try_dbcc(sql).err().map_or(0, |messages| messages[0].number)
    }
}

#[test]
fn status_in_all_its_forms() {
    let server = Server::with(ServerVersion::V2019, &[], |options| options.startup_flags = vec![1118]);
    server.dbcc("DBCC TRACEON (3656, 2592)");
    let other = server.instance.open_session(&login("sa", "secret")).unwrap();
    server.dbcc_as(&other, "DBCC TRACEON (3604, -1)");
    let status = |sql: &str| rows(&server.dbcc(sql));
    assert_eq!(
        status("DBCC TRACESTATUS (3656, 3604, 8069)"),
        Some(vec![vec![3656, 1, 0, 1], vec![3604, 1, 1, 0], vec![8069, 0, 0, 0]])
    );
    assert_eq!(status("DBCC TRACESTATUS (3656, -1)"), Some(vec![vec![3656, 1, 0, 1]]));
    assert_eq!(status("DBCC TRACESTATUS (-1)"), Some(vec![vec![1118, 1, 1, 0], vec![3604, 1, 1, 0]]));
    let all = Some(vec![vec![1118, 1, 1, 0], vec![2592, 1, 0, 1], vec![3604, 1, 1, 0], vec![3656, 1, 0, 1]]);
    assert_eq!(status("DBCC TRACESTATUS"), all);
    assert_eq!(status("DBCC TRACESTATUS ()"), all);
    server.dbcc("DBCC TRACEOFF (1118, 3604, -1)");
    assert_eq!(status("DBCC TRACESTATUS (-1)"), None, "no rowset");
    assert_eq!(messages(&server.dbcc("DBCC TRACESTATUS (-1)")), [2528]);
    assert_eq!(server.dbcc("DBCC TRACESTATUS (-1) WITH NO_INFOMSGS"), []);
    server.dbcc("DBCC TRACEOFF (3656, 2592)");
    assert_eq!(status("DBCC TRACESTATUS"), None);
}

#[test]
fn a_session_flag_dies_with_its_session() {
    let server = Server::new(ServerVersion::V2017);
    let other = server.instance.open_session(&login("sa", "secret")).unwrap();
    server.dbcc_as(&other, "DBCC TRACEON (3656)");
    assert_eq!(rows(&server.dbcc("DBCC TRACESTATUS (3656)")), Some(vec![vec![3656, 0, 0, 0]]));
    server.instance.end_session(&other);
    let again = server.instance.dbcc(&other, &super::tokens("DBCC TRACESTATUS")).unwrap();
    assert_eq!(rows(&again), None);
}

#[test]
fn wrong_statements_have_their_numbers() {
    let server = Server::new(ServerVersion::V2017);
    for (sql, number) in [
        ("DBCC TRACEONN (1)", 2526),
        ("DBCC TRACEON", 2583),
        ("DBCC TRACEON ()", 2583),
        ("DBCC TRACEON ('x')", 2560),
        ("DBCC TRACEON (3656, -2)", 2560),
        ("DBCC TRACEON (99999999999999999999)", 2560),
        ("DBCC TRACEON (3656) WITH FAST", 2532),
        ("DBCC TRACEON (3656", 102),
        ("DBCC TRACEON (3656,)", 102),
        ("DBCC TRACEON 3656", 102),
        ("DBCC", 156),
        ("DBCC SQLPERF ('sys.dm_os_wait_stat', CLEAR)", 2560),
        ("DBCC SQLPERF ('sys.dm_os_wait_stats', EMPTY)", 2560),
        ("DBCC SQLPERF (CLEAR)", 2583),
    ] {
        assert_eq!(server.dbcc_error(sql), number, "{sql}");
    }
    assert_eq!(messages(&server.dbcc("DBCC TRACEON (31337)")), [2528], "unknown numbers are taken");
    let parameter = server.try_dbcc("DBCC TRACEON (1, 'x')").unwrap_err().remove(0);
    assert_eq!(parameter.text, "Parameter 2 is incorrect for this DBCC statement.");
}

#[test]
fn only_sysadmin_sets_flags() {
    let server = Server::with(ServerVersion::V2019, &[], |options| {
        options.accounts.push(Account {
            name: "monitor".into(),
            password: "m".into(),
            sysadmin: false,
            permissions: vec!["VIEW SERVER STATE".into()],
        });
    });
    let monitor = server.instance.open_session(&login("monitor", "m")).unwrap();
    let run = |sql: &str| server.instance.dbcc(&monitor, &super::tokens(sql));
    let refused = run("DBCC TRACEON (3656)").unwrap_err().remove(0);
    assert_eq!((refused.number, refused.class), (2571, 14));
    assert_eq!(refused.text, "User 'monitor' does not have permission to run DBCC TRACEON.");
    assert_eq!(run("DBCC SQLPERF ('sys.dm_os_wait_stats', CLEAR)").unwrap_err()[0].number, 15247);
    assert_eq!(rows(&run("DBCC TRACESTATUS (3656)").unwrap()), Some(vec![vec![3656, 0, 0, 0]]));
    assert_eq!(server.instance.is_role_member(&monitor, "sysadmin"), Some(false));
    assert_eq!(server.instance.is_role_member(&server.session, "sysadmin"), Some(true));
    assert_eq!(server.instance.is_role_member(&server.session, "wizard"), None);
    let plain = Server::with(ServerVersion::V2019, &["deny=sysadmin"], |_| ());
    assert_eq!(plain.dbcc_error("DBCC TRACEON (3656)"), 2571);
    assert_eq!(plain.ddl_error("CREATE EVENT SESSION s ON SERVER ADD EVENT sqlos.wait_info"), 0);
}

#[test]
fn clearing_starts_counters_again() {
    let server = Server::new(ServerVersion::V2017);
    let collisions = || server.number("dm_os_spinlock_stats", ("name", "LOCK_HASH"), "collisions");
    let waits = || server.number("dm_os_wait_stats", ("wait_type", "SOS_SCHEDULER_YIELD"), "waiting_tasks_count");
    assert!(collisions() > 0);
    server.dbcc("DBCC SQLPERF ('sys.dm_os_spinlock_stats', CLEAR)");
    assert_eq!(collisions(), 0);
    assert!(waits() > 0, "the others stand");
    server.dbcc("DBCC SQLPERF (N'SYS.DM_OS_WAIT_STATS', clear) WITH NO_INFOMSGS");
    server.dbcc("DBCC SQLPERF ('sys.dm_os_latch_stats', CLEAR)");
    assert_eq!(server.number("dm_os_latch_stats", ("latch_class", "BUFFER"), "wait_time_ms"), 0);
    server.start("s", "sqlserver.error_reported", "package0.event_counter");
    server.pass(Duration::from_secs(10));
    assert_eq!((collisions(), waits()), (6_191_134, 20_647));
}

/// First lines of the leading slot.
fn leading(server: &Server) -> String {
    let document = server.target("s");
    slots(&document).remove(0).0
}

fn capturing(version: ServerVersion, faults: &[&str], key: u32) -> Server {
    let server = Server::with(version, faults, |_| ());
    let event = format!("sqlos.wait_info(ACTION(package0.callstack) WHERE wait_type = {key} AND opcode = 1)");
    server.start("s", &event, CALLSTACKS);
    server
}

const PUBLISHED_TOP: &str = "sqldk.dll!XeSosPkg::wait_info::Publish+0x138\nsqldk.dll!SOS_Scheduler::UpdateWaitTimeStats+0x2bc\nsqldk.dll!SOS_Task::PostWait+0x9e\nsqlmin.dll!IndexPageManager::GetPageWithKey+0xef\n";

#[test]
fn stacks_are_raw_until_the_flags_are_on() {
    for (version, key, raw, flags) in [
        (ServerVersion::V2017, 123, "0x00007FF", &["3656"][..]),
        (ServerVersion::V2019, 137, "sqldk.dll+0x0000000000", &["3656", "2592"]),
        (ServerVersion::V2022, 145, "sqldk.dll+0x0000000000", &["3656", "2592"]),
    ] {
        let server = capturing(version, &[], key);
        server.pass(Duration::from_secs(12));
        for flag in flags {
            assert!(leading(&server).starts_with(raw), "{version}: {}", leading(&server));
            server.dbcc(&format!("DBCC TRACEON ({flag}, -1)"));
        }
        let symbolised = leading(&server);
        assert!(symbolised.starts_with(PUBLISHED_TOP), "{version}: {symbolised}");
        assert!(symbolised.contains("\nsqllang.dll!CMsqlExecContext::ExecuteStmts<1,1>+0xcca\n"), "{symbolised}");
        assert!(server.target("s").contains("ExecuteStmts&lt;1,1&gt;"));
        server.dbcc("DBCC TRACEOFF (3656, -1)");
        assert!(leading(&server).starts_with(raw));
    }
}

#[test]
fn each_mode_of_symbolising_takes_its_flags() {
    let text = |server: &Server| leading(server).contains("!XeSosPkg");
    // At read, by the reading session's own flag or a global one.
    let server = capturing(ServerVersion::V2017, &["symbolise-at=session-read"], 123);
    server.pass(Duration::from_secs(12));
    server.dbcc("DBCC TRACEON (3656)");
    assert!(text(&server));
    let other = server.instance.open_session(&login("sa", "secret")).unwrap();
    assert!(!server.target_as(&other, "s").contains("!XeSosPkg"), "another session's flag does not count");
    server.dbcc("DBCC TRACEOFF (3656)");
    server.dbcc("DBCC TRACEON (3656, -1)");
    assert!(server.target_as(&other, "s").contains("!XeSosPkg"));
    // At read, by a global flag only.
    let server = capturing(ServerVersion::V2017, &["symbolise-at=global-read"], 123);
    server.pass(Duration::from_secs(12));
    server.dbcc("DBCC TRACEON (3656)");
    assert!(!text(&server));
    server.dbcc("DBCC TRACEON (3656, -1)");
    assert!(text(&server));
    // At dispatch: what was dispatched before stays as it was, and equal stacks have two slots.
    let server = capturing(ServerVersion::V2017, &["symbolise-at=dispatch"], 123);
    server.pass(Duration::from_secs(5));
    server.dbcc("DBCC TRACEON (3656, -1)");
    assert!(!text(&server));
    server.pass(Duration::from_secs(7));
    server.dbcc("DBCC TRACEOFF (3656, -1)");
    let slots = server.slots("s");
    let (with, without): (Vec<_>, Vec<_>) = slots.iter().partition(|(value, _)| value.contains("!XeSosPkg"));
    assert_eq!((with.len(), without.len()), (6, 6));
    assert_eq!(with.iter().chain(&without).map(|(_, count)| count).sum::<u64>(), 20_647);
}

#[test]
fn without_symbol_files_nearest_exports_show() {
    let server = capturing(ServerVersion::V2019, &["symbols=missing"], 137);
    server.pass(Duration::from_secs(12));
    server.dbcc("DBCC TRACEON (3656, 2592, -1)");
    let frames = leading(&server);
    assert!(frames.lines().all(|line| line.contains('!') && line.contains("+0x")), "{frames}");
    assert!(frames.contains("!Ordinal") && !frames.contains("PostWait"), "{frames}");
}

#[test]
fn a_startup_flag_is_on_before() {
    let server = Server::with(ServerVersion::V2017, &[], |options| options.startup_flags = vec![3656]);
    assert_eq!(rows(&server.dbcc("DBCC TRACESTATUS (3656, -1)")), Some(vec![vec![3656, 1, 1, 0]]));
    assert_eq!(
        server.instance.server_property("ProductMajorVersion"),
        Datum::Variant(xestack::simulator::value::SqlType::NVarChar(Some(2)), Box::new(Datum::Text("14".into())))
    );
}

proptest! {
    #[test]
    fn no_token_soup_makes_dbcc_panic(words in proptest::collection::vec(
        proptest::sample::select(&[
            "DBCC", "TRACEON", "TRACEOFF", "TRACESTATUS", "SQLPERF", "(", ")", ",", "-", "1", "3656", "-1", "N'x'", "[x]", "WITH",
            "NO_INFOMSGS", "CLEAR", "'sys.dm_os_wait_stats'", "1.5", "0xFF", "99999999999999999999", ";", "@v",
        ][..]), 0..12,
    )) {
        let server = Server::new(ServerVersion::V2019);
        if let Err(messages) = server.try_dbcc(&format!("DBCC {}", words.join(" "))) {
            let number = messages[0].number;
            prop_assert!([102, 156, 2526, 2532, 2560, 2583].contains(&number), "{:?}", messages);
        }
    }
}
