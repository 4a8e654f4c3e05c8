//! Owns the rows of the event-session catalogue: what was created, as it was asked for.

use crate::simulator::events::expression::Literal;
use crate::simulator::events::options::{Partition, Retention};
use crate::simulator::events::session::Definition;
use crate::simulator::value::{Datum, SqlType};
use crate::simulator::views::Source;
use crate::simulator::views::schema::Record;

/// sys.server_event_sessions.
pub fn sessions(source: Source<'_>) -> Vec<Record> {
    let rows = source.definitions().map(|session| {
        let options = &session.options;
        let (retention, retention_desc) = match options.retention {
            Retention::SingleEventLoss => ("S", "ALLOW_SINGLE_EVENT_LOSS"),
            Retention::MultipleEventLoss => ("M", "ALLOW_MULTIPLE_EVENT_LOSS"),
            Retention::NoEventLoss => ("N", "NO_EVENT_LOSS"),
        };
        let (partition, partition_desc) = match options.partition {
            Partition::None => ("G", "NONE"),
            Partition::PerNode => ("N", "PER_NODE"),
            Partition::PerCpu => ("C", "PER_CPU"),
        };
        let latency = options.dispatch_latency_ms.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(-1);
        let row = Record::new()
            .with("event_session_id", session.id)
            .with("name", session.name.as_str())
            .with("event_retention_mode", retention)
            .with("event_retention_mode_desc", retention_desc)
            .with("max_dispatch_latency", latency)
            .with("max_memory", options.max_memory_kb)
            .with("max_event_size", options.max_event_size_kb)
            .with("memory_partition_mode", partition)
            .with("memory_partition_mode_desc", partition_desc)
            .with("track_causality", options.track_causality)
            .with("startup_state", options.startup_state);
        // Kept in seconds or ms, no source says; as the other times: ms.
        match options.max_duration_ms {
            Some(ms) => row.with("max_duration", ms),
            None => row,
        }
    });
    rows.collect()
}

fn of_session(session: &Definition) -> Record {
    Record::new().with("event_session_id", session.id)
}

fn module(package: &str) -> &'static str {
    if package == "sqlserver" { "sqllang" } else { "sqldk" }
}

/// sys.server_event_session_events.
pub fn events(source: Source<'_>) -> Vec<Record> {
    let mut rows = Vec::new();
    for session in source.definitions() {
        for event in &session.events {
            let row = of_session(session)
                .with("event_id", event.id)
                .with("name", event.object.name)
                .with("package", event.object.package)
                .with("module", module(event.object.package));
            rows.push(match &event.predicate {
                Some(predicate) => row.with("predicate", predicate.to_string()),
                None => row,
            });
        }
    }
    rows
}

/// sys.server_event_session_actions.
pub fn actions(source: Source<'_>) -> Vec<Record> {
    let mut rows = Vec::new();
    for session in source.definitions() {
        for event in &session.events {
            for action in &event.actions {
                rows.push(
                    of_session(session)
                        .with("event_id", event.id)
                        .with("name", action.name)
                        .with("package", action.package)
                        .with("module", module(action.package)),
                );
            }
        }
    }
    rows
}

/// sys.server_event_session_targets. Assumed: an old bucketizer name shows as `histogram`; the fault
/// `target-name=given` keeps it.
pub fn targets(source: Source<'_>) -> Vec<Record> {
    let mut rows = Vec::new();
    for session in source.definitions() {
        for target in &session.targets {
            rows.push(
                of_session(session)
                    .with("target_id", target.id)
                    .with("name", target.shown_name(source.instance.switches()))
                    .with("package", "package0")
                    .with("module", "sqldk"),
            );
        }
    }
    rows
}

/// A value as sql_variant: int where it fits.
fn variant(value: &Literal) -> Datum {
    match value {
        Literal::Text(text) => {
            let length = u16::try_from(text.encode_utf16().count().max(1)).ok().filter(|length| *length <= 4_000);
            Datum::Variant(SqlType::NVarChar(Some(length.unwrap_or(4_000))), Box::new(Datum::Text(text.clone())))
        }
        Literal::Number(number) => {
            let number = i64::try_from(*number).unwrap_or(i64::MAX);
            let fits_int = i32::try_from(number).is_ok();
            Datum::Variant(if fits_int { SqlType::Int } else { SqlType::BigInt }, Box::new(Datum::Int(number)))
        }
    }
}

/// sys.server_event_session_fields: parameters as asked for, so `slots` before it is rounded up.
pub fn fields(source: Source<'_>) -> Vec<Record> {
    let mut rows = Vec::new();
    for session in source.definitions() {
        let events = session
            .events
            .iter()
            .flat_map(|event| event.settings.iter().map(|(name, value)| (event.id, name.clone(), variant(value))));
        let targets = session.targets.iter().flat_map(|target| {
            target.settings.iter().map(|(name, value)| (target.id, (*name).to_owned(), variant(value)))
        });
        for (object, name, value) in events.chain(targets) {
            rows.push(of_session(session).with("object_id", object).with("name", name).with("value", value));
        }
    }
    rows
}
