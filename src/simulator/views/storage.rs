//! Owns the rows about I/O and row versions.

use crate::simulator::databases::{DatabaseFile, LOG_BLOCK_BYTES};
use crate::simulator::views::databases::PAGE_BYTES;
use crate::simulator::views::schema::{Record, address};
use crate::simulator::views::{Since, Source};
use crate::simulator::workload::counters::Cumulative;
use crate::simulator::workload::storage::{FileKind, FileLoad};

/// Bytes of a read, and of a write to a data file, where little happens.
const READ_BYTES: u64 = 57_344;
const WRITE_BYTES: u64 = 16_384;

/// What a file has done since it began to count: the load's part, and the little that happens whatever the load.
fn figures(file: &DatabaseFile, since: Since) -> FileLoad {
    let counted = |of: fn(&FileLoad) -> u64| since.value(Cumulative::loaded(of(&file.before), of(&file.load)));
    let (reads, writes) = (since.plain(file.idle_reads), since.plain(file.idle_writes));
    let is_log = file.kind == FileKind::Log;
    let (write_bytes, write_ms) = if is_log { (LOG_BLOCK_BYTES, 1) } else { (WRITE_BYTES, 3) };
    FileLoad {
        reads: counted(|load| load.reads).saturating_add(reads),
        read_bytes: counted(|load| load.read_bytes).saturating_add(reads.saturating_mul(READ_BYTES)),
        read_stall_ms: counted(|load| load.read_stall_ms).saturating_add(reads.saturating_mul(4)),
        queued_read_ms: counted(|load| load.queued_read_ms),
        writes: counted(|load| load.writes).saturating_add(writes),
        write_bytes: counted(|load| load.write_bytes).saturating_add(writes.saturating_mul(write_bytes)),
        write_stall_ms: counted(|load| load.write_stall_ms).saturating_add(writes.saturating_mul(write_ms)),
        queued_write_ms: counted(|load| load.queued_write_ms),
        growth_bytes: 0,
    }
}

/// A file's handle.
pub(super) fn handle(database_id: i32, file_id: i32) -> u64 {
    0x0a00 + u64::from(database_id.unsigned_abs()) * 0x40 + u64::from(file_id.unsigned_abs()) * 4
}

/// sys.dm_io_virtual_file_stats(database, file): NULL means all.
pub fn virtual_file_stats(source: Source<'_>) -> Vec<Record> {
    let sample_ms = source.machine_uptime_micros() / 1_000;
    let since_start = source.since_start();
    let mut rows = Vec::new();
    for shown in source.databases() {
        let database = shown.database;
        if source.number(0).is_some_and(|id| id != i64::from(database.id)) {
            continue;
        }
        let since = source.since_opened(database.id, since_start);
        for file in &database.files {
            if source.number(1).is_some_and(|id| id != i64::from(file.file_id)) {
                continue;
            }
            let done = figures(file, since);
            // A sparse file takes no more than what was written into it.
            let size = match file.kind {
                FileKind::Sparse => file.before.growth_bytes,
                _ => u64::from(file.pages.unsigned_abs()) * PAGE_BYTES,
            };
            let size = size.saturating_add(since.grown_bytes(file));
            rows.push(
                Record::new()
                    .with("database_id", database.id)
                    .with("file_id", file.file_id)
                    .with("sample_ms", sample_ms)
                    .with("num_of_reads", done.reads)
                    .with("num_of_bytes_read", done.read_bytes)
                    .with("io_stall_read_ms", done.read_stall_ms)
                    .with("io_stall_queued_read_ms", done.queued_read_ms)
                    .with("num_of_writes", done.writes)
                    .with("num_of_bytes_written", done.write_bytes)
                    .with("io_stall_write_ms", done.write_stall_ms)
                    .with("io_stall_queued_write_ms", done.queued_write_ms)
                    .with("io_stall", done.read_stall_ms.saturating_add(done.write_stall_ms))
                    .with("size_on_disk_bytes", size)
                    .with("file_handle", address(handle(database.id, file.file_id))),
            );
        }
    }
    rows
}

/// sys.dm_io_pending_io_requests: those of the workload, on its first data file.
pub fn pending_requests(source: Source<'_>) -> Vec<Record> {
    let storage = &source.instance.truth().storage;
    if !source.is_loaded() {
        return Vec::new();
    }
    let own = storage.own_database_id();
    let pending = storage.pending;
    let mut rows = Vec::new();
    for (io_pending, count) in [(1, pending.at_system), (0, pending.awaiting_notice)] {
        for index in 0..count {
            // The first is the oldest.
            let age = pending.oldest_ms * u64::from(count - index) / u64::from(count);
            let number = u64::from(index) * 2 + io_pending;
            rows.push(
                Record::new()
                    .with("io_completion_request_address", address(0x0000_01f4_7000_0040 + number * 0x200))
                    .with("io_type", "disk")
                    .with("io_pending_ms_ticks", age)
                    .with("io_pending", io_pending)
                    .with("scheduler_address", address(0x0000_01f4_2000_0040))
                    .with("io_handle", address(handle(own, 1)))
                    .with("io_offset", number * PAGE_BYTES * 8),
            );
        }
    }
    rows
}

/// Row versions that a database has now, KB: what the workload keeps while loaded, and what cleaning leaves behind.
pub(super) fn versions_kb(source: Source<'_>, version_store_kb: u64) -> u64 {
    if version_store_kb == 0 || !source.is_loaded() {
        return 0;
    }
    let versions = source.instance.truth().storage.versions;
    let left = versions.generated_kb.saturating_sub(versions.cleaned_kb);
    let all: u64 = source.databases().map(|shown| shown.database.version_store_kb).sum();
    let share = u128::from(left) * u128::from(version_store_kb) / u128::from(all.max(1));
    let share = u64::try_from(share).unwrap_or(u64::MAX);
    version_store_kb.saturating_add(source.added_since_origin(share))
}

/// Row versions that msdb keeps in tempdb, KB.
pub(super) const MSDB_VERSIONS_KB: u64 = 64;

/// Row versions of each database in tempdb, KB: none of those with accelerated recovery, whose versions stay inside.
pub(super) fn in_tempdb(source: Source<'_>) -> Vec<(i32, u64)> {
    let of = source.databases().map(|shown| {
        let database = shown.database;
        let inside = database.accelerated_recovery;
        let kb = if inside { 0 } else { versions_kb(source, database.version_store_kb) };
        (database.id, kb + if database.name == "msdb" { MSDB_VERSIONS_KB } else { 0 })
    });
    of.collect()
}

/// sys.dm_tran_version_store_space_usage.
pub fn version_store_space(source: Source<'_>) -> Vec<Record> {
    let rows = in_tempdb(source).into_iter().map(|(id, kb)| {
        Record::new()
            .with("database_id", id)
            .with("reserved_page_count", kb.div_ceil(8))
            .with("reserved_space_kb", kb.div_ceil(8).saturating_mul(8))
    });
    rows.collect()
}

/// sys.dm_tran_persistent_version_store_stats.
pub fn persistent_version_store(source: Source<'_>) -> Vec<Record> {
    let rows = source.databases().map(|shown| {
        let database = shown.database;
        let kb = if database.accelerated_recovery { versions_kb(source, database.version_store_kb) } else { 0 };
        Record::new()
            .with("database_id", database.id)
            .with("pvs_filegroup_id", 1)
            .with("persistent_version_store_size_kb", kb)
            .with("online_index_version_store_size_kb", 0)
            .with("current_aborted_transaction_count", 0)
    });
    rows.collect()
}
