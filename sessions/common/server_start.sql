SELECT i.ms_ticks, i.sqlserver_start_time_ms_ticks
FROM sys.dm_os_sys_info AS i
