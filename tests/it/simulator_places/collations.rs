//! Collations of servers: names and comparisons follow them.

use super::Place;
use xestack::model::ServerVersion;

const ALL: [&str; 4] =
    ["SQL_Latin1_General_CP1_CI_AS", "Latin1_General_CS_AS", "Latin1_General_BIN2", "Turkish_100_CI_AS"];

async fn place(collation: &str) -> Place {
    let fault = format!("collation={collation}");
    Place::new(ServerVersion::V2022, &[fault.as_str()], &[]).await
}

#[tokio::test]
async fn names_are_found_as_the_collation_says() {
    // Of names without an `i`, then of one with it.
    for (collation, other_case, with_i) in [(ALL[0], 0, 0), (ALL[1], 208, 208), (ALL[2], 208, 208), (ALL[3], 0, 208)] {
        let place = place(collation).await;
        let mut session = place.login("sa").await;
        assert_eq!(session.error("SELECT name FROM sys.dm_os_latch_stats AS a").await, 207, "{collation}");
        assert_eq!(session.error("SELECT a.latch_class FROM sys.dm_os_latch_stats AS a").await, 0, "{collation}");
        assert_eq!(session.error("SELECT name FROM SYS.DATABASES").await, other_case, "{collation}");
        assert_eq!(session.error("SELECT wait_type FROM sys.DM_OS_WAIT_STATS").await, with_i, "{collation}");
        let column = if with_i == 0 { 0 } else { 207 };
        assert_eq!(session.error("SELECT WAIT_TYPE FROM sys.dm_os_wait_stats").await, column, "{collation}");
        let alias = if other_case == 0 { 0 } else { 4104 };
        assert_eq!(session.error("SELECT D.name FROM sys.databases AS d").await, alias, "{collation}");
        assert_eq!(session.error("USE onerow").await, if other_case == 0 { 0 } else { 911 }, "{collation}");
        assert_eq!(session.error("select Upper('a'), IsNull(null, 1)").await, 0, "words of the language have no case");
        let id = session.value("SELECT OBJECT_ID(N'SYS.DATABASES')").await;
        assert_eq!(id == "NULL", other_case != 0, "{collation}: {id}");
        let login = place.try_login("SA", None).await.err();
        assert_eq!(login, (other_case != 0).then_some(18456), "{collation}");
    }
}

#[tokio::test]
async fn texts_compare_as_the_collation_says() {
    let holds = |condition: &str| format!("SELECT CASE WHEN {condition} THEN 1 ELSE 0 END");
    for (collation, case, dotted) in [(ALL[0], "1", "1"), (ALL[1], "0", "0"), (ALL[2], "0", "0"), (ALL[3], "1", "0")] {
        let place = place(collation).await;
        let mut session = place.login("sa").await;
        for (condition, expected) in [
            ("N'LATCH' = N'latch'", case),
            ("N'WRITE' = N'write'", dotted),
            ("N'LATCH' LIKE N'lat%'", case),
            ("N'LATCH' IN (N'x', N'latch')", case),
            ("CHARINDEX(N'c', N'LATCH') > 0", case),
            ("N'LATCH' = N'latch' COLLATE Latin1_General_CI_AS", "1"),
            ("N'LATCH' = N'latch' COLLATE Latin1_General_BIN2", "0"),
            ("N'WRITE' = N'write' COLLATE Turkish_CI_AS", "0"),
            ("N'WRITE' COLLATE DATABASE_DEFAULT = N'write'", dotted),
            ("NULLIF(N'LATCH', N'latch') IS NULL", case),
            ("CASE N'LATCH' WHEN N'latch' THEN 1 ELSE 0 END = 1", case),
        ] {
            assert_eq!(session.value(&holds(condition)).await, expected, "{collation}: {condition}");
        }
        let groups = "SELECT COUNT(*) FROM (SELECT n FROM (VALUES (N'a'), (N'A')) AS v(n) GROUP BY n) AS g";
        assert_eq!(session.value(groups).await, if case == "1" { "1" } else { "2" }, "{collation}");
        let distinct = "SELECT COUNT(DISTINCT n) FROM (VALUES (N'a'), (N'A')) AS v(n)";
        assert_eq!(session.value(distinct).await, if case == "1" { "1" } else { "2" }, "{collation}");
        let joined = "SELECT COUNT(*) FROM sys.databases AS d JOIN (VALUES (N'ONEROW')) AS v(n) ON v.n = d.name";
        assert_eq!(session.value(joined).await, case, "{collation}");
    }
}

#[tokio::test]
async fn the_collation_is_told_and_event_sessions_follow_it() {
    for collation in ALL {
        let place = place(collation).await;
        let mut session = place.login("sa").await;
        let told = "SELECT CAST(SERVERPROPERTY('Collation') AS nvarchar(128))";
        assert_eq!(session.value(told).await, collation);
        let of_database = "SELECT collation_name FROM sys.databases WHERE name = N'OneRow'";
        assert_eq!(session.value(of_database).await, collation);
        let create = |name: &str| format!("CREATE EVENT SESSION {name} ON SERVER ADD EVENT sqlos.wait_info");
        session.run(&create("main")).await;
        let twice = if collation == ALL[0] { 25631 } else { 0 };
        assert_eq!(session.error(&create("MAIN")).await, twice, "{collation}");
        assert_eq!(session.error("ALTER EVENT SESSION main ON SERVER STATE = START").await, 0);
        let running = "SELECT name FROM sys.dm_xe_sessions WHERE name = N'main' COLLATE Latin1_General_BIN2";
        assert_eq!(session.rows(running).await, [["main"]], "{collation}");
    }
}
