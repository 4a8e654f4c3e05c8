SELECT w.waiting_tasks_count AS events
FROM sys.dm_os_wait_stats AS w
WHERE w.wait_type IN ({values})
