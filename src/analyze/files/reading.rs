//! Owns how one table of virtual file statistics is read: counters by file, whatever the table came from.

use crate::{
    analyze::cells::{Columns, Place, id_in, number_in, text_in},
    model::Table,
};
use std::{collections::BTreeMap, fmt};

/// A cumulative counter of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    Reads,
    ReadBytes,
    ReadStallMs,
    Writes,
    WriteBytes,
    WriteStallMs,
    QueuedReadMs,
    QueuedWriteMs,
}

/// The columns of the counters, in their order, and whether every version has them.
const COUNTERS: [(&str, bool); 8] = [
    ("num_of_reads", true),
    ("num_of_bytes_read", true),
    ("io_stall_read_ms", true),
    ("num_of_writes", true),
    ("num_of_bytes_written", true),
    ("io_stall_write_ms", true),
    ("io_stall_queued_read_ms", false),
    ("io_stall_queued_write_ms", false),
];

/// The columns that name a row; tables that people write have names instead of ids.
const DATABASE_NAMES: [&str; 3] = ["database", "database_name", "db"];
const FILE_NAMES: [&str; 4] = ["file", "file_name", "name", "logical_name"];

/// A database or a file: by id, and by name where a table has no ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Id(i64),
    Name(String),
}

/// Which file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) database: Part,
    pub(super) file: Part,
}

impl Key {
    /// `database_id`; 0, which no database has, without one.
    pub(super) fn database_id(&self) -> i64 {
        self.database.id()
    }

    /// `file_id`; 0, which no file has, without one.
    pub(super) fn file_id(&self) -> i64 {
        self.file.id()
    }
}

impl Part {
    fn id(&self) -> i64 {
        match self {
            Self::Id(id) => *id,
            Self::Name(_) => 0,
        }
    }

    fn shown(&self, what: &str) -> String {
        match self {
            Self::Id(id) => format!("{what} {id}"),
            Self::Name(name) => name.clone(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database.shown("database"), self.file.shown("file"))
    }
}

/// Counters of one file; `None` for one that was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counters {
    values: [Option<i128>; COUNTERS.len()],
    pub(super) size_bytes: Option<i128>,
}

impl Counters {
    /// A file that did nothing.
    pub(super) const ZERO: Self = Self { values: [Some(0); COUNTERS.len()], size_bytes: None };

    /// One counter.
    pub(super) fn value(&self, counter: Counter) -> Option<i128> {
        self.values.get(counter as usize).copied().flatten()
    }

    /// One counter, held within what a report can show; the flag says whether it had to be.
    pub(super) fn held(&self, counter: Counter) -> (u64, bool) {
        match self.value(counter) {
            Some(value) if value > i128::from(u64::MAX) => (u64::MAX, true),
            value => (value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0), false),
        }
    }

    /// Two counters together; one that was not read leaves the other.
    pub(super) fn sum(&self, one: Counter, other: Counter) -> Option<i128> {
        match (self.value(one), self.value(other)) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        }
    }

    /// The mean of a counter over operations; `None` without operations.
    pub(super) fn mean(&self, of: Counter, over: Counter) -> Option<f64> {
        let (of, over) = self.value(of).zip(self.value(over))?;
        (of >= 0 && over > 0).then(|| of as f64 / over as f64)
    }

    /// Whether a counter is below what it was, or below zero: they only grow, unless they begin anew or wrap.
    pub(super) fn went_down(&self, then: &Self) -> bool {
        let mut pairs = self.values.iter().zip(&then.values);
        pairs.any(|pair| matches!(pair, (Some(now), Some(then)) if now < then || *now < 0 || *then < 0))
    }

    /// What the counters grew by.
    pub(super) fn since(&self, then: &Self) -> Self {
        let mut grown = Self::default();
        for ((growth, now), then) in grown.values.iter_mut().zip(self.values).zip(then.values) {
            *growth = now.zip(then).map(|(now, then)| now.saturating_sub(then));
        }
        grown
    }

    fn add(&mut self, other: &Self) {
        for (sum, value) in self.values.iter_mut().zip(other.values) {
            *sum = sum.zip(value).map(|(sum, value)| sum.saturating_add(value));
        }
        self.size_bytes = self.size_bytes.zip(other.size_bytes).map(|(sum, size)| sum.saturating_add(size));
    }
}

/// What a table itself says of a file beside its counters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Label {
    pub(super) database: Option<String>,
    pub(super) file: Option<String>,
    pub(super) kind: Option<String>,
}

/// One table.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Counters by file; rows of one file are summed.
    pub(super) files: BTreeMap<Key, Counters>,
    /// What the table says of the files.
    pub(super) labels: BTreeMap<Key, Label>,
    /// Files with more than one row.
    pub(super) twice: Vec<Key>,
    /// Files with a counter that cannot be read.
    pub(super) unreadable: Vec<Key>,
    /// Columns of every version that the table lacks.
    pub(super) missing_columns: Vec<&'static str>,
    usable: bool,
}

impl Reading {
    /// Reads a table.
    pub(super) fn of(table: &Table) -> Self {
        let columns = Columns::of(table);
        let places: [Place; COUNTERS.len()] = COUNTERS.map(|(name, _)| columns.place(&[name]));
        let size = columns.place(&["size_on_disk_bytes"]);
        let (database_id, file_id) = (columns.place(&["database_id"]), columns.place(&["file_id"]));
        let (database, file) = (columns.place(&DATABASE_NAMES), columns.place(&FILE_NAMES));
        let kind = columns.place(&["type_desc", "kind", "type"]);
        let mut reading = Self::default();
        let expected = COUNTERS.iter().zip(&places).filter(|((_, always), _)| *always);
        reading.missing_columns.extend(expected.filter(|(_, place)| place.is_none()).map(|((name, _), _)| *name));
        if database_id.or(database).is_none() {
            reading.missing_columns.push("database_id");
        }
        let has = |counter: Counter| places.get(counter as usize).copied().flatten().is_some();
        reading.usable = database_id.or(database).is_some() && (has(Counter::Reads) || has(Counter::Writes));
        if !reading.usable {
            return reading;
        }
        for row in &table.rows {
            let label = Label {
                database: text_in(row, database).map(ToOwned::to_owned),
                file: text_in(row, file).map(ToOwned::to_owned),
                kind: text_in(row, kind).map(ToOwned::to_owned).or_else(|| Some(number_in(row, kind)?.to_string())),
            };
            let by_name = |name: &Option<String>| name.clone().map(Part::Name);
            let Some(database) = id_in(row, database_id).map(Part::Id).or_else(|| by_name(&label.database)) else {
                continue;
            };
            // A row that names no file is the database's only one.
            let file = id_in(row, file_id).map(Part::Id).or_else(|| by_name(&label.file));
            let key = Key { database, file: file.unwrap_or_else(|| Part::Name(String::new())) };
            let mut counters = Counters { size_bytes: number_in(row, size), ..Counters::default() };
            for (value, place) in counters.values.iter_mut().zip(places) {
                *value = number_in(row, place);
            }
            let read = |(value, place): (&Option<i128>, &Place)| place.is_none() || value.is_some();
            if !counters.values.iter().zip(&places).all(read) {
                reading.unreadable.push(key.clone());
            }
            match reading.files.get_mut(&key) {
                Some(sum) => {
                    sum.add(&counters);
                    reading.twice.push(key);
                }
                None => {
                    if label != Label::default() {
                        reading.labels.insert(key.clone(), label);
                    }
                    reading.files.insert(key, counters);
                }
            }
        }
        reading
    }

    /// Whether it names databases, and counts reads or writes.
    pub(super) fn is_usable(&self) -> bool {
        self.usable
    }
}
