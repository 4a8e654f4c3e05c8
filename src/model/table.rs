//! Owns rows as a server returned them: columns by name, values loosely typed.

use serde::{Deserialize, Serialize};

/// One value of a row. Integers of every width are one kind, because widths differ between versions (field report L-17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// NULL.
    Null,
    /// bit.
    Bool(bool),
    /// tinyint to bigint.
    Integer(i64),
    /// real, float, decimal.
    Real(f64),
    /// Character types; binary as `0x…`; dates as RFC 3339.
    Text(String),
}

/// A result set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Table {
    /// Column names in order.
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Value>>,
}

impl Value {
    /// The value as a whole number, where it is one.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Bool(flag) => Some(i64::from(*flag)),
            #[allow(clippy::float_cmp)]
            Self::Real(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
            Self::Text(text) => text.trim().parse().ok(),
            Self::Real(_) | Self::Null => None,
        }
    }

    /// The value as text, where it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Table {
    /// Position of a column, by name without regard to ASCII case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }

    /// The value in a row under a column name; `None` where the column is missing.
    pub fn value(&self, row: usize, name: &str) -> Option<&Value> {
        self.rows.get(row)?.get(self.column(name)?)
    }

    /// [`Value::as_integer`] of a cell.
    pub fn integer(&self, row: usize, name: &str) -> Option<i64> {
        self.value(row, name)?.as_integer()
    }

    /// [`Value::as_text`] of a cell.
    pub fn text(&self, row: usize, name: &str) -> Option<&str> {
        self.value(row, name)?.as_text()
    }
}
