-- The files of the database that the connection is in.
SELECT CAST(DB_ID() AS int) AS database_id, f.file_id, f.type_desc, f.name, f.is_sparse
FROM sys.database_files AS f
