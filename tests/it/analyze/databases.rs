//! Databases: settings, logs, row versions, replicas, and what comes and goes.

use super::storage::{by_hand, databases, idle_host, int, log_counters, of_scenario, report, text};
use super::support::{Host, problem, table};
use xestack::{
    analyze::{databases as read, measures},
    catalog::Catalog,
    model::{DatabaseRow, Evidence, Mark, Report, Table, Value},
};

fn row<'a>(report: &'a Report, name: &str) -> &'a DatabaseRow {
    report.databases.iter().find(|row| row.database == name).unwrap()
}

fn counters(rows: &[(&str, i64)]) -> Table {
    let rows =
        rows.iter().map(|(name, value)| vec![text("SQLServer:Access Methods "), text(name), text(""), int(*value)]);
    table(&["object_name", "counter_name", "instance_name", "cntr_value"], rows.collect())
}

fn read_of(evidence: &Evidence) -> read::Databases {
    let gates = Catalog::embedded().unwrap().sos_yield.gates;
    read::databases(evidence, &measures::measures(evidence, &gates))
}

#[test]
fn settings_are_read_as_the_server_gives_them() {
    let columns = [
        "name",
        "database_id",
        "source_database_id",
        "snapshot_isolation_state",
        "is_read_committed_snapshot_on",
        "delayed_durability_desc",
        "is_accelerated_database_recovery_on",
    ];
    let list = |rows: Vec<Vec<Value>>| [("databases", table(&columns, rows))];
    let rows = vec![
        vec![text("Orders"), int(5), Value::Null, int(3), Value::Bool(true), text("FORCED"), Value::Bool(false)],
        vec![text("Orders_0600"), int(6), int(5), int(0), int(0), int(1), Value::Null],
        vec![text("Lost"), int(7), int(99), Value::Null, Value::Null, Value::Null, Value::Bool(true)],
        vec![Value::Null, int(8), Value::Null, int(1), text("off"), text("disabled"), int(0)],
    ];
    let report = report(&by_hand(10_000, &list(rows.clone()), &list(rows)));
    let orders = row(&report, "Orders");
    assert_eq!((orders.read_committed_snapshot, orders.snapshot_isolation), (Some(true), Some(true)));
    assert_eq!((orders.delayed_durability.as_deref(), orders.accelerated_recovery), (Some("FORCED"), Some(false)));
    assert_eq!((orders.snapshot_of.as_deref(), orders.readable_secondary, orders.transactions), (None, None, None));
    let morning = row(&report, "Orders_0600");
    assert_eq!(
        (morning.snapshot_of.as_deref(), morning.delayed_durability.as_deref()),
        (Some("Orders"), Some("ALLOWED"))
    );
    assert_eq!((morning.snapshot_isolation, morning.accelerated_recovery), (Some(false), None));
    assert_eq!(row(&report, "Lost").snapshot_of.as_deref(), Some("database 99"));
    let hidden = row(&report, "database 8");
    assert_eq!((hidden.read_committed_snapshot, hidden.delayed_durability.as_deref()), (Some(false), Some("DISABLED")));
}

#[test]
fn logs_versions_and_replicas_belong_to_their_database() {
    let sizes = |view: &'static str, column: &'static str, rows: &[(i64, i64)]| {
        (view, table(&["database_id", column], rows.iter().map(|(id, kb)| vec![int(*id), int(*kb)]).collect()))
    };
    let list = ("databases", databases(&[("Orders", 5, None, "DISABLED"), ("Other", 6, None, "DISABLED")]));
    let versions = |kb| sizes("dm_tran_version_store_space_usage", "reserved_space_kb", kb);
    let replicas = table(
        &["database_id", "is_primary_replica", "secondary_role_allow_connections"],
        vec![vec![int(5), Value::Bool(false), int(2)]],
    );
    let before = [
        list.clone(),
        versions(&[(5, 900)]),
        ("log_counters", log_counters(&[("Orders", [10, 20, 30, 40, 50]), ("_Total", [1; 5])])),
    ];
    let after = [
        list,
        versions(&[(5, 640), (6, 64)]),
        sizes("dm_tran_persistent_version_store_stats", "persistent_version_store_size_kb", &[(5, 128), (5, 64)]),
        ("dm_hadr_database_replica_states", replicas),
        ("log_counters", log_counters(&[("Orders", [110, 220, 330, 440, 550]), ("_Total", [9; 5])])),
    ];
    let report = report(&by_hand(10_000, &before, &after));
    let orders = row(&report, "Orders");
    assert_eq!(
        (
            orders.transactions,
            orders.log_flushes,
            orders.log_bytes_flushed,
            orders.log_flush_waits,
            orders.log_flush_wait_ms
        ),
        (Some(100), Some(200), Some(300), Some(400), Some(500))
    );
    assert_eq!((orders.version_store_kb, orders.version_store_growth_kb), (Some(640), Some(-260)));
    assert_eq!((orders.persistent_version_store_kb, orders.readable_secondary), (Some(192), Some(true)));
    let other = row(&report, "Other");
    assert_eq!(
        (other.version_store_growth_kb, other.readable_secondary, other.transactions),
        (Some(64), Some(false), None)
    );
}

#[test]
fn a_primary_and_one_that_refuses_readers_are_no_readable_secondaries() {
    let list = ("databases", databases(&[("A", 5, None, ""), ("B", 6, None, ""), ("C", 7, None, "")]));
    let rows = vec![vec![int(5), int(1), int(2)], vec![int(6), int(0), int(0)], vec![int(7), int(0), int(1)]];
    let states = table(&["database_id", "is_primary_replica", "secondary_role_allow_connections"], rows);
    let report = report(&by_hand(10_000, &[list.clone()], &[list, ("dm_hadr_database_replica_states", states)]));
    let readable: Vec<_> = report.databases.iter().map(|row| row.readable_secondary).collect();
    assert_eq!(readable, [Some(false), Some(false), Some(true)]);
}

#[test]
fn what_came_went_was_reset_or_renamed_is_marked() {
    let before = [
        ("databases", databases(&[("A", 5, None, ""), ("B", 6, None, ""), ("C", 7, None, ""), ("D", 8, None, "")])),
        ("log_counters", log_counters(&[("A", [9; 5]), ("B", [9; 5]), ("C", [9; 5]), ("D", [9; 5])])),
    ];
    let after = [
        ("databases", databases(&[("A", 5, None, ""), ("B2", 6, None, ""), ("D", 8, None, ""), ("E", 9, None, "")])),
        ("log_counters", log_counters(&[("A", [12; 5]), ("B2", [30; 5]), ("D", [2; 5]), ("E", [4; 5])])),
    ];
    let report = report(&by_hand(10_000, &before, &after));
    let marks: Vec<_> =
        report.databases.iter().map(|row| (row.database.as_str(), row.transactions, row.mark)).collect();
    assert_eq!(
        marks,
        [
            ("A", Some(3), None),
            ("B2", None, Some(Mark::Renamed)),
            ("C", None, Some(Mark::Missing)),
            ("D", None, Some(Mark::Reset)),
            ("E", Some(4), Some(Mark::New)),
        ]
    );
    let changed = &problem(&report, "databases_changed").unwrap().message;
    assert!(changed.contains("B2 was B") && changed.contains("C is gone") && changed.contains("E is new"), "{changed}");
    assert!(problem(&report, "counters_reset").unwrap().message.contains('D'));
}

#[test]
fn the_servers_work_is_its_counters_growth() {
    let host = idle_host();
    let of = |searches: i64, versions: i64| {
        let rows = [("Index Searches/sec   ", searches), ("Version Generation rate (KB/s)", versions)];
        [("dm_os_performance_counters", counters(&rows))]
    };
    let evidence = of_scenario("latch", &host, Vec::new(), &of(1_000, 50), &of(601_000, 2_098));
    let found = read_of(&evidence);
    assert_eq!((found.index_searches_per_second, found.versions_generated_kb), (Some(60_000.0), Some(2_048)));
    assert_eq!(found.rows, None);
    let down = read_of(&of_scenario("latch", &host, Vec::new(), &of(1_000, 50), &of(10, 2)));
    assert_eq!((down.index_searches_per_second, down.versions_generated_kb), (None, None));
    let restarted = Host { start_ticks: (1_000, 505_000), ..host };
    let found = read_of(&of_scenario("latch", &restarted, Vec::new(), &of(1, 1), &of(900, 900)));
    assert_eq!((found.index_searches_per_second, found.versions_generated_kb), (None, None));
}
