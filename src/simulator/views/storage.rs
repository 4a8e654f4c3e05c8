//! Owns the rows about files and row versions.

use crate::simulator::views::Source;
use crate::simulator::views::databases;
use crate::simulator::views::schema::{Record, address};

/// sys.dm_io_virtual_file_stats(database, file): NULL means all. Files do a little, by the uptime.
pub fn virtual_file_stats(source: Source<'_>) -> Vec<Record> {
    let up_ms = source.uptime_micros() / 1_000;
    let mut rows = Vec::new();
    for database in databases::of(source.instance.version_data()) {
        if source.number(0).is_some_and(|id| id != i64::from(database.id)) {
            continue;
        }
        for (file_id, (_, _, is_log, pages)) in (1_i32..).zip(database.files) {
            if source.number(1).is_some_and(|id| id != i64::from(file_id)) {
                continue;
            }
            let (reads, writes) =
                if *is_log { (up_ms / 9_000_000, up_ms / 4_100) } else { (up_ms / 61_000, up_ms / 47_000) };
            let (read_bytes, write_bytes) = (reads * 57_344, writes * if *is_log { 4_608 } else { 16_384 });
            let (read_stall, write_stall) = (reads * 4, writes * if *is_log { 1 } else { 3 });
            rows.push(
                Record::new()
                    .with("database_id", database.id)
                    .with("file_id", file_id)
                    .with("sample_ms", source.machine_uptime_micros() / 1_000)
                    .with("num_of_reads", reads)
                    .with("num_of_bytes_read", read_bytes)
                    .with("io_stall_read_ms", read_stall)
                    .with("num_of_writes", writes)
                    .with("num_of_bytes_written", write_bytes)
                    .with("io_stall_write_ms", write_stall)
                    .with("io_stall", read_stall + write_stall)
                    .with("size_on_disk_bytes", i64::from(*pages) * 8_192)
                    .with("file_handle", address(0x0a00 + database.id as u64 * 0x40 + file_id as u64 * 4)),
            );
        }
    }
    rows
}

/// sys.dm_tran_version_store_space_usage.
pub fn version_store_space(source: Source<'_>) -> Vec<Record> {
    let rows = databases::of(source.instance.version_data()).map(|database| {
        let pages = if database.name == "msdb" { 8 } else { 0 };
        Record::new()
            .with("database_id", database.id)
            .with("reserved_page_count", pages)
            .with("reserved_space_kb", pages * 8)
    });
    rows.collect()
}

/// sys.dm_tran_persistent_version_store_stats.
pub fn persistent_version_store(source: Source<'_>) -> Vec<Record> {
    let rows = databases::of(source.instance.version_data()).map(|database| {
        Record::new()
            .with("database_id", database.id)
            .with("pvs_filegroup_id", 1)
            .with("persistent_version_store_size_kb", 0)
            .with("online_index_version_store_size_kb", 0)
            .with("current_aborted_transaction_count", 0)
    });
    rows.collect()
}
