//! Batches: statements, flow, errors and what they end, dynamic SQL, sessions.

use super::host::{NOW_MICROS, TestHost, answer, call, describe, errors_of, run};
use std::time::Duration;
use xestack::simulator::host::{Parameter, Request, Session};
use xestack::simulator::output::{Output, Step};
use xestack::simulator::value::{Datum, SqlType};

#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (sql, expected) in table {
        assert_eq!(answer(sql), *expected, "{sql}");
    }
}

#[test]
fn statements_need_no_semicolons_between_them() {
    check(&[
        ("SELECT 1 SELECT 2; SELECT 3;;", "1\n2\n3"),
        (
            "SET NOCOUNT ON SELECT 1 SET LOCK_TIMEOUT -1 SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED SELECT 2",
            "1\n2",
        ),
        (
            "SET QUOTED_IDENTIFIER, ANSI_NULLS ON; SET TEXTSIZE 2147483647 SET DEADLOCK_PRIORITY LOW SET LANGUAGE us_english SET DATEFORMAT ymd",
            "",
        ),
        ("SET CONTEXT_INFO 0x01 SET ROWCOUNT 0 SET IMPLICIT_TRANSACTIONS OFF SET XACT_ABORT ON SELECT 1", "1"),
        ("DECLARE @a int = 2, @b AS nvarchar(10) = N'x'; SET @a += 3; SELECT @a, @b, @A * 2", "5|x|10"),
        ("DECLARE @t bigint SELECT @t = SUM(size) FROM sys.dm_files SELECT @t", "100"),
        (
            "DECLARE @s nvarchar(max) = N''; SELECT @s = @s + CAST(size AS nvarchar(10)) + N',' FROM sys.dm_files ORDER BY size DESC; PRINT @s",
            "0: 40,30,20,10,",
        ),
        (
            "DECLARE @t int, @n int SELECT TOP (1) @t = size, @n = database_id FROM sys.dm_files ORDER BY size DESC SELECT @t, @n, @@ROWCOUNT",
            "40|9|1",
        ),
        ("DECLARE @t int = 5 SELECT @t = size FROM sys.dm_files WHERE 1 = 0 SELECT @t", "5"),
        (
            "DECLARE @t int SELECT @t = COUNT(*) FROM sys.dm_files GROUP BY database_id ORDER BY database_id DESC SELECT @t",
            "2",
        ),
        ("DECLARE @x varchar(2) = 'abc' SELECT @x", "ab"),
        ("PRINT 'a' + 'b' PRINT 1", "0: ab\n0: 1"),
        ("USE Shop SELECT DB_NAME() USE [master]", "database Shop\nShop\ndatabase master"),
        (
            "BEGIN TRAN t SELECT @@TRANCOUNT BEGIN TRANSACTION COMMIT SELECT @@TRANCOUNT ROLLBACK TRAN SELECT @@TRANCOUNT",
            "1\n1\n0",
        ),
        ("SELECT size FROM sys.dm_files WHERE size < 30 SELECT @@ROWCOUNT", "10\n20\n2"),
        ("SELECT 1 RETURN SELECT 2", "1"),
        ("", ""),
        ("-- only a comment", ""),
    ]);
}

#[test]
fn flow_of_control() {
    check(&[
        ("IF 1 = 1 SELECT 'a' ELSE SELECT 'b'", "a"),
        ("IF 1 = 0 DECLARE @x int = 5 SELECT @x SET @x = 1 SELECT @x", "NULL\n1"),
        (
            "DECLARE @i int = 0 WHILE @i < 3 BEGIN DECLARE @n int SET @n = ISNULL(@n, 0) + 1 SET @i += 1 END SELECT @n",
            "3",
        ),
        (
            "IF NULL = 1 SELECT 'a'; ELSE IF EXISTS (SELECT 1 FROM sys.dm_files) BEGIN SELECT 'b' SELECT 'c' END ELSE SELECT 'd' SELECT 'e'",
            "b\nc\ne",
        ),
        (
            "DECLARE @i int = 0 WHILE @i < 5 BEGIN SET @i = @i + 1 IF @i = 2 CONTINUE IF @i = 4 BREAK PRINT @i END SELECT @i",
            "0: 1\n0: 3\n4",
        ),
        ("WAITFOR DELAY '00:00:01.5' SELECT 1", "wait 1.5s\n1"),
        ("RAISERROR('hello %s, %d', 10, 1, N'you', 5) WITH NOWAIT", "50000: hello you, 5"),
        ("WHILE 1 = 1 SET NOCOUNT ON", "50000: The simulated server ended a batch that ran too many statements."),
    ]);
}

#[test]
fn an_error_ends_the_statement_or_the_batch() {
    check(&[
        ("SELECT 1 / 0 SELECT 2", "8134: Divide by zero error encountered.\n2"),
        ("RAISERROR('no', 16, 1) SELECT @@ERROR SELECT @@ERROR", "50000: no\n50000\n0"),
        (
            "SELECT CAST('x' AS int) SELECT 2",
            "245: Conversion failed when converting the varchar value 'x' to data type int.",
        ),
        ("SELECT 1 FROM sys.nothing SELECT 2", "208: Invalid object name 'sys.nothing'."),
        ("SELECT 1 SELECT x FROM sys.dm_files SELECT 2", "1\n207: Invalid column name 'x'."),
        ("SELECT 1; THROW 50001, 'no', 1; SELECT 2", "1\n50001: no"),
        ("SELECT 1 SELECT 2 +", "102: Incorrect syntax near '+'."),
        ("IF 1 / 0 = 1 SELECT 1 ELSE SELECT 2", "8134: Divide by zero error encountered.\n2"),
    ]);
}

#[test]
fn catch_sees_errors() {
    check(&[
        (
            "BEGIN TRY SELECT 1 / 0 SELECT 2 END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_SEVERITY(), ERROR_LINE(), ERROR_MESSAGE() END CATCH SELECT ERROR_NUMBER()",
            "8134|16|1|Divide by zero error encountered.\nNULL",
        ),
        ("BEGIN TRY SELECT CAST('x' AS int) END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH SELECT 2", "245\n2"),
        (
            "BEGIN TRY BEGIN TRY RAISERROR('in', 16, 1) END TRY BEGIN CATCH THROW END CATCH END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH",
            "in",
        ),
        (
            "BEGIN TRY SELECT 1 FROM sys.nothing END TRY BEGIN CATCH SELECT 'caught' END CATCH",
            "208: Invalid object name 'sys.nothing'.",
        ),
        (
            "BEGIN TRY EXEC('SELECT 1 FROM sys.nothing') END TRY BEGIN CATCH SELECT 'caught', ERROR_NUMBER() END CATCH",
            "caught|208",
        ),
        ("BEGIN TRY SELECT 1 END TRY BEGIN CATCH END CATCH SELECT 2", "1\n2"),
        (
            "DECLARE @i int = 0 WHILE @i < 3 BEGIN SET @i += 1 BEGIN TRY RAISERROR('x', 16, 1) END TRY BEGIN CATCH CONTINUE END CATCH END SELECT @i, ERROR_NUMBER()",
            "3|NULL",
        ),
    ]);
}

#[test]
fn dynamic_sql_has_variables_of_its_own() {
    check(&[
        ("EXEC ('SELECT 1 SELECT 2') SELECT 3", "1\n2\n3"),
        ("DECLARE @q nvarchar(100) = N'SELECT @a + 1', @v int = 4 EXEC sp_executesql @q, N'@a int', @v", "5\nstatus 0"),
        (
            "EXECUTE master.sys.sp_executesql N'SELECT @a, @b', N'@a int, @b varchar(5)', @b = 'x', @a = -2",
            "-2|x\nstatus 0",
        ),
        ("DECLARE @out int EXEC sp_executesql N'SET @o = 7', N'@o int OUTPUT', @out OUTPUT SELECT @out", "status 0\n7"),
        ("DECLARE @r int EXEC @r = sp_executesql N'RETURN 3' SELECT @r", "status 3\n3"),
        ("DECLARE @a int EXEC ('SELECT @a')", "137: Must declare the scalar variable \"@a\"."),
        (
            "BEGIN TRY EXEC ('USE Shop SELECT 1 / 0') END TRY BEGIN CATCH EXEC ('SELECT DB_NAME(), ERROR_NUMBER()') END CATCH",
            "database Shop\ndatabase master\nmaster|8134",
        ),
        ("EXEC ('USE Shop') SELECT DB_NAME()", "database Shop\ndatabase master\nmaster"),
        ("EXEC ('SELECT 1 FROM sys.nothing SELECT 2') SELECT 3", "208: Invalid object name 'sys.nothing'.\n3"),
        (
            "EXEC ('SELECT CAST(''x'' AS int)') SELECT 3",
            "245: Conversion failed when converting the varchar value 'x' to data type int.",
        ),
        (
            "DECLARE @q nvarchar(max) = N'EXEC sp_executesql @q, N''@q nvarchar(max)'', @q' EXEC sp_executesql @q, N'@q nvarchar(max)', @q",
            "217: Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).",
        ),
    ]);
}

#[test]
fn application_locks_answer_by_return_value() {
    let host = TestHost::new();
    let sql = "DECLARE @r int\nEXEC @r = sp_getapplock @Resource = N'free', @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = 0, @DbPrincipal = 'public'\nSELECT @r\nEXEC @r = sys.sp_getapplock 'taken', 'Exclusive', 'Session', 0 SELECT @r EXEC sp_releaseapplock 'free', 'Session'";
    let mut session = host.session();
    assert_eq!(describe(&run(&mut session, sql)), "status 0\n0\nstatus -1\n-1\nstatus 0");
    assert_eq!(errors_of(&run(&mut session, "EXEC sp_releaseapplock 'taken', 'Session'")), [1223]);
    let parameters = vec![Parameter {
        name: "@n".to_owned(),
        sql_type: SqlType::NVarChar(Some(20)),
        value: Datum::Text("taken".to_owned()),
    }];
    let steps = call(
        &mut session,
        "DECLARE @r int EXEC @r = sp_getapplock @n, N'Exclusive', N'Session', 0 SELECT @r",
        parameters,
    );
    assert_eq!(describe(&steps), "-1\nstatus 0");
    assert_eq!(*host.log.lock().unwrap(), ["lock free", "lock taken", "release free", "release taken", "lock taken"]);
}

#[test]
fn event_sessions_and_dbcc_get_their_own_tokens() {
    let host = TestHost::new();
    let sql = "CREATE EVENT SESSION [a] ON SERVER ADD EVENT sqlos.wait_info(SET x = 1 ACTION(package0.callstack) WHERE (opcode = 1 AND name <> 'SELECT'))
        ADD TARGET package0.histogram(SET slots = 1024) WITH (MAX_MEMORY = 4 MB, STARTUP_STATE = OFF)
        ALTER EVENT SESSION a ON SERVER STATE = START
        ALTER EVENT SESSION a ON SERVER DROP EVENT sqlos.wait_info, ADD EVENT sqlserver.select DROP TARGET package0.ring_buffer
        DROP EVENT SESSION a ON SERVER DROP EVENT SESSION refused ON SERVER SELECT 1
        DBCC TRACEON (3656, -1) WITH NO_INFOMSGS DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR); SET NOCOUNT ON
        IF 1 = 0 DBCC TRACEOFF (1) ELSE DBCC TRACESTATUS (-1)";
    let steps = run(&mut host.session(), sql);
    assert_eq!(
        describe(&steps),
        "25631: The event session, \"refused\", already exists.\n1\n2528: DBCC execution completed.\n2528: DBCC execution completed.\n2528: DBCC execution completed."
    );
    let log = host.log.lock().unwrap().clone();
    assert_eq!(
        log,
        [
            "CREATE EVENT SESSION a ON SERVER ADD EVENT sqlos . wait_info ( SET x = 1 ACTION ( package0 . callstack ) WHERE ( opcode = 1 AND name <> SELECT ) ) ADD TARGET package0 . histogram ( SET slots = 1024 ) WITH ( MAX_MEMORY = 4 MB , STARTUP_STATE = OFF )",
            "ALTER EVENT SESSION a ON SERVER STATE = START",
            "ALTER EVENT SESSION a ON SERVER DROP EVENT sqlos . wait_info , ADD EVENT sqlserver . select DROP TARGET package0 . ring_buffer",
            "DROP EVENT SESSION a ON SERVER",
            "DROP EVENT SESSION refused ON SERVER",
            "DBCC TRACEON ( 3656 , -1 ) WITH NO_INFOMSGS".replace("-1", "- 1").as_str(),
            "DBCC SQLPERF ( sys.dm_os_wait_stats , CLEAR )",
            "DBCC TRACESTATUS ( - 1 )",
            "end 51",
        ]
    );
}

#[test]
fn a_call_ends_with_its_return_status() {
    let mut session = TestHost::new().session();
    let parameters = || vec![Parameter { name: "@P1".to_owned(), sql_type: SqlType::BigInt, value: Datum::Int(30) }];
    assert_eq!(
        describe(&call(&mut session, "SELECT size FROM sys.dm_files WHERE size = @p1", parameters())),
        "30\nstatus 0"
    );
    assert_eq!(describe(&call(&mut session, "RETURN 5", Vec::new())), "status 5");
    assert_eq!(
        describe(&call(&mut session, "SELECT @P2", parameters())),
        "137: Must declare the scalar variable \"@P2\".\nstatus 137"
    );
}

#[test]
fn steps_come_one_by_one_and_can_be_cancelled() {
    let mut session = TestHost::new().session();
    session.start(1, Request::Batch("SELECT 1 WAITFOR DELAY '23:00:00' SELECT 2".to_owned()));
    assert!(matches!(session.step(), Some(Step::Output(Output::Rows { .. }))));
    assert_eq!(session.step(), Some(Step::Wait(Duration::from_hours(23))));
    session.cancel();
    assert_eq!(session.step(), None);
    assert_eq!(describe(&run(&mut session, "SELECT 3")), "3");
}

#[test]
fn a_reset_returns_to_the_login_s_state() {
    let host = TestHost::new();
    let mut session = host.session();
    run(&mut session, "USE Shop BEGIN TRAN");
    assert_eq!((session.spid(), session.database().as_str()), (51, "Shop"));
    session.reset();
    assert_eq!(describe(&run(&mut session, "SELECT DB_NAME(), @@TRANCOUNT")), "master|0");
    drop(session);
    assert_eq!(*host.log.lock().unwrap(), ["end 51", "end 51"]);
}

#[test]
fn the_clock_is_the_host_s() {
    let expected = format!("t{}", NOW_MICROS * 10);
    assert_eq!(answer("SELECT SYSUTCDATETIME()"), expected);
}

#[test]
fn what_drivers_ask_first_is_answered() {
    check(&[
        (
            "SET ARITHABORT ON;SET CONCAT_NULL_YIELDS_NULL ON;SET ANSI_NULLS ON;SET ANSI_NULL_DFLT_ON ON;SET ANSI_PADDING ON;SET ANSI_WARNINGS ON;SET CURSOR_CLOSE_ON_COMMIT OFF;SET QUOTED_IDENTIFIER ON;SET TEXTSIZE 2147483647;",
            "",
        ),
        ("SELECT @@VERSION\r\n", "Microsoft SQL Server 2019"),
        ("SET IMPLICIT_TRANSACTIONS OFF IF @@TRANCOUNT > 0 ROLLBACK", ""),
        ("IF @@TRANCOUNT > 0 COMMIT BEGIN TRANSACTION", ""),
        ("set lock_timeout -1; set transaction isolation level read committed", ""),
    ]);
}
