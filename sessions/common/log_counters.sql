-- Of each database; `_Total` is the whole server.
SELECT RTRIM(c.counter_name) AS counter_name, RTRIM(c.instance_name) AS instance_name, c.cntr_value
FROM sys.dm_os_performance_counters AS c
WHERE c.counter_name IN (N'Log Flushes/sec', N'Log Bytes Flushed/sec', N'Log Flush Waits/sec', N'Log Flush Wait Time',
                         N'Transactions/sec')
