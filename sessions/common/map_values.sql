SELECT m.name, m.map_key, m.map_value
FROM sys.dm_xe_map_values AS m
WHERE m.name LIKE {map}
