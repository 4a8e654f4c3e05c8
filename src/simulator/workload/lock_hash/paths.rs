//! Owns the call paths of the workload. Names follow published stacks; offsets that none gives are invented.

use crate::simulator::versions::VersionData;

/// The published path, leaf first, down to CSQLSource::Execute.
pub(super) const INDEX_SEEK: [&str; 14] = [
    "sqlmin!IndexPageManager::GetPageWithKey+0xef",
    "sqlmin!GetRowForKeyValue+0x146",
    "sqlmin!IndexRowScanner::EstablishInitialKeyOrderPosition+0x10a",
    "sqlmin!IndexDataSetSession::GetNextRowValuesInternal+0x7d7",
    "sqlmin!RowsetNewSS::FetchNextRow+0x12a",
    "sqlmin!CQScanRangeNew::GetRow+0x6a1",
    "sqlmin!CQScanCountStarNew::GetRowHelper+0x44",
    "sqlmin!CQScanStreamAggregateNew::Open+0x70",
    "sqlmin!CQueryScan::Uncache+0x32f",
    "sqllang!CXStmtQuery::SetupQueryScanAndExpression+0x2a2",
    "sqllang!CXStmtQuery::ErsqExecuteQuery+0x2f8",
    "sqllang!CMsqlExecContext::ExecuteStmts<1,1>+0xcca",
    "sqllang!CMsqlExecContext::FExecute+0x58b",
    "sqllang!CSQLSource::Execute+0x319",
];

const ROW_LOCK: [&str; 3] =
    ["sqlmin!GetLock+0x1ea", "sqlmin!BTreeRow::AcquireLock+0x2d1", "sqlmin!IndexRowScanner::AcquireNextRowLock+0x1e8"];

/// A path of the workload: its stack from below the event's frames, and its weight out of 1000 before the seed's say.
pub(super) struct Path {
    pub(super) frames: Vec<&'static str>,
    pub(super) weight: u64,
}

fn path(own: &[&'static str], below: &[&'static str], weight: u64) -> Path {
    Path { frames: own.iter().chain(below).copied().collect(), weight }
}

/// Where the quantum ends. Two pairs differ in one return address only.
pub(super) fn yield_paths() -> Vec<Path> {
    let seek = &INDEX_SEEK;
    let with_other_fetch: Vec<&str> = seek
        .iter()
        .map(|f| if f.contains("RowsetNewSS") { "sqlmin!RowsetNewSS::FetchNextRow+0x1e1" } else { f })
        .collect();
    let yielding = ["sqlmin!SOS_Task::Sleep+0x14d", "sqlmin!YieldAndCheckForAbort+0x5c"];
    let row_scan = [
        "sqlmin!IndexRowScanner::MoveToRowOnNextPage+0x9c",
        "sqlmin!IndexDataSetSession::GetNextRowValuesInternal+0x12a8",
    ];
    let row_scan_again = [
        "sqlmin!IndexRowScanner::MoveToRowOnNextPage+0xd1",
        "sqlmin!IndexDataSetSession::GetNextRowValuesInternal+0x12a8",
    ];
    let from_fetch = seek.get(4..).unwrap_or_default();
    let from_scan_open = seek.get(7..).unwrap_or_default();
    let from_statements = seek.get(11..).unwrap_or_default();
    let joined = |first: &[&'static str], second: &[&'static str]| [first, second].concat();
    vec![
        path(&[], seek, 630),
        path(&[], &with_other_fetch, 70),
        path(&joined(&yielding, &row_scan), from_fetch, 110),
        path(&joined(&yielding, &row_scan_again), from_fetch, 30),
        path(&joined(&yielding, &["sqlmin!CQScanCountStarNew::GetRowHelper+0x9b"]), from_scan_open, 100),
        path(
            &[
                "sqllang!SOS_Task::Sleep+0x14d",
                "sqllang!YieldAndCheckForAbort+0x5c",
                "sqllang!CStmtAssignWithQuery::XretExecute+0x71",
            ],
            from_statements,
            60,
        ),
    ]
}

/// Where back-offs on LOCK_HASH come from: taking and giving back the row lock.
pub(super) fn lock_hash_paths(version: &VersionData) -> Vec<(Vec<String>, u64)> {
    let spin =
        format!("sqlmin!Spinlock<{},7,1>::SpinToAcquireWithExponentialBackoff+0x16b", version.lock_hash_template);
    let publish = ["sqldk!XeSosPkg::spinlock_backoff::Publish+0x1a9", "sqldk!SpinlockBase::Sleep+0xb6"];
    let backoff = "sqldk!SpinlockBase::Backoff+0x8f";
    let own = |with_backoff: bool, rest: &[&str]| -> Vec<String> {
        let mut frames: Vec<String> = publish.iter().map(|&f| f.to_owned()).collect();
        frames.extend(with_backoff.then(|| backoff.to_owned()));
        frames.push(spin.clone());
        frames.extend(rest.iter().chain(INDEX_SEEK.get(3..).unwrap_or_default()).map(|&f| f.to_owned()));
        frames
    };
    let acquire = [&["sqlmin!lck_lockInternal+0x7fa"][..], &ROW_LOCK].concat();
    let release = ["sqlmin!LockReference::Release+0x93", "sqlmin!BTreeRow::ReleaseLock+0x4e"];
    vec![(own(false, &acquire), 560), (own(false, &release), 380), (own(true, &acquire), 40), (own(true, &release), 20)]
}
