-- Before 2012 the buffer pool's target is told in pages of 8 KB.
SELECT CAST(@@SERVERNAME AS nvarchar(256)) AS server_name,
       i.cpu_ticks, i.ms_ticks, i.cpu_count, i.scheduler_count, i.process_kernel_time_ms, i.process_user_time_ms,
       i.sqlserver_start_time_ms_ticks, i.virtual_machine_type_desc,
       CAST(i.bpool_commit_target AS bigint) * 8 AS committed_target_kb
FROM sys.dm_os_sys_info AS i
