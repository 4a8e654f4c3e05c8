-- What the collector's own session has cost.
SELECT s.session_id, s.cpu_time, s.total_elapsed_time, s.reads, s.logical_reads
FROM sys.dm_exec_sessions AS s
WHERE s.session_id = @@SPID
