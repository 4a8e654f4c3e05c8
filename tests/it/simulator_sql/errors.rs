//! Errors: numbers, texts, lines, and that nothing else is answered.

use super::host::{TestHost, answer, error_numbers, errors_of, run};
use xestack::model::ServerVersion;
use xestack::simulator::output::{Output, Step};

#[test]
fn each_mistake_has_its_error_number() {
    for (sql, number) in [
        ("SELECT", 102),
        ("SELECT 1 +", 102),
        ("SELECT FROM x", 156),
        ("SELECT 1 FROM sys.dm_files LIMIT 1", 102),
        ("SELECT 1::int", 102),
        ("SELECT 'a' || 'b'", 102),
        ("SELECT a FROM sys.dm_files WHERE a ILIKE 'b'", 4145),
        ("PRINT 'x'\nGO", 102),
        ("SELECT 1)", 102),
        ("SELECT (1", 102),
        ("SELECT 1 = 1", 102),
        ("SELECT ON (1)", 156),
        ("SELECT COUNT()", 174),
        ("SELECT OR.* FROM sys.dm_files", 156),
        ("SET LOCK_TIMEOUT 1 + 1", 102),
        ("SET LANGUAGE *", 102),
        ("SET SELECT ON", 156),
        ("SET 5 ON", 102),
        ("SELECT 'abc", 105),
        ("SELECT /* abc", 113),
        ("SELECT @x", 137),
        ("SELECT @@nothing", 137),
        ("SELECT @x; DECLARE @x int", 137),
        ("DECLARE @x int, @x int", 134),
        ("SELECT nothing(1)", 195),
        ("SET NOTHING ON", 195),
        ("SELECT LEN()", 174),
        ("SELECT CHARINDEX('a')", 189),
        ("SELECT x FROM sys.dm_files", 207),
        ("SELECT f.x FROM sys.dm_files f", 207),
        ("SELECT \"text\"", 207),
        ("SELECT rowid FROM sys.dm_files", 207),
        ("SELECT 1 FROM sys.nothing", 208),
        ("SELECT 1 FROM dm_files", 208),
        ("SELECT 1 FROM INFORMATION_SCHEMA.TABLES", 208),
        ("SELECT 1 FROM nowhere.sys.dm_files", 208),
        ("SELECT database_id FROM sys.dm_files a, sys.dm_files b", 209),
        ("SELECT x.size FROM sys.dm_files f", 4104),
        ("SELECT dm_files.size FROM sys.dm_files f", 4104),
        ("SELECT 1 FROM sys.dm_files a JOIN sys.dm_files b ON c.size = 1 JOIN sys.dm_files c ON 1 = 1", 4104),
        ("SELECT x.* FROM sys.dm_files", 107),
        ("SELECT size, COUNT(*) FROM sys.dm_files", 8120),
        ("SELECT size FROM sys.dm_files GROUP BY database_id", 8120),
        ("SELECT size + 1 FROM sys.dm_files GROUP BY size + 2", 8120),
        ("SELECT 1 FROM sys.dm_files GROUP BY database_id HAVING size > 1", 8121),
        ("SELECT * FROM sys.dm_files GROUP BY database_id", 8120),
        ("SELECT COUNT(*) FROM sys.dm_files ORDER BY size", 8127),
        ("PRINT 1 WITH x AS (SELECT 1 AS a) SELECT a FROM x", 319),
        ("WITH x AS (SELECT a FROM x) SELECT a FROM x", 208),
        ("SELECT [] FROM sys.dm_files", 1038),
        ("SELECT STRING_AGG(REPLICATE('a', 5000), '') FROM sys.dm_files", 9829),
        ("DECLARE @s varchar(max) = 'x' WHILE @@ERROR = 0 SET @s = @s + @s", 7119),
        ("SELECT REPLICATE(CAST('a' AS varchar(max)), 50000000) FROM sys.dm_many", 50000),
        ("SELECT 1 FROM sys.dm_files WHERE COUNT(*) > 1", 147),
        ("SELECT SUM(COUNT(*)) FROM sys.dm_files", 130),
        ("SELECT CAST('x' AS int)", 245),
        ("SELECT 1 + 'x'", 245),
        ("SELECT CAST('x' AS float)", 8114),
        ("SELECT 1 / 0", 8134),
        ("SELECT 1.0 % 0", 8134),
        ("SELECT 2147483647 + 1", 8115),
        ("SELECT SUM(x) FROM (VALUES (2147483647), (1)) AS v(x)", 8115),
        ("SELECT CAST(300 AS tinyint)", 220),
        ("SELECT CAST('2026-02-30' AS datetime)", 242),
        ("SELECT CAST('never' AS datetime2)", 241),
        ("SELECT CAST('x' AS uniqueidentifier)", 8169),
        ("SELECT DATEDIFF(ns, '2000-01-01', '2026-01-01')", 535),
        ("SELECT DATEADD(year, 9000, '2026-01-01')", 517),
        ("SELECT DATEADD(eon, 1, GETDATE())", 155),
        ("SELECT (SELECT size FROM sys.dm_files)", 512),
        ("SELECT (SELECT 1, 2)", 116),
        ("SELECT 1 WHERE 1 IN (SELECT 1, 2)", 116),
        ("SELECT 1 UNION SELECT 1, 2", 205),
        ("SELECT DISTINCT size FROM sys.dm_files ORDER BY database_id", 145),
        ("SELECT 1 AS a UNION SELECT 2 ORDER BY b", 104),
        ("SELECT size FROM sys.dm_files ORDER BY 2", 108),
        ("SELECT * FROM (SELECT size FROM sys.dm_files ORDER BY size) x", 1033),
        ("SELECT * FROM (SELECT 1) x", 8155),
        ("SELECT * FROM (SELECT 1 AS a, 2 AS a) x", 8156),
        ("SELECT * FROM (SELECT 1 AS a) x (a, b)", 8159),
        ("SELECT 1 FROM sys.dm_files f, sys.dm_files f", 1011),
        ("SELECT 1 FROM sys.dm_files, sys.dm_files", 1013),
        ("SELECT *", 263),
        ("SELECT CAST(1 AS nothing)", 243),
        ("SELECT 'a' - 'b'", 8117),
        ("SELECT LEFT(SERVERPROPERTY('x'), 1)", 8116),
        ("DECLARE @v int = SERVERPROPERTY('EngineEdition')", 257),
        ("SELECT 1 WHERE CAST('a' AS xml) = 'a'", 305),
        ("SELECT CAST(GETDATE() AS xml)", 529),
        ("SELECT CAST(1 AS datetime2)", 529),
        ("SELECT CAST(9000000 AS datetime)", 8115),
        ("SELECT LEFT('a', -1)", 536),
        ("SELECT TOP (-1) size FROM sys.dm_files", 1060),
        ("SELECT 'a' WHERE 'a' LIKE 'a' ESCAPE 'xy'", 506),
        ("SELECT 'a' COLLATE nothing", 448),
        ("DECLARE @a int SELECT @a = 1, 2", 141),
        ("USE nowhere", 911),
        ("EXEC sp_nothing", 2812),
        ("sp_nothing", 2812),
        ("EXEC sp_executesql 'SELECT 1'", 214),
        ("EXEC sp_getapplock @LockMode = 'Exclusive'", 201),
        ("EXEC sp_getapplock @Nothing = 'x'", 8145),
        ("COMMIT", 3902),
        ("ROLLBACK", 3903),
        ("BREAK", 135),
        ("THROW", 10704),
        ("WAITFOR DELAY 'soon'", 148),
        ("RAISERROR('x', 16, 1)", 50000),
        ("SELECT dbo.f(1)", 4121),
    ] {
        assert_eq!(error_numbers(sql), [number], "{sql}");
    }
    for (length, numbers) in [(128, vec![207]), (129, vec![103])] {
        assert_eq!(error_numbers(&format!("SELECT {} FROM sys.dm_files", "a".repeat(length))), numbers);
    }
}

#[test]
fn what_is_not_simulated_is_refused_in_words() {
    for sql in [
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "CREATE TABLE t (a int)",
        "DROP DATABASE Shop",
        "TRUNCATE TABLE t",
        "SELECT 1 INTO t",
        "SELECT 1 FOR XML PATH",
        "SELECT 1 FOR JSON AUTO",
        "SELECT CAST(target_data AS xml).value('(/a)[1]', 'int') FROM sys.dm_targets",
        "SELECT t.target_data.query('/a') FROM sys.dm_targets t",
        "SELECT 1 FROM sys.dm_targets t CROSS APPLY t.target_data.nodes('/a') AS n(x)",
        "SELECT TOP 10 PERCENT size FROM sys.dm_files",
        "SELECT 1 EXCEPT SELECT 2",
        "SELECT SUM(size) OVER (ORDER BY size) FROM sys.dm_files",
        "SELECT CAST('1' AS money)",
        "SET ROWCOUNT 5",
        "SET NOEXEC ON",
        "DECLARE c CURSOR FOR SELECT 1",
        "KILL 55",
        "EXEC sp_getapplock 'x', 'Shared', 'Session', 0",
    ] {
        let text = answer(sql);
        assert!(text.starts_with("50000: The simulated server does not do "), "{sql}: {text}");
        assert_eq!(text.lines().count(), 1, "{sql}");
    }
}

#[test]
fn errors_stand_on_their_line() {
    for (sql, line, text) in [
        ("SELECT 1\n\nSELECT x FROM", 3, "Incorrect syntax near 'FROM'."),
        ("SELECT 1\nSELECT FROM", 2, "Incorrect syntax near the keyword 'FROM'."),
        ("SELECT 1\nSELECT\n  x\nFROM sys.dm_files", 3, "Invalid column name 'x'."),
        ("SELECT 1\nSELECT 1\nFROM sys.nothing", 3, "Invalid object name 'sys.nothing'."),
        ("\nSELECT 1 / 0", 2, "Divide by zero error encountered."),
        (
            "\n\nSELECT CAST(N'abc' AS int)",
            3,
            "Conversion failed when converting the nvarchar value 'abc' to data type int.",
        ),
        ("\nPRINT @x", 2, "Must declare the scalar variable \"@x\"."),
        (
            "SELECT s.size, COUNT(*)\nFROM sys.dm_files s",
            1,
            "Column 's.size' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.",
        ),
        ("\n\nDROP EVENT SESSION refused ON SERVER", 3, "The event session, \"refused\", already exists."),
        ("\nDBCC X", 2, "DBCC execution completed."),
    ] {
        let steps = run(&mut TestHost::new().session(), sql);
        let message = steps
            .iter()
            .find_map(|step| match step {
                Step::Output(Output::Message(message)) => Some(message.clone()),
                _ => None,
            })
            .expect("a message");
        assert_eq!((message.line, message.text.as_str()), (line, text), "{sql}");
    }
}

#[test]
fn newer_functions_are_unknown_to_older_versions() {
    for (sql, since) in [
        ("SELECT IIF(1 = 1, 1, 2)", ServerVersion::V2012),
        ("SELECT CONCAT('a', 1)", ServerVersion::V2012),
        ("SELECT TRY_CAST('a' AS int)", ServerVersion::V2012),
        ("SELECT DATEDIFF_BIG(s, '2026-01-01', '2026-01-01')", ServerVersion::V2016),
        ("SELECT TRIM(' a')", ServerVersion::V2017),
        ("SELECT STRING_AGG(status, ',') FROM sys.dm_os_schedulers", ServerVersion::V2017),
    ] {
        let before = match since {
            ServerVersion::V2012 => ServerVersion::V2008R2,
            ServerVersion::V2016 => ServerVersion::V2014,
            _ => ServerVersion::V2016,
        };
        assert_eq!(errors_of(&run(&mut TestHost::of(before).session(), sql)), [195], "{sql}");
        assert_eq!(errors_of(&run(&mut TestHost::of(since).session(), sql)), [0_u32; 0], "{sql}");
    }
}
