SELECT c.object_name, c.name, c.type_name, c.column_type
FROM sys.dm_xe_object_columns AS c
WHERE c.object_name = {event}
