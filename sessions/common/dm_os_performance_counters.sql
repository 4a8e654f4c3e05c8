SELECT RTRIM(c.object_name) AS object_name, RTRIM(c.counter_name) AS counter_name, c.cntr_value
FROM sys.dm_os_performance_counters AS c
WHERE c.counter_name = N'Batch Requests/sec'
