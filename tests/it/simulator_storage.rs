//! Tests of what the simulated server shows of a workload beside its waits: databases, files, logs, statements.
//!
//! They run T-SQL on an instance whose workload is made here, so every figure is known.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod counters;
mod moments;
mod statements;
mod switches;

use crate::simulator_events::fits;
use secrecy::SecretString;
use std::sync::Arc;
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::clock::ManualClock;
use xestack::simulator::host::{Host, Login, Request, Session};
use xestack::simulator::instance::Instance;
use xestack::simulator::instance::options::InstanceOptions;
use xestack::simulator::output::{Output, Step};
use xestack::simulator::sql::SqlSession;
use xestack::simulator::value::Datum;
use xestack::simulator::versions::VersionData;
use xestack::simulator::views;
use xestack::simulator::workload::pace::Pace;
use xestack::simulator::workload::storage::{
    CachedStatement, Durability, FileKind, FileLoad, LogLoad, Maintenance, PendingIos, Storage, Versions, Waiting,
    WorkloadDatabase, WorkloadFile,
};
use xestack::simulator::workload::{Truth, Workload};

const VERSIONS: [ServerVersion; 10] = [
    ServerVersion::V2008R2,
    ServerVersion::V2012,
    ServerVersion::V2014,
    ServerVersion::V2016,
    ServerVersion::V2017,
    ServerVersion::V2019,
    ServerVersion::V2022,
    ServerVersion::V2025,
    ServerVersion::AzureMi,
    ServerVersion::AzureDb,
];

/// What the data file of `Shop` does in one burst.
const DATA: FileLoad = FileLoad {
    reads: 1_001,
    read_bytes: 65_601_537,
    read_stall_ms: 57_057,
    queued_read_ms: 13,
    writes: 307,
    write_bytes: 80_478_208,
    write_stall_ms: 184_211,
    queued_write_ms: 7,
    growth_bytes: 1_048_576,
};

/// What its log file does.
const LOG: FileLoad = FileLoad {
    reads: 0,
    read_bytes: 0,
    read_stall_ms: 0,
    queued_read_ms: 0,
    writes: 41_667,
    write_bytes: 43_870_720,
    write_stall_ms: 2_966,
    queued_write_ms: 0,
    growth_bytes: 0,
};

/// What the snapshot's sparse file does.
const SPARSE: FileLoad = FileLoad { writes: 999, write_bytes: 8_183_808, growth_bytes: 8_183_808, ..NOTHING };

const NOTHING: FileLoad = FileLoad {
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

/// What all had done before.
const BEFORE: FileLoad = FileLoad { reads: 10, writes: 20, read_stall_ms: 30, write_stall_ms: 40, ..NOTHING };

const FLUSHES: LogLoad = LogLoad {
    transactions: 41_700,
    flushes: 41_667,
    bytes_flushed: 43_870_720,
    flush_waits: 41_666,
    flush_wait_ms: 5_201,
};

const HASH: u64 = 0xfedc_ba98_7654_3210;
const INSERT: &str = "INSERT INTO dbo.Orders (Customer) VALUES (@1)";
const REBUILD: &str = "ALTER INDEX ALL ON dbo.Orders REBUILD";

fn file(file_id: i32, name: &'static str, kind: FileKind, load: FileLoad) -> WorkloadFile {
    WorkloadFile { file_id, name, physical: name, kind, pages: 1_024, before: BEFORE, load }
}

/// A database `Shop` with a snapshot, and some of everything.
fn storage() -> Storage {
    let shop = WorkloadDatabase {
        read_committed_snapshot: true,
        durability: Durability::Delayed,
        is_synchronous_primary: true,
        files: vec![file(1, "Shop", FileKind::Data, DATA), file(2, "Shop_log", FileKind::Log, LOG)],
        log: FLUSHES,
        version_store_kb: 4_096,
        ..WorkloadDatabase::new(5, "Shop")
    };
    let snapshot = WorkloadDatabase {
        source_database_id: Some(5),
        files: vec![file(1, "Shop", FileKind::Sparse, SPARSE)],
        ..WorkloadDatabase::new(6, "Shop_Monday")
    };
    let inside = WorkloadDatabase {
        accelerated_recovery: true,
        snapshot_isolation: true,
        version_store_kb: 2_048,
        ..WorkloadDatabase::new(8, "Inside")
    };
    let waits = |wait_type, resource, percent| Waiting { wait_type, resource, percent };
    let statement = |hash, text, executions, cpu_ms| CachedStatement { hash, text, share: 500, executions, cpu_ms };
    Storage {
        databases: vec![shop, snapshot, inside],
        tempdb: vec![(3, DATA)],
        index_searches: Some(600_000),
        versions: Versions { generated_kb: 9_000, cleaned_kb: 3_000 },
        waiting: vec![waits("PAGELATCH_UP", "2:1:1", 30), waits("WRITELOG", "", 1), waits("LATCH_EX", "x", 0)],
        maintenance: vec![Maintenance { command: "ALTER INDEX", database_id: 5, statement: REBUILD }],
        pending: PendingIos { at_system: 3, awaiting_notice: 2, oldest_ms: 90 },
        statements: vec![statement(HASH, INSERT, 41_700, 2_345), statement(7, "SELECT 1", 10, 0)],
        trace_file: Some(r"C:\Traces\audit.trc"),
    }
}

/// An instance with a workload of one burst of ten seconds.
struct Lab {
    instance: Arc<Instance>,
    clock: Arc<ManualClock>,
}

impl Lab {
    fn new(version: ServerVersion) -> Self {
        Self::with(version, &[], storage())
    }

    fn with(version: ServerVersion, faults: &[&str], storage: Storage) -> Self {
        Self::named(None, version, faults, storage)
    }

    /// One with a name of its own is a second node.
    fn named(name: Option<&str>, version: ServerVersion, faults: &[&str], storage: Storage) -> Self {
        let data = VersionData::of(version).unwrap();
        let mut recipe = Workload::LockHash.recipe(data);
        recipe.storage = storage;
        Self::doing(recipe.truth(data, 1), name, version, faults)
    }

    /// One whose workload does this.
    fn doing(truth: Truth, name: Option<&str>, version: ServerVersion, faults: &[&str]) -> Self {
        let data = VersionData::of(version).unwrap();
        let mut options = InstanceOptions::new(version, SecretString::from("secret"));
        options.faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
        options.pace = Pace::Burst(Duration::from_secs(10));
        options.name = name.map(str::to_owned);
        let clock = Arc::new(ManualClock::default());
        let instance = Instance::with_truth(options, data, Arc::new(truth), clock.clone());
        Self { instance, clock }
    }

    fn pass(&self, seconds: i64) {
        self.clock.advance_micros(seconds * 1_000_000);
    }

    fn login(&self, database: &str) -> Client {
        let login =
            Login { user: "sa".into(), password: "secret".into(), database: database.into(), ..Login::default() };
        let context = self.instance.open_session(&login).unwrap();
        Client(SqlSession::new(self.instance.clone(), context), 0)
    }

    /// The name of the workload's own database.
    fn own_database(&self) -> String {
        let own = self.instance.truth().storage.own_database_id();
        let databases = self.instance.databases();
        databases.into_iter().find(|(id, _)| *id == own).unwrap().1
    }

    /// A session in it.
    fn client(&self) -> Client {
        self.login(&self.own_database())
    }

    /// Begins a burst.
    fn burst(&self) {
        let azure = self.instance.version_data().is_azure_database();
        let scope = if azure { "DATABASE" } else { "SERVER" };
        let counter =
            if self.instance.version() < ServerVersion::V2012 { "synchronous_event_counter" } else { "event_counter" };
        let mut client = self.client();
        client.rows(&format!(
            "CREATE EVENT SESSION s ON {scope} ADD EVENT sqlos.wait_info ADD TARGET package0.{counter}"
        ));
        client.rows(&format!("ALTER EVENT SESSION s ON {scope} STATE = START"));
    }

    /// Begins a burst and waits for its end.
    fn whole_burst(&self) {
        self.burst();
        self.pass(10);
    }
}

/// One connection, and how many requests it has sent.
struct Client(SqlSession, u64);

impl Client {
    /// The rows of the last result set, values as text; the number of the first error.
    fn try_rows(&mut self, sql: &str) -> Result<Vec<Vec<String>>, u32> {
        self.1 += 1;
        self.0.start(self.1, Request::Batch(sql.to_owned()));
        let mut found = Vec::new();
        let mut error = None;
        while let Some(step) = self.0.step() {
            match step {
                Step::Output(Output::Rows { columns, rows }) => {
                    for row in &rows {
                        for (column, value) in columns.iter().zip(row) {
                            let right = *value == Datum::Null || fits(column.sql_type, value);
                            assert!(right, "{sql}: {value:?} in {}: {:?}", column.name, column.sql_type);
                        }
                    }
                    found = rows.into_iter().map(|row| row.iter().map(text).collect()).collect();
                }
                Step::Output(Output::Message(message)) if message.is_error() => {
                    error = error.or(Some(message.number));
                }
                _ => {}
            }
        }
        error.map_or(Ok(found), Err)
    }

    fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        self.try_rows(sql).unwrap_or_else(|number| panic!("{sql}: error {number}"))
    }

    fn number(&mut self, sql: &str) -> i64 {
        let rows = self.rows(sql);
        let [row] = rows.as_slice() else { panic!("{sql}: {rows:?}") };
        row[0].parse().unwrap_or_else(|_| panic!("{sql}: {row:?}"))
    }

    fn numbers(&mut self, sql: &str) -> Vec<i64> {
        let rows = self.rows(sql);
        assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
        rows[0].iter().map(|value| value.parse().unwrap()).collect()
    }
}

fn text(value: &Datum) -> String {
    match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Bit(bit) => u8::from(*bit).to_string(),
        Datum::Int(number) => number.to_string(),
        Datum::Float(number) => number.to_string(),
        Datum::Text(text) => text.clone(),
        other => format!("{other:?}"),
    }
}

#[test]
fn every_row_of_a_loaded_server_fits_its_columns() {
    for version in VERSIONS {
        let lab = Lab::with(version, &["databases=3", "duplicate-names", "huge-counters"], storage());
        lab.burst();
        lab.pass(5);
        let context = lab.instance.open_session(&Login {
            user: "sa".into(),
            password: "secret".into(),
            database: "Shop".into(),
            ..Login::default()
        });
        let context = context.unwrap();
        for view in views::names() {
            let Some(columns) = lab.instance.columns("sys", view) else { continue };
            let rows = lab.instance.rows(&context, "sys", view, &[]).unwrap();
            for (row, column, value) in
                rows.iter().flat_map(|row| columns.iter().zip(row).map(move |(column, value)| (row, column, value)))
            {
                let right = if *value == Datum::Null { column.nullable } else { fits(column.sql_type, value) };
                assert!(right, "{version} {view}.{}: {value:?} in {:?} of {row:?}", column.name, column.sql_type);
            }
        }
    }
}
