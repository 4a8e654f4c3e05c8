//! Owns everything that is settled before the first change on a server: who it is, what it can do, what this login may,
//! how many events are to be expected. Nothing here changes anything.

mod keys;
mod look;
mod rights;

pub(super) use look::{FlagState, check_rate, flags_policy, read_flags};

use crate::agent::clock::Clock;
use crate::agent::counters;
use crate::agent::guards::{GuardLimits, Load};
use crate::agent::progress::Interrupt;
use crate::agent::server::Server;
use crate::agent::{CaptureError, CaptureOptions, Refusal};
use crate::catalog::sessions::{Scenario, Sessions};
use crate::model::{Address, Module, Problem, ServerIdentity, ServerVersion, Severity, Snapshot, Table};
use crate::statements::{Filters, Statements};
use std::collections::BTreeMap;

/// Deepest stack of any version (architecture: 16, 24, 25 and 32 occur).
const DEEPEST_STACK: u64 = 32;

/// Slots of a target, and what they can cost: target memory is outside the session's MAX_MEMORY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slots {
    /// Asked for; the server rounds them up to a power of two.
    pub asked: u64,
    /// Most bytes of the target's document.
    pub most_bytes: u64,
}

/// One scenario of a plan.
#[derive(Debug, Clone)]
pub(super) struct ScenarioPlan {
    /// It.
    pub scenario: Scenario,
    /// Keys its events are filtered to on this build; `None` where the survey is to find them, none for all.
    pub keys: Option<Vec<u64>>,
    /// Slots asked for and the most bytes that their document can have.
    pub slots: Slots,
    /// Events a second to be expected, where that can be told beforehand.
    pub events_per_second: Option<f64>,
}

/// All that is needed to open the window.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Who answered.
    pub server: ServerIdentity,
    /// Its version, for statements.
    pub version: ServerVersion,
    /// What is captured, in the order asked for.
    pub scenarios: Vec<ScenarioPlan>,
    /// Names of the keys in the maps that have no single value, for example of spinlock types.
    pub map_names: BTreeMap<u64, String>,
    /// Event sessions that run.
    pub running_sessions: Vec<String>,
    /// How busy SQL Server was.
    pub load: Load,
    /// What an open window may do to it.
    pub guards: GuardLimits,
    /// What events are filtered to besides.
    pub filters: Filters,
    /// `callstack` or `callstack_rva`.
    pub callstack_action: &'static str,
    /// `histogram` or `asynchronous_bucketizer`.
    pub target: &'static str,
    /// N of `package0.counter <= N`.
    pub max_events: u64,
    /// MAX_MEMORY, KB.
    pub max_memory_kb: u64,
    /// `NONE` or `PER_NODE`.
    pub partition_mode: &'static str,
    /// The symbol flags and how they stood.
    pub flags: Vec<FlagState>,
    /// The symbol flags this run may turn on; empty without the opt-in.
    pub flags_to_use: Vec<u32>,
    /// Loaded modules.
    pub modules: Vec<Module>,
    /// What was odd.
    pub problems: Vec<Problem>,
}

/// Asks who the server is. A server that is not SQL Server, or one of an unknown version, is refused.
pub(super) async fn identify(server: &mut Server, sessions: &Sessions) -> Result<ServerIdentity, CaptureError> {
    // The identity statement is the same for every version.
    let statements = Statements::new(sessions, ServerVersion::V2008R2);
    let table = match server.table(&statements.common("identity", &[])?).await {
        Err(error) if error.number().is_some() => {
            return Err(CaptureError::refused(Refusal::Version, "the server does not answer as SQL Server does", None)
                .caused_by(error));
        }
        result => result?,
    };
    let text = |name: &str| table.text(0, name).unwrap_or_default().to_owned();
    let engine_edition = table.integer(0, "engine_edition").unwrap_or(0);
    let product_version = text("product_version");
    Ok(ServerIdentity {
        name: text("server_name"),
        version: ServerVersion::from_product(&product_version, engine_edition),
        product_version,
        edition: text("edition"),
        engine_edition,
        virtual_machine: None,
    })
}

/// Settles the plan of a capture, or refuses it with the reason and the remedy.
pub(super) async fn plan(
    server: &mut Server,
    sessions: &Sessions,
    scenarios: &[Scenario],
    options: &CaptureOptions,
    clock: &dyn Clock,
    interrupt: &Interrupt,
) -> Result<Plan, CaptureError> {
    let mut identity = identify(server, sessions).await?;
    let version = supported_version(&identity, scenarios)?;
    let statements = Statements::new(sessions, version);
    rights::check_rights(server, &statements, version, options).await?;
    let capabilities = rights::capabilities(server, &statements).await?;
    let (callstack_action, target) = rights::choose_objects(&capabilities, scenarios, options)?;
    let uses_rva = callstack_action == "callstack_rva";
    let mut problems = Vec::new();
    let map_names = keys::map_names(server, &statements, scenarios).await?;
    let mut planned = Vec::new();
    for scenario in scenarios {
        planned.push(ScenarioPlan {
            scenario: scenario.clone(),
            keys: keys::keys(server, &statements, scenario, options, &map_names, &mut problems).await?,
            slots: choose_slots(scenario, options, uses_rva)?,
            events_per_second: None,
        });
    }
    let filters = keys::filters(server, &statements, options).await?;
    let flags = look::flag_states(server, &statements, version, &mut problems).await?;
    let look = look::look(server, &statements, scenarios, clock, interrupt, &mut problems).await?;
    for planned in &mut planned {
        let rate =
            look.events_per_second.iter().find(|(name, _)| *name == planned.scenario.name).map(|(_, rate)| *rate);
        look::check_rate(&planned.scenario, rate.unwrap_or_default(), options)?;
        planned.events_per_second = rate;
    }
    let flags_to_use = look::flags_to_use(&flags, &look, cpu_limit(scenarios), options, uses_rva)?;
    let running_sessions = running_sessions(server, &statements).await?;
    identity.virtual_machine = look
        .after
        .tables
        .get("dm_os_sys_info")
        .and_then(|info| info.text(0, "virtual_machine_type_desc"))
        .map(str::to_owned);
    let modules = modules(server, &statements, &mut problems).await?;
    let most_events = scenarios.iter().map(|scenario| scenario.limits.max_events).min().unwrap_or_default();
    let per_node = scenarios.iter().any(|scenario| scenario.session.per_node) || scheduler_count(&look.after) > 16;
    Ok(Plan {
        server: identity,
        version,
        scenarios: planned,
        map_names,
        running_sessions,
        load: Load { cpu_share: look.cpu_share, queued: counters::work_queue(&look.after) },
        guards: GuardLimits::new(scenarios, options),
        filters,
        callstack_action,
        target,
        max_events: options.max_events.unwrap_or(most_events),
        max_memory_kb: session_memory_kb(scenarios, &look.after),
        partition_mode: if per_node { "PER_NODE" } else { "NONE" },
        flags,
        flags_to_use,
        modules,
        problems,
    })
}

fn supported_version(identity: &ServerIdentity, scenarios: &[Scenario]) -> Result<ServerVersion, CaptureError> {
    let refused = |text: String| CaptureError::refused(Refusal::Version, text, None);
    let version = identity
        .version
        .ok_or_else(|| refused(format!("version {} of the server is not known", identity.product_version)))?;
    if let Some(scenario) = scenarios.iter().find(|scenario| version < scenario.minimum_version) {
        return Err(refused(format!(
            "scenario {} needs SQL Server {} or newer",
            scenario.name, scenario.minimum_version
        )));
    }
    if version == ServerVersion::AzureDb {
        return Err(refused(
            "Azure SQL Database is not supported yet: its event sessions are of another scope".to_owned(),
        ));
    }
    Ok(version)
}

fn choose_slots(scenario: &Scenario, options: &CaptureOptions, uses_rva: bool) -> Result<Slots, CaptureError> {
    let (default, bytes_per_frame) = if uses_rva {
        (scenario.session.slots_rva, scenario.limits.bytes_per_frame_rva)
    } else {
        (scenario.session.slots, scenario.limits.bytes_per_frame)
    };
    let slots = options.slots.unwrap_or(default);
    let effective = slots.checked_next_power_of_two().unwrap_or(u64::MAX);
    let bytes = effective.saturating_mul(DEEPEST_STACK).saturating_mul(bytes_per_frame);
    if bytes > scenario.limits.max_target_bytes {
        let most = scenario.limits.max_target_bytes / (DEEPEST_STACK * bytes_per_frame);
        return Err(CaptureError::refused(
            Refusal::Policy,
            format!("{slots} slots could make a target document of {bytes} bytes, and servers cut it at 4 MB"),
            Some(format!("--slots {} is the most", (most + 1).next_power_of_two() / 2)),
        ));
    }
    Ok(Slots { asked: slots, most_bytes: bytes })
}

fn scheduler_count(snapshot: &Snapshot) -> usize {
    snapshot.tables.get("dm_os_schedulers").map_or(0, |schedulers| schedulers.rows.len())
}

/// Of the committed memory target, no more than the scenarios' share; the catalogue's figure where that is less.
fn session_memory_kb(scenarios: &[Scenario], snapshot: &Snapshot) -> u64 {
    const LEAST_KB: u64 = 512;
    let committed_kb = snapshot.tables.get("dm_os_sys_info").and_then(|info| info.integer(0, "committed_target_kb"));
    let allowed_kb = |scenario: &Scenario| {
        let share = scenario.limits.max_memory_share / scenarios.len() as f64;
        let most_kb = committed_kb.map_or(u64::MAX, |kb| (kb.max(0) as f64 * share) as u64);
        scenario.session.max_memory_kb.min(most_kb)
    };
    scenarios.iter().map(allowed_kb).min().unwrap_or_default().max(LEAST_KB)
}

/// Share of scheduler time above which trace flags are refused: the strictest of the scenarios.
pub(super) fn cpu_limit(scenarios: &[Scenario]) -> f64 {
    scenarios.iter().map(|scenario| scenario.limits.max_cpu_for_trace_flags).fold(1.0, f64::min)
}

async fn modules(
    server: &mut Server,
    statements: &Statements<'_>,
    problems: &mut Vec<Problem>,
) -> Result<Vec<Module>, CaptureError> {
    match server.table(&statements.common("dm_os_loaded_modules", &[])?).await {
        Ok(table) => Ok((0..table.rows.len()).filter_map(|row| module(&table, row)).collect()),
        Err(error) if error.is_connection_lost() => Err(error.into()),
        Err(error) => {
            let message = format!("the loaded modules could not be read: {}", counters::chain(&error));
            let problem = Problem::new("modules_unreadable", Severity::Warning, message);
            problems.push(problem.with_hint("bare addresses of this capture cannot be resolved later without them"));
            Ok(Vec::new())
        }
    }
}

fn module(table: &Table, row: usize) -> Option<Module> {
    let digits = table.text(row, "base_address")?.strip_prefix("0x")?;
    Some(Module {
        path: table.text(row, "name")?.to_owned(),
        base: Address(u64::from_str_radix(digits, 16).ok()?),
        file_version: table.text(row, "file_version").map(str::to_owned),
    })
}
async fn running_sessions(server: &mut Server, statements: &Statements<'_>) -> Result<Vec<String>, CaptureError> {
    let table = server.table(&statements.common("list_sessions", &[])?).await?;
    let running = (0..table.rows.len()).filter(|&row| table.integer(row, "running") == Some(1));
    Ok(running.filter_map(|row| table.text(row, "name").map(str::to_owned)).collect())
}
