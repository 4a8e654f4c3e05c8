//! What a collector asks, on every version that has what it names.

use super::{HASH, INSERT, Lab, VERSIONS, storage};
use xestack::model::ServerVersion::{self, AzureDb, AzureMi, V2008R2, V2012, V2014, V2017, V2019, V2022, V2025};
use xestack::simulator::versions::VersionData;
use xestack::simulator::workload::Workload;
use xestack::simulator::workload::storage::WorkloadFile;

/// A statement and the versions that have all it names.
const STATEMENTS: [(&str, ServerVersion, ServerVersion); 20] = [
    (
        "SELECT d.name, d.database_id, d.source_database_id, d.state_desc, d.snapshot_isolation_state,
                d.is_read_committed_snapshot_on FROM sys.databases AS d",
        V2008R2,
        AzureDb,
    ),
    ("SELECT d.delayed_durability_desc FROM sys.databases AS d", V2014, AzureDb),
    ("SELECT d.is_accelerated_database_recovery_on FROM sys.databases AS d", V2019, AzureDb),
    ("SELECT f.database_id, f.file_id, f.type_desc, f.name, f.is_sparse FROM sys.master_files AS f", V2008R2, AzureMi),
    (
        "-- The files of the database that the connection is in.
         SELECT CAST(DB_ID() AS int) AS database_id, f.file_id, f.type_desc, f.name, f.is_sparse
         FROM sys.database_files AS f",
        V2008R2,
        AzureDb,
    ),
    (
        "SELECT v.database_id, v.file_id, v.num_of_reads, v.num_of_bytes_read, v.io_stall_read_ms, v.num_of_writes,
                v.num_of_bytes_written, v.io_stall_write_ms, v.size_on_disk_bytes
         FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v",
        V2008R2,
        AzureDb,
    ),
    (
        "SELECT v.io_stall_queued_read_ms, v.io_stall_queued_write_ms
         FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v",
        V2014,
        AzureDb,
    ),
    (
        "SELECT p.io_pending, COUNT(*) AS requests, MAX(p.io_pending_ms_ticks) AS longest_ms
         FROM sys.dm_io_pending_io_requests AS p GROUP BY p.io_pending",
        V2008R2,
        AzureDb,
    ),
    (
        "SELECT w.session_id, w.wait_type, w.wait_duration_ms, w.resource_description FROM sys.dm_os_waiting_tasks AS w
         WHERE w.wait_type LIKE N'PAGELATCH[_]%' OR w.wait_type IN (N'WRITELOG', N'LOGBUFFER', N'HADR_SYNC_COMMIT')",
        V2008R2,
        AzureDb,
    ),
    (
        "SELECT r.session_id, r.command, r.database_id, r.percent_complete FROM sys.dm_exec_requests AS r
         WHERE r.command LIKE N'BACKUP%' OR r.command LIKE N'RESTORE%' OR r.command LIKE N'DBCC%'
            OR r.command IN (N'ALTER INDEX', N'CREATE INDEX', N'DbccFilesCompact', N'DbccSpaceReclaim')",
        V2008R2,
        AzureDb,
    ),
    (
        "SELECT RTRIM(c.object_name) AS object_name, RTRIM(c.counter_name) AS counter_name,
                RTRIM(c.instance_name) AS instance_name, c.cntr_value FROM sys.dm_os_performance_counters AS c
         WHERE c.counter_name IN (N'Batch Requests/sec', N'Index Searches/sec', N'Version Generation rate (KB/s)',
                                  N'Version Cleanup rate (KB/s)', N'Version Store Size (KB)')",
        V2008R2,
        AzureDb,
    ),
    (
        "SELECT RTRIM(c.counter_name) AS counter_name, RTRIM(c.instance_name) AS instance_name, c.cntr_value
         FROM sys.dm_os_performance_counters AS c
         WHERE c.counter_name IN (N'Log Flushes/sec', N'Log Bytes Flushed/sec', N'Log Flush Waits/sec',
                                  N'Log Flush Wait Time', N'Transactions/sec')",
        V2008R2,
        AzureDb,
    ),
    ("SELECT v.database_id, v.reserved_space_kb FROM sys.dm_tran_version_store_space_usage AS v", V2017, AzureDb),
    (
        "SELECT v.database_id, v.persistent_version_store_size_kb FROM sys.dm_tran_persistent_version_store_stats AS v",
        V2019,
        AzureDb,
    ),
    (
        "SELECT s.database_id, s.is_primary_replica, r.secondary_role_allow_connections
         FROM sys.dm_hadr_database_replica_states AS s
         JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id WHERE s.is_local = 1",
        V2014,
        AzureDb,
    ),
    (
        "SELECT q.query_hash, q.execution_count, q.total_worker_time,
                SUBSTRING(t.text, q.statement_start_offset / 2 + 1, 1000) AS statement_text
         FROM sys.dm_exec_query_stats AS q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS t
         WHERE q.query_hash IN (0xFEDCBA9876543210, 0x0000000000000001)",
        V2008R2,
        AzureDb,
    ),
    (
        "SELECT w.waiting_tasks_count AS events FROM sys.dm_os_wait_stats AS w WHERE w.wait_type IN (N'WRITELOG')",
        V2008R2,
        AzureDb,
    ),
    (
        "SELECT w.waiting_tasks_count AS events FROM sys.dm_db_wait_stats AS w WHERE w.wait_type IN (N'WRITELOG')",
        AzureMi,
        AzureDb,
    ),
    (
        "SELECT o.object_type, o.name FROM sys.dm_xe_objects AS o
         WHERE o.name IN (N'callstack', N'callstack_rva', N'query_hash', N'histogram', N'asynchronous_bucketizer')
            OR o.object_type = N'event' AND o.name IN (N'wait_info', N'latch_suspend_end')",
        V2008R2,
        AzureDb,
    ),
    ("SELECT path FROM sys.traces", V2008R2, AzureMi),
];

#[test]
fn every_statement_runs_where_what_it_names_is() {
    for version in VERSIONS {
        let lab = Lab::new(version);
        lab.burst();
        lab.pass(5);
        let mut client = lab.client();
        for (sql, oldest, newest) in STATEMENTS {
            let answer = client.try_rows(sql);
            if (oldest..=newest).contains(&version) {
                assert!(
                    !answer.unwrap_or_else(|number| panic!("{version}: {number}: {sql}")).is_empty(),
                    "{version}: {sql}"
                );
            } else {
                assert!(matches!(answer, Err(207 | 208)), "{version}: {answer:?}: {sql}");
            }
        }
    }
}

#[test]
fn every_workload_answers_them_and_its_files_do_what_it_says() {
    for version in [V2022, AzureDb] {
        let data = VersionData::of(version).unwrap();
        for (workload, name) in Workload::ALL {
            let lab = Lab::doing(workload.truth(data, 1), None, version, &[]);
            let mut client = lab.client();
            let files = "SELECT num_of_writes, num_of_bytes_written, io_stall_write_ms
                         FROM sys.dm_io_virtual_file_stats";
            let storage = &lab.instance.truth().storage;
            let shown = storage.databases.iter().filter(|of| version != AzureDb || of.source_database_id.is_none());
            let shown: Vec<_> = shown.flat_map(|of| of.files.iter().map(|file| (of.id, file))).collect();
            let read = |client: &mut super::Client| -> Vec<Vec<i64>> {
                let row =
                    |(id, file): &(i32, &WorkloadFile)| client.numbers(&format!("{files}({id}, {})", file.file_id));
                shown.iter().map(row).collect()
            };
            let before = read(&mut client);
            lab.burst();
            lab.pass(5);
            for (sql, oldest, newest) in STATEMENTS {
                if (oldest..=newest).contains(&version) {
                    client.try_rows(sql).unwrap_or_else(|number| panic!("{name} on {version}: {number}: {sql}"));
                }
            }
            lab.pass(5);
            for (((id, file), before), after) in shown.iter().zip(before).zip(read(&mut client)) {
                let load = [file.load.writes, file.load.write_bytes, file.load.write_stall_ms];
                let done: Vec<u64> = after.iter().zip(before).map(|(after, before)| (after - before) as u64).collect();
                assert_eq!(done, load, "{name} on {version}: {id}:{}", file.file_id);
            }
        }
    }
}

#[test]
fn a_session_of_query_hashes_is_taken() {
    let histogram = |target: &str, partition: &str| {
        format!(
            "CREATE EVENT SESSION [xestack_1] ON SERVER
             ADD EVENT sqlos.wait_info (
                 ACTION (sqlserver.query_hash)
                 WHERE (wait_type = 1 OR wait_type = 2) AND opcode = 1 AND sqlserver.database_id = 5 AND package0.counter <= 100000
             )
             ADD TARGET package0.{target} (
                 SET filtering_event_name = N'sqlos.wait_info', slots = 1024,
                     source_type = 1, source = N'sqlserver.query_hash'
             )
             WITH (
                 MAX_MEMORY = 4096 KB,
                 EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS,
                 MAX_DISPATCH_LATENCY = 1 SECONDS,
                 MEMORY_PARTITION_MODE = {partition},
                 TRACK_CAUSALITY = OFF,
                 STARTUP_STATE = OFF
             )"
        )
    };
    Lab::new(V2012).client().rows(&histogram("histogram", "NONE"));
    Lab::new(V2025).client().rows(&histogram("histogram", "PER_NODE"));
}

#[test]
fn databases_say_what_they_are() {
    let mut client = Lab::new(V2019).client();
    let sql = "SELECT d.name, d.source_database_id, d.snapshot_isolation_state, d.is_read_committed_snapshot_on,
                      d.delayed_durability_desc, d.delayed_durability, d.is_accelerated_database_recovery_on,
                      CASE WHEN d.replica_id IS NULL THEN 0 ELSE 1 END
               FROM sys.databases AS d WHERE d.database_id > 4 ORDER BY d.database_id";
    assert_eq!(
        client.rows(sql),
        [
            ["Shop", "NULL", "0", "1", "FORCED", "2", "0", "1"],
            ["Shop_Monday", "5", "0", "0", "DISABLED", "0", "0", "0"],
            ["Inside", "NULL", "1", "0", "DISABLED", "0", "1", "0"],
        ]
    );
    assert_eq!(
        client.rows("SELECT DB_NAME(), DB_ID(), DB_ID(N'Inside'), DB_NAME(6)"),
        [["Shop", "5", "8", "Shop_Monday"]]
    );
    assert_eq!(client.try_rows("USE Inside"), Ok(vec![]));
    let files = "SELECT f.database_id, f.file_id, f.type_desc, f.name, f.is_sparse FROM sys.master_files AS f
                 WHERE f.database_id > 4 ORDER BY f.database_id, f.file_id";
    assert_eq!(
        client.rows(files),
        [["5", "1", "ROWS", "Shop", "0"], ["5", "2", "LOG", "Shop_log", "0"], ["6", "1", "ROWS", "Shop", "1"]]
    );
    let workload = "SELECT DISTINCT database_id FROM sys.dm_exec_sessions WHERE program_name = N'workload'";
    assert_eq!(client.rows(workload), [["5"]]);
}

#[test]
fn on_azure_snapshots_are_not_there_and_files_are_those_of_the_database() {
    let lab = Lab::new(AzureDb);
    let mut client = lab.client();
    let names = client.rows("SELECT name, database_id FROM sys.databases ORDER BY database_id");
    assert_eq!(names, [["master", "1"], ["Shop", "5"], ["Inside", "8"], ["Archive", "9"]]);
    assert_eq!(client.rows("SELECT name FROM sys.database_files"), [["Shop"], ["Shop_log"]]);
    assert_eq!(lab.login("Archive").rows("SELECT name FROM sys.database_files"), [["Archive"], ["Archive_log"]]);
}

#[test]
fn statements_are_found_by_their_hash() {
    let lab = Lab::new(V2012);
    let mut client = lab.client();
    let sql = "SELECT q.execution_count, q.total_worker_time, t.text FROM sys.dm_exec_query_stats AS q
               CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS t WHERE q.query_hash = 0xFEDCBA9876543210";
    let number = |rows: &[Vec<String>], column: usize| rows[0][column].parse::<i64>().unwrap();
    let before = client.rows(sql);
    assert_eq!(before[0][2], INSERT);
    lab.whole_burst();
    let after = client.rows(sql);
    assert_eq!(number(&after, 0) - number(&before, 0), 41_700);
    assert_eq!(number(&after, 1) - number(&before, 1), 2_345_000);
    assert_eq!(client.number("SELECT COUNT(*) FROM sys.dm_exec_query_stats"), 2);
    assert_eq!(client.rows("SELECT text FROM sys.dm_exec_sql_text(0x02)"), Vec::<Vec<String>>::new());
    assert_eq!(HASH.to_be_bytes()[0], 0xfe);
}

#[test]
fn without_statements_of_its_own_a_workload_has_that_of_its_events() {
    let mut storage = storage();
    storage.statements.clear();
    let lab = Lab::with(V2019, &[], storage);
    let mut client = lab.client();
    let sql = "SELECT q.execution_count, q.total_worker_time, t.text FROM sys.dm_exec_query_stats AS q
               CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS t";
    let before = client.rows(sql);
    assert_eq!(before.len(), 1);
    lab.whole_burst();
    let after = client.rows(sql);
    assert_eq!(before[0][2], after[0][2]);
    let run = after[0][0].parse::<u64>().unwrap() - before[0][0].parse::<u64>().unwrap();
    assert_eq!(run, lab.instance.truth().throughput.lock_requests.load);
    // The hash is that of the events.
    let hashes = lab.instance.truth().kinds.iter().filter_map(|kind| kind.value("sqlserver.query_hash"));
    let hash = hashes.filter_map(|value| match value {
        xestack::simulator::workload::kinds::FieldValue::Number(hash) if *hash != 0 => Some(*hash),
        _ => None,
    });
    let hash = hash.max().unwrap();
    let found = format!("SELECT COUNT(*) FROM sys.dm_exec_query_stats WHERE query_hash = 0x{hash:016X}");
    assert_eq!(client.number(&found), 1);
}
