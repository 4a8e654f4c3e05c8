//! Every statement of a capture runs on every version: what the dry run prints is sent to the simulated server.

use crate::capture::connect_options;
use std::time::Duration;
use xestack::catalog::sessions::{EMBEDDED, Sessions};
use xestack::model::ServerVersion;
use xestack::simulator::launch::{self, LaunchOptions, Simulator};
use xestack::sqlserver::{ConnectOptions, Connection};
use xestack::statements::{DryRun, DryStatement, Statements, dry_run};

const VERSIONS: [ServerVersion; 8] = [
    ServerVersion::V2008R2,
    ServerVersion::V2012,
    ServerVersion::V2014,
    ServerVersion::V2016,
    ServerVersion::V2017,
    ServerVersion::V2019,
    ServerVersion::V2022,
    ServerVersion::V2025,
];

const LIMIT: Duration = Duration::from_secs(20);

async fn connect(simulator: &Simulator) -> Connection {
    connect_to(simulator, None).await
}

async fn connect_to(simulator: &Simulator, database: Option<&str>) -> Connection {
    let options = ConnectOptions { database: database.map(str::to_owned), ..connect_options(simulator) };
    Connection::open(&options).await.unwrap()
}

/// The statement with the keys in it that a run looks up: `0 /* MAP: TEXT, looked up at run time */`.
async fn with_keys(connection: &mut Connection, statements: &Statements<'_>, sql: &str) -> String {
    const MARK: &str = ", looked up at run time */";
    let mut filled = sql.to_owned();
    while let Some((head, tail)) = filled.split_once(MARK) {
        let (head, what) = head.rsplit_once("0 /* ").unwrap();
        let (map, text) = what.split_once(": ").unwrap();
        let found = connection.run(&statements.map_values(map).unwrap(), LIMIT).await.unwrap();
        // Which keys lead only a survey or a look knows: any stands for them.
        let is_wanted = |row: &usize| {
            let value = found[0].text(*row, "map_value").unwrap();
            text == "the leading ones" || text.split(", ").any(|wanted| wanted == value)
        };
        let row = (0..found[0].rows.len()).find(is_wanted);
        let key = found[0].integer(row.unwrap_or_else(|| panic!("no {text} in {map}")), "map_key").unwrap();
        filled = format!("{head}{key}{tail}");
    }
    filled
}

fn options(scenario: &str, version: ServerVersion, (flags, during_window, force): (bool, bool, bool)) -> DryRun {
    DryRun {
        trace_flags: flags,
        flags_during_window: during_window,
        force_flags: force,
        ..DryRun::new(scenario, version)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_of_a_dry_run_succeeds_on_its_version() {
    let sessions = Sessions::from_texts(EMBEDDED).unwrap();
    for version in VERSIONS.into_iter().chain([ServerVersion::AzureMi, ServerVersion::AzureDb]) {
        let simulator = launch::launch(LaunchOptions { version, ..LaunchOptions::default() }).await.unwrap();
        let database = (version == ServerVersion::AzureDb).then_some("OneRow");
        let mut connection = connect_to(&simulator, database).await;
        let statements = Statements::new(&sessions, version);
        for scenario in sessions.scenarios().iter().filter(|scenario| version >= scenario.minimum_version) {
            for flags in [(false, false, false), (true, false, false), (true, false, true), (true, true, true)] {
                let list: Vec<DryStatement> = dry_run(&sessions, &options(&scenario.name, version, flags)).unwrap();
                assert!(list.len() > 12, "{version} {}: {}", scenario.name, list.len());
                let mut rows = 0;
                for DryStatement { purpose, sql } in &list {
                    let sql = with_keys(&mut connection, &statements, sql).await;
                    let tables = connection.run(&sql, LIMIT).await;
                    let tables =
                        tables.unwrap_or_else(|error| panic!("{version} {flags:?} {purpose}: {error:?}\n{sql}"));
                    if sql.contains("target_data") {
                        assert!(tables[0].text(0, "target_data").is_some(), "{version} {purpose}");
                    }
                    rows += tables.iter().map(|table| table.rows.len()).sum::<usize>();
                }
                assert!(rows > 500, "{version}: {rows} rows");
            }
        }
        connection.close().await;
        simulator.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_is_known_from_its_version_on() {
    const BEGINNINGS: [(&str, ServerVersion); 10] = [
        ("SELECT IIF(1 = 1, 1, 2) AS x", ServerVersion::V2012),
        ("SELECT CONCAT('a', 1) AS x", ServerVersion::V2012),
        ("SELECT TRY_CAST('a' AS int) AS x", ServerVersion::V2012),
        ("SELECT TRY_CONVERT(int, 'a') AS x", ServerVersion::V2012),
        ("SELECT name FROM sys.databases ORDER BY name OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY", ServerVersion::V2012),
        ("BEGIN TRY SELECT 1 / 0 AS x END TRY BEGIN CATCH IF 1 = 2 THROW; END CATCH", ServerVersion::V2012),
        ("SELECT DATEDIFF_BIG(second, '19700101', '20260101') AS x", ServerVersion::V2016),
        ("SELECT TRIM(' a ') AS x", ServerVersion::V2017),
        ("SELECT CONCAT_WS(',', 'a', 'b') AS x", ServerVersion::V2017),
        ("SELECT STRING_AGG(name, ',') AS x FROM sys.databases", ServerVersion::V2017),
    ];
    for version in VERSIONS {
        let simulator = launch::launch(LaunchOptions { version, ..LaunchOptions::default() }).await.unwrap();
        let mut connection = connect(&simulator).await;
        for (sql, since) in BEGINNINGS {
            let answer = connection.run(sql, LIMIT).await;
            assert_eq!(answer.is_ok(), version >= since, "{version} {sql}: {answer:?}");
        }
        connection.close().await;
        simulator.stop().await;
    }
}

/// The other way round: texts of one version are refused by another, so that the test above can fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_another_version_is_refused() {
    let sessions = Sessions::from_texts(EMBEDDED).unwrap();
    for (on, texts_of, name) in [
        (ServerVersion::V2008R2, ServerVersion::V2012, "dm_os_sys_info"),
        (ServerVersion::V2012, ServerVersion::V2008R2, "dm_os_sys_info"),
        (ServerVersion::V2014, ServerVersion::V2016, "dm_os_schedulers"),
        (ServerVersion::V2014, ServerVersion::V2016, "dm_os_wait_stats"),
    ] {
        let simulator = launch::launch(LaunchOptions { version: on, ..LaunchOptions::default() }).await.unwrap();
        let mut connection = connect(&simulator).await;
        let sql = Statements::new(&sessions, texts_of).common(name, &[]).unwrap();
        let error = format!("{:?}", connection.run(&sql, LIMIT).await.unwrap_err());
        assert!(error.contains("207") || error.contains("208"), "{on} {name}: {error}");
        connection.close().await;
        simulator.stop().await;
    }
}
