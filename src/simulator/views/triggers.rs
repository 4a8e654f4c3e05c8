//! Owns the rows about what looks on when event sessions are made and changed: server triggers and audits.

use crate::simulator::faults::kinds::DdlTrigger;
use crate::simulator::seeded;
use crate::simulator::value::Datum;
use crate::simulator::views::Source;
use crate::simulator::views::schema::{Record, time};

/// Object id of the trigger, and number of the audit.
const TRIGGER_ID: i32 = 1_977_058_079;
const AUDIT_ID: i32 = 65_536;

/// 2024-03-11; nothing depends on it.
const CREATED: i64 = 1_710_148_800_000_000;

/// The trigger's kind, for those who may see definitions.
fn trigger(source: Source<'_>) -> Option<DdlTrigger> {
    source.instance.switches().ddl_trigger.filter(|_| source.rights().has("VIEW ANY DEFINITION") == Some(true))
}

fn audit_guid() -> Datum {
    Datum::Guid(seeded::guid(&["audit"]))
}

/// sys.server_triggers; on Azure SQL Database the trigger is one of the database.
pub fn triggers(source: Source<'_>) -> Vec<Record> {
    rows(source, (100, "SERVER"))
}

/// sys.triggers: those of the database.
pub fn of_database(source: Source<'_>) -> Vec<Record> {
    if source.instance.version_data().is_azure_database() { rows(source, (0, "DATABASE")) } else { Vec::new() }
}

/// sys.trigger_events.
pub fn events_of_database(source: Source<'_>) -> Vec<Record> {
    if source.instance.version_data().is_azure_database() { trigger_events(source) } else { Vec::new() }
}

fn rows(source: Source<'_>, (class, class_desc): (i32, &'static str)) -> Vec<Record> {
    let rows = trigger(source).map(|kind| {
        let name = match kind {
            DdlTrigger::Rollback => "refuse_event_sessions",
            DdlTrigger::Audit => "note_event_sessions",
        };
        Record::new()
            .with("name", name)
            .with("object_id", TRIGGER_ID)
            .with("parent_class", class)
            .with("parent_class_desc", class_desc)
            .with("type", "TR")
            .with("type_desc", "SQL_TRIGGER")
            .with("create_date", time(CREATED))
            .with("modify_date", time(CREATED))
            .with("is_disabled", false)
    });
    rows.into_iter().collect()
}

/// sys.server_trigger_events: the three statements on event sessions. Assumed: their numbers.
pub fn trigger_events(source: Source<'_>) -> Vec<Record> {
    let events = [(266, "CREATE_EVENT_SESSION"), (267, "ALTER_EVENT_SESSION"), (268, "DROP_EVENT_SESSION")];
    let rows = events.into_iter().filter(|_| trigger(source).is_some()).map(|(kind, name)| {
        Record::new()
            .with("object_id", TRIGGER_ID)
            .with("type", kind)
            .with("type_desc", name)
            .with("is_trigger_event", true)
    });
    rows.collect()
}

fn has_audit(source: Source<'_>) -> bool {
    trigger(source) == Some(DdlTrigger::Audit)
}

/// sys.server_audits.
pub fn audits(source: Source<'_>) -> Vec<Record> {
    let rows = has_audit(source).then(|| {
        Record::new()
            .with("audit_id", AUDIT_ID)
            .with("name", "changes")
            .with("audit_guid", audit_guid())
            .with("create_date", time(CREATED))
            .with("modify_date", time(CREATED))
            .with("principal_id", 1)
            .with("type", "FL")
            .with("type_desc", "FILE")
            .with("on_failure", 0)
            .with("on_failure_desc", "CONTINUE")
            .with("is_state_enabled", true)
            .with("queue_delay", 1_000)
    });
    rows.into_iter().collect()
}

/// sys.server_audit_specifications.
pub fn audit_specifications(source: Source<'_>) -> Vec<Record> {
    let rows = has_audit(source).then(|| {
        Record::new()
            .with("server_specification_id", AUDIT_ID)
            .with("name", "changes_of_the_server")
            .with("create_date", time(CREATED))
            .with("modify_date", time(CREATED))
            .with("audit_guid", audit_guid())
            .with("is_state_enabled", true)
    });
    rows.into_iter().collect()
}
