SELECT s.scheduler_id, s.parent_node_id, s.status, s.current_tasks_count, s.runnable_tasks_count,
       s.work_queue_count, s.active_workers_count
FROM sys.dm_os_schedulers AS s
WHERE s.status = N'VISIBLE ONLINE'
