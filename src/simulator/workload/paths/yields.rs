//! Owns where quanta end.

use super::{INDEX_SEEK, OWNER_LOOKUP, Path, ROW_LOCK, STATEMENTS, backoffs, seek_from};
use crate::simulator::versions::VersionData;

/// The two frames of a task that gives up its scheduler of its own will.
const GIVING_UP: [&str; 2] = ["sqlmin!SOS_Task::Sleep+0x14d", "sqlmin!YieldAndCheckForAbort+0x5c"];

/// Counting one row of an index: the published path, and others of the same kind. Two pairs differ in one return
/// address only.
pub fn counting_rows() -> Vec<Path> {
    let with_other_fetch = INDEX_SEEK
        .map(|frame| if frame.contains("RowsetNewSS") { "sqlmin!RowsetNewSS::FetchNextRow+0x1e1" } else { frame });
    let next_page = |offset: &str, weight: u64| {
        Path::new(GIVING_UP, weight)
            .below([
                format!("sqlmin!IndexRowScanner::MoveToRowOnNextPage+{offset}"),
                "sqlmin!IndexDataSetSession::GetNextRowValuesInternal+0x12a8".to_owned(),
            ])
            .below(seek_from(4))
    };
    vec![
        Path::new(INDEX_SEEK, 630),
        Path::new(with_other_fetch, 70),
        next_page("0x9c", 110),
        next_page("0xd1", 30),
        Path::new(GIVING_UP, 100).below(["sqlmin!CQScanCountStarNew::GetRowHelper+0x9b"]).below(seek_from(7)),
        Path::new(["sqllang!SOS_Task::Sleep+0x14d", "sqllang!YieldAndCheckForAbort+0x5c"], 60)
            .below(["sqllang!CStmtAssignWithQuery::XretExecute+0x71"])
            .below(STATEMENTS),
    ]
}

/// Taking locks: the lock manager's frames lead, and nothing spins.
pub fn taking_locks() -> Vec<Path> {
    let released = ["sqlmin!LockReference::Release+0x41", "sqlmin!BTreeRow::ReleaseLock+0x4e"];
    vec![
        Path::new(["sqlmin!lck_lockInternal+0x4b2"], 520).below(ROW_LOCK).below(seek_from(3)),
        Path::new(GIVING_UP, 210).below(["sqlmin!lck_lockInternal+0x1157"]).below(ROW_LOCK).below(seek_from(3)),
        Path::new(["sqlmin!XactLockInfo::ReleaseUnconditionalSafe+0x1d3"], 150).below(released).below(seek_from(3)),
        Path::new(INDEX_SEEK, 120),
    ]
}

/// Yields whose stack holds the spinlock LOCK_HASH.
pub fn spinning(version: &VersionData) -> Vec<Path> {
    let spin = backoffs::spin_frame(version, "LOCK_HASH");
    let released = ["sqlmin!LockReference::Release+0x93", "sqlmin!BTreeRow::ReleaseLock+0x4e"];
    vec![
        Path::new([&spin], 600).below(["sqlmin!lck_lockInternal+0x7fa"]).below(ROW_LOCK).below(seek_from(3)),
        Path::new(["sqlmin!SOS_Task::Sleep+0x14d", &spin], 400).below(released).below(seek_from(3)),
    ]
}

/// Checking permissions over and over.
pub fn checking_permissions() -> Vec<Path> {
    let giving_up = ["sqllang!SOS_Task::Sleep+0x14d", "sqllang!YieldAndCheckForAbort+0x5c"];
    let checking = ["sqllang!SECCheckPermission+0x2c8", "sqllang!CStmtSelect::XretExecute+0x1b7"];
    vec![
        Path::new(OWNER_LOOKUP, 540).below(checking).below(STATEMENTS),
        Path::new(giving_up, 310).below(["sqllang!CMEDScan::FetchNext+0x6f"]).below(OWNER_LOOKUP).below(STATEMENTS),
        Path::new(giving_up, 150).below(checking).below(STATEMENTS),
    ]
}

/// The few quanta that end where a workload mostly waits: two return addresses, and checking for an abort.
pub fn scanning() -> Vec<Path> {
    let fetching = |offset: &str, weight: u64| {
        Path::new(GIVING_UP, weight).below([format!("sqlmin!RowsetNewSS::FetchNextRow+{offset}")]).below(seek_from(5))
    };
    vec![
        fetching("0x12a", 500),
        fetching("0x1e1", 250),
        Path::new(GIVING_UP, 250).below(["sqlmin!CQScanCountStarNew::GetRowHelper+0x9b"]).below(seek_from(7)),
    ]
}
