SELECT v.database_id, v.reserved_space_kb
FROM sys.dm_tran_version_store_space_usage AS v
