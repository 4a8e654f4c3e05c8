//! What the workloads wait for: events against wait and latch statistics, pages, statements, files.

use super::{CALLSTACKS, Server, int, total};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::maps;
use xestack::simulator::value::Datum;
use xestack::simulator::versions::VersionData;
use xestack::simulator::workload::kinds::{EventKind, FieldValue, Rhythm};
use xestack::simulator::workload::pace::Pace;
use xestack::simulator::workload::storage::{Durability, FileKind, FileLoad, LogLoad, WorkloadDatabase};
use xestack::simulator::workload::{Truth, Workload, spinlocks, wait_types};

/// Wait types that a scenario looks at.
const FAMILIES: [(&str, &[&str]); 6] = [
    ("sos-yield", &["SOS_SCHEDULER_YIELD"]),
    ("latch", &["LATCH_"]),
    ("log-write", &["WRITELOG", "LOGBUFFER", "HADR_SYNC_COMMIT"]),
    ("pagelatch", &["PAGELATCH_"]),
    ("snapshot", &["PREEMPTIVE_OS_WRITEFILE", "WRITE_COMPLETION", "FCB_REPLICA_WRITE"]),
    ("file-latency", &["PAGEIOLATCH_", "IO_COMPLETION", "ASYNC_IO_COMPLETION", "BACKUPIO", "BACKUPBUFFER"]),
];

/// Each workload that waits, the scenario whose waits it has (none: other ones), and its wait types by falling time.
const LEADING: [(Workload, &str, &[&str]); 14] = [
    (Workload::VersionStore, "latch", &["LATCH_EX"]),
    (Workload::SmallCommits, "log-write", &["WRITELOG"]),
    (Workload::SmallCommitsDelayed, "log-write", &["WRITELOG"]),
    (Workload::LargeTransactions, "log-write", &["WRITELOG"]),
    (Workload::DbSnapshot, "snapshot", &["PREEMPTIVE_OS_WRITEFILE", "WRITE_COMPLETION"]),
    (Workload::DbSnapshotTwo, "snapshot", &["PREEMPTIVE_OS_WRITEFILE", "WRITE_COMPLETION", "FCB_REPLICA_WRITE"]),
    (Workload::IndexRebuild, "file-latency", &["PAGEIOLATCH_SH", "IO_COMPLETION"]),
    (Workload::TempdbAllocation, "pagelatch", &["PAGELATCH_UP", "PAGELATCH_EX"]),
    (Workload::LastPageInsert, "pagelatch", &["PAGELATCH_EX"]),
    (Workload::TraceWrites, "snapshot", &["PREEMPTIVE_OS_WRITEFILE"]),
    (Workload::CheckdbOnly, "snapshot", &["PREEMPTIVE_OS_WRITEFILE", "FCB_REPLICA_WRITE"]),
    (Workload::SyncReplica, "log-write", &["HADR_SYNC_COMMIT", "WRITELOG"]),
    (Workload::BackupLatency, "file-latency", &["BACKUPIO", "PAGEIOLATCH_SH", "ASYNC_IO_COMPLETION"]),
    (Workload::HighSignalNoYield, "", &["ASYNC_NETWORK_IO"]),
];

fn data(version: ServerVersion) -> &'static VersionData {
    VersionData::of(version).unwrap()
}

/// Runs a check on every workload and version, by two seeds.
fn everywhere(check: impl Fn(Workload, &'static VersionData, &Truth, &str)) {
    for (workload, name) in Workload::ALL {
        for version in super::VERSIONS {
            for seed in [1, u64::MAX] {
                let case = format!("{name} on {version} by seed {seed}");
                check(workload, data(version), &workload.truth(data(version), seed), &case);
            }
        }
    }
}

fn value(kind: &EventKind, name: &str) -> u64 {
    match kind.value(name) {
        Some(FieldValue::Number(number)) => *number,
        other => panic!("{} has {other:?} as {name}", kind.event),
    }
}

/// Events of the load, by kind.
fn loaded<'a>(truth: &'a Truth, event: &'a str) -> impl Iterator<Item = (&'a EventKind, u64)> {
    truth.kinds.iter().filter(move |kind| kind.event == event).filter_map(|kind| match kind.rhythm {
        Rhythm::Load { share, .. } => Some((kind, share)),
        Rhythm::PerHour(_) => None,
    })
}

/// Waits that the load adds, by type: count, time, signal time.
fn waits_of(truth: &Truth) -> BTreeMap<&'static str, [u64; 3]> {
    let rows = truth.counters.waits.iter().filter(|wait| wait.waits.load > 0);
    rows.map(|wait| (wait.name, [wait.waits.load, wait.wait_ms.load, wait.signal_ms.load])).collect()
}

/// The key of a wait type that a version has.
fn wait_key(version: &VersionData, wait_type: &str) -> Option<u64> {
    let known = wait_types::of_version(version.version).find(|known| known.name == wait_type)?;
    maps::map(version, "wait_types").unwrap().key(known.map_text).map(u64::from)
}

/// Count, time and signal time of a type's events.
fn events_of(truth: &Truth, event: &str, key: u64, opcode: Option<u64>) -> [u64; 3] {
    let mut sum = [0; 3];
    for (kind, share) in loaded(truth, event).filter(|(kind, _)| value(kind, "wait_type") == key) {
        if opcode.is_some_and(|opcode| value(kind, "opcode") != opcode) {
            continue;
        }
        sum[0] += share;
        sum[1] += share * value(kind, "duration");
        if event != "wait_info_external" {
            sum[2] += share * value(kind, "signal_duration");
        }
    }
    sum
}

#[test]
fn events_come_to_the_wait_statistics_on_every_version() {
    everywhere(|_, version, truth, case| {
        let mut types = BTreeSet::new();
        for (wait_type, counted) in waits_of(truth) {
            let key = wait_key(version, wait_type).unwrap();
            types.insert(key);
            let of = |event, opcode| events_of(truth, event, key, opcode);
            if wait_type.starts_with("PREEMPTIVE_") {
                let [count, wait_ms, _] = counted;
                assert_eq!(of("wait_info_external", Some(1)), [count, wait_ms, 0], "{case}: {wait_type}");
                assert_eq!(of("wait_info_external", Some(0)), [count, 0, 0], "{case}: {wait_type}");
                assert_eq!(of("wait_info", None), [0; 3], "{case}: {wait_type}");
                assert_eq!(of("wait_completed", None), [0; 3], "{case}: {wait_type}");
            } else {
                assert_eq!(of("wait_info", Some(1)), counted, "{case}: {wait_type}");
                assert_eq!(of("wait_info", Some(0)), [counted[0], 0, 0], "{case}: {wait_type}");
                assert_eq!(of("wait_completed", None), counted, "{case}: {wait_type}");
                assert_eq!(of("wait_info_external", None), [0; 3], "{case}: {wait_type}");
            }
        }
        for event in ["wait_info", "wait_info_external"] {
            assert!(loaded(truth, event).all(|(kind, _)| types.contains(&value(kind, "wait_type"))), "{case}");
        }
    });
}

#[test]
fn latch_events_come_to_the_latch_statistics_by_class() {
    let texts = |name: &str| spinlocks::latch_classes().iter().find(|class| class.map_text == name).unwrap().name;
    everywhere(|_, version, truth, case| {
        let classes = maps::map(version, "latch_class").unwrap();
        let mut events: BTreeMap<&str, u64> = BTreeMap::new();
        for (kind, share) in loaded(truth, "latch_suspend_end") {
            *events.entry(texts(classes.text(value(kind, "class")).unwrap())).or_default() += share;
        }
        let latches = || truth.counters.latches.iter().filter(|latch| latch.requests.load > 0);
        assert_eq!(events, latches().map(|latch| (latch.name, latch.requests.load)).collect(), "{case}");
        let of_waits = |is_latch: fn(&str) -> bool| {
            let waits = waits_of(truth).into_iter().filter(|(name, _)| is_latch(name));
            waits.fold([0; 2], |sum, (_, [count, wait_ms, _])| [sum[0] + count, sum[1] + wait_ms])
        };
        let of_latches = |is_buffer: bool| {
            let rows = latches().filter(|latch| (latch.name == "BUFFER") == is_buffer);
            rows.fold([0; 2], |sum, latch| [sum[0] + latch.requests.load, sum[1] + latch.wait_ms.load])
        };
        assert_eq!(of_waits(|name| name.starts_with("PAGE")), of_latches(true), "{case}");
        let ([count, wait_ms], [requests, latch_ms]) = (of_waits(|name| name.starts_with("LATCH_")), of_latches(false));
        assert_eq!(count, requests, "{case}");
        assert!(wait_ms.abs_diff(latch_ms) * 10 <= wait_ms, "{case}: {wait_ms} {latch_ms}");
    });
}

#[test]
fn all_latch_waits_of_the_version_store_are_of_one_class() {
    let truth = Workload::VersionStore.truth(data(ServerVersion::V2019), 3);
    let of = |name: &str| truth.counters.latches.iter().find(|latch| latch.name == name).unwrap().requests.load;
    assert_eq!(of("APPEND_ONLY_STORAGE_INSERT_POINT"), 114_306);
    let waits = waits_of(&truth);
    assert_eq!(waits.keys().filter(|name| name.starts_with("LATCH_")).count(), 1);
    let all: u64 = waits.values().map(|[_, wait_ms, _]| wait_ms).sum();
    assert_eq!(waits["LATCH_EX"][1] * 100 / all, 85);
}

#[test]
fn wait_types_are_in_every_versions_map_but_for_those_that_came_later() {
    let mut missing: BTreeMap<&str, BTreeSet<ServerVersion>> = BTreeMap::new();
    for (workload, name) in Workload::ALL {
        for version in super::VERSIONS {
            for waits in workload.recipe(data(version)).waits {
                assert!(wait_types::wait_types().iter().any(|known| known.name == waits.wait_type), "{name}");
                if wait_key(data(version), waits.wait_type).is_none() {
                    missing.entry(waits.wait_type).or_default().insert(version);
                }
            }
        }
    }
    let before = |first: ServerVersion| super::VERSIONS.into_iter().filter(|version| *version < first).collect();
    let later: BTreeMap<&str, BTreeSet<ServerVersion>> = BTreeMap::from([
        ("HADR_SYNC_COMMIT", before(ServerVersion::V2012)),
        ("MEMORY_ALLOCATION_EXT", before(ServerVersion::V2016)),
        ("RESERVED_MEMORY_ALLOCATION_EXT", before(ServerVersion::V2016)),
    ]);
    assert_eq!(missing, later);
}

#[test]
fn each_workload_has_the_waits_of_its_scenario_only() {
    for version in super::VERSIONS {
        let idle = waits_of(&Workload::Idle.truth(data(version), 1));
        assert!(idle.is_empty(), "{idle:?}");
        for (workload, own, leading) in LEADING {
            let waits = waits_of(&workload.truth(data(version), 1));
            let all: u64 = waits.values().map(|[_, wait_ms, _]| wait_ms).sum();
            let mut by_time: Vec<_> = waits.iter().map(|(name, [_, wait_ms, _])| (*wait_ms, *name)).collect();
            by_time.sort_by(|a, b| b.cmp(a));
            let there: Vec<&str> =
                leading.iter().copied().filter(|name| wait_key(data(version), name).is_some()).collect();
            let first: Vec<&str> = by_time.iter().take(there.len()).map(|(_, name)| *name).collect();
            assert_eq!(first, there, "{workload:?} on {version}");
            for (scenario, prefixes) in FAMILIES.iter().filter(|(scenario, _)| *scenario != own) {
                let is_of = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
                let (count, wait_ms) = waits
                    .iter()
                    .filter(|(name, _)| is_of(name))
                    .fold((0, 0), |sum, (_, [count, wait_ms, _])| (sum.0 + count, sum.1 + wait_ms));
                assert!(count < 100 && wait_ms * 100 < all, "{workload:?} on {version}, {scenario}: {count} {wait_ms}");
            }
        }
    }
}

#[test]
fn waits_of_ten_seconds_fit_into_the_time_of_the_sessions() {
    for (workload, ..) in LEADING {
        let recipe = workload.recipe(data(ServerVersion::V2019));
        let waits = waits_of(&recipe.truth(data(ServerVersion::V2019), 1));
        // Those of a backup's own tasks beside.
        let of_sessions = waits.iter().filter(|(name, _)| !name.contains("BACKUP") && **name != "ASYNC_IO_COMPLETION");
        let wait_ms: u64 = of_sessions.map(|(_, [_, wait_ms, _])| wait_ms).sum();
        assert!(wait_ms <= u64::from(recipe.connections) * 10_000, "{workload:?}: {wait_ms}");
    }
}

#[test]
fn leading_waits_have_three_paths_and_two_of_them_differ_in_one_return_address() {
    for (workload, _, leading) in LEADING {
        let waits = workload.recipe(data(ServerVersion::V2019)).waits;
        for wait_type in leading.iter().filter(|name| **name != "ASYNC_IO_COMPLETION") {
            let paths: Vec<Vec<&str>> = waits
                .iter()
                .filter(|waits| waits.wait_type == *wait_type)
                .flat_map(|waits| waits.paths.iter().map(|path| path.frames().collect()))
                .collect();
            assert!(paths.len() >= 3, "{workload:?} {wait_type}");
            let function = |frame: &str| frame.rsplit_once("+0x").unwrap().0.to_owned();
            let alike = |a: &[&str], b: &[&str]| {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| function(a) == function(b))
                    && a.iter().zip(b).filter(|(a, b)| a != b).count() == 1
            };
            assert!(paths.iter().any(|a| paths.iter().any(|b| alike(a, b))), "{workload:?} {wait_type}");
        }
    }
}

fn server(workload: Workload, version: ServerVersion, pace: Pace) -> Server {
    Server::with(version, &[], |options| {
        options.workload = workload;
        options.pace = pace;
    })
}

/// An event session on the ends of a type's waits, by stack.
fn start_by_stack(server: &Server, wait_type: &str) {
    let event = if wait_type.starts_with("PREEMPTIVE_") { "wait_info_external" } else { "wait_info" };
    let key = wait_key(server.instance.version_data(), wait_type).unwrap();
    let event = format!("sqlos.{event}(ACTION(package0.callstack) WHERE wait_type = {key} AND opcode = 1)");
    server.start(wait_type, &event, CALLSTACKS);
}

#[test]
fn sessions_count_the_waits_of_the_view_exactly() {
    for version in [ServerVersion::V2008R2, ServerVersion::V2014, ServerVersion::V2022] {
        for (workload, _, leading) in LEADING {
            let server = server(workload, version, Pace::Burst(Duration::from_secs(10)));
            let leading: Vec<&str> =
                leading.iter().copied().filter(|name| wait_key(data(version), name).is_some()).collect();
            let read =
                |wait_type: &str| server.number("dm_os_wait_stats", ("wait_type", wait_type), "waiting_tasks_count");
            let before: Vec<i64> = leading.iter().map(|wait_type| read(wait_type)).collect();
            for wait_type in &leading {
                start_by_stack(&server, wait_type);
            }
            server.pass(Duration::from_secs(12));
            for (wait_type, before) in leading.iter().zip(before) {
                let stacks = server.slots(wait_type);
                assert_eq!(total(&stacks) as i64, read(wait_type) - before, "{workload:?} {wait_type} on {version}");
                assert!(
                    stacks.len() >= 3 || *wait_type == "ASYNC_IO_COMPLETION",
                    "{workload:?} {wait_type} on {version}"
                );
            }
        }
    }
}

/// A predicate as captures have it: some keys of a map, what else is tested, and a stop after so many events.
fn predicate(version: ServerVersion, field: &str, map: &str, is_wanted: impl Fn(&str) -> bool, tests: &str) -> String {
    let values = maps::map(data(version), map).unwrap().values;
    let keys = values.iter().filter(|(_, text)| is_wanted(text)).map(|(key, _)| format!("[{field}] = {key}"));
    format!("({}) AND {tests}package0.counter <= 1000000", keys.collect::<Vec<_>>().join(" OR "))
}

#[test]
fn sessions_on_several_types_count_all_of_them() {
    let begins = |prefixes: &'static [&str]| move |text: &str| prefixes.iter().any(|prefix| text.starts_with(prefix));
    for version in [ServerVersion::V2008R2, ServerVersion::V2012, ServerVersion::V2019, ServerVersion::V2025] {
        for (workload, event, prefixes) in [
            (Workload::VersionStore, "wait_info", &["LATCH_"] as &'static [&str]),
            (Workload::SyncReplica, "wait_info", &["WRITELOG", "LOGBUFFER", "HADR_SYNC_COMMIT"]),
            (Workload::TempdbAllocation, "wait_info", &["PAGELATCH_"]),
            (Workload::DbSnapshotTwo, "wait_info", &["WRITE_COMPLETION", "FCB_REPLICA_WRITE"]),
            (Workload::DbSnapshotTwo, "wait_info_external", &["PREEMPTIVE_OS_WRITEFILE"]),
        ] {
            let server = server(workload, version, Pace::Burst(Duration::from_secs(10)));
            let keys = predicate(version, "wait_type", "wait_types", begins(prefixes), "opcode = 1 AND ");
            server.start("s", &format!("sqlos.{event}(ACTION(package0.callstack) WHERE {keys})"), CALLSTACKS);
            server.pass(Duration::from_secs(12));
            let waits = waits_of(&workload.truth(data(version), 0));
            let wanted: u64 =
                waits.iter().filter(|(name, _)| begins(prefixes)(name)).map(|(_, [count, ..])| count).sum();
            assert_eq!(total(&server.slots("s")), wanted, "{workload:?} {event} on {version}");
        }
        let server = server(Workload::VersionStore, version, Pace::Burst(Duration::from_secs(10)));
        let class = |text: &str| text == "APPEND_ONLY_STORAGE_INSERT_POINT";
        let keys = predicate(version, "class", "latch_class", class, "");
        server.start("s", &format!("sqlserver.latch_suspend_end(ACTION(package0.callstack) WHERE {keys})"), CALLSTACKS);
        server.pass(Duration::from_secs(12));
        assert_eq!((server.slots("s").len(), total(&server.slots("s"))), (3, 114_306), "{version}");
    }
}

#[test]
fn steady_waits_go_on_at_the_rate_of_a_burst() {
    for (workload, _, leading) in LEADING {
        let server = server(workload, ServerVersion::V2019, Pace::Steady);
        let read = || server.number("dm_os_wait_stats", ("wait_type", leading[0]), "waiting_tasks_count");
        start_by_stack(&server, leading[0]);
        let before = read();
        server.pass(Duration::from_secs(30));
        let (grown, events) = (read() - before, total(&server.slots(leading[0])) as i64);
        let of_burst = waits_of(&workload.truth(data(ServerVersion::V2019), 1))[leading[0]][0] as i64;
        assert_eq!(grown, 3 * of_burst, "{workload:?}");
        // Each kind of event is at most one off at the session's start.
        assert!(events.abs_diff(grown) < 500, "{workload:?}: {events} {grown}");
    }
}

/// Buckets of the page latch waits by page.
fn pages(workload: Workload, version: ServerVersion, wait_type: &str) -> Vec<(String, u64)> {
    let server = server(workload, version, Pace::Burst(Duration::from_secs(10)));
    let key = wait_key(data(version), wait_type).unwrap();
    server.start(
        "pages",
        &format!("sqlos.wait_info(WHERE wait_type = {key} AND opcode = 1)"),
        "package0.histogram(SET filtering_event_name = N'sqlos.wait_info', source_type = 0, source = N'wait_resource')",
    );
    server.pass(Duration::from_secs(12));
    server.slots("pages")
}

#[test]
fn pages_are_named_from_2022_on_and_pointers_before() {
    for version in [ServerVersion::V2022, ServerVersion::V2025] {
        let found = pages(Workload::TempdbAllocation, version, "PAGELATCH_UP");
        assert_eq!(found, [("2:1:1".to_owned(), 84_204), ("2:1:3".to_owned(), 12_087)], "{version}");
        assert_eq!(pages(Workload::LastPageInsert, version, "PAGELATCH_EX"), [("5:1:8456".to_owned(), 128_410)]);
    }
    for version in [ServerVersion::V2016, ServerVersion::V2019] {
        let found = pages(Workload::TempdbAllocation, version, "PAGELATCH_UP");
        assert_eq!(found.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [84_204, 12_087], "{version}");
        assert!(found.iter().all(|(pointer, _)| pointer.parse::<u64>().is_ok_and(|pointer| pointer > 0xffff_ffff)));
    }
    let server = server(Workload::TempdbAllocation, ServerVersion::V2014, Pace::Steady);
    let error = server.ddl_error(
        "CREATE EVENT SESSION [s] ON SERVER ADD EVENT sqlos.wait_info ADD TARGET package0.histogram(
            SET filtering_event_name = N'sqlos.wait_info', source_type = 0, source = N'wait_resource')",
    );
    assert_ne!(error, 0, "2014 has no such field");
}

#[test]
fn latch_events_tell_the_class_the_mode_and_the_page() {
    for version in super::VERSIONS {
        let by = |workload: Workload, field: &str| {
            let server = server(workload, version, Pace::Burst(Duration::from_secs(10)));
            let target = format!(
                "package0.histogram(SET slots = 64, filtering_event_name = N'sqlserver.latch_suspend_end', source_type = 0, source = N'{field}')"
            );
            server.start("latches", "sqlserver.latch_suspend_end", &target);
            server.pass(Duration::from_secs(12));
            server.slots("latches")
        };
        let key = |map: &str, text: &str| maps::map(data(version), map).unwrap().key(text).unwrap().to_string();
        let classes = by(Workload::VersionStore, "class");
        let insert_point = key("latch_class", "APPEND_ONLY_STORAGE_INSERT_POINT");
        assert_eq!(classes, [(insert_point, 114_306), (key("latch_class", "BUF"), 40)], "{version}");
        let modes = by(Workload::TempdbAllocation, "mode");
        let mode = |text: &str| key("latch_mode", text);
        assert_eq!(modes, [(mode("UP"), 96_291), (mode("EX"), 35_122), (mode("SH"), 1_102)], "{version}");
        assert_eq!(by(Workload::TempdbAllocation, "page_id")[1], ("3".to_owned(), 16_091), "{version}");
    }
}

#[test]
fn statements_raise_events_by_their_shares() {
    for (workload, name) in Workload::ALL {
        let truth = workload.truth(data(ServerVersion::V2019), 5);
        let sum: u64 = truth.storage.statements.iter().map(|statement| statement.share).sum();
        assert_eq!(sum, 1_000, "{name}");
        for event in ["wait_info", "wait_info_external"] {
            let mut by_hash: BTreeMap<u64, u64> = BTreeMap::new();
            let mut kinds = 0;
            for (kind, share) in loaded(&truth, event) {
                *by_hash.entry(value(kind, "sqlserver.query_hash")).or_default() += share;
                kinds += 1;
            }
            let all: u64 = by_hash.values().sum();
            for statement in &truth.storage.statements {
                let found = by_hash.get(&statement.hash).copied().unwrap_or(0);
                // One event is lost or won for each path.
                assert!(found.abs_diff(all * statement.share / 1_000) <= kinds, "{name} {event}: {found} of {all}");
            }
        }
    }
}

#[test]
fn one_statement_of_lock_hash_raises_92_percent_of_the_yields() {
    let server = server(Workload::LockHash, ServerVersion::V2017, Pace::Burst(Duration::from_secs(10)));
    server.start(
        "queries",
        "sqlos.wait_info(ACTION(sqlserver.query_hash) WHERE wait_type = 123 AND opcode = 1)",
        "package0.histogram(SET source_type = 1, source = N'sqlserver.query_hash')",
    );
    server.pass(Duration::from_secs(12));
    let queries = server.slots("queries");
    assert_eq!((queries.len(), total(&queries)), (3, 20_647));
    assert_eq!(queries[0].0, 0x8f2c_41d0_77aa_10e3_u64.to_string());
    assert!(queries[0].1.abs_diff(20_647 * 92 / 100) <= 6, "{}", queries[0].1);
}

#[test]
fn events_are_of_the_workloads_database_and_of_the_backups() {
    let databases = |workload: Workload, event: &str| -> BTreeSet<u64> {
        let truth = workload.truth(data(ServerVersion::V2022), 2);
        loaded(&truth, event).map(|(kind, _)| value(kind, "sqlserver.database_id")).collect()
    };
    for (workload, name) in Workload::ALL.iter().filter(|(workload, _)| *workload != Workload::Idle) {
        let wanted: &[u64] = if *workload == Workload::BackupLatency { &[1, 5] } else { &[5] };
        assert!(databases(*workload, "wait_info").iter().eq(wanted), "{name}");
    }
}

#[test]
fn stacks_say_where_the_waits_are() {
    // What most stacks of a workload's first wait type hold, and what none of them may.
    let cases: [(Workload, &str, &[&str], &[&str]); 8] = [
        (
            Workload::VersionStore,
            "LATCH_EX",
            &["LatchBase::Suspend", "AppendOnlyVerStoreMgr::AddRecord"],
            &["BUF::AcquireLatch"],
        ),
        (Workload::SmallCommits, "WRITELOG", &["SQLServerLogMgr::WaitLCFlush"], &["LatchBase::"]),
        (
            Workload::DbSnapshot,
            "PREEMPTIVE_OS_WRITEFILE",
            &["SOS_Task::PopWait", "FCB::SyncWritePreemptive", "FCB::PullPageToReplica", "BUF::CopyOnWrite"],
            &["Trace"],
        ),
        (
            Workload::CheckdbOnly,
            "PREEMPTIVE_OS_WRITEFILE",
            &["FCB::SyncWritePreemptive", "BPool::PrepareToDirty"],
            &["Trace"],
        ),
        (
            Workload::TraceWrites,
            "PREEMPTIVE_OS_WRITEFILE",
            &["SOS_Task::PopWait", "CTraceFile::"],
            &["FCB::", "CopyOnWrite"],
        ),
        (
            Workload::TempdbAllocation,
            "PAGELATCH_UP",
            &["LatchBase::AcquireInternal", "BUF::AcquireLatch"],
            &["AppendOnly"],
        ),
        (
            Workload::LastPageInsert,
            "PAGELATCH_EX",
            &["BUF::AcquireLatch", "IndexDataSetSession::InsertSmallRecord"],
            &["PFS"],
        ),
        (Workload::SyncReplica, "HADR_SYNC_COMMIT", &["HadrCommitMgr::"], &["WaitLCFlush"]),
    ];
    for (workload, wait_type, wanted, unwanted) in cases {
        let server = server(workload, ServerVersion::V2017, Pace::Burst(Duration::from_secs(10)));
        server.dbcc("DBCC TRACEON (3656, -1)");
        start_by_stack(&server, wait_type);
        server.pass(Duration::from_secs(12));
        for (stack, _) in server.slots(wait_type) {
            assert!(wanted.iter().all(|frame| stack.contains(frame)), "{workload:?}: {stack}");
            assert!(!unwanted.iter().any(|frame| stack.contains(frame)), "{workload:?}: {stack}");
        }
    }
}

fn own_database(workload: Workload) -> WorkloadDatabase {
    let truth = workload.truth(data(ServerVersion::V2019), 1);
    truth.storage.databases.first().cloned().unwrap()
}

fn file(workload: Workload, kind: FileKind) -> (FileLoad, FileLoad) {
    let database = own_database(workload);
    let file = database.files.iter().find(|file| file.kind == kind).unwrap();
    (file.before, file.load)
}

#[test]
fn log_files_have_parts_of_the_published_figures() {
    let writes = |workload: Workload| {
        let (_, load) = file(workload, FileKind::Log);
        (load.writes, load.write_bytes, load.write_stall_ms)
    };
    assert_eq!(writes(Workload::SmallCommits), (41_667, 43_870_720, 2_966));
    assert_eq!(writes(Workload::SmallCommitsDelayed), (1_186, 38_513_920, 916));
    assert_eq!(writes(Workload::LargeTransactions), (2_050, 87_226_653, 503));
    let log = |workload: Workload| own_database(workload).log;
    let LogLoad { transactions, flushes, flush_waits, flush_wait_ms, .. } = log(Workload::SmallCommits);
    assert_eq!((transactions, flushes, flush_waits, flush_wait_ms), (41_667, 41_667, 41_667, 5_217));
    let LogLoad { transactions, flushes, flush_waits, flush_wait_ms, .. } = log(Workload::SmallCommitsDelayed);
    assert_eq!((transactions, flushes, flush_waits, flush_wait_ms), (73_529, 1_186, 44, 310));
    assert_eq!(log(Workload::LargeTransactions).transactions, 1_361);
    let durability = |workload: Workload| own_database(workload).durability;
    assert_eq!(durability(Workload::SmallCommits), Durability::Full);
    assert_eq!(durability(Workload::SmallCommitsDelayed), Durability::Delayed);
    assert!(own_database(Workload::SyncReplica).is_synchronous_primary);
    let waits = waits_of(&Workload::SyncReplica.truth(data(ServerVersion::V2019), 1));
    let ([commits, log_ms, _], [acknowledged, replica_ms, _]) = (waits["WRITELOG"], waits["HADR_SYNC_COMMIT"]);
    assert_eq!((acknowledged, replica_ms), (commits, 4 * log_ms));
}

#[test]
fn flushes_are_the_log_files_writes_and_waits_for_them_the_waits() {
    for (workload, ..) in LEADING {
        let truth = workload.truth(data(ServerVersion::V2019), 1);
        let (_, load) = file(workload, FileKind::Log);
        let log = own_database(workload).log;
        assert_eq!((log.flushes, log.bytes_flushed), (load.writes, load.write_bytes), "{workload:?}");
        let [count, wait_ms, _] = waits_of(&truth)["WRITELOG"];
        assert_eq!((log.flush_waits, log.flush_wait_ms), (count, wait_ms), "{workload:?}");
    }
}

#[test]
fn files_are_as_slow_as_said() {
    let mean = |count: u64, stall_ms: u64| stall_ms.checked_div(count).unwrap_or(0);
    let reads = |load: FileLoad| mean(load.reads, load.read_stall_ms);
    let writes = |load: FileLoad| mean(load.writes, load.write_stall_ms);
    let (before, load) = file(Workload::IndexRebuild, FileKind::Data);
    assert_eq!((reads(load), writes(load), load.write_bytes / load.writes), (57, 604, 262_144));
    assert!(writes(before) < 10);
    let (_, load) = file(Workload::BackupLatency, FileKind::Data);
    assert_eq!(reads(load), 85);
    let (_, load) = file(Workload::CheckdbOnly, FileKind::Data);
    assert_eq!(reads(load), 12);
    for (workload, name) in Workload::ALL {
        for database in workload.truth(data(ServerVersion::V2019), 1).storage.databases {
            for file in &database.files {
                let is_slow = [Workload::IndexRebuild, Workload::BackupLatency].contains(&workload)
                    && file.kind == FileKind::Data;
                let (slowest, past) =
                    (reads(file.load).max(writes(file.load)), reads(file.before).max(writes(file.before)));
                assert_eq!(slowest >= 50, is_slow, "{name} {}", file.physical);
                assert!(past < 50, "{name} {}", file.physical);
            }
        }
    }
}

#[test]
fn snapshots_are_there_where_said_and_their_files_grow() {
    for (workload, count) in [(Workload::DbSnapshot, 1), (Workload::DbSnapshotTwo, 2)] {
        let truth = workload.truth(data(ServerVersion::V2019), 1);
        let snapshots: Vec<_> =
            truth.storage.databases.iter().filter(|database| database.source_database_id == Some(5)).collect();
        assert_eq!(snapshots.len(), count);
        let mut written = 0;
        for file in snapshots.iter().flat_map(|database| &database.files) {
            assert_eq!(file.kind, FileKind::Sparse);
            assert!(file.load.growth_bytes >= file.load.write_bytes && file.load.writes > 10_000);
            written += file.load.writes;
        }
        let waits = waits_of(&truth);
        assert_eq!(written, waits["PREEMPTIVE_OS_WRITEFILE"][0], "a write for each copy");
        assert_eq!(waits.contains_key("FCB_REPLICA_WRITE"), count == 2);
    }
    for (workload, name) in Workload::ALL {
        let storage = workload.truth(data(ServerVersion::V2019), 1).storage;
        assert_eq!(storage.trace_file.is_some(), workload == Workload::TraceWrites, "{name}");
        let has_snapshot = storage.databases.iter().any(|database| database.source_database_id.is_some());
        assert_eq!(has_snapshot, matches!(workload, Workload::DbSnapshot | Workload::DbSnapshotTwo), "{name}");
        let ids: BTreeSet<i32> = storage.databases.iter().map(|database| database.id).collect();
        assert!(ids.len() == storage.databases.len() && ids.iter().all(|id| *id >= 5), "{name}");
    }
}

#[test]
fn short_batches_wait_for_their_scheduler_and_hardly_yield() {
    let truth = Workload::HighSignalNoYield.truth(data(ServerVersion::V2022), 1);
    let waits = waits_of(&truth);
    let (wait_ms, signal_ms) = waits.values().fold((0, 0), |sum, [_, wait, signal]| (sum.0 + wait, sum.1 + signal));
    assert_eq!(signal_ms * 100 / wait_ms, 85);
    assert!(waits["SOS_SCHEDULER_YIELD"][0] < 50 && waits["SOS_SCHEDULER_YIELD"][1] * 100 < wait_ms);
    assert_eq!(truth.machine.loaded_cpu_percent(), 94);
    for (workload, ..) in LEADING.iter().filter(|(workload, ..)| *workload != Workload::HighSignalNoYield) {
        let cpu = workload.truth(data(ServerVersion::V2022), 1).machine.loaded_cpu_percent();
        assert!((10..=40).contains(&cpu), "{workload:?}: {cpu}");
    }
}

#[test]
fn nobody_waits_on_an_idle_server() {
    let server = server(Workload::Idle, ServerVersion::V2019, Pace::Burst(Duration::from_secs(10)));
    let read = || {
        let rows = server.view("dm_os_wait_stats", &["wait_type", "waiting_tasks_count"]);
        rows.into_iter().map(|row| (row[0].clone(), int(&row[1]))).collect::<Vec<_>>()
    };
    server.start("s", "sqlserver.latch_suspend_end", "package0.event_counter");
    let before = read();
    server.pass(Duration::from_secs(60));
    for ((name, after), (_, before)) in read().into_iter().zip(before) {
        let Datum::Text(name) = name else { panic!("a name") };
        let idle = wait_types::wait_types().iter().find(|wait| wait.name == name).unwrap().per_hour > 0;
        assert!(idle || after == before, "{name}");
    }
}
