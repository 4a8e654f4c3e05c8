-- Seconds since 1970-01-01 UTC, which is day 25567 of datetime; in bigint, for after 2038.
SELECT (CAST(DATEDIFF(day, 0, n.utc_now) AS bigint) - 25567) * 86400
       + DATEPART(hour, n.utc_now) * 3600 + DATEPART(minute, n.utc_now) * 60 + DATEPART(second, n.utc_now) AS unix_seconds
FROM (SELECT GETUTCDATE() AS utc_now) AS n
