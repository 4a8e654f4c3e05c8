SELECT o.object_type, o.name
FROM sys.dm_xe_objects AS o
WHERE o.name IN (N'callstack', N'callstack_rva', N'histogram', N'asynchronous_bucketizer',
                 N'wait_info', N'wait_completed', N'spinlock_backoff')
