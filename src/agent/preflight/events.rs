//! Owns what is settled for the event sessions of a capture: the names and keys of this build, slots, memory and bounds.

use super::{FlagState, Look, ScenarioPlan, SessionPlan, Slots, keys, look, objects};
use crate::agent::server::Server;
use crate::agent::{CaptureError, CaptureOptions, Refusal};
use crate::catalog::sessions::{Scenario, SessionTemplate};
use crate::model::{Problem, ServerIdentity, Severity, Snapshot};
use crate::statements::{Filters, Statements, max_duration_seconds};
use std::collections::BTreeMap;

/// Deepest stack of any version (architecture: 16, 24, 25 and 32 occur).
const DEEPEST_STACK: u64 = 32;

/// Allowed for a slot whose value is a number or a short text, bytes.
const BYTES_PER_VALUE: u64 = 200;

/// What event sessions are made with.
#[derive(Debug, Clone)]
pub(in crate::agent) struct EventPlan {
    /// What events are filtered to beside their keys.
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
    /// MAX_DURATION, seconds, where the server has that option and has not refused it.
    pub max_duration_seconds: Option<u64>,
}

/// What a build offers for the scenarios, before it is known how busy the server is.
pub(super) struct Found {
    /// With the keys of this build.
    pub scenarios: Vec<ScenarioPlan>,
    /// Names of the keys in the maps that have no single value.
    pub map_names: BTreeMap<u64, String>,
    /// Of the sessions whose one value the look finds, the values there are, by the session's name.
    leading: BTreeMap<String, keys::MapValues>,
    /// The symbol flags and how they stand.
    pub flags: Vec<FlagState>,
    filters: Filters,
    callstack_action: &'static str,
    target: &'static str,
    has_max_duration: bool,
}

/// Looks up names, keys and flags.
pub(super) async fn find(
    server: &mut Server,
    statements: &Statements<'_>,
    identity: &ServerIdentity,
    scenarios: &[Scenario],
    options: &CaptureOptions,
    problems: &mut Vec<Problem>,
) -> Result<Found, CaptureError> {
    let all = scenarios.iter().flat_map(|scenario| scenario.sessions_with(options.queries));
    let events: Vec<String> = all.map(|template| template.event).collect();
    let capabilities = objects::capabilities(server, statements, &events).await?;
    let (callstack_action, target) = objects::choose_objects(&capabilities, identity, options)?;
    let mut map_names = BTreeMap::new();
    let mut leading = BTreeMap::new();
    let mut planned = Vec::new();
    let mut builds = keys::Builds::default();
    for scenario in scenarios {
        let mut sessions = Vec::new();
        for template in scenario.sessions_with(options.queries) {
            let found = find_session(server, statements, identity, &capabilities, scenario, &template, &mut builds);
            let map = match found.await {
                Ok(map) => map,
                Err(CaptureError::Refused { text, .. }) if template.optional => {
                    problems.push(left_out(scenario, &template, &text));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if scenario.survey.is_some() && template.values.is_empty() {
                map_names.extend(map.by_key());
            }
            let keys = match keys::keys(statements, scenario, &template, &map, options, problems) {
                Ok(keys) => keys,
                Err(CaptureError::Refused { text, .. }) if template.optional => {
                    problems.push(left_out(scenario, &template, &text));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let slots = choose_slots(scenario, &template, options, callstack_action == "callstack_rva")?;
            if template.values_from.is_some() {
                leading.insert(template.full_name(scenario), map);
            }
            sessions.push(SessionPlan { template, keys, slots });
        }
        planned.push(ScenarioPlan { scenario: scenario.clone(), sessions, events_per_second: None });
    }
    let filters = keys::filters(server, statements, options, identity).await?;
    let flags = look::flag_states(server, statements, problems).await?;
    let has_max_duration = has_max_duration(server, statements).await?;
    Ok(Found { scenarios: planned, map_names, leading, flags, filters, callstack_action, target, has_max_duration })
}

/// Checks what a session needs of this build, and gives the values of its map.
async fn find_session(
    server: &mut Server,
    statements: &Statements<'_>,
    identity: &ServerIdentity,
    capabilities: &objects::Capabilities,
    scenario: &Scenario,
    template: &SessionTemplate,
    builds: &mut keys::Builds,
) -> Result<keys::MapValues, CaptureError> {
    objects::check_session(capabilities, identity, template)?;
    keys::map_values(server, statements, scenario, template, identity, builds).await
}

/// That a session which is not needed is left out.
fn left_out(scenario: &Scenario, template: &SessionTemplate, why: &str) -> Problem {
    let message = format!("the session {} is left out: {why}", template.full_name(scenario));
    Problem::new("session_left_out", Severity::Info, message)
}

/// Whether sessions of this server can have a duration: its catalogue shows one where they can.
async fn has_max_duration(server: &mut Server, statements: &Statements<'_>) -> Result<bool, CaptureError> {
    match server.table(&statements.common("event_session_columns", &[])?).await {
        Ok(columns) => Ok((0..columns.rows.len()).any(|row| columns.text(row, "name") == Some("max_duration"))),
        Err(error) if error.is_connection_lost() => Err(error.into()),
        // It is a second safeguard beside restoring; without it everything works as on older versions.
        Err(_) => Ok(false),
    }
}

impl Found {
    /// Whether frames name module, offset and PDB by themselves.
    pub(super) fn uses_rva(&self) -> bool {
        self.callstack_action == "callstack_rva"
    }

    /// Notes the rates that the look has found; too high a rate is refused.
    pub(super) fn expect_rates(&mut self, look: &Look, options: &CaptureOptions) -> Result<(), CaptureError> {
        for planned in &mut self.scenarios {
            let of_scenario = |(name, _): &&(String, f64)| *name == planned.scenario.name;
            let rate = look.events_per_second.iter().find(of_scenario).map(|(_, rate)| *rate);
            look::check_rate(&planned.scenario, rate.unwrap_or_default(), options)?;
            planned.events_per_second = rate;
        }
        Ok(())
    }

    /// Filters the sessions that are of one value only to the one that leads in the look; where none does, or it is one
    /// that the session is never made for, the session is left out.
    pub(super) fn choose_leading(&mut self, statements: &Statements<'_>, look: &Look, problems: &mut Vec<Problem>) {
        let Self { scenarios, leading, .. } = self;
        for planned in scenarios {
            let scenario = planned.scenario.clone();
            planned.sessions.retain_mut(|session| {
                let template = &session.template;
                let Some(view) = &template.values_from else { return true };
                let leader = look.leading(view);
                let key = leader.as_deref().and_then(|value| {
                    let map = leading.get(&template.full_name(&scenario))?;
                    keys::allowed_key(statements, template, map, value)
                });
                session.keys = key.map(|key| vec![key]);
                if session.keys.is_none() {
                    let why = match leader {
                        Some(value) => format!("sys.{view} is led by {value}, which it is not made for"),
                        None => format!("sys.{view} did not grow in the look before"),
                    };
                    problems.push(left_out(&scenario, template, &why));
                }
                session.keys.is_some()
            });
        }
    }

    /// What the sessions are made with on a server as busy as the look has found it.
    pub(super) fn plan(&self, look: &Look, options: &CaptureOptions) -> EventPlan {
        let scenarios: Vec<&Scenario> = self.scenarios.iter().map(|planned| &planned.scenario).collect();
        let most_events = scenarios.iter().map(|scenario| scenario.limits.max_events).min().unwrap_or_default();
        let sessions = || self.scenarios.iter().flat_map(|planned| &planned.sessions);
        let per_node = sessions().any(|session| session.template.per_node) || scheduler_count(&look.after) > 16;
        let largest_kb = sessions().map(|session| session.template.max_memory_kb).min().unwrap_or_default();
        EventPlan {
            filters: self.filters,
            callstack_action: self.callstack_action,
            target: self.target,
            max_events: options.max_events.unwrap_or(most_events),
            max_memory_kb: session_memory_kb(&scenarios, sessions().count(), largest_kb, &look.after),
            partition_mode: if per_node { "PER_NODE" } else { "NONE" },
            max_duration_seconds: self.has_max_duration.then(|| {
                let window_seconds = options.window.as_secs() + u64::from(options.window.subsec_nanos() > 0);
                max_duration_seconds(window_seconds, scenarios.iter().copied())
            }),
        }
    }
}

fn choose_slots(
    scenario: &Scenario,
    template: &SessionTemplate,
    options: &CaptureOptions,
    uses_rva: bool,
) -> Result<Slots, CaptureError> {
    if !template.has_stacks() {
        let effective = template.slots.checked_next_power_of_two().unwrap_or(u64::MAX);
        return Ok(Slots { asked: template.slots, most_bytes: effective.saturating_mul(BYTES_PER_VALUE) });
    }
    let (default, bytes_per_frame) = if uses_rva {
        (template.slots_rva, scenario.limits.bytes_per_frame_rva)
    } else {
        (template.slots, scenario.limits.bytes_per_frame)
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

/// Memory of each of so many sessions: of the committed memory target, no more than the scenarios' share together; the
/// catalogue's figure where that is less.
fn session_memory_kb(scenarios: &[&Scenario], sessions: usize, largest_kb: u64, snapshot: &Snapshot) -> u64 {
    const LEAST_KB: u64 = 512;
    let committed_kb = snapshot.tables.get("dm_os_sys_info").and_then(|info| info.integer(0, "committed_target_kb"));
    let share = scenarios.iter().map(|scenario| scenario.limits.max_memory_share).fold(1.0, f64::min);
    let most_kb = committed_kb.map_or(u64::MAX, |kb| (kb.max(0) as f64 * share / sessions.max(1) as f64) as u64);
    largest_kb.min(most_kb).max(LEAST_KB)
}
