//! Owns what files and databases are called, and what kind of file each is.

use super::reading::{Key, Label, Part, Reading};
use crate::{
    analyze::cells::{Columns, flag_in, id_in, text_in},
    model::{Evidence, Snapshot, Table},
};
use std::collections::{BTreeMap, BTreeSet};

/// The resource database, which sys.databases does not list: its id is always this one (documentation of it).
const RESOURCE_DATABASE: (i64, &str) = (32_767, "mssqlsystemresource");

/// What `master_files` says of a file.
#[derive(Debug, Clone, Default)]
struct Listed {
    name: Option<String>,
    type_desc: Option<String>,
    is_sparse: bool,
}

/// One moment's names.
#[derive(Debug, Default)]
struct Moment {
    databases: BTreeMap<i64, String>,
    snapshots: BTreeSet<i64>,
    files: BTreeMap<(i64, i64), Listed>,
    labels: BTreeMap<Key, Label>,
}

impl Moment {
    fn of(snapshot: Option<&Snapshot>, reading: &Reading) -> Self {
        let list = snapshot.and_then(|snapshot| snapshot.tables.get("databases"));
        let mut files = BTreeMap::new();
        if let Some(table) = snapshot.and_then(|snapshot| snapshot.tables.get("master_files")) {
            let columns = Columns::of(table);
            let (database_id, file_id) = (columns.place(&["database_id"]), columns.place(&["file_id"]));
            let (name, type_desc) = (columns.place(&["name"]), columns.place(&["type_desc"]));
            let is_sparse = columns.place(&["is_sparse"]);
            for row in &table.rows {
                let Some(key) = id_in(row, database_id).zip(id_in(row, file_id)) else { continue };
                files.entry(key).or_insert_with(|| Listed {
                    name: text_in(row, name).map(ToOwned::to_owned),
                    type_desc: text_in(row, type_desc).map(ToOwned::to_owned),
                    is_sparse: flag_in(row, is_sparse) == Some(true),
                });
            }
        }
        Self {
            databases: list.map(names_in).unwrap_or_default(),
            snapshots: list.map(snapshot_databases).unwrap_or_default(),
            files,
            labels: reading.labels.clone(),
        }
    }

    fn listed(&self, key: &Key) -> Option<&Listed> {
        self.files.get(&(key.database_id(), key.file_id()))
    }

    fn database<'a>(&'a self, key: &'a Key) -> Option<&'a str> {
        match &key.database {
            Part::Name(name) => Some(name),
            Part::Id(id) => {
                let label = || self.labels.get(key)?.database.as_deref();
                self.databases.get(id).map(String::as_str).or_else(label)
            }
        }
    }

    fn file<'a>(&'a self, key: &'a Key) -> Option<&'a str> {
        match &key.file {
            Part::Name(name) => Some(name.as_str()).filter(|name| !name.is_empty()),
            Part::Id(_) => {
                let label = || self.labels.get(key)?.file.as_deref();
                self.listed(key).and_then(|listed| listed.name.as_deref()).or_else(label)
            }
        }
    }

    fn kind(&self, key: &Key) -> Option<&'static str> {
        let listed = self.listed(key);
        if listed.is_some_and(|listed| listed.is_sparse) || self.snapshots.contains(&key.database_id()) {
            return Some("snapshot");
        }
        let label = || self.labels.get(key)?.kind.as_deref();
        if let Some(type_desc) = listed.and_then(|listed| listed.type_desc.as_deref()).or_else(label) {
            return kind_of_type(type_desc);
        }
        let by_ending = self.labels.get(key).and_then(|label| kind_of_ending(label.file.as_deref()?));
        by_ending.or_else(|| kind_of_number(key.file_id()).filter(|_| listed.is_none()))
    }
}

/// What a file's number says where no list does: the first data file of a database has number 1, its first log file 2.
fn kind_of_number(file_id: i64) -> Option<&'static str> {
    match file_id {
        1 => Some("data"),
        2 => Some("log"),
        _ => None,
    }
}

/// What the ending of a file's name says by convention, for tables that people write.
fn kind_of_ending(file: &str) -> Option<&'static str> {
    let (_, ending) = file.rsplit_once('.')?;
    let is = |endings: &[&str]| endings.iter().any(|known| ending.eq_ignore_ascii_case(known));
    if is(&["ldf"]) {
        Some("log")
    } else if is(&["mdf", "ndf"]) {
        Some("data")
    } else {
        is(&["ss"]).then_some("snapshot")
    }
}

/// `type_desc` of sys.master_files, its number, or the word of a report.
fn kind_of_type(type_desc: &str) -> Option<&'static str> {
    let is = |words: &[&str]| words.iter().any(|word| type_desc.eq_ignore_ascii_case(word));
    if is(&["LOG", "1"]) {
        Some("log")
    } else if is(&["ROWS", "DATA", "0"]) {
        Some("data")
    } else {
        is(&["SNAPSHOT", "SPARSE"]).then_some("snapshot")
    }
}

/// The names of a snapshot's databases by id.
pub(in crate::analyze) fn database_names(snapshot: &Snapshot) -> BTreeMap<i64, String> {
    snapshot.tables.get("databases").map(names_in).unwrap_or_default()
}

/// The names of a list of databases by id.
pub(in crate::analyze) fn names_in(list: &Table) -> BTreeMap<i64, String> {
    let mut names = BTreeMap::from([(RESOURCE_DATABASE.0, RESOURCE_DATABASE.1.to_owned())]);
    let columns = Columns::of(list);
    let (id, name) = (columns.place(&["database_id"]), columns.place(&["name"]));
    for row in &list.rows {
        if let Some((id, name)) = id_in(row, id).zip(text_in(row, name)) {
            names.entry(id).or_insert_with(|| name.to_owned());
        }
    }
    names
}

/// The databases of a list that are snapshots of others.
fn snapshot_databases(list: &Table) -> BTreeSet<i64> {
    let columns = Columns::of(list);
    let (id, source) = (columns.place(&["database_id"]), columns.place(&["source_database_id"]));
    list.rows.iter().filter(|row| id_in(row, source).is_some()).filter_map(|row| id_in(row, id)).collect()
}

/// The names at both ends of the window.
pub(super) struct Names {
    before: Moment,
    after: Moment,
}

impl Names {
    /// Those of the evidence and of its two tables of statistics.
    pub(super) fn of(evidence: &Evidence, before: &Reading, after: &Reading) -> Self {
        Self { before: Moment::of(evidence.before.as_ref(), before), after: Moment::of(evidence.after.as_ref(), after) }
    }

    /// The database's name, the later one; `database 7` where it is hidden.
    pub(super) fn database(&self, key: &Key) -> String {
        let name = self.after.database(key).or_else(|| self.before.database(key));
        name.map_or_else(|| format!("database {}", key.database_id()), ToOwned::to_owned)
    }

    /// The file's name, the later one; `file 2` where it is hidden, and its kind where it is not even numbered.
    pub(super) fn file(&self, key: &Key) -> String {
        let name = self.after.file(key).or_else(|| self.before.file(key));
        name.map_or_else(
            || match key.file {
                Part::Id(id) => format!("file {id}"),
                Part::Name(_) => self.kind(key).to_owned(),
            },
            ToOwned::to_owned,
        )
    }

    /// `data`, `log`, `snapshot` or `unknown`.
    pub(super) fn kind(&self, key: &Key) -> &'static str {
        self.after.kind(key).or_else(|| self.before.kind(key)).unwrap_or("unknown")
    }

    /// Whether the file, or its database, has another name than before.
    pub(super) fn is_renamed(&self, key: &Key) -> bool {
        let differ = |one: Option<&str>, other: Option<&str>| one.zip(other).is_some_and(|(one, other)| one != other);
        differ(self.before.database(key), self.after.database(key))
            || differ(self.before.file(key), self.after.file(key))
    }

    /// What it was called before.
    pub(super) fn before(&self, key: &Key) -> Option<String> {
        let database = self.before.database(key)?;
        Some(self.before.file(key).map_or_else(|| database.to_owned(), |file| format!("{database}.{file}")))
    }
}
