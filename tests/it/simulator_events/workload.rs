//! The workload's truth: totals, courses, determinism.

use super::{CALLSTACKS, Server, YIELDS, int, total};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::value::Datum;
use xestack::simulator::workload::pace::Pace;

const SPINLOCK_COLUMNS: [&str; 5] = ["name", "collisions", "spins", "sleep_time", "backoffs"];

/// The five published rows.
const PUBLISHED: [(&str, [i64; 4]); 5] = [
    ("LOCK_HASH", [6_191_134, 4_005_774_890, 686, 1_601_383]),
    ("OPT_IDX_STATS", [1_164_849, 126_549_245, 57, 7_555]),
    ("SOS_OBJECT_STORE", [73, 305, 0, 0]),
    ("SOS_WAITABLE_ADDRESS_HASHBUCKET", [115, 44_495, 0, 3]),
    ("XDESMGR", [1, 0, 0, 0]),
];

fn numbers(server: &Server, view: &str, columns: &[&str]) -> BTreeMap<String, Vec<i64>> {
    server
        .view(view, columns)
        .into_iter()
        .map(|row| {
            let Datum::Text(name) = &row[0] else { panic!("a name") };
            (name.clone(), row[1..].iter().map(int).collect())
        })
        .collect()
}

fn grown(before: &BTreeMap<String, Vec<i64>>, after: &BTreeMap<String, Vec<i64>>) -> BTreeMap<String, Vec<i64>> {
    let difference = |name: &String, row: &Vec<i64>| row.iter().zip(&before[name]).map(|(a, b)| a - b).collect();
    after
        .iter()
        .map(|(name, row)| (name.clone(), difference(name, row)))
        .filter(|(_, row): &(_, Vec<i64>)| row[0] != 0)
        .collect()
}

#[test]
fn a_burst_ends_with_the_published_rows_on_every_version() {
    for version in super::VERSIONS {
        let server = Server::new(version);
        let spinlocks = numbers(&server, "dm_os_spinlock_stats", &SPINLOCK_COLUMNS);
        assert!(spinlocks["LOCK_HASH"].iter().all(|value| *value > 0), "earlier counts stand before the burst");
        server.pass(Duration::from_mins(1));
        assert_eq!(numbers(&server, "dm_os_spinlock_stats", &SPINLOCK_COLUMNS), spinlocks);
        server.start("s", "sqlserver.error_reported", "package0.ring_buffer");
        for _ in 0..2 {
            server.pass(Duration::from_secs(10));
            let found = grown(&spinlocks, &numbers(&server, "dm_os_spinlock_stats", &SPINLOCK_COLUMNS));
            let published = PUBLISHED.map(|(name, row)| (name.to_owned(), row.to_vec()));
            assert_eq!(found, BTreeMap::from(published), "{version}");
        }
    }
}

#[test]
fn yields_are_99_percent_of_the_waits_that_are_not_idle() {
    let columns = ["wait_type", "waiting_tasks_count", "wait_time_ms", "signal_wait_time_ms"];
    let server = Server::new(ServerVersion::V2019);
    let before = numbers(&server, "dm_os_wait_stats", &columns);
    server.start("s", "sqlserver.error_reported", "package0.event_counter");
    server.pass(Duration::from_secs(10));
    let mut found = grown(&before, &numbers(&server, "dm_os_wait_stats", &columns));
    assert_eq!(found["SOS_SCHEDULER_YIELD"], [20_647, 457_477, 457_457]);
    // What grows with the uptime alone is idle.
    let idle: Vec<String> = {
        let between = numbers(&server, "dm_os_wait_stats", &columns);
        server.pass(Duration::from_hours(10));
        grown(&between, &numbers(&server, "dm_os_wait_stats", &columns)).into_keys().collect()
    };
    assert!(idle.contains(&"LAZYWRITER_SLEEP".to_owned()));
    found.retain(|name, _| !idle.contains(name));
    let all: i64 = found.values().map(|row| row[1]).sum();
    assert_eq!(457_477 * 1_000 / all, 994);
}

#[test]
fn yield_events_are_as_many_as_the_waits_and_their_durations_add_up() {
    let server = Server::new(ServerVersion::V2017);
    let ends = "sqlos.wait_info(WHERE wait_type = 123 AND opcode = 1)";
    let by = |field: &str| {
        format!(
            "package0.histogram(SET slots = 64, source_type = 0, source = '{field}', filtering_event_name = 'sqlos.wait_info')"
        )
    };
    server.start("duration", ends, &by("duration"));
    server.start("signal", ends, &by("signal_duration"));
    server.start("opcode", "sqlos.wait_info(WHERE wait_type = 123)", &by("opcode"));
    server.start("stack", YIELDS, CALLSTACKS);
    server.pass(Duration::from_secs(11));
    let time = |session: &str| -> u64 {
        server.slots(session).iter().map(|(value, count)| value.parse::<u64>().unwrap() * count).sum()
    };
    assert_eq!((time("duration"), time("signal")), (457_477, 457_457));
    let mut opcodes = server.slots("opcode");
    opcodes.sort();
    assert_eq!(opcodes, [("0".to_owned(), 20_647), ("1".to_owned(), 20_647)]);
    let stacks = server.slots("stack");
    assert_eq!(total(&stacks), 20_647);
    assert_eq!(stacks.len(), 6);
    assert!(stacks[0].1 > 12_000 && stacks[0].1 < 14_000, "the published path leads: {}", stacks[0].1);
}

#[test]
fn processors_are_busy_in_the_burst_only() {
    let server = Server::new(ServerVersion::V2019);
    let cpu = || {
        let row =
            server.view("dm_os_sys_info", &["process_kernel_time_ms", "process_user_time_ms", "ms_ticks"]).remove(0);
        (int(&row[0]) + int(&row[1]), int(&row[2]))
    };
    let percent = |(before, from): (i64, i64), (after, to): (i64, i64)| (after - before) * 100 / ((to - from) * 8);
    let queue =
        || -> i64 { server.view("dm_os_schedulers", &["runnable_tasks_count"]).iter().map(|row| int(&row[0])).sum() };
    let tasks =
        || -> i64 { server.view("dm_os_schedulers", &["current_tasks_count"]).iter().map(|row| int(&row[0])).sum() };
    let idle = cpu();
    server.pass(Duration::from_secs(20));
    assert_eq!(percent(idle, cpu()), 2);
    assert_eq!(queue(), 0);
    server.start("s", "sqlserver.error_reported", "package0.event_counter");
    let started = cpu();
    server.pass(Duration::from_secs(5));
    assert!(queue() >= 24 && (60..=70).contains(&tasks()), "{} {}", queue(), tasks());
    server.pass(Duration::from_secs(5));
    assert!((93..=94).contains(&percent(started, cpu())));
    let over = cpu();
    server.pass(Duration::from_secs(20));
    assert_eq!((percent(over, cpu()), queue()), (2, 0));
}

#[test]
fn steady_goes_on_at_the_same_rate() {
    let server = Server::with(ServerVersion::V2017, &[], |options| options.pace = Pace::Steady);
    let before = numbers(&server, "dm_os_spinlock_stats", &SPINLOCK_COLUMNS);
    server.pass(Duration::from_secs(30));
    let found = grown(&before, &numbers(&server, "dm_os_spinlock_stats", &SPINLOCK_COLUMNS));
    for (name, row) in PUBLISHED {
        assert_eq!(found[name], row.map(|value| value * 3), "{name}");
    }
}

#[test]
fn steady_events_keep_the_rate_for_hours() {
    let server = Server::with(ServerVersion::V2017, &[], |options| options.pace = Pace::Steady);
    server.start("s", YIELDS, CALLSTACKS);
    server.pass(Duration::from_mins(1));
    assert!(total(&server.slots("s")).abs_diff(6 * 20_647) < 300, "{}", total(&server.slots("s")));
    server.pass(Duration::from_mins(119));
    assert!(total(&server.slots("s")).abs_diff(720 * 20_647) < 300, "{}", total(&server.slots("s")));
}

#[test]
fn same_seed_same_server() {
    let read = |seed: u64| {
        let server = Server::with(ServerVersion::V2019, &[], |options| options.seed = seed);
        server.start("s", "sqlos.wait_info(ACTION(package0.callstack) WHERE wait_type = 137)", CALLSTACKS);
        server.pass(Duration::from_secs(11));
        (server.target("s"), server.view("dm_os_loaded_modules", &["name", "base_address"]))
    };
    assert_eq!(read(7), read(7));
    assert_ne!(read(7).0, read(8).0);
    assert_ne!(read(7).1, read(8).1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_burst_of_any_length_is_monotone_and_exact(
        length in 1_u64..30_000, mut reads in proptest::collection::vec(0_u64..30_000, 1..6),
    ) {
        let server = Server::with(ServerVersion::V2017, &[], |options| {
            options.pace = Pace::Burst(Duration::from_millis(length));
        });
        let spinlocks = || numbers(&server, "dm_os_spinlock_stats", &SPINLOCK_COLUMNS);
        let before = spinlocks();
        server.start("s", YIELDS, CALLSTACKS);
        reads.retain(|at| *at < length);
        reads.sort_unstable();
        let (mut last, mut at, mut events) = (before.clone(), 0, 0);
        for read in reads {
            server.pass(Duration::from_millis(read - at));
            at = read;
            let now = spinlocks();
            for (name, row) in &now {
                prop_assert!(row.iter().zip(&last[name]).all(|(now, last)| now >= last));
            }
            let seen = total(&server.slots("s"));
            prop_assert!(seen >= events && seen <= 20_647);
            (last, events) = (now, seen);
        }
        server.pass(Duration::from_millis(length - at));
        let found = grown(&before, &spinlocks());
        prop_assert_eq!(found, BTreeMap::from(PUBLISHED.map(|(name, row)| (name.to_owned(), row.to_vec()))));
        server.pass(Duration::from_secs(1));
        prop_assert_eq!(total(&server.slots("s")), 20_647);
    }
}
