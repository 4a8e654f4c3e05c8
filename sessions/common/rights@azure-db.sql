-- Each column is named as its permission; NULL where this version does not know it.
SELECT SUSER_SNAME() AS login,
       USER_NAME() AS user_name,
       DB_NAME() AS database_name,
       HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'VIEW DATABASE STATE') AS view_database_state,
       HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'VIEW DATABASE PERFORMANCE STATE') AS view_database_performance_state,
       HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'ALTER ANY DATABASE EVENT SESSION') AS alter_any_database_event_session,
       HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'CREATE ANY DATABASE EVENT SESSION') AS create_any_database_event_session,
       HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'ALTER ANY DATABASE EVENT SESSION ENABLE') AS alter_any_database_event_session_enable,
       HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'ALTER ANY DATABASE EVENT SESSION DISABLE') AS alter_any_database_event_session_disable,
       HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'ALTER ANY DATABASE EVENT SESSION ADD EVENT') AS alter_any_database_event_session_add_event,
       HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'ALTER ANY DATABASE EVENT SESSION DROP EVENT') AS alter_any_database_event_session_drop_event,
       HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'DROP ANY DATABASE EVENT SESSION') AS drop_any_database_event_session
