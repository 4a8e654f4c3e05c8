//! Owns which maintenance ran in the window, as samples of sys.dm_exec_requests saw it.

use super::{
    cells::{Columns, id_in, text_in},
    facts::Facts,
};
use std::collections::BTreeMap;

/// One command in one database.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Request {
    /// `command`.
    pub(super) command: String,
    /// Its database.
    pub(super) database: String,
}

impl Request {
    /// Whether it checks pages: such a check may read from a snapshot of its own, which no view lists.
    pub(super) fn is_check(&self) -> bool {
        let command = self.command.to_ascii_uppercase();
        command.starts_with("DBCC") && command.contains("CHECK")
    }

    /// The command and its database.
    pub(super) fn in_words(&self) -> String {
        format!("{} in {}", self.command, self.database)
    }
}

/// The maintenance seen, with the number of samples that saw it; `None` where no sample looked.
pub(super) fn maintenance(facts: &Facts<'_>) -> Option<Vec<(Request, u64)>> {
    let settings = &facts.catalog.file_latency.maintenance;
    let samples = || facts.evidence.samples.iter().filter_map(|sample| sample.tables.get("dm_exec_requests"));
    samples().next()?;
    let mut seen: BTreeMap<(String, i64), u64> = BTreeMap::new();
    for table in samples() {
        let columns = Columns::of(table);
        let (command, database) = (columns.place(&["command"]), columns.place(&["database_id"]));
        let rows =
            table.rows.iter().filter_map(|row| Some((text_in(row, command)?, id_in(row, database).unwrap_or(0))));
        let mut here: Vec<(String, i64)> = rows
            .filter(|(command, _)| settings.is_maintenance(command))
            .map(|(command, database)| (command.to_owned(), database))
            .collect();
        here.sort_unstable();
        here.dedup();
        for request in here {
            *seen.entry(request).or_default() += 1;
        }
    }
    let names: BTreeMap<i64, &str> =
        facts.databases.rows.iter().flatten().map(|row| (row.database_id, row.database.as_str())).collect();
    let name = |id: i64| names.get(&id).map_or_else(|| format!("database {id}"), |name| (*name).to_owned());
    let requests = seen.into_iter().map(|((command, id), samples)| (Request { command, database: name(id) }, samples));
    Some(requests.collect())
}
