//! Owns where pages are copied for a database snapshot before they change. From FCB::SyncWritePreemptive to
//! BPool::PrepareToDirty the names are published; what is under them, and the offsets, is invented.

use super::{Path, changing_rows};

/// A page is about to change for the first time since the snapshot.
const COPY_ON_WRITE: [&str; 4] = [
    "sqlmin!FCB::PullPageToReplica+0x1c3",
    "sqlmin!FCB::CopyPageToReplicas+0x10e",
    "sqlmin!BUF::CopyOnWrite+0x6f",
    "sqlmin!BPool::PrepareToDirty+0x18b",
];

/// What changes it: a row, a page that is taken, a row elsewhere on a page that was just read.
fn changes(copying: impl Fn(u64) -> Path) -> Vec<Path> {
    let inserts = copying(610).below(["sqlmin!IndexPageRef::PrepareToDirty+0x54", "sqlmin!PageRef::InsertRows+0x2594"]);
    let at_another_address =
        copying(170).below(["sqlmin!IndexPageRef::PrepareToDirty+0x7e", "sqlmin!PageRef::InsertRows+0x2594"]);
    let allocations =
        copying(220).below(["sqlmin!PageRef::AcquirePFS+0x131", "sqlmin!AllocationReq::AllocatePage+0x3f4"]);
    [inserts, at_another_address, allocations].into_iter().map(|path| path.below(changing_rows())).collect()
}

/// Writing the old page into the sparse file, as PREEMPTIVE_OS_WRITEFILE.
pub fn preemptive_writes() -> Vec<Path> {
    changes(|weight| Path::new(["sqlmin!FCB::SyncWritePreemptive+0x13f"], weight).below(COPY_ON_WRITE))
}

/// Waiting for a write, as WRITE_COMPLETION and FCB_REPLICA_WRITE.
pub fn replica_writes() -> Vec<Path> {
    changes(|weight| Path::new(["sqlmin!FCB::SyncWrite+0x20a"], weight).below(COPY_ON_WRITE))
}
