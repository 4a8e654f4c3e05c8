//! Owns everything that is settled before the first change on a server: who it is, what it can do, what this login may,
//! how many events are to be expected. Nothing here changes anything.

use crate::agent::clock::Clock;
use crate::agent::counters;
use crate::agent::progress::Interrupt;
use crate::agent::server::Server;
use crate::agent::{CaptureError, CaptureOptions, Refusal};
use crate::catalog::sessions::{Scenario, Sessions};
use crate::model::{Address, Module, Problem, ServerIdentity, ServerVersion, Severity, Snapshot, Table};
use crate::sqlserver::SqlServerError;
use crate::statements::{Statements, symbol_trace_flags};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long the look at the event rate takes.
const VOLUME_LOOK: Duration = Duration::from_secs(2);
/// Deepest stack of any version (architecture: 16, 24, 25 and 32 occur).
const DEEPEST_STACK: u64 = 32;

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// `type.name` of the objects asked for, for example `action.callstack_rva`.
    objects: BTreeSet<String>,
}

impl Capabilities {
    fn has(&self, kind: &str, name: &str) -> bool {
        self.objects.contains(&format!("{kind}.{name}"))
    }
}

/// A trace flag before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlagState {
    /// Flag.
    pub flag: u32,
    /// Whether it is on globally; `None` where TRACESTATUS could not be read.
    pub global: Option<bool>,
}

/// All that is needed to open the window.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Who answered.
    pub server: ServerIdentity,
    /// Its version, for statements.
    pub version: ServerVersion,
    /// Key of the wait type on this build.
    pub wait_type_key: u64,
    /// `callstack` or `callstack_rva`.
    pub callstack_action: &'static str,
    /// `histogram` or `asynchronous_bucketizer`.
    pub target: &'static str,
    /// Slots asked for.
    pub slots: u64,
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
    scenario: &Scenario,
    options: &CaptureOptions,
    clock: &dyn Clock,
    interrupt: &Interrupt,
) -> Result<Plan, CaptureError> {
    let mut identity = identify(server, sessions).await?;
    let version = supported_version(&identity, scenario)?;
    let statements = Statements::new(sessions, version);
    check_rights(server, &statements, version, options).await?;
    let capabilities = capabilities(server, &statements).await?;
    let forced_flags = options.trace_flags.enable && options.trace_flags.force;
    let (callstack_action, target) = choose_objects(&capabilities, scenario, forced_flags)?;
    let mut problems = Vec::new();
    let wait_type_key = wait_type_key(server, &statements, scenario, &mut problems).await?;
    let flags = flag_states(server, &statements, version, &mut problems).await?;
    let look = look_at_volume(server, &statements, scenario, clock, interrupt, &mut problems).await?;
    let limit = options.max_events_per_second.unwrap_or(scenario.limits.max_events_per_second);
    if let Some(rate) = look.events_per_second
        && rate > limit as f64
    {
        return Err(CaptureError::refused(
            Refusal::Policy,
            format!("about {rate:.0} events a second are to be expected, more than the limit of {limit}"),
            Some(format!("--max-events-per-second {} allows it", rate.ceil())),
        ));
    }
    let uses_rva = callstack_action == "callstack_rva";
    let flags_to_use = flags_to_use(&flags, &look, scenario, options, uses_rva)?;
    let slots = choose_slots(scenario, options, uses_rva)?;
    identity.virtual_machine = look
        .after
        .tables
        .get("dm_os_sys_info")
        .and_then(|info| info.text(0, "virtual_machine_type_desc"))
        .map(str::to_owned);
    let modules = modules(server, &statements, &mut problems).await?;
    Ok(Plan {
        server: identity,
        version,
        wait_type_key,
        callstack_action,
        target,
        slots,
        max_events: options.max_events.unwrap_or(scenario.limits.max_events),
        max_memory_kb: session_memory_kb(scenario, &look.after),
        partition_mode: if scheduler_count(&look.after) > 16 { "PER_NODE" } else { "NONE" },
        flags,
        flags_to_use,
        modules,
        problems,
    })
}

fn supported_version(identity: &ServerIdentity, scenario: &Scenario) -> Result<ServerVersion, CaptureError> {
    let refused = |text: String| CaptureError::refused(Refusal::Version, text, None);
    let version = identity
        .version
        .ok_or_else(|| refused(format!("version {} of the server is not known", identity.product_version)))?;
    if version < scenario.minimum_version {
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

async fn check_rights(
    server: &mut Server,
    statements: &Statements<'_>,
    version: ServerVersion,
    options: &CaptureOptions,
) -> Result<(), CaptureError> {
    let rights = server.table(&statements.common("rights", &[])?).await?;
    let has = |name: &str| rights.integer(0, name) == Some(1);
    let mut missing: Vec<&str> = Vec::new();
    let fine_rights = version >= ServerVersion::V2022;
    if !has("view_server_state") && !has("view_server_performance_state") {
        missing.push(if fine_rights { "VIEW SERVER PERFORMANCE STATE" } else { "VIEW SERVER STATE" });
    }
    // Never create what cannot be started, stopped and dropped. ALTER ANY EVENT SESSION holds all of it.
    if !has("alter_any_event_session") {
        if fine_rights {
            let parts = [
                ("create_any_event_session", "CREATE ANY EVENT SESSION"),
                ("enable_event_session", "ALTER ANY EVENT SESSION ENABLE"),
                ("disable_event_session", "ALTER ANY EVENT SESSION DISABLE"),
                ("drop_event", "ALTER ANY EVENT SESSION DROP EVENT"),
                ("drop_any_event_session", "DROP ANY EVENT SESSION"),
            ];
            missing.extend(parts.iter().filter(|(name, _)| !has(name)).map(|(_, right)| *right));
        } else if version >= ServerVersion::V2012 {
            missing.push("ALTER ANY EVENT SESSION");
        } else if !has("control_server") && !has("sysadmin") {
            // ALTER ANY EVENT SESSION came with 2012.
            missing.push("CONTROL SERVER");
        }
    }
    if !missing.is_empty() {
        let grants: Vec<String> = missing.iter().map(|right| format!("GRANT {right} TO [login];")).collect();
        return Err(CaptureError::refused(
            Refusal::Permission,
            format!("the login lacks {}", missing.join(", ")),
            Some(format!("in master: {}", grants.join(" "))),
        ));
    }
    if options.trace_flags.enable && !has("sysadmin") {
        return Err(CaptureError::refused(
            Refusal::Permission,
            "trace flags can only be turned on by a member of sysadmin",
            Some("leave out --enable-trace-flags: call stacks are then kept as addresses".to_owned()),
        ));
    }
    Ok(())
}

async fn capabilities(server: &mut Server, statements: &Statements<'_>) -> Result<Capabilities, CaptureError> {
    let table = server.table(&statements.common("capabilities", &[])?).await?;
    let objects = (0..table.rows.len())
        .filter_map(|row| Some(format!("{}.{}", table.text(row, "object_type")?, table.text(row, "name")?)))
        .collect();
    Ok(Capabilities { objects })
}

fn choose_objects(
    capabilities: &Capabilities,
    scenario: &Scenario,
    forced_flags: bool,
) -> Result<(&'static str, &'static str), CaptureError> {
    let missing = |what: &str| {
        CaptureError::refused(Refusal::Version, format!("{what} does not exist on this build of the server"), None)
    };
    let event = scenario.session.event.rsplit('.').next().unwrap_or_default();
    if !capabilities.has("event", event) {
        return Err(missing(&format!("the event {}", scenario.session.event)));
    }
    // The server symbolises only `callstack`, so flags that are insisted on need it.
    let actions = if forced_flags { ["callstack", "callstack_rva"] } else { ["callstack_rva", "callstack"] };
    let action = actions.into_iter().find(|name| capabilities.has("action", name));
    let target = ["histogram", "asynchronous_bucketizer"].into_iter().find(|name| capabilities.has("target", name));
    Ok((action.ok_or_else(|| missing("a call-stack action"))?, target.ok_or_else(|| missing("a histogram target"))?))
}

/// The key is looked up on every run: it differs between builds, and no built-in number is ever used.
async fn wait_type_key(
    server: &mut Server,
    statements: &Statements<'_>,
    scenario: &Scenario,
    problems: &mut Vec<Problem>,
) -> Result<u64, CaptureError> {
    let wait_type = &scenario.session.wait_type;
    let table = server.table(&statements.map_key("wait_types", wait_type)?).await?;
    let keys: BTreeSet<u64> =
        (0..table.rows.len()).filter_map(|row| u64::try_from(table.integer(row, "map_key")?).ok()).collect();
    let Some(&key) = keys.first() else {
        let pattern = format!("%{}%", wait_type.rsplit('_').next().unwrap_or(wait_type));
        let near = server.table(&statements.near_map_values("wait_types", &pattern)?).await?;
        let near: Vec<&str> = (0..near.rows.len()).filter_map(|row| near.text(row, "map_value")).collect();
        let hint = (!near.is_empty()).then(|| format!("near names there: {}", near.join(", ")));
        let text = format!("the wait type {wait_type} is not in this server's map wait_types");
        return Err(CaptureError::refused(Refusal::Version, text, hint));
    };
    if keys.len() > 1 {
        let message = format!("{wait_type} has several keys in the map wait_types ({keys:?}); only {key} was captured");
        problems.push(Problem::new("map_key_ambiguous", Severity::Partial, message));
    }
    Ok(key)
}

async fn flag_states(
    server: &mut Server,
    statements: &Statements<'_>,
    version: ServerVersion,
    problems: &mut Vec<Problem>,
) -> Result<Vec<FlagState>, CaptureError> {
    let flags = symbol_trace_flags(version);
    if flags.is_empty() {
        return Ok(Vec::new());
    }
    match read_flags(server, statements, flags).await {
        Ok(states) => Ok(states),
        Err(error) if error.is_connection_lost() => Err(error.into()),
        Err(error) => {
            let message = format!("the state of trace flags is unknown: {}", counters::chain(&error));
            problems.push(Problem::new("trace_status_unknown", Severity::Warning, message));
            Ok(flags.iter().map(|&flag| FlagState { flag, global: None }).collect())
        }
    }
}

/// Reads TRACESTATUS of some flags. A flag without a row is off.
pub(super) async fn read_flags(
    server: &mut Server,
    statements: &Statements<'_>,
    flags: &[u32],
) -> Result<Vec<FlagState>, SqlServerError> {
    let Ok(sql) = statements.trace_status(flags) else { return Ok(Vec::new()) };
    let table = server.table(&sql).await?;
    let is_on = |flag: u32| {
        (0..table.rows.len()).any(|row| {
            table.integer(row, "TraceFlag") == Some(i64::from(flag)) && table.integer(row, "Global") == Some(1)
        })
    };
    Ok(flags.iter().map(|&flag| FlagState { flag, global: Some(is_on(flag)) }).collect())
}

struct VolumeLook {
    events_per_second: Option<f64>,
    cpu_share: Option<f64>,
    after: Snapshot,
}

async fn look_at_volume(
    server: &mut Server,
    statements: &Statements<'_>,
    scenario: &Scenario,
    clock: &dyn Clock,
    interrupt: &Interrupt,
    problems: &mut Vec<Problem>,
) -> Result<VolumeLook, CaptureError> {
    let names = ["dm_os_sys_info".to_owned(), "dm_os_schedulers".to_owned()];
    let volume = statements.volume(&scenario.session.wait_type)?;
    let started = clock.monotonic();
    let before = counters::read(server, statements, clock, &names, problems).await?;
    let first = server.table(&volume).await?.integer(0, "waiting_tasks_count");
    tokio::select! {
        () = clock.sleep_until(started + VOLUME_LOOK) => {}
        () = interrupt.signalled() => return Err(CaptureError::Interrupted),
    }
    let second = server.table(&volume).await?.integer(0, "waiting_tasks_count");
    let seconds = clock.monotonic().saturating_sub(started).as_secs_f64();
    let after = counters::read(server, statements, clock, &names, problems).await?;
    let events_per_second =
        first.zip(second).map(|(first, second)| (second - first).max(0) as f64 / seconds.max(0.001));
    Ok(VolumeLook { events_per_second, cpu_share: counters::cpu_share(&before, &after), after })
}

/// Why symbolising on the server would be refused now.
pub(crate) fn flags_policy(cpu_share: Option<f64>, now: &Snapshot, scenario: &Scenario) -> Option<String> {
    let queued = counters::work_queue(now);
    if queued > 0 {
        return Some(format!("{queued} tasks wait for a worker"));
    }
    let limit = scenario.limits.max_cpu_for_trace_flags;
    cpu_share.filter(|share| *share > limit).map(|share| {
        format!("SQL Server uses {:.0} % of its schedulers, more than {:.0} %", share * 100.0, limit * 100.0)
    })
}

fn flags_to_use(
    flags: &[FlagState],
    look: &VolumeLook,
    scenario: &Scenario,
    options: &CaptureOptions,
    uses_rva: bool,
) -> Result<Vec<u32>, CaptureError> {
    if !options.trace_flags.enable {
        return Ok(Vec::new());
    }
    let hint = "leave out --enable-trace-flags, or insist with --force-flags";
    let refused = |text: String| CaptureError::refused(Refusal::Policy, text, Some(hint.to_owned()));
    if flags.iter().any(|state| state.global.is_none()) {
        // Not even --force-flags: what was before could not be restored.
        return Err(refused("the state of trace flags is unknown, so they could not be restored".to_owned()));
    }
    if !options.trace_flags.force {
        if uses_rva {
            return Err(refused(
                "trace flags are not needed here: callstack_rva names module, offset and PDB of every frame".to_owned(),
            ));
        }
        if let Some(reason) = flags_policy(look.cpu_share, &look.after, scenario) {
            return Err(refused(format!("trace flags are refused: {reason}")));
        }
    }
    Ok(flags.iter().map(|state| state.flag).collect())
}

fn choose_slots(scenario: &Scenario, options: &CaptureOptions, uses_rva: bool) -> Result<u64, CaptureError> {
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
    Ok(slots)
}

fn scheduler_count(snapshot: &Snapshot) -> usize {
    snapshot.tables.get("dm_os_schedulers").map_or(0, |schedulers| schedulers.rows.len())
}

fn session_memory_kb(scenario: &Scenario, snapshot: &Snapshot) -> u64 {
    const LEAST_KB: u64 = 512;
    let committed_kb = snapshot.tables.get("dm_os_sys_info").and_then(|info| info.integer(0, "committed_target_kb"));
    let most_kb = committed_kb.map_or(u64::MAX, |kb| (kb.max(0) as f64 * scenario.limits.max_memory_share) as u64);
    scenario.session.max_memory_kb.min(most_kb).max(LEAST_KB)
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
