//! Logins with few rights.

use super::Place;
use xestack::model::ServerVersion;

#[tokio::test]
async fn logins_have_the_rights_they_were_given() {
    let logins = ["monitor=VIEW SERVER STATE", "none", "reader=VIEW DATABASE STATE", "boss=sysadmin"];
    let place = Place::new(ServerVersion::V2022, &[], &logins).await;
    let on_server = |right: &str| format!("SELECT HAS_PERMS_BY_NAME(NULL, NULL, '{right}')");
    let in_database = |right: &str| format!("SELECT HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', '{right}')");
    for (login, state, database_state, create, waits) in [
        ("monitor", "1", "1", "0", 0),
        ("none", "0", "0", "0", 300),
        ("reader", "0", "1", "0", 300),
        ("boss", "1", "1", "1", 0),
    ] {
        let mut session = place.login(login).await;
        assert_eq!(session.value("SELECT SUSER_SNAME()").await, login);
        assert_eq!(session.value(&on_server("VIEW SERVER PERFORMANCE STATE")).await, state, "{login}");
        assert_eq!(session.value(&in_database("VIEW DATABASE STATE")).await, database_state, "{login}");
        assert_eq!(session.value(&on_server("CREATE ANY EVENT SESSION")).await, create, "{login}");
        assert_eq!(session.value(&in_database("FLY")).await, "NULL");
        assert_eq!(session.error("SELECT wait_type FROM sys.dm_os_wait_stats").await, waits, "{login}");
    }
    let mut session = place.login("monitor").await;
    assert_eq!(session.value("SELECT HAS_PERMS_BY_NAME('nowhere', 'DATABASE', 'CONNECT')").await, "NULL");
    assert_eq!(session.value("SELECT HAS_PERMS_BY_NAME('onerow', 'DATABASE', 'CONNECT')").await, "1");
    assert_eq!(session.value("SELECT HAS_PERMS_BY_NAME('sys', 'SCHEMA', 'SELECT')").await, "NULL");
    assert_eq!(place.try_login("nobody", None).await.err(), Some(18456));
}

#[tokio::test]
async fn a_role_reads_state_from_2022_on() {
    for (version, member, waits) in [(ServerVersion::V2019, "NULL", 300), (ServerVersion::V2022, "1", 0)] {
        let place = Place::new(version, &[], &["reader=##MS_ServerStateReader##"]).await;
        let mut session = place.login("reader").await;
        assert_eq!(session.value("SELECT IS_SRVROLEMEMBER('##MS_ServerStateReader##')").await, member, "{version}");
        assert_eq!(session.error("SELECT wait_type FROM sys.dm_os_wait_stats").await, waits, "{version}");
    }
}
