SELECT f.database_id, f.file_id, f.type_desc, f.name, f.is_sparse
FROM sys.master_files AS f
