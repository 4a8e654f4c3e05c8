//! What docs/fidelity.md tells, and what the faults do that it lists.

use super::{CALLSTACKS, Server, YIELDS, bucketizer};
use std::collections::BTreeSet;
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::faults::Fault;
use xestack::simulator::host::Host;
use xestack::simulator::output::Output;
use xestack::simulator::value::Datum;

const PAGE: &str = include_str!("../../../docs/fidelity.md");

/// Rows of the page's tables: behaviour, source, basis, other form.
fn rows() -> Vec<[&'static str; 4]> {
    let cells = |line: &'static str| -> Option<[&'static str; 4]> {
        let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        Some(cells.try_into().unwrap_or_else(|cells| panic!("{} cells in {line}", Vec::len(&cells))))
    };
    let is_row = |row: &[&str; 4]| row[0] != "behaviour" && !row[0].starts_with("---");
    PAGE.lines().filter_map(cells).filter(is_row).collect()
}

#[test]
fn every_fault_is_on_the_page_and_every_one_on_it_is_known() {
    let mut listed = BTreeSet::new();
    for (_, rest) in PAGE.match_indices("`--fault ").map(|(at, mark)| PAGE.split_at(at + mark.len())) {
        let text = rest.split('`').next().unwrap();
        if text == "…" {
            continue;
        }
        text.parse::<Fault>().unwrap_or_else(|error| panic!("{text}: {error}"));
        listed.insert(text.split(['=', '@']).next().unwrap());
    }
    let known: BTreeSet<&str> = Fault::all().map(|(name, _)| name).collect();
    assert_eq!(listed, known);
}

#[test]
fn every_row_rests_on_something() {
    let rows = rows();
    assert!(rows.len() > 60, "{}", rows.len());
    for [behaviour, source, basis, other] in rows {
        match basis {
            "documented" | "measured" => assert!(!source.is_empty() && source != "none", "{behaviour}"),
            "assumed" => assert!(!source.is_empty(), "{behaviour}"),
            // What can only be made to fail has no basis.
            "" => assert!(other.starts_with("`--fault "), "{behaviour}"),
            _ => panic!("{behaviour}: {basis}"),
        }
    }
}

fn capturing(version: ServerVersion, faults: &[&str], event: &str, target: &str) -> Server {
    let server = Server::with(version, faults, |_| ());
    server.start("s", event, target);
    server.pass(Duration::from_secs(12));
    server
}

#[test]
fn raw_stacks_have_both_forms_and_any_depth() {
    let on_2019 = YIELDS.replace("123", "137");
    for (version, event, fault, start, depth) in [
        (ServerVersion::V2019, on_2019.as_str(), "raw-stack=address", "0x00007FF", 25),
        (ServerVersion::V2017, YIELDS, "raw-stack=module-offset", "sqldk.dll+0x0000000000", 24),
        (ServerVersion::V2017, YIELDS, "stack-depth=7", "0x00007FF", 7),
    ] {
        let server = capturing(version, &[fault], event, CALLSTACKS);
        let stacks = server.slots("s");
        assert!(stacks.iter().all(|(stack, _)| stack.starts_with(start)), "{fault}: {stacks:?}");
        let deepest = stacks.iter().map(|(stack, _)| stack.lines().count()).max();
        assert_eq!(deepest, Some(depth), "{fault}");
    }
}

#[test]
fn frames_can_carry_addresses_which_agree_with_the_modules() {
    let event = "sqlos.wait_info(ACTION(package0.callstack_rva) WHERE wait_type = 145 AND opcode = 1)";
    let target = "package0.histogram(SET source = N'package0.callstack_rva')";
    let server = capturing(ServerVersion::V2022, &["frame-addresses=shown"], event, target);
    let hex = |text: &str, name: &str| {
        let (_, rest) = text.split_once(&format!("{name}=\"0x")).unwrap();
        u64::from_str_radix(rest.split('"').next().unwrap(), 16).unwrap()
    };
    let (frames, _) = server.slots("s").remove(0);
    let bases: BTreeSet<u64> = server
        .view("dm_os_loaded_modules", &["base_address"])
        .into_iter()
        .map(|row| match &row[0] {
            Datum::Binary(bytes) => u64::from_be_bytes(bytes.as_slice().try_into().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    for frame in frames.split("<frame ").skip(1) {
        assert!(bases.contains(&(hex(frame, "address") - hex(frame, "rva"))), "{frame}");
    }
}

#[test]
fn text_stands_in_documents_as_told() {
    let event = "sqlos.wait_info(ACTION(package0.callstack) WHERE wait_type = 137 AND opcode = 1)";
    let cdata = capturing(ServerVersion::V2019, &["text-values=cdata"], event, CALLSTACKS);
    assert!(cdata.target("s").contains("<value><![CDATA[sqldk.dll+0x"), "{}", cdata.target("s"));
    let event = "sqlos.wait_info(ACTION(package0.callstack_rva) WHERE wait_type = 145 AND opcode = 1)";
    let target = "package0.histogram(SET source = N'package0.callstack_rva')";
    let escaped = capturing(ServerVersion::V2022, &["text-values=escaped"], event, target);
    assert!(escaped.target("s").contains("<value>&lt;frame id=&quot;00&quot; "), "{}", escaped.target("s"));
    let wait = |key: &str| format!("sqlos.wait_info(WHERE wait_type = {key} AND opcode = 1)");
    let ring = "package0.ring_buffer(SET max_events_limit = 1)";
    for (version, faults, key, text) in [
        (ServerVersion::V2022, &[][..], "145", "<text>SOS_SCHEDULER_YIELD</text>"),
        (ServerVersion::V2025, &[][..], "158", "<text><![CDATA[SOS_SCHEDULER_YIELD]]></text>"),
        (ServerVersion::V2025, &["text-values=escaped"][..], "158", "<text>SOS_SCHEDULER_YIELD</text>"),
    ] {
        let server = capturing(version, faults, &wait(key), ring);
        assert!(server.target("s").contains(text), "{version}: {}", server.target("s"));
    }
}

#[test]
fn documents_end_where_they_are_told_to() {
    let rva = "sqlos.wait_info(ACTION(package0.callstack_rva) WHERE wait_type = 145 AND opcode = 1)";
    let frames = "package0.histogram(SET source = N'package0.callstack_rva')";
    let cut = |fault: &str| {
        let whole = capturing(ServerVersion::V2022, &[], rva, frames).target("s");
        let cut = capturing(ServerVersion::V2022, &[fault], rva, frames).target("s");
        assert!(whole.starts_with(&cut) && cut.len() > 10, "{fault}: {cut}");
        (cut, whole)
    };
    let (in_element, whole) = cut("cut-target=element");
    assert!(in_element.rfind('<') > in_element.rfind('>') && in_element.len() < whole.len(), "{in_element}");
    let (in_data, _) = cut("cut-target=cdata");
    assert!(in_data.rfind("<![CDATA[") > in_data.rfind("]]>"), "{in_data}");
    let (after, _) = cut("cut-target=1000");
    assert_eq!(after.chars().count(), 1_000);
    let (without_entities, whole) = cut("cut-target=entity");
    assert_eq!(without_entities, whole);
    let escaped = capturing(ServerVersion::V2022, &["cut-target=entity", "text-values=escaped"], rva, frames);
    let escaped = escaped.target("s");
    assert!(escaped.rfind('&') > escaped.rfind(';'), "{escaped}");
}

#[test]
fn an_old_target_name_is_shown_as_told() {
    let old = "package0.asynchronous_bucketizer(SET source = N'package0.callstack')";
    for (version, faults, shown) in [
        (ServerVersion::V2008R2, &[][..], "asynchronous_bucketizer"),
        (ServerVersion::V2012, &[][..], "histogram"),
        (ServerVersion::V2025, &[][..], "histogram"),
        (ServerVersion::V2012, &["target-name=given"][..], "asynchronous_bucketizer"),
    ] {
        let server = Server::with(version, faults, |_| ());
        server.start("s", "sqlos.wait_info(ACTION(package0.callstack))", old);
        let shown = vec![Datum::Text(shown.into())];
        assert!(server.view("dm_xe_session_targets", &["target_name"]).contains(&shown), "{version} {faults:?}");
        assert!(server.view("server_event_session_targets", &["name"]).contains(&shown), "{version} {faults:?}");
    }
    let server = Server::new(ServerVersion::V2008R2);
    let new =
        "CREATE EVENT SESSION t ON SERVER ADD EVENT sqlos.wait_info ADD TARGET package0.histogram(SET source = 'x.y')";
    assert_eq!(server.ddl_error(new), 25623);
}

#[test]
fn a_refusal_can_hide_the_session() {
    let create = "CREATE EVENT SESSION a ON SERVER ADD EVENT sqlos.wait_info";
    let faults = ["deny=ALTER ANY EVENT SESSION", "refusal=15151"];
    let server = Server::with(ServerVersion::V2019, &faults, |_| ());
    assert_eq!(server.ddl_error(create), 15247);
    assert_eq!(server.ddl_error("ALTER EVENT SESSION system_health ON SERVER STATE = STOP"), 15151);
    assert_eq!(server.ddl_error("DROP EVENT SESSION system_health ON SERVER"), 15151);
}

#[test]
fn events_that_may_not_block_can_be_allowed_without_loss() {
    let create =
        "CREATE EVENT SESSION a ON SERVER ADD EVENT sqlos.wait_info WITH (EVENT_RETENTION_MODE = NO_EVENT_LOSS)";
    assert_eq!(Server::new(ServerVersion::V2019).ddl_error(create), 25643);
    assert_eq!(Server::with(ServerVersion::V2019, &["no-event-loss=allowed"], |_| ()).ddl_error(create), 0);
}

#[test]
fn trace_status_without_flags_answers_as_told() {
    let rowsets = |faults: &[&str]| {
        let output = Server::with(ServerVersion::V2019, faults, |_| ()).dbcc("DBCC TRACESTATUS (-1) WITH NO_INFOMSGS");
        output.iter().filter(|output| matches!(output, Output::Rows { rows, .. } if rows.is_empty())).count()
    };
    assert_eq!((rowsets(&[]), rowsets(&["trace-status=rowset"])), (0, 1));
}

#[test]
fn a_session_of_2025_ends_with_its_duration() {
    let create = |seconds: u32| {
        format!(
            "CREATE EVENT SESSION s ON SERVER ADD EVENT sqlos.wait_info ADD TARGET {} WITH (MAX_DURATION = {seconds} SECONDS)",
            bucketizer(ServerVersion::V2025, "SET source = N'package0.callstack'")
        )
    };
    let server = Server::new(ServerVersion::V2025);
    server.ddl(&create(60));
    server.ddl("ALTER EVENT SESSION s ON SERVER STATE = START");
    assert_eq!(server.number("server_event_sessions", ("name", "s"), "max_duration"), 60_000);
    let running = || server.view("dm_xe_sessions", &["name"]).contains(&vec![Datum::Text("s".into())]);
    server.pass(Duration::from_secs(59));
    assert!(running());
    server.pass(Duration::from_secs(1));
    assert!(!running());
    assert_eq!(server.ddl_error("ALTER EVENT SESSION s ON SERVER STATE = STOP"), 25704);
    server.ddl("ALTER EVENT SESSION s ON SERVER STATE = START");
    assert!(running());
    let before = Server::new(ServerVersion::V2022);
    assert_eq!(before.ddl_error(&create(60)), 102);
    assert_eq!(before.instance.columns("sys", "server_event_sessions").unwrap().len(), 12);
}
