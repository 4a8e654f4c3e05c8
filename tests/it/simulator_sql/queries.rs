//! SELECT: values, types and rows.

use super::host::{TestHost, answer, columns, run};
use xestack::simulator::value::SqlType;

#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (sql, expected) in table {
        assert_eq!(answer(sql), *expected, "{sql}");
    }
}

#[test]
fn values_follow_t_sql_arithmetic() {
    check(&[
        ("SELECT 7 / 2, -7 / 2, 7 % 3, -7 % 3", "3|-3|1|-1"),
        ("SELECT 7.0 / 2", "d3500000"),
        ("SELECT 1 + 2 * 3 - 4", "3"),
        ("SELECT (1 + 2) * 3, 2 - -1, - - 3", "9|3|3"),
        ("SELECT 2147483648 * 2", "d4294967296"),
        ("SELECT CAST(9223372036854775807 AS bigint)", "9223372036854775807"),
        ("SELECT 10 & 6, 10 | 6, 10 ^ 6, ~5", "2|14|12|-6"),
        ("SELECT 1.5e1 + 1", "16.0"),
        ("SELECT 'a' + N'b' + 'c'", "abc"),
        ("SELECT '5' + 1", "6"),
        ("SELECT NULL + 1, 'a' + NULL", "NULL|NULL"),
        ("SELECT 0x1F, 0x", "[1F]|[]"),
        ("SELECT CAST(1 AS decimal(10,2)) / 3", "d333333"),
        ("SELECT .5 + 1", "d15"),
    ]);
}

#[test]
fn functions_answer_as_documented() {
    check(&[
        ("SELECT LEN('abc  '), DATALENGTH('abc  '), DATALENGTH(N'abc')", "3|5|6"),
        (
            "SELECT LEFT('abcdef', 2), RIGHT('abcdef', 2), SUBSTRING('abcdef', 2, 3), SUBSTRING('abc', 0, 2)",
            "ab|ef|bcd|a",
        ),
        ("SELECT CHARINDEX('B', 'abcb'), CHARINDEX('b', 'abcb', 3), CHARINDEX('x', 'abc')", "2|4|0"),
        ("SELECT PATINDEX('%c_e%', 'abcde'), PATINDEX('b%', 'abc')", "3|0"),
        ("SELECT STUFF('abcdef', 2, 3, 'xy'), STUFF('abc', 4, 1, 'x'), STUFF('abc', 1, 0, 'x')", "axyef|NULL|xabc"),
        ("SELECT REPLACE('aXbxc', 'x', '-'), UPPER('ab'), LOWER('AB')", "a-b-c|AB|ab"),
        ("SELECT '[' + LTRIM('  a ') + '][' + RTRIM(' a  ') + '][' + TRIM('  a  ') + ']'", "[a ][ a][a]"),
        ("SELECT CONCAT('a', NULL, 1), REPLICATE('ab', 2), REVERSE('abc'), SPACE(2) + '|'", "a1|abab|cba|  |"),
        (
            "SELECT ISNULL(NULL, 5), COALESCE(NULL, NULL, 7), NULLIF(3, 3), NULLIF(3, 4), IIF(1 = 2, 'a', 'b')",
            "5|7|NULL|3|b",
        ),
        (
            "SELECT ABS(-3), FLOOR(-1.5), CEILING(-1.5), ROUND(1234.567, 1), ROUND(1255, -1), SIGN(-4)",
            "3|d-2|d-1|d1234600|1260|-1",
        ),
        ("SELECT POWER(2, 10), SQRT(16), SQUARE(3)", "1024|4.0|9.0"),
        ("SELECT DATEDIFF(day, '2026-01-01', '2026-03-01'), DATEDIFF(month, '2026-01-31', '2026-02-01')", "59|1"),
        (
            "SELECT DATEDIFF(ms, '2026-01-01', '2026-01-01T00:00:01.5'), DATEDIFF_BIG(ns, '2026-01-01', '2026-01-02')",
            "1500|86400000000000",
        ),
        (
            "SELECT CONVERT(varchar(30), DATEADD(month, 1, CAST('2026-01-31' AS datetime2(0))), 120)",
            "2026-02-28 00:00:00",
        ),
        (
            "SELECT DATEPART(weekday, '2026-01-01'), DATENAME(month, '2026-01-01'), YEAR('2026-05-06'), MONTH('2026-05-06'), DAY('2026-05-06')",
            "5|January|2026|5|6",
        ),
        (
            "SELECT CONVERT(varchar(30), GETUTCDATE(), 121), CONVERT(nvarchar(30), GETDATE(), 126)",
            "2026-01-01 00:00:00.000|2026-01-01T00:00:00",
        ),
        ("SELECT CAST(GETDATE() AS varchar(30))", "Jan  1 2026 12:00AM"),
        (
            "SELECT CONVERT(varchar(20), 0x0AFF, 1), CONVERT(varchar(20), 0x0AFF, 2), CONVERT(varbinary(8), '0x0AFF', 1)",
            "0x0AFF|0AFF|[0A, FF]",
        ),
        (
            "SELECT CAST(258 AS varbinary(4)), CAST(0x0102 AS int), CAST(N'a' AS varbinary(4))",
            "[00, 00, 01, 02]|258|[61, 00]",
        ),
        ("SELECT TRY_CAST('x' AS int), TRY_CONVERT(int, '12'), CAST(' 12 ' AS int), CAST('' AS int)", "NULL|12|12|0"),
        (
            "SELECT CAST(12.7 AS int), CAST(2.5 AS decimal(3,0)), CAST(1 AS bit), CAST('abc' AS varchar(2))",
            "12|d3|1|ab",
        ),
        ("SELECT CAST('abc' AS char(5)) + '|', CAST(123456 AS varchar(3))", "abc  ||*"),
        (
            "SELECT CAST('6F9619FF-8B86-D011-B42D-00C04FC964FF' AS uniqueidentifier)",
            "[6f, 96, 19, ff, 8b, 86, d0, 11, b4, 2d, 00, c0, 4f, c9, 64, ff]",
        ),
        (
            "SELECT QUOTENAME('a]b'), PARSENAME('a.b.c', 1), PARSENAME('15.0.4198.2', 4), CHAR(65), NCHAR(382), ASCII('A')",
            "[a]]b]|c|15|A|ž|65",
        ),
        ("SELECT CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END, CASE WHEN 1 > 2 THEN 1 ELSE 2.5 END", "b|d25"),
        (
            "SELECT @@VERSION, @@SERVERNAME, @@SPID, @@TRANCOUNT, @@LANGUAGE, @@MAX_PRECISION",
            "Microsoft SQL Server 2019|SIM|51|0|us_english|38",
        ),
        (
            "SELECT SERVERPROPERTY('ProductVersion'), SERVERPROPERTY('x'), CAST(SERVERPROPERTY('EngineEdition') AS int)",
            "v15.0.4198.2|NULL|3",
        ),
        (
            "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'), HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER TRACE'), HAS_PERMS_BY_NAME(NULL, NULL, 'x')",
            "1|0|NULL",
        ),
        ("SELECT IS_SRVROLEMEMBER('sysadmin'), IS_SRVROLEMEMBER('x'), IS_MEMBER('db_owner')", "1|NULL|1"),
        (
            "SELECT DB_NAME(), DB_ID(), DB_ID('shop'), DB_NAME(2), DB_ID('none'), SUSER_SNAME(), ORIGINAL_LOGIN(), USER_NAME()",
            "master|1|5|tempdb|NULL|sa|sa|dbo",
        ),
        ("SELECT HOST_NAME(), APP_NAME(), OBJECT_ID('sys.none'), CURRENT_USER", "workstation|tests|NULL|dbo"),
        (
            "SELECT CONVERT(varchar(20), DATEADD(day, DATEDIFF(day, 0, GETDATE()), 0), 120), CAST(CAST(1.5 AS datetime) AS float), CAST(GETDATE() AS int)",
            "2026-01-01 00:00:00|1.5|46021",
        ),
        ("SELECT CAST('<a/>' AS xml)", "<a/>"),
        (
            "SELECT 1 WHERE SERVERPROPERTY('EngineEdition') = 3 AND SERVERPROPERTY('ProductVersion') = '15.0.4198.2'",
            "1",
        ),
        (
            "SELECT CAST(N'😀😀' AS nvarchar(3)), LEN(N'😀'), LEFT(N'😀a', 1), CAST(N'😀' AS nchar(3)) + N'|'",
            "😀|2||😀 |",
        ),
        ("SELECT @@MICROSOFTVERSION", "251662438"),
    ]);
    assert!(answer("SELECT OBJECT_ID('sys.dm_many')").starts_with('-'));
}

#[test]
fn every_column_has_its_t_sql_type() {
    let text = |length| SqlType::NVarChar(Some(length));
    for (expression, expected) in [
        ("1", SqlType::Int),
        ("2147483648", SqlType::Decimal { precision: 10, scale: 0 }),
        ("1.50", SqlType::Decimal { precision: 3, scale: 2 }),
        ("1e0", SqlType::Float),
        ("'abc'", SqlType::VarChar(Some(3))),
        ("N'abc'", text(3)),
        ("''", SqlType::VarChar(Some(1))),
        ("'ab' + N'c'", text(3)),
        ("NULL", SqlType::Int),
        ("COUNT(*)", SqlType::Int),
        ("COUNT_BIG(*)", SqlType::BigInt),
        ("SUM(wait_time_ms)", SqlType::BigInt),
        ("AVG(1.0 * wait_time_ms)", SqlType::Decimal { precision: 38, scale: 6 }),
        ("MAX(wait_type)", text(60)),
        ("SUM(wait_time_ms) / 2", SqlType::BigInt),
        ("MAX(wait_time_ms) * 1.0", SqlType::Decimal { precision: 22, scale: 1 }),
        ("MAX(wait_time_ms) / 1e3", SqlType::Float),
        ("MAX(CASE WHEN wait_type = 'a' THEN 1 ELSE wait_time_ms END)", SqlType::BigInt),
        ("ISNULL(MAX(wait_type), 'a')", text(60)),
        ("COALESCE(CAST(NULL AS bigint), 1)", SqlType::BigInt),
        ("CASE WHEN 1 = 2 THEN NULL ELSE CAST(NULL AS smallint) END", SqlType::SmallInt),
        ("CAST(1 AS decimal(10,2)) / CAST(3 AS decimal(10,2))", SqlType::Decimal { precision: 23, scale: 13 }),
        ("CAST(1 AS decimal(38,10)) * CAST(1 AS decimal(38,10))", SqlType::Decimal { precision: 38, scale: 6 }),
        ("COALESCE(NULL, 1, 2.5)", SqlType::Decimal { precision: 11, scale: 1 }),
        ("CAST(1 AS nvarchar(max))", SqlType::NVarChar(None)),
        ("CAST(1 AS nvarchar)", text(30)),
        ("CAST(N'<a/>' AS xml)", SqlType::Xml),
        ("SERVERPROPERTY('x')", SqlType::SqlVariant),
        ("GETUTCDATE()", SqlType::DateTime),
        ("SYSUTCDATETIME()", SqlType::DateTime2(7)),
        ("@@SPID", SqlType::SmallInt),
        ("NEWID()", SqlType::UniqueIdentifier),
        ("CAST(1 AS bit)", SqlType::Bit),
        ("CAST(1 AS tinyint) + CAST(1 AS smallint)", SqlType::SmallInt),
        ("0x0102", SqlType::VarBinary(Some(2))),
        ("LEFT('abcdef', 2)", SqlType::VarChar(Some(2))),
    ] {
        let steps = run(
            &mut TestHost::new().session(),
            &format!("SELECT {expression} AS x FROM sys.dm_os_wait_stats GROUP BY 1 + 0 * waiting_tasks_count"),
        );
        let found = columns(&steps);
        assert_eq!(found.first().map(|column| column.sql_type), Some(expected), "{expression}: {steps:?}");
        assert_eq!(found.first().map(|column| column.name.as_str()), Some("x"));
    }
    let names: Vec<String> = columns(&run(
        &mut TestHost::new().session(),
        "SELECT WAIT_TYPE, a = 1, wait_time_ms b, 2, 3 AS 'c d', t.signal_wait_time_ms FROM sys.dm_os_wait_stats t",
    ))
    .into_iter()
    .map(|column| column.name)
    .collect();
    assert_eq!(names, ["wait_type", "a", "b", "", "c d", "signal_wait_time_ms"]);
}

#[test]
fn rows_are_filtered_ordered_and_cut() {
    check(&[
        (
            "SELECT wait_type FROM sys.dm_os_wait_stats WHERE wait_time_ms > 0 ORDER BY wait_time_ms DESC",
            "lck_m_x\nSOS_SCHEDULER_YIELD\nLATCH_EX",
        ),
        ("SELECT TOP 1 wait_type FROM sys.dm_os_wait_stats ORDER BY 1", "LATCH_EX"),
        (
            "SELECT TOP (2) wait_type AS w FROM master.sys.dm_os_wait_stats WITH (NOLOCK) ORDER BY w DESC",
            "WRITELOG\nSOS_SCHEDULER_YIELD",
        ),
        (
            "SELECT wait_type FROM sys.dm_os_wait_stats ORDER BY wait_type OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY",
            "lck_m_x\nSOS_SCHEDULER_YIELD",
        ),
        (
            "SELECT wait_type FROM sys.dm_os_wait_stats WHERE wait_type LIKE 'L%' ORDER BY wait_type OPTION (RECOMPILE)",
            "LATCH_EX\nlck_m_x",
        ),
        ("SELECT wait_type FROM sys.dm_os_wait_stats WHERE wait_type = 'LCK_M_X'", "lck_m_x"),
        ("SELECT wait_type FROM sys.dm_os_wait_stats WHERE wait_type = 'LCK_M_X' COLLATE Latin1_General_BIN2", ""),
        (
            "SELECT wait_type FROM sys.dm_os_wait_stats WHERE wait_type LIKE 'S[A-P]S!_%' ESCAPE '!'",
            "SOS_SCHEDULER_YIELD",
        ),
        (
            "SELECT wait_type FROM sys.dm_os_wait_stats WHERE NOT wait_type IN ('writelog', N'latch_ex') AND waiting_tasks_count BETWEEN 50 AND 100",
            "SOS_SCHEDULER_YIELD",
        ),
        ("SELECT scheduler_id FROM sys.dm_os_schedulers WHERE cpu_id IS NULL", "3"),
        ("SELECT scheduler_id FROM sys.dm_os_schedulers WHERE cpu_id NOT IN (0, 1) ", "2"),
        ("SELECT scheduler_id FROM sys.dm_os_schedulers WHERE is_online = 0", "3"),
        ("SELECT DISTINCT status FROM sys.dm_os_schedulers ORDER BY status", "HIDDEN ONLINE\nVISIBLE ONLINE"),
        ("SELECT * FROM sys.dm_files WHERE size > 30", "9|40"),
        ("SELECT f.* FROM sys.dm_files AS f WHERE f.size = 10", "1|10"),
        ("SELECT 1 UNION ALL SELECT 1 UNION SELECT 2 ORDER BY 1 DESC", "2\n1"),
        ("SELECT 1 AS a UNION ALL SELECT 2.5", "d10\nd25"),
        (
            "WITH w (n, t) AS (SELECT wait_type, wait_time_ms FROM sys.dm_os_wait_stats), v AS (SELECT n FROM w WHERE t = 300) SELECT * FROM v",
            "LATCH_EX",
        ),
        ("SELECT x.a + 1 FROM (SELECT 1 AS a UNION ALL SELECT 2) AS x ORDER BY x.a DESC", "3\n2"),
        ("SELECT v.a, v.b FROM (VALUES (1, 'x'), (2, NULL)) AS v(a, b)", "1|x\n2|NULL"),
        ("SELECT 1 WHERE 'a ' = N'A' AND 'a' <> 'b' AND 'Z' > 'a' AND '_' < 'A' AND '9' < 'a'", "1"),
        ("SELECT COUNT(*) FROM (VALUES ('a'), ('A '), ('b')) AS v(x) GROUP BY x ORDER BY x", "2\n1"),
        ("SELECT 1 WHERE 1 < > 2 AND 1 < = 1 AND 2 > = 2", "1"),
        ("SELECT 1 WHERE 1 = 0", ""),
        ("SELECT 1 WHERE NOT (NULL = 1)", ""),
        (
            "SELECT 1 WHERE EXISTS (SELECT * FROM sys.dm_files WHERE size = 10) AND 5 IN (SELECT 5 UNION ALL SELECT NULL)",
            "1",
        ),
        ("SELECT 1 WHERE 6 NOT IN (SELECT 5 UNION ALL SELECT NULL)", ""),
    ]);
}

#[test]
fn tables_are_joined() {
    check(&[
        (
            "SELECT f.size, v.num_of_reads FROM sys.dm_files f JOIN sys.dm_io_virtual_file_stats(NULL, NULL) v ON v.database_id = f.database_id ORDER BY f.size",
            "10|100\n20|100\n30|200",
        ),
        (
            "SELECT f.size, v.num_of_reads FROM sys.dm_files f LEFT OUTER JOIN sys.dm_io_virtual_file_stats(NULL, NULL) AS v ON v.database_id = f.database_id AND f.size > 10 ORDER BY f.size",
            "10|NULL\n20|100\n30|200\n40|NULL",
        ),
        (
            "SELECT f.size, s.scheduler_id FROM sys.dm_files f RIGHT JOIN sys.dm_os_schedulers s ON f.database_id = s.scheduler_id ORDER BY s.scheduler_id, f.size",
            "NULL|0\n10|1\n20|1\n30|2\nNULL|3",
        ),
        (
            "SELECT f.size, s.scheduler_id FROM sys.dm_files f FULL JOIN sys.dm_os_schedulers s ON f.database_id = s.scheduler_id WHERE f.size IS NULL OR s.scheduler_id IS NULL ORDER BY 1",
            "NULL|0\nNULL|3\n40|NULL",
        ),
        (
            "SELECT f.size, s.scheduler_id FROM sys.dm_files f, sys.dm_os_schedulers s WHERE f.database_id = s.scheduler_id AND f.size < 30 ORDER BY 1",
            "10|1\n20|1",
        ),
        ("SELECT COUNT(*) FROM sys.dm_files CROSS JOIN sys.dm_os_schedulers", "16"),
        (
            "SELECT f.size, v.num_of_reads FROM sys.dm_files f CROSS APPLY sys.dm_io_virtual_file_stats(f.database_id, NULL) v ORDER BY 1",
            "10|100\n20|100\n30|200",
        ),
        (
            "SELECT f.size, v.num_of_reads FROM sys.dm_files f OUTER APPLY sys.dm_io_virtual_file_stats(f.database_id, NULL) v WHERE f.size > 20 ORDER BY 1",
            "30|200\n40|NULL",
        ),
        (
            "SELECT f.size, x.n FROM sys.dm_files f CROSS APPLY (SELECT COUNT(*) AS n FROM sys.dm_files g WHERE g.database_id = f.database_id) x WHERE f.size < 40 ORDER BY 1",
            "10|2\n20|2\n30|1",
        ),
        (
            "SELECT f.size, (SELECT MAX(g.size) FROM sys.dm_files g WHERE g.database_id = f.database_id) FROM sys.dm_files f ORDER BY 1",
            "10|20\n20|20\n30|30\n40|40",
        ),
        (
            "SELECT f.size FROM sys.dm_files f WHERE f.size = (SELECT MAX(size) FROM sys.dm_files WHERE database_id = f.database_id) ORDER BY 1",
            "20\n30\n40",
        ),
        (
            "SELECT f.size FROM sys.dm_files f WHERE NOT EXISTS (SELECT 1 FROM sys.dm_io_virtual_file_stats(NULL, NULL) v WHERE v.database_id = f.database_id)",
            "40",
        ),
        (
            "SELECT a.size, b.size FROM sys.dm_files a LEFT JOIN (sys.dm_files b JOIN sys.dm_os_schedulers s ON s.scheduler_id = b.database_id) ON b.size = a.size + 10 ORDER BY 1",
            "10|20\n20|30\n30|NULL\n40|NULL",
        ),
        (
            "SELECT a.id FROM sys.dm_many a JOIN sys.dm_many b ON a.name = UPPER(b.name) JOIN sys.dm_many c ON c.id = b.id + 1997",
            "0\n1\n2",
        ),
    ]);
}

#[test]
fn groups_are_aggregated() {
    check(&[
        (
            "SELECT database_id, COUNT(*), SUM(size), AVG(size), MIN(size), MAX(size) FROM sys.dm_files GROUP BY database_id ORDER BY database_id",
            "1|2|30|15|10|20\n2|1|30|30|30|30\n9|1|40|40|40|40",
        ),
        ("SELECT COUNT(cpu_id), COUNT(*), COUNT(DISTINCT status), COUNT_BIG(*) FROM sys.dm_os_schedulers", "3|4|2|4"),
        ("SELECT COUNT(*), SUM(size), MAX(size) FROM sys.dm_files WHERE 1 = 0", "0|NULL|NULL"),
        ("SELECT database_id FROM sys.dm_files WHERE 1 = 0 GROUP BY database_id", ""),
        (
            "SELECT database_id, SUM(size) AS total FROM sys.dm_files GROUP BY database_id HAVING COUNT(*) > 1 OR SUM(size) = 40 ORDER BY total DESC",
            "9|40\n1|30",
        ),
        ("SELECT size / 20, COUNT(*) FROM sys.dm_files GROUP BY size / 20 ORDER BY size / 20", "0|1\n1|2\n2|1"),
        (
            "SELECT database_id % 2 + 1 AS x, SUM(size) * 2 FROM sys.dm_files GROUP BY database_id % 2 ORDER BY x",
            "1|60\n2|140",
        ),
        (
            "SELECT STRING_AGG(status, ', ') WITHIN GROUP (ORDER BY scheduler_id DESC) FROM sys.dm_os_schedulers WHERE scheduler_id > 1",
            "HIDDEN ONLINE, VISIBLE ONLINE",
        ),
        ("SELECT SUM(DISTINCT database_id), AVG(1.0 * database_id) FROM sys.dm_files", "12|d3250000"),
        (
            "SELECT size, ROW_NUMBER() OVER (PARTITION BY database_id ORDER BY size DESC) AS n FROM sys.dm_files ORDER BY size",
            "10|2\n20|1\n30|1\n40|1",
        ),
        (
            "SELECT size, SUM(size) OVER (PARTITION BY database_id), 100 * size / SUM(size) OVER () FROM sys.dm_files ORDER BY size",
            "10|30|10\n20|30|20\n30|30|30\n40|40|40",
        ),
        (
            "SELECT status, COUNT(*) FROM sys.dm_os_schedulers GROUP BY status ORDER BY COUNT(*) DESC",
            "VISIBLE ONLINE|3\nHIDDEN ONLINE|1",
        ),
    ]);
}

#[test]
fn a_large_value_passes_through() {
    let steps = run(
        &mut TestHost::new().session(),
        "SELECT CAST(target_data AS nvarchar(max)), LEN(target_data), CAST(CAST(target_data AS xml) AS nvarchar(max)) FROM sys.dm_targets",
    );
    let text = super::host::describe(&steps);
    assert_eq!(text.len(), 2 * 4_000_000 + "|4000000|".len());
}
