SELECT t.name, t.is_disabled, e.type_desc
FROM sys.server_triggers AS t
JOIN sys.server_trigger_events AS e ON e.object_id = t.object_id
