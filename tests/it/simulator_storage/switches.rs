//! Servers of many databases, and of odd names and figures.

use super::{FLUSHES, Lab, storage};
use std::collections::BTreeSet;
use xestack::model::ServerVersion::{V2008R2, V2019, V2022};
use xestack::simulator::faults::Fault;

#[test]
fn thousands_of_databases_are_answered() {
    let lab = Lab::with(V2022, &["databases=5000"], storage());
    let mut client = lab.client();
    let names = client.rows("SELECT d.name, d.database_id, d.source_database_id, d.state_desc FROM sys.databases AS d");
    assert_eq!(names.len(), 5_007);
    assert_eq!(names.iter().map(|row| &row[1]).collect::<BTreeSet<_>>().len(), 5_007);
    assert_eq!(names[5_006][..2], ["Customer05000", "5008"]);
    let files = "SELECT f.database_id, f.file_id, f.type_desc FROM sys.master_files AS f WHERE f.database_id > 8";
    let files = client.rows(files);
    assert_eq!((files.len(), files.iter().filter(|row| row[2] == "LOG").count()), (20_000, 5_000));
    let idle = "SELECT COUNT(*) FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v
                WHERE v.database_id > 8 AND v.num_of_writes > 0 AND v.num_of_reads > 0";
    assert_eq!(client.number(idle), 20_000);
    assert_eq!(client.rows("SELECT DB_NAME(5008)"), [["Customer05000"]]);
    for (text, wanted) in [
        ("databases=32001", "takes a number of databases up to 32000"),
        ("databases", "takes a number of databases up to 32000"),
        ("duplicate-names=2", "takes no value"),
        ("huge-counters@start", "takes no `@start`"),
        ("renamed-database=Shop", "needs `@STATEMENT`"),
    ] {
        let error = text.parse::<Fault>().unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn names_are_there_twice() {
    let mut client = Lab::with(V2019, &["duplicate-names"], storage()).client();
    let databases = client.rows("SELECT name FROM sys.databases WHERE database_id > 4 ORDER BY database_id");
    assert_eq!(databases, [["Shop"], ["Shop_Monday"], ["Inside"], ["SHOP"]]);
    let files = "SELECT f.file_id, f.name FROM sys.master_files AS f WHERE f.database_id = 5 ORDER BY f.file_id";
    assert_eq!(client.rows(files), [["1", "Shop"], ["2", "Shop_log"], ["3", "Shop"]]);
    let written = "SELECT num_of_writes FROM sys.dm_io_virtual_file_stats(5, NULL)";
    assert_eq!(client.rows(written).len(), 3);
    assert_eq!(client.rows("SELECT DB_ID(N'SHOP')"), [["5"]], "names are the same to the server");
}

#[test]
fn counters_can_be_near_their_end_and_still_count() {
    let lab = Lab::with(V2008R2, &["huge-counters"], storage());
    let mut client = lab.client();
    let read = |client: &mut super::Client| {
        let file = "SELECT num_of_writes, io_stall_write_ms, io_stall FROM sys.dm_io_virtual_file_stats(5, 1)";
        let mut figures = client.numbers(file);
        let wait = "SELECT waiting_tasks_count, wait_time_ms, signal_wait_time_ms FROM sys.dm_os_wait_stats
                    WHERE wait_type = N'SOS_SCHEDULER_YIELD'";
        figures.extend(client.numbers(wait));
        figures
    };
    let before = read(&mut client);
    assert!(before.iter().all(|figure| *figure > i64::MAX - (1 << 41)), "{before:?}");
    lab.whole_burst();
    let after = read(&mut client);
    let yields = lab.instance.truth().counters.waits.iter().find(|wait| wait.name == "SOS_SCHEDULER_YIELD").unwrap();
    let load = |load: u64| i64::try_from(load).unwrap();
    assert_eq!(after[0] - before[0], 307);
    assert_eq!(after[1] - before[1], 184_211);
    assert_eq!(after[2], i64::MAX, "a sum stays at the end");
    assert_eq!(after[3] - before[3], load(yields.waits.load));
    assert_eq!(after[4] - before[4], load(yields.wait_ms.load));
    // Logs are not among them.
    let log = "SELECT cntr_value FROM sys.dm_os_performance_counters
               WHERE counter_name = N'Log Flushes/sec' AND instance_name = N'Shop'";
    assert!(client.number(log) < load(FLUSHES.flushes) * 1_000);
}
