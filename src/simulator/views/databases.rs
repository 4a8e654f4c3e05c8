//! Owns the databases of the simulated server and their files.

use crate::simulator::properties;
use crate::simulator::value::Datum;
use crate::simulator::versions::VersionData;
use crate::simulator::views::Source;
use crate::simulator::views::schema::{Record, time};
use crate::simulator::workload::{WORKLOAD_DATABASE, WORKLOAD_DATABASE_ID};

/// A database.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Database {
    pub id: i32,
    pub name: &'static str,
    pub simple_recovery: bool,
    /// Logical name, physical name, whether it is the log, size in 8 KB pages.
    pub files: &'static [(&'static str, &'static str, bool, i32)],
}

/// All that any version has.
static DATABASES: [Database; 6] = [
    Database {
        id: 1,
        name: "master",
        simple_recovery: true,
        files: &[("master", "master.mdf", false, 608), ("mastlog", "mastlog.ldf", true, 256)],
    },
    Database {
        id: 2,
        name: "tempdb",
        simple_recovery: true,
        files: &[
            ("tempdev", "tempdb.mdf", false, 131_072),
            ("templog", "templog.ldf", true, 65_536),
            ("temp2", "tempdb_mssql_2.ndf", false, 131_072),
            ("temp3", "tempdb_mssql_3.ndf", false, 131_072),
            ("temp4", "tempdb_mssql_4.ndf", false, 131_072),
        ],
    },
    Database {
        id: 3,
        name: "model",
        simple_recovery: false,
        files: &[("modeldev", "model.mdf", false, 1_024), ("modellog", "modellog.ldf", true, 1_024)],
    },
    Database {
        id: 4,
        name: "msdb",
        simple_recovery: true,
        files: &[("MSDBData", "MSDBData.mdf", false, 2_112), ("MSDBLog", "MSDBLog.ldf", true, 640)],
    },
    Database {
        id: WORKLOAD_DATABASE_ID,
        name: WORKLOAD_DATABASE,
        simple_recovery: true,
        files: &[("OneRow", "OneRow.mdf", false, 8_192), ("OneRow_log", "OneRow_log.ldf", true, 8_192)],
    },
    Database {
        id: IDLE_DATABASE_ID,
        name: "Archive",
        simple_recovery: false,
        files: &[("Archive", "Archive.mdf", false, 8_192), ("Archive_log", "Archive_log.ldf", true, 8_192)],
    },
];

/// A second user database, on Azure SQL Database only; nothing happens in it.
const IDLE_DATABASE_ID: i32 = WORKLOAD_DATABASE_ID + 1;

/// Those of a version. On Azure SQL Database master and the users' are seen (assumed).
pub fn of(version: &VersionData) -> impl Iterator<Item = &'static Database> {
    let azure_database = version.is_azure_database();
    DATABASES.iter().filter(move |database| match database.id {
        1 | WORKLOAD_DATABASE_ID => true,
        IDLE_DATABASE_ID => azure_database,
        _ => !azure_database,
    })
}

/// 2019-09-24, the product's; nothing depends on it.
const SYSTEM_CREATED: i64 = 1_569_338_000_000_000;

/// sys.databases.
pub fn databases(source: Source<'_>) -> Vec<Record> {
    let version = source.instance.version_data();
    let level = version.compatibility_level();
    let rows = of(version).map(|database| {
        let system = database.id <= 4;
        let created = if system { SYSTEM_CREATED } else { SYSTEM_CREATED + 86_400_000_000 * 90 };
        let (recovery, recovery_desc) = if database.simple_recovery { (3, "SIMPLE") } else { (1, "FULL") };
        let snapshot = matches!(database.name, "master" | "msdb");
        let record = Record::new()
            .with("name", database.name)
            .with("database_id", database.id)
            .with("owner_sid", Datum::Binary(vec![1]))
            .with("create_date", time(created))
            .with("compatibility_level", level)
            .with("collation_name", source.instance.switches().places.collation.name())
            .with("user_access", 0)
            .with("user_access_desc", "MULTI_USER")
            .with("state", 0)
            .with("state_desc", "ONLINE")
            .with("snapshot_isolation_state", i32::from(snapshot))
            .with("snapshot_isolation_state_desc", if snapshot { "ON" } else { "OFF" })
            .with("recovery_model", recovery)
            .with("recovery_model_desc", recovery_desc)
            .with("page_verify_option", 2)
            .with("page_verify_option_desc", "CHECKSUM")
            .with("is_auto_create_stats_on", true)
            .with("is_auto_update_stats_on", true)
            .with("is_query_store_on", !system && level >= 160)
            .with("log_reuse_wait", 0)
            .with("log_reuse_wait_desc", "NOTHING")
            .with("containment", 0)
            .with("containment_desc", "NONE")
            .with("target_recovery_time_in_seconds", if system { 0 } else { 60 })
            .with("delayed_durability", 0)
            .with("delayed_durability_desc", "DISABLED")
            .with("physical_database_name", database.name)
            .with("catalog_collation_type", 0)
            .with("catalog_collation_type_desc", "DATABASE_DEFAULT");
        OFF.iter().fold(record, |record, name| record.with(name, false))
    });
    rows.collect()
}

/// Nullable flags that are off everywhere here.
const OFF: [&str; 30] = [
    "is_read_only",
    "is_auto_shrink_on",
    "is_in_standby",
    "is_cleanly_shutdown",
    "is_supplemental_logging_enabled",
    "is_read_committed_snapshot_on",
    "is_auto_create_stats_incremental_on",
    "is_auto_update_stats_async_on",
    "is_ansi_null_default_on",
    "is_ansi_nulls_on",
    "is_ansi_padding_on",
    "is_ansi_warnings_on",
    "is_arithabort_on",
    "is_concat_null_yields_null_on",
    "is_numeric_roundabort_on",
    "is_quoted_identifier_on",
    "is_recursive_triggers_on",
    "is_cursor_close_on_commit_on",
    "is_local_cursor_default",
    "is_fulltext_enabled",
    "is_trustworthy_on",
    "is_db_chaining_on",
    "is_parameterization_forced",
    "is_encrypted",
    "is_accelerated_database_recovery_on",
    "is_memory_optimized_elevate_to_snapshot_on",
    "is_mixed_page_allocation_on",
    "is_remote_data_archive_enabled",
    "is_ledger_on",
    "is_change_feed_enabled",
];

/// sys.master_files. Assumed: without a right on definitions or server state no row is seen.
pub fn master_files(source: Source<'_>) -> Vec<Record> {
    let rights = source.rights();
    let sees = |permission: &str| rights.has(permission) == Some(true);
    if !sees("VIEW ANY DEFINITION") && !sees("VIEW SERVER STATE") {
        return Vec::new();
    }
    let folder = properties::data_path(source.instance);
    let mut rows = Vec::new();
    for database in of(source.instance.version_data()) {
        for (file_id, (name, file, is_log, pages)) in (1..).zip(database.files) {
            let (kind, kind_desc) = if *is_log { (1, "LOG") } else { (0, "ROWS") };
            rows.push(
                Record::new()
                    .with("database_id", database.id)
                    .with("file_id", file_id)
                    .with("type", kind)
                    .with("type_desc", kind_desc)
                    .with("data_space_id", i32::from(!*is_log))
                    .with("name", *name)
                    .with("physical_name", format!("{folder}{file}"))
                    .with("state", 0)
                    .with("state_desc", "ONLINE")
                    .with("size", *pages)
                    .with("max_size", -1)
                    .with("growth", 8_192),
            );
        }
    }
    rows
}
