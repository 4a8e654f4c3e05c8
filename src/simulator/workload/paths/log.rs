//! Owns where commits wait: for a flush of the log, and for the replica. SQLServerLogMgr's names are published; those of
//! commits and of the replica's transport are invented, as offsets are.

use super::{Path, STATEMENTS, changing_rows};

/// Committing a statement of its own.
const AUTOCOMMIT: [&str; 4] = [
    "sqlmin!XdesRMFull::Commit+0x2ce",
    "sqlmin!XactRM::CommitInternal+0x3c5",
    "sqllang!CMsqlXactImp::Commit+0x1fd",
    "sqllang!CAutoCommitXact::Commit+0x62",
];

/// Committing by COMMIT.
const EXPLICIT_COMMIT: [&str; 5] = [
    "sqlmin!XdesRMFull::Commit+0x2ce",
    "sqlmin!XactRM::CommitInternal+0x3c5",
    "sqllang!CMsqlXactImp::Commit+0x1fd",
    "sqllang!CMsqlXactManager::Commit+0x141",
    "sqllang!CStmtCommitTran::XretExecute+0x8d",
];

fn flush(offset: &str, weight: u64) -> Path {
    Path::new(
        [
            format!("sqlmin!SQLServerLogMgr::WaitLCFlush+{offset}"),
            "sqlmin!SQLServerLogMgr::LogFlush+0x2b1".to_owned(),
            "sqlmin!SQLServerLogMgr::WaitLogWritten+0x88".to_owned(),
        ],
        weight,
    )
}

/// Waiting for the flush of a log block: two return addresses in one function, and COMMIT.
pub fn commits() -> Vec<Path> {
    vec![
        flush("0x1a4", 620).below(AUTOCOMMIT).below(changing_rows()),
        flush("0x20b", 180).below(AUTOCOMMIT).below(changing_rows()),
        flush("0x1a4", 200).below(EXPLICIT_COMMIT).below(STATEMENTS),
    ]
}

/// Waiting for a secondary replica to have written the block.
pub fn hardening() -> Vec<Path> {
    let wait = |offset: &str, weight: u64| {
        Path::new([format!("sqlmin!HadrCommitMgr::WaitForHardening+{offset}")], weight)
            .below(["sqlmin!SQLServerLogMgr::WaitForReplicas+0x5d"])
    };
    vec![
        wait("0x1c8", 700).below(AUTOCOMMIT).below(changing_rows()),
        wait("0x1f5", 120).below(AUTOCOMMIT).below(changing_rows()),
        wait("0x1c8", 180).below(EXPLICIT_COMMIT).below(STATEMENTS),
    ]
}
