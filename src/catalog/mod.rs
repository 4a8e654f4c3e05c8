//! Owns the knowledge that is data: `symbols/` (what frames, waits, spinlocks and latches mean) and the verdict settings
//! of each scenario in `sessions/`. It reads (name, text) pairs, so that embedded and user-given files are alike.

mod areas;
mod glossary;
mod pattern;
mod plumbing;
mod rows;
mod rules;
pub mod sessions;
pub mod site;
mod verdicts;
mod waits;

pub use areas::{Area, Areas};
pub use glossary::{Glossary, Relief, Term};
pub use pattern::Pattern;
pub use plumbing::Plumbing;
pub use rows::RowColumns;
pub use rules::{Look, Rule, Rules};
pub use verdicts::{
    AgreementSettings, BucketSettings, GateSettings, InsertSettings, LatchGateSettings, LatchSettings,
    NoBackoffSettings, NoContentionSettings, ObserverSettings, PageLatchGateSettings, PageLatchSettings, ShareSettings,
    SpinSettings, SpinlockGateSettings, SpinlockSettings, WaitsSettings, YieldSettings,
};
pub use verdicts::{
    FileGateSettings, FileLatencySettings, IoWaitSettings, LogFileSettings, LogWriteGateSettings, LogWriteSettings,
    MaintenanceSettings, SnapshotGateSettings, SnapshotSettings, WriterFrames,
};
pub use waits::{WaitCategories, WaitCategory};

use serde::de::DeserializeOwned;
use sessions::{Sessions, SessionsError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All files that are built in, by their path in the repository.
const EMBEDDED: [(&str, &str); 14] = [
    ("symbols/rules.toml", include_str!("../../symbols/rules.toml")),
    ("symbols/plumbing.toml", include_str!("../../symbols/plumbing.toml")),
    ("symbols/areas.toml", include_str!("../../symbols/areas.toml")),
    ("symbols/spinlocks.toml", include_str!("../../symbols/spinlocks.toml")),
    ("symbols/latches.toml", include_str!("../../symbols/latches.toml")),
    ("symbols/waits.toml", include_str!("../../symbols/waits.toml")),
    ("symbols/row_columns.toml", include_str!("../../symbols/row_columns.toml")),
    ("sessions/sos-yield/verdict.toml", include_str!("../../sessions/sos-yield/verdict.toml")),
    ("sessions/spinlock/verdict.toml", include_str!("../../sessions/spinlock/verdict.toml")),
    ("sessions/latch/verdict.toml", include_str!("../../sessions/latch/verdict.toml")),
    ("sessions/pagelatch/verdict.toml", include_str!("../../sessions/pagelatch/verdict.toml")),
    ("sessions/log-write/verdict.toml", include_str!("../../sessions/log-write/verdict.toml")),
    ("sessions/snapshot/verdict.toml", include_str!("../../sessions/snapshot/verdict.toml")),
    ("sessions/file-latency/verdict.toml", include_str!("../../sessions/file-latency/verdict.toml")),
];

/// Everything the analysis looks up.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalog {
    /// From frames to classes, in order.
    pub rules: Rules,
    /// Frames that the event machinery and the wait primitives add.
    pub plumbing: Plumbing,
    /// From frames to areas of the engine, in order.
    pub areas: Areas,
    /// What spinlocks protect.
    pub spinlocks: Glossary,
    /// What latch classes protect.
    pub latches: Glossary,
    /// Wait types by category, and which of them are idle.
    pub waits: WaitCategories,
    /// By which columns saved rows are known.
    pub rows: RowColumns,
    /// Thresholds of scenario `sos-yield`.
    pub sos_yield: YieldSettings,
    /// Thresholds of scenario `spinlock`.
    pub spinlock: SpinlockSettings,
    /// Thresholds of scenario `latch`.
    pub latch: LatchSettings,
    /// Thresholds of scenario `pagelatch`.
    pub page_latch: PageLatchSettings,
    /// Thresholds of a site's own scenarios by their names, where they have any.
    pub site_waits: BTreeMap<String, WaitsSettings>,
    /// Thresholds of scenario `log-write`.
    pub log_write: LogWriteSettings,
    /// Thresholds of scenario `snapshot`.
    pub snapshot: SnapshotSettings,
    /// Thresholds of scenario `file-latency`.
    pub file_latency: FileLatencySettings,
    /// Scenarios and the statements they are made of.
    pub sessions: Arc<Sessions>,
    /// Thresholds of a site's scenarios that have their own.
    site_verdicts: BTreeMap<String, site::SiteVerdict>,
}

/// A catalogue file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// Not TOML.
    #[error("{file} is not valid TOML")]
    Syntax {
        /// The file.
        file: String,
        /// What the reader said.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// TOML of another shape than the file's kind has.
    #[error("{file}, at `{path}`")]
    Shape {
        /// The file.
        file: String,
        /// Where in it.
        path: String,
        /// What the reader said.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// The right shape, but a value that makes no sense.
    #[error("{file}, at `{path}`: {message}")]
    Invalid {
        /// The file.
        file: String,
        /// Where in it.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// A scenario or a statement that cannot be used.
    #[error(transparent)]
    Sessions(#[from] SessionsError),
    /// A name that no kind of file has.
    #[error("{file} is no catalogue file")]
    UnknownFile {
        /// The file.
        file: String,
    },
    /// A kind of file that was not given.
    #[error("{file} is missing")]
    Missing {
        /// The file.
        file: &'static str,
    },
}

impl Catalog {
    /// The catalogue that is built in.
    ///
    /// # Errors
    /// When a built-in file is invalid, which the tests rule out.
    pub fn embedded() -> Result<Self, CatalogError> {
        Self::from_texts(&EMBEDDED)
    }

    /// The catalogue of these (name, text) pairs. A name is a path such as `symbols/rules.toml`; where one comes
    /// twice, the later text stands.
    ///
    /// # Errors
    /// The first file that is unknown, missing, or invalid, with the place in it.
    pub fn from_texts<N: AsRef<str>, T: AsRef<str>>(texts: &[(N, T)]) -> Result<Self, CatalogError> {
        for (name, _) in texts {
            if !EMBEDDED.iter().any(|(known, _)| *known == name.as_ref()) {
                return Err(CatalogError::UnknownFile { file: name.as_ref().to_owned() });
            }
        }
        Ok(Self {
            rules: load(texts, "symbols/rules.toml")?,
            plumbing: load(texts, "symbols/plumbing.toml")?,
            areas: load(texts, "symbols/areas.toml")?,
            spinlocks: load(texts, "symbols/spinlocks.toml")?,
            latches: load(texts, "symbols/latches.toml")?,
            waits: load(texts, "symbols/waits.toml")?,
            rows: load(texts, "symbols/row_columns.toml")?,
            sos_yield: load(texts, "sessions/sos-yield/verdict.toml")?,
            spinlock: load(texts, "sessions/spinlock/verdict.toml")?,
            latch: load(texts, "sessions/latch/verdict.toml")?,
            page_latch: load(texts, "sessions/pagelatch/verdict.toml")?,
            site_waits: BTreeMap::new(),
            log_write: load(texts, "sessions/log-write/verdict.toml")?,
            snapshot: load(texts, "sessions/snapshot/verdict.toml")?,
            file_latency: load(texts, "sessions/file-latency/verdict.toml")?,
            sessions: Arc::new(Sessions::from_texts(sessions::EMBEDDED)?),
            site_verdicts: BTreeMap::new(),
        })
    }
}

/// What a file's content must hold to beyond its shape.
trait Checked {
    /// The first fault: where, and what.
    fn fault(&self) -> Option<(String, String)>;
}

/// What an entry of a list in a file must hold to beyond its shape.
trait Entry {
    /// The list's key.
    const LIST: &'static str;

    /// All faults of this entry by itself: under which key, and what.
    fn faults(&self) -> Vec<(&'static str, &'static str)>;

    /// The names that no other entry may have, and under which key each stands.
    fn names(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// The faults that are there.
fn found<const N: usize>(faults: [(bool, &'static str, &'static str); N]) -> Vec<(&'static str, &'static str)> {
    faults.into_iter().filter(|(is_there, ..)| *is_there).map(|(_, key, message)| (key, message)).collect()
}

fn load<N, T, C>(texts: &[(N, T)], file: &'static str) -> Result<C, CatalogError>
where
    N: AsRef<str>,
    T: AsRef<str>,
    C: DeserializeOwned + Checked,
{
    let text = texts.iter().rev().find(|(name, _)| name.as_ref() == file).map(|(_, text)| text.as_ref());
    let content: C = parse(file, text.ok_or(CatalogError::Missing { file })?)?;
    match content.fault() {
        None => Ok(content),
        Some((path, message)) => Err(CatalogError::Invalid { file: file.to_owned(), path, message }),
    }
}

/// One TOML text as a value, with the path to what does not fit.
fn parse<C: DeserializeOwned>(file: &str, text: &str) -> Result<C, CatalogError> {
    let reader = toml::Deserializer::parse(text)
        .map_err(|source| CatalogError::Syntax { file: file.to_owned(), source: Box::new(source) })?;
    serde_path_to_error::deserialize(reader).map_err(|error| CatalogError::Shape {
        file: file.to_owned(),
        path: error.path().to_string(),
        source: Box::new(error.into_inner()),
    })
}

#[cfg(test)]
mod tests {
    use super::{Catalog, CatalogError, Checked, EMBEDDED, WaitsSettings, parse};
    use std::error::Error;

    fn with(file: &str, text: &str) -> Result<Catalog, CatalogError> {
        let mut texts: Vec<(&str, &str)> = EMBEDDED.to_vec();
        texts.push((file, text));
        Catalog::from_texts(&texts)
    }

    #[test]
    fn the_embedded_files_are_valid() {
        Catalog::embedded().unwrap();
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let rule = "[[rule]]\nid = \"a\"\nclass = \"lock\"\nwhy = \"w\"\nlook = \"top\"\nframes = [\"F\"]\nmust_match = [[\"F\"]]\nmust_not_match = [[\"G\"]]\n";
        let twice = format!("{rule}{rule}");
        let term = "[[term]]\nnames = [\"A\"]\nmeaning = \"m\"\nbasis = \"hearsay\"\n";
        let settings = include_str!("../../sessions/sos-yield/verdict.toml");
        let swapped = settings.replace("cycles_per_spin_high = 40.0", "cycles_per_spin_high = 4.0");
        let beyond = settings.replace("cpu_yield_low = 0.90", "cpu_yield_low = 1.90");
        let spinlock = include_str!("../../sessions/spinlock/verdict.toml");
        let latch = include_str!("../../sessions/latch/verdict.toml");
        let pages = include_str!("../../sessions/pagelatch/verdict.toml");
        let upside_down = spinlock.replace("problem_events_per_minute = 10000", "problem_events_per_minute = 10");
        let nothing = settings.replace("quantum_ms = 4.0", "quantum_ms = 0.0");
        let log_write = include_str!("../../sessions/log-write/verdict.toml");
        let no_bytes = log_write.replace("bytes_per_flush = 15360", "bytes_per_flush = 0");
        let snapshot = include_str!("../../sessions/snapshot/verdict.toml");
        let first = snapshot.lines().find(|line| line.starts_with("copy_on_write = ")).unwrap();
        let no_frames = snapshot.replace(first, "copy_on_write = []");
        let file_latency = include_str!("../../sessions/file-latency/verdict.toml");
        let no_factor = file_latency.replace("cumulative_factor = 2.0", "cumulative_factor = 1.0");
        for (file, text, place) in [
            ("symbols/rules.toml", twice.as_str(), "rule[1].id"),
            ("symbols/rules.toml", &rule.replace("[\"F\"]\nmust", "[]\nmust"), "rule[0].frames"),
            ("symbols/rules.toml", &rule.replace("[[\"G\"]]", "[]"), "rule[0].must_match"),
            ("symbols/latches.toml", term, "term[0].basis"),
            (
                "symbols/waits.toml",
                "version = \"1\"\n[[category]]\nname = \"x\"\nwait_types = []\n",
                "category[0].wait_types",
            ),
            ("sessions/sos-yield/verdict.toml", &beyond, "shares.cpu_yield_low"),
            ("sessions/sos-yield/verdict.toml", &nothing, "gates.quantum_ms"),
            ("sessions/sos-yield/verdict.toml", &swapped, "spins.cycles_per_spin_high"),
            ("sessions/spinlock/verdict.toml", &upside_down, "buckets.problem_events_per_minute"),
            (
                "sessions/latch/verdict.toml",
                &latch.replace("class_share = 0.50", "class_share = 5.0"),
                "gates.class_share",
            ),
            (
                "sessions/latch/verdict.toml",
                &latch.replace("events_per_second = 10.0", "events_per_second = 0.0"),
                "no_contention.events_per_second",
            ),
            (
                "sessions/pagelatch/verdict.toml",
                &pages.replace("page_share_low = 0.50", "page_share_low = -0.1"),
                "gates.page_share_low",
            ),
            ("sessions/log-write/verdict.toml", &no_bytes, "gates.bytes_per_flush"),
            ("sessions/snapshot/verdict.toml", &no_frames, "frames.copy_on_write"),
            ("sessions/file-latency/verdict.toml", &no_factor, "gates.cumulative_factor"),
        ] {
            let error = with(file, text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{file}, at `{place}`: ")), "{error}");
        }
    }

    #[test]
    fn a_site_may_leave_its_thresholds_out() {
        let of = |text: &str| {
            let settings: WaitsSettings = parse("site/verdict.toml", text).map_err(|error| error.to_string())?;
            settings.fault().map_or(Ok(settings), |(path, _)| Err(path))
        };
        let defaults = of("").unwrap();
        assert_eq!((defaults.share_of_wait_time, defaults.events_per_second), (0.01, 10.0));
        let one = of("share_of_wait_time = 0.2").unwrap();
        assert_eq!((one.no_contention().wait_share, one.no_contention().events_per_second), (0.2, 10.0));
        assert_eq!(of("share_of_wait_time = 2.0").unwrap_err(), "share_of_wait_time");
        assert!(of("events = 1").unwrap_err().contains("site/verdict.toml, at `events`"));
    }

    #[test]
    fn the_idle_list_keeps_waits_for_a_replica_apart() {
        let waits = Catalog::embedded().unwrap().waits;
        assert!(waits.is_idle("SLEEP_TASK") && waits.is_idle("HADR_WORK_QUEUE"));
        for working in ["HADR_SYNC_COMMIT", "SOS_SCHEDULER_YIELD", "WRITELOG", "SPINLOCK_EXT", "NEVER_SEEN"] {
            assert!(!waits.is_idle(working), "{working}");
        }
        assert!(waits.of("NEVER_SEEN").is_none());
    }

    #[test]
    fn an_error_names_file_and_place() {
        let error = with("symbols/areas.toml", "[[area]]\nname = \"x\"\nframes = [\"A*\"]\nextra = 1\n").unwrap_err();
        assert!(error.to_string().starts_with("symbols/areas.toml, at `area[0]"), "{error}");
        assert!(error.source().unwrap().to_string().contains("extra"));

        let error = with("symbols/waits.toml", "[[category]\n").unwrap_err();
        assert_eq!(error.to_string(), "symbols/waits.toml is not valid TOML");

        let error = with("symbols/areas.toml", "[[area]]\nname = \"x\"\nframes = [\"\"]\n").unwrap_err();
        assert_eq!(error.to_string(), "symbols/areas.toml, at `area[0].frames[0]`");
        assert!(error.source().unwrap().to_string().contains("cannot be empty"));

        let error = with("symbols/other.toml", "").unwrap_err();
        assert_eq!(error.to_string(), "symbols/other.toml is no catalogue file");

        let error = Catalog::from_texts(&EMBEDDED[1..]).unwrap_err();
        assert_eq!(error.to_string(), "symbols/rules.toml is missing");
    }
}
