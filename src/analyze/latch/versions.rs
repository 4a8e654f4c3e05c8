//! Owns finding `row_versions`: whether row versions were made in the window, which databases make them, and what else can.

use crate::{
    analyze::{deltas::some_of, facts::Facts, findings::gate, words::count},
    model::{DatabaseRow, Finding, Gate},
};

/// The class that the insert point of tempdb's version store is guarded by.
pub const INSERT_POINT: &str = "APPEND_ONLY_STORAGE_INSERT_POINT";
/// master, tempdb, model and msdb: two of them allow snapshot isolation on every server.
const SYSTEM_DATABASES: i64 = 4;

/// Whether a class is that of the version store's insert point.
pub fn is_insert_point(latch_class: &str) -> bool {
    latch_class.trim().eq_ignore_ascii_case(INSERT_POINT)
}

/// The gate of the insert point: versions made in the window, KB.
pub fn gate_of(facts: &Facts<'_>) -> Gate {
    let generated = facts.databases.versions_generated_kb.map(|kb| kb as f64);
    gate("versions_generated_kb", generated, "> 0", |kb| kb > 0.0)
}

/// Databases of users whose changes make row versions in tempdb or in themselves, with how.
pub fn versioned(facts: &Facts<'_>) -> Vec<String> {
    let rows = facts.databases.rows.iter().flatten().filter(|row| row.database_id > SYSTEM_DATABASES);
    rows.filter_map(|row| {
        let how = [
            (row.read_committed_snapshot, "read committed snapshot"),
            (row.snapshot_isolation, "snapshot isolation"),
            (row.accelerated_recovery, "accelerated database recovery, which keeps versions in the database"),
        ];
        let how: Vec<&str> = how.into_iter().filter(|(on, _)| *on == Some(true)).map(|(_, how)| how).collect();
        (!how.is_empty()).then(|| format!("{} ({})", row.database, how.join(", ")))
    })
    .collect()
}

/// Replicas that can be read, whose readers use row versions whatever the database's own settings.
pub fn readable_secondaries(facts: &Facts<'_>) -> Vec<String> {
    let rows = facts.databases.rows.iter().flatten();
    rows.filter(|row| row.readable_secondary == Some(true)).map(|row| row.database.clone()).collect()
}

/// Whether parallel redo waited for anything in the window.
pub fn has_parallel_redo(facts: &Facts<'_>) -> bool {
    facts.deltas.waits.iter().flatten().any(|row| {
        row.wait_ms > 0 && row.wait_type.starts_with("PARALLEL_REDO_") && !facts.catalog.waits.is_idle(&row.wait_type)
    })
}

/// The finding.
pub fn finding(facts: &Facts<'_>) -> Finding {
    let gate = gate_of(facts);
    let (state, mut text) = match gate.value {
        None => ("unknown", "How many row versions were made in the window is not known.".to_owned()),
        Some(kb) if gate.met => {
            ("generated", format!("{} KB of row versions were made in the window.", count(kb as u64)))
        }
        Some(_) => ("none", "No row versions were made in the window.".to_owned()),
    };
    let databases = versioned(facts);
    if !databases.is_empty() {
        text.push_str(&format!(" Databases that version rows: {}.", some_of(&databases)));
    }
    text.push_str(&store(facts));
    let replicas = readable_secondaries(facts);
    if !replicas.is_empty() {
        text.push_str(&format!(" Readable replicas make versions too: {}.", some_of(&replicas)));
    }
    if has_parallel_redo(facts) {
        text.push_str(" Parallel redo ran, which puts versions into the store of a readable replica.");
    }
    if state == "generated" {
        text.push_str(
            " Triggers, MARS and online index builds make versions without any of these settings, and are not seen here.",
        );
    }
    Finding {
        name: "row_versions".to_owned(),
        state: state.to_owned(),
        value: gate.value,
        low: None,
        high: None,
        gates: vec![gate],
        text,
    }
}

/// Size and growth of the version stores in tempdb, of the database with the largest one.
fn store(facts: &Facts<'_>) -> String {
    let rows = facts.databases.rows.iter().flatten().filter(|row| row.version_store_kb.is_some());
    let largest: Option<&DatabaseRow> = rows.max_by_key(|row| row.version_store_kb);
    let Some((row, kb)) = largest.and_then(|row| Some((row, row.version_store_kb.filter(|kb| *kb > 0)?))) else {
        return String::new();
    };
    let growth = match row.version_store_growth_kb {
        Some(grown) if grown > 0 => format!(", {} KB more than at the start", count(grown.unsigned_abs())),
        Some(grown) if grown < 0 => format!(", {} KB less than at the start", count(grown.unsigned_abs())),
        _ => String::new(),
    };
    format!(" The version store of {} takes {} KB of tempdb{growth}.", row.database, count(kb))
}
