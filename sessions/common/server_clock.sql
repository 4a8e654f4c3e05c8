-- Seconds since 1970 by the server's clock; whole days apart, because DATEDIFF of seconds is an int. 25567 days lie between
-- day 0 and 1970; no date literal depends on the login's language then.
SELECT CAST(DATEDIFF(day, 25567, GETUTCDATE()) AS bigint) * 86400
       + DATEDIFF(second, DATEADD(day, DATEDIFF(day, 0, GETUTCDATE()), 0), GETUTCDATE()) AS unix_seconds
