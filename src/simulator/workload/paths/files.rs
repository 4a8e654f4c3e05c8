//! Owns where tasks wait for files: reads of pages, sorts of a rebuild, backups. FCB, AsynchronousDiskPool and Backup
//! classes are published names; many of their functions, and all offsets, are invented.

use super::{INDEX_SEEK, Path, STATEMENTS, seek_from};

/// A page that is not in memory: under the latch's own frames, as for one that is.
pub fn page_reads() -> Vec<Path> {
    let page = ["sqlmin!BUF::AcquireLatch+0x62", "sqlmin!BPool::Get+0x34e"];
    let next = |offset: &str, weight: u64| {
        Path::new(page, weight)
            .below([format!("sqlmin!IndexPageManager::GetNextPage+{offset}")])
            .below(["sqlmin!IndexRowScanner::MoveToRowOnNextPage+0x9c"])
            .below(["sqlmin!IndexDataSetSession::GetNextRowValuesInternal+0x12a8"])
            .below(seek_from(4))
    };
    vec![next("0x5f", 540), next("0x8a", 160), Path::new(page, 300).below(INDEX_SEEK)]
}

/// An index that is built reads and writes the runs of its sort.
pub fn sort_runs() -> Vec<Path> {
    let building = [
        "sqlmin!CQScanSortNew::BuildSortTable+0x2d5",
        "sqlmin!CQScanIndexSortNew::Open+0x1a0",
        "sqlmin!CQueryScan::Uncache+0x32f",
        "sqllang!CXStmtQuery::SetupQueryScanAndExpression+0x2a2",
        "sqllang!CIndexDDL::BuildIndex+0x487",
    ];
    let run = |frame: &str, weight: u64| {
        Path::new([frame, "sqlmin!SortRun::WaitForIo+0x4b"], weight).below(building).below(STATEMENTS)
    };
    vec![
        run("sqlmin!FCB::SyncRead+0x1b2", 480),
        run("sqlmin!FCB::SyncRead+0x1dd", 140),
        run("sqlmin!FCB::SyncWrite+0x20a", 380),
    ]
}

const BACKING_UP: [&str; 2] = ["sqlmin!BackupEntry::BackupDatabase+0x35b", "sqllang!CStmtDumpDb::XretExecute+0x122"];

/// A backup waits for its medium.
pub fn backup_streams() -> Vec<Path> {
    let wait = |offset: &str, weight: u64| {
        Path::new([format!("sqlmin!BackupIoRequest::WaitForIoCompletion+{offset}")], weight)
            .below(["sqlmin!BackupMedium::WriteBlock+0xd6", "sqlmin!BackupStream::CopyBuffers+0x2e8"])
            .below(BACKING_UP)
            .below(STATEMENTS)
    };
    let header = Path::new(["sqlmin!BackupIoRequest::WaitForIoCompletion+0x7c"], 60)
        .below(["sqlmin!BackupMedium::WriteHeader+0x59"])
        .below(BACKING_UP)
        .below(STATEMENTS);
    vec![wait("0x7c", 760), wait("0xa5", 180), header]
}

/// A backup waits for a buffer with data of a file.
pub fn backup_buffers() -> Vec<Path> {
    let buffers = ["sqlmin!BackupBufferPool::GetFullBuffer+0x93", "sqlmin!BackupStream::CopyBuffers+0x1c4"];
    vec![Path::new(buffers, 1).below(BACKING_UP).below(STATEMENTS)]
}

/// A backup waits for all that reads for it.
pub fn backup_coordinator() -> Vec<Path> {
    let waiting =
        ["sqlmin!AsynchronousDiskPool::WaitUntilDoneOrTimeout+0x88", "sqlmin!BackupOperation::CopyData+0x2d6"];
    vec![Path::new(waiting, 1).below(BACKING_UP).below(STATEMENTS)]
}
