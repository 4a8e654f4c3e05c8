SELECT CAST(t.target_data AS nvarchar(max)) AS target_data,
       CAST(s.dropped_event_count AS bigint) AS dropped_event_count,
       CAST(s.dropped_buffer_count AS bigint) AS dropped_buffer_count,
       CAST(s.regular_buffer_size AS bigint) AS regular_buffer_size
FROM sys.dm_xe_database_sessions AS s
JOIN sys.dm_xe_database_session_targets AS t ON t.event_session_address = s.address
WHERE s.name COLLATE Latin1_General_BIN2 = {session_text}
