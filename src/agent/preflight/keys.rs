//! Owns looking up what predicates compare with: the fields of events and the keys of maps, which differ between builds, and
//! database ids. No built-in number is ever used. Names are compared here and not on the server, whose collation may tell
//! case apart or know another alphabet.

use super::Key;
use crate::agent::server::Server;
use crate::agent::{CaptureError, CaptureOptions, Refusal};
use crate::catalog::sessions::{Scenario, SessionTemplate};
use crate::model::{Problem, ServerIdentity, ServerVersion, Severity, Table};
use crate::statements::{Filters, Statements};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The values of the map that a scenario's keys are of, on this build.
#[derive(Debug, Clone)]
pub(super) struct MapValues {
    /// The map's name.
    map: String,
    /// Keys and their values; builds are known to have several keys of one value.
    values: Vec<(u64, String)>,
}

impl MapValues {
    /// Values by key.
    pub(super) fn by_key(&self) -> BTreeMap<u64, String> {
        self.values.iter().cloned().collect()
    }

    /// The keys of a value: as it is written, else without regard to case.
    fn keys_of(&self, name: &str) -> BTreeSet<u64> {
        let keys = |is_it: fn(&str, &str) -> bool| -> BTreeSet<u64> {
            self.values.iter().filter(|(_, value)| is_it(value, name)).map(|(key, _)| *key).collect()
        };
        let exact = keys(|value, name| value == name);
        if exact.is_empty() { keys(str::eq_ignore_ascii_case) } else { exact }
    }

    fn missing(&self, name: &str) -> CaptureError {
        const SHOWN: usize = 5;
        let mut near: Vec<(Reverse<usize>, &str)> = self
            .values
            .iter()
            .map(|(_, value)| (Reverse(shared_words(value, name)), value.as_str()))
            .filter(|(shared, _)| shared.0 > 0)
            .collect();
        near.sort_unstable();
        near.dedup();
        let near: Vec<&str> = near.into_iter().take(SHOWN).map(|(_, value)| value).collect();
        let hint = (!near.is_empty()).then(|| format!("near names there: {}", near.join(", ")));
        CaptureError::refused(Refusal::Version, format!("{name} is not in this server's map {}", self.map), hint)
    }
}

/// Words of more than two letters that two names have in common.
fn shared_words(known: &str, name: &str) -> usize {
    let words = |text: &str| text.split('_').map(str::to_ascii_uppercase).collect::<BTreeSet<_>>();
    words(known).intersection(&words(name)).filter(|word| word.len() > 2).count()
}

/// What was asked of this build already: the fields of events, and the values of maps.
#[derive(Debug, Default)]
pub(super) struct Builds {
    fields: BTreeMap<String, Table>,
    maps: BTreeMap<String, Table>,
}

/// Checks that the event has the fields that the session's predicate tests and its target buckets by, and reads the map of
/// its keys: the one that the field itself names, where several have a name as the session expects.
pub(super) async fn map_values(
    server: &mut Server,
    statements: &Statements<'_>,
    scenario: &Scenario,
    session: &SessionTemplate,
    identity: &ServerIdentity,
    builds: &mut Builds,
) -> Result<MapValues, CaptureError> {
    let fields = match builds.fields.get(&session.event) {
        Some(fields) => fields.clone(),
        None => server.table(&statements.event_fields(&session.event)?).await?,
    };
    builds.fields.insert(session.event.clone(), fields.clone());
    let event = session.event.rsplit('.').next().unwrap_or_default();
    let row_of = |field: &str| {
        (0..fields.rows.len()).find(|&row| {
            let is = |column: &str, text: &str| fields.text(row, column).is_some_and(|value| value.trim() == text);
            is("name", field) && is("object_name", event) && is("column_type", "data")
        })
    };
    let tested = session.tests.iter().map(|test| &test.field);
    let bucket = Some(&session.bucket).filter(|bucket| !session.has_stacks() && !bucket.contains('.'));
    if let Some(field) = [&session.field].into_iter().chain(tested).chain(bucket).find(|field| row_of(field).is_none())
    {
        let text = format!(
            "the event {} has no field {field}: scenario {} is not available on build {}",
            session.event, scenario.name, identity.product_version
        );
        return Err(CaptureError::refused(Refusal::Version, text, None));
    }
    let named = row_of(&session.field).and_then(|row| fields.text(row, "type_name")).map(str::trim);
    let table = match builds.maps.get(&session.map) {
        Some(values) => values.clone(),
        None => server.table(&statements.map_values(&session.map)?).await?,
    };
    builds.maps.insert(session.map.clone(), table.clone());
    let is_named = |row: usize| table.text(row, "name").map(str::trim) == named;
    let some_named = (0..table.rows.len()).any(is_named);
    let mut map = session.map.trim_matches('%').to_owned();
    let mut values = Vec::new();
    for row in (0..table.rows.len()).filter(|&row| !some_named || is_named(row)) {
        let key = table.integer(row, "map_key").and_then(|key| u64::try_from(key).ok());
        if let (Some(key), Some(value)) = (key, table.text(row, "map_value")) {
            values.push((key, value.trim().to_owned()));
            map = table.text(row, "name").map_or(map, |name| name.trim().to_owned());
        }
    }
    Ok(MapValues { map, values })
}

/// The keys of a session on this build: of its values, those that are missing left out as long as there is one; of the
/// spinlocks asked for; or left to the survey or the look.
pub(super) fn keys(
    statements: &Statements<'_>,
    scenario: &Scenario,
    session: &SessionTemplate,
    map: &MapValues,
    options: &CaptureOptions,
    problems: &mut Vec<Problem>,
) -> Result<Option<Vec<Key>>, CaptureError> {
    if let Some(first) = session.values.first() {
        let mut keys: Vec<Key> = Vec::new();
        for value in &session.values {
            let of_value = keys_of_value(statements, session, map, value);
            if !of_value.is_empty() {
                let key = one_key(&of_value, value, map, problems);
                keys.push(Key { key, value: value.clone() });
            }
        }
        keys.sort_by_key(|key| key.key);
        return if keys.is_empty() { Err(map.missing(first)) } else { Ok(Some(keys)) };
    }
    if session.values_from.is_some() || scenario.survey.is_none() {
        return Ok(None);
    }
    if options.all_types {
        return Ok(Some(Vec::new()));
    }
    if options.spinlocks.is_empty() {
        return Ok(None);
    }
    let mut keys = BTreeSet::new();
    for name in &options.spinlocks {
        let of_name = map.keys_of(name);
        if of_name.is_empty() {
            return Err(map.missing(name));
        }
        keys.extend(of_name);
    }
    let names = map.by_key();
    let named = |key: u64| Key { key, value: names.get(&key).cloned().unwrap_or_default() };
    Ok(Some(keys.into_iter().map(named).collect()))
}

/// The keys of a value, under its own name or another one that maps are known to use.
fn keys_of_value(
    statements: &Statements<'_>,
    session: &SessionTemplate,
    map: &MapValues,
    value: &str,
) -> BTreeSet<u64> {
    let texts = statements.map_texts(&session.map, value);
    texts.map(|text| map.keys_of(text)).find(|keys| !keys.is_empty()).unwrap_or_default()
}

/// The key of one value, unless the session is never made for it.
pub(super) fn allowed_key(
    statements: &Statements<'_>,
    session: &SessionTemplate,
    map: &MapValues,
    value: &str,
) -> Option<Key> {
    if session.never.iter().any(|never| never.eq_ignore_ascii_case(value)) {
        return None;
    }
    let key = keys_of_value(statements, session, map, value).first().copied()?;
    let is_never = map.by_key().get(&key).is_some_and(|text| session.never.contains(text));
    (!is_never).then(|| Key { key, value: value.to_owned() })
}

fn one_key(keys: &BTreeSet<u64>, value: &str, map: &MapValues, problems: &mut Vec<Problem>) -> u64 {
    let key = keys.first().copied().unwrap_or_default();
    if keys.len() > 1 {
        let message = format!("{value} has several keys in the map {} ({keys:?}); only {key} was captured", map.map);
        problems.push(Problem::new("map_key_ambiguous", Severity::Partial, message));
    }
    key
}

pub(super) async fn filters(
    server: &mut Server,
    statements: &Statements<'_>,
    options: &CaptureOptions,
    identity: &ServerIdentity,
) -> Result<Filters, CaptureError> {
    let session_id = options.session_id;
    let sample_one_in = options.sample_one_in.filter(|n| *n > 1);
    let database_id = match &options.database {
        // There every event is of the connected database already.
        Some(name) if identity.version == Some(ServerVersion::AzureDb) => {
            let connected = identity.database.as_deref().unwrap_or_default();
            if !connected.eq_ignore_ascii_case(name) {
                let text =
                    format!("event sessions of Azure SQL Database see the connected database, which is {connected}");
                let hint = format!("connect to it with -d {name}");
                return Err(CaptureError::refused(Refusal::Version, text, Some(hint)));
            }
            None
        }
        Some(name) => {
            let id = server.table(&statements.database_id(name)?).await?.integer(0, "database_id");
            let id = id.and_then(|id| u64::try_from(id).ok());
            let missing =
                || CaptureError::refused(Refusal::Version, format!("there is no database {name} on the server"), None);
            Some(id.ok_or_else(missing)?)
        }
        None => None,
    };
    Ok(Filters { database_id, session_id, sample_one_in })
}

#[cfg(test)]
mod tests {
    use super::MapValues;

    fn map(values: &[(u64, &str)]) -> MapValues {
        let values = values.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        MapValues { map: "wait_types".into(), values }
    }

    #[test]
    fn a_value_is_found_as_it_is_written_and_else_whatever_its_case() {
        let map = map(&[(1, "LOCK_HASH"), (2, "lock_hash"), (3, "MUTEX"), (4, "MUTEX")]);
        for (name, keys) in
            [("LOCK_HASH", &[1][..]), ("lock_hash", &[2]), ("Lock_Hash", &[1, 2]), ("mutex", &[3, 4]), ("LOCK", &[])]
        {
            assert_eq!(map.keys_of(name).into_iter().collect::<Vec<_>>(), keys, "{name}");
        }
    }

    #[test]
    fn a_value_that_is_missing_names_those_that_share_most_words_with_it() {
        let map = map(&[(1, "SOS_YIELD"), (2, "XE_TIMER"), (3, "SOS_WORKER"), (4, "SOS_YIELD")]);
        let hint = |name: &str| map.missing(name).hint();
        assert_eq!(hint("SOS_SCHEDULER_YIELD").as_deref(), Some("near names there: SOS_YIELD, SOS_WORKER"));
        assert_eq!(hint("XE_NOTHING"), None);
        assert_eq!(map.missing("A").to_string(), "refused (version): A is not in this server's map wait_types");
    }
}
