//! Owns looking up what predicates compare with: keys of maps, which differ between builds, and database ids. No built-in
//! number is ever used.

use crate::agent::server::Server;
use crate::agent::{CaptureError, CaptureOptions, Refusal};
use crate::catalog::sessions::Scenario;
use crate::model::{Problem, Severity};
use crate::statements::{Filters, Statements};
use std::collections::{BTreeMap, BTreeSet};

/// The names of the keys of maps in which the scenarios have no single value.
pub(super) async fn map_names(
    server: &mut Server,
    statements: &Statements<'_>,
    scenarios: &[Scenario],
) -> Result<BTreeMap<u64, String>, CaptureError> {
    let mut names = BTreeMap::new();
    for scenario in scenarios.iter().filter(|scenario| scenario.session.value.is_none()) {
        let table = server.table(&statements.map_names(&scenario.session.map)?).await?;
        for row in 0..table.rows.len() {
            let key = table.integer(row, "map_key").and_then(|key| u64::try_from(key).ok());
            if let (Some(key), Some(name)) = (key, table.text(row, "map_value")) {
                names.insert(key, name.to_owned());
            }
        }
    }
    Ok(names)
}

/// The keys of a scenario on this build: of its one value, of the spinlocks asked for, or left to the survey.
pub(super) async fn keys(
    server: &mut Server,
    statements: &Statements<'_>,
    scenario: &Scenario,
    options: &CaptureOptions,
    map_names: &BTreeMap<u64, String>,
    problems: &mut Vec<Problem>,
) -> Result<Option<Vec<u64>>, CaptureError> {
    if let Some(value) = &scenario.session.value {
        return Ok(Some(vec![map_key(server, statements, &scenario.session.map, value, problems).await?]));
    }
    if options.all_types {
        return Ok(Some(Vec::new()));
    }
    if options.spinlocks.is_empty() {
        return Ok(None);
    }
    let key_of = |name: &String| {
        map_names.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(key, _)| *key).ok_or_else(|| {
            let text =
                format!("the spinlock {name} is not in this server's map {}", scenario.session.map.trim_matches('%'));
            let near: Vec<&str> =
                map_names.values().filter(|known| shares_a_word(known, name)).map(String::as_str).take(5).collect();
            let hint = (!near.is_empty()).then(|| format!("near names there: {}", near.join(", ")));
            CaptureError::refused(Refusal::Version, text, hint)
        })
    };
    Ok(Some(options.spinlocks.iter().map(key_of).collect::<Result<Vec<u64>, CaptureError>>()?))
}

fn shares_a_word(known: &str, name: &str) -> bool {
    name.split('_')
        .filter(|word| word.len() > 2)
        .any(|word| known.split('_').any(|part| part.eq_ignore_ascii_case(word)))
}

pub(super) async fn filters(
    server: &mut Server,
    statements: &Statements<'_>,
    options: &CaptureOptions,
) -> Result<Filters, CaptureError> {
    let database_id = match &options.database {
        None => None,
        Some(name) => {
            let id = server.table(&statements.database_id(name)?).await?.integer(0, "database_id");
            let id = id.and_then(|id| u64::try_from(id).ok());
            let missing =
                || CaptureError::refused(Refusal::Version, format!("there is no database {name} on the server"), None);
            Some(id.ok_or_else(missing)?)
        }
    };
    Ok(Filters { database_id, session_id: options.session_id, sample_one_in: options.sample_one_in.filter(|n| *n > 1) })
}

async fn map_key(
    server: &mut Server,
    statements: &Statements<'_>,
    map: &str,
    value: &str,
    problems: &mut Vec<Problem>,
) -> Result<u64, CaptureError> {
    let table = server.table(&statements.map_key(map, value)?).await?;
    let keys: BTreeSet<u64> =
        (0..table.rows.len()).filter_map(|row| u64::try_from(table.integer(row, "map_key")?).ok()).collect();
    let Some(&key) = keys.first() else {
        let pattern = format!("%{}%", value.rsplit('_').next().unwrap_or(value));
        let near = server.table(&statements.near_map_values(map, &pattern)?).await?;
        let near: Vec<&str> = (0..near.rows.len()).filter_map(|row| near.text(row, "map_value")).collect();
        let hint = (!near.is_empty()).then(|| format!("near names there: {}", near.join(", ")));
        let text = format!("{value} is not in this server's map {map}");
        return Err(CaptureError::refused(Refusal::Version, text, hint));
    };
    if keys.len() > 1 {
        let message = format!("{value} has several keys in the map {map} ({keys:?}); only {key} was captured");
        problems.push(Problem::new("map_key_ambiguous", Severity::Partial, message));
    }
    Ok(key)
}
