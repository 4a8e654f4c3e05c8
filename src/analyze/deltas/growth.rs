//! Owns how rows of counters grow between two tables, matched by name.

use crate::model::{Mark, Table};
use std::collections::BTreeMap;

/// Which columns of a view are read.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Name of the view, without `sys.`.
    pub view: &'static str,
    /// Column with the row's name.
    pub name: &'static str,
    /// Cumulative counters.
    pub counters: &'static [&'static str],
}

/// One row's growth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    /// The row's name.
    pub name: String,
    /// Growth of each counter of the shape, in its order.
    pub counters: Vec<u128>,
    /// What is special.
    pub mark: Option<Mark>,
}

/// The growth of a whole view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grown {
    /// All rows that grew or are special, by name.
    pub rows: Vec<Growth>,
    /// Names of rows of which a counter went down.
    pub reset: Vec<String>,
    /// Whether the whole view was cleared: most rows went down.
    pub cleared: bool,
    /// Names of rows of which a counter was NULL or no number: that counter's growth is 0.
    pub unreadable: Vec<String>,
    /// Columns that a table lacks.
    pub missing_columns: Vec<&'static str>,
}

/// A view's counters by row name; rows of one name are summed. `None` stands for a counter that cannot be read.
type Totals = BTreeMap<String, Vec<Option<i128>>>;

/// How the rows of a view grew. A row that is new shows its own values, as all rows do after a restart; a row that is
/// gone, and one of which a counter went down, shows zeros. Clearing statistics clears a view whole: where most rows
/// that had a value went down, the others' growth is not to be trusted either, and all are reset.
pub fn grow(shape: Shape, before: &Table, after: &Table, restarted: bool) -> Grown {
    let mut grown = Grown { missing_columns: missing_columns(shape, before, after), ..Grown::default() };
    if !grown.missing_columns.is_empty() {
        return grown;
    }
    let (old, new) = (totals(shape, before), totals(shape, after));
    if restarted {
        grown.rows = new.iter().map(|(name, values)| appeared(name, values, Mark::Restarted)).collect();
        grown.rows.retain(Growth::is_something);
        return grown;
    }
    let with_value = old.values().filter(|values| values.iter().flatten().any(|value| *value != 0)).count();
    grown.reset = old
        .iter()
        .filter(|(name, old)| new.get(*name).is_some_and(|new| went_down(old, new)))
        .map(|(name, _)| name.clone())
        .collect();
    grown.cleared = grown.reset.len() * 2 > with_value;

    for (name, values) in &new {
        let Some(earlier) = old.get(name) else {
            let row = appeared(name, values, Mark::New);
            grown.rows.extend(row.is_something().then_some(row));
            continue;
        };
        if values.iter().chain(earlier).any(Option::is_none) {
            grown.unreadable.push(name.clone());
        }
        let zeros = vec![0; shape.counters.len()];
        let something = values.iter().chain(earlier).flatten().any(|value| *value != 0);
        if went_down(earlier, values) || (grown.cleared && something) {
            grown.rows.push(Growth { name: name.clone(), counters: zeros, mark: Some(Mark::Reset) });
            continue;
        }
        let counters: Vec<u128> = earlier.iter().zip(values).map(|(old, new)| difference(*old, *new)).collect();
        let row = Growth { name: name.clone(), counters, mark: None };
        grown.rows.extend(row.is_something().then_some(row));
    }
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    grown.rows.extend(gone.map(|name| Growth {
        name: name.clone(),
        counters: vec![0; shape.counters.len()],
        mark: Some(Mark::Missing),
    }));
    grown
}

impl Growth {
    /// Whether any counter grew.
    fn is_something(&self) -> bool {
        self.counters.iter().any(|growth| *growth > 0)
    }

    /// Growth of one counter, held at the end of `u64`; the flag says whether it had to be.
    pub fn counter(&self, index: usize) -> (u64, bool) {
        let value = self.counters.get(index).copied().unwrap_or(0);
        u64::try_from(value).map_or((u64::MAX, true), |value| (value, false))
    }
}

fn missing_columns(shape: Shape, before: &Table, after: &Table) -> Vec<&'static str> {
    let wanted = std::iter::once(shape.name).chain(shape.counters.iter().copied());
    wanted.filter(|column| before.column(column).is_none() || after.column(column).is_none()).collect()
}

fn totals(shape: Shape, table: &Table) -> Totals {
    let mut totals = Totals::new();
    for row in 0..table.rows.len() {
        let Some(name) = table.text(row, shape.name).map(str::trim).filter(|name| !name.is_empty()) else { continue };
        let sums = totals.entry(name.to_owned()).or_insert_with(|| vec![Some(0); shape.counters.len()]);
        for (sum, column) in sums.iter_mut().zip(shape.counters) {
            let value = table.integer(row, column).map(i128::from);
            *sum = sum.zip(value).map(|(sum, value)| sum + value);
        }
    }
    totals
}

/// A cumulative counter never goes down, nor below zero, unless it was cleared or wrapped.
fn went_down(old: &[Option<i128>], new: &[Option<i128>]) -> bool {
    old.iter().zip(new).any(|pair| matches!(pair, (Some(old), Some(new)) if new < old || *new < 0))
}

fn difference(old: Option<i128>, new: Option<i128>) -> u128 {
    old.zip(new).map_or(0, |(old, new)| u128::try_from(new - old).unwrap_or(0))
}

fn appeared(name: &str, values: &[Option<i128>], mark: Mark) -> Growth {
    let counters = values.iter().map(|value| u128::try_from(value.unwrap_or(0)).unwrap_or(0)).collect();
    Growth { name: name.to_owned(), counters, mark: Some(mark) }
}
