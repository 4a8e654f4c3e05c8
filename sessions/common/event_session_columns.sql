SELECT c.name
FROM sys.all_columns AS c
WHERE c.object_id = OBJECT_ID(N'sys.server_event_sessions')
