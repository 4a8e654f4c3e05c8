SELECT RTRIM(c.object_name) AS object_name, RTRIM(c.counter_name) AS counter_name,
       RTRIM(c.instance_name) AS instance_name, c.cntr_value
FROM sys.dm_os_performance_counters AS c
WHERE c.counter_name IN (N'Batch Requests/sec', N'Index Searches/sec', N'Version Generation rate (KB/s)',
                         N'Version Cleanup rate (KB/s)', N'Version Store Size (KB)')
