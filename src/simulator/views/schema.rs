//! Owns the columns of the system views: which version has which, with which type.

use crate::model::ServerVersion;
use crate::simulator::value::{Column, Datum, SqlType};
use crate::simulator::versions::VersionRange;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A column of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewColumn {
    name: &'static str,
    sql_type: SqlType,
    nullable: bool,
    versions: VersionRange,
}

impl ViewColumn {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The same where NULL may stand.
    #[must_use]
    pub fn nullable(&self) -> Self {
        Self { nullable: true, ..self.clone() }
    }

    /// As the SQL engine wants it.
    pub fn to_column(&self) -> Column {
        Column { name: self.name.to_owned(), sql_type: self.sql_type, nullable: self.nullable }
    }

    /// What stands in it when a row says nothing: NULL, else the type's zero.
    fn default_value(&self) -> Datum {
        if self.nullable {
            return Datum::Null;
        }
        match self.sql_type {
            SqlType::Bit => Datum::Bit(false),
            SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => Datum::Int(0),
            SqlType::Real | SqlType::Float => Datum::Float(0.0),
            SqlType::Decimal { .. } => Datum::Decimal(0),
            SqlType::NVarChar(_) | SqlType::NChar(_) | SqlType::VarChar(_) | SqlType::Char(_) | SqlType::Xml => {
                Datum::Text(String::new())
            }
            SqlType::VarBinary(_) => Datum::Binary(vec![0; 8]),
            SqlType::UniqueIdentifier => Datum::Guid([0; 16]),
            SqlType::DateTime | SqlType::DateTime2(_) | SqlType::DateTimeOffset(_) => Datum::Time(0),
            SqlType::SqlVariant => Datum::Null,
        }
    }

    /// A value as this column holds it: integers wrap to its width, as the product's counters do.
    fn fit(&self, value: Datum) -> Datum {
        match (self.sql_type, value) {
            (SqlType::Int, Datum::Int(number)) => Datum::Int(i64::from(number as i32)),
            (SqlType::SmallInt, Datum::Int(number)) => Datum::Int(i64::from(number as i16)),
            (SqlType::TinyInt, Datum::Int(number)) => Datum::Int(i64::from(number as u8)),
            (_, value) => value,
        }
    }
}

/// A row by column names.
#[derive(Debug, Clone, Default)]
pub struct Record(BTreeMap<&'static str, Datum>);

impl Record {
    /// An empty row.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a value.
    #[must_use]
    pub fn with(mut self, column: &'static str, value: impl Value) -> Self {
        self.0.insert(column, value.datum());
        self
    }

    /// Its values in the order of these columns.
    pub fn into_row(mut self, columns: &[ViewColumn]) -> Vec<Datum> {
        columns
            .iter()
            .map(|column| match self.0.remove(column.name) {
                Some(value) => column.fit(value),
                None => column.default_value(),
            })
            .collect()
    }

    /// Names of the columns it has values for.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}

/// What a row can be given as a value.
pub trait Value {
    /// As a datum.
    fn datum(self) -> Datum;
}

impl Value for Datum {
    fn datum(self) -> Datum {
        self
    }
}

impl Value for &str {
    fn datum(self) -> Datum {
        Datum::Text(self.to_owned())
    }
}

impl Value for String {
    fn datum(self) -> Datum {
        Datum::Text(self)
    }
}

impl Value for f64 {
    fn datum(self) -> Datum {
        Datum::Float(self)
    }
}

impl Value for bool {
    fn datum(self) -> Datum {
        Datum::Bit(self)
    }
}

impl Value for i64 {
    fn datum(self) -> Datum {
        Datum::Int(self)
    }
}

impl Value for i32 {
    fn datum(self) -> Datum {
        Datum::Int(i64::from(self))
    }
}

impl Value for u32 {
    fn datum(self) -> Datum {
        Datum::Int(i64::from(self))
    }
}

/// Counters beyond bigint stay at its end.
impl Value for u64 {
    fn datum(self) -> Datum {
        Datum::Int(i64::try_from(self).unwrap_or(i64::MAX))
    }
}

/// An address, as varbinary(8).
pub fn address(value: u64) -> Datum {
    Datum::Binary(value.to_be_bytes().to_vec())
}

/// A datetime, from microseconds since 1970.
pub fn time(utc_micros: i64) -> Datum {
    Datum::Time(utc_micros.saturating_mul(10))
}

type Views = BTreeMap<&'static str, Vec<ViewColumn>>;

fn views() -> &'static Views {
    static VIEWS: OnceLock<Views> = OnceLock::new();
    VIEWS.get_or_init(|| {
        let mut views = Views::new();
        let (mut view, mut of_view) = ("", VersionRange::ALL);
        for line in include_str!("columns.txt").lines().filter(|line| !line.starts_with('#')) {
            if let Some(other) = line.strip_prefix("  = ") {
                let same: Vec<ViewColumn> = views.get(other).cloned().unwrap_or_default();
                let in_view = |column: ViewColumn| {
                    column.versions.within(of_view).map(|versions| ViewColumn { versions, ..column })
                };
                views.entry(view).or_default().extend(same.into_iter().filter_map(in_view));
            } else if let Some(column) = line.strip_prefix("  ") {
                views.entry(view).or_default().extend(parse_column(column, of_view));
            } else {
                let (name, versions) = line.split_once(' ').unwrap_or((line, ".."));
                (view, of_view) = (name, VersionRange::parse(versions).unwrap_or(VersionRange::ALL));
            }
        }
        views
    })
}

/// The columns of a view in a version, in order; none where it does not exist.
pub fn columns(version: ServerVersion, view: &str) -> impl Iterator<Item = &'static ViewColumn> {
    views().get(view).into_iter().flatten().filter(move |column| column.versions.contains(version))
}

/// Whether a view has a column in some version.
pub fn has_column(view: &str, column: &str) -> bool {
    views().get(view).is_some_and(|columns| columns.iter().any(|known| known.name == column))
}

/// `name type [null] [2016..2019]`; without versions of its own those of its view.
fn parse_column(line: &'static str, of_view: VersionRange) -> Option<ViewColumn> {
    let mut words = line.split_whitespace();
    let (name, sql_type) = (words.next()?, parse_type(words.next()?)?);
    let mut column = ViewColumn { name, sql_type, nullable: false, versions: of_view };
    for word in words {
        if word == "null" {
            column.nullable = true;
        } else {
            column.versions = VersionRange::parse(word)?;
        }
    }
    Some(column)
}

fn parse_type(text: &str) -> Option<SqlType> {
    let (name, length) = match text.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?)),
        None => (text, None),
    };
    let number = length.and_then(|length| length.parse::<u16>().ok());
    Some(match name {
        "bit" => SqlType::Bit,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "real" => SqlType::Real,
        "float" => SqlType::Float,
        "sysname" => SqlType::NVarChar(Some(128)),
        "nvarchar" => SqlType::NVarChar(number),
        "nchar" => SqlType::NChar(number?),
        "varchar" => SqlType::VarChar(number),
        "char" => SqlType::Char(number?),
        "varbinary" => SqlType::VarBinary(number),
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "datetime" => SqlType::DateTime,
        "datetimeoffset" => SqlType::DateTimeOffset(7),
        "sql_variant" => SqlType::SqlVariant,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{VersionRange, parse_column, views};

    #[test]
    fn every_line_is_a_column_and_every_view_is_answered() {
        for line in include_str!("columns.txt").lines().filter(|line| !line.starts_with('#')) {
            if let Some(other) = line.strip_prefix("  = ") {
                assert!(views().contains_key(other), "{line}");
            } else if let Some(column) = line.strip_prefix("  ") {
                assert!(parse_column(column, VersionRange::ALL).is_some(), "{line}");
            } else if let Some((_, versions)) = line.split_once(' ') {
                assert!(VersionRange::parse(versions).is_some(), "{line}");
            }
        }
        let answered: Vec<_> = crate::simulator::views::names().collect();
        for view in views().keys() {
            assert!(answered.contains(view), "{view} has columns and no rows");
        }
        for view in answered {
            assert!(views().contains_key(view), "{view} has rows and no columns");
        }
    }
}
