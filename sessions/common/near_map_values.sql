SELECT TOP (5) m.map_value
FROM sys.dm_xe_map_values AS m
WHERE m.name = {map} AND m.map_value LIKE {pattern}
ORDER BY m.map_value
