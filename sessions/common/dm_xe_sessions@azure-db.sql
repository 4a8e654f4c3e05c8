SELECT s.name, s.create_time, s.dropped_event_count, s.dropped_buffer_count, s.regular_buffer_size
FROM sys.dm_xe_database_sessions AS s
