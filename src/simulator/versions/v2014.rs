//! SQL Server 2014 RTM, the last build with published map keys.

use super::{RawStackForm, SymbolForm, VersionData, WINDOWS_2012R2};
use crate::model::ServerVersion;

pub(super) static DATA: VersionData = VersionData {
    version: ServerVersion::V2014,
    product: "2014",
    build: (12, 0, 2000, 8),
    level: "RTM",
    update_level: None,
    knows_product_parts: false,
    file_version: "2014.120",
    windows: &WINDOWS_2012R2,
    folder: "MSSQL12",
    engine_in_one_binary: false,
    stack_depth: 24,
    raw_stack: RawStackForm::Address,
    symbol_form: SymbolForm::Module,
    symbol_flags: &[3656],
    map_text_in_predicates: false,
    // Published for 2014 RTM; those between the published ones are invented.
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
        ("PREEMPTIVE_XE_TARGETFINALIZE", 607),
        ("PREEMPTIVE_COM_QUERYINTERFACE", 617),
        ("PREEMPTIVE_OS_FILEOPS", 506),
        ("PREEMPTIVE_OS_WRITEFILE", 529),
    ],
    spinlock_keys: &[("ALLOC_CACHES_HASH", 6), ("LOCK_HASH", 129), ("SOS_CACHESTORE", 172)],
    latch_class_keys: &[("BUF", 27), ("ACCESS_METHODS_BULK_ALLOC", 34), ("METADATA_CLONE_ACCESS_TICKET", 142)],
    task_frames: &[
        "sqldk!SOS_Task::Param::Execute+0x21e",
        "sqldk!SOS_Scheduler::RunTask+0xa8",
        "sqldk!SOS_Scheduler::ProcessTasks+0x279",
        "sqldk!SchedulerManager::WorkerEntryPoint+0x24c",
        "sqldk!SystemThread::RunWorker+0x8f",
        "sqldk!SystemThreadDispatcher::ProcessWorker+0x3ab",
        "sqldk!SchedulerManager::ThreadEntryPoint+0x226",
    ],
    lock_hash_template: "121",
};
