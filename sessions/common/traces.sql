-- SQL Trace writes files too.
SELECT t.path, t.is_default
FROM sys.traces AS t
WHERE t.status = 1 AND t.path IS NOT NULL
