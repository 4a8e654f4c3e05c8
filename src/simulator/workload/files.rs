//! Owns making the files of a workload's databases.

use crate::simulator::workload::storage::{FileKind, FileLoad, LogLoad, WorkloadDatabase, WorkloadFile};

/// What flushes do to the file of a log: each is a write.
pub const fn log_writes(log: LogLoad, stall_ms: u64) -> FileLoad {
    FileLoad::NONE.and_writes(log.flushes, log.bytes_flushed, stall_ms)
}

impl FileLoad {
    /// Reads of so many bytes each, and their stall in ms.
    pub const fn reads(count: u64, bytes_each: u64, stall_ms: u64) -> Self {
        Self { reads: count, read_bytes: count * bytes_each, read_stall_ms: stall_ms, ..Self::NONE }
    }

    /// Nothing.
    pub const NONE: Self = Self {
        reads: 0,
        read_bytes: 0,
        read_stall_ms: 0,
        queued_read_ms: 0,
        writes: 0,
        write_bytes: 0,
        write_stall_ms: 0,
        queued_write_ms: 0,
        growth_bytes: 0,
    };

    /// Writes of so many bytes each, and their stall in ms.
    pub const fn writes(count: u64, bytes_each: u64, stall_ms: u64) -> Self {
        Self::NONE.and_writes(count, count * bytes_each, stall_ms)
    }

    /// And writes of so many bytes together, and their stall in ms.
    #[must_use]
    pub const fn and_writes(self, count: u64, bytes: u64, stall_ms: u64) -> Self {
        Self { writes: count, write_bytes: bytes, write_stall_ms: stall_ms, ..self }
    }

    /// And growth on disk.
    #[must_use]
    pub const fn and_growth(self, growth_bytes: u64) -> Self {
        Self { growth_bytes, ..self }
    }
}

impl WorkloadFile {
    /// A file of rows: what it did before, and what it does in one burst.
    pub const fn data(
        name: &'static str,
        physical: &'static str,
        pages: i32,
        before: FileLoad,
        load: FileLoad,
    ) -> Self {
        Self { file_id: 1, name, physical, kind: FileKind::Data, pages, before, load }
    }

    /// A log.
    pub const fn log(name: &'static str, physical: &'static str, pages: i32, before: FileLoad, load: FileLoad) -> Self {
        Self { file_id: 2, name, physical, kind: FileKind::Log, pages, before, load }
    }

    /// A sparse file; its logical name is that of the file that it has copies of.
    pub const fn sparse(
        name: &'static str,
        physical: &'static str,
        pages: i32,
        before: FileLoad,
        load: FileLoad,
    ) -> Self {
        Self { file_id: 1, name, physical, kind: FileKind::Sparse, pages, before, load }
    }
}

impl WorkloadDatabase {
    /// A snapshot of another, with its one sparse file.
    pub fn snapshot_of(source: i32, id: i32, name: &'static str, file: WorkloadFile) -> Self {
        Self { source_database_id: Some(source), files: vec![file], ..Self::new(id, name) }
    }
}
