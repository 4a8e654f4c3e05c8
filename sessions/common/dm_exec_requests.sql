-- Maintenance that reads and writes much.
SELECT r.session_id, r.command, r.database_id, r.percent_complete
FROM sys.dm_exec_requests AS r
WHERE r.command LIKE N'BACKUP%' OR r.command LIKE N'RESTORE%' OR r.command LIKE N'DBCC%'
   OR r.command IN (N'ALTER INDEX', N'CREATE INDEX', N'DbccFilesCompact', N'DbccSpaceReclaim', N'UPDATE STATISTICS',
                    N'BULK INSERT', N'ALTER TABLE', N'CREATE DATABASE')
