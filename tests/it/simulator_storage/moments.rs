//! What becomes of databases at a moment.

use super::{Client, Lab, storage};
use xestack::model::ServerVersion::V2019;

const NAMES: &str = "SELECT name FROM sys.databases WHERE database_id > 4 ORDER BY database_id";
const FILES: &str = "SELECT database_id, file_id, num_of_writes FROM sys.dm_io_virtual_file_stats(NULL, NULL)
                     WHERE database_id > 4 ORDER BY database_id, file_id";

fn writes(client: &mut Client) -> Vec<String> {
    client.rows(FILES).into_iter().map(|row| row.join(" ")).collect()
}

#[test]
fn a_database_has_another_name_from_then_on() {
    let faults = ["renamed-database@sys.databases", "renamed-database=inside@2"];
    let lab = Lab::with(V2019, &faults, storage());
    let mut connected = lab.client();
    let mut client = lab.login("master");
    assert_eq!(client.rows("SELECT DB_NAME(5), DB_NAME(8)"), [["Shop", "Inside"]]);
    assert_eq!(client.rows("SELECT DB_NAME(5), DB_NAME(8)"), [["Shop", "Inside_renamed"]]);
    assert_eq!(client.rows(NAMES), [["Shop_renamed"], ["Shop_Monday"], ["Inside_renamed"]]);
    assert_eq!(client.rows(NAMES), [["Shop_renamed"], ["Shop_Monday"], ["Inside_renamed"]]);
    assert_eq!(client.try_rows("USE Shop"), Err(911));
    assert_eq!(client.try_rows("USE Shop_renamed"), Ok(vec![]));
    assert_eq!(client.rows("SELECT name FROM sys.database_files ORDER BY file_id"), [["Shop"], ["Shop_log"]]);
    assert_eq!(connected.rows("SELECT name FROM sys.database_files ORDER BY file_id"), [["Shop"], ["Shop_log"]]);
    let log = "SELECT COUNT(*) FROM sys.dm_os_performance_counters WHERE instance_name = N'Shop_renamed'";
    assert_eq!(client.number(log), 5);
}

#[test]
fn a_database_is_gone_from_then_on() {
    let faults = ["dropped-database=Shop_Monday@sys.dm_io_virtual_file_stats", "dropped-database=Nowhere@1"];
    let lab = Lab::with(V2019, &faults, storage());
    let mut client = lab.login("master");
    assert_eq!(client.rows(NAMES).len(), 3);
    assert_eq!(writes(&mut client), ["5 1 20", "5 2 20"]);
    assert_eq!(client.rows(NAMES), [["Shop"], ["Inside"]]);
    assert!(client.rows("SELECT 1 FROM sys.master_files WHERE database_id = 6").is_empty());
    assert_eq!(client.rows("SELECT DB_ID(N'Shop_Monday')"), [["NULL"]]);
}

#[test]
fn files_of_a_database_that_was_offline_count_anew() {
    let lab = Lab::with(V2019, &["offline-database@sys.dm_os_nodes"], storage());
    let mut client = lab.login("master");
    assert_eq!(writes(&mut client), ["5 1 20", "5 2 20", "6 1 20"]);
    client.rows("SELECT node_id FROM sys.dm_os_nodes");
    assert_eq!(writes(&mut client), ["5 1 0", "5 2 0", "6 1 20"]);
    lab.whole_burst();
    assert_eq!(writes(&mut client), ["5 1 307", "5 2 41667", "6 1 1019"]);
    assert_eq!(client.rows(NAMES).len(), 3);
}

#[test]
fn a_restart_begins_all_files_and_logs_anew_and_keeps_sizes() {
    let lab = Lab::with(V2019, &["restart@sys.dm_os_nodes"], storage());
    lab.whole_burst();
    lab.login("master").try_rows("SELECT node_id FROM sys.dm_os_nodes").unwrap_err();
    let mut client = lab.login("master");
    for sql in [
        "SELECT SUM(num_of_reads) + SUM(num_of_writes) + SUM(io_stall) + SUM(num_of_bytes_written)
         FROM sys.dm_io_virtual_file_stats(NULL, NULL)",
        "SELECT SUM(cntr_value) FROM sys.dm_os_performance_counters WHERE object_name LIKE N'SQLServer:Databases%'",
        "SELECT SUM(cntr_value) FROM sys.dm_os_performance_counters WHERE counter_name LIKE N'%Versi%rate%'",
        "SELECT COUNT(*) FROM sys.dm_exec_query_stats",
    ] {
        assert_eq!(client.number(sql), 0, "{sql}");
    }
    let sizes = "SELECT size_on_disk_bytes FROM sys.dm_io_virtual_file_stats(NULL, 1) WHERE database_id > 4
                 ORDER BY database_id";
    assert_eq!(client.rows(sizes), [["9437184"], ["8183808"]]);
}

#[test]
fn a_second_node_had_done_twice_as_much() {
    let lab = Lab::named(Some("OTHER"), V2019, &[], storage());
    let mut client = lab.login("master");
    assert_eq!(writes(&mut client), ["5 1 40", "5 2 40", "6 1 40"]);
    lab.whole_burst();
    assert_eq!(writes(&mut client), ["5 1 347", "5 2 41707", "6 1 1039"]);
}
