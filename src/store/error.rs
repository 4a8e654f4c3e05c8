//! Owns the ways in which keeping and fetching can fail.

use std::{io, path::PathBuf};
use zip::result::ZipError;

/// Why a bundle could not be written or read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum StoreError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("not a whole zip archive: the file is cut, damaged or of another kind")]
    Archive { source: ZipError },
    #[error("cannot pack the bundle")]
    Pack { source: ZipError },
    #[error("cannot put {member} into JSON")]
    Encode { member: String, source: serde_json::Error },
    #[error("the bundle has {members} members, more than {}", super::bundle::MAX_MEMBERS)]
    TooManyMembers { members: usize },
    #[error("the bundle unpacks to more than {} bytes", super::bundle::MAX_UNPACKED_BYTES)]
    TooLarge,
    #[error("the bundle has a member {name:?}, which is no plain relative path")]
    UnsafeName { name: String },
    #[error("the bundle has two members of one name")]
    DuplicateNames,
    #[error("the zip archive holds no manifest.json: it is no bundle")]
    NoManifest,
    #[error("manifest.json cannot be read: {reason}")]
    BadManifest { reason: String },
    #[error("the bundle is of kind {found:?}; this program reads {}", super::bundle::SCHEMA)]
    OtherSchema { found: String },
    #[error("{name:?} cannot be the name of a table in a bundle")]
    TableName { name: String },
}
