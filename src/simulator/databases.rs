//! Owns the databases of an instance: the system's, the workload's, those that switches add, and what becomes of them.

use crate::simulator::faults::places::Places;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::counters::{Cumulative, Reading};
use crate::simulator::workload::storage::{Durability, FileKind, FileLoad, LogLoad, WorkloadDatabase};
use crate::simulator::workload::{Truth, WORKLOAD_DATABASE, WORKLOAD_DATABASE_ID};
use std::collections::{BTreeMap, BTreeSet};

/// A file.
#[derive(Debug, Clone)]
pub struct DatabaseFile {
    /// Its number in its database.
    pub file_id: i32,
    /// Logical name.
    pub name: String,
    /// File name.
    pub physical: String,
    /// What it holds.
    pub kind: FileKind,
    /// Size in pages of 8 KB when the simulated time begins.
    pub pages: i32,
    /// Reads whatever the load.
    pub idle_reads: Cumulative,
    /// Writes whatever the load.
    pub idle_writes: Cumulative,
    /// What the workload's had done when the simulated time begins.
    pub before: FileLoad,
    /// What one burst adds.
    pub load: FileLoad,
}

/// What the log counts.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs)]
pub struct LogCounters {
    pub transactions: Cumulative,
    pub flushes: Cumulative,
    pub bytes_flushed: Cumulative,
    pub flush_waits: Cumulative,
    pub flush_wait_ms: Cumulative,
}

/// A database as it is when the simulated time begins.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct Database {
    pub id: i32,
    pub name: String,
    /// Of a snapshot, the database it is of.
    pub source_database_id: Option<i32>,
    pub simple_recovery: bool,
    pub read_committed_snapshot: bool,
    pub snapshot_isolation: bool,
    pub accelerated_recovery: bool,
    pub durability: Durability,
    pub is_synchronous_primary: bool,
    pub files: Vec<DatabaseFile>,
    pub log: LogCounters,
    /// Row versions while loaded, KB.
    pub version_store_kb: u64,
}

/// What an instance's past is like.
#[derive(Debug, Clone, Copy)]
pub struct Past {
    /// Hours the server has been up when the simulated time begins.
    pub uptime_hours: u64,
    /// How much more than the workload says it has done by then: 2 on the second node.
    pub times: u64,
}

/// Reads and writes of an hour: of a data file and of a log file.
const DATA_FILE_AN_HOUR: (u64, u64) = (59, 77);
const LOG_FILE_AN_HOUR: (u64, u64) = (1, 878);

/// Transactions, flushes and bytes of a log in an hour.
const LOG_AN_HOUR: (u64, u64, u64) = (1_800, 860, 3_962_880);

/// Bursts that the workload's log has seen before the simulated time begins, or as much.
const BURSTS_BEFORE: u64 = 400;

/// A file as the tables below have it: logical name, file name, whether it is the log, size in pages.
type PlainFile = (&'static str, &'static str, bool, i32);

const MASTER: &[PlainFile] = &[("master", "master.mdf", false, 608), ("mastlog", "mastlog.ldf", true, 256)];
const TEMPDB: &[PlainFile] = &[
    ("tempdev", "tempdb.mdf", false, 131_072),
    ("templog", "templog.ldf", true, 65_536),
    ("temp2", "tempdb_mssql_2.ndf", false, 131_072),
    ("temp3", "tempdb_mssql_3.ndf", false, 131_072),
    ("temp4", "tempdb_mssql_4.ndf", false, 131_072),
];
const MODEL: &[PlainFile] = &[("modeldev", "model.mdf", false, 1_024), ("modellog", "modellog.ldf", true, 1_024)];
const MSDB: &[PlainFile] = &[("MSDBData", "MSDBData.mdf", false, 2_112), ("MSDBLog", "MSDBLog.ldf", true, 640)];
const ONE_ROW: &[PlainFile] = &[("OneRow", "OneRow.mdf", false, 8_192), ("OneRow_log", "OneRow_log.ldf", true, 8_192)];
const ARCHIVE: &[PlainFile] =
    &[("Archive", "Archive.mdf", false, 8_192), ("Archive_log", "Archive_log.ldf", true, 8_192)];

/// The highest id of a system database.
pub const LAST_SYSTEM_ID: i32 = 4;

impl Past {
    /// A counter that nothing but the time moves.
    fn hourly(self, per_hour: u64) -> Cumulative {
        Cumulative { base: per_hour.saturating_mul(self.uptime_hours), load: 0, per_hour }
    }

    fn file(self, file_id: i32, name: String, physical: String, kind: FileKind, pages: i32) -> DatabaseFile {
        let (reads, writes) = if kind == FileKind::Log { LOG_FILE_AN_HOUR } else { DATA_FILE_AN_HOUR };
        DatabaseFile {
            file_id,
            name,
            physical,
            kind,
            pages,
            idle_reads: self.hourly(reads),
            idle_writes: self.hourly(writes),
            before: FileLoad::default(),
            load: FileLoad::default(),
        }
    }

    /// A database in which little happens.
    fn database(self, id: i32, name: &str, files: &[PlainFile]) -> Database {
        let kind = |is_log: bool| if is_log { FileKind::Log } else { FileKind::Data };
        let files = (1..).zip(files).map(|(file_id, (name, physical, is_log, pages))| {
            self.file(file_id, (*name).to_owned(), (*physical).to_owned(), kind(*is_log), *pages)
        });
        self.empty(id, name.to_owned(), files.collect())
    }

    fn empty(self, id: i32, name: String, files: Vec<DatabaseFile>) -> Database {
        let (transactions, flushes, bytes) = LOG_AN_HOUR;
        Database {
            id,
            name,
            source_database_id: None,
            simple_recovery: true,
            read_committed_snapshot: false,
            snapshot_isolation: false,
            accelerated_recovery: false,
            durability: Durability::Full,
            is_synchronous_primary: false,
            files,
            log: LogCounters {
                transactions: self.hourly(transactions),
                flushes: self.hourly(flushes),
                bytes_flushed: self.hourly(bytes),
                ..LogCounters::default()
            },
            version_store_kb: 0,
        }
    }

    fn of_workload(self, database: &WorkloadDatabase) -> Database {
        let files = database.files.iter().map(|file| DatabaseFile {
            file_id: file.file_id,
            name: file.name.to_owned(),
            physical: file.physical.to_owned(),
            kind: file.kind,
            pages: file.pages,
            idle_reads: Cumulative::default(),
            idle_writes: Cumulative::default(),
            before: times(&file.before, self.times),
            load: file.load,
        });
        Database {
            id: database.id,
            name: database.name.to_owned(),
            source_database_id: database.source_database_id,
            simple_recovery: database.simple_recovery,
            read_committed_snapshot: database.read_committed_snapshot,
            snapshot_isolation: database.snapshot_isolation,
            accelerated_recovery: database.accelerated_recovery,
            durability: database.durability,
            is_synchronous_primary: database.is_synchronous_primary,
            files: files.collect(),
            log: self.log(&database.log),
            version_store_kb: database.version_store_kb,
        }
    }

    fn log(self, load: &LogLoad) -> LogCounters {
        let counter =
            |load: u64| Cumulative::loaded(load.saturating_mul(BURSTS_BEFORE).saturating_mul(self.times), load);
        LogCounters {
            transactions: counter(load.transactions),
            flushes: counter(load.flushes),
            bytes_flushed: counter(load.bytes_flushed),
            flush_waits: counter(load.flush_waits),
            flush_wait_ms: counter(load.flush_wait_ms),
        }
    }

    /// The database of a workload that says nothing of its own: little I/O, and a log by the batches.
    fn one_row(self, truth: &Truth) -> Database {
        let batches = truth.throughput.batches;
        let part = |of: u64, by: u64| Cumulative {
            base: batches.base / of * by,
            load: batches.load / of * by,
            per_hour: batches.per_hour / of * by,
        };
        let mut database = self.database(WORKLOAD_DATABASE_ID, WORKLOAD_DATABASE, ONE_ROW);
        database.log = LogCounters {
            transactions: part(2, 1),
            flushes: part(3, 1),
            bytes_flushed: part(3, LOG_BLOCK_BYTES),
            ..LogCounters::default()
        };
        database
    }
}

/// Bytes of a write to the log where little happens.
pub const LOG_BLOCK_BYTES: u64 = 4_608;

fn times(load: &FileLoad, times: u64) -> FileLoad {
    let all = |value: u64| value.saturating_mul(times);
    FileLoad {
        reads: all(load.reads),
        read_bytes: all(load.read_bytes),
        read_stall_ms: all(load.read_stall_ms),
        queued_read_ms: all(load.queued_read_ms),
        writes: all(load.writes),
        write_bytes: all(load.write_bytes),
        write_stall_ms: all(load.write_stall_ms),
        queued_write_ms: all(load.queued_write_ms),
        growth_bytes: load.growth_bytes,
    }
}

/// All databases of an instance. On Azure SQL Database master and the users' are seen (assumed), no snapshot is there
/// (documented), and a second user database, in which little happens.
pub fn of_instance(version: &VersionData, truth: &Truth, places: &Places, past: Past) -> Vec<Database> {
    let azure_database = version.is_azure_database();
    let mut all = vec![past.database(1, "master", MASTER)];
    if !azure_database {
        let mut tempdb = past.database(2, "tempdb", TEMPDB);
        for file in &mut tempdb.files {
            let of_workload = truth.storage.tempdb.iter().find(|(file_id, _)| *file_id == file.file_id);
            file.load = of_workload.map_or_else(FileLoad::default, |(_, load)| *load);
        }
        let mut model = past.database(3, "model", MODEL);
        model.simple_recovery = false;
        all.extend([tempdb, model, past.database(LAST_SYSTEM_ID, "msdb", MSDB)]);
    }
    if truth.storage.databases.is_empty() {
        all.push(past.one_row(truth));
    }
    let is_there = |database: &&WorkloadDatabase| !azure_database || database.source_database_id.is_none();
    all.extend(truth.storage.databases.iter().filter(is_there).map(|database| past.of_workload(database)));
    if azure_database {
        let mut archive = past.database(next_id(&all), "Archive", ARCHIVE);
        archive.simple_recovery = false;
        all.push(archive);
    }
    if places.duplicate_names {
        add_duplicates(&mut all, truth.storage.own_database_id(), past);
    }
    let first = next_id(&all);
    all.extend((0..places.databases).map(|index| one_of_many(first, index, past)));
    all
}

fn next_id(databases: &[Database]) -> i32 {
    databases.iter().map(|database| database.id).max().unwrap_or(LAST_SYSTEM_ID) + 1
}

/// `duplicate-names`: in the workload's database a file more, whose logical name another has; and a database whose name
/// is that database's in the other case.
fn add_duplicates(all: &mut Vec<Database>, own: i32, past: Past) {
    let id = next_id(all);
    let Some(database) = all.iter_mut().find(|database| database.id == own) else { return };
    let file_id = database.files.iter().map(|file| file.file_id).max().unwrap_or(0) + 1;
    let name = database.files.first().map_or_else(|| database.name.clone(), |file| file.name.clone());
    database.files.push(past.file(file_id, name, "again.ndf".to_owned(), FileKind::Data, 1_024));
    let upper = database.name.to_uppercase();
    let name = if upper == database.name { database.name.to_lowercase() } else { upper };
    let files = [(1, "data", FileKind::Data), (2, "log", FileKind::Log)].map(|(file_id, suffix, kind)| {
        past.file(file_id, format!("{name}_{suffix}"), format!("{name}_{suffix}_2.mdf"), kind, 1_024)
    });
    all.push(past.empty(id, name, files.into()));
}

/// One of `databases=N`: three data files and a log.
fn one_of_many(first: i32, index: u32, past: Past) -> Database {
    let name = format!("Customer{:05}", index + 1);
    let data = |file_id: i32, suffix: &str| {
        past.file(file_id, format!("{name}{suffix}"), format!("{name}{suffix}.mdf"), FileKind::Data, 1_024)
    };
    let log = past.file(2, format!("{name}_log"), format!("{name}_log.ldf"), FileKind::Log, 1_024);
    let files = vec![data(1, ""), log, data(3, "_3"), data(4, "_4")];
    let id = first.saturating_add(i32::try_from(index).unwrap_or(i32::MAX));
    past.empty(id, name, files)
}

/// What has become of them since.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// New names by id.
    pub renamed: BTreeMap<i32, String>,
    /// Those that are gone.
    pub dropped: BTreeSet<i32>,
    /// Those that were offline: where counters stood when their files began to count anew.
    pub anew: BTreeMap<i32, Reading>,
}

/// A database as it is now.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// What it was from the start.
    pub database: &'a Database,
    /// Its name now.
    pub name: &'a str,
}

impl Changes {
    /// The databases there are now.
    pub fn shown<'a>(&'a self, all: &'a [Database]) -> impl Iterator<Item = Shown<'a>> {
        let there = all.iter().filter(|database| !self.dropped.contains(&database.id));
        there.map(|database| {
            let name = self.renamed.get(&database.id).unwrap_or(&database.name);
            Shown { database, name }
        })
    }
}
