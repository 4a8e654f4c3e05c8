//! Owns what `xestack doctor` tells: the JSON `xestack.doctor/1`, key for key. Renaming a field here changes the contract.

use crate::model::{Problem, ServerIdentity, Tool, UtcMicros};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `schema` of every answer.
pub const DOCTOR_SCHEMA: &str = "xestack.doctor/1";

/// What a login may do on a server, what each scenario would run and cost there, and what is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Doctor {
    /// [`DOCTOR_SCHEMA`].
    pub schema: String,
    /// Which program asked.
    pub tool: Tool,
    /// When, by the collector's clock.
    pub asked_at: UtcMicros,
    /// Who answered.
    pub server: ServerIdentity,
    /// How busy it is.
    pub load: ServerLoad,
    /// Who asked, and what that login may do.
    pub login: LoginRights,
    /// Every scenario asked for.
    pub scenarios: Vec<ScenarioOutlook>,
    /// Trace flags now, and what the opt-in would do.
    pub trace_flags: TraceFlagOutlook,
    /// Event sessions now.
    pub event_sessions: EventSessions,
    /// What statements of event sessions set off.
    pub side_effects: SideEffectOutlook,
    /// How frames would get their names.
    pub symbols: SymbolOutlook,
    /// What could not be found out, or is odd.
    pub problems: Vec<Problem>,
}

/// How busy a server is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerLoad {
    /// Share of its schedulers' time that SQL Server uses, 0 to 1; `None` where it cannot be told.
    pub cpu_share: Option<f64>,
    /// Tasks that wait for a worker.
    pub work_queue: Option<i64>,
    /// Milliseconds since SQL Server started.
    pub uptime_ms: Option<i64>,
}

/// What one login may do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoginRights {
    /// `SUSER_SNAME()`.
    pub name: String,
    /// Whether it is in the role sysadmin.
    pub sysadmin: bool,
    /// Permissions by name and whether each is held; null where the version does not know it.
    pub permissions: BTreeMap<String, Option<bool>>,
    /// What a capture needs, and how it stands.
    pub needs: Vec<NeedOutlook>,
}

/// How something that a capture needs stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedState {
    /// Allowed.
    Held,
    /// Not allowed.
    Missing,
    /// No login may do it in this place.
    NotOffered,
}

/// Something that a capture needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedOutlook {
    /// In words, for example `create an event session`.
    pub need: String,
    /// How it stands.
    pub state: NeedState,
    /// The database in which to run `grant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_in: Option<String>,
    /// The statement that an administrator runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
}

/// What can be done of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScenarioReadiness {
    /// All of it.
    Ready,
    /// Counters without call stacks.
    CountersOnly,
    /// Nothing.
    Impossible,
}

/// A scenario on this server, for this login.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioOutlook {
    /// Its name.
    pub name: String,
    /// What can be done.
    pub readiness: ScenarioReadiness,
    /// Why not all.
    pub reason: Option<String>,
    /// What to do about it: the GRANT, or the flag.
    pub remedy: Option<String>,
    /// What a window would run.
    pub would_run: Option<WouldRun>,
    /// What reading its counters once costs.
    pub poll: Option<PollCost>,
    /// Lines of one window in the server's error log.
    pub error_log: ErrorLogOutlook,
}

/// The event sessions of a window: the one that decides, and what is beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WouldRun {
    /// `package.event`.
    pub event: String,
    /// `callstack` or `callstack_rva`.
    pub action: String,
    /// `histogram` or `asynchronous_bucketizer`.
    pub target: String,
    /// Slots asked for.
    pub slots: u64,
    /// The events of the further sessions, `package.event`.
    #[serde(default)]
    pub further_events: Vec<String>,
    /// Most bytes of the documents of all targets; target memory is outside the sessions'.
    pub target_bytes: u64,
    /// Memory of each session, KB.
    pub session_memory_kb: u64,
    /// `NONE` or `PER_NODE`.
    pub partition_mode: String,
    /// Events after which the session stops counting.
    pub event_cap: u64,
    /// Seconds after which the server ends the session by itself; `None` where it cannot.
    pub max_duration_seconds: Option<u64>,
    /// Events a second to be expected; `None` where that is only found by the survey.
    pub events_per_second: Option<f64>,
    /// Events a second above which a capture is refused.
    pub events_per_second_limit: u64,
    /// Seconds of a survey without call stacks before the window.
    pub survey_seconds: Option<u64>,
}

/// What reading a scenario's counters once costs, measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PollCost {
    /// Milliseconds of server CPU, on the own session; `None` where the server does not tell.
    pub cpu_ms: Option<f64>,
    /// Milliseconds of server CPU that it may cost.
    pub cpu_ms_bound: f64,
    /// Milliseconds until the answer was there.
    pub answer_ms: f64,
    /// How often it was read for this.
    pub readings: u32,
}

/// Lines of a window in the server's error log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ErrorLogOutlook {
    /// Of event sessions that start and stop (messages 25753 and 25754; SQL Server 2022 before CU15).
    pub session_lines: u64,
    /// Of trace flags (messages 17550 and 17551), at most; only with the opt-in.
    pub trace_flag_lines: u64,
    /// All of these a day, for a window every fifteen minutes.
    pub lines_a_day_every_15_minutes: u64,
}

/// Trace flags now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TraceFlagOutlook {
    /// Flags that are on globally; `None` where the server does not tell.
    pub on_globally: Option<Vec<i64>>,
    /// The flags that name frames in this version.
    pub symbol_flags: Vec<u32>,
    /// Whether `--enable-trace-flags` would be accepted now.
    pub opt_in_accepted: bool,
    /// Why, or why not.
    pub opt_in: String,
}

/// A session of this program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnSession {
    /// Its name.
    pub name: String,
    /// Its run.
    pub run_id: String,
    /// Whether the run is dead, so that `xestack cleanup` would remove it.
    pub dead: bool,
    /// Whether it runs.
    pub running: bool,
}

/// Event sessions now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EventSessions {
    /// Sessions of others that run; they can cause contention of their own. `None` where they cannot be seen.
    pub running: Option<Vec<String>>,
    /// Sessions of this program.
    pub ours: Vec<OwnSession>,
}

/// What statements of event sessions set off.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SideEffectOutlook {
    /// Enabled server triggers on such statements, by name with their events.
    pub ddl_triggers: BTreeMap<String, Vec<String>>,
    /// Enabled audits.
    pub audits: Vec<String>,
}

/// How frames would get their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolOutlook {
    /// `module_offset_pdb`, `module_offset_or_address`.
    pub frames: String,
    /// In two sentences.
    pub text: String,
}
