SELECT d.name, d.database_id, d.source_database_id, d.state_desc, d.snapshot_isolation_state,
       d.is_read_committed_snapshot_on, d.delayed_durability_desc
FROM sys.databases AS d
