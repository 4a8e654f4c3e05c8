SELECT h.host_platform
FROM sys.dm_os_host_info AS h
