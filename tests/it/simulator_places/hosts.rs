//! Hosts, editions, and what is no SQL Server.

use super::Place;
use std::time::Duration;
use xestack::model::ServerVersion;

const CREATE: &str = "CREATE EVENT SESSION s ON SERVER ADD EVENT sqlos.wait_info(ACTION(package0.callstack)
    WHERE wait_type = 137 AND opcode = 1) ADD TARGET package0.histogram(SET source = N'package0.callstack')
    WITH (MAX_DISPATCH_LATENCY = 1 SECONDS)";
const START: &str = "ALTER EVENT SESSION s ON SERVER STATE = START";

async fn property(session: &mut super::Session, name: &str) -> String {
    session.value(&format!("SELECT CAST(SERVERPROPERTY('{name}') AS nvarchar(256))")).await
}

#[tokio::test]
async fn linux_shows_in_what_the_server_tells() {
    let place = Place::new(ServerVersion::V2019, &["host=linux"], &[]).await;
    let mut session = place.login("sa").await;
    let host = "SELECT host_platform, host_distribution, host_sku FROM sys.dm_os_host_info";
    assert_eq!(session.rows(host).await, [["Linux", "Ubuntu", "NULL"]]);
    assert!(session.value("SELECT @@VERSION").await.contains(" on Linux (Ubuntu 22.04"));
    assert_eq!(property(&mut session, "PathSeparator").await, "/");
    assert_eq!(property(&mut session, "InstanceDefaultDataPath").await, "/var/opt/mssql/data/");
    let modules = session.rows("SELECT name FROM sys.dm_os_loaded_modules").await.concat();
    assert!(modules.contains(&r"C:\binn\sqldk.dll".to_owned()), "{modules:?}");
    let windows = Place::new(ServerVersion::V2019, &[], &[]).await;
    assert_eq!(windows.login("sa").await.rows(host).await, [["Windows", "Windows Server 2019 Standard", "7"]]);
    let too_old = Place::new(ServerVersion::V2016, &["host=linux"], &[]).await;
    assert!(too_old.login("sa").await.value("SELECT @@VERSION").await.contains("Windows"));
}

#[tokio::test]
async fn linux_has_no_symbols_whatever_the_flags() {
    for (faults, expected) in [
        (&[][..], "sqldk.dll!"),
        (&["host=linux"][..], "sqldk.dll+0x"),
        (&["host=linux", "symbols=missing"][..], "!Ordinal"),
    ] {
        let place = Place::new(ServerVersion::V2019, faults, &[]).await;
        let mut session = place.login("sa").await;
        session.run(CREATE).await;
        session.run(START).await;
        place.pass(Duration::from_secs(12));
        session.run("DBCC TRACEON (3656, 2592, -1) WITH NO_INFOMSGS").await;
        let target = "SELECT CAST(t.target_data AS nvarchar(max)) FROM sys.dm_xe_sessions AS s
            JOIN sys.dm_xe_session_targets AS t ON t.event_session_address = s.address WHERE s.name = N's'";
        let document = session.value(target).await;
        assert!(document.contains(expected), "{faults:?}: {document}");
    }
}

#[tokio::test]
async fn a_rented_server_has_no_sysadmin() {
    let place = Place::new(ServerVersion::V2022, &["host=rds"], &["boss=sysadmin"]).await;
    for login in ["sa", "boss"] {
        let mut session = place.login(login).await;
        let rights = "SELECT IS_SRVROLEMEMBER('sysadmin'), HAS_PERMS_BY_NAME(NULL, NULL, 'CONTROL SERVER'),
            HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY EVENT SESSION'), HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'),
            HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER SETTINGS'), HAS_PERMS_BY_NAME(NULL, NULL, 'CREATE ANY EVENT SESSION'),
            HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'VIEW DATABASE STATE')";
        assert_eq!(session.rows(rights).await, [["0", "0", "1", "1", "0", "1", "1"]]);
        assert_eq!(session.error("DBCC TRACEON (3656, -1)").await, 2571);
        assert_eq!(session.error("DBCC TRACESTATUS (-1)").await, 0);
    }
    let mut session = place.login("sa").await;
    assert_eq!(session.error(&CREATE.replace("137", "145")).await, 0);
    assert_eq!(session.error(START).await, 0);
}

#[tokio::test]
async fn small_editions_make_no_event_sessions() {
    for (edition, name, engine) in [("express", "Express Edition (64-bit)", "4"), ("web", "Web Edition (64-bit)", "2")]
    {
        let fault = format!("edition={edition}");
        let place = Place::new(ServerVersion::V2019, &[fault.as_str()], &[]).await;
        let mut session = place.login("sa").await;
        assert_eq!(property(&mut session, "Edition").await, name);
        assert_eq!(property(&mut session, "EngineEdition").await, engine);
        let (number, text) = session.answer(CREATE).await.unwrap_err();
        assert_eq!(number, 50000);
        assert!(text.contains("extended events only for the Enterprise and Standard Editions"), "{text}");
        assert_eq!(session.error(START).await, 15151);
        assert_eq!(session.error("SELECT name FROM sys.server_event_sessions").await, 0);
    }
}

#[tokio::test]
async fn what_is_no_sql_server_knows_nothing_or_refuses_all() {
    let place = Place::new(ServerVersion::V2019, &["dialect=other"], &[]).await;
    let mut session = place.login("sa").await;
    assert_eq!(property(&mut session, "EngineEdition").await, "NULL");
    assert_eq!(session.value("SELECT 1").await, "1");
    assert_eq!(session.error("SELECT * FROM sys.databases").await, 208);
    assert!(!session.value("SELECT @@VERSION").await.contains("Microsoft"));
    let refusing = Place::new(ServerVersion::V2019, &["dialect=refusing"], &[]).await;
    assert_eq!(refusing.login("sa").await.error("SELECT 1").await, 102);
}
