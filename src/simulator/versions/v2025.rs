//! SQL Server 2025: MAX_DURATION, text in wait_resource.

use super::{RawStackForm, SymbolForm, VersionData, WINDOWS_2022};
use crate::model::ServerVersion;

pub(super) static DATA: VersionData = VersionData {
    version: ServerVersion::V2025,
    product: "2025",
    build: (17, 0, 4065, 4),
    level: "RTM",
    update_level: Some("CU7"),
    knows_product_parts: true,
    file_version: "2025.170",
    windows: &WINDOWS_2022,
    folder: "MSSQL17",
    engine_in_one_binary: false,
    stack_depth: 25,
    raw_stack: RawStackForm::ModuleOffset,
    symbol_form: SymbolForm::Module,
    symbol_flags: &[3656, 2592],
    map_text_in_predicates: true,
    // 308 for WAITFOR is published for 2025; the rest is invented.
    wait_type_keys: &[
        ("LCK_M_SCH_S", 1),
        ("LATCH_NL", 43),
        ("PAGELATCH_NL", 59),
        ("PAGEIOLATCH_NL", 73),
        ("IO_COMPLETION", 109),
        ("RESOURCE_SEMAPHORE", 124),
        ("SOS_SCHEDULER_YIELD", 158),
        ("SOS_WORKER_MIGRATION", 163),
        ("WRITELOG", 222),
        ("WAITFOR", 308),
        ("WAITFOR_TASKSHUTDOWN", 311),
        ("PREEMPTIVE_OS_WRITEFILE", 660),
    ],
    spinlock_keys: &[
        ("ALLOC_CACHES_HASH", 7),
        ("LOCK_HASH", 194),
        ("SOS_CACHESTORE", 249),
        ("LOCK_RW_ABTX_HASH_SET", 301),
    ],
    latch_class_keys: &[("BUF", 33), ("ACCESS_METHODS_BULK_ALLOC", 40)],
    task_frames: &[
        "sqldk!SOS_Task::Param::Execute+0x24a",
        "sqldk!SOS_Scheduler::RunTask+0xc6",
        "sqldk!SOS_Scheduler::ProcessTasks+0x3f8",
        "sqldk!Worker::EntryPoint+0x26b",
        "sqldk!ThreadScheduler::RunWorker+0x52",
        "sqldk!SystemThreadDispatcher::ProcessWorker+0x43e",
        "sqldk!SchedulerManager::ThreadEntryPoint+0x41a",
    ],
    lock_hash_template: "191",
};
