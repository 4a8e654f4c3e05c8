//! SQL Server 2012: the engine in several binaries, histogram.

use super::{RawStackForm, SymbolForm, VersionData, WINDOWS_2008R2};
use crate::model::ServerVersion;

pub(super) static DATA: VersionData = VersionData {
    version: ServerVersion::V2012,
    product: "2012",
    build: (11, 0, 5058, 0),
    level: "SP2",
    update_level: None,
    knows_product_parts: false,
    file_version: "2011.110",
    windows: &WINDOWS_2008R2,
    folder: "MSSQL11",
    engine_in_one_binary: false,
    stack_depth: 24,
    raw_stack: RawStackForm::Address,
    symbol_form: SymbolForm::Module,
    symbol_flags: &[3656],
    map_text_in_predicates: false,
    // Published for 2012; those between the published ones are invented.
    wait_type_keys: &[
        ("LCK_M_SCH_S", 1),
        ("LATCH_NL", 32),
        ("PAGELATCH_NL", 48),
        ("PAGEIOLATCH_NL", 64),
        ("IO_COMPLETION", 97),
        ("RESOURCE_SEMAPHORE", 107),
        ("SOS_SCHEDULER_YIELD", 124),
        ("SQLTRACE_INCREMENTAL_FLUSH_SLEEP", 166),
        ("FCB_REPLICA_WRITE", 179),
        ("PREEMPTIVE_XE_TARGETFINALIZE", 591),
        ("PREEMPTIVE_COM_QUERYINTERFACE", 601),
        ("PREEMPTIVE_OS_FILEOPS", 490),
        ("PREEMPTIVE_OS_WRITEFILE", 513),
    ],
    spinlock_keys: &[("ALLOC_CACHES_HASH", 2), ("LOCK_HASH", 113), ("SOS_CACHESTORE", 161)],
    latch_class_keys: &[("BUF", 26), ("ACCESS_METHODS_BULK_ALLOC", 30), ("METADATA_CLONE_ACCESS_TICKET", 142)],
    task_frames: &[
        "sqldk!SOS_Task::Param::Execute+0x21e",
        "sqldk!SOS_Scheduler::RunTask+0x9f",
        "sqldk!SOS_Scheduler::ProcessTasks+0x25a",
        "sqldk!SchedulerManager::WorkerEntryPoint+0x239",
        "sqldk!SystemThread::RunWorker+0x8f",
        "sqldk!SystemThreadDispatcher::ProcessWorker+0x38c",
        "sqldk!SchedulerManager::ThreadEntryPoint+0x211",
    ],
    lock_hash_template: "107",
};
