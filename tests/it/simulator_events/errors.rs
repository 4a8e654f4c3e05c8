//! The error numbers of the event-session statements, each in its case.

use super::{CALLSTACKS, Server, YIELDS, tokens};
use proptest::prelude::*;
use xestack::model::ServerVersion;
use xestack::simulator::events::statement::{self, Grammar};
use xestack::simulator::host::Host;
use xestack::simulator::sql::tokenizer::tokenize;

fn server() -> Server {
    let server = Server::new(ServerVersion::V2017);
    server.start("running", YIELDS, CALLSTACKS);
    server.ddl("CREATE EVENT SESSION stopped ON SERVER ADD EVENT sqlos.wait_info ADD TARGET package0.ring_buffer");
    server
}

#[test]
fn every_case_has_its_number() {
    let server = server();
    let histogram = |settings: &str| {
        format!(
            "CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info ADD TARGET package0.histogram(SET {settings})"
        )
    };
    let event = |event: &str| format!("CREATE EVENT SESSION n ON SERVER ADD EVENT {event}");
    let predicate = |predicate: &str| event(&format!("sqlos.wait_info(WHERE {predicate})"));
    let options = |options: &str| format!("{} WITH ({options})", event("sqlserver.error_reported"));
    let cases = [
        ("CREATE EVENT SESSION RUNNING ON SERVER ADD EVENT sqlos.wait_info".to_owned(), 25631),
        ("ALTER EVENT SESSION missing ON SERVER STATE = START".to_owned(), 15151),
        ("DROP EVENT SESSION missing ON SERVER".to_owned(), 15151),
        ("ALTER EVENT SESSION running ON SERVER STATE = START".to_owned(), 25705),
        ("ALTER EVENT SESSION stopped ON SERVER STATE = STOP".to_owned(), 25704),
        (event("sqlos.wait_inf"), 25623),
        (event("sqlos.wait_info(ACTION(package0.callstac))"), 25623),
        (event("sqlos.wait_info ADD TARGET package0.histogramm"), 25623),
        ("ALTER EVENT SESSION stopped ON SERVER DROP EVENT sqlos.nothing".to_owned(), 25623),
        ("ALTER EVENT SESSION stopped ON SERVER ADD EVENT sqlos.wait_info".to_owned(), 25625),
        ("ALTER EVENT SESSION stopped ON SERVER ADD TARGET package0.ring_buffer".to_owned(), 25625),
        (event("sqlos.wait_info, ADD EVENT sqlos.wait_info"), 25626),
        (event("sqlos.wait_info(ACTION(sqlserver.session_id, sqlserver.session_id))"), 25626),
        (event("sqlos.wait_info ADD TARGET package0.ring_buffer, ADD TARGET package0.ring_buffer"), 25626),
        ("ALTER EVENT SESSION stopped ON SERVER DROP EVENT sqlos.wait_completed".to_owned(), 25653),
        ("ALTER EVENT SESSION stopped ON SERVER DROP TARGET package0.histogram".to_owned(), 25653),
        (event("sqlserver.sql_batch_completed(SET collect_text = (1))"), 25629),
        (histogram("source = 'package0.callstack', slotz = 4"), 25629),
        (histogram("source = 'package0.callstack', slots = 4, slots = 8"), 25650),
        (histogram("source = 'package0.callstack', slots = 'many'"), 25651),
        (histogram("source = 7"), 25651),
        (event("sqlserver.sql_batch_completed(SET collect_batch_text = (2))"), 25651),
        (histogram("slots = 256"), 25642),
        (histogram("source = 'package0.callstack', source_type = 2"), 25641),
        (histogram("source = 'package0.callstac'"), 25641),
        (histogram("source = 'package0.callstack', slots = 0"), 25641),
        (histogram("source = 'wait_type', source_type = 0"), 25641),
        (histogram("source = 'wait_typ', source_type = 0, filtering_event_name = 'sqlos.wait_info'"), 25641),
        (histogram("source = 'wait_type', source_type = 0, filtering_event_name = 'sqlos.wait'"), 25641),
        (predicate("wait_typ = 1"), 25706),
        (predicate("sqlserver.session_ids = 1"), 25706),
        (predicate("package0.equals_uint64(wait_type, 1)"), 25706),
        (predicate("duration = 'long'"), 25713),
        (predicate("wait_type = 'SOS_SCHEDULER_YIELD'"), 25713),
        (predicate("duration LIKE '1%'"), 25715),
        (predicate("package0.callstack = 1"), 25715),
        (predicate("package0.equal_i_unicode_string(duration, 'x')"), 25636),
        (predicate("package0.equal_uint64(sqlserver.sql_text, 1)"), 25636),
        (predicate("package0.equal_uint64(duration, 'x')"), 25630),
        (predicate(&format!("duration > 1{}", " OR duration = 10000000000".repeat(150))), 25716),
        (options("MAX_MEMORY = 4 MB, MAX_MEMORY = 4 MB"), 25702),
        (options("MAX_MEMORY = 0"), 25703),
        (options("MAX_MEMORY = 2048 MB"), 25708),
        (options("MAX_EVENT_SIZE = 1 KB"), 25632),
        (options("MAX_EVENT_SIZE = 128 KB"), 25640),
        ("ALTER EVENT SESSION running ON SERVER WITH (MAX_DISPATCH_LATENCY = 5 SECONDS)".to_owned(), 25707),
        (format!("{} WITH (EVENT_RETENTION_MODE = NO_EVENT_LOSS)", event("sqlos.wait_info")), 25643),
        (format!("CREATE EVENT SESSION [{}] ON SERVER ADD EVENT sqlos.wait_info", "n".repeat(129)), 103),
        ("CREATE EVENT SESSION [] ON SERVER ADD EVENT sqlos.wait_info".to_owned(), 1038),
        ("DROP EVENT SESSION [] ON SERVER".to_owned(), 1038),
        (predicate(&format!("{}duration = 1{}", "(".repeat(5_000), ")".repeat(5_000))), 191),
        (predicate(&format!("{}duration = 1", "NOT ".repeat(5_000))), 191),
    ];
    for (sql, number) in cases {
        assert_eq!(server.ddl_error(&sql), number, "{sql}");
    }
    assert_eq!(server.ddl_error(&event("sqlos.wait_info")), 0, "nothing above made the session");
}

#[test]
fn syntax_errors_say_where() {
    let server = server();
    for (sql, number, near) in [
        ("CREATE EVENT SESSION n ON SERVER", 102, "near 'SERVER'"),
        ("CREATE EVENT SESSION n ON DATABASE ADD EVENT sqlos.wait_info", 156, "near the keyword 'DATABASE'"),
        ("CREATE EVENT SESSION n ON SERVER ADD EVENT wait_info", 102, "near 'wait_info'"),
        ("CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info()", 102, "near ')'"),
        ("CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info(WHERE )", 102, "near ')'"),
        ("CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info(WHERE duration >)", 102, "near ')'"),
        ("CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info(WHERE duration > 1.5)", 102, "near '1.5'"),
        ("CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info(WHERE a = 1 AND)", 102, "near ')'"),
        (
            "CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info, ADD TARGET package0.ring_buffer",
            102,
            "near 'TARGET'",
        ),
        (
            "CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info WITH (MAX_DURATION = 1 SECONDS)",
            102,
            "near 'MAX_DURATION'",
        ),
        ("CREATE EVENT SESSION select ON SERVER ADD EVENT sqlos.wait_info", 156, "near the keyword 'select'"),
        ("CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info GO", 102, "near 'GO'"),
        ("ALTER EVENT SESSION stopped ON SERVER STATE = RUN", 102, "near 'RUN'"),
        (
            "ALTER EVENT SESSION stopped ON SERVER STATE = START WITH (MAX_MEMORY = 4 MB)",
            156,
            "near the keyword 'WITH'",
        ),
        (
            "ALTER EVENT SESSION stopped ON SERVER ADD EVENT sqlos.wait_completed DROP EVENT sqlos.wait_info",
            156,
            "near the keyword 'DROP'",
        ),
        (
            "ALTER EVENT SESSION stopped ON SERVER DROP EVENT sqlos.wait_info ADD EVENT sqlos.wait_completed",
            156,
            "near the keyword 'ADD'",
        ),
        ("ALTER EVENT SESSION stopped ON SERVER", 102, "near 'SERVER'"),
        ("DROP EVENT SESSION stopped", 102, "near 'stopped'"),
    ] {
        let message = server.try_ddl(sql).unwrap_err().remove(0);
        assert_eq!((message.number, message.class), (number, 15), "{sql}");
        assert!(message.text.contains(near), "{sql}: {}", message.text);
    }
    let second_line = server.try_ddl("CREATE EVENT SESSION n ON SERVER\nADD EVENT nothing").unwrap_err().remove(0);
    assert_eq!(second_line.line, 2);
}

#[test]
fn texts_name_the_object() {
    let server = server();
    for (sql, text) in [
        (
            "CREATE EVENT SESSION running ON SERVER ADD EVENT sqlos.wait_info",
            "The event session, \"running\", already exists. Choose a unique name for the event session.",
        ),
        (
            "DROP EVENT SESSION [a]]b] ON SERVER",
            "Cannot drop the event session 'a]b', because it does not exist or you do not have permission.",
        ),
        (
            "CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.xxx",
            "The event name, \"sqlos.xxx\", is invalid, or the object could not be found",
        ),
        (
            "CREATE EVENT SESSION n ON SERVER ADD EVENT sqlos.wait_info ADD TARGET package0.histogram(SET slots = 1)",
            "Mandatory customizable attributes are missing for target, \"package0.histogram\".",
        ),
    ] {
        assert_eq!(server.try_ddl(sql).unwrap_err()[0].text, text);
    }
}

#[test]
fn rights_are_needed_and_finer_from_2022_on() {
    let statements = [
        ("CREATE ANY EVENT SESSION", "CREATE EVENT SESSION a ON SERVER ADD EVENT sqlos.wait_info"),
        ("ALTER ANY EVENT SESSION ENABLE", "ALTER EVENT SESSION a ON SERVER STATE = START"),
        ("ALTER ANY EVENT SESSION ADD EVENT", "ALTER EVENT SESSION a ON SERVER ADD EVENT sqlos.wait_completed"),
        ("ALTER ANY EVENT SESSION ADD TARGET", "ALTER EVENT SESSION a ON SERVER ADD TARGET package0.ring_buffer"),
        ("ALTER ANY EVENT SESSION DROP EVENT", "ALTER EVENT SESSION a ON SERVER DROP EVENT sqlos.wait_completed"),
        ("ALTER ANY EVENT SESSION DROP TARGET", "ALTER EVENT SESSION a ON SERVER DROP TARGET package0.ring_buffer"),
        ("ALTER ANY EVENT SESSION OPTION", "ALTER EVENT SESSION a ON SERVER WITH (STARTUP_STATE = OFF)"),
        ("ALTER ANY EVENT SESSION DISABLE", "ALTER EVENT SESSION a ON SERVER STATE = STOP"),
        ("DROP ANY EVENT SESSION", "DROP EVENT SESSION a ON SERVER"),
    ];
    for (denied, _) in statements {
        let server = Server::with(ServerVersion::V2022, &[&format!("deny={denied}")], |_| ());
        for (needed, sql) in statements {
            let found = server.ddl_error(sql);
            if needed == denied {
                assert_eq!(found, 15247, "{sql}");
                break;
            }
            assert_eq!(found, 0, "{sql} with {denied} denied");
        }
    }
    let old = Server::with(ServerVersion::V2019, &["deny=ALTER ANY EVENT SESSION"], |_| ());
    for (_, sql) in statements {
        assert_eq!(old.ddl_error(sql), 15247, "{sql}");
    }
}

#[test]
fn a_fault_makes_its_statement_fail_and_do_nothing() {
    let create = "CREATE EVENT SESSION s ON SERVER ADD EVENT sqlos.wait_info";
    let statements = [
        ("create", create),
        ("start", "ALTER EVENT SESSION s ON SERVER STATE = START"),
        ("alter-add", "ALTER EVENT SESSION s ON SERVER ADD EVENT sqlos.wait_completed"),
        ("alter-drop", "ALTER EVENT SESSION s ON SERVER DROP EVENT sqlos.wait_completed"),
        ("stop", "ALTER EVENT SESSION s ON SERVER STATE = STOP"),
        ("drop", "DROP EVENT SESSION s ON SERVER"),
    ];
    for (failing, _) in statements {
        let server = Server::with(ServerVersion::V2019, &[&format!("error=701@{failing}")], |_| ());
        for (name, sql) in statements {
            let found = server.ddl_error(sql);
            if name == failing {
                assert_eq!(found, 701, "{sql}");
                break;
            }
            assert_eq!(found, 0, "{sql}");
        }
    }
    let server = Server::with(ServerVersion::V2019, &["error=1222@sys.dm_os_wait_stats", "error=5@traceon"], |_| ());
    let refused = server.instance.rows(&server.session, "sys", "DM_OS_WAIT_STATS", &[]).unwrap_err();
    assert_eq!(refused[0].number, 1222);
    assert_eq!(server.try_dbcc("DBCC TRACEON (3656, -1)").unwrap_err()[0].number, 5);
    assert!(server.try_dbcc("DBCC TRACEOFF (3656, -1)").is_ok());
    assert!(server.instance.rows(&server.session, "sys", "dm_os_latch_stats", &[]).is_ok());
}

proptest! {
    #[test]
    fn no_token_soup_makes_the_parser_panic(words in proptest::collection::vec(
        proptest::sample::select(&[
            "CREATE", "ALTER", "DROP", "EVENT", "SESSION", "[s]", "ON", "SERVER", "ADD", "TARGET", "sqlos", ".", "wait_info",
            "package0", "histogram", "(", ")", "SET", "ACTION", "WHERE", "AND", "OR", "NOT", "=", "<=", "LIKE", "N'x'", "-",
            "1", "18446744073709551616", "1.5", "WITH", "MAX_MEMORY", "KB", "STATE", "START", ",", ";", "@v", "duration",
        ][..]), 0..40,
    )) {
        let soup = words.join(" ");
        for start in ["", "CREATE EVENT SESSION s ON SERVER ADD EVENT sqlos.wait_info", "ALTER EVENT SESSION s ON SERVER"] {
            let sql = format!("{start} {soup}");
            if let Err(message) = statement::parse(&tokens(&sql), Grammar::of(ServerVersion::V2025)) {
                prop_assert!([102, 156, 103, 191, 1038, 25702, 25703, 25708].contains(&message.number), "{}: {:?}", sql, message);
            }
        }
    }

    #[test]
    fn what_is_refused_leaves_no_session(text in "(CREATE|ALTER|DROP) EVENT SESSION \\PC{0,80}") {
        let server = Server::new(ServerVersion::V2022);
        if let Ok(tokens) = tokenize(&text) {
            let done = server.instance.event_session(&server.session, &tokens).is_ok();
            let sessions = server.view("server_event_sessions", &["name"]).len();
            prop_assert!(done || sessions == 2, "{}", text);
        }
    }
}
