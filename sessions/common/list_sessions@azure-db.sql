SELECT s.name, CASE WHEN r.name IS NULL THEN 0 ELSE 1 END AS running
FROM sys.database_event_sessions AS s
LEFT JOIN sys.dm_xe_database_sessions AS r
       ON r.name COLLATE Latin1_General_BIN2 = s.name COLLATE Latin1_General_BIN2
