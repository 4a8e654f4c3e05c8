//! Owns the rows about the system views themselves.

use crate::simulator::seeded;
use crate::simulator::value::SqlType;
use crate::simulator::views::Source;
use crate::simulator::views::schema::{Record, ViewColumn, time};
use crate::simulator::views::shown_columns;

/// Schema id of `sys`.
const SYS: i32 = 4;

/// 2019-09-24; nothing depends on it.
const CREATED: i64 = 1_569_338_000_000_000;

/// The views of an instance with their columns.
fn views(source: Source<'_>) -> impl Iterator<Item = (&'static str, Vec<ViewColumn>)> {
    let instance = source.instance;
    super::names().map(|name| (name, shown_columns(instance, name))).filter(|(_, columns)| !columns.is_empty())
}

/// sys.all_objects: the system views.
pub fn all_objects(source: Source<'_>) -> Vec<Record> {
    let rows = views(source).map(|(name, _)| {
        Record::new()
            .with("name", name)
            .with("object_id", seeded::object_id(name))
            .with("schema_id", SYS)
            .with("type", "V ")
            .with("type_desc", "VIEW")
            .with("create_date", time(CREATED))
            .with("modify_date", time(CREATED))
            .with("is_ms_shipped", true)
    });
    rows.collect()
}

/// sys.all_columns: their columns.
pub fn all_columns(source: Source<'_>) -> Vec<Record> {
    let mut rows = Vec::new();
    for (view, columns) in views(source) {
        let id = seeded::object_id(view);
        for (number, column) in (1_i32..).zip(columns) {
            let column = column.to_column();
            let (type_id, length) = type_id(column.sql_type);
            rows.push(
                Record::new()
                    .with("object_id", id)
                    .with("name", column.name)
                    .with("column_id", number)
                    .with("system_type_id", type_id)
                    .with("user_type_id", type_id)
                    .with("max_length", length)
                    .with("is_nullable", column.nullable),
            );
        }
    }
    rows
}

/// system_type_id and max_length in bytes, -1 for max.
fn type_id(sql_type: SqlType) -> (i32, i32) {
    let bytes = |characters: Option<u16>, width: i32| characters.map_or(-1, |count| i32::from(count) * width);
    match sql_type {
        SqlType::Bit => (104, 1),
        SqlType::TinyInt => (48, 1),
        SqlType::SmallInt => (52, 2),
        SqlType::Int => (56, 4),
        SqlType::BigInt => (127, 8),
        SqlType::Real => (59, 4),
        SqlType::Float => (62, 8),
        SqlType::Decimal { .. } => (106, 9),
        SqlType::NVarChar(length) => (231, bytes(length, 2)),
        SqlType::NChar(length) => (239, bytes(Some(length), 2)),
        SqlType::VarChar(length) => (167, bytes(length, 1)),
        SqlType::Char(length) => (175, bytes(Some(length), 1)),
        SqlType::VarBinary(length) => (165, bytes(length, 1)),
        SqlType::UniqueIdentifier => (36, 16),
        SqlType::DateTime => (61, 8),
        SqlType::DateTime2(_) => (42, 8),
        SqlType::DateTimeOffset(_) => (43, 10),
        SqlType::Xml => (241, -1),
        SqlType::SqlVariant => (98, 8_016),
    }
}
