//! Columns and views that come and go, and rows that are odd.

use super::Place;
use xestack::model::ServerVersion;
use xestack::simulator::faults::Fault;

#[tokio::test]
async fn a_view_or_a_column_can_be_missing() {
    let faults = ["missing-view=dm_os_host_info", "missing-column=sys.dm_os_wait_stats.signal_wait_time_ms"];
    let place = Place::new(ServerVersion::V2022, &faults, &[]).await;
    let mut session = place.login("sa").await;
    assert_eq!(session.error("SELECT host_platform FROM sys.dm_os_host_info").await, 208);
    assert_eq!(session.value("SELECT OBJECT_ID(N'sys.dm_os_host_info')").await, "NULL");
    assert_eq!(session.error("SELECT signal_wait_time_ms FROM sys.dm_os_wait_stats").await, 207);
    assert_eq!(session.error("SELECT wait_time_ms FROM sys.dm_os_wait_stats").await, 0);
    let columns = "SELECT COUNT(*) FROM sys.all_columns WHERE object_id = OBJECT_ID(N'sys.dm_os_wait_stats')";
    assert_eq!(session.value(columns).await, "4");
    for (text, wanted) in [
        ("missing-view=dm_os_host_infos", "takes the name of a view"),
        ("missing-column=dm_os_wait_stats", "takes the name of a view, a dot"),
        ("missing-column=dm_os_wait_stats.waits", "takes the name of a view, a dot"),
        ("host=solaris", "takes linux or rds"),
    ] {
        let error = text.parse::<Fault>().unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[tokio::test]
async fn backoffs_are_of_either_type() {
    let column = "SELECT t.system_type_id FROM sys.all_columns AS t
        WHERE t.object_id = OBJECT_ID(N'sys.dm_os_spinlock_stats') AND t.name = N'backoffs'";
    for (version, faults, system_type) in [
        (ServerVersion::V2017, &[][..], "56"),
        (ServerVersion::V2017, &["backoffs=bigint"][..], "127"),
        (ServerVersion::V2022, &[][..], "127"),
        (ServerVersion::V2022, &["backoffs=int"][..], "56"),
    ] {
        let place = Place::new(version, faults, &[]).await;
        let mut session = place.login("sa").await;
        assert_eq!(session.value(column).await, system_type, "{version} {faults:?}");
        assert!(session.rows("SELECT name, backoffs FROM sys.dm_os_spinlock_stats").await.len() > 10);
    }
}

#[tokio::test]
async fn rows_can_be_odd() {
    let place = Place::new(ServerVersion::V2022, &["odd-rows"], &[]).await;
    let mut session = place.login("sa").await;
    let lock_hash = "SELECT spins FROM sys.dm_os_spinlock_stats WHERE name = N'LOCK_HASH'";
    let rows = session.rows(lock_hash).await.concat();
    assert!(rows.len() == 2 && rows[1] == "750", "{rows:?}");
    let blank = "SELECT collisions, spins_per_collision, backoffs FROM sys.dm_os_spinlock_stats
        WHERE name = N'SPL_WITHOUT_NUMBERS'";
    assert_eq!(session.rows(blank).await, [["NULL", "NULL", "NULL"]]);
    let unknown = "SELECT wait_time_ms FROM sys.dm_os_wait_stats WHERE wait_type = N'SPINLOCK_EXT'";
    assert_eq!(session.rows(unknown).await, [["67890"]]);
    let latch = "SELECT wait_time_ms FROM sys.dm_os_latch_stats WHERE latch_class = N'CLASS_WITHOUT_NUMBERS'";
    assert_eq!(session.rows(latch).await, [["NULL"]]);
}
