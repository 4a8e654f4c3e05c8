//! Figures of files, logs and row versions: exact at the end of a burst; what runs and waits while it lasts.

use super::{BEFORE, DATA, FLUSHES, LOG, Lab, SPARSE};
use std::collections::BTreeSet;
use xestack::model::ServerVersion::{V2012, V2014, V2019, V2022};
use xestack::simulator::workload::storage::FileLoad;

const FILE: &str = "SELECT num_of_reads, num_of_bytes_read, io_stall_read_ms, io_stall_queued_read_ms, num_of_writes,
                           num_of_bytes_written, io_stall_write_ms, io_stall_queued_write_ms, size_on_disk_bytes, io_stall
                    FROM sys.dm_io_virtual_file_stats";

fn figures(load: &FileLoad) -> Vec<i64> {
    let figures = [
        load.reads,
        load.read_bytes,
        load.read_stall_ms,
        load.queued_read_ms,
        load.writes,
        load.write_bytes,
        load.write_stall_ms,
        load.queued_write_ms,
        load.growth_bytes,
        load.read_stall_ms + load.write_stall_ms,
    ];
    figures.map(|figure| i64::try_from(figure).unwrap()).into()
}

fn less(after: &[i64], before: &[i64]) -> Vec<i64> {
    after.iter().zip(before).map(|(after, before)| after - before).collect()
}

#[test]
fn files_have_done_exactly_their_load_at_the_end_of_a_burst() {
    let lab = Lab::new(V2014);
    let mut client = lab.client();
    let files = [(5, 1, DATA), (5, 2, LOG), (6, 1, SPARSE)];
    let read = |client: &mut super::Client, id: i32, file: i32| client.numbers(&format!("{FILE}({id}, {file})"));
    let before: Vec<_> = files.iter().map(|(id, file, _)| read(&mut client, *id, *file)).collect();
    let mut of_data = figures(&BEFORE);
    of_data[8] = 1_024 * 8_192;
    assert_eq!(before[0], of_data);
    assert_eq!(before[2][8], 0, "a snapshot begins empty");
    lab.burst();
    lab.pass(5);
    let half = read(&mut client, 5, 1);
    assert!(half[0] > before[0][0] && half[0] < before[0][0] + 1_001, "{half:?}");
    lab.pass(5);
    for ((id, file, load), before) in files.iter().zip(&before) {
        assert_eq!(less(&read(&mut client, *id, *file), before), figures(load), "{id}:{file}");
    }
    lab.whole_burst_again();
    assert_eq!(less(&read(&mut client, 5, 2), &before[1])[4], 2 * 41_667);
    let pages = client.numbers("SELECT size FROM sys.database_files ORDER BY file_id DESC OFFSET 1 ROWS");
    assert_eq!(pages, [1_024 + 2 * 128]);
}

impl Lab {
    fn whole_burst_again(&self) {
        let mut client = self.client();
        client.rows("ALTER EVENT SESSION s ON SERVER STATE = STOP");
        client.rows("ALTER EVENT SESSION s ON SERVER STATE = START");
        self.pass(10);
    }
}

#[test]
fn files_of_tempdb_have_their_load_beside_the_little_they_do() {
    let lab = Lab::new(V2019);
    let mut client = lab.client();
    let sql = "SELECT num_of_reads, num_of_writes FROM sys.dm_io_virtual_file_stats(2, 3)";
    let before = client.numbers(sql);
    assert!(before[0] > 1_000);
    lab.whole_burst();
    let done = less(&client.numbers(sql), &before);
    assert!((1_001..=1_002).contains(&done[0]) && (307..=308).contains(&done[1]), "{done:?}");
}

#[test]
fn logs_and_searches_are_counted_by_database() {
    let lab = Lab::new(V2012);
    let mut client = lab.client();
    let counter = |client: &mut super::Client, name: &str, instance: &str| {
        client.number(&format!(
            "SELECT cntr_value FROM sys.dm_os_performance_counters
             WHERE counter_name = N'{name}' AND instance_name = N'{instance}' AND object_name LIKE N'SQLServer:%'"
        ))
    };
    let expected = [
        ("Transactions/sec", FLUSHES.transactions),
        ("Log Flushes/sec", FLUSHES.flushes),
        ("Log Bytes Flushed/sec", FLUSHES.bytes_flushed),
        ("Log Flush Waits/sec", FLUSHES.flush_waits),
        ("Log Flush Wait Time", FLUSHES.flush_wait_ms),
    ];
    let read = |client: &mut super::Client| -> Vec<i64> {
        let own = expected.map(|(name, _)| counter(client, name, "Shop"));
        let total = expected.map(|(name, _)| counter(client, name, "_Total"));
        let server = ["Index Searches/sec", "Version Generation rate (KB/s)", "Version Cleanup rate (KB/s)"];
        own.into_iter().chain(total).chain(server.map(|name| counter(client, name, ""))).collect()
    };
    let before = read(&mut client);
    lab.whole_burst();
    let done = less(&read(&mut client), &before);
    for ((name, load), (own, total)) in expected.iter().zip(done.iter().zip(&done[5..])) {
        assert_eq!(*own, i64::try_from(*load).unwrap(), "{name}");
        // The system's databases do a little.
        assert!((0..=65_536).contains(&(total - own)), "{name}: {total}");
    }
    assert!((600_000..=600_250).contains(&done[10]), "{}", done[10]);
    assert_eq!(done[11..], [9_000, 3_000]);
}

#[test]
fn row_versions_grow_while_the_load_is_on() {
    let lab = Lab::new(V2019);
    let mut client = lab.client();
    let store = "SELECT reserved_space_kb FROM sys.dm_tran_version_store_space_usage WHERE database_id = 5";
    let inside = "SELECT persistent_version_store_size_kb FROM sys.dm_tran_persistent_version_store_stats
                  WHERE database_id = 8";
    let counter =
        "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = N'Version Store Size (KB)'";
    assert_eq!((client.number(store), client.number(inside), client.number(counter)), (0, 0, 64));
    lab.burst();
    lab.pass(2);
    let (early, early_inside) = (client.number(store), client.number(inside));
    assert!(early >= 4_096 && early_inside >= 2_048, "{early} {early_inside}");
    lab.pass(7);
    let late = client.number(store);
    assert!(late > early && client.number(inside) > early_inside, "{late}");
    assert!((0..8).contains(&(late - client.number(counter) + 64)), "{late}");
    assert_eq!(
        client.number("SELECT reserved_space_kb FROM sys.dm_tran_version_store_space_usage WHERE database_id = 8"),
        0
    );
    lab.pass(1);
    assert_eq!(client.number(store), 0);
}

#[test]
fn tasks_wait_as_many_as_stated_and_not_always_the_same() {
    let lab = Lab::new(V2022);
    let mut client = lab.client();
    let sql = "SELECT session_id, wait_type, resource_description, wait_duration_ms FROM sys.dm_os_waiting_tasks
               WHERE session_id > 50 ORDER BY wait_type, session_id";
    assert!(client.rows(sql).is_empty(), "nothing waits without load");
    lab.burst();
    let mut seen = BTreeSet::new();
    for _ in 0..5 {
        lab.pass(1);
        let rows = client.rows(sql);
        // 30 % of 50 sessions, and one for the single percent that would be half a session.
        let latches = rows.iter().filter(|row| row[1] == "PAGELATCH_UP" && row[2] == "2:1:1").count();
        let logs = rows.iter().filter(|row| row[1] == "WRITELOG" && row[2] == "NULL").count();
        assert_eq!((latches, logs, rows.len()), (15, 1, 16));
        assert!(rows.iter().all(|row| row[3].parse::<i64>().unwrap() < 8));
        let suspended =
            "SELECT session_id FROM sys.dm_exec_requests WHERE status = N'suspended' ORDER BY wait_type, session_id";
        let sessions: Vec<Vec<String>> = rows.iter().map(|row| vec![row[0].clone()]).collect();
        assert_eq!(client.rows(suspended), sessions);
        seen.insert(sessions);
    }
    assert!(seen.len() > 1, "other sessions wait at other moments");
    lab.pass(5);
    assert!(client.rows(sql).is_empty());
}

#[test]
fn maintenance_and_pending_io_are_there_while_the_load_is_on() {
    let lab = Lab::new(V2019);
    let mut client = lab.client();
    let requests = "SELECT session_id, database_id, percent_complete, status FROM sys.dm_exec_requests WHERE command = N'ALTER INDEX'";
    let pending = "SELECT io_pending, COUNT(*), MAX(io_pending_ms_ticks) FROM sys.dm_io_pending_io_requests
                   GROUP BY io_pending ORDER BY io_pending";
    assert!(client.rows(requests).is_empty() && client.rows(pending).is_empty());
    lab.burst();
    let mut last = -1.0;
    for _ in 0..3 {
        lab.pass(3);
        let rows = client.rows(requests);
        assert_eq!((rows.len(), &rows[0][..2]), (1, ["102".to_owned(), "5".to_owned()].as_slice()));
        let percent: f64 = rows[0][2].parse().unwrap();
        assert!(percent > last && percent < 100.0, "{percent}");
        last = percent;
        assert_eq!(client.rows(pending), [["0", "2", "90"], ["1", "3", "90"]]);
    }
    let text = "SELECT t.text FROM sys.dm_exec_requests AS r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) AS t";
    assert_eq!(client.rows(text), [[super::REBUILD]]);
    let session = "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = 102";
    assert_eq!(client.number(session), 1);
    lab.pass(1);
    assert!(client.rows(requests).is_empty() && client.rows(pending).is_empty());
    assert_eq!(client.number(session), 0);
    let traces = "SELECT id, path, is_default FROM sys.traces ORDER BY id";
    assert_eq!(client.rows(traces)[1], ["2", r"C:\Traces\audit.trc", "0"]);
}

#[test]
fn a_synchronous_primary_has_its_replica() {
    let mut client = Lab::new(V2014).client();
    let sql = "SELECT s.database_id, s.is_local, s.is_primary_replica, r.replica_server_name, r.availability_mode_desc,
                      r.secondary_role_allow_connections
               FROM sys.dm_hadr_database_replica_states AS s
               JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id ORDER BY s.is_local DESC";
    assert_eq!(
        client.rows(sql),
        [
            ["5", "1", "1", "XESTACK-SIM", "SYNCHRONOUS_COMMIT", "0"],
            ["5", "0", "0", "XESTACK-REPLICA", "SYNCHRONOUS_COMMIT", "0"],
        ]
    );
    let own =
        "SELECT COUNT(*) FROM sys.databases AS d JOIN sys.availability_replicas AS r ON r.replica_id = d.replica_id";
    assert_eq!(client.number(own), 1);
    let roles = "SELECT role_desc FROM sys.dm_hadr_availability_replica_states ORDER BY role";
    assert_eq!(client.rows(roles), [["PRIMARY"], ["SECONDARY"]]);
    let mut without = super::storage();
    without.databases[0].is_synchronous_primary = false;
    let mut client = Lab::with(V2014, &[], without).client();
    assert!(client.rows("SELECT 1 FROM sys.availability_replicas").is_empty());
}
