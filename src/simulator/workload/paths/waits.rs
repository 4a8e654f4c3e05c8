//! Owns the usual path of each wait type: where a wait is not what its workload is about.

use super::{INDEX_SEEK, Path, STATEMENTS, changing_rows, files, log, pages, snapshots, tracing, versions, yields};

/// The usual path, or paths, of waits of a type. Names not taken from published stacks are invented.
pub fn usual(wait_type: &str) -> Vec<Path> {
    let one = |frames: &[&str]| vec![Path::new(frames, 1).below(STATEMENTS)];
    match wait_type {
        "SOS_SCHEDULER_YIELD" => yields::scanning(),
        "WRITELOG" => log::commits(),
        "HADR_SYNC_COMMIT" => log::hardening(),
        "LOGBUFFER" => vec![Path::new(["sqlmin!SQLServerLogMgr::ReserveAndAppend+0x2cf"], 1).below(changing_rows())],
        "PAGELATCH_SH" => vec![pages::of_index()],
        "PAGEIOLATCH_SH" | "PAGEIOLATCH_EX" => files::page_reads(),
        "PREEMPTIVE_OS_WRITEFILE" => tracing::flushes(),
        "WRITE_COMPLETION" | "FCB_REPLICA_WRITE" => snapshots::replica_writes(),
        "IO_COMPLETION" => files::sort_runs(),
        "ASYNC_IO_COMPLETION" => files::backup_coordinator(),
        "BACKUPIO" => files::backup_streams(),
        "BACKUPBUFFER" => files::backup_buffers(),
        "LATCH_EX" | "LATCH_SH" => versions::records(),
        "SQLTRACE_FILE_BUFFER" => tracing::buffers(),
        "ASYNC_NETWORK_IO" => network_writes(),
        "MEMORY_ALLOCATION_EXT" | "RESERVED_MEMORY_ALLOCATION_EXT" => allocations(),
        "CMEMTHREAD" => one(&[
            "sqldk!CPmoLock::GetAccessPmo+0x31",
            "sqldk!CMemThread<CMemObj>::Alloc+0x9f",
            "sqllang!CXStmtQuery::InitForExecute+0x1d2",
        ]),
        "PREEMPTIVE_OS_FILEOPS" => {
            one(&["sqlmin!FCB::ExtendFile+0x1d9", "sqlmin!FCB::Grow+0x2b4", "sqlmin!AllocateExtent+0x117"])
        }
        _ => one(&["sqlmin!CQueryScan::GetRow+0x81", "sqllang!CXStmtQuery::ErsqExecuteQuery+0x36d"]),
    }
}

/// Sending rows to a client that does not take them at once.
pub fn network_writes() -> Vec<Path> {
    let writing = |offset: &str, weight: u64| {
        Path::new([format!("sqllang!TDSSNIClient::WriteAsync+{offset}")], weight).below([
            "sqllang!write_data+0x17f",
            "sqllang!flush_buffer+0xd2",
            "sqllang!CTds74::SendRowImpl+0x3a6",
            "sqllang!CXStmtQuery::ErsqExecuteQuery+0x4e1",
            "sqllang!CXStmtSelect::XretExecute+0x21b",
        ])
    };
    let done = Path::new(["sqllang!TDSSNIClient::WriteAsync+0x1e4", "sqllang!write_data+0x17f"], 150)
        .below(["sqllang!flush_buffer+0xd2", "sqllang!CTds74::SendDoneImpl+0x1b8"]);
    [writing("0x1e4", 700), writing("0x233", 150), done].into_iter().map(|path| path.below(STATEMENTS)).collect()
}

/// Asking the operating system for memory.
fn allocations() -> Vec<Path> {
    vec![
        Path::new(
            [
                "sqldk!MemoryNode::AllocatePagesInternal+0x2e4",
                "sqldk!MemoryClerkInternal::AllocatePagesWithFailureMode+0x33f",
                "sqldk!CVarPageMgr::PviNewVarPage+0x1f8",
                "sqlmin!CQScanHash::AllocateBucket+0x66",
            ],
            1,
        )
        .below(INDEX_SEEK),
    ]
}
