//! Owns the rows about databases and their files as the catalogue has them.

use crate::simulator::databases::{DatabaseFile, LAST_SYSTEM_ID, Shown};
use crate::simulator::properties;
use crate::simulator::seeded;
use crate::simulator::value::Datum;
use crate::simulator::views::schema::{Record, time};
use crate::simulator::views::{Since, Source, replicas};
use crate::simulator::workload::storage::{Durability, FileKind};

/// 2019-09-24, the product's; nothing depends on it.
const SYSTEM_CREATED: i64 = 1_569_338_000_000_000;

/// Bytes of a page.
pub(super) const PAGE_BYTES: u64 = 8_192;

/// sys.databases.
pub fn databases(source: Source<'_>) -> Vec<Record> {
    source.databases().map(|shown| of_database(source, shown)).collect()
}

fn of_database(source: Source<'_>, shown: Shown<'_>) -> Record {
    let Shown { database, name } = shown;
    let level = source.instance.version_data().compatibility_level();
    let system = database.id <= LAST_SYSTEM_ID;
    let created = if system { SYSTEM_CREATED } else { SYSTEM_CREATED + 86_400_000_000 * 90 };
    let (recovery, recovery_desc) = if database.simple_recovery { (3, "SIMPLE") } else { (1, "FULL") };
    let isolation = database.snapshot_isolation || system && matches!(name, "master" | "msdb");
    let (durability, durability_desc) = match database.durability {
        Durability::Full => (0, "DISABLED"),
        Durability::Allowed => (1, "ALLOWED"),
        Durability::Delayed => (2, "FORCED"),
    };
    let mut record = Record::new()
        .with("name", name)
        .with("database_id", database.id)
        .with("owner_sid", Datum::Binary(vec![1]))
        .with("create_date", time(created))
        .with("compatibility_level", level)
        .with("collation_name", source.instance.switches().places.collation.name())
        .with("user_access", 0)
        .with("user_access_desc", "MULTI_USER")
        .with("is_read_only", database.source_database_id.is_some())
        .with("state", 0)
        .with("state_desc", "ONLINE")
        .with("snapshot_isolation_state", i32::from(isolation))
        .with("snapshot_isolation_state_desc", if isolation { "ON" } else { "OFF" })
        .with("is_read_committed_snapshot_on", database.read_committed_snapshot)
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
        .with("delayed_durability", durability)
        .with("delayed_durability_desc", durability_desc)
        .with("is_accelerated_database_recovery_on", database.accelerated_recovery)
        .with("physical_database_name", name)
        .with("catalog_collation_type", 0)
        .with("catalog_collation_type_desc", "DATABASE_DEFAULT");
    if let Some(of) = database.source_database_id {
        record = record.with("source_database_id", of);
    }
    if database.is_synchronous_primary {
        record = record
            .with("replica_id", replicas::local_id(source))
            .with("group_database_id", replicas::group_database_id(database.id));
    }
    OFF.iter().fold(record, |record, name| record.with(name, false))
}

/// Nullable flags that are off everywhere here.
const OFF: [&str; 27] = [
    "is_auto_shrink_on",
    "is_in_standby",
    "is_cleanly_shutdown",
    "is_supplemental_logging_enabled",
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
    let since = source.since_start();
    let mut rows = Vec::new();
    for shown in source.databases() {
        let id = shown.database.id;
        rows.extend(shown.database.files.iter().map(|file| of_file(since, id, file, &folder)));
    }
    rows
}

/// sys.database_files: those of the current database.
pub fn database_files(source: Source<'_>) -> Vec<Record> {
    let folder = properties::data_path(source.instance);
    let since = source.since_start();
    let Some(shown) = source.database_of(source.session) else { return Vec::new() };
    shown.database.files.iter().map(|file| of_file(since, shown.database.id, file, &folder)).collect()
}

fn of_file(since: Since, database_id: i32, file: &DatabaseFile, folder: &str) -> Record {
    let (kind, kind_desc) = if file.kind == FileKind::Log { (1, "LOG") } else { (0, "ROWS") };
    let is_sparse = file.kind == FileKind::Sparse;
    // A sparse file is as large as the one it is of, whatever it takes on disk.
    let grown = if is_sparse { 0 } else { since.grown_bytes(file) / PAGE_BYTES };
    let at_a_path = file.physical.contains(['\\', '/']);
    let physical = if at_a_path { file.physical.clone() } else { format!("{folder}{}", file.physical) };
    let guid = seeded::guid(&["file", &database_id.to_string(), &file.file_id.to_string()]);
    Record::new()
        .with("database_id", database_id)
        .with("file_id", file.file_id)
        .with("file_guid", Datum::Guid(guid))
        .with("type", kind)
        .with("type_desc", kind_desc)
        .with("data_space_id", 1 - kind)
        .with("name", file.name.as_str())
        .with("physical_name", physical)
        .with("state", 0)
        .with("state_desc", "ONLINE")
        .with("size", i64::from(file.pages).saturating_add(i64::try_from(grown).unwrap_or(i64::MAX)))
        .with("max_size", -1)
        .with("growth", 8_192)
        .with("is_sparse", is_sparse)
}
