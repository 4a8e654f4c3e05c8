//! Owns the dry run: the statements of a capture in their order, with what is only known at run time marked.

use crate::catalog::sessions::{CALLSTACK, Scenario, SessionTemplate, Sessions, SessionsError};
use crate::model::ServerVersion;
use crate::statements::script::each_once;
use crate::statements::{
    Filters, RenderError, Scope, SessionDefinition, Statements, TRACE_FLAGS_NOT_NEEDED, counter_names,
    max_duration_seconds, sample_names, series_names, snapshot_names, symbol_trace_flags, trace_flags_refusal,
};

/// What a dry run is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// Scenarios, joined with `+`.
    pub scenario: String,
    /// Server version.
    pub version: ServerVersion,
    /// Slots instead of the scenario's.
    pub slots: Option<u64>,
    /// Event cap instead of the scenario's.
    pub max_events: Option<u64>,
    /// Whether the database of the filters is looked up.
    pub database: Option<String>,
    /// Filters that are known beforehand.
    pub filters: Filters,
    /// Whether every key is captured.
    pub all_types: bool,
    /// Whether trace flags are opted in.
    pub trace_flags: bool,
    /// Whether for the whole window.
    pub flags_during_window: bool,
    /// Whether against the policy.
    pub force_flags: bool,
    /// Length of the window, seconds.
    pub window_seconds: u64,
    /// Whether a further session buckets the events by statement.
    pub queries: bool,
}

impl DryRun {
    /// A minute of a scenario, without filters and flags.
    pub fn new(scenario: &str, version: ServerVersion) -> Self {
        Self {
            scenario: scenario.to_owned(),
            version,
            slots: None,
            max_events: None,
            database: None,
            filters: Filters::default(),
            all_types: false,
            trace_flags: false,
            flags_during_window: false,
            force_flags: false,
            window_seconds: 60,
            queries: false,
        }
    }

    /// Why a capture with these options would be refused for its trace flags; the statements are those without them.
    pub fn refusal(&self) -> Option<&'static str> {
        let reason = trace_flags_refusal(self.version);
        let not_needed = || has_rva(self.version).then_some(TRACE_FLAGS_NOT_NEEDED).filter(|_| !self.force_flags);
        reason.or_else(not_needed).filter(|_| self.trace_flags)
    }
}

/// Whether `callstack_rva` is to be expected; a capture looks.
fn has_rva(version: ServerVersion) -> bool {
    version >= ServerVersion::V2022
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
    let scenarios = sessions.joined_scenarios(&options.scenario)?;
    let version = options.version;
    let is_too_old = |scenario: &&&Scenario| version < scenario.minimum_version;
    if let Some(scenario) = scenarios.iter().find(is_too_old) {
        return Err(DryRunError::Version { scenario: scenario.name.clone(), version });
    }
    let all_flags = symbol_trace_flags(version);
    let uses_flags = options.trace_flags && options.refusal().is_none();
    let run = Run {
        statements: Statements::new(sessions, version),
        options,
        scenarios,
        all_flags,
        uses_flags,
        uses_rva: has_rva(version) && !uses_flags,
    };
    let mut list = List(Vec::new());
    run.before(&mut list)?;
    run.survey(&mut list)?;
    run.window(&mut list)?;
    run.read(&mut list)?;
    run.restore(&mut list)?;
    Ok(list.0)
}

struct Run<'a> {
    statements: Statements<'a>,
    options: &'a DryRun,
    scenarios: Vec<&'a Scenario>,
    all_flags: &'static [u32],
    uses_flags: bool,
    uses_rva: bool,
}

type Listed = Result<(), RenderError>;

impl Run<'_> {
    fn name(&self, scenario: &Scenario, template: &SessionTemplate) -> String {
        let numbers: Vec<String> = self.all_flags.iter().map(ToString::to_string).collect();
        let flags = if self.uses_flags { numbers.join(".") } else { "-".to_owned() };
        NAME.replace("{scenario}", &template.full_name(scenario)).replace("{flags}", &flags)
    }

    /// The sessions of the window, those of each scenario in their order.
    fn sessions(&self) -> Vec<(&Scenario, SessionTemplate)> {
        let mut sessions = Vec::new();
        for scenario in self.scenarios.iter().copied() {
            let templates = scenario.sessions_with(self.options.queries);
            let known = templates.filter(|template| template.since.is_none_or(|since| self.options.version >= since));
            sessions.extend(known.map(|template| (scenario, template)));
        }
        sessions
    }

    fn definition(&self, scenario: &Scenario, template: &SessionTemplate) -> SessionDefinition {
        let all_types = self.options.all_types && scenario.survey.is_some();
        let usual_slots = if self.uses_rva { template.slots_rva } else { template.slots };
        SessionDefinition {
            name: self.name(scenario, template),
            keys: all_types.then(Vec::new),
            // On Azure SQL Database every event is of the connected database.
            filters: match self.options.version {
                ServerVersion::AzureDb => Filters { database_id: None, ..self.options.filters },
                _ => self.options.filters,
            },
            callstack_action: if self.uses_rva { "callstack_rva" } else { CALLSTACK }.to_owned(),
            target: match self.options.version {
                ServerVersion::V2008R2 => "asynchronous_bucketizer",
                _ => "histogram",
            }
            .to_owned(),
            bucket: template.bucket.clone(),
            slots: self.options.slots.unwrap_or(usual_slots),
            max_events: self.options.max_events.unwrap_or(scenario.limits.max_events),
            max_memory_kb: template.max_memory_kb,
            partition_mode: if self.sessions().iter().any(|(_, template)| template.per_node) {
                "PER_NODE"
            } else {
                "NONE"
            }
            .to_owned(),
            max_duration_seconds: (self.options.version >= ServerVersion::V2025)
                .then(|| max_duration_seconds(self.options.window_seconds, self.scenarios.iter().copied())),
        }
    }

    fn before(&self, list: &mut List) -> Listed {
        let statements = &self.statements;
        let version = statements.version();
        list.add("before: who answers", statements.common("identity", &[])?);
        if (ServerVersion::V2017..ServerVersion::AzureMi).contains(&version) {
            list.add("before: Windows or Linux", statements.common("host_info", &[])?);
        }
        list.add("before: since when it runs", statements.common("server_start", &[])?);
        list.add("before: what dead runs left; it is undone", statements.common("list_sessions", &[])?);
        list.add("before: what this login may do", statements.common("rights", &[])?);
        let sessions = self.sessions();
        if !sessions.is_empty() {
            let events = each_once(sessions.iter().map(|(_, template)| template.event.clone()));
            list.add("before: what this build offers", statements.capabilities(&events)?);
            for event in &events {
                list.add("before: fields of the event on this build", statements.event_fields(event)?);
            }
            for map in each_once(sessions.iter().map(|(_, template)| template.map.clone())) {
                list.add("before: keys and names on this build", statements.map_values(&map)?);
            }
        }
        let database = self.options.database.as_ref().filter(|_| version != ServerVersion::AzureDb);
        if let Some(database) = database {
            list.add("before: id of the database", statements.database_id(database)?);
        }
        if !self.all_flags.is_empty() && !sessions.is_empty() {
            list.add("before: trace flags as they are", statements.trace_status(self.all_flags)?);
        }
        list.add(
            "before: whether the counters can be read",
            statements.counters(&counter_names(self.scenarios.iter().copied()))?,
        );
        let look = ["dm_os_sys_info".to_owned(), "dm_os_schedulers".to_owned()];
        list.add("before: CPU, read twice, 2 s apart", statements.counters(&look)?);
        for scenario in &self.scenarios {
            if let Some(volume) = &scenario.counters.volume {
                list.add("before: event rate, read twice, 2 s apart", statements.volume(volume, scenario)?);
            }
        }
        for name in each_once(sessions.iter().filter_map(|(_, template)| template.values_from.clone())) {
            let purpose = "before: which one leads, read twice, 2 s apart";
            list.add(purpose, statements.counters(&[name])?);
        }
        if sessions.is_empty() {
            self.locks(list)?;
            return Ok(());
        }
        list.add("before: options of event sessions here", statements.common("event_session_columns", &[])?);
        list.add("before: triggers that run on what is sent", statements.common("ddl_triggers", &[])?);
        if version != ServerVersion::AzureDb {
            list.add("before: audits that record it", statements.common("audits", &[])?);
        }
        list.add("before: event sessions that run", statements.common("list_sessions", &[])?);
        if version != ServerVersion::AzureDb {
            list.add("before: loaded modules", statements.common("dm_os_loaded_modules", &[])?);
        }
        self.locks(list)
    }

    fn locks(&self, list: &mut List) -> Listed {
        let statements = &self.statements;
        for scenario in &self.scenarios {
            let lock = statements.take_lock(&format!("xestack/{}", scenario.name))?;
            list.add("lock: one capture of a scenario at a time", lock);
        }
        list.add("before: the server's clock, for the run's deadline", statements.common("server_clock", &[])?);
        Ok(())
    }

    fn survey(&self, list: &mut List) -> Listed {
        let statements = &self.statements;
        for scenario in &self.scenarios {
            let (Some(survey), Some(template)) = (&scenario.survey, scenario.main()) else { continue };
            let name = self.name(scenario, template);
            let definition = SessionDefinition {
                keys: Some(Vec::new()),
                bucket: template.field.clone(),
                slots: survey.slots,
                ..self.definition(scenario, template)
            };
            let create = statements.create_session(template, &definition)?;
            list.add("survey: a session without call stacks, stopped", create);
            let purpose = format!("survey: it counts for {} s", survey.seconds);
            list.add(&purpose, statements.session("start_session", &name)?);
            list.add("survey: it ends; the target stays", statements.drop_event(&name, &template.event)?);
            list.add("survey: which keys there are, and how often", statements.read_target(&name)?);
            list.add("survey: stop", statements.session("stop_session", &name)?);
            list.add("survey: drop", statements.session("drop_session", &name)?);
        }
        Ok(())
    }

    fn window(&self, list: &mut List) -> Listed {
        let statements = &self.statements;
        let sessions = self.sessions();
        for (scenario, template) in &sessions {
            let create = statements.create_session(template, &self.definition(scenario, template))?;
            list.add("change: the event session, stopped", create);
        }
        if self.uses_flags && self.options.flags_during_window {
            list.add("lock: global trace flags", statements.take_lock("xestack/flags")?);
            list.add("change: trace flags for the window", statements.trace_on(self.all_flags, Scope::Global)?);
        }
        for (scenario, template) in &sessions {
            list.add("change: the window opens", statements.session("start_session", &self.name(scenario, template))?);
        }
        list.add("counters: first", statements.counters(&snapshot_names(self.scenarios.iter().copied()))?);
        let purpose = format!("counters: samples through {} s", self.options.window_seconds);
        list.add(&purpose, statements.poll(&sample_names(self.scenarios.iter().copied()))?);
        let series = series_names(self.scenarios.iter().copied());
        if !series.is_empty() {
            list.add("counters: a series, each time --every has passed", statements.poll(&series)?);
        }
        for (scenario, template) in &sessions {
            let drop_event = statements.drop_event(&self.name(scenario, template), &template.event)?;
            list.add("change: the window closes; the target stays", drop_event);
        }
        list.add("counters: last", statements.counters(&snapshot_names(self.scenarios.iter().copied()))?);
        Ok(())
    }

    fn read(&self, list: &mut List) -> Listed {
        let statements = &self.statements;
        let sessions = self.sessions();
        let read_all = |list: &mut List, purpose: &str| -> Listed {
            for (scenario, template) in &sessions {
                list.add(purpose, statements.read_target(&self.name(scenario, template))?);
            }
            Ok(())
        };
        read_all(list, "read: the target, raw, after twice the dispatch latency")?;
        if self.options.queries {
            list.add("read: the statements of the leading hashes", statements.query_statements(&[0])?);
        }
        if !self.uses_flags || self.options.flags_during_window {
            return Ok(());
        }
        list.add("symbols: flags for this connection", statements.trace_on(self.all_flags, Scope::Session)?);
        read_all(list, "symbols: the target again")?;
        list.add("symbols: flags off again", statements.trace_off(self.all_flags, Scope::Session)?);
        list.add("only if still raw: lock", statements.take_lock("xestack/flags")?);
        let on = statements.trace_on(self.all_flags, Scope::Global)?;
        list.add("only if still raw: flags globally, unless on already", on);
        read_all(list, "only if still raw: the target again")?;
        let off = statements.trace_off(self.all_flags, Scope::Global)?;
        list.add("only if still raw: off at once what was turned on", off);
        list.add("only if still raw: lock given back", statements.release_lock("xestack/flags")?);
        Ok(())
    }

    fn restore(&self, list: &mut List) -> Listed {
        let statements = &self.statements;
        let sessions = self.sessions();
        for (scenario, template) in &sessions {
            list.add("restore: stop", statements.session("stop_session", &self.name(scenario, template))?);
        }
        if self.uses_flags {
            let off = statements.trace_off(self.all_flags, Scope::Global)?;
            list.add("restore: only if flags are on: lock", statements.take_lock("xestack/flags")?);
            list.add("restore: what this run turned on and is still on", off);
        }
        if !self.all_flags.is_empty() && !sessions.is_empty() {
            list.add("restore: trace flags are as before", statements.trace_status(self.all_flags)?);
        }
        for (scenario, template) in &sessions {
            list.add("restore: drop", statements.session("drop_session", &self.name(scenario, template))?);
        }
        list.add("restore: no session of this run is left", statements.common("list_sessions", &[])?);
        if self.uses_flags {
            list.add("restore: only if flags were on: lock given back", statements.release_lock("xestack/flags")?);
        }
        Ok(())
    }
}

struct List(Vec<DryStatement>);

impl List {
    fn add(&mut self, purpose: &str, sql: String) {
        self.0.push(DryStatement { purpose: purpose.to_owned(), sql });
    }
}
