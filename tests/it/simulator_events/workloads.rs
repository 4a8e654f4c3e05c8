//! Every workload's truth: totals against events, on every version and by several seeds; what its views show.

use super::{CALLSTACKS, Server, int, total};
use std::collections::BTreeMap;
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::maps;
use xestack::simulator::value::Datum;
use xestack::simulator::versions::VersionData;
use xestack::simulator::workload::kinds::{EventKind, FieldValue, Rhythm};
use xestack::simulator::workload::pace::Pace;
use xestack::simulator::workload::{Truth, UnknownWorkload, Workload};

const SEEDS: [u64; 3] = [0, 7, u64::MAX];

fn versions() -> Vec<&'static VersionData> {
    let known = VersionData::known();
    let known = known.split(", ").map(|name| VersionData::of(name.parse().unwrap()).unwrap());
    known.filter(|version| !version.is_azure()).collect()
}

/// Runs a check on every workload, version and seed.
fn everywhere(check: impl Fn(Workload, &'static VersionData, &Truth, &str)) {
    for (workload, name) in Workload::ALL {
        for version in versions() {
            for seed in SEEDS {
                let case = format!("{name} on {} by seed {seed}", version.version);
                check(workload, version, &workload.truth(version, seed), &case);
            }
        }
    }
}

fn value(kind: &EventKind, name: &str) -> Option<u64> {
    match kind.value(name) {
        Some(FieldValue::Number(number)) => Some(*number),
        _ => None,
    }
}

/// Events of the load, by kind.
fn loaded<'a>(truth: &'a Truth, event: &'a str) -> impl Iterator<Item = (&'a EventKind, u64)> {
    truth.kinds.iter().filter(move |kind| kind.event == event).filter_map(|kind| match kind.rhythm {
        Rhythm::Load { share, .. } => Some((kind, share)),
        Rhythm::PerHour(_) => None,
    })
}

fn load_of_wait(truth: &Truth, name: &str) -> (u64, u64, u64) {
    let wait = truth.counters.waits.iter().find(|wait| wait.name == name).unwrap();
    (wait.waits.load, wait.wait_ms.load, wait.signal_ms.load)
}

fn server(workload: Workload, version: ServerVersion, seed: u64) -> Server {
    Server::with(version, &[], |options| {
        options.workload = workload;
        options.seed = seed;
    })
}

/// Rows of sys.dm_os_spinlock_stats: collisions, spins, sleep time, back-offs by name.
fn spinlocks(server: &Server) -> BTreeMap<String, Vec<i64>> {
    let rows = server.view("dm_os_spinlock_stats", &["name", "collisions", "spins", "sleep_time", "backoffs"]);
    let name = |datum: &Datum| if let Datum::Text(name) = datum { name.clone() } else { panic!("a name") };
    rows.into_iter().map(|row| (name(&row[0]), row[1..].iter().map(int).collect())).collect()
}

#[test]
fn names_are_read_and_unknown_ones_list_all() {
    for (workload, name) in Workload::ALL {
        assert_eq!(name.parse(), Ok(workload));
        assert_eq!(format!(" {name} ").parse(), Ok(workload));
    }
    let error: UnknownWorkload = "lockhash".parse::<Workload>().unwrap_err();
    for (_, name) in Workload::ALL {
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn yield_events_come_to_the_counters() {
    everywhere(|_, version, truth, case| {
        let key = maps::map(version, "wait_types").unwrap().key("SOS_SCHEDULER_YIELD").map(u64::from);
        for (event, opcode) in [("wait_info", Some(1)), ("wait_completed", None)] {
            let yields = loaded(truth, event)
                .filter(|(kind, _)| value(kind, "wait_type") == key && value(kind, "opcode") == opcode);
            let (mut count, mut wait, mut signal) = (0, 0, 0);
            for (kind, share) in yields {
                count += share;
                wait += share * value(kind, "duration").unwrap();
                signal += share * value(kind, "signal_duration").unwrap();
            }
            assert_eq!((count, wait, signal), load_of_wait(truth, "SOS_SCHEDULER_YIELD"), "{case}: {event}");
        }
    });
}

#[test]
fn an_event_comes_for_every_eighth_backoff_or_as_seldom_as_published() {
    everywhere(|workload, version, truth, case| {
        let backoffs_per_event = if workload == Workload::Cachestore { 1_864 } else { 8 };
        let types = maps::map(version, "spinlock_types").unwrap();
        let mut events: BTreeMap<&str, u64> = BTreeMap::new();
        for (kind, share) in loaded(truth, "spinlock_backoff") {
            *events.entry(types.text(value(kind, "type").unwrap()).unwrap()).or_default() += share;
        }
        let counted: BTreeMap<&str, u64> = truth
            .counters
            .spinlocks
            .iter()
            .map(|row| (row.name, row.backoffs.load / backoffs_per_event))
            .filter(|(_, events)| *events > 0)
            .collect();
        assert_eq!(events, counted, "{case}");
        assert!(events.contains_key("LOCK_HASH") || workload == Workload::Idle, "{case}");
    });
}

#[test]
fn stacks_are_whole() {
    everywhere(|workload, version, truth, case| {
        for kind in &truth.kinds {
            let frames = truth.stacks.get(kind.stack);
            let published = format!("::{}::Publish", kind.event);
            assert!(frames[0].function.ends_with(&published), "{case}: {}", frames[0].function);
            assert_eq!(frames.last().unwrap().function, "RtlUserThreadStart", "{case}");
            assert!(frames.iter().all(|frame| u64::from(frame.rva) <= frame.address), "{case}");
        }
        let deepest = truth.kinds.iter().map(|kind| truth.stacks.get(kind.stack).len()).max();
        assert!(deepest > Some(version.stack_depth) || workload == Workload::Idle, "{case}: {deepest:?}");
    });
}

#[test]
fn no_frame_of_a_path_is_left_out() {
    for (workload, name) in Workload::ALL {
        for version in versions() {
            let recipe = workload.recipe(version);
            let mut truth = recipe.truth(version, 3);
            let special = recipe.special_backoffs.iter().flat_map(|(_, paths)| paths.clone());
            let usual = recipe
                .spins
                .iter()
                .flat_map(|row| xestack::simulator::workload::paths::backoffs::to_spinlock(version, row.spinlock));
            let yields = recipe.yields.iter().flat_map(|yields| yields.paths.clone());
            let waits = recipe.waits.iter().flat_map(|waits| waits.paths.clone());
            for path in yields.chain(special).chain(usual).chain(waits) {
                let stack = truth.stacks.add(path.frames());
                assert_eq!(truth.stacks.get(stack).len(), path.frames().count(), "{name}: {path:?}");
            }
        }
    }
}

#[test]
fn seeds_move_proportions_and_nothing_else() {
    for (workload, name) in Workload::ALL.into_iter().filter(|(workload, _)| *workload != Workload::Idle) {
        let version = VersionData::of(ServerVersion::V2019).unwrap();
        let shares = |seed: u64| {
            let truth = workload.truth(version, seed);
            let mut by_stack: BTreeMap<Vec<String>, u64> = BTreeMap::new();
            for kind in truth.kinds.iter().filter(|kind| kind.event != "latch_suspend_end") {
                if let Rhythm::Load { share, .. } = kind.rhythm {
                    let frames = truth.stacks.get(kind.stack).iter().map(|frame| frame.function.clone()).collect();
                    *by_stack.entry(frames).or_default() += share;
                }
            }
            by_stack
        };
        assert_eq!(shares(5), shares(5), "{name}");
        // The few waits of some are shared out alike.
        assert!(shares(5) != shares(6) || workload == Workload::SmallCommitsDelayed, "{name}");
        assert_eq!(shares(5).values().sum::<u64>(), shares(6).values().sum::<u64>(), "{name}");
        assert!(shares(5).keys().eq(shares(6).keys()) || workload == Workload::FewEvents, "{name}");
    }
}

#[test]
fn bursts_are_monotone_and_end_with_the_totals_in_every_view() {
    for (workload, name) in Workload::ALL {
        for version in versions() {
            let server = server(workload, version.version, 1);
            let before = spinlocks(&server);
            let yields =
                || server.number("dm_os_wait_stats", ("wait_type", "SOS_SCHEDULER_YIELD"), "waiting_tasks_count");
            let yields_before = yields();
            server.start("s", "sqlserver.error_reported", "package0.event_counter");
            let mut last = (before.clone(), yields_before);
            for _ in 0..20 {
                server.pass(Duration::from_millis(500));
                let now = (spinlocks(&server), yields());
                assert!(now.1 >= last.1, "{name}");
                for (spinlock, row) in &now.0 {
                    assert!(row.iter().zip(&last.0[spinlock]).all(|(now, last)| now >= last), "{name} {spinlock}");
                }
                last = now;
            }
            server.pass(Duration::from_mins(5));
            assert_eq!((spinlocks(&server), yields()), last, "{name}: it stands still after the burst");
            let recipe = workload.recipe(version);
            assert_eq!(last.1 - yields_before, recipe.yield_count() as i64, "{name}");
            for row in recipe.spins.iter().filter(|row| before.contains_key(row.spinlock)) {
                let grown: Vec<i64> =
                    last.0[row.spinlock].iter().zip(&before[row.spinlock]).map(|(a, b)| a - b).collect();
                let wanted = [row.collisions, row.spins, row.sleep_time, row.backoffs].map(|value| value as i64);
                assert_eq!(grown, wanted, "{name} {}", row.spinlock);
            }
        }
    }
}

/// Least part of the CPU, of the schedulers' 2.7 GHz, that went into a spinlock: ten cycles a spin.
fn least_spin_share(server: &Server, spinlock: &str, run: impl FnOnce()) -> f64 {
    let read = || {
        let ticks = server.view("dm_os_sys_info", &["cpu_ticks", "scheduler_count"]).remove(0);
        (spinlocks(server)[spinlock][1] as f64, int(&ticks[0]) as f64, int(&ticks[1]) as f64)
    };
    let before = read();
    run();
    let after = read();
    (after.0 - before.0) * 10.0 / ((after.1 - before.1) * after.2)
}

#[test]
fn spins_are_as_each_workload_says() {
    let share = |workload: Workload, spinlock: &str| {
        let server = server(workload, ServerVersion::V2019, 2);
        server.start("s", "sqlserver.error_reported", "package0.event_counter");
        least_spin_share(&server, spinlock, || server.pass(Duration::from_secs(10)))
    };
    assert!((0.185..0.186).contains(&share(Workload::LockHash, "LOCK_HASH")));
    assert!(share(Workload::SpinBurn, "LOCK_HASH") >= 0.55);
    assert!(share(Workload::Cachestore, "SOS_CACHESTORE") > 1.0);
    for same in [Workload::YieldWithSpinFrame, Workload::TwoPercent, Workload::XeObserver, Workload::WrongSymbols] {
        assert!((0.185..0.186).contains(&share(same, "LOCK_HASH")), "{same:?}");
    }
    for few in
        [Workload::VmSteal, Workload::CappedCpu, Workload::OneHotNode, Workload::FewEvents, Workload::LockManagerNoSpin]
    {
        // Even at forty cycles a spin.
        assert!(share(few, "LOCK_HASH") * 4.0 < 0.05, "{few:?}");
    }
}

/// Mean CPU use and queue length by NUMA node, and capped time of all schedulers, over a burst.
struct Processors {
    cpu: BTreeMap<i64, f64>,
    queue: BTreeMap<i64, f64>,
    capped: f64,
}

fn processors(workload: Workload) -> Processors {
    let server = server(workload, ServerVersion::V2019, 3);
    let columns =
        ["parent_node_id", "total_cpu_usage_ms", "runnable_tasks_count", "total_cpu_idle_capped_ms", "status"];
    let read = || {
        let rows = server.view("dm_os_schedulers", &columns).into_iter();
        rows.filter(|row| row[4] == Datum::Text("VISIBLE ONLINE".into()))
            .map(|row| [int(&row[0]), int(&row[1]), int(&row[2]), int(&row[3])])
            .collect::<Vec<_>>()
    };
    server.start("s", "sqlserver.error_reported", "package0.event_counter");
    let before = read();
    let count = before.len() as f64;
    let of_node = |node: i64| before.iter().filter(|row| row[0] == node).count() as f64;
    let mut queue: BTreeMap<i64, f64> = BTreeMap::new();
    for _ in 0..20 {
        server.pass(Duration::from_millis(499));
        for row in read() {
            *queue.entry(row[0]).or_default() += row[2] as f64 / 20.0 / of_node(row[0]);
        }
    }
    server.pass(Duration::from_millis(20));
    let after = read();
    let mut cpu: BTreeMap<i64, f64> = BTreeMap::new();
    let mut capped = 0.0;
    for (before, after) in before.iter().zip(&after) {
        *cpu.entry(before[0]).or_default() += (after[1] - before[1]) as f64 / 10_000.0 / of_node(before[0]);
        capped += (after[3] - before[3]) as f64 / 10_000.0 / count;
    }
    Processors { cpu, queue, capped }
}

#[test]
fn processors_are_as_each_workload_says() {
    let near = |value: f64, wanted: f64| (value - wanted).abs() < 0.011;
    let saturated = processors(Workload::LockHash);
    assert!(near(saturated.cpu[&0], 0.94) && saturated.queue[&0] > 3.0);
    assert!(saturated.cpu.len() == 1 && saturated.capped == 0.0);

    let steal = processors(Workload::VmSteal);
    assert!(near(steal.cpu[&0], 0.35) && steal.queue[&0] == 0.0);

    let capped = processors(Workload::CappedCpu);
    assert!(near(capped.cpu[&0], 0.40) && near(capped.capped, 0.55) && capped.queue[&0] >= 4.0);

    let hot = processors(Workload::OneHotNode);
    assert!(near(hot.cpu[&0], 0.94) && near(hot.cpu[&1], 0.02));
    assert!(hot.queue[&0] > 3.0 && hot.queue[&1] == 0.0);

    let large = processors(Workload::Cachestore);
    assert_eq!(large.cpu.len(), 2);
}

#[test]
fn machines_are_described_alike_in_every_view() {
    for (workload, name) in Workload::ALL {
        let server = server(workload, ServerVersion::V2019, 1);
        let columns = ["scheduler_count", "numa_node_count", "virtual_machine_type", "virtual_machine_type_desc"];
        let row = server.view("dm_os_sys_info", &columns).remove(0);
        let schedulers = server.view("dm_os_schedulers", &["status", "parent_node_id"]);
        let visible: Vec<_> = schedulers.iter().filter(|row| row[0] == Datum::Text("VISIBLE ONLINE".into())).collect();
        assert_eq!(int(&row[0]), visible.len() as i64, "{name}");
        let nodes = server.view("dm_os_nodes", &["node_state_desc", "node_id", "online_scheduler_count"]);
        let online: Vec<_> = nodes.iter().filter(|row| row[0] == Datum::Text("ONLINE".into())).collect();
        assert_eq!(int(&row[1]), online.len() as i64, "{name}");
        for node in online {
            let of_node = visible.iter().filter(|row| row[1] == node[1]).count();
            assert_eq!(int(&node[2]), of_node as i64, "{name}");
        }
        let is_virtual = workload == Workload::VmSteal;
        assert_eq!(int(&row[2]), i64::from(is_virtual), "{name}");
        assert_eq!(row[3], Datum::Text(if is_virtual { "HYPERVISOR" } else { "NONE" }.into()), "{name}");
    }
}

#[test]
fn mean_yields_are_as_each_workload_says() {
    let version = VersionData::of(ServerVersion::V2019).unwrap();
    let mean = |workload: Workload| {
        let (count, wait, _) = load_of_wait(&workload.truth(version, 1), "SOS_SCHEDULER_YIELD");
        (count, wait / count)
    };
    assert_eq!(mean(Workload::VmSteal), (1_204, 60));
    assert_eq!(mean(Workload::FewEvents).0, 12);
    for same in [Workload::SpinBurn, Workload::LockManagerNoSpin, Workload::TwoPercent, Workload::WrongSymbols] {
        assert_eq!(mean(same), (20_647, 22), "{same:?}");
    }
}

/// Yield events of a burst with symbols: all, and those with a text in their stack.
fn yields_with(workload: Workload, text: &str, seed: u64) -> (u64, u64) {
    let server = server(workload, ServerVersion::V2017, seed);
    server.dbcc("DBCC TRACEON (3656, -1)");
    server.start("s", super::YIELDS, CALLSTACKS);
    server.pass(Duration::from_secs(12));
    let slots = server.slots("s");
    let with = slots.iter().filter(|(stack, _)| stack.contains(text)).map(|(_, count)| count).sum();
    (total(&slots), with)
}

#[test]
fn spin_frames_are_in_as_many_yields_as_said() {
    for seed in [1, 2, 3] {
        assert_eq!(yields_with(Workload::YieldWithSpinFrame, "!Spinlock<", seed), (20_647, 6_194));
        assert_eq!(yields_with(Workload::TwoPercent, "!Spinlock<", seed), (20_647, 413));
        assert_eq!(yields_with(Workload::LockManagerNoSpin, "pinlock", seed), (20_647, 0));
        let (_, locking) = yields_with(Workload::LockManagerNoSpin, "lck_lockInternal", seed);
        assert!(locking > 14_000, "{locking}");
        assert_eq!(yields_with(Workload::FewEvents, "SOS_Task::PostWait", seed), (12, 12));
    }
}

#[test]
fn backoffs_are_told_by_the_servers_own_keys_and_not_by_the_template() {
    for version in versions() {
        let server = server(Workload::Cachestore, version.version, 1);
        let flags: Vec<String> = version.symbol_flags.iter().map(u32::to_string).collect();
        server.dbcc(&format!("DBCC TRACEON ({}, -1)", flags.join(", ")));
        let key = maps::map(version, "spinlock_types").unwrap().key("SOS_CACHESTORE").unwrap();
        server.start(
            "types",
            "sqlos.spinlock_backoff",
            "package0.histogram(SET filtering_event_name = N'sqlos.spinlock_backoff', source_type = 0, source = N'type')",
        );
        let event = format!("sqlos.spinlock_backoff(ACTION(package0.callstack) WHERE type = {key})");
        server.start("stacks", &event, CALLSTACKS);
        server.pass(Duration::from_secs(12));
        let types = server.slots("types");
        assert_eq!(types[0], (key.to_string(), 6_071), "{}", version.version);
        assert_eq!(types.len(), 5);
        let stacks = server.slots("stacks");
        assert_eq!(total(&stacks), 6_071);
        for (stack, _) in &stacks {
            let at = |text: &str| stack.find(text).unwrap_or_else(|| panic!("{text} in {stack}"));
            assert!(at("spinlock_backoff::Publish") < at("SpinlockBase::Sleep"));
            assert!(at("SpinlockBase::Sleep") < at("Spinlock<"));
            assert!(at("Spinlock<") < at("SOS_CacheStore::GetUserData"));
            assert!(at("SOS_CacheStore::GetUserData") < at("CMEDCatalogOwner::GetOwnerAliasIdFromSid"));
        }
        // 2016 and 2017: 143 beside key 151 is published for LOCK_HASH.
        let template = stacks[0].0.split("Spinlock<").nth(1).unwrap().split(',').next().unwrap().to_owned();
        let differs = version.lock_hash_template
            != maps::map(version, "spinlock_types").unwrap().key("LOCK_HASH").unwrap().to_string();
        assert_eq!(template != key.to_string(), differs, "{}: {template} {key}", version.version);
    }
}

#[test]
fn an_observing_session_is_in_the_catalogue_and_runs() {
    let server = server(Workload::XeObserver, ServerVersion::V2019, 1);
    let named = |view: &str| {
        let rows = server.view(view, &["name"]);
        rows.iter().filter(|row| row[0] == Datum::Text("statement_tracker".into())).count()
    };
    assert_eq!((named("server_event_sessions"), named("dm_xe_sessions")), (1, 1));
    let running = server.view("dm_xe_session_events", &["event_name", "event_predicate"]);
    let event = running.iter().find(|row| row[0] == Datum::Text("sql_statement_completed".into())).unwrap();
    let Datum::Text(predicate) = &event[1] else { panic!("a predicate") };
    assert!(predicate.contains("sql_text"), "{predicate}");
    // A burst begins with a client's session, not with this one.
    server.pass(Duration::from_mins(1));
    assert_eq!(total(&server.slots("statement_tracker")), 0);
    server.start("s", "sqlserver.error_reported", "package0.event_counter");
    server.pass(Duration::from_secs(20));
    assert_eq!(total(&server.slots("statement_tracker")), 3_200_000);
    for (workload, name) in Workload::ALL.iter().filter(|(workload, _)| *workload != Workload::XeObserver) {
        let other = self::server(*workload, ServerVersion::V2019, 1);
        assert_eq!(other.view("dm_xe_sessions", &["name"]).len(), 2, "{name}");
    }
}

#[test]
fn wrong_symbols_show_nearest_exports_with_the_flags_on() {
    for version in versions() {
        let server = server(Workload::WrongSymbols, version.version, 1);
        let key = maps::map(version, "wait_types").unwrap().key("SOS_SCHEDULER_YIELD").unwrap();
        let event = format!("sqlos.wait_info(ACTION(package0.callstack) WHERE wait_type = {key} AND opcode = 1)");
        server.start("s", &event, CALLSTACKS);
        server.pass(Duration::from_secs(12));
        assert!(server.slots("s").iter().all(|(stack, _)| !stack.contains('!')), "raw without the flags");
        let flags: Vec<String> = version.symbol_flags.iter().map(u32::to_string).collect();
        server.dbcc(&format!("DBCC TRACEON ({}, -1)", flags.join(", ")));
        let slots = server.slots("s");
        assert_eq!(total(&slots), 20_647);
        let all = slots.iter().map(|(stack, _)| stack.as_str()).collect::<String>();
        assert!(!all.contains("PostWait") && !all.contains("GetPageWithKey"), "no true name");
        // 2008 R2 has one engine binary and names no module: its nearest exports are few.
        if version.version < ServerVersion::V2012 {
            continue;
        }
        assert!(all.contains("!Ordinal"), "{}", version.version);
        assert!(all.contains("SpinlockBase::") && all.contains("LatchBase::"), "{}", version.version);
        let first = &slots[0].0;
        let mut offsets: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (name, offset) in first.lines().filter_map(|line| line.rsplit_once("+0x")) {
            offsets.entry(name).or_default().push(u64::from_str_radix(offset, 16).unwrap());
        }
        let spread = |found: &Vec<u64>| found.iter().max().unwrap() - found.iter().min().unwrap();
        assert!(offsets.values().any(|found| found.len() > 2 && spread(found) > 0x1_0000), "{first}");
    }
}

#[test]
fn steady_goes_on_at_the_same_rate_for_every_workload() {
    for (workload, name) in Workload::ALL {
        let server = Server::with(ServerVersion::V2019, &[], |options| {
            options.workload = workload;
            options.pace = Pace::Steady;
        });
        let before = spinlocks(&server);
        server.pass(Duration::from_secs(30));
        let after = spinlocks(&server);
        for row in workload.recipe(VersionData::of(ServerVersion::V2019).unwrap()).spins {
            let grown = after[row.spinlock][1] - before[row.spinlock][1];
            assert_eq!(grown, 3 * row.spins as i64, "{name} {}", row.spinlock);
        }
    }
}
