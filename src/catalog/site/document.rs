//! Owns a site's TOML text with the line of everything in it, read with all its faults and not only the first.

use super::Fault;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error, ValueDeserializer};

/// Most entries of a list: far beyond what anybody writes, and few enough to compare each with each.
const MAX_ENTRIES: usize = 2_000;
/// Most faults that are told of one value.
const MAX_FAULTS: usize = 20;

/// A text and its values.
pub(super) struct Document<'t> {
    path: String,
    /// Where each line but the first begins.
    lines: Vec<usize>,
    root: Spanned<DeTable<'t>>,
}

impl<'t> Document<'t> {
    /// Reads a text; the faults are those of its syntax.
    pub(super) fn parse(path: &str, text: &'t str, faults: &mut Vec<Fault>) -> Option<Self> {
        let (root, errors) = DeTable::parse_recoverable(text);
        let lines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1).collect();
        let document = Self { path: path.to_owned(), lines, root };
        let are_none = errors.is_empty();
        faults.extend(errors.iter().map(|error| document.fault(start(error), error.message())));
        are_none.then_some(document)
    }

    /// A fault at a place in the text.
    fn fault(&self, at: usize, message: impl Into<String>) -> Fault {
        let line = self.lines.partition_point(|start| *start <= at) + 1;
        Fault { file: self.path.clone(), line: Some(line), message: message.into() }
    }

    /// A fault at a value, by its path such as `rule[1].must_match[0]`; where there is no such value, at what would hold it.
    pub(super) fn fault_at(&self, path: &str, message: impl AsRef<str>) -> Fault {
        let mut at = 0;
        let mut value: Option<&DeValue<'_>> = None;
        for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
            let index = step.strip_suffix(']').and_then(|index| index.parse::<usize>().ok());
            let next = match (index, value) {
                (Some(index), Some(DeValue::Array(items))) => items.get(index).map(|item| (item.span().start, item)),
                (None, None) => member(self.root.get_ref(), step),
                (None, Some(DeValue::Table(table))) => member(table, step),
                _ => None,
            };
            let Some((start, found)) = next else { break };
            at = start;
            value = Some(found.get_ref());
        }
        let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
        self.fault(at, format!("{path}{}", message.as_ref()))
    }

    /// The value under some keys of the root; `None` with faults in it.
    pub(super) fn read<T: DeserializeOwned>(&self, keys: &[&str], faults: &mut Vec<Fault>) -> Option<T> {
        let is_meant = |key: &str| keys.contains(&key);
        let members = self.root.get_ref().iter().filter(|(key, _)| is_meant(key.get_ref()));
        let table: DeTable<'_> = members.map(|(key, value)| (key.clone(), value.clone())).collect();
        let root = Spanned::new(self.root.span(), DeValue::Table(table));
        self.value(root, "", faults)
    }

    /// The value under one key of the root; `None` where it is absent or has faults.
    pub(super) fn section<T: DeserializeOwned>(&self, key: &str, faults: &mut Vec<Fault>) -> Option<T> {
        let (_, value) = member(self.root.get_ref(), key)?;
        self.value(value.clone(), key, faults)
    }

    /// The entries of a list of tables that have no faults, each with its place in the list.
    pub(super) fn entries<T: DeserializeOwned>(&self, list: &str, faults: &mut Vec<Fault>) -> Vec<(usize, T)> {
        let Some((start, value)) = member(self.root.get_ref(), list) else { return Vec::new() };
        let DeValue::Array(items) = value.get_ref() else {
            faults.push(self.fault(start, format!("{list}: must be a list of tables, each under [[{list}]]")));
            return Vec::new();
        };
        if items.len() > MAX_ENTRIES {
            faults.push(self.fault(start, format!("{list}: more than {MAX_ENTRIES} entries")));
            return Vec::new();
        }
        let of_item = |(index, item): (usize, &Spanned<DeValue<'t>>)| {
            let path = format!("{list}[{index}]");
            Some((index, self.value(item.clone(), &path, faults)?))
        };
        items.iter().enumerate().filter_map(of_item).collect()
    }

    /// Whether the root has a key.
    pub(super) fn has(&self, key: &str) -> bool {
        member(self.root.get_ref(), key).is_some()
    }

    /// Tells every key of the root that is none of these.
    pub(super) fn refuse_other_keys(&self, known: &[&str], faults: &mut Vec<Fault>) {
        for (key, _) in self.root.get_ref() {
            if !known.contains(&key.get_ref().as_ref()) {
                let message = format!("unknown key `{}`, expected {}", key.get_ref(), known.join(", "));
                faults.push(self.fault(key.span().start, message));
            }
        }
    }

    /// Reads a value again and again, each time without the member that had a fault.
    fn value<T: DeserializeOwned>(
        &self,
        mut value: Spanned<DeValue<'t>>,
        path: &str,
        faults: &mut Vec<Fault>,
    ) -> Option<T> {
        let mut taken: Vec<String> = Vec::new();
        loop {
            let error = match T::deserialize(ValueDeserializer::from(value.clone())) {
                Ok(read) => return taken.is_empty().then_some(read),
                Err(error) => error,
            };
            // Missing now because of its own fault, told already.
            if taken.iter().any(|key| error.message() == format!("missing field `{key}`")) {
                return None;
            }
            let is_missing = error.message().starts_with("missing field");
            let faulty = (!is_missing).then(|| faulty_key(value.get_ref(), start(&error))).flatten();
            let place = [path, faulty.as_deref().unwrap_or_default()].into_iter().filter(|part| !part.is_empty());
            let place = place.collect::<Vec<_>>().join(".");
            let place = if place.is_empty() { place } else { format!("{place}: ") };
            let at = if is_missing { value.span().start } else { start(&error) };
            faults.push(self.fault(at, format!("{place}{}", error.message())));
            let (Some(faulty), DeValue::Table(table)) = (faulty, value.get_mut()) else { return None };
            let remaining = std::mem::take(table);
            *table = remaining.into_iter().filter(|(key, _)| *key.get_ref() != faulty).collect();
            taken.push(faulty);
            if taken.len() >= MAX_FAULTS {
                return None;
            }
        }
    }
}

fn start(error: &Error) -> usize {
    error.span().map_or(0, |span| span.start)
}

/// A member of a table, and where its key stands.
fn member<'d, 't>(table: &'d DeTable<'t>, wanted: &str) -> Option<(usize, &'d Spanned<DeValue<'t>>)> {
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == wanted)?;
    Some((key.span().start, value))
}

/// The member of a table in which a place lies.
fn faulty_key(value: &DeValue<'_>, at: usize) -> Option<String> {
    let DeValue::Table(table) = value else { return None };
    let holds = |span: std::ops::Range<usize>| span.contains(&at);
    let (key, _) = table.iter().find(|(key, value)| holds(key.span()) || holds(value.span()))?;
    Some(key.get_ref().clone().into_owned())
}
