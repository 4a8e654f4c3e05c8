SELECT o.object_type, o.name
FROM sys.dm_xe_objects AS o
WHERE o.name IN (N'callstack', N'callstack_rva', N'query_hash', N'histogram', N'asynchronous_bucketizer')
   OR o.object_type = N'event' AND o.name IN ({events})
