//! Owns `sessions/`: the scenarios and the SQL texts they are made of, embedded and validated.

mod scenario;

pub use scenario::{
    AutoRule, CALLSTACK, Counters, FieldTest, Limits, QUERY_HASH, Question, Scenario, SessionTemplate, Survey,
};

use crate::model::ServerVersion;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

macro_rules! embed {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/", $path)))),*]
    };
}

/// Every file of `sessions/` that is compiled in, by its path below that folder.
pub const EMBEDDED: &[(&str, &str)] = &embed![
    "common/audits.sql",
    "common/auto.toml",
    "common/capabilities.sql",
    "common/create_session.sql",
    "common/database_id.sql",
    "common/databases.sql",
    "common/databases@2014.sql",
    "common/databases@2019.sql",
    "common/ddl_triggers.sql",
    "common/ddl_triggers@azure-db.sql",
    "common/dm_exec_requests.sql",
    "common/dm_exec_sessions.sql",
    "common/dm_hadr_database_replica_states@2014.sql",
    "common/dm_io_pending_io_requests.sql",
    "common/dm_io_virtual_file_stats.sql",
    "common/dm_io_virtual_file_stats@2014.sql",
    "common/dm_os_latch_stats.sql",
    "common/dm_os_loaded_modules.sql",
    "common/dm_os_performance_counters.sql",
    "common/dm_os_schedulers.sql",
    "common/dm_os_schedulers@2016.sql",
    "common/dm_os_spinlock_stats.sql",
    "common/dm_os_sys_info.sql",
    "common/dm_os_sys_info@2012.sql",
    "common/dm_os_wait_stats.sql",
    "common/dm_os_wait_stats@2016.sql",
    "common/dm_os_wait_stats@azure-db.sql",
    "common/dm_os_waiting_tasks.sql",
    "common/dm_tran_persistent_version_store_stats@2019.sql",
    "common/dm_tran_version_store_space_usage@2017.sql",
    "common/dm_xe_sessions.sql",
    "common/dm_xe_sessions@azure-db.sql",
    "common/drop_event.sql",
    "common/drop_session.sql",
    "common/event_fields.sql",
    "common/event_session_columns.sql",
    "common/event_session_columns@azure-db.sql",
    "common/global_trace_flags.sql",
    "common/host_info.sql",
    "common/identity.sql",
    "common/list_sessions.sql",
    "common/list_sessions@azure-db.sql",
    "common/log_counters.sql",
    "common/map_aliases.toml",
    "common/map_values.sql",
    "common/master_files.sql",
    "common/master_files@azure-db.sql",
    "common/query_statements.sql",
    "common/read_target.sql",
    "common/read_target@azure-db.sql",
    "common/release_lock.sql",
    "common/release_lock@azure-db.sql",
    "common/rights.sql",
    "common/rights@azure-db.sql",
    "common/server_clock.sql",
    "common/server_start.sql",
    "common/start_session.sql",
    "common/stop_session.sql",
    "common/take_lock.sql",
    "common/take_lock@azure-db.sql",
    "common/trace_off_global.sql",
    "common/trace_off_session.sql",
    "common/trace_on_global.sql",
    "common/trace_on_session.sql",
    "common/trace_status.sql",
    "common/traces.sql",
    "common/traces@azure-db.sql",
    "common/volume_waits.sql",
    "common/volume_waits@azure-db.sql",
    "file-latency/scenario.toml",
    "latch/scenario.toml",
    "log-write/scenario.toml",
    "pagelatch/scenario.toml",
    "snapshot/scenario.toml",
    "sos-yield/scenario.toml",
    "spinlock/scenario.toml",
];

/// A file of `sessions/` that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SessionsError {
    /// Not valid TOML, an unknown key, or a value of the wrong kind.
    #[error("sessions/{file}: {path}: {message}")]
    Toml {
        /// File below `sessions/`.
        file: String,
        /// Key.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// A file that another one names is missing.
    #[error("sessions/{file} names {missing}, which does not exist")]
    MissingFile {
        /// Who names it.
        file: String,
        /// What is missing.
        missing: String,
    },
    /// No scenario of that name.
    #[error("unknown scenario `{name}`: use one of {known}")]
    UnknownScenario {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
}

/// All scenarios and statement texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Sessions {
    scenarios: Vec<Scenario>,
    texts: BTreeMap<String, String>,
    /// Map, value as views write it, values as the map does.
    aliases: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    auto: AutoSettings,
}

/// When a scenario is chosen by a look at the counters.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoSettings {
    /// How long the look takes, seconds.
    pub look_seconds: u64,
    /// Wait time over elapsed time from which waits lead.
    pub least_tasks_waiting: f64,
    /// Share of the non-idle wait time from which waits lead, 0 to 1.
    pub least_share: f64,
    /// I/Os from which a file is judged.
    pub least_ios: u64,
}

/// The file of these settings.
const AUTO: &str = "common/auto.toml";

/// The file of the aliases.
const ALIASES: &str = "common/map_aliases.toml";

impl Sessions {
    /// Reads the files of `sessions/`, given by path and text.
    pub fn from_texts(files: &[(&str, &str)]) -> Result<Self, SessionsError> {
        let texts: BTreeMap<String, String> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let mut scenarios = Vec::new();
        for (path, text) in files.iter().filter(|(path, _)| path.ends_with("/scenario.toml")) {
            scenarios.push(read_scenario(path, text)?);
        }
        let aliases = texts.get(ALIASES).map(|text| read_toml(ALIASES, text)).transpose()?.unwrap_or_default();
        let auto = texts.get(AUTO).map(|text| read_toml(AUTO, text)).transpose()?.unwrap_or_default();
        let sessions = Self { scenarios, texts, aliases, auto };
        sessions.check_files()?;
        Ok(sessions)
    }

    /// A scenario by name.
    pub fn scenario(&self, name: &str) -> Result<&Scenario, SessionsError> {
        self.scenarios.iter().find(|scenario| scenario.name == name).ok_or_else(|| SessionsError::UnknownScenario {
            name: name.to_owned(),
            known: self.scenarios.iter().map(|scenario| scenario.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Scenarios by their names joined with `+`, each once, in that order.
    pub fn joined_scenarios(&self, names: &str) -> Result<Vec<&Scenario>, SessionsError> {
        let mut scenarios: Vec<&Scenario> = Vec::new();
        for name in names.split('+') {
            let scenario = self.scenario(name.trim())?;
            if !scenarios.iter().any(|known| known.name == scenario.name) {
                scenarios.push(scenario);
            }
        }
        Ok(scenarios)
    }

    /// When a scenario is chosen by a look at the counters.
    pub fn auto(&self) -> &AutoSettings {
        &self.auto
    }

    /// All scenarios.
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// Adds a scenario that holds to what all do.
    pub(super) fn add(&mut self, scenario: Scenario) {
        self.scenarios.push(scenario);
    }

    /// The counter tables that scenarios read.
    pub(super) fn counter_names(&self) -> BTreeSet<&str> {
        let counters = self.scenarios.iter().map(|scenario| &scenario.counters);
        let names = counters.flat_map(|counters| [&counters.snapshot, &counters.sample, &counters.series]);
        names.flatten().map(String::as_str).collect()
    }

    /// The statements that predict event rates.
    pub(super) fn volumes(&self) -> BTreeSet<&str> {
        self.scenarios.iter().filter_map(|scenario| scenario.counters.volume.as_deref()).collect()
    }

    /// The text of a common statement for a version: `name@V.sql` of the newest V that is not newer, else `name.sql`.
    pub fn common_text(&self, name: &str, version: ServerVersion) -> Option<&str> {
        self.common_texts(name, version).into_iter().next()
    }

    /// All texts of a common statement that a version may understand, the newest first: a build may lack what its version
    /// is said to have.
    pub fn common_texts(&self, name: &str, version: ServerVersion) -> Vec<&str> {
        let prefix = format!("common/{name}@");
        let from = |path: &str| path.strip_prefix(&prefix)?.strip_suffix(".sql")?.parse::<ServerVersion>().ok();
        let mut texts: Vec<(ServerVersion, &str)> = self
            .texts
            .iter()
            .filter_map(|(path, text)| Some((from(path)?, text.as_str())))
            .filter(|(from, _)| *from <= version)
            .collect();
        texts.sort_unstable_by_key(|(from, _)| std::cmp::Reverse(*from));
        let oldest = self.texts.get(&format!("common/{name}.sql"));
        texts.into_iter().map(|(_, text)| text).chain(oldest.map(String::as_str)).collect()
    }

    /// Under which names a map may hold a value: its own, then those that maps use where views say it otherwise.
    pub fn map_texts<'a>(&'a self, map: &str, value: &'a str) -> impl Iterator<Item = &'a str> {
        let aliases = self.aliases.get(map.trim_matches('%')).and_then(|aliases| aliases.get(value));
        std::iter::once(value).chain(aliases.into_iter().flatten().map(String::as_str))
    }

    fn check_files(&self) -> Result<(), SessionsError> {
        for scenario in &self.scenarios {
            let file = format!("{}/scenario.toml", scenario.name);
            let Counters { snapshot, sample, series, volume } = &scenario.counters;
            for name in snapshot.iter().chain(sample).chain(series).chain(volume) {
                if !self.has_common(name) {
                    return Err(SessionsError::MissingFile {
                        file: file.clone(),
                        missing: format!("common/{name}.sql"),
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether some version has a common statement of this name.
    fn has_common(&self, name: &str) -> bool {
        let (plain, versioned) = (format!("common/{name}.sql"), format!("common/{name}@"));
        self.texts.keys().any(|path| *path == plain || path.starts_with(&versioned))
    }
}

fn read_scenario(file: &str, text: &str) -> Result<Scenario, SessionsError> {
    let scenario: Scenario = read_toml(file, text)?;
    if file != format!("{}/scenario.toml", scenario.name) {
        let message = format!("`{}` is not the folder's name", scenario.name);
        return Err(SessionsError::Toml { file: file.to_owned(), path: "name".to_owned(), message });
    }
    Ok(scenario)
}

fn read_toml<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> Result<T, SessionsError> {
    let wrong = |path: String, message: String| SessionsError::Toml { file: file.to_owned(), path, message };
    let deserializer = toml::Deserializer::parse(text).map_err(|error| wrong(".".to_owned(), error.to_string()))?;
    serde_path_to_error::deserialize(deserializer)
        .map_err(|error| wrong(error.path().to_string(), error.inner().message().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{EMBEDDED, Sessions};
    use crate::model::ServerVersion;

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
        let mut found = Vec::new();
        for folder in std::fs::read_dir(&root).unwrap() {
            let folder = folder.unwrap().path();
            for file in std::fs::read_dir(&folder).unwrap() {
                let file = file.unwrap().path();
                let name = format!(
                    "{}/{}",
                    folder.file_name().unwrap().to_str().unwrap(),
                    file.file_name().unwrap().to_str().unwrap()
                );
                // The verdict settings are embedded by their own reader.
                if !name.ends_with("/verdict.toml") {
                    found.push(name);
                }
            }
        }
        found.sort();
        assert_eq!(found, EMBEDDED.iter().map(|(path, _)| *path).collect::<Vec<_>>());
    }

    #[test]
    fn a_statement_is_chosen_by_the_newest_version_that_is_not_newer() {
        let files = [("common/a.sql", "old"), ("common/a@2016.sql", "2016"), ("common/a@2019.sql", "2019")];
        let sessions = Sessions::from_texts(&files).unwrap();
        for (version, text) in [
            (ServerVersion::V2014, "old"),
            (ServerVersion::V2016, "2016"),
            (ServerVersion::V2017, "2016"),
            (ServerVersion::V2025, "2019"),
        ] {
            assert_eq!(sessions.common_text("a", version), Some(text));
        }
        assert_eq!(sessions.common_text("b", ServerVersion::V2019), None);
        assert_eq!(sessions.common_texts("a", ServerVersion::V2025), ["2019", "2016", "old"]);
        assert_eq!(sessions.common_texts("a", ServerVersion::V2008R2), ["old"]);
    }

    #[test]
    fn a_map_may_name_a_value_otherwise_than_views_do() {
        let sessions = Sessions::from_texts(EMBEDDED).unwrap();
        let names =
            |map: &str, value: &'static str| sessions.map_texts(map, value).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names("wait_types", "ASYNC_NETWORK_IO"), ["ASYNC_NETWORK_IO", "NETWORK_IO"]);
        assert_eq!(names("latch_class", "BUFFER"), ["BUFFER", "BUF"]);
        assert_eq!(names("%spinlock_types", "BUFFER"), ["BUFFER"]);
        let error = Sessions::from_texts(&[("common/map_aliases.toml", "[wait_types]\nA = 1")]).unwrap_err();
        assert!(error.to_string().contains("common/map_aliases.toml: wait_types.A"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_file_and_key() {
        let (_, good) = EMBEDDED.iter().find(|(path, _)| *path == "sos-yield/scenario.toml").unwrap();
        let refused = |text: &str| Sessions::from_texts(&[("sos-yield/scenario.toml", text)]).unwrap_err().to_string();
        assert!(
            refused(&good.replace("tests = [\"opcode = 1\"]", "tests = [\"opcode > 1\"]"))
                .contains("sos-yield/scenario.toml: session[0].tests[0]")
        );
        assert!(refused(&good.replace("tests = ", "testz = ")).contains("testz"));
        assert!(refused(good).contains("common/dm_os_sys_info.sql"));
        assert!(refused("x").contains("sos-yield/scenario.toml"));
    }
}
