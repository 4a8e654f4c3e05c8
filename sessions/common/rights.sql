-- Each column is named as its permission; NULL where this version does not know it.
SELECT SUSER_SNAME() AS login,
       IS_SRVROLEMEMBER('sysadmin') AS sysadmin,
       HAS_PERMS_BY_NAME(NULL, NULL, 'CONTROL SERVER') AS control_server,
       HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE') AS view_server_state,
       HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE') AS view_server_performance_state,
       HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW ANY DEFINITION') AS view_any_definition,
       HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION') AS alter_any_event_session,
       HAS_PERMS_BY_NAME(NULL, NULL, 'CREATE ANY EVENT SESSION') AS create_any_event_session,
       HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION ENABLE') AS alter_any_event_session_enable,
       HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION DISABLE') AS alter_any_event_session_disable,
       HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION ADD EVENT') AS alter_any_event_session_add_event,
       HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION DROP EVENT') AS alter_any_event_session_drop_event,
       HAS_PERMS_BY_NAME(NULL, NULL, 'DROP ANY EVENT SESSION') AS drop_any_event_session
