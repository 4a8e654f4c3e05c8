SELECT s.name, s.collisions, s.spins, s.spins_per_collision, s.sleep_time, CAST(s.backoffs AS bigint) AS backoffs
FROM sys.dm_os_spinlock_stats AS s
