SELECT v.database_id, v.file_id, v.num_of_reads, v.num_of_bytes_read, v.io_stall_read_ms, v.num_of_writes,
       v.num_of_bytes_written, v.io_stall_write_ms, v.size_on_disk_bytes, v.io_stall_queued_read_ms,
       v.io_stall_queued_write_ms
FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v
