-- There is no SQL Trace.
SELECT t.path, t.is_default
FROM (SELECT CAST(NULL AS nvarchar(260)) AS path, CAST(0 AS bit) AS is_default) AS t
WHERE t.is_default = 1
