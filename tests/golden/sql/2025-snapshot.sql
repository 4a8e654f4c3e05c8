-- before: who answers
SELECT CAST(@@SERVERNAME AS nvarchar(256)) AS server_name,
       CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS product_version,
       CAST(SERVERPROPERTY('Edition') AS nvarchar(128)) AS edition,
       CAST(SERVERPROPERTY('EngineEdition') AS int) AS engine_edition,
       CAST(SERVERPROPERTY('ComputerNamePhysicalNetBIOS') AS nvarchar(128)) AS machine_name,
       CAST(SERVERPROPERTY('InstanceName') AS nvarchar(128)) AS instance_name,
       CAST(SERVERPROPERTY('Collation') AS nvarchar(128)) AS collation_name,
       CAST(SERVERPROPERTY('IsHadrEnabled') AS int) AS is_hadr_enabled,
       CAST(SERVERPROPERTY('IsClustered') AS int) AS is_clustered,
       DB_NAME() AS database_name,
       CAST(@@SPID AS int) AS session_id;
GO

-- before: Windows or Linux
SELECT h.host_platform
FROM sys.dm_os_host_info AS h;
GO

-- before: since when it runs
SELECT i.ms_ticks, i.sqlserver_start_time_ms_ticks
FROM sys.dm_os_sys_info AS i;
GO

-- before: what dead runs left; it is undone
SELECT s.name, CASE WHEN r.name IS NULL THEN 0 ELSE 1 END AS running
FROM sys.server_event_sessions AS s
LEFT JOIN sys.dm_xe_sessions AS r ON r.name COLLATE Latin1_General_BIN2 = s.name COLLATE Latin1_General_BIN2;
GO

-- before: what this login may do
-- Each column is named as its permission; NULL where this version does not know it.
SELECT SUSER_SNAME() AS login,
       IS_SRVROLEMEMBER('sysadmin') AS sysadmin,
       HAS_PERMS_BY_NAME(NULL, NULL, 'CONTROL SERVER') AS control_server,
       HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE') AS view_server_state,
       HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE') AS view_server_performance_state,
       HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW ANY DEFINITION') AS view_any_definition,
       HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION') AS alter_any_event_session,
       HAS_PERMS_BY_NAME(NULL, NULL, 'CREATE ANY EVENT SESSION') AS create_any_event_session,
       HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION ENABLE') AS alter_any_event_session_enable,
       HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION DISABLE') AS alter_any_event_session_disable,
       HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION ADD EVENT') AS alter_any_event_session_add_event,
       HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION DROP EVENT') AS alter_any_event_session_drop_event,
       HAS_PERMS_BY_NAME(NULL, NULL, 'DROP ANY EVENT SESSION') AS drop_any_event_session;
GO

-- before: what this build offers
SELECT o.object_type, o.name
FROM sys.dm_xe_objects AS o
WHERE o.name IN (N'callstack', N'callstack_rva', N'query_hash', N'histogram', N'asynchronous_bucketizer')
   OR o.object_type = N'event' AND o.name IN (N'wait_info_external', N'wait_info');
GO

-- before: fields of the event on this build
SELECT c.object_name, c.name, c.type_name, c.column_type
FROM sys.dm_xe_object_columns AS c
WHERE c.object_name = N'wait_info_external';
GO

-- before: fields of the event on this build
SELECT c.object_name, c.name, c.type_name, c.column_type
FROM sys.dm_xe_object_columns AS c
WHERE c.object_name = N'wait_info';
GO

-- before: keys and names on this build
SELECT m.name, m.map_key, m.map_value
FROM sys.dm_xe_map_values AS m
WHERE m.name LIKE N'wait_types';
GO

-- before: trace flags as they are
DBCC TRACESTATUS (3656, 2592, -1) WITH NO_INFOMSGS;
GO

-- before: whether the counters can be read
SELECT CAST(@@SERVERNAME AS nvarchar(256)) AS server_name,
       i.cpu_ticks, i.ms_ticks, i.cpu_count, i.scheduler_count, i.process_kernel_time_ms, i.process_user_time_ms,
       i.sqlserver_start_time_ms_ticks, i.virtual_machine_type_desc, i.committed_target_kb
FROM sys.dm_os_sys_info AS i;
SELECT s.scheduler_id, s.parent_node_id, s.status, s.current_tasks_count, s.runnable_tasks_count,
       s.work_queue_count, s.active_workers_count, s.total_cpu_usage_ms, s.total_cpu_idle_capped_ms
FROM sys.dm_os_schedulers AS s
WHERE s.status = N'VISIBLE ONLINE';
SELECT s.name, s.collisions, s.spins, s.spins_per_collision, s.sleep_time, CAST(s.backoffs AS bigint) AS backoffs
FROM sys.dm_os_spinlock_stats AS s;
SELECT l.latch_class, l.waiting_requests_count, l.wait_time_ms
FROM sys.dm_os_latch_stats AS l;
-- The collector's own session is left out.
SELECT w.wait_type,
       w.waiting_tasks_count - ISNULL(o.waiting_tasks_count, 0) AS waiting_tasks_count,
       w.wait_time_ms - ISNULL(o.wait_time_ms, 0) AS wait_time_ms,
       w.signal_wait_time_ms - ISNULL(o.signal_wait_time_ms, 0) AS signal_wait_time_ms
FROM sys.dm_os_wait_stats AS w
LEFT JOIN sys.dm_exec_session_wait_stats AS o ON o.session_id = @@SPID AND o.wait_type = w.wait_type;
SELECT d.name, d.database_id, d.source_database_id, d.state_desc, d.snapshot_isolation_state,
       d.is_read_committed_snapshot_on, d.delayed_durability_desc, d.is_accelerated_database_recovery_on
FROM sys.databases AS d;
SELECT f.database_id, f.file_id, f.type_desc, f.name, f.is_sparse
FROM sys.master_files AS f;
SELECT v.database_id, v.file_id, v.num_of_reads, v.num_of_bytes_read, v.io_stall_read_ms, v.num_of_writes,
       v.num_of_bytes_written, v.io_stall_write_ms, v.size_on_disk_bytes, v.io_stall_queued_read_ms,
       v.io_stall_queued_write_ms
FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v;
-- SQL Trace writes files too.
SELECT t.path, t.is_default
FROM sys.traces AS t
WHERE t.status = 1 AND t.path IS NOT NULL;
GO

-- before: CPU, read twice, 2 s apart
SELECT CAST(@@SERVERNAME AS nvarchar(256)) AS server_name,
       i.cpu_ticks, i.ms_ticks, i.cpu_count, i.scheduler_count, i.process_kernel_time_ms, i.process_user_time_ms,
       i.sqlserver_start_time_ms_ticks, i.virtual_machine_type_desc, i.committed_target_kb
FROM sys.dm_os_sys_info AS i;
SELECT s.scheduler_id, s.parent_node_id, s.status, s.current_tasks_count, s.runnable_tasks_count,
       s.work_queue_count, s.active_workers_count, s.total_cpu_usage_ms, s.total_cpu_idle_capped_ms
FROM sys.dm_os_schedulers AS s
WHERE s.status = N'VISIBLE ONLINE';
GO

-- before: event rate, read twice, 2 s apart
SELECT w.waiting_tasks_count AS events
FROM sys.dm_os_wait_stats AS w
WHERE w.wait_type IN (N'PREEMPTIVE_OS_WRITEFILE', N'WRITE_COMPLETION', N'FCB_REPLICA_WRITE');
GO

-- before: options of event sessions here
SELECT c.name
FROM sys.all_columns AS c
WHERE c.object_id = OBJECT_ID(N'sys.server_event_sessions');
GO

-- before: triggers that run on what is sent
SELECT t.name, t.is_disabled, e.type_desc
FROM sys.server_triggers AS t
JOIN sys.server_trigger_events AS e ON e.object_id = t.object_id;
GO

-- before: audits that record it
SELECT a.name, a.is_state_enabled
FROM sys.server_audits AS a;
GO

-- before: event sessions that run
SELECT s.name, CASE WHEN r.name IS NULL THEN 0 ELSE 1 END AS running
FROM sys.server_event_sessions AS s
LEFT JOIN sys.dm_xe_sessions AS r ON r.name COLLATE Latin1_General_BIN2 = s.name COLLATE Latin1_General_BIN2;
GO

-- before: loaded modules
SELECT m.name, m.base_address, m.file_version
FROM sys.dm_os_loaded_modules AS m
WHERE m.name NOT LIKE N'%.rll';
GO

-- lock: one capture of a scenario at a time
DECLARE @result int;
EXEC @result = master.sys.sp_getapplock @Resource = N'xestack/snapshot', @LockMode = N'Exclusive', @LockOwner = N'Session',
     @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @result AS result;
GO

-- before: the server's clock, for the run's deadline
-- Seconds since 1970-01-01 UTC, which is day 25567 of datetime; in bigint, for after 2038.
SELECT (CAST(DATEDIFF(day, 0, n.utc_now) AS bigint) - 25567) * 86400
       + DATEPART(hour, n.utc_now) * 3600 + DATEPART(minute, n.utc_now) * 60 + DATEPART(second, n.utc_now) AS unix_seconds
FROM (SELECT GETUTCDATE() AS utc_now) AS n;
GO

-- change: the event session, stopped
CREATE EVENT SESSION [xestack:1:snapshot:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>] ON SERVER
ADD EVENT sqlos.wait_info_external (
    ACTION (package0.callstack_rva)
    WHERE wait_type = 0 /* wait_types: PREEMPTIVE_OS_WRITEFILE, looked up at run time */ AND opcode = 1 AND package0.counter <= 1000000
)
ADD TARGET package0.histogram (
    SET filtering_event_name = N'sqlos.wait_info_external', slots = 512,
        source_type = 1, source = N'package0.callstack_rva'
)
WITH (
    MAX_MEMORY = 8192 KB,
    EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS,
    MAX_DISPATCH_LATENCY = 1 SECONDS,
    MEMORY_PARTITION_MODE = NONE,
    TRACK_CAUSALITY = OFF,
    MAX_DURATION = 182 SECONDS,
    STARTUP_STATE = OFF
);
GO

-- change: the event session, stopped
CREATE EVENT SESSION [xestack:1:snapshot-waits:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>] ON SERVER
ADD EVENT sqlos.wait_info (
    ACTION (package0.callstack_rva)
    WHERE wait_type = 0 /* wait_types: WRITE_COMPLETION, FCB_REPLICA_WRITE, looked up at run time */ AND opcode = 1 AND package0.counter <= 1000000
)
ADD TARGET package0.histogram (
    SET filtering_event_name = N'sqlos.wait_info', slots = 512,
        source_type = 1, source = N'package0.callstack_rva'
)
WITH (
    MAX_MEMORY = 8192 KB,
    EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS,
    MAX_DISPATCH_LATENCY = 1 SECONDS,
    MEMORY_PARTITION_MODE = NONE,
    TRACK_CAUSALITY = OFF,
    MAX_DURATION = 182 SECONDS,
    STARTUP_STATE = OFF
);
GO

-- change: the window opens
ALTER EVENT SESSION [xestack:1:snapshot:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>] ON SERVER STATE = START;
GO

-- change: the window opens
ALTER EVENT SESSION [xestack:1:snapshot-waits:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>] ON SERVER STATE = START;
GO

-- counters: first
SELECT CAST(@@SERVERNAME AS nvarchar(256)) AS server_name,
       i.cpu_ticks, i.ms_ticks, i.cpu_count, i.scheduler_count, i.process_kernel_time_ms, i.process_user_time_ms,
       i.sqlserver_start_time_ms_ticks, i.virtual_machine_type_desc, i.committed_target_kb
FROM sys.dm_os_sys_info AS i;
SELECT s.scheduler_id, s.parent_node_id, s.status, s.current_tasks_count, s.runnable_tasks_count,
       s.work_queue_count, s.active_workers_count, s.total_cpu_usage_ms, s.total_cpu_idle_capped_ms
FROM sys.dm_os_schedulers AS s
WHERE s.status = N'VISIBLE ONLINE';
SELECT s.name, s.collisions, s.spins, s.spins_per_collision, s.sleep_time, CAST(s.backoffs AS bigint) AS backoffs
FROM sys.dm_os_spinlock_stats AS s;
SELECT l.latch_class, l.waiting_requests_count, l.wait_time_ms
FROM sys.dm_os_latch_stats AS l;
-- The collector's own session is left out.
SELECT w.wait_type,
       w.waiting_tasks_count - ISNULL(o.waiting_tasks_count, 0) AS waiting_tasks_count,
       w.wait_time_ms - ISNULL(o.wait_time_ms, 0) AS wait_time_ms,
       w.signal_wait_time_ms - ISNULL(o.signal_wait_time_ms, 0) AS signal_wait_time_ms
FROM sys.dm_os_wait_stats AS w
LEFT JOIN sys.dm_exec_session_wait_stats AS o ON o.session_id = @@SPID AND o.wait_type = w.wait_type;
SELECT d.name, d.database_id, d.source_database_id, d.state_desc, d.snapshot_isolation_state,
       d.is_read_committed_snapshot_on, d.delayed_durability_desc, d.is_accelerated_database_recovery_on
FROM sys.databases AS d;
SELECT f.database_id, f.file_id, f.type_desc, f.name, f.is_sparse
FROM sys.master_files AS f;
SELECT v.database_id, v.file_id, v.num_of_reads, v.num_of_bytes_read, v.io_stall_read_ms, v.num_of_writes,
       v.num_of_bytes_written, v.io_stall_write_ms, v.size_on_disk_bytes, v.io_stall_queued_read_ms,
       v.io_stall_queued_write_ms
FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v;
-- SQL Trace writes files too.
SELECT t.path, t.is_default
FROM sys.traces AS t
WHERE t.status = 1 AND t.path IS NOT NULL;
-- What the collector's own session has cost.
SELECT s.session_id, s.cpu_time, s.total_elapsed_time, s.reads, s.logical_reads
FROM sys.dm_exec_sessions AS s
WHERE s.session_id = @@SPID;
SELECT s.name, s.create_time, s.dropped_event_count, s.dropped_buffer_count, s.regular_buffer_size
FROM sys.dm_xe_sessions AS s;
GO

-- counters: samples through 60 s
SET LOCK_TIMEOUT 0;
SELECT s.scheduler_id, s.parent_node_id, s.status, s.current_tasks_count, s.runnable_tasks_count,
       s.work_queue_count, s.active_workers_count, s.total_cpu_usage_ms, s.total_cpu_idle_capped_ms
FROM sys.dm_os_schedulers AS s
WHERE s.status = N'VISIBLE ONLINE';
-- Maintenance that reads and writes much.
SELECT r.session_id, r.command, r.database_id, r.percent_complete
FROM sys.dm_exec_requests AS r
WHERE r.command LIKE N'BACKUP%' OR r.command LIKE N'RESTORE%' OR r.command LIKE N'DBCC%'
   OR r.command IN (N'ALTER INDEX', N'CREATE INDEX', N'DbccFilesCompact', N'DbccSpaceReclaim', N'UPDATE STATISTICS',
                    N'BULK INSERT', N'ALTER TABLE', N'CREATE DATABASE');
SELECT CAST(@@SERVERNAME AS nvarchar(256)) AS server_name,
       i.cpu_ticks, i.ms_ticks, i.cpu_count, i.scheduler_count, i.process_kernel_time_ms, i.process_user_time_ms,
       i.sqlserver_start_time_ms_ticks, i.virtual_machine_type_desc, i.committed_target_kb
FROM sys.dm_os_sys_info AS i;
-- What the collector's own session has cost.
SELECT s.session_id, s.cpu_time, s.total_elapsed_time, s.reads, s.logical_reads
FROM sys.dm_exec_sessions AS s
WHERE s.session_id = @@SPID;
SELECT s.name, s.create_time, s.dropped_event_count, s.dropped_buffer_count, s.regular_buffer_size
FROM sys.dm_xe_sessions AS s;
SET LOCK_TIMEOUT -1;
GO

-- change: the window closes; the target stays
ALTER EVENT SESSION [xestack:1:snapshot:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>] ON SERVER DROP EVENT sqlos.wait_info_external;
GO

-- change: the window closes; the target stays
ALTER EVENT SESSION [xestack:1:snapshot-waits:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>] ON SERVER DROP EVENT sqlos.wait_info;
GO

-- counters: last
SELECT CAST(@@SERVERNAME AS nvarchar(256)) AS server_name,
       i.cpu_ticks, i.ms_ticks, i.cpu_count, i.scheduler_count, i.process_kernel_time_ms, i.process_user_time_ms,
       i.sqlserver_start_time_ms_ticks, i.virtual_machine_type_desc, i.committed_target_kb
FROM sys.dm_os_sys_info AS i;
SELECT s.scheduler_id, s.parent_node_id, s.status, s.current_tasks_count, s.runnable_tasks_count,
       s.work_queue_count, s.active_workers_count, s.total_cpu_usage_ms, s.total_cpu_idle_capped_ms
FROM sys.dm_os_schedulers AS s
WHERE s.status = N'VISIBLE ONLINE';
SELECT s.name, s.collisions, s.spins, s.spins_per_collision, s.sleep_time, CAST(s.backoffs AS bigint) AS backoffs
FROM sys.dm_os_spinlock_stats AS s;
SELECT l.latch_class, l.waiting_requests_count, l.wait_time_ms
FROM sys.dm_os_latch_stats AS l;
-- The collector's own session is left out.
SELECT w.wait_type,
       w.waiting_tasks_count - ISNULL(o.waiting_tasks_count, 0) AS waiting_tasks_count,
       w.wait_time_ms - ISNULL(o.wait_time_ms, 0) AS wait_time_ms,
       w.signal_wait_time_ms - ISNULL(o.signal_wait_time_ms, 0) AS signal_wait_time_ms
FROM sys.dm_os_wait_stats AS w
LEFT JOIN sys.dm_exec_session_wait_stats AS o ON o.session_id = @@SPID AND o.wait_type = w.wait_type;
SELECT d.name, d.database_id, d.source_database_id, d.state_desc, d.snapshot_isolation_state,
       d.is_read_committed_snapshot_on, d.delayed_durability_desc, d.is_accelerated_database_recovery_on
FROM sys.databases AS d;
SELECT f.database_id, f.file_id, f.type_desc, f.name, f.is_sparse
FROM sys.master_files AS f;
SELECT v.database_id, v.file_id, v.num_of_reads, v.num_of_bytes_read, v.io_stall_read_ms, v.num_of_writes,
       v.num_of_bytes_written, v.io_stall_write_ms, v.size_on_disk_bytes, v.io_stall_queued_read_ms,
       v.io_stall_queued_write_ms
FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v;
-- SQL Trace writes files too.
SELECT t.path, t.is_default
FROM sys.traces AS t
WHERE t.status = 1 AND t.path IS NOT NULL;
-- What the collector's own session has cost.
SELECT s.session_id, s.cpu_time, s.total_elapsed_time, s.reads, s.logical_reads
FROM sys.dm_exec_sessions AS s
WHERE s.session_id = @@SPID;
SELECT s.name, s.create_time, s.dropped_event_count, s.dropped_buffer_count, s.regular_buffer_size
FROM sys.dm_xe_sessions AS s;
GO

-- read: the target, raw, after twice the dispatch latency
SELECT CAST(t.target_data AS nvarchar(max)) AS target_data,
       CAST(s.dropped_event_count AS bigint) AS dropped_event_count,
       CAST(s.dropped_buffer_count AS bigint) AS dropped_buffer_count,
       CAST(s.regular_buffer_size AS bigint) AS regular_buffer_size
FROM sys.dm_xe_sessions AS s
JOIN sys.dm_xe_session_targets AS t ON t.event_session_address = s.address
WHERE s.name COLLATE Latin1_General_BIN2 = N'xestack:1:snapshot:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>';
GO

-- read: the target, raw, after twice the dispatch latency
SELECT CAST(t.target_data AS nvarchar(max)) AS target_data,
       CAST(s.dropped_event_count AS bigint) AS dropped_event_count,
       CAST(s.dropped_buffer_count AS bigint) AS dropped_buffer_count,
       CAST(s.regular_buffer_size AS bigint) AS regular_buffer_size
FROM sys.dm_xe_sessions AS s
JOIN sys.dm_xe_session_targets AS t ON t.event_session_address = s.address
WHERE s.name COLLATE Latin1_General_BIN2 = N'xestack:1:snapshot-waits:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>';
GO

-- restore: stop
ALTER EVENT SESSION [xestack:1:snapshot:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>] ON SERVER STATE = STOP;
GO

-- restore: stop
ALTER EVENT SESSION [xestack:1:snapshot-waits:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>] ON SERVER STATE = STOP;
GO

-- restore: trace flags are as before
DBCC TRACESTATUS (3656, 2592, -1) WITH NO_INFOMSGS;
GO

-- restore: drop
DROP EVENT SESSION [xestack:1:snapshot:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>] ON SERVER;
GO

-- restore: drop
DROP EVENT SESSION [xestack:1:snapshot-waits:<run id>:<host>:<boot>:<process>:<deadline>:-:<checksum>] ON SERVER;
GO

-- restore: no session of this run is left
SELECT s.name, CASE WHEN r.name IS NULL THEN 0 ELSE 1 END AS running
FROM sys.server_event_sessions AS s
LEFT JOIN sys.dm_xe_sessions AS r ON r.name COLLATE Latin1_General_BIN2 = s.name COLLATE Latin1_General_BIN2;
GO
