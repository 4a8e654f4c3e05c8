SELECT t.name, t.is_disabled, e.type_desc
FROM sys.triggers AS t
JOIN sys.trigger_events AS e ON e.object_id = t.object_id
WHERE t.parent_class = 0
