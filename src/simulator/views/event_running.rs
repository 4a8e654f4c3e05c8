//! Owns the rows about running event sessions; a stopped session has none.

use crate::simulator::events::callstack::StackWriter;
use crate::simulator::events::cut::TargetCut;
use crate::simulator::events::expression::Literal;
use crate::simulator::events::options::{Partition, Retention};
use crate::simulator::events::running::RunningSession;
use crate::simulator::events::targets::Reader;
use crate::simulator::views::Source;
use crate::simulator::views::event_objects::package_guid;
use crate::simulator::views::schema::{Record, address, time};
use crate::simulator::workload::machine::Machine;

/// Buffers of a session: three, three for each node, or five for two CPUs (documented).
fn buffers(session: &RunningSession, machine: &Machine) -> u64 {
    match session.options.partition {
        Partition::None => 3,
        Partition::PerNode => 3 * machine.nodes.len() as u64,
        Partition::PerCpu => u64::from(machine.scheduler_count()) * 5 / 2,
    }
}

/// How a session runs: on Azure SQL Database NO_EVENT_LOSS is single event loss (documented).
fn retention(source: Source<'_>, session: &RunningSession) -> Retention {
    match session.options.retention {
        Retention::NoEventLoss if source.instance.version_data().is_azure_database() => Retention::SingleEventLoss,
        retention => retention,
    }
}

/// sys.dm_xe_sessions and sys.dm_xe_database_sessions.
pub fn sessions(source: Source<'_>) -> Vec<Record> {
    let switches = source.instance.switches();
    let rows = source.running().map(|session| {
        let buffers = buffers(session, &source.instance.truth().machine);
        let each = session.options.max_memory_kb * 1_024 / buffers / 65_536 * 65_536;
        let each = each.max(65_536) - 130;
        let (policy, policy_desc) = match retention(source, session) {
            Retention::SingleEventLoss => (0, "drop_event"),
            Retention::MultipleEventLoss => (2, "drop_full_buffer"),
            Retention::NoEventLoss => (1, "block"),
        };
        let internal = session.name == "telemetry_xevents";
        let large = session.options.max_event_size_kb * 1_024;
        let row = Record::new()
            .with("address", address(session.address))
            .with("name", session.name.as_str())
            .with("total_regular_buffers", buffers)
            .with("regular_buffer_size", each)
            .with("total_large_buffers", if large > 0 { 2 } else { 0 })
            .with("large_buffer_size", large)
            .with("total_buffer_size", buffers * each + 2 * large)
            .with("buffer_policy_flags", policy)
            .with("buffer_policy_desc", policy_desc)
            .with("flags", 1)
            .with("flag_desc", "flush_on_close")
            .with("create_time", time(session.created.utc))
            .with(
                "session_source",
                if internal {
                    "internal"
                } else if source.of_database {
                    "database"
                } else {
                    "server"
                },
            )
            .with("buffer_processed_count", session.targets.first().map_or(0, |target| target.executions));
        let built_in = internal || session.name == "system_health";
        if built_in {
            return row;
        }
        // Single event loss drops events, multiple event loss drops buffers (documented).
        match retention(source, session) {
            Retention::SingleEventLoss => row.with("dropped_event_count", switches.dropped_events),
            Retention::MultipleEventLoss => row.with("dropped_buffer_count", switches.dropped_buffers),
            Retention::NoEventLoss => row,
        }
    });
    rows.collect()
}

/// Characters of target_data at most: documents are limited to 4 MB of text and end in the middle beyond (documented).
const DOCUMENT_LIMIT: usize = 4 * 1_024 * 1_024;

/// sys.dm_xe_session_targets. What is not dispatched yet is not in target_data.
pub fn targets(source: Source<'_>) -> Vec<Record> {
    let instance = source.instance;
    let reader = Reader {
        writer: StackWriter::new(instance.version_data(), &instance.truth().stacks, instance.switches()),
        symbols: instance.symbols(source.state, Some(source.session.spid)),
        kinds: &instance.truth().kinds,
        text_values: instance.switches().text_values,
    };
    let cut = instance.switches().target_cut.unwrap_or(TargetCut::After(DOCUMENT_LIMIT));
    let mut rows = Vec::new();
    for session in source.running() {
        for target in &session.targets {
            let mut document = target.document(reader);
            cut.apply(&mut document);
            rows.push(
                Record::new()
                    .with("event_session_address", address(session.address))
                    .with("target_name", target.bound.shown_name(instance.switches()))
                    .with("target_package_guid", package_guid("package0"))
                    .with("execution_count", target.executions)
                    .with("execution_duration_ms", target.executions / 4)
                    .with("target_data", document),
            );
        }
    }
    rows
}

/// sys.dm_xe_session_events.
pub fn events(source: Source<'_>) -> Vec<Record> {
    let mut rows = Vec::new();
    for session in source.running() {
        for running in session.live_events() {
            let event = &running.bound;
            let row = Record::new()
                .with("event_session_address", address(session.address))
                .with("event_name", event.object.name)
                .with("event_package_guid", package_guid(event.object.package))
                .with("event_fire_count", running.fired);
            rows.push(match &event.predicate {
                Some(predicate) => {
                    row.with("event_predicate", predicate.to_string().chars().take(2_048).collect::<String>())
                }
                None => row,
            });
        }
    }
    rows
}

/// sys.dm_xe_session_event_actions.
pub fn actions(source: Source<'_>) -> Vec<Record> {
    let mut rows = Vec::new();
    for session in source.running() {
        for event in session.live_events().map(|running| &running.bound) {
            for action in &event.actions {
                rows.push(
                    Record::new()
                        .with("event_session_address", address(session.address))
                        .with("action_name", action.name)
                        .with("action_package_guid", package_guid(action.package))
                        .with("event_name", event.object.name)
                        .with("event_package_guid", package_guid(event.object.package)),
                );
            }
        }
    }
    rows
}

/// sys.dm_xe_session_object_columns: configuration of the running events and targets.
pub fn object_columns(source: Source<'_>) -> Vec<Record> {
    let mut rows = Vec::new();
    for session in source.running() {
        for event in session.live_events().map(|running| &running.bound) {
            for (id, (name, _, default)) in (0..).zip(event.object.attributes) {
                let given = event.settings.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
                let value = given.map_or_else(|| (*default).to_owned(), |(_, value)| as_text(value));
                let object = (event.object.package, event.object.name);
                rows.push(configured(session, "event", object, id, name).with("column_value", value));
            }
        }
        for target in &session.targets {
            for (id, (name, ..)) in (0..).zip(target.bound.object.parameters) {
                let row = configured(session, "target", ("package0", target.bound.object.name), id, name);
                let given = target.bound.settings.iter().find(|(given, _)| given == name);
                rows.push(match given {
                    Some((_, value)) => row.with("column_value", as_text(value)),
                    None => row,
                });
            }
        }
    }
    rows
}

fn configured(
    session: &RunningSession,
    kind: &'static str,
    (package, object): (&str, &str),
    id: i32,
    column: &str,
) -> Record {
    Record::new()
        .with("event_session_address", address(session.address))
        .with("column_name", column)
        .with("column_id", id)
        .with("object_type", kind)
        .with("object_name", object)
        .with("object_package_guid", package_guid(package))
}

fn as_text(value: &Literal) -> String {
    match value {
        Literal::Number(number) => number.to_string(),
        Literal::Text(text) => text.clone(),
    }
}
