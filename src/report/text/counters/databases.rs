//! Owns the table of databases: what their logs did, and the settings that change what waits mean.

use super::{TABLE_ROWS, marked, print_table};
use crate::{
    model::DatabaseRow,
    report::text::{
        columns::Columns,
        figures::{NONE, change, count, counted, figure, mean, size},
        page::{Ink, Page},
    },
};
use std::cmp::Reverse;

/// `master` and `msdb` allow snapshot isolation by default, which says nothing.
const SYSTEM_IDS: [i64; 2] = [1, 4];

pub(super) fn print(page: &mut Page, databases: &[DatabaseRow], elapsed_ms: Option<u64>) {
    let elapsed_ms = elapsed_ms.filter(|&ms| ms > 0);
    let mut telling: Vec<&DatabaseRow> = databases.iter().filter(|database| tells(database)).collect();
    telling.sort_by_key(|database| Reverse(weight(database)));
    let heads = match elapsed_ms {
        Some(_) => ["trans-\nactions/s", "log\nflushes/s", "KB a\nflush", "flush\nwaits/s", "ms\neach"],
        None => ["trans-\nactions", "log\nflushes", "KB a\nflush", "flush\nwaits", "ms\neach"],
    };
    let mut table = Columns::new("Database", &heads);
    for database in telling.iter().take(TABLE_ROWS) {
        let rate = |number: Option<u64>| number.map_or_else(|| NONE.to_owned(), |number| amount(number, elapsed_ms));
        let figures = vec![
            rate(database.transactions),
            rate(database.log_flushes),
            mean(each(database.log_bytes_flushed, database.log_flushes).map(|bytes| bytes / 1024.0)),
            rate(database.log_flush_waits),
            mean(each(database.log_flush_wait_ms, database.log_flush_waits)),
        ];
        table.row(&marked(&database.database, database.mark), figures);
        let settings = settings(database);
        if !settings.is_empty() {
            table.note(&settings.join(", "));
        }
    }
    print_table(page, "Databases of the window", &table, telling.len());
    let rest = telling.get(TABLE_ROWS..).unwrap_or_default();
    let quiet = databases.len() - telling.len();
    if !rest.is_empty() {
        let flushes = rest.iter().filter_map(|database| database.log_flushes).map(u128::from).sum::<u128>();
        page.paragraph(2, Ink::Dim, &format!("and {} more: {} log flushes", count(rest.len() as u64), count(flushes)));
    }
    if quiet > 0 && !telling.is_empty() {
        let others = counted(quiet as u64, "other database shows", "other databases show");
        page.paragraph(2, Ink::Dim, &format!("{others} nothing to tell"));
    }
}

fn amount(number: u64, elapsed_ms: Option<u64>) -> String {
    match elapsed_ms {
        Some(ms) => figure(number as f64 * 1000.0 / ms as f64),
        None => count(number),
    }
}

/// A sum over what it is the sum of; nothing where there was none.
fn each(sum: Option<u64>, operations: Option<u64>) -> Option<f64> {
    let operations = operations.filter(|&operations| operations > 0)?;
    Some(sum? as f64 / operations as f64)
}

fn tells(database: &DatabaseRow) -> bool {
    let figures = [database.transactions, database.log_flushes, database.log_flush_waits];
    database.mark.is_some() || figures.iter().any(|&figure| figure > Some(0)) || !settings(database).is_empty()
}

/// What a reader looks for first: snapshots and odd ones, then the busiest logs.
fn weight(database: &DatabaseRow) -> impl Ord + use<> {
    let special = database.snapshot_of.is_some() || database.mark.is_some();
    let busy = (database.log_flush_wait_ms, database.log_flushes, database.version_store_kb, database.transactions);
    (special, busy)
}

fn settings(database: &DatabaseRow) -> Vec<String> {
    let mut told: Vec<String> = database.snapshot_of.iter().map(|source| format!("snapshot of {source}")).collect();
    let allows_by_default = SYSTEM_IDS.contains(&database.database_id);
    for (on, what) in [
        (database.read_committed_snapshot, "READ_COMMITTED_SNAPSHOT"),
        (database.snapshot_isolation.filter(|_| !allows_by_default), "snapshot isolation"),
        (database.accelerated_recovery, "accelerated database recovery"),
        (database.readable_secondary, "readable secondary (its readers use row versions)"),
    ] {
        if on == Some(true) {
            told.push(what.to_owned());
        }
    }
    if let Some(durability) = database.delayed_durability.as_deref().filter(|set| !set.eq_ignore_ascii_case("disabled"))
    {
        told.push(format!("delayed durability {durability}"));
    }
    told.extend(version_store(database));
    told
}

fn version_store(database: &DatabaseRow) -> Vec<String> {
    let mut told = Vec::new();
    let growth = database.version_store_growth_kb.filter(|&kb| kb != 0);
    if database.version_store_kb > Some(0) || growth.is_some() {
        let at_end =
            database.version_store_kb.map(|kb| format!(" {}", size(u128::from(kb) * 1024))).unwrap_or_default();
        let growth = growth.map(|kb| format!(" ({})", change(i128::from(kb) * 1024))).unwrap_or_default();
        told.push(format!("version store{at_end}{growth}"));
    }
    if let Some(kb) = database.persistent_version_store_kb.filter(|&kb| kb > 0) {
        told.push(format!("persistent version store {}", size(u128::from(kb) * 1024)));
    }
    told
}
