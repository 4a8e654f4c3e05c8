//! Owns everything that is settled before the first change on a server: who it is, what it can do, what this login may,
//! how many events are to be expected. Nothing here changes anything.

mod identity;
mod keys;
mod look;
mod place;
mod rights;

pub(super) use identity::identify;
pub(super) use look::{FlagState, check_rate, flags_policy, read_flags};
pub(super) use place::limited_to;

use crate::agent::clock::Clock;
use crate::agent::counters;
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
    /// Event sessions of others that run.
    pub other_event_sessions: Vec<String>,
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
    let version = place::supported_version(&identity, scenarios, options)?;
    let statements = Statements::new(sessions, version);
    rights::check_rights(server, &statements, version, options).await?;
    let capabilities = rights::capabilities(server, &statements).await?;
    let (callstack_action, target) = rights::choose_objects(&capabilities, scenarios, options)?;
    let uses_rva = callstack_action == "callstack_rva";
    let mut problems = Vec::new();
    let mut map_names = BTreeMap::new();
    let mut planned = Vec::new();
    for scenario in scenarios {
        let map = keys::map_values(server, &statements, scenario, &identity).await?;
        if scenario.session.value.is_none() {
            map_names.extend(map.by_key());
        }
        planned.push(ScenarioPlan {
            scenario: scenario.clone(),
            keys: keys::keys(&statements, scenario, &map, options, &mut problems)?,
            slots: choose_slots(scenario, options, uses_rva)?,
            events_per_second: None,
        });
    }
    let filters = keys::filters(server, &statements, options, &identity).await?;
    let flags = look::flag_states(server, &statements, version, &mut problems).await?;
    let look = look::look(server, &statements, scenarios, clock, interrupt, &mut problems).await?;
    for planned in &mut planned {
        let rate =
            look.events_per_second.iter().find(|(name, _)| *name == planned.scenario.name).map(|(_, rate)| *rate);
        look::check_rate(&planned.scenario, rate.unwrap_or_default(), options)?;
        planned.events_per_second = rate;
    }
    let flags_to_use = look::flags_to_use(&flags, &look, cpu_limit(scenarios), options, uses_rva)?;
    let other_event_sessions = running_sessions(server, &statements).await?;
    identity.virtual_machine = look
        .after
        .tables
        .get("dm_os_sys_info")
        .and_then(|info| info.text(0, "virtual_machine_type_desc"))
        .map(str::to_owned);
    let modules = modules(server, &statements, uses_rva, &mut problems).await?;
    let most_events = scenarios.iter().map(|scenario| scenario.limits.max_events).min().unwrap_or_default();
    let per_node = scenarios.iter().any(|scenario| scenario.session.per_node) || scheduler_count(&look.after) > 16;
    Ok(Plan {
        server: identity,
        version,
        scenarios: planned,
        map_names,
        other_event_sessions,
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

/// The loaded modules. Azure SQL Database shows none; frames of `callstack_rva` need none.
async fn modules(
    server: &mut Server,
    statements: &Statements<'_>,
    uses_rva: bool,
    problems: &mut Vec<Problem>,
) -> Result<Vec<Module>, CaptureError> {
    let answer = match statements.version() {
        ServerVersion::AzureDb => Err("Azure SQL Database shows none".to_owned()),
        _ => match server.table(&statements.common("dm_os_loaded_modules", &[])?).await {
            Err(error) if error.is_connection_lost() => return Err(error.into()),
            answer => answer.map_err(|error| counters::chain(&error)),
        },
    };
    let unreadable = |reason: String| {
        if !uses_rva {
            let message = format!("the loaded modules could not be read: {reason}");
            let problem = Problem::new("modules_unreadable", Severity::Warning, message);
            problems.push(problem.with_hint("bare addresses of this capture cannot be resolved later without them"));
        }
        Table::default()
    };
    let table = answer.unwrap_or_else(unreadable);
    Ok((0..table.rows.len()).filter_map(|row| module(&table, row)).collect())
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
