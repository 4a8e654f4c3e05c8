//! Owns where things stand in a bundle: member names and the JSON that exists only there.

use super::MapKey;
use crate::model::{ServerIdentity, SessionEvidence, Table, Tool, TraceFlagUse, UtcMicros, Window};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const STATEMENTS: &str = "statements.jsonl";
pub(super) const SESSIONS: &str = "sessions.json";
pub(super) const SAMPLES: &str = "snapshots/samples.json";
pub(super) const SERIES: &str = "snapshots/series.json";
pub(super) const MODULES: &str = "modules.json";
pub(super) const PROBLEMS: &str = "problems.json";
pub(super) const REPORT: &str = "report.json";
pub(super) const BEFORE: &str = "snapshots/before/";
pub(super) const AFTER: &str = "snapshots/after/";

/// `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) schema: String,
    pub(super) run_id: String,
    pub(super) tool: Option<Tool>,
    pub(super) server: Option<ServerIdentity>,
    pub(super) scenario: Option<String>,
    pub(super) window: Option<Window>,
    #[serde(default)]
    pub(super) map_keys: Vec<MapKey>,
    /// SHA-256 in lower-case hex of each member but this one.
    #[serde(default)]
    pub(super) sha256: BTreeMap<String, String>,
}

/// `sessions.json`: how the raw members belong together.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Assembly {
    pub(super) sessions: Vec<SessionEvidence>,
    /// One an element of `targets/`, in order.
    #[serde(default)]
    pub(super) targets: Vec<TargetOf>,
    #[serde(default)]
    pub(super) trace_flags: Vec<TraceFlagUse>,
    #[serde(default)]
    pub(super) map_names: BTreeMap<u64, String>,
    #[serde(default)]
    pub(super) other_event_sessions: Vec<String>,
    #[serde(default)]
    pub(super) other_runs: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) statements: Option<Table>,
    /// When the tables under `snapshots/before` were taken.
    pub(super) before_at: Option<UtcMicros>,
    /// When the tables under `snapshots/after` were taken.
    pub(super) after_at: Option<UtcMicros>,
}

/// What a target document belongs to.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct TargetOf {
    pub(super) session: usize,
    pub(super) symbolised: bool,
}

/// Member of the n-th target, from 1.
pub(super) fn target_member(n: usize) -> String {
    format!("targets/{n}.xml")
}

/// The number of a target member; only the way [`target_member`] writes it counts.
pub(super) fn target_number(member: &str) -> Option<usize> {
    let n = member.strip_prefix("targets/")?.strip_suffix(".xml")?.parse().ok()?;
    (n > 0 && target_member(n) == member).then_some(n)
}

/// Member of a table in a snapshot's folder; `None` for a name that is no plain file name.
pub(super) fn table_member(folder: &str, table: &str) -> Option<String> {
    is_table_name(table).then(|| format!("{folder}{table}.json"))
}

/// The table that a member of a snapshot's folder holds.
pub(super) fn table_name<'a>(folder: &str, member: &'a str) -> Option<&'a str> {
    member.strip_prefix(folder)?.strip_suffix(".json").filter(|name| is_table_name(name))
}

/// Whether a reader of this version makes use of a member.
pub(super) fn is_known(member: &str) -> bool {
    [MANIFEST, STATEMENTS, SESSIONS, SAMPLES, SERIES, MODULES, PROBLEMS, REPORT].contains(&member)
        || target_number(member).is_some()
        || [BEFORE, AFTER].iter().any(|folder| table_name(folder, member).is_some())
}

fn is_table_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a member's name stays inside whatever folder an archive is unpacked to, on every platform.
pub(super) fn is_safe_name(name: &str) -> bool {
    !name.contains(['\\', ':', '\0'])
        && name.trim_end_matches('/').split('/').all(|part| !matches!(part, "" | "." | ".."))
}
