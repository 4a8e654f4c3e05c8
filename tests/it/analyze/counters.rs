//! Differences of counters: the published rows, and everything that can go wrong between two snapshots.

use super::support::{
    Host, PUBLISHED_SPINLOCKS, analyze, finding, latch_table, problem, published_case, spinlock_table, table,
    wait_table,
};
use proptest::prelude::*;
use xestack::{
    analyze::deltas::{Shape, grow},
    model::{Evidence, Mark, Report, Severity, Table, Value, WaitRow},
};

fn wait<'a>(report: &'a Report, wait_type: &str) -> &'a WaitRow {
    report.waits.iter().find(|row| row.wait_type == wait_type).unwrap()
}

fn waits(before: &[(&str, i64, i64, i64)], after: &[(&str, i64, i64, i64)]) -> Report {
    let host = Host::default();
    analyze(&host.evidence(
        Vec::new(),
        &[("dm_os_wait_stats", wait_table(before))],
        &[("dm_os_wait_stats", wait_table(after))],
    ))
}

#[test]
fn the_published_wait_row_over_105_seconds() {
    let host = Host { elapsed_ms: 105_000, ..Host::default() };
    let report = analyze(&host.evidence(
        Vec::new(),
        &[("dm_os_wait_stats", wait_table(&[("SOS_SCHEDULER_YIELD", 0, 0, 0), ("LCK_M_S", 0, 0, 0)]))],
        &[(
            "dm_os_wait_stats",
            wait_table(&[("SOS_SCHEDULER_YIELD", 206_473, 4_574_770, 4_574_570), ("LCK_M_S", 9, 26_226, 0)]),
        )],
    ));
    let row = wait(&report, "SOS_SCHEDULER_YIELD");
    assert_eq!((row.waiting_tasks, row.wait_ms, row.resource_ms, row.signal_ms), (206_473, 4_574_770, 200, 4_574_570));
    assert_eq!(format!("{:.2}", row.share * 100.0), "99.43");
    let average = |ms: u64| format!("{:.4}", ms as f64 / 1_000.0 / row.waiting_tasks as f64);
    assert_eq!([row.wait_ms, row.resource_ms, row.signal_ms].map(average), ["0.0222", "0.0000", "0.0222"]);
    // 50 tasks over 105 s can have waited as long; 43 cannot.
    assert_eq!(finding(&report, "wait_exceeds_capacity").state, "within");
}

#[test]
fn the_published_spinlock_rows() {
    let report = analyze(&published_case(&Host::default()));
    let mut rows: Vec<_> = report
        .spinlocks
        .iter()
        .map(|row| {
            let figures = [row.collisions, row.spins, row.sleep_time_ms, row.backoffs].map(|figure| figure as i64);
            (row.name.as_str(), figures, row.spins_per_collision)
        })
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, PUBLISHED_SPINLOCKS);
    let lock_hash = report.spinlocks.iter().find(|row| row.name == "LOCK_HASH").unwrap();
    let share = lock_hash.spin_cpu_share.unwrap();
    assert_eq!(format!("{:.3} {:.3}", share.low, share.high), "0.185 0.742", "at 2.7 GHz and 8 CPUs");
    assert_eq!(format!("{:.0}", lock_hash.spins_per_second_per_cpu.unwrap()), "50072186");
    let all = finding(&report, "cpu_consumer");
    assert_eq!(all.state, "undecided");
    assert_eq!(format!("{:.3} {:.3}", all.low.unwrap(), all.high.unwrap()), "0.191 0.765");
}

#[test]
fn idle_waits_come_last_and_share_nothing() {
    let report = waits(&[], &[("LCK_M_X", 1, 30, 0), ("SLEEP_TASK", 1, 1_000_000, 0), ("SPINLOCK_EXT2", 1, 10, 0)]);
    let rows: Vec<(&str, String)> =
        report.waits.iter().map(|row| (row.wait_type.as_str(), format!("{:.2}", row.share))).collect();
    assert_eq!(
        rows,
        [("LCK_M_X", "0.75".to_owned()), ("SPINLOCK_EXT2", "0.25".to_owned()), ("SLEEP_TASK", "0.00".to_owned())]
    );
    let categories: Vec<Option<&str>> = report.waits.iter().map(|row| row.category.as_deref()).collect();
    assert_eq!(categories, [Some("lock"), None, Some("idle")]);
    let idle = finding(&report, "idle_waits");
    assert_eq!((idle.state.as_str(), idle.value), ("uncategorised", Some(1_000_000.0)));
    assert!(idle.text.contains("SLEEP_TASK") && idle.text.contains("SPINLOCK_EXT2"), "{}", idle.text);
}

#[test]
fn a_counter_that_went_down_resets_its_row() {
    let report = waits(
        &[("CXPACKET", 900, 91_000, 50), ("LCK_M_S", 5, 100, 0), ("LCK_M_X", 5, 100, 0)],
        &[("CXPACKET", 20, 2_000, 1), ("LCK_M_S", 6, 150, 0), ("LCK_M_X", 5, 100, 0)],
    );
    let reset = wait(&report, "CXPACKET");
    assert_eq!((reset.mark, reset.waiting_tasks, reset.wait_ms, reset.signal_ms), (Some(Mark::Reset), 0, 0, 0));
    assert_eq!((wait(&report, "LCK_M_S").mark, wait(&report, "LCK_M_S").wait_ms), (None, 50));
    assert!(report.waits.iter().all(|row| row.wait_type != "LCK_M_X"), "rows that did not grow are left out");
    let problem = problem(&report, "counters_reset").unwrap();
    assert_eq!(problem.severity, Severity::Partial);
    assert!(problem.message.contains("CXPACKET"), "{}", problem.message);
}

#[test]
fn a_cleared_view_has_no_differences_and_the_others_keep_theirs() {
    let host = Host::default();
    let report = analyze(&host.evidence(
        Vec::new(),
        &[
            ("dm_os_wait_stats", wait_table(&[("A", 9, 900, 9), ("B", 9, 900, 9), ("C", 0, 0, 0), ("D", 1, 1, 0)])),
            ("dm_os_latch_stats", latch_table(&[("FCB", 1, 10)])),
        ],
        &[
            ("dm_os_wait_stats", wait_table(&[("A", 1, 100, 1), ("B", 1, 100, 1), ("C", 3, 30, 3), ("D", 2, 5, 0)])),
            ("dm_os_latch_stats", latch_table(&[("FCB", 3, 40)])),
        ],
    ));
    assert!(report.waits.iter().all(|row| row.mark == Some(Mark::Reset) && row.wait_ms == 0), "{:?}", report.waits);
    assert_eq!(report.waits.len(), 4);
    assert!(problem(&report, "counters_reset").unwrap().message.contains("cleared"));
    assert_eq!((report.latches[0].requests, report.latches[0].wait_ms, report.latches[0].mark), (2, 30, None));
}

#[test]
fn a_restart_shows_the_new_values_for_less_than_the_window() {
    // Up for 5 s at the end of a window of 10 s.
    let host = Host { start_ticks: (1_000, 505_000), ..Host::default() };
    let report = analyze(&published_case(&host));
    let row = wait(&report, "SOS_SCHEDULER_YIELD");
    assert_eq!((row.mark, row.wait_ms), (Some(Mark::Restarted), 457_484));
    assert!(report.spinlocks.iter().all(|row| row.mark == Some(Mark::Restarted) && row.spin_cpu_share.is_none()));
    assert_eq!(problem(&report, "server_restarted").unwrap().severity, Severity::Partial);
    assert_eq!(finding(&report, "cpu_consumer").state, "unknown");
    assert_eq!(finding(&report, "cpu_pressure").value, None);
}

#[test]
fn another_server_has_no_differences() {
    // Its run began long before the window.
    let host = Host { start_ticks: (1_000, 2_000), ..Host::default() };
    let report = analyze(&published_case(&host));
    assert!(report.waits.is_empty() && report.spinlocks.is_empty());
    assert_eq!(problem(&report, "identity_changed").unwrap().severity, Severity::Partial);
}

#[test]
fn new_and_missing_rows_are_marked() {
    let host = Host::default();
    let report = analyze(&host.evidence(
        Vec::new(),
        &[("dm_os_spinlock_stats", spinlock_table(&[("GONE", [9, 9, 9, 9], 1.0), ("OLD", [1, 10, 0, 0], 10.0)]))],
        &[("dm_os_spinlock_stats", spinlock_table(&[("NEW", [3, 100, 7, 2], 41.9), ("OLD", [4, 41, 5, 6], 10.25)]))],
    ));
    let rows: Vec<_> =
        report.spinlocks.iter().map(|row| (row.name.as_str(), row.mark, row.spins, row.spins_per_collision)).collect();
    assert_eq!(
        rows,
        [("NEW", Some(Mark::New), 100, 41), ("OLD", None, 31, 10), ("GONE", Some(Mark::Missing), 0, 0)],
        "a new row shows its own ratio"
    );
}

#[test]
fn duplicate_names_are_summed_once_and_ratios_never_divide_by_zero() {
    let host = Host::default();
    let report = analyze(&host.evidence(
        Vec::new(),
        &[(
            "dm_os_spinlock_stats",
            spinlock_table(&[("X", [1, 10, 0, 0], 1.0), ("X", [2, 20, 0, 0], 1.0), ("Y", [5, 5, 0, 0], 1.0)]),
        )],
        &[(
            "dm_os_spinlock_stats",
            spinlock_table(&[("X", [4, 50, 0, 0], 1.0), ("X", [6, 80, 0, 0], 1.0), ("Y", [5, 15, 0, 0], 1.0)]),
        )],
    ));
    assert_eq!(report.spinlocks.len(), 1, "Y has spins without collisions");
    let row = &report.spinlocks[0];
    assert_eq!((row.collisions, row.spins, row.spins_per_collision), (7, 100, 14));
}

#[test]
fn big_counters_are_exact_and_columns_are_found_by_name() {
    let columns = ["BACKOFFS", "sleep_time", "Spins", "collisions", "name", "added_in_2031"];
    let row = |backoffs: i64, spins: i64, collisions: i64| {
        let name = Value::Text("LOCK_HASH".to_owned());
        vec![
            Value::Integer(backoffs),
            Value::Null,
            Value::Integer(spins),
            Value::Integer(collisions),
            name,
            Value::Null,
        ]
    };
    let host = Host::default();
    let report = analyze(&host.evidence(
        Vec::new(),
        &[("dm_os_spinlock_stats", table(&columns, vec![row(17, 8, 1)]))],
        &[("dm_os_spinlock_stats", table(&columns, vec![row(7_056_017_804, 6_157_696_645_376, 56_569_370_608)]))],
    ));
    let row = &report.spinlocks[0];
    assert_eq!((row.collisions, row.spins, row.backoffs), (56_569_370_607, 6_157_696_645_368, 7_056_017_787));
    assert_eq!(row.sleep_time_ms, 0);
    assert_eq!(problem(&report, "counters_unreadable").unwrap().severity, Severity::Warning);
}

#[test]
fn a_view_without_its_columns_is_said() {
    let host = Host::default();
    let broken = table(&["wait_type", "wait_time_ms"], Vec::new());
    let report =
        analyze(&host.evidence(Vec::new(), &[("dm_os_wait_stats", broken.clone())], &[("dm_os_wait_stats", broken)]));
    let problem = problem(&report, "columns_missing").unwrap();
    assert!(problem.message.contains("waiting_tasks_count, signal_wait_time_ms"), "{}", problem.message);
}

#[test]
fn no_time_and_no_waits_give_no_nonsense() {
    let host = Host { elapsed_ms: 0, ..Host::default() };
    let report = analyze(&published_case(&host));
    let json = serde_json::to_string(&report).unwrap();
    assert!(report.spinlocks.iter().all(|row| row.spins_per_second_per_cpu.is_none()));
    assert!(!json.contains("null,\"share\":null"), "{json}");
}

fn cell() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (0..50_i64).prop_map(Value::Integer),
        1 => any::<i64>().prop_map(Value::Integer),
        1 => Just(Value::Null),
        1 => any::<f64>().prop_map(Value::Real),
        1 => "[0-9a-z]{0,3}".prop_map(Value::Text),
    ]
}

fn view(columns: &'static [&'static str]) -> impl Strategy<Value = Table> {
    let name = prop::sample::select(vec!["SOS_SCHEDULER_YIELD", "LCK_M_S", "SLEEP_TASK", "X", ""]);
    let row = (name, prop::collection::vec(cell(), columns.len() - 1)).prop_map(|(name, mut cells)| {
        cells.insert(0, Value::Text(name.to_owned()));
        cells
    });
    prop::collection::vec(row, 0..8).prop_map(move |rows| table(columns, rows))
}

const WAITS: &[&str] = &["wait_type", "waiting_tasks_count", "wait_time_ms", "signal_wait_time_ms"];
const LATCHES: &[&str] = &["latch_class", "waiting_requests_count", "wait_time_ms"];
const SPINLOCKS: &[&str] = &["name", "collisions", "spins", "sleep_time", "backoffs", "spins_per_collision"];
const SYS_INFO: &[&str] = &[
    "any",
    "cpu_ticks",
    "ms_ticks",
    "process_kernel_time_ms",
    "process_user_time_ms",
    "sqlserver_start_time_ms_ticks",
];

fn views() -> impl Strategy<Value = Vec<(&'static str, Table)>> {
    (view(WAITS), view(LATCHES), view(SPINLOCKS), view(SYS_INFO), any::<bool>()).prop_map(
        |(waits, latches, spinlocks, sys_info, with_info)| {
            let mut views =
                vec![("dm_os_wait_stats", waits), ("dm_os_latch_stats", latches), ("dm_os_spinlock_stats", spinlocks)];
            views.extend(with_info.then_some(("dm_os_sys_info", sys_info)));
            views
        },
    )
}

fn evidence(before: &[(&str, Table)], after: &[(&str, Table)], elapsed_ms: u64) -> Evidence {
    let host = Host::default();
    let mut evidence = host.evidence(Vec::new(), before, after);
    for (snapshot, views) in [(&mut evidence.before, before), (&mut evidence.after, after)] {
        let tables = &mut snapshot.as_mut().unwrap().tables;
        tables.extend(views.iter().map(|(name, table)| ((*name).to_owned(), table.clone())));
    }
    evidence.window.as_mut().unwrap().elapsed_ms = elapsed_ms;
    evidence
}

proptest! {
    #[test]
    fn whatever_two_snapshots_hold_figures_are_figures(before in views(), after in views(), elapsed in 0..3_u64) {
        let report = analyze(&evidence(&before, &after, elapsed));
        for row in &report.waits {
            prop_assert!((0.0..=1.0).contains(&row.share));
            prop_assert!(row.resource_ms <= row.wait_ms);
        }
        prop_assert!(report.waits.iter().map(|row| row.share).sum::<f64>() <= 1.000_001);
        for row in &report.latches {
            prop_assert!((0.0..=1.0).contains(&row.share));
        }
        for row in &report.spinlocks {
            prop_assert!(row.spins_per_second_per_cpu.is_none_or(|rate| rate.is_finite() && rate >= 0.0));
            prop_assert!(row.spin_cpu_share.is_none_or(|s| 0.0 <= s.low && s.low <= s.high && s.high <= 1.0));
        }
        for finding in &report.findings {
            let figures = [finding.value, finding.low, finding.high].into_iter();
            let gates = finding.gates.iter().map(|gate| gate.value);
            prop_assert!(figures.chain(gates).flatten().all(f64::is_finite), "{finding:?}");
        }
    }

    #[test]
    fn every_row_that_is_special_is_marked(before in view(LATCHES), after in view(LATCHES)) {
        let shape = Shape {
            view: "dm_os_latch_stats",
            name: "latch_class",
            counters: &["waiting_requests_count", "wait_time_ms"],
        };
        let names = |table: &Table| -> Vec<String> {
            let all = (0..table.rows.len()).filter_map(|row| table.text(row, "latch_class"));
            all.filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect()
        };
        let (old, new) = (names(&before), names(&after));
        let grown = grow(shape, &before, &after, false);
        for row in &grown.rows {
            let zeros = row.counters.iter().all(|growth| *growth == 0);
            match row.mark {
                Some(Mark::New) => prop_assert!(!old.contains(&row.name) && new.contains(&row.name)),
                Some(Mark::Missing) => prop_assert!(!new.contains(&row.name) && zeros),
                Some(Mark::Reset) => prop_assert!(zeros && (grown.cleared || grown.reset.contains(&row.name))),
                Some(mark @ (Mark::Restarted | Mark::Renamed)) => prop_assert!(false, "{mark:?}"),
                None => prop_assert!(old.contains(&row.name) && new.contains(&row.name) && !zeros),
            }
        }
        for name in old.iter().filter(|name| !new.contains(name)) {
            prop_assert!(grown.rows.iter().any(|row| row.name == *name && row.mark == Some(Mark::Missing)));
        }
        for row in grow(shape, &before, &after, true).rows {
            prop_assert_eq!(row.mark, Some(Mark::Restarted));
        }
    }
}
