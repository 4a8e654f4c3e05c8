//! Owns what a scenario is: the question it asks, its event sessions, counters and bounds.

use crate::catalog::Pattern;
use crate::model::ServerVersion;
use serde::Deserialize;

/// What a capture investigates.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name, also its folder's.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What its verdict answers.
    pub question: Question,
    /// Workload that a demo simulates for it.
    pub workload: String,
    /// Oldest version it works on.
    pub minimum_version: ServerVersion,
    /// What it costs the server, for people.
    pub cost: String,
    /// How it is undone, for people.
    pub undo: String,
    /// Its event sessions, the one that decides first; none where counters alone answer.
    #[serde(default, rename = "session")]
    pub sessions: Vec<SessionTemplate>,
    /// A cheap look before it that finds which keys matter.
    pub survey: Option<Survey>,
    /// Its counters.
    pub counters: Counters,
    /// Its bounds.
    #[serde(default)]
    pub limits: Limits,
    /// When `--scenario auto` picks it; never where this is absent.
    pub auto: Option<AutoRule>,
}

impl Scenario {
    /// The event session that decides; `None` where counters alone answer.
    pub fn main(&self) -> Option<&SessionTemplate> {
        self.sessions.first()
    }

    /// Its event sessions, with the one that buckets its events by statement where that is asked for.
    pub fn sessions_with(&self, by_statement: bool) -> impl Iterator<Item = SessionTemplate> {
        let further = self.main().filter(|_| by_statement).map(SessionTemplate::by_statement);
        self.sessions.iter().cloned().chain(further)
    }
}

/// What a scenario's verdict answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Where scheduler yields come from.
    Yields,
    /// Which spinlock is contended.
    Spinlock,
    /// Which latch, other than those of buffer pages, tasks wait for.
    Latch,
    /// Which pages in memory tasks wait for.
    PageLatch,
    /// Whether commits wait for the log.
    LogWrite,
    /// Whether database snapshots make writes wait.
    Snapshot,
    /// Which files are slow, and when.
    FileLatency,
    /// Where the waits of a site's own scenario come from.
    Waits,
    /// Whether there is anything that a scenario would explain. No scenario asks this: a look that chooses one does.
    #[serde(skip)]
    Any,
}

/// When `--scenario auto` picks a scenario, after a short look at the counters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoRule {
    /// Wait types that speak for it, as patterns; the scenario with most non-idle wait time in its types is picked.
    #[serde(default)]
    pub wait_types: Vec<Pattern>,
    /// It is picked before the others from this proven share of the CPU in spins on, 0 to 1.
    pub spin_cpu_share_low: Option<f64>,
    /// It is picked where SQL Server uses at least this share of its schedulers and no other scenario's waits lead.
    pub sql_cpu_share: Option<f64>,
    /// It is picked where the latency of a file's I/Os is at least this many milliseconds and no other scenario's waits
    /// lead.
    pub file_latency_ms: Option<f64>,
}

/// An event session to create: one event, one predicate, one histogram.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionTemplate {
    /// Tells it from the scenario's other sessions; empty for the one that decides.
    #[serde(default)]
    pub name: String,
    /// `package.event`.
    pub event: String,
    /// Event field that holds the key.
    pub field: String,
    /// Further tests of its predicate, each `FIELD = INTEGER`.
    #[serde(default)]
    pub tests: Vec<FieldTest>,
    /// Map of the keys; a pattern of LIKE where builds differ.
    pub map: String,
    /// The map values that it is filtered to. Where there are none, the survey or [`SessionTemplate::values_from`] finds
    /// them.
    #[serde(default)]
    pub values: Vec<String>,
    /// Counter table whose leading row of the look before the window names the one value that it is filtered to.
    pub values_from: Option<String>,
    /// Map values that it is never filtered to.
    #[serde(default)]
    pub never: Vec<String>,
    /// Where a build lacks the event, the field, or the values, whether the scenario goes on without this session; of
    /// several values those that are missing are left out in any case.
    #[serde(default)]
    pub optional: bool,
    /// Oldest version that is known to have what an optional session needs: a dry run leaves it out before. A capture looks.
    pub since: Option<ServerVersion>,
    /// What its target buckets by: `callstack`, an event field, or an action as `package.action`.
    #[serde(default = "callstack")]
    pub bucket: String,
    /// Slots for call-stack text, or for another value; 1,024 where it is not said.
    #[serde(default = "slots")]
    pub slots: u64,
    /// Slots for `callstack_rva`, whose values are longer; 512.
    #[serde(default = "slots_rva")]
    pub slots_rva: u64,
    /// Whether its memory is always partitioned by node (frequent events); false.
    #[serde(default)]
    pub per_node: bool,
    /// MAX_MEMORY, KB; 8,192.
    #[serde(default = "max_memory_kb")]
    pub max_memory_kb: u64,
    /// MAX_DISPATCH_LATENCY, seconds; 1.
    #[serde(default = "dispatch_latency_seconds")]
    pub dispatch_latency_seconds: u64,
}

fn slots() -> u64 {
    1_024
}

fn slots_rva() -> u64 {
    512
}

fn max_memory_kb() -> u64 {
    8_192
}

fn dispatch_latency_seconds() -> u64 {
    1
}

/// `FIELD = INTEGER` of a predicate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct FieldTest {
    /// The event's field.
    pub field: String,
    /// What it must be.
    pub value: u64,
}

impl TryFrom<String> for FieldTest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not `FIELD = INTEGER`");
        let (field, value) = text.split_once('=').ok_or_else(wrong)?;
        let field = field.trim();
        let is_word = !field.is_empty() && field.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let value = value.trim().parse().map_err(|_| wrong())?;
        if is_word { Ok(Self { field: field.to_owned(), value }) } else { Err(wrong()) }
    }
}

/// The bucket of call stacks.
pub const CALLSTACK: &str = "callstack";
/// The bucket of statements.
pub const QUERY_HASH: &str = "sqlserver.query_hash";
/// The name of sessions with that bucket.
const QUERIES: &str = "queries";

fn callstack() -> String {
    CALLSTACK.to_owned()
}

impl SessionTemplate {
    /// The wait types it is filtered to, joined by commas, where the key is one.
    pub fn wait_type(&self) -> Option<String> {
        (self.map == "wait_types" && !self.values.is_empty()).then(|| self.values.join(","))
    }

    /// Its name among the sessions of a run: the scenario's, and its own after it.
    pub fn full_name(&self, scenario: &Scenario) -> String {
        if self.name.is_empty() { scenario.name.clone() } else { format!("{}-{}", scenario.name, self.name) }
    }

    /// The same events bucketed by the statement that they came from.
    #[must_use]
    pub fn by_statement(&self) -> Self {
        Self {
            name: QUERIES.to_owned(),
            bucket: QUERY_HASH.to_owned(),
            slots_rva: self.slots,
            optional: true,
            since: Some(ServerVersion::V2012),
            ..self.clone()
        }
    }

    /// Whether its target buckets by call stack.
    pub fn has_stacks(&self) -> bool {
        self.bucket == CALLSTACK
    }
}

/// A session without call stacks, bucketed by the key's own field.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survey {
    /// How long it counts.
    pub seconds: u64,
    /// Slots.
    pub slots: u64,
    /// Share of events from which a key is captured with stacks, 0 to 1.
    pub dominant_share: f64,
    /// Most keys captured with stacks.
    pub most_types: usize,
}

/// Counters read around and inside the window; names of files in `sessions/common`. One that has a text for newer versions
/// only is not read on an older one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// At the start and at the end.
    pub snapshot: Vec<String>,
    /// Between, a few times a second at most.
    pub sample: Vec<String>,
    /// Between, each time `--every` has passed.
    #[serde(default)]
    pub series: Vec<String>,
    /// Statement whose difference predicts the event rate; without it the survey measures it, or nothing does.
    pub volume: Option<String>,
}

/// Bounds that keep the server safe; each can be raised on the command line where it says so. A scenario names those that
/// differ from the usual ones.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Predicted events per second above which the capture is refused.
    pub max_events_per_second: u64,
    /// Events after which the session stops counting.
    pub max_events: u64,
    /// Largest target document allowed for, bytes of text: target_data is cut at 4 MB.
    pub max_target_bytes: u64,
    /// Allowed for a frame of call-stack text, escaped and symbolised, bytes.
    pub bytes_per_frame: u64,
    /// Allowed for a `<frame/>` element, bytes.
    pub bytes_per_frame_rva: u64,
    /// Share of scheduler time above which trace flags are refused, 0 to 1.
    pub max_cpu_for_trace_flags: f64,
    /// Share of the committed memory target that session memory stays below, 0 to 1.
    pub max_memory_share: f64,
    /// Dropped events above which an open window is ended.
    pub max_dropped_events: u64,
    /// Share of scheduler time above which an open window is ended, 0 to 1; only with `max_cpu_growth`.
    pub max_cpu_share: f64,
    /// What that share must have risen by since before the start, 0 to 1.
    pub max_cpu_growth: f64,
    /// Share of one core's time that the collector's own session may take, 0 to 1.
    pub max_own_cpu_share: f64,
    /// Successive samples in which CPU must be above its limits, or tasks wait for a worker.
    pub successive_samples: u32,
}

impl Default for Limits {
    /// The usual bounds.
    fn default() -> Self {
        Self {
            max_events_per_second: 20_000,
            max_events: 1_000_000,
            max_target_bytes: 3_145_728,
            bytes_per_frame: 90,
            bytes_per_frame_rva: 150,
            max_cpu_for_trace_flags: 0.95,
            max_memory_share: 0.01,
            max_dropped_events: 10_000,
            max_cpu_share: 0.98,
            max_cpu_growth: 0.10,
            max_own_cpu_share: 0.02,
            successive_samples: 3,
        }
    }
}
