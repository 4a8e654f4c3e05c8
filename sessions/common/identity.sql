SELECT CAST(@@SERVERNAME AS nvarchar(256)) AS server_name,
       CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS product_version,
       CAST(SERVERPROPERTY('Edition') AS nvarchar(128)) AS edition,
       CAST(SERVERPROPERTY('EngineEdition') AS int) AS engine_edition,
       CAST(@@SPID AS int) AS session_id
