-- One statement of each hash; what is not cached has no row.
SELECT q.query_hash, q.execution_count, q.total_worker_time,
       SUBSTRING(t.text, q.statement_start_offset / 2 + 1, 1000) AS statement_text
FROM sys.dm_exec_query_stats AS q
CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS t
WHERE q.query_hash IN ({hashes})
