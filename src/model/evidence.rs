//! Owns what a capture brings home: everything one report is made from.

use crate::model::{Module, ServerVersion, Table, Target, UtcMicros};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much a problem takes away from the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is missing.
    Info,
    /// Something may be less exact than it looks.
    Warning,
    /// Part of the evidence is missing: exit code 5.
    Partial,
}

/// Something that went other than it should have, kept beside the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Stable snake_case name.
    pub code: String,
    /// How much it takes away.
    pub severity: Severity,
    /// What happened, in one sentence.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// A problem without a hint.
    pub fn new(code: &str, severity: Severity, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), severity, message: message.into(), hint: None }
    }

    /// The same problem with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Who answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerIdentity {
    /// `@@SERVERNAME`.
    pub name: String,
    /// `SERVERPROPERTY('ProductVersion')`, for example `15.0.4198.2`.
    pub product_version: String,
    /// The version it belongs to, where xestack knows it.
    pub version: Option<ServerVersion>,
    /// `SERVERPROPERTY('Edition')`.
    pub edition: String,
    /// `SERVERPROPERTY('EngineEdition')`.
    pub engine_edition: i64,
    /// `sys.dm_os_sys_info.virtual_machine_type_desc`, `NONE` on hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_machine: Option<String>,
    /// `Windows` or `Linux`; `None` where the server does not tell (Azure SQL, or a login without the right to ask).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_platform: Option<String>,
    /// The machine that runs it now, `SERVERPROPERTY('ComputerNamePhysicalNetBIOS')`: another one after a failover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The named instance; `None` for a default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The server's collation: whether its names are compared with regard to case, and by which alphabet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
    /// The database that the connection is in: on Azure SQL Database the one that event sessions belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// Whether availability groups are enabled, so that another server may come to answer under the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hadr_enabled: Option<bool>,
    /// Whether it is a failover cluster instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clustered: Option<bool>,
    /// `sys.dm_os_sys_info.sqlserver_start_time_ms_ticks`, milliseconds from its machine's start to its own: another
    /// number after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms_ticks: Option<i64>,
    /// `sys.dm_os_sys_info.ms_ticks` when it was asked, on the same scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms_ticks: Option<i64>,
}

/// The time between the two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// First snapshot.
    pub started_at: UtcMicros,
    /// Second snapshot.
    pub ended_at: UtcMicros,
    /// Milliseconds between them by a monotonic clock.
    pub elapsed_ms: u64,
}

/// Counters taken in one moment: tables by DMV name without `sys.`, for example `dm_os_wait_stats`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// When, by the collector's clock.
    pub taken_at: UtcMicros,
    /// Tables by DMV name without `sys.`.
    pub tables: BTreeMap<String, Table>,
}

/// What is known of the events that a target counted. Unknown for pasted text and bare documents unless given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EventContext {
    /// `package.event`, for example `sqlos.wait_info`.
    pub event: Option<String>,
    /// The wait type the session was filtered to; several are joined by commas.
    pub wait_type: Option<String>,
}

/// How an event session stood when its target was to be read. A session that was dropped, one that was stopped, and one
/// that counted nothing look alike to a reader of targets, and are three things (field report L-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It ran.
    Running,
    /// Neither in the catalogue nor running: someone dropped it.
    Gone,
    /// It is on a server that no longer answers under this name.
    Unreachable,
    /// In the catalogue and not running, as long after its start as its own MAX_DURATION.
    StoppedByMaxDuration,
    /// In the catalogue and not running, for no reason of its own: someone stopped it.
    StoppedBySomeone,
    /// In the catalogue and not running, because the server restarted.
    StoppedByRestart,
    /// It ran, but as another instance than the one that was started: someone stopped it and started it again.
    StartedAgain,
    /// The server refused to create it.
    NotCreated,
}

/// One event session and its target document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionEvidence {
    /// Session name, or the file's name for offline input.
    pub name: String,
    /// The scenario it was made for; `None` for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// What its events are.
    pub context: EventContext,
    /// What its target buckets by: `callstack`, an event field such as `type`, or an action such as `sqlserver.query_hash`;
    /// `None` for call stacks of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// Keys of the map values its events are filtered to; empty where they are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter_keys: Vec<u64>,
    /// What the map values are called, in the order of `filter_keys`; empty where that is told by
    /// [`Evidence::map_names`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter_names: Vec<String>,
    /// N where only about one event in N is counted by design.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_one_in: Option<u64>,
    /// What its events are filtered to beside that, each in words, for example `database 5`: they are not all events
    /// of the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// How long it counted, milliseconds; `None` for the whole window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// Slots asked for in the DDL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots_requested: Option<u64>,
    /// `dropped_event_count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_events: Option<u64>,
    /// `dropped_buffer_count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_buffers: Option<u64>,
    /// `regular_buffer_size`, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
    /// N of the predicate `package0.counter <= N`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_cap: Option<u64>,
    /// Its own bound in time, the option MAX_DURATION, seconds; `None` where the server knows no such option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_seconds: Option<u64>,
    /// Whether the name is a session of ours on a server (false: a file, pasted text).
    pub live: bool,
    /// How it stood when its target was to be read; `None` for files, and where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// The document; `None` where there was none to read.
    pub target: Option<Target>,
    /// Stacks that came without a target document (pasted text).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pasted: Vec<crate::model::CountedStack>,
}

/// What was done with one trace flag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFlagUse {
    /// Flag number.
    pub flag: u32,
    /// Whether it was on globally before; `None` where TRACESTATUS could not be read.
    pub global_before: Option<bool>,
    /// Whether this run turned it on.
    pub enabled_by_us: bool,
    /// `session`, `global` or `none`.
    pub scope: String,
    /// Milliseconds it was on globally by this run.
    pub on_ms: u64,
    /// Whether TRACESTATUS showed the state of before at the end.
    pub restored: bool,
}

/// Everything one report is made from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Run id; `offline` for files.
    pub id: String,
    /// Scenario name; `None` for files that do not say.
    pub scenario: Option<String>,
    /// Who answered.
    pub server: Option<ServerIdentity>,
    /// Time covered.
    pub window: Option<Window>,
    /// Event sessions and documents.
    pub sessions: Vec<SessionEvidence>,
    /// Counters at the start.
    pub before: Option<Snapshot>,
    /// Counters at the end.
    pub after: Option<Snapshot>,
    /// Light samples between (`dm_os_schedulers`), in order.
    pub samples: Vec<Snapshot>,
    /// Snapshots between at a steady pace (`dm_io_virtual_file_stats`), in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Snapshot>,
    /// Trace flags looked at.
    pub trace_flags: Vec<TraceFlagUse>,
    /// Loaded modules.
    pub modules: Vec<Module>,
    /// Names of the server's spinlock types by map key, where the scenario looked them up.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub map_names: BTreeMap<u64, String>,
    /// Statements by query hash as sys.dm_exec_query_stats showed them at the end (`query_hash`, `statement_text`,
    /// `execution_count`, `total_worker_time`), where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statements: Option<Table>,
    /// Event sessions of others that ran in the window; they can cause contention themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_event_sessions: Vec<String>,
    /// Event sessions of other runs of this program that ran in the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_runs: Vec<String>,
    /// What went wrong while collecting.
    pub problems: Vec<Problem>,
}
