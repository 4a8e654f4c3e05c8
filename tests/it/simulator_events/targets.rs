//! What targets hold: slots, overflow, latency, the shapes of the documents.

use super::{CALLSTACKS, Server, Slots, YIELDS, slots, total};
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::events::histogram::Overflow;

fn by_session(slots: u32) -> String {
    format!("package0.histogram(SET slots = {slots}, source_type = 1, source = N'sqlserver.session_id')")
}

const YIELDS_BY_SESSION: &str = "sqlos.wait_info(ACTION(sqlserver.session_id) WHERE wait_type = 123 AND opcode = 1)";

fn captured(version: ServerVersion, overflow: Overflow, event: &str, target: &str) -> (String, Slots) {
    let server = Server::with(version, &[], |options| options.overflow = overflow);
    server.start("s", event, target);
    server.pass(Duration::from_secs(12));
    let document = server.target("s");
    let slots = slots(&document);
    (document, slots)
}

#[test]
fn slots_are_rounded_up_to_a_power_of_two() {
    for (asked, buckets) in [(1, 1), (59, 64), (64, 64), (300, 512), (10_000, 16_384)] {
        let (document, _) = captured(ServerVersion::V2017, Overflow::Fold, YIELDS_BY_SESSION, &by_session(asked));
        assert!(
            document.starts_with(&format!("<HistogramTarget truncated=\"0\" buckets=\"{buckets}\">")),
            "{document}"
        );
    }
    let default = "package0.histogram(SET source = N'sqlserver.session_id')";
    let (document, slots) = captured(ServerVersion::V2017, Overflow::Fold, YIELDS_BY_SESSION, default);
    assert!(document.contains("buckets=\"256\""));
    assert_eq!((slots.len(), total(&slots)), (50, 20_647));
}

#[test]
fn overflow_folds_or_ignores_and_nothing_tells() {
    let (document, folded) = captured(
        ServerVersion::V2019,
        Overflow::Fold,
        "sqlos.wait_info(ACTION(sqlserver.session_id) WHERE wait_type = 137 AND opcode = 1)",
        &by_session(16),
    );
    assert_eq!((folded.len(), total(&folded)), (16, 20_647));
    assert!(document.contains("truncated=\"0\""));
    let (_, ignored) = captured(
        ServerVersion::V2019,
        Overflow::Ignore,
        "sqlos.wait_info(ACTION(sqlserver.session_id) WHERE wait_type = 137 AND opcode = 1)",
        &by_session(16),
    );
    assert_eq!(ignored.len(), 16);
    assert!((6_000..7_200).contains(&total(&ignored)), "16 of 50 sessions: {}", total(&ignored));
}

#[test]
fn slots_come_by_descending_count() {
    let (_, slots) = captured(ServerVersion::V2017, Overflow::Fold, YIELDS, CALLSTACKS);
    assert!(slots.windows(2).all(|pair| pair[0].1 >= pair[1].1));
}

#[test]
fn a_filter_on_the_event_leaves_others_out() {
    let server = Server::new(ServerVersion::V2017);
    let target = "package0.histogram(SET filtering_event_name = N'sqlos.wait_completed', source_type = 0, source = N'wait_type')";
    server.start("s", "sqlos.wait_info, ADD EVENT sqlos.wait_completed", target);
    server.pass(Duration::from_secs(12));
    let yields = server.slots("s").into_iter().find(|(value, _)| value == "123").unwrap();
    assert_eq!(yields.1, 20_647);
}

#[test]
fn an_action_that_is_not_collected_gives_no_slots() {
    let (_, slots) =
        captured(ServerVersion::V2017, Overflow::Fold, "sqlos.wait_info(WHERE wait_type = 123)", CALLSTACKS);
    assert_eq!(slots, []);
}

#[test]
fn events_show_at_the_end_of_each_latency() {
    let server = Server::new(ServerVersion::V2017);
    server.ddl(&format!(
        "CREATE EVENT SESSION s ON SERVER ADD EVENT {YIELDS} ADD TARGET {CALLSTACKS}
        WITH (MAX_DISPATCH_LATENCY = 4 SECONDS)"
    ));
    server.ddl("ALTER EVENT SESSION s ON SERVER STATE = START");
    let mut seen = Vec::new();
    for _ in 0..16 {
        server.pass(Duration::from_secs(1));
        seen.push(total(&server.slots("s")));
    }
    // Dispatched at 4, 8 and 12 s; the load rises from 1 s to 10 s.
    assert_eq!(seen[0..3], [0, 0, 0]);
    assert!(seen[3].abs_diff(20_647 * 3 / 9) < 40, "{}", seen[3]);
    assert_eq!(seen[4..7], [seen[3]; 3]);
    assert!(seen[7].abs_diff(20_647 * 7 / 9) < 40, "{}", seen[7]);
    assert_eq!(seen[8..11], [seen[7]; 3]);
    assert_eq!(seen[11..16], [20_647; 5]);
}

#[test]
fn what_is_read_in_between_does_not_change_the_end() {
    let read_once = {
        let server = Server::new(ServerVersion::V2017);
        server.start("s", YIELDS, CALLSTACKS);
        server.pass(Duration::from_secs(15));
        server.target("s")
    };
    let server = Server::new(ServerVersion::V2017);
    server.start("s", YIELDS, CALLSTACKS);
    for _ in 0..150 {
        server.pass(Duration::from_millis(100));
        server.target("s");
    }
    assert_eq!(server.target("s"), read_once);
}

#[test]
fn a_capped_capture_holds_the_paths_in_their_shares() {
    let capped =
        "sqlos.wait_info(ACTION(package0.callstack) WHERE wait_type = 123 AND opcode = 1 AND package0.counter <= 2000)";
    let (_, some) = captured(ServerVersion::V2017, Overflow::Fold, capped, CALLSTACKS);
    let (_, all) = captured(ServerVersion::V2017, Overflow::Fold, YIELDS, CALLSTACKS);
    assert_eq!(total(&some), 2_000);
    for (value, count) in &all {
        let part = some.iter().find(|(known, _)| known == value).map_or(0, |(_, count)| *count);
        assert!(part.abs_diff(count * 2_000 / 20_647) < 60, "{part} of {count}");
    }
}

#[test]
fn spinlock_events_come_from_back_offs() {
    let event = "sqlos.spinlock_backoff(ACTION(package0.callstack))";
    let by_type =
        "package0.histogram(SET filtering_event_name = N'sqlos.spinlock_backoff', source_type = 0, source = N'type')";
    let (_, slots) = captured(ServerVersion::V2019, Overflow::Fold, event, by_type);
    assert_eq!(slots[0], ("156".to_owned(), 1_601_383 / 8));
    assert_eq!(slots[1].1, 7_555 / 8);
    let filtered = "sqlos.spinlock_backoff(ACTION(package0.callstack) WHERE type = 156)";
    let (_, stacks) = captured(ServerVersion::V2019, Overflow::Fold, filtered, CALLSTACKS);
    assert_eq!((stacks.len(), total(&stacks)), (4, 1_601_383 / 8));
}

#[test]
fn other_targets_have_their_documents() {
    let (counter, _) = captured(
        ServerVersion::V2017,
        Overflow::Fold,
        "sqlos.wait_info(WHERE wait_type = 123)",
        "package0.event_counter",
    );
    assert_eq!(
        counter,
        "<CounterTarget truncated=\"0\"><Packages><Package name=\"sqlos\"><Event name=\"wait_info\" count=\"41294\"/></Package></Packages></CounterTarget>"
    );
    let (ring, _) =
        captured(ServerVersion::V2017, Overflow::Fold, YIELDS, "package0.ring_buffer(SET max_events_limit = 2)");
    assert!(ring.starts_with(
        "<RingBufferTarget truncated=\"0\" processingTime=\"0\" totalEventsProcessed=\"20647\" eventCount=\"2\""
    ));
    assert!(ring.contains("<data name=\"wait_type\"><type name=\"wait_types\" package=\"sqlos\"/><value>123</value><text>SOS_SCHEDULER_YIELD</text></data>"));
    assert!(ring.contains("<action name=\"callstack\" package=\"package0\"><type name=\"callstack\" package=\"package0\"/><value>0x00007FF"));
    assert_eq!(ring.matches("<event name=\"wait_info\" package=\"sqlos\" timestamp=\"2026-01-01T00:00:").count(), 2);
}

#[test]
fn documents_can_end_in_the_middle() {
    let server = Server::with(ServerVersion::V2017, &["cut-target=1500"], |_| ());
    server.start("s", YIELDS, CALLSTACKS);
    server.pass(Duration::from_secs(12));
    let document = server.target("s");
    assert_eq!(document.chars().count(), 1_500);
    assert!(document.contains("</Slot>") && !document.contains("</HistogramTarget>"));
}

#[test]
fn fired_events_are_counted_from_2022_on() {
    let server = Server::new(ServerVersion::V2022);
    server.start("s", "sqlos.wait_info(WHERE wait_type = 'SOS_SCHEDULER_YIELD')", "package0.event_counter");
    server.pass(Duration::from_secs(12));
    assert_eq!(server.number("dm_xe_session_events", ("event_name", "wait_info"), "event_fire_count"), 2 * 20_647);
    assert_eq!(server.number("dm_xe_session_events", ("event_name", "error_reported"), "event_fire_count"), 0);
}

#[test]
fn without_an_end_to_the_latency_nothing_is_dispatched() {
    let server = Server::new(ServerVersion::V2017);
    for latency in ["INFINITE", "0 SECONDS"] {
        server.ddl(&format!(
            "CREATE EVENT SESSION s ON SERVER ADD EVENT {YIELDS} ADD TARGET {CALLSTACKS}
            WITH (MAX_DISPATCH_LATENCY = {latency})"
        ));
        server.ddl("ALTER EVENT SESSION s ON SERVER STATE = START");
        server.pass(Duration::from_mins(2));
        assert_eq!(server.slots("s"), []);
        assert_eq!(server.number("server_event_sessions", ("name", "s"), "max_dispatch_latency"), -1);
        server.ddl("DROP EVENT SESSION s ON SERVER");
    }
}

#[test]
fn faults_of_another_instance_do_not_count() {
    let server = Server::with(ServerVersion::V2017, &["cut-target=10#2"], |_| ());
    server.start("s", YIELDS, CALLSTACKS);
    server.pass(Duration::from_secs(12));
    assert!(server.target("s").ends_with("</HistogramTarget>"));
    let second = Server::with(ServerVersion::V2017, &["cut-target=10#2"], |options| options.number = 2);
    second.start("s", YIELDS, CALLSTACKS);
    assert_eq!(second.target("s"), "<Histogram");
    assert_ne!(second.instance.server_name(), server.instance.server_name());
}
