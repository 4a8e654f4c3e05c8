SELECT w.session_id, w.wait_type, w.wait_duration_ms, w.resource_description
FROM sys.dm_os_waiting_tasks AS w
WHERE w.wait_type LIKE N'PAGELATCH[_]%' OR w.wait_type IN (N'WRITELOG', N'LOGBUFFER', N'HADR_SYNC_COMMIT')
