//! Owns files that are told apart by names: tools print the database and the file, where views hold ids.

use crate::model::{Table, Value};
use std::collections::BTreeMap;

const FILES: &str = "dm_io_virtual_file_stats";

type Tables = BTreeMap<String, Table>;

/// Gives the files of two snapshots ids where they came with names alone, the same ids in both, and adds the tables that
/// say which id is which name. Ids that were there are kept. Returns whether ids were made up.
pub fn number_files(before: &mut Tables, after: &mut Tables) -> bool {
    let mut ids = Ids::default();
    let mut made_up = false;
    for tables in [before, after] {
        let Some(mut stats) = tables.remove(FILES) else { continue };
        let is_named = stats.column("database_name").is_some() || stats.column("file_name").is_some();
        if is_named && ["database_id", "file_id"].iter().any(|column| stats.column(column).is_none()) {
            ids.number(&mut stats);
            made_up = true;
        }
        if is_named {
            add_names(tables, &stats);
        }
        tables.insert(FILES.to_owned(), stats);
    }
    made_up
}

/// Ids by name, from 1.
#[derive(Default)]
struct Ids {
    databases: BTreeMap<String, i64>,
    files: BTreeMap<i64, BTreeMap<String, i64>>,
}

impl Ids {
    /// Adds the ids that a table lacks.
    fn number(&mut self, stats: &mut Table) {
        let lacks = |column: &str| stats.column(column).is_none();
        let (lacks_database, lacks_file) = (lacks("database_id"), lacks("file_id"));
        let ids: Vec<(i64, i64)> = (0..stats.rows.len())
            .map(|row| {
                let database = stats.integer(row, "database_id").unwrap_or_else(|| {
                    let next = self.databases.len() as i64 + 1;
                    *self.databases.entry(name(stats, row, "database_name")).or_insert(next)
                });
                // Two files of one name in one database differ in their path, or in their kind.
                let file =
                    ["file_name", "physical_name", "type_desc"].map(|column| name(stats, row, column)).join("\n");
                let files = self.files.entry(database).or_default();
                let next = files.len() as i64 + 1;
                (database, *files.entry(file).or_insert(next))
            })
            .collect();
        for (column, _) in [("database_id", lacks_database), ("file_id", lacks_file)].iter().filter(|(_, lacks)| *lacks)
        {
            stats.columns.push((*column).to_owned());
        }
        for (row, (database, file)) in stats.rows.iter_mut().zip(ids) {
            row.extend(lacks_database.then_some(Value::Integer(database)));
            row.extend(lacks_file.then_some(Value::Integer(file)));
        }
    }
}

/// Which id is which name, as `databases` and `master_files` have it, where those tables did not come themselves.
fn add_names(tables: &mut Tables, stats: &Table) {
    let rows = || 0..stats.rows.len();
    let value = |row: usize, column: &str| stats.value(row, column).cloned().unwrap_or(Value::Null);
    if stats.column("database_name").is_some() {
        tables.entry("databases".to_owned()).or_insert_with(|| {
            let names: BTreeMap<i64, Value> = rows()
                .filter_map(|row| Some((stats.integer(row, "database_id")?, value(row, "database_name"))))
                .collect();
            let columns = ["name", "database_id"].map(str::to_owned).to_vec();
            Table { columns, rows: names.into_iter().map(|(id, name)| vec![name, Value::Integer(id)]).collect() }
        });
    }
    if ["file_name", "physical_name", "type_desc"].iter().any(|column| stats.column(column).is_some()) {
        tables.entry("master_files".to_owned()).or_insert_with(|| {
            let columns = ["database_id", "file_id", "type_desc", "name"].map(str::to_owned).to_vec();
            let name = |row| match value(row, "file_name") {
                Value::Null => value(row, "physical_name"),
                name => name,
            };
            let of = |row| vec![value(row, "database_id"), value(row, "file_id"), value(row, "type_desc"), name(row)];
            Table { columns, rows: rows().map(of).collect() }
        });
    }
}

fn name(table: &Table, row: usize, column: &str) -> String {
    table.text(row, column).map(|name| name.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{FILES, Tables, number_files};
    use crate::model::{Table, Value};

    fn stats(rows: &[(&str, &str)]) -> Tables {
        let text = |text: &&str| Value::Text((*text).to_owned());
        let rows = rows.iter().map(|(database, file)| vec![text(database), text(file), Value::Integer(1)]);
        let columns = ["database_name", "file_name", "num_of_writes"].map(str::to_owned).to_vec();
        Tables::from([(FILES.to_owned(), Table { columns, rows: rows.collect() })])
    }

    #[test]
    fn a_file_has_one_id_in_both_snapshots() {
        let mut before = stats(&[("a", "data"), ("a", "log"), ("b", "log")]);
        let mut after = stats(&[("c", "log"), ("b", "log"), ("a", "log"), ("a", "data")]);
        assert!(number_files(&mut before, &mut after));
        let ids = |tables: &Tables| -> Vec<(i64, i64)> {
            let table = &tables[FILES];
            (0..table.rows.len())
                .map(|row| (table.integer(row, "database_id").unwrap(), table.integer(row, "file_id").unwrap()))
                .collect()
        };
        assert_eq!(ids(&before), [(1, 1), (1, 2), (2, 1)]);
        assert_eq!(ids(&after), [(3, 1), (2, 1), (1, 2), (1, 1)]);
        assert_eq!(after["databases"].rows.len(), 3);
        assert_eq!(after["master_files"].rows.len(), 4);
        assert_eq!(after["databases"].text(1, "name"), Some("b"));
    }
}
