-- The waits of the database that the connection is in; the collector's own session is left out.
SELECT w.wait_type,
       w.waiting_tasks_count - ISNULL(o.waiting_tasks_count, 0) AS waiting_tasks_count,
       w.wait_time_ms - ISNULL(o.wait_time_ms, 0) AS wait_time_ms,
       w.signal_wait_time_ms - ISNULL(o.signal_wait_time_ms, 0) AS signal_wait_time_ms
FROM sys.dm_db_wait_stats AS w
LEFT JOIN sys.dm_exec_session_wait_stats AS o ON o.session_id = @@SPID AND o.wait_type = w.wait_type
