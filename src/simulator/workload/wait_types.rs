//! Owns the wait types of the simulated server: names, map texts and background activity.

use crate::model::ServerVersion;
use std::sync::OnceLock;

/// One wait type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitType {
    /// Name in sys.dm_os_wait_stats.
    pub name: &'static str,
    /// Text in the map `wait_types`.
    pub map_text: &'static str,
    /// First version that has it; `None`: all.
    pub since: Option<ServerVersion>,
    /// Waits before the simulated time begins, apart from background waits.
    pub base: u64,
    /// Background waits an hour.
    pub per_hour: u64,
    /// Mean wait in milliseconds.
    pub each_ms: u64,
}

/// All wait types, in the order of their map keys.
pub fn wait_types() -> &'static [WaitType] {
    static TYPES: OnceLock<Vec<WaitType>> = OnceLock::new();
    TYPES.get_or_init(|| include_str!("wait_types.txt").lines().filter_map(parse_line).collect())
}

/// The wait types of a version.
pub fn of_version(version: ServerVersion) -> impl Iterator<Item = &'static WaitType> {
    wait_types().iter().filter(move |wait| wait.since.is_none_or(|since| since <= version))
}

fn parse_line(line: &'static str) -> Option<WaitType> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| !name.starts_with('#'))?;
    let mut wait = WaitType { name, map_text: name, since: None, base: 0, per_hour: 0, each_ms: 0 };
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        match key {
            "alias" => wait.map_text = value,
            "since" => wait.since = value.parse().ok(),
            "base" => wait.base = value.parse().unwrap_or(0),
            "per_hour" => wait.per_hour = value.parse().unwrap_or(0),
            "each_ms" => wait.each_ms = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    Some(wait)
}

#[cfg(test)]
mod tests {
    use super::wait_types;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_is_whole_and_names_are_unique() {
        let names: BTreeSet<_> = wait_types().iter().map(|wait| wait.name).collect();
        assert_eq!(names.len(), wait_types().len());
        assert!(names.len() > 250, "{}", names.len());
        let lines = include_str!("wait_types.txt").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(lines, names.len());
    }
}
