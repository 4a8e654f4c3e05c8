SELECT a.name, a.is_state_enabled
FROM sys.server_audits AS a
