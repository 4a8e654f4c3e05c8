//! Owns what follows from what was found: pure.

use crate::agent::preflight::rights::{Need, Readiness, Rights, Standing};
use crate::agent::preflight::{self, Plan, SideEffects, error_log};
use crate::agent::{CaptureError, Refusal, counters};
use crate::catalog::sessions::Scenario;
use crate::model::{
    ErrorLogOutlook, LoginRights, NeedOutlook, NeedState, PollCost, ScenarioOutlook, ScenarioReadiness, ServerIdentity,
    ServerVersion, SideEffectOutlook, Snapshot, SymbolOutlook, TraceFlagOutlook, WouldRun,
};

/// A scenario, from its plan or from why there is none.
pub(super) fn of_scenario(
    name: &str,
    scenarios: &[Scenario],
    plan: Result<&Plan, &CaptureError>,
    rights: &Rights,
    server: &ServerIdentity,
    poll: Option<PollCost>,
) -> ScenarioOutlook {
    let mut outlook = ScenarioOutlook {
        name: name.to_owned(),
        readiness: ScenarioReadiness::Ready,
        reason: None,
        remedy: None,
        would_run: None,
        poll,
        error_log: ErrorLogOutlook::default(),
    };
    match plan {
        Ok(plan) => {
            outlook.would_run = would_run(plan);
            // A scenario that makes no session misses nothing.
            if let Readiness::CountersOnly { missing } = rights.readiness()
                && scenarios.iter().any(|scenario| !scenario.sessions.is_empty())
            {
                outlook.readiness = ScenarioReadiness::CountersOnly;
                outlook.reason = Some(format!("no call stacks: the login lacks {}", missing.rights.join(", ")));
                outlook.remedy = Some(missing.hint());
            }
        }
        Err(error) => {
            outlook.readiness = match (error, rights.readiness()) {
                // What is refused for its volume or build leaves the counters, by --counters-only.
                (CaptureError::Refused { reason: Refusal::Policy | Refusal::Version, .. }, readiness)
                    if !matches!(readiness, Readiness::Impossible { .. }) =>
                {
                    ScenarioReadiness::CountersOnly
                }
                _ => ScenarioReadiness::Impossible,
            };
            outlook.reason = Some(counters::chain(error));
            outlook.remedy = error.hint();
        }
    }
    if outlook.would_run.is_some() {
        let of_scenario = |scenario: &Scenario| scenario.sessions.len() as u64 + u64::from(scenario.survey.is_some());
        let sessions = scenarios.iter().map(of_scenario).sum();
        outlook.error_log.session_lines = error_log::of_sessions(&server.product_version, sessions);
    }
    outlook
}

fn would_run(plan: &Plan) -> Option<WouldRun> {
    let events = plan.events.as_ref()?;
    let planned = plan.scenarios.first()?;
    let scenario = &planned.scenario;
    let main = planned.sessions.first()?;
    Some(WouldRun {
        event: main.template.event.clone(),
        action: events.callstack_action.to_owned(),
        target: events.target.to_owned(),
        slots: main.slots.asked,
        further_events: planned.sessions.iter().skip(1).map(|session| session.template.event.clone()).collect(),
        target_bytes: plan.scenarios.iter().map(preflight::ScenarioPlan::most_bytes).sum(),
        session_memory_kb: events.max_memory_kb,
        partition_mode: events.partition_mode.to_owned(),
        event_cap: events.max_events,
        max_duration_seconds: events.max_duration_seconds,
        events_per_second: planned.events_per_second,
        events_per_second_limit: scenario.limits.max_events_per_second,
        survey_seconds: scenario.survey.as_ref().map(|survey| survey.seconds),
    })
}

pub(super) fn of_login(rights: &Rights) -> LoginRights {
    let outlook = |need: Need| {
        let (state, missing) = match rights.standing(need) {
            Standing::Held => (NeedState::Held, None),
            Standing::Missing(missing) => (NeedState::Missing, Some(missing)),
            Standing::NotOffered => (NeedState::NotOffered, None),
        };
        NeedOutlook {
            need: need.in_words().to_owned(),
            state,
            run_in: missing.as_ref().map(|missing| missing.database.clone()),
            grant: missing.map(|missing| missing.grant),
        }
    };
    LoginRights {
        name: rights.login.clone(),
        sysadmin: rights.sysadmin,
        permissions: rights.all().map(|(name, held)| (name.to_owned(), held)).collect(),
        needs: Need::ALL.map(outlook).to_vec(),
    }
}

/// What `--enable-trace-flags` would meet now.
pub(super) fn opt_in(
    on_globally: Option<Vec<i64>>,
    rights: &Rights,
    plans: &[Plan],
    cpu_share: Option<f64>,
    now: &Snapshot,
) -> TraceFlagOutlook {
    let scenarios: Vec<Scenario> =
        plans.iter().flat_map(|plan| &plan.scenarios).map(|planned| planned.scenario.clone()).collect();
    let uses_rva =
        plans.iter().filter_map(|plan| plan.events.as_ref()).any(|events| events.callstack_action == "callstack_rva");
    let refusal = match rights.standing(Need::TraceFlags) {
        Standing::NotOffered => Some("not offered here: these trace flags do not exist in this place".to_owned()),
        Standing::Missing(_) => Some("refused: only a member of sysadmin may".to_owned()),
        Standing::Held if on_globally.is_none() => {
            Some("refused: the state of trace flags is unknown, so they could not be restored".to_owned())
        }
        Standing::Held if uses_rva => {
            Some("refused: not needed, callstack_rva names module, offset and PDB".to_owned())
        }
        Standing::Held => preflight::flags_policy(cpu_share, now, preflight::cpu_limit(&scenarios))
            .map(|reason| format!("refused now: {reason}")),
    };
    TraceFlagOutlook {
        on_globally,
        symbol_flags: Vec::new(),
        opt_in_accepted: refusal.is_none(),
        opt_in: refusal.unwrap_or_else(|| "accepted: around one read, the least form that works".to_owned()),
    }
}

pub(super) fn side_effects(found: SideEffects) -> SideEffectOutlook {
    SideEffectOutlook { ddl_triggers: found.triggers, audits: found.audits }
}

/// How frames would get their names on this server.
pub(super) fn symbols(server: &ServerIdentity, scenarios: &[ScenarioOutlook]) -> SymbolOutlook {
    let uses_rva =
        scenarios.iter().filter_map(|scenario| scenario.would_run.as_ref()).any(|run| run.action == "callstack_rva");
    let is_linux = server.host_platform.as_deref() == Some("Linux");
    let is_azure = matches!(server.version, Some(ServerVersion::AzureDb | ServerVersion::AzureMi));
    let (frames, text) = if uses_rva {
        let text = "Frames come with module, offset and the identity of their PDB (callstack_rva): names need those PDBs, and \
                    nothing on the server.";
        ("module_offset_pdb", text)
    } else if is_linux || is_azure {
        let text = "Frames come as addresses or module and offset; this server has no symbols of its own, so names need the \
                    PDBs of its build.";
        ("module_offset_or_address", text)
    } else {
        let text = "Frames come as addresses or module and offset. Names need the PDBs of this build, or \
                    --enable-trace-flags where they lie beside the server's modules.";
        ("module_offset_or_address", text)
    };
    SymbolOutlook { frames: frames.to_owned(), text: format!("{text} Nothing leaves this machine.") }
}
