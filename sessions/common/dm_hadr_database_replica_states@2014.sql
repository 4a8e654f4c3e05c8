-- 0: readers are refused on a secondary; 1: with read intent; 2: all.
SELECT s.database_id, s.is_primary_replica, r.secondary_role_allow_connections
FROM sys.dm_hadr_database_replica_states AS s
JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id
WHERE s.is_local = 1
