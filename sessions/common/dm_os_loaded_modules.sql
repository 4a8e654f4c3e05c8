SELECT m.name, m.base_address, m.file_version
FROM sys.dm_os_loaded_modules AS m
WHERE m.name NOT LIKE N'%.rll'
