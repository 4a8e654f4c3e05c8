SELECT w.waiting_tasks_count
FROM sys.dm_os_wait_stats AS w
WHERE w.wait_type = {wait_type}
