//! Owns the bundle: a zip archive with everything a report is recomputed from, as it was received.

mod layout;
mod read;
mod write;

use crate::model::{Evidence, Tool, UtcMicros};
pub use read::{from_bytes, read};
use serde::{Deserialize, Serialize};
pub use write::{to_bytes, write};

/// The `schema` of every bundle's manifest.
pub const SCHEMA: &str = "xestack.bundle/1";

/// Most members that a bundle may have, unknown ones included.
pub const MAX_MEMBERS: usize = 1000;

/// Most bytes that a bundle may unpack to, unknown members included.
pub const MAX_UNPACKED_BYTES: u64 = 1 << 30;

/// A map key that was looked up on the server: it holds for that build only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapKey {
    /// Map of `sys.dm_xe_map_values`, for example `wait_types`.
    pub map: String,
    /// Its text, for example `SOS_SCHEDULER_YIELD`.
    pub value: String,
    /// The key found.
    pub key: i64,
    /// Product version of the server that was asked.
    pub build: String,
}

/// One statement that was sent, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementRecord {
    /// Position, from 1.
    pub n: u64,
    /// When it was sent, by the collector's clock.
    pub utc: UtcMicros,
    /// Its text.
    pub sql: String,
    /// Rows returned or affected, where the server said.
    pub rows: Option<u64>,
    /// The server's error number, where it failed.
    pub error: Option<u32>,
    /// Milliseconds until it was answered.
    pub ms: u64,
}

/// A target document as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetMember {
    /// Index of its session in [`Evidence::sessions`].
    pub session: usize,
    /// Whether it was read while a trace flag had the server resolve stacks.
    pub symbolised: bool,
    /// The document.
    pub bytes: Vec<u8>,
}

/// A whole bundle in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bundle {
    /// The program that made it; written anew by the one that writes.
    pub tool: Option<Tool>,
    /// Keys looked up.
    pub map_keys: Vec<MapKey>,
    /// Statements sent.
    pub statements: Vec<StatementRecord>,
    /// Target documents; the n-th is member `targets/<n>.xml`, from 1.
    pub targets: Vec<TargetMember>,
    /// All other evidence. Its sessions' `target`s are not stored: they are parsed again from [`Bundle::targets`].
    /// After reading, its problems also tell what was wrong with the bundle.
    pub evidence: Evidence,
    /// The report as it was when the bundle was written.
    pub report_json: Option<String>,
}

/// Whether these bytes begin like a zip archive, which a bundle is.
pub fn is_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}
