//! Owns everything that is settled before the first change on a server: who it is, what it can do, what this login may,
//! how many events are to be expected. Nothing here changes anything.

pub(super) mod error_log;
mod events;
mod identity;
mod keys;
mod look;
mod objects;
mod place;
pub(crate) mod rights;
pub(crate) mod side_effects;

pub(super) use events::EventPlan;
pub(super) use identity::identify;
pub(super) use look::{FlagState, check_rate, flags_policy, read_flags};
pub(super) use place::{known_version, limited_to};
pub(super) use side_effects::SideEffects;

use crate::agent::clock::Clock;
use crate::agent::counters;
use crate::agent::guards::{GuardLimits, Load};
use crate::agent::progress::Interrupt;
use crate::agent::server::Server;
use crate::agent::{CaptureError, CaptureOptions, Refusal};
use crate::catalog::sessions::{Scenario, SessionTemplate, Sessions};
use crate::model::{Address, Module, Problem, ServerIdentity, ServerVersion, Severity, Table};
use crate::statements::Statements;
use look::Look;
use rights::{Need, Readiness, Rights, Standing};
use std::collections::BTreeMap;

/// Slots of a target, and what they can cost: target memory is outside the session's MAX_MEMORY.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Slots {
    /// Asked for; the server rounds them up to a power of two.
    pub asked: u64,
    /// Most bytes of the target's document.
    pub most_bytes: u64,
}

/// A key of a map on this build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// Key.
    pub key: u64,
    /// The value that it stands for.
    pub value: String,
}

/// One event session of a plan.
#[derive(Debug, Clone)]
pub(super) struct SessionPlan {
    /// It.
    pub template: SessionTemplate,
    /// Keys its events are filtered to on this build; `None` where the survey is to find them, none for all.
    pub keys: Option<Vec<Key>>,
    /// Slots asked for and the most bytes that their document can have.
    pub slots: Slots,
}

impl SessionPlan {
    /// The keys as numbers.
    pub(super) fn key_numbers(&self) -> Option<Vec<u64>> {
        Some(self.keys.as_ref()?.iter().map(|key| key.key).collect())
    }

    /// What they stand for.
    pub(super) fn key_names(&self) -> Vec<String> {
        self.keys.iter().flatten().map(|key| key.value.clone()).collect()
    }
}

/// One scenario of a plan.
#[derive(Debug, Clone)]
pub(super) struct ScenarioPlan {
    /// It.
    pub scenario: Scenario,
    /// Its sessions on this build; none where only counters are taken.
    pub sessions: Vec<SessionPlan>,
    /// Events a second to be expected, where that can be told beforehand.
    pub events_per_second: Option<f64>,
}

impl ScenarioPlan {
    /// Of a scenario whose counters alone are taken.
    fn of_counters(scenario: &Scenario) -> Self {
        Self { scenario: scenario.clone(), sessions: Vec::new(), events_per_second: None }
    }

    /// How many event sessions are made for it, the survey's included.
    pub(super) fn session_count(&self) -> u64 {
        let survey = self.scenario.survey.is_some() && !self.sessions.is_empty();
        self.sessions.len() as u64 + u64::from(survey)
    }

    /// Most bytes of all its documents.
    pub(super) fn most_bytes(&self) -> u64 {
        self.sessions.iter().map(|session| session.slots.most_bytes).sum()
    }
}

/// The code of the problem that says why there are no call stacks.
pub(super) const COUNTERS_ONLY: &str = "counters_only";

/// All that is needed to open the window.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Who answered.
    pub server: ServerIdentity,
    /// Its version, for statements.
    pub version: ServerVersion,
    /// What this login may do.
    pub rights: Rights,
    /// What the changes of this run set off; nothing where only counters are taken.
    pub side_effects: SideEffects,
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
    /// What event sessions are made with; `None` where only counters are taken.
    pub events: Option<EventPlan>,
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
    mut identity: ServerIdentity,
    sessions: &Sessions,
    scenarios: &[Scenario],
    options: &CaptureOptions,
    clock: &dyn Clock,
    interrupt: &Interrupt,
) -> Result<Plan, CaptureError> {
    let version = place::supported_version(&identity, scenarios, options)?;
    let statements = Statements::new(sessions, version);
    let rights = rights::read(server, &statements).await?;
    let mut problems = Vec::new();
    let has_sessions = scenarios.iter().any(|scenario| !scenario.sessions.is_empty());
    let counters_only = counters_only(&rights, options, has_sessions)?;
    let mut found = match &counters_only {
        None if !has_sessions => None,
        None => Some(events::find(server, &statements, &identity, scenarios, options, &mut problems).await?),
        Some(_) => None,
    };
    problems.extend(counters_only);
    look::check_counters(server, &statements, &rights, scenarios, clock, &mut problems).await?;
    let counted = if found.is_some() { scenarios } else { &[] };
    let look = look::look(server, &statements, counted, clock, interrupt, &mut problems).await?;
    let mut flags_to_use = Vec::new();
    if let Some(found) = &mut found {
        found.expect_rates(&look, options)?;
        found.choose_leading(&statements, &look, &mut problems);
        flags_to_use = look::flags_to_use(&found.flags, &look, cpu_limit(scenarios), options, found.uses_rva())?;
    }
    let running_sessions = running_sessions(server, &statements, &mut problems).await?;
    let load = Load { cpu_share: look.cpu_share, queued: counters::work_queue(&look.after) };
    let guards = GuardLimits::new(scenarios, options);
    identity.virtual_machine = look
        .after
        .tables
        .get("dm_os_sys_info")
        .and_then(|info| info.text(0, "virtual_machine_type_desc"))
        .map(str::to_owned);
    let Some(found) = found else {
        return Ok(Plan {
            server: identity,
            version,
            rights,
            side_effects: SideEffects::default(),
            scenarios: scenarios.iter().map(ScenarioPlan::of_counters).collect(),
            map_names: BTreeMap::new(),
            running_sessions,
            load,
            guards,
            events: None,
            flags: Vec::new(),
            flags_to_use,
            modules: Vec::new(),
            problems,
        });
    };
    let modules = modules(server, &statements, found.uses_rva(), &mut problems).await?;
    let side_effects = side_effects::read(server, &statements).await?;
    Ok(Plan {
        server: identity,
        version,
        rights,
        side_effects,
        events: Some(found.plan(&look, options)),
        scenarios: found.scenarios,
        map_names: found.map_names,
        running_sessions,
        load,
        guards,
        flags: found.flags,
        flags_to_use,
        modules,
        problems,
    })
}

/// Why only counters are to be taken: because that is asked for, or because this login may do no more. A login that may
/// not even do that is refused.
fn counters_only(
    rights: &Rights,
    options: &CaptureOptions,
    has_sessions: bool,
) -> Result<Option<Problem>, CaptureError> {
    let refused = |missing: &rights::Missing| {
        let text = format!("the login lacks {}", missing.rights.join(", "));
        CaptureError::refused(Refusal::Permission, text, Some(missing.hint()))
    };
    if options.counters_only || !has_sessions {
        if let Some(missing) = rights.missing(&[Need::Counters]) {
            return Err(refused(&missing));
        }
        if !has_sessions {
            // Nothing is missing of a scenario that makes none.
            return Ok(None);
        }
        let message = "counters only, as asked for: no event session was made, so there are no call stacks";
        return Ok(Some(Problem::new(COUNTERS_ONLY, Severity::Info, message)));
    }
    match rights.readiness() {
        Readiness::Impossible { missing } => return Err(refused(&missing)),
        Readiness::CountersOnly { missing } => {
            let message = format!(
                "no event session was made, so there are counters and no call stacks: the login lacks {}",
                missing.rights.join(", ")
            );
            return Ok(Some(Problem::new(COUNTERS_ONLY, Severity::Partial, message).with_hint(missing.hint())));
        }
        Readiness::Ready => {}
    }
    if options.trace_flags.enable && matches!(rights.standing(Need::TraceFlags), Standing::Missing(_)) {
        return Err(CaptureError::refused(
            Refusal::Permission,
            "trace flags can only be turned on by a member of sysadmin",
            Some("leave out --enable-trace-flags: call stacks are then kept as addresses".to_owned()),
        ));
    }
    Ok(None)
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

/// The event sessions that run. Without the right to see them they are not told, and nothing fails.
async fn running_sessions(
    server: &mut Server,
    statements: &Statements<'_>,
    problems: &mut Vec<Problem>,
) -> Result<Vec<String>, CaptureError> {
    let table = match server.table(&statements.common("list_sessions", &[])?).await {
        Ok(table) => table,
        Err(error) if error.is_connection_lost() => return Err(error.into()),
        Err(error) => {
            let message = format!("the event sessions of others could not be seen: {}", counters::chain(&error));
            problems.push(Problem::new("event_sessions_unreadable", Severity::Warning, message));
            return Ok(Vec::new());
        }
    };
    let running = (0..table.rows.len()).filter(|&row| table.integer(row, "running") == Some(1));
    Ok(running.filter_map(|row| table.text(row, "name").map(str::to_owned)).collect())
}
