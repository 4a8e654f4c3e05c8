//! Owns what else a change on a server sets off: triggers on its DDL, which may undo it, and audits, which record it.

use crate::agent::counters;
use crate::agent::server::Server;
use crate::model::{ServerVersion, Table};
use crate::sqlserver::SqlServerError;
use crate::statements::Statements;
use std::collections::BTreeMap;

/// What the statements of event sessions set off, as far as this login can see it: a login without VIEW ANY DEFINITION
/// is shown nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SideEffects {
    /// Enabled triggers of the server by name, with those of their events that are of event sessions.
    pub triggers: BTreeMap<String, Vec<String>>,
    /// Enabled audits by name.
    pub audits: Vec<String>,
    /// What could not be looked up, each with the reason.
    pub unreadable: Vec<String>,
}

/// Events of DDL triggers that are of event sessions, and the groups that hold them (list of DDL events).
const EVENTS: [&str; 5] =
    ["CREATE_EVENT_SESSION", "ALTER_EVENT_SESSION", "DROP_EVENT_SESSION", "DDL_EVENTS", "DDL_SERVER_LEVEL_EVENTS"];

impl SideEffects {
    /// In one sentence each, for people.
    pub(crate) fn in_words(&self) -> Vec<String> {
        let triggers = self.triggers.iter().map(|(name, events)| {
            format!(
                "the server trigger {name} runs on event session statements ({}) and may undo them",
                events.join(", ")
            )
        });
        let audits = self.audits.iter().map(|name| format!("the audit {name} is on and may record what is done"));
        triggers.chain(audits).collect()
    }

    fn add_triggers(&mut self, table: &Table) {
        for row in (0..table.rows.len()).filter(|&row| table.integer(row, "is_disabled") == Some(0)) {
            let (Some(name), Some(event)) = (table.text(row, "name"), table.text(row, "type_desc")) else { continue };
            if EVENTS.contains(&event) {
                self.triggers.entry(name.to_owned()).or_default().push(event.to_owned());
            }
        }
    }

    fn add_audits(&mut self, table: &Table) {
        let enabled = (0..table.rows.len()).filter(|&row| table.integer(row, "is_state_enabled") == Some(1));
        self.audits.extend(enabled.filter_map(|row| table.text(row, "name").map(str::to_owned)));
    }
}

/// Looks up what changes would set off. What cannot be seen is told as unreadable; only a lost connection is an error.
pub(crate) async fn read(server: &mut Server, statements: &Statements<'_>) -> Result<SideEffects, SqlServerError> {
    let mut found = SideEffects::default();
    type Add = fn(&mut SideEffects, &Table);
    let looks: [(&str, Add); 2] = [("ddl_triggers", SideEffects::add_triggers), ("audits", SideEffects::add_audits)];
    // Azure SQL Database audits outside of what its users' databases show.
    let is_shown = |name: &str| name != "audits" || statements.version() != ServerVersion::AzureDb;
    for (name, add) in looks.into_iter().filter(|(name, _)| is_shown(name)) {
        let Ok(sql) = statements.common(name, &[]) else { continue };
        match server.table(&sql).await {
            Ok(table) => add(&mut found, &table),
            Err(error) if error.is_connection_lost() => return Err(error),
            Err(error) => found.unreadable.push(format!("{name}: {}", counters::chain(&error))),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::SideEffects;
    use crate::model::{Table, Value};

    fn table(columns: [&str; 3], rows: &[(&str, i64, &str)]) -> Table {
        let row = |(name, flag, text): &(&str, i64, &str)| {
            vec![Value::Text((*name).to_owned()), Value::Integer(*flag), Value::Text((*text).to_owned())]
        };
        Table { columns: columns.map(str::to_owned).to_vec(), rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn enabled_triggers_on_event_sessions_and_enabled_audits_are_told() {
        let mut found = SideEffects::default();
        found.add_triggers(&table(
            ["name", "is_disabled", "type_desc"],
            &[
                ("guard", 0, "CREATE_EVENT_SESSION"),
                ("guard", 0, "DROP_EVENT_SESSION"),
                ("off", 1, "CREATE_EVENT_SESSION"),
                ("logons", 0, "LOGON"),
                ("all", 0, "DDL_EVENTS"),
            ],
        ));
        found.add_audits(&table(["name", "is_state_enabled", "x"], &[("compliance", 1, ""), ("old", 0, "")]));
        assert_eq!(
            found.in_words(),
            [
                "the server trigger all runs on event session statements (DDL_EVENTS) and may undo them",
                "the server trigger guard runs on event session statements (CREATE_EVENT_SESSION, DROP_EVENT_SESSION) and may undo them",
                "the audit compliance is on and may record what is done",
            ]
        );
    }
}
