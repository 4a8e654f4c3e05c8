//! Every view of every version: rows that fit their columns.

use super::{Server, int};
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::host::Host;
use xestack::simulator::value::{Datum, SqlType};
use xestack::simulator::views;

pub(crate) fn fits(sql_type: SqlType, value: &Datum) -> bool {
    match (sql_type, value) {
        (SqlType::Bit, Datum::Bit(_))
        | (SqlType::BigInt, Datum::Int(_))
        | (SqlType::Real | SqlType::Float, Datum::Float(_))
        | (SqlType::NVarChar(None), Datum::Text(_))
        | (SqlType::UniqueIdentifier, Datum::Guid(_))
        | (SqlType::DateTime | SqlType::DateTimeOffset(_), Datum::Time(_))
        | (SqlType::SqlVariant, Datum::Variant(..)) => true,
        (SqlType::TinyInt, Datum::Int(number)) => u8::try_from(*number).is_ok(),
        (SqlType::SmallInt, Datum::Int(number)) => i16::try_from(*number).is_ok(),
        (SqlType::Int, Datum::Int(number)) => i32::try_from(*number).is_ok(),
        (
            SqlType::NVarChar(Some(length))
            | SqlType::VarChar(Some(length))
            | SqlType::NChar(length)
            | SqlType::Char(length),
            Datum::Text(text),
        ) => text.encode_utf16().count() <= usize::from(length),
        (SqlType::VarBinary(length), Datum::Binary(bytes)) => {
            length.is_none_or(|length| bytes.len() <= usize::from(length))
        }
        _ => false,
    }
}

#[test]
fn every_row_fits_its_columns() {
    for version in super::VERSIONS {
        let server = Server::new(version);
        server.start(
            "s",
            if version < ServerVersion::V2012 {
                "sqlserver.sql_statement_completed(SET collect_statement = 1 ACTION(sqlserver.session_id) WHERE duration > 5)"
            } else {
                "sqlserver.sql_batch_completed(SET collect_batch_text = 1 ACTION(sqlserver.session_id) WHERE duration > 5)"
            },
            &super::bucketizer(version, "SET slots = 8, source = 'sqlserver.session_id'"),
        );
        server.pass(Duration::from_secs(5));
        let mut empty = Vec::new();
        for view in views::names() {
            let Some(columns) = server.instance.columns("sys", view) else { continue };
            let rows = server.instance.rows(&server.session, "sys", view, &[]).unwrap();
            for row in &rows {
                assert_eq!(row.len(), columns.len());
                for (column, value) in columns.iter().zip(row) {
                    let right = if *value == Datum::Null { column.nullable } else { fits(column.sql_type, value) };
                    assert!(right, "{version} {view}.{}: {value:?} in {:?}", column.name, column.sql_type);
                }
            }
            if rows.is_empty() {
                empty.push(view);
            }
        }
        let expected = [
            "dm_os_cluster_nodes",
            "dm_exec_sql_text",
            "dm_io_pending_io_requests",
            "dm_hadr_database_replica_states",
            "dm_hadr_availability_replica_states",
            "availability_replicas",
            "server_permissions",
            "triggers",
            "trigger_events",
            "server_triggers",
            "server_trigger_events",
            "server_audits",
            "server_audit_specifications",
        ];
        let expected: Vec<&str> =
            expected.into_iter().filter(|view| server.instance.columns("sys", view).is_some()).collect();
        assert_eq!(empty, expected, "{version}");
    }
}

#[test]
fn file_statistics_take_arguments() {
    let server = Server::new(ServerVersion::V2019);
    let rows = |arguments: &[Datum]| {
        server.instance.rows(&server.session, "sys", "dm_io_virtual_file_stats", arguments).unwrap().len()
    };
    assert_eq!(rows(&[Datum::Null, Datum::Null]), 13);
    assert_eq!(rows(&[Datum::Int(2), Datum::Null]), 5);
    assert_eq!(rows(&[Datum::Int(2), Datum::Int(1)]), 1);
    assert_eq!(rows(&[Datum::Int(99), Datum::Null]), 0);
}

#[test]
fn clocks_agree_and_count_from_the_start() {
    let server = Server::new(ServerVersion::V2019);
    let read = || server.view("dm_os_sys_info", &["cpu_ticks", "ms_ticks", "sqlserver_start_time_ms_ticks"]).remove(0);
    let before = read();
    server.pass(Duration::from_secs(10));
    let after = read();
    assert_eq!(int(&after[1]) - int(&before[1]), 10_000);
    assert_eq!(int(&after[0]) - int(&before[0]), 27_000_000_000);
    assert_eq!(after[2], before[2]);
    let start = server.view("dm_os_sys_info", &["sqlserver_start_time"]).remove(0).remove(0);
    let Datum::Time(start) = start else { panic!() };
    let up_ms = int(&after[1]) - int(&after[2]);
    assert_eq!(server.instance.utc_micros() * 10 - start, up_ms * 10_000);
}

#[test]
fn the_scheduler_monitor_shows_the_burst() {
    let server = Server::with(ServerVersion::V2019, &[], |options| {
        options.pace = xestack::simulator::workload::pace::Pace::Burst(Duration::from_mins(1));
    });
    server.start("s", "sqlserver.error_reported", "package0.event_counter");
    server.pass(Duration::from_mins(2));
    let records: Vec<String> = server
        .view("dm_os_ring_buffers", &["record"])
        .into_iter()
        .map(|mut row| match row.remove(0) {
            Datum::Text(record) => record,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(records.len(), 256);
    let busy = records.iter().filter(|record| record.contains("<ProcessUtilization>94<")).count();
    assert!(busy >= 1, "{}", records[255]);
    assert!(records[0].contains("<ProcessUtilization>2<"));
}

#[test]
fn wait_types_are_many_and_busy_ones_stand_out() {
    let server = Server::new(ServerVersion::V2022);
    let rows = server.view("dm_os_wait_stats", &["wait_type", "waiting_tasks_count"]);
    assert!(rows.len() > 300);
    assert!(rows.iter().filter(|row| int(&row[1]) > 0).count() > 60);
}

#[test]
fn columns_can_be_looked_up_by_object() {
    let has = |version: ServerVersion, view: &str, column: &str| {
        let server = Server::new(version);
        let id = server.instance.object_id("sys", view).map(i64::from);
        let known = server.view("all_columns", &["object_id", "name"]);
        known.iter().any(|row| Some(int(&row[0])) == id && row[1] == Datum::Text(column.into()))
    };
    assert!(has(ServerVersion::V2019, "server_event_sessions", "startup_state"));
    assert!(!has(ServerVersion::V2022, "server_event_sessions", "max_duration"));
    assert!(!has(ServerVersion::V2017, "databases", "is_accelerated_database_recovery_on"));
    assert!(has(ServerVersion::V2019, "DATABASES", "is_accelerated_database_recovery_on"));
    let server = Server::new(ServerVersion::V2017);
    assert_eq!(server.instance.object_id("sys", "dm_tran_persistent_version_store_stats"), None);
    let ids: std::collections::BTreeSet<i64> =
        server.view("all_objects", &["object_id"]).iter().map(|row| int(&row[0])).collect();
    assert_eq!(ids.len(), server.view("all_objects", &["name"]).len());
}

#[test]
fn the_workloads_sessions_have_the_waits() {
    let server = Server::new(ServerVersion::V2019);
    server.start("s", "sqlserver.error_reported", "package0.event_counter");
    server.pass(Duration::from_secs(10));
    let rows = server.view("dm_exec_session_wait_stats", &["wait_type", "session_id", "waiting_tasks_count"]);
    let yields: i64 =
        rows.iter().filter(|row| row[0] == Datum::Text("SOS_SCHEDULER_YIELD".into())).map(|row| int(&row[2])).sum();
    assert!((20_600..=20_647).contains(&yields));
    assert!(rows.iter().all(|row| int(&row[1]) != i64::from(server.session.spid)));
}
