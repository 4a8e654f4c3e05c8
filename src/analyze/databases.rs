//! Owns what the window shows of the databases: their settings that matter, their logs, their row versions; and of the work
//! of the whole server.

mod counters;

use super::{
    cells::{Columns, Place, flag_in, id_in, number_in, text_in},
    deltas::some_of,
    files::database_names,
    measures::{Continuity, Measures},
};
use crate::model::{DatabaseRow, Evidence, Mark, Problem, Severity, Snapshot, Table, Value};
use counters::{LogCounters, growth_of};
use std::collections::BTreeMap;

/// Databases and server-wide work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Databases {
    /// Databases, by id; `None` where the view was not read.
    pub rows: Option<Vec<DatabaseRow>>,
    /// Index searches a second, the throughput of a load of endless batches.
    pub index_searches_per_second: Option<f64>,
    /// Row versions generated in tempdb in the window, KB (`Version Generation rate (KB/s)`, which counts KB).
    pub versions_generated_kb: Option<u64>,
    /// Resets and what else went other than it should have.
    pub problems: Vec<Problem>,
}

/// The databases of the evidence. One that was dropped inside the window shows its settings of before; one that was created
/// in it shows counters since then.
pub fn databases(evidence: &Evidence, measures: &Measures) -> Databases {
    if measures.continuity == Continuity::OtherServer {
        return Databases::default();
    }
    let same = measures.continuity == Continuity::Same;
    let searches = growth_of(evidence, "Index Searches/sec").filter(|_| same).zip(measures.elapsed_ms);
    let mut databases = Databases {
        index_searches_per_second: searches.map(|(searches, elapsed)| searches as f64 * 1_000.0 / elapsed as f64),
        versions_generated_kb: growth_of(evidence, "Version Generation rate (KB/s)").filter(|_| same),
        ..Databases::default()
    };
    let settings = |snapshot: &Option<Snapshot>| snapshot.as_ref()?.tables.get("databases").map(settings);
    let (before, after) = (settings(&evidence.before), settings(&evidence.after));
    let Some(last) = after.as_ref().or(before.as_ref()) else { return databases };
    // Without a list at one end, nothing is known to have come or gone.
    let first = before.as_ref().unwrap_or(last);
    let growth = Growth::of(evidence);
    let mut rows: BTreeMap<i64, DatabaseRow> = BTreeMap::new();
    let (mut changed, mut reset) = (Vec::new(), Vec::new());
    let ids = first.keys().chain(last.keys().filter(|id| !first.contains_key(id)));
    for id in ids {
        let (then, now) = (first.get(id), last.get(id));
        let Some(known) = now.or(then) else { continue };
        let mut row = known.row.clone();
        let shown = &row.database;
        row.mark = match (then, now) {
            _ if !same => Some(Mark::Restarted),
            (Some(_), None) => {
                changed.push(format!("{shown} is gone"));
                Some(Mark::Missing)
            }
            (None, Some(_)) => {
                changed.push(format!("{shown} is new"));
                Some(Mark::New)
            }
            (Some(then), Some(now)) if then.is_named && now.is_named && then.row.database != now.row.database => {
                changed.push(format!("{shown} was {}", then.row.database));
                Some(Mark::Renamed)
            }
            _ => None,
        };
        if growth.fill(&mut row) {
            reset.push(row.database.clone());
        }
        rows.insert(*id, row);
    }
    if !changed.is_empty() {
        let message = format!("databases changed inside the window: {}", some_of(&changed));
        databases.problems.push(Problem::new("databases_changed", Severity::Info, message));
    }
    if !reset.is_empty() {
        let message = format!(
            "log counters went down inside the window, because the database went offline or was attached anew: {}",
            some_of(&reset)
        );
        databases
            .problems
            .push(Problem::new("counters_reset", Severity::Partial, message).with_hint("repeat the capture"));
    }
    databases.rows = Some(rows.into_values().collect());
    databases
}

/// What one list of databases says of one.
struct Known {
    row: DatabaseRow,
    is_named: bool,
}

/// The settings of a list of databases, by id; of several rows of one id the first stands.
fn settings(table: &Table) -> BTreeMap<i64, Known> {
    let columns = Columns::of(table);
    let place = |name: &str| columns.place(&[name]);
    let (id, name, source) = (place("database_id"), place("name"), place("source_database_id"));
    let (committed, isolation) = (place("is_read_committed_snapshot_on"), place("snapshot_isolation_state"));
    let recovery = place("is_accelerated_database_recovery_on");
    let durability = columns.place(&["delayed_durability_desc", "delayed_durability"]);
    let mut known: BTreeMap<i64, Known> = BTreeMap::new();
    let names = database_names(table);
    let named = |id: i64| names.get(&id).cloned().unwrap_or_else(|| format!("database {id}"));
    for cells in &table.rows {
        let Some(id) = id_in(cells, id) else { continue };
        known.entry(id).or_insert_with(|| Known {
            is_named: text_in(cells, name).is_some(),
            row: DatabaseRow {
                database: named(id),
                database_id: id,
                snapshot_of: id_in(cells, source).map(named),
                read_committed_snapshot: flag_in(cells, committed),
                // 0: off; 1: on; 2 and 3: changing from or to it.
                snapshot_isolation: flag_in(cells, isolation),
                accelerated_recovery: flag_in(cells, recovery),
                delayed_durability: delayed_durability(cells, durability),
                ..DatabaseRow::default()
            },
        });
    }
    known
}

/// As text, or as its number: 0 disabled, 1 allowed, 2 forced.
fn delayed_durability(cells: &[Value], place: Place) -> Option<String> {
    match number_in(cells, place) {
        Some(0) => Some("DISABLED".to_owned()),
        Some(1) => Some("ALLOWED".to_owned()),
        Some(2) => Some("FORCED".to_owned()),
        Some(_) => None,
        None => text_in(cells, place).map(str::to_ascii_uppercase),
    }
}

/// What the counters of the databases grew by.
struct Growth {
    log: LogCounters,
    version_store: (Option<BTreeMap<i64, u64>>, Option<BTreeMap<i64, u64>>),
    persistent_kb: Option<BTreeMap<i64, u64>>,
    readable_secondary: Option<BTreeMap<i64, bool>>,
}

impl Growth {
    fn of(evidence: &Evidence) -> Self {
        let table = |snapshot: &Option<Snapshot>, view: &str, column: &str| {
            Some(kb_by_database(snapshot.as_ref()?.tables.get(view)?, column))
        };
        const VERSIONS: (&str, &str) = ("dm_tran_version_store_space_usage", "reserved_space_kb");
        const PERSISTENT: (&str, &str) = ("dm_tran_persistent_version_store_stats", "persistent_version_store_size_kb");
        let replicas = evidence.after.as_ref().and_then(|after| after.tables.get("dm_hadr_database_replica_states"));
        Self {
            log: LogCounters::of(evidence),
            version_store: (
                table(&evidence.before, VERSIONS.0, VERSIONS.1),
                table(&evidence.after, VERSIONS.0, VERSIONS.1),
            ),
            persistent_kb: table(&evidence.after, PERSISTENT.0, PERSISTENT.1),
            readable_secondary: replicas.map(readable_secondaries),
        }
    }

    /// Fills in the counters of a database; whether one of them went down.
    fn fill(&self, row: &mut DatabaseRow) -> bool {
        let id = row.database_id;
        // A replica that no availability group has is none.
        row.readable_secondary = self.readable_secondary.as_ref().map(|known| known.get(&id).copied().unwrap_or(false));
        if row.mark == Some(Mark::Missing) {
            return false;
        }
        row.persistent_version_store_kb = self.persistent_kb.as_ref().and_then(|kb| kb.get(&id).copied());
        row.version_store_kb = self.version_store.1.as_ref().and_then(|kb| kb.get(&id).copied());
        if row.mark == Some(Mark::Renamed) {
            return false;
        }
        let before = self.version_store.0.as_ref().map(|kb| kb.get(&id).copied().unwrap_or(0));
        row.version_store_growth_kb = row.version_store_kb.zip(before).map(|(now, then)| {
            let growth = i128::from(now) - i128::from(then);
            i64::try_from(growth).unwrap_or(if growth < 0 { i64::MIN } else { i64::MAX })
        });
        self.log.fill(row)
    }
}

fn kb_by_database(table: &Table, column: &str) -> BTreeMap<i64, u64> {
    let columns = Columns::of(table);
    let (id, kb) = (columns.place(&["database_id"]), columns.place(&[column]));
    let mut by_database: BTreeMap<i64, u64> = BTreeMap::new();
    for row in &table.rows {
        let Some((id, kb)) = id_in(row, id).zip(number_in(row, kb)) else { continue };
        let Ok(kb) = u64::try_from(kb.clamp(0, u64::MAX.into())) else { continue };
        let sum = by_database.entry(id).or_default();
        *sum = sum.saturating_add(kb);
    }
    by_database
}

fn readable_secondaries(table: &Table) -> BTreeMap<i64, bool> {
    let columns = Columns::of(table);
    let place = |name: &str| columns.place(&[name]);
    let (id, primary) = (place("database_id"), place("is_primary_replica"));
    let connections = place("secondary_role_allow_connections");
    let mut readable: BTreeMap<i64, bool> = BTreeMap::new();
    for row in &table.rows {
        let Some(id) = id_in(row, id) else { continue };
        let Some((is_primary, allowed)) = flag_in(row, primary).zip(number_in(row, connections)) else { continue };
        *readable.entry(id).or_default() |= !is_primary && allowed > 0;
    }
    readable
}
