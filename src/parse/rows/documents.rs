//! Owns rows as JSON: arrays of objects, columns apart from rows, several tables by their views' names, an object a line.

use super::{MAX_COLUMNS, MAX_VALUES, RawTable, Reading, RowsError};
use crate::model::{Severity, Table, Value};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// Whether a text is JSON rather than delimited text, whose first name may stand in brackets.
pub(super) fn is_json(text: &str) -> bool {
    let mut characters = text.chars().filter(|c| !c.is_whitespace());
    match characters.next() {
        Some('{') => true,
        Some('[') => characters.next().is_none_or(|c| matches!(c, '{' | '[' | ']' | '"' | '-' | '0'..='9')),
        _ => false,
    }
}

/// Reads all tables of a text.
pub(super) fn read(text: &str, reading: &mut Reading) -> Result<Vec<RawTable>, RowsError> {
    let shared = RefCell::new(Shared { reading, keys: HashSet::new(), exceeded: None });
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut nodes = Vec::new();
    let mut fault = None;
    while fault.is_none() {
        match (NodeSeed { shared: &shared }).deserialize(&mut deserializer) {
            Ok(node) => nodes.push(node),
            Err(error) => fault = Some(error),
        }
        if deserializer.end().is_ok() {
            break;
        }
    }
    if let Some(exceeded) = shared.borrow_mut().exceeded.take() {
        return Err(exceeded);
    }
    drop(shared);
    if let Some(error) = fault {
        if nodes.is_empty() {
            return Err(RowsError::Json(error.to_string()));
        }
        let message = format!("the rows end in the middle ({error}); those before are kept");
        reading.note("rows_cut", Severity::Partial, message);
    }
    let tables = match <[Node; 1]>::try_from(nodes) {
        Ok([node]) => tables(node, reading)?,
        Err(lines) => vec![(None, rows_table(lines)?)],
    };
    Ok(tables.into_iter().map(|(name, table)| RawTable { name, table, text_only: false }).collect())
}

/// A JSON value with as little around it as can be.
enum Node {
    Scalar(Value),
    List(Vec<Node>),
    Object(Vec<(Arc<str>, Node)>),
}

type Named = (Option<String>, Table);

/// The tables of a whole document.
fn tables(node: Node, reading: &mut Reading) -> Result<Vec<Named>, RowsError> {
    let Node::Object(members) = node else { return Ok(vec![(None, table(node)?)]) };
    if is_row(&members) || is_split(&members) {
        return Ok(vec![(None, table(Node::Object(members))?)]);
    }
    // A snapshot has its tables in a member, beside when it was taken.
    let is_tables = |(name, value): &(Arc<str>, Node)| &**name == "tables" && matches!(value, Node::Object(_));
    let has_tables = members.iter().any(is_tables);
    let inner = |(_, value)| if let Node::Object(inner) = value { Some(inner) } else { None };
    let members =
        if has_tables { members.into_iter().find(is_tables).and_then(inner).unwrap_or_default() } else { members };
    let mut named = Vec::new();
    for (name, value) in members.into_iter().filter(|(_, value)| !matches!(value, Node::Scalar(_))) {
        match table(value) {
            Ok(table) => named.push((Some(name.to_string()), table)),
            Err(RowsError::Shape) => {
                reading.note("table_not_known", Severity::Partial, format!("{name} is no table and is left out"));
            }
            Err(error) => return Err(error),
        }
    }
    if named.is_empty() { Err(RowsError::Shape) } else { Ok(named) }
}

/// An object of scalars.
fn is_row(members: &[(Arc<str>, Node)]) -> bool {
    members.iter().all(|(_, value)| matches!(value, Node::Scalar(_)))
}

/// `{"columns": [...], "rows": [[...]]}`.
fn is_split(members: &[(Arc<str>, Node)]) -> bool {
    ["columns", "rows"]
        .iter()
        .all(|wanted| members.iter().any(|(name, value)| **name == **wanted && matches!(value, Node::List(_))))
}

/// One table: an array of objects, or columns apart from rows, or a single row.
fn table(node: Node) -> Result<Table, RowsError> {
    match node {
        Node::List(rows) => rows_table(rows),
        Node::Object(members) if is_split(&members) => split_table(members).ok_or(RowsError::Shape),
        Node::Object(members) if is_row(&members) => rows_table(vec![Node::Object(members)]),
        Node::Object(_) | Node::Scalar(_) => Err(RowsError::Shape),
    }
}

fn split_table(members: Vec<(Arc<str>, Node)>) -> Option<Table> {
    let (mut columns, mut rows) = (None, None);
    for (name, value) in members {
        match (&*name, value) {
            ("columns", Node::List(names)) => columns = Some(names),
            ("rows", Node::List(all)) => rows = Some(all),
            _ => {}
        }
    }
    let name = |node| match node {
        Node::Scalar(Value::Text(name)) => Some(name),
        _ => None,
    };
    let columns: Vec<String> = columns?.into_iter().map(name).collect::<Option<_>>()?;
    let row = |node| match node {
        Node::List(values) if values.len() == columns.len() => values.into_iter().map(scalar).collect(),
        _ => None,
    };
    let rows = rows?.into_iter().map(row).collect::<Option<_>>()?;
    (columns.len() <= MAX_COLUMNS).then_some(Table { columns, rows })
}

/// Objects as rows; a name that an object lacks is NULL there.
fn rows_table(objects: Vec<Node>) -> Result<Table, RowsError> {
    let mut places: HashMap<Arc<str>, usize> = HashMap::new();
    let mut columns = Vec::new();
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let mut values = 0;
    for object in objects {
        let Node::Object(members) = object else { return Err(RowsError::Shape) };
        let mut row = Vec::new();
        for (name, value) in members {
            let place = *places.entry(name).or_insert_with_key(|name| {
                columns.push(name.to_string());
                columns.len() - 1
            });
            if place >= MAX_COLUMNS {
                return Err(RowsError::TooMany { what: "columns", limit: MAX_COLUMNS });
            }
            row.resize(row.len().max(place + 1), Value::Null);
            if let Some(cell) = row.get_mut(place) {
                *cell = scalar(value).ok_or(RowsError::Shape)?;
            }
        }
        values += row.len();
        if values > MAX_VALUES {
            return Err(RowsError::TooMany { what: "values", limit: MAX_VALUES });
        }
        rows.push(row);
    }
    if columns.len().saturating_mul(rows.len()) > MAX_VALUES {
        return Err(RowsError::TooMany { what: "values", limit: MAX_VALUES });
    }
    for row in &mut rows {
        row.resize(columns.len(), Value::Null);
    }
    Ok(Table { columns, rows })
}

fn scalar(node: Node) -> Option<Value> {
    match node {
        Node::Scalar(value) => Some(value),
        Node::List(_) | Node::Object(_) => None,
    }
}

/// What all parts of a document share: its bound, and names that come again with each row.
struct Shared<'r> {
    reading: &'r mut Reading,
    keys: HashSet<Arc<str>>,
    exceeded: Option<RowsError>,
}

#[derive(Clone, Copy)]
struct NodeSeed<'s, 'r> {
    shared: &'s RefCell<Shared<'r>>,
}

impl NodeSeed<'_, '_> {
    fn count<E: Error>(self) -> Result<(), E> {
        let mut shared = self.shared.borrow_mut();
        shared.reading.count_value().map_err(|exceeded| {
            let error = E::custom(&exceeded);
            shared.exceeded = Some(exceeded);
            error
        })
    }

    fn key(self, name: &str) -> Arc<str> {
        let mut shared = self.shared.borrow_mut();
        if let Some(known) = shared.keys.get(name) {
            return Arc::clone(known);
        }
        let key: Arc<str> = Arc::from(name);
        shared.keys.insert(Arc::clone(&key));
        key
    }
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_, '_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_, '_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        self.count()?;
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Node, E> {
        self.count()?;
        Ok(Node::Scalar(Value::Bool(flag)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        self.count()?;
        Ok(Node::Scalar(Value::Integer(number)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        self.count()?;
        // Its digits are kept, and told as too large with its column.
        let value = i64::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::Integer);
        Ok(Node::Scalar(value))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        self.count()?;
        Ok(Node::Scalar(Value::Real(number)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        self.count()?;
        Ok(Node::Scalar(self.shared.borrow_mut().reading.text("text", text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        self.count()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        self.count()?;
        let mut members = Vec::new();
        while let Some(name) = items.next_key::<std::borrow::Cow<'_, str>>()? {
            let key = self.key(&name);
            members.push((key, items.next_value_seed(self)?));
        }
        Ok(Node::Object(members))
    }
}
