//! Owns which statement is sent for which step of a capture.

use crate::catalog::sessions::{CALLSTACK, Scenario, SessionTemplate, Sessions};
use crate::model::ServerVersion;
use crate::statements::counters::{self, CounterStatement, batch, polled};
use crate::statements::{Argument, Filters, RenderError, render};

/// Where a trace flag is turned on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// For the connection; it dies with it.
    Session,
    /// For the whole server.
    Global,
}

/// The values of a CREATE EVENT SESSION.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDefinition {
    /// Its name, the marker of the run.
    pub name: String,
    /// Keys it is filtered to; none for all events, `None` in a dry run.
    pub keys: Option<Vec<u64>>,
    /// What else it is filtered to.
    pub filters: Filters,
    /// `callstack` or `callstack_rva`.
    pub callstack_action: String,
    /// `histogram` or `asynchronous_bucketizer`.
    pub target: String,
    /// What its target buckets by: `callstack`, an event field, or an action as `package.action`.
    pub bucket: String,
    /// Slots.
    pub slots: u64,
    /// N of `package0.counter <= N`.
    pub max_events: u64,
    /// MAX_MEMORY, KB.
    pub max_memory_kb: u64,
    /// `NONE` or `PER_NODE`.
    pub partition_mode: String,
    /// MAX_DURATION, seconds, where the server has that option.
    pub max_duration_seconds: Option<u64>,
}

/// How long a run tries to get back to a server before it gives up, seconds: what bounds a session on the server must
/// outlast it.
pub const RECONNECT_LIMIT_SECONDS: u64 = 60;
/// Allowed for beside it, seconds.
const MARGIN_SECONDS: u64 = 60;

/// MAX_DURATION for a window over some scenarios: the server ends a session of ours by itself when nobody else can any
/// more, and not before. Seconds.
pub fn max_duration_seconds<'a>(window_seconds: u64, scenarios: impl IntoIterator<Item = &'a Scenario>) -> u64 {
    let of_scenario = |scenario: &Scenario| {
        let survey_seconds = scenario.survey.as_ref().map_or(0, |survey| survey.seconds);
        survey_seconds + 2 * latency_seconds(scenario)
    };
    let beside: u64 = scenarios.into_iter().map(of_scenario).sum();
    window_seconds + beside + RECONNECT_LIMIT_SECONDS + MARGIN_SECONDS
}

/// The longest MAX_DISPATCH_LATENCY of a scenario's sessions, seconds; 0 without one.
pub fn latency_seconds(scenario: &Scenario) -> u64 {
    scenario.sessions.iter().map(|session| session.dispatch_latency_seconds).max().unwrap_or_default()
}

/// What is read with the counters to watch over the window: the collector's own session, and the event sessions that run.
const WATCHED: [&str; 2] = ["dm_exec_sessions", "dm_xe_sessions"];

/// The usual wait for locks again: without end.
pub const NO_LOCK_TIMEOUT: &str = "SET LOCK_TIMEOUT -1";

/// The statements for one version.
#[derive(Debug, Clone, Copy)]
pub struct Statements<'a> {
    sessions: &'a Sessions,
    version: ServerVersion,
}

type Rendered = Result<String, RenderError>;

impl<'a> Statements<'a> {
    /// Statements from a catalogue for a version.
    pub fn new(sessions: &'a Sessions, version: ServerVersion) -> Self {
        Self { sessions, version }
    }

    /// The version they are for.
    pub fn version(&self) -> ServerVersion {
        self.version
    }

    /// What event sessions belong to there, as DDL says it: `SERVER`, or `DATABASE` on Azure SQL Database.
    pub fn scope(&self) -> &'static str {
        if self.version == ServerVersion::AzureDb { "DATABASE" } else { "SERVER" }
    }

    /// A statement of `sessions/common` with its values; `{scope}` is filled in everywhere.
    pub fn common(&self, name: &str, arguments: &[(&str, Argument<'_>)]) -> Rendered {
        let text = self
            .sessions
            .common_text(name, self.version)
            .ok_or_else(|| RenderError::Missing(format!("common/{name}")))?;
        let scope = [("scope", Argument::Keyword(self.scope()))];
        render(name, text, &[arguments, &scope].concat())
    }

    /// CREATE EVENT SESSION, stopped.
    pub fn create_session(&self, template: &SessionTemplate, session: &SessionDefinition) -> Rendered {
        let SessionTemplate { event, field, map, values, tests, .. } = template;
        let wanted = match values.as_slice() {
            [] => "the leading ones".to_owned(),
            values => values.join(", "),
        };
        let looked_up = format!("{}: {wanted}", map.trim_matches('%'));
        // An action is collected to be bucketed by; a field of the event is there by itself.
        let action = match session.bucket.as_str() {
            CALLSTACK => Some(format!("package0.{}", session.callstack_action)),
            bucket => Some(bucket.to_owned()).filter(|bucket| bucket.contains('.')),
        };
        let source = action.as_deref().unwrap_or(&session.bucket);
        let arguments = [
            ("session_name", Argument::Name(&session.name)),
            ("scope", Argument::Keyword(self.scope())),
            ("event", Argument::Keyword(event)),
            ("event_text", Argument::Text(event)),
            ("action", Argument::Action(action.as_deref())),
            ("keys", Argument::Keys { field, keys: session.keys.as_deref(), looked_up: &looked_up }),
            ("tests", Argument::Tests(tests)),
            ("filters", Argument::Filters(&session.filters)),
            ("max_events", Argument::Number(session.max_events)),
            ("target", Argument::Keyword(&session.target)),
            ("slots", Argument::Number(session.slots)),
            ("source_type", Argument::Number(u64::from(action.is_some()))),
            ("source", Argument::Text(source)),
            ("max_memory_kb", Argument::Number(session.max_memory_kb)),
            ("dispatch_latency_seconds", Argument::Number(template.dispatch_latency_seconds)),
            ("partition_mode", Argument::Keyword(&session.partition_mode)),
            ("max_duration", Argument::Seconds { option: "MAX_DURATION", seconds: session.max_duration_seconds }),
        ];
        self.common("create_session", &arguments)
    }

    /// START, STOP or DROP of a session: `start_session`, `stop_session`, `drop_session`.
    pub fn session(&self, statement: &str, name: &str) -> Rendered {
        self.common(statement, &[("session_name", Argument::Name(name))])
    }

    /// Ends the firing of a session's event and keeps its target.
    pub fn drop_event(&self, name: &str, event: &str) -> Rendered {
        self.common("drop_event", &[("session_name", Argument::Name(name)), ("event", Argument::Keyword(event))])
    }

    /// The target's document with the session's losses.
    pub fn read_target(&self, name: &str) -> Rendered {
        self.common("read_target", &[("session_text", Argument::Text(name))])
    }

    /// The ways to read it: as [`Statements::read_target`] does, then in all columns that the views have.
    pub fn read_target_ways(&self, name: &str) -> Result<Vec<String>, RenderError> {
        let named = self.read_target(name)?;
        let whole = counters::whole(&named);
        Ok([named].into_iter().chain(whole).collect())
    }

    /// All values of the maps of a name, which may be a pattern of LIKE.
    pub fn map_values(&self, map: &str) -> Rendered {
        self.common("map_values", &[("map", Argument::Text(map))])
    }

    /// Under which names a map may hold a value.
    pub fn map_texts<'b>(&'b self, map: &str, value: &'b str) -> impl Iterator<Item = &'b str> {
        self.sessions.map_texts(map, value)
    }

    /// The fields of an event, given as `package.event`.
    pub fn event_fields(&self, event: &str) -> Rendered {
        self.common("event_fields", &[("event", Argument::Text(name_of(event)))])
    }

    /// The id of a database.
    pub fn database_id(&self, name: &str) -> Rendered {
        self.common("database_id", &[("database", Argument::Text(name))])
    }

    /// The state of trace flags.
    pub fn trace_status(&self, flags: &[u32]) -> Rendered {
        self.common("trace_status", &[("flags", Argument::Numbers(flags))])
    }

    /// TRACEON.
    pub fn trace_on(&self, flags: &[u32], scope: Scope) -> Rendered {
        let name = match scope {
            Scope::Session => "trace_on_session",
            Scope::Global => "trace_on_global",
        };
        self.common(name, &[("flags", Argument::Numbers(flags))])
    }

    /// TRACEOFF.
    pub fn trace_off(&self, flags: &[u32], scope: Scope) -> Rendered {
        let name = match scope {
            Scope::Session => "trace_off_session",
            Scope::Global => "trace_off_global",
        };
        self.common(name, &[("flags", Argument::Numbers(flags))])
    }

    /// Takes a lock of ours for as long as the connection lives.
    pub fn take_lock(&self, resource: &str) -> Rendered {
        self.common("take_lock", &[("resource", Argument::Text(resource))])
    }

    /// Gives it back.
    pub fn release_lock(&self, resource: &str) -> Rendered {
        self.common("release_lock", &[("resource", Argument::Text(resource))])
    }

    /// The count that predicts a scenario's event rate: of the values that its sessions are filtered to.
    pub fn volume(&self, statement: &str, scenario: &Scenario) -> Rendered {
        let mut values: Vec<String> = Vec::new();
        for value in scenario.sessions.iter().flat_map(|session| &session.values) {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        self.common(statement, &[("values", Argument::Texts(&values))])
    }

    /// Which of the objects exist that the sessions of these events need.
    pub fn capabilities(&self, events: &[String]) -> Rendered {
        let names: Vec<String> = events.iter().map(|event| name_of(event).to_owned()).collect();
        self.common("capabilities", &[("events", Argument::Texts(&names))])
    }

    /// Statements and their counts by query hash.
    pub fn query_statements(&self, hashes: &[u64]) -> Rendered {
        self.common("query_statements", &[("hashes", Argument::Binaries(hashes))])
    }

    /// The ways to read a counter table, the newest first; see [`CounterStatement`].
    pub fn counter(&self, name: &str) -> Result<Vec<CounterStatement>, RenderError> {
        let texts = self.sessions.common_texts(name, self.version);
        if texts.is_empty() {
            return Err(RenderError::Missing(format!("common/{name}")));
        }
        Ok(counters::ways(&texts))
    }

    /// Whether this version has a counter table: some came with a newer one.
    pub fn is_offered(&self, name: &str) -> bool {
        !self.sessions.common_texts(name, self.version).is_empty()
    }

    /// Several counter tables in one batch that never waits for a lock.
    pub fn poll(&self, names: &[String]) -> Rendered {
        Ok(polled(&self.first_ways(names)?))
    }

    /// Several counter tables in one batch, so that they are of one moment; each the first way.
    pub fn counters(&self, names: &[String]) -> Rendered {
        Ok(batch(&self.first_ways(names)?))
    }

    fn first_ways(&self, names: &[String]) -> Result<Vec<String>, RenderError> {
        let mut sql = Vec::new();
        for name in names.iter().filter(|name| self.is_offered(name)) {
            sql.extend(self.counter(name)?.into_iter().next().map(|way| way.sql));
        }
        Ok(sql)
    }
}

/// An event's name without its package.
fn name_of(event: &str) -> &str {
    event.rsplit('.').next().unwrap_or(event)
}

/// Whether a view is read to watch over the window only: no figure of the answer comes from it.
pub fn is_watched(view: &str) -> bool {
    /// What stands for `dm_xe_sessions` in Azure SQL Database.
    const OF_A_DATABASE: &str = "dm_xe_database_sessions";
    WATCHED.contains(&view) || view == OF_A_DATABASE
}

/// The counters of scenarios, each once.
pub fn counter_names<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Vec<String> {
    each_once(scenarios.into_iter().flat_map(|scenario| &scenario.counters.snapshot).cloned())
}

/// What is read at the start and at the end of a window: the counters, and what is watched.
pub fn snapshot_names<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Vec<String> {
    let mut names = counter_names(scenarios);
    names.extend(WATCHED.map(str::to_owned));
    names
}

/// What each sample inside a window reads: the scenarios' own, SQL Server's CPU, and what is watched.
pub fn sample_names<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Vec<String> {
    let mut names = each_once(scenarios.into_iter().flat_map(|scenario| &scenario.counters.sample).cloned());
    names.extend(["dm_os_sys_info"].into_iter().chain(WATCHED).map(str::to_owned));
    names
}

/// What is read each time `--every` has passed.
pub fn series_names<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Vec<String> {
    each_once(scenarios.into_iter().flat_map(|scenario| &scenario.counters.series).cloned())
}

/// All of them in their order, each the first time only.
pub(super) fn each_once(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for text in all {
        if !kept.contains(&text) {
            kept.push(text);
        }
    }
    kept
}

/// The trace flags that symbolise call stacks in a version: 3656, and 2592 with it from SQL Server 2019 on
/// (trace flag documentation). None on Azure SQL, which does not allow them.
pub fn symbol_trace_flags(version: ServerVersion) -> &'static [u32] {
    match version {
        ServerVersion::AzureDb | ServerVersion::AzureMi => &[],
        ServerVersion::V2019 | ServerVersion::V2022 | ServerVersion::V2025 => &[3656, 2592],
        _ => &[3656],
    }
}

/// Why trace flags are refused where `callstack_rva` exists, unless they are insisted on.
pub const TRACE_FLAGS_NOT_NEEDED: &str =
    "trace flags are not needed here: callstack_rva names module, offset and PDB of every frame";

/// Why trace flags are refused in a place that has none of them, whoever asks.
pub fn trace_flags_refusal(version: ServerVersion) -> Option<&'static str> {
    match version {
        ServerVersion::AzureDb => Some("Azure SQL Database has no trace flags"),
        ServerVersion::AzureMi => Some("Azure SQL Managed Instance has no trace flags for call stacks"),
        _ => None,
    }
}
