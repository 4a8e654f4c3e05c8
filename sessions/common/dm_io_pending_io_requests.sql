-- 1: at the operating system; 0: done there, and waiting for SQL Server to take notice.
SELECT p.io_pending, COUNT(*) AS requests, MAX(p.io_pending_ms_ticks) AS longest_ms
FROM sys.dm_io_pending_io_requests AS p
GROUP BY p.io_pending
