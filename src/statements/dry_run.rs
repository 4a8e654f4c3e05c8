//! Owns the dry run: the statements of a capture in their order, with what is only known at run time marked.

use crate::catalog::sessions::{Sessions, SessionsError};
use crate::model::ServerVersion;
use crate::statements::{RenderError, Scope, SessionDefinition, Statements, symbol_trace_flags};

/// What a dry run is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// Scenario.
    pub scenario: String,
    /// Server version.
    pub version: ServerVersion,
    /// Slots instead of the scenario's.
    pub slots: Option<u64>,
    /// Event cap instead of the scenario's.
    pub max_events: Option<u64>,
    /// Whether trace flags are opted in.
    pub trace_flags: bool,
    /// Whether for the whole window.
    pub flags_during_window: bool,
    /// Whether against the policy.
    pub force_flags: bool,
    /// Length of the window, seconds.
    pub window_seconds: u64,
}

/// A statement and when it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryStatement {
    /// When and why.
    pub purpose: String,
    /// Its text.
    pub sql: String,
}

/// Why there is no dry run.
#[derive(Debug, thiserror::Error)]
pub enum DryRunError {
    /// Unknown scenario.
    #[error(transparent)]
    Sessions(#[from] SessionsError),
    /// Catalogue error.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The version is too old or of another kind.
    #[error("scenario {scenario} does not run on {version}")]
    Version {
        /// Scenario.
        scenario: String,
        /// Version.
        version: ServerVersion,
    },
}

/// What stands in a session's name for the parts that a run fills in.
const NAME: &str = "xestack:1:{scenario}:<run id>:<host>:<boot>:<process>:<deadline>:{flags}:<checksum>";

/// The statements of a capture in their order.
pub fn dry_run(sessions: &Sessions, options: &DryRun) -> Result<Vec<DryStatement>, DryRunError> {
    let scenario = sessions.scenario(&options.scenario)?;
    if options.version < scenario.minimum_version || options.version == ServerVersion::AzureDb {
        return Err(DryRunError::Version { scenario: options.scenario.clone(), version: options.version });
    }
    let statements = Statements::new(sessions, options.version);
    // The server symbolises only `callstack`, so flags that are insisted on need it.
    let uses_rva = options.version >= ServerVersion::V2022 && !(options.trace_flags && options.force_flags);
    let all_flags = symbol_trace_flags(options.version);
    let uses_flags = options.trace_flags && !all_flags.is_empty() && !uses_rva;
    let flag_text: Vec<String> = all_flags.iter().map(ToString::to_string).collect();
    let flags = if uses_flags { flag_text.join(".") } else { "-".to_owned() };
    let name = NAME.replace("{scenario}", &scenario.name).replace("{flags}", &flags);
    let definition = SessionDefinition {
        name: name.clone(),
        wait_type_key: None,
        callstack_action: if uses_rva { "callstack_rva" } else { "callstack" }.to_owned(),
        target: if options.version == ServerVersion::V2008R2 { "asynchronous_bucketizer" } else { "histogram" }
            .to_owned(),
        slots: options.slots.unwrap_or(if uses_rva { scenario.session.slots_rva } else { scenario.session.slots }),
        max_events: options.max_events.unwrap_or(scenario.limits.max_events),
        max_memory_kb: scenario.session.max_memory_kb,
        partition_mode: "NONE".to_owned(),
    };
    let mut list = List(Vec::new());
    let wait_type = &scenario.session.wait_type;
    list.add("before: who answers", statements.common("identity", &[])?);
    list.add("before: what this login may do", statements.common("rights", &[])?);
    list.add("before: what this build offers", statements.common("capabilities", &[])?);
    list.add("before: key of the wait type on this build", statements.map_key("wait_types", wait_type)?);
    if !all_flags.is_empty() {
        list.add("before: trace flags as they are", statements.trace_status(all_flags)?);
    }
    let look = ["dm_os_sys_info".to_owned(), "dm_os_schedulers".to_owned()];
    list.add("before: CPU, read twice, 2 s apart", statements.counters(&look)?);
    list.add("before: event rate, read twice, 2 s apart", statements.volume(wait_type)?);
    list.add("before: loaded modules", statements.common("dm_os_loaded_modules", &[])?);
    list.add("lock: one capture of a scenario at a time", statements.take_lock(&format!("xestack/{}", scenario.name))?);
    list.add("change: the event session, stopped", statements.create_session(scenario, &definition)?);
    if uses_flags && options.flags_during_window {
        list.add("lock: global trace flags", statements.take_lock("xestack/flags")?);
        list.add("change: trace flags for the window", statements.trace_on(all_flags, Scope::Global)?);
    }
    list.add("change: the window opens", statements.session("start_session", &name)?);
    list.add("counters: first", statements.counters(&scenario.counters.snapshot)?);
    list.add(
        &format!("counters: samples through {} s", options.window_seconds),
        statements.common(&scenario.counters.sample, &[])?,
    );
    list.add("change: the window closes; the target stays", statements.drop_event(&name, &scenario.session.event)?);
    list.add("counters: last", statements.counters(&scenario.counters.snapshot)?);
    list.add("read: the target, raw, after twice the dispatch latency", statements.read_target(&name)?);
    if uses_flags && !options.flags_during_window {
        list.add("symbols: flags for this connection", statements.trace_on(all_flags, Scope::Session)?);
        list.add("symbols: the target again", statements.read_target(&name)?);
        list.add("symbols: flags off again", statements.trace_off(all_flags, Scope::Session)?);
        list.add("only if still raw: lock", statements.take_lock("xestack/flags")?);
        list.add(
            "only if still raw: flags globally, unless on already",
            statements.trace_on(all_flags, Scope::Global)?,
        );
        list.add("only if still raw: the target again", statements.read_target(&name)?);
        list.add("only if still raw: off at once what was turned on", statements.trace_off(all_flags, Scope::Global)?);
        list.add("only if still raw: lock given back", statements.release_lock("xestack/flags")?);
    }
    list.add("restore: stop", statements.session("stop_session", &name)?);
    if uses_flags {
        list.add("restore: what this run turned on and is still on", statements.trace_off(all_flags, Scope::Global)?);
    }
    if !all_flags.is_empty() {
        list.add("restore: trace flags are as before", statements.trace_status(all_flags)?);
    }
    list.add("restore: drop", statements.session("drop_session", &name)?);
    list.add("restore: no session of this run is left", statements.common("list_sessions", &[])?);
    Ok(list.0)
}

struct List(Vec<DryStatement>);

impl List {
    fn add(&mut self, purpose: &str, sql: String) {
        self.0.push(DryStatement { purpose: purpose.to_owned(), sql });
    }
}
