//! Azure SQL Managed Instance and Azure SQL Database: the newest features behind an old version number.
//!
//! Both say 12.0.2000.8 and are told by their engine edition (documented). Assumed: their builds are like 2025's, and
//! whatever no page tells of them.

use super::{RawStackForm, SymbolForm, VersionData, WINDOWS_2022};
use crate::model::ServerVersion;

pub(super) static MANAGED_INSTANCE: VersionData = VersionData {
    version: ServerVersion::AzureMi,
    product: "Azure SQL Managed Instance",
    build: (12, 0, 2000, 8),
    level: "RTM",
    update_level: None,
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
    // Invented.
    wait_type_keys: &[
        ("LCK_M_SCH_S", 1),
        ("LATCH_NL", 45),
        ("PAGELATCH_NL", 61),
        ("PAGEIOLATCH_NL", 75),
        ("IO_COMPLETION", 112),
        ("RESOURCE_SEMAPHORE", 127),
        ("SOS_SCHEDULER_YIELD", 162),
        ("SOS_WORKER_MIGRATION", 167),
        ("WRITELOG", 229),
        ("WAITFOR", 316),
        ("WAITFOR_TASKSHUTDOWN", 319),
        ("PREEMPTIVE_OS_WRITEFILE", 671),
    ],
    spinlock_keys: &[
        ("ALLOC_CACHES_HASH", 9),
        ("LOCK_HASH", 199),
        ("SOS_CACHESTORE", 255),
        ("LOCK_RW_ABTX_HASH_SET", 309),
    ],
    latch_class_keys: &[("BUF", 34), ("ACCESS_METHODS_BULK_ALLOC", 41)],
    task_frames: TASK_FRAMES,
    lock_hash_template: "196",
};

pub(super) static DATABASE: VersionData = VersionData {
    version: ServerVersion::AzureDb,
    product: "Azure SQL Database",
    // Invented.
    wait_type_keys: &[
        ("LCK_M_SCH_S", 1),
        ("LATCH_NL", 46),
        ("PAGELATCH_NL", 62),
        ("PAGEIOLATCH_NL", 76),
        ("IO_COMPLETION", 114),
        ("RESOURCE_SEMAPHORE", 129),
        ("SOS_SCHEDULER_YIELD", 165),
        ("SOS_WORKER_MIGRATION", 170),
        ("WRITELOG", 233),
        ("WAITFOR", 321),
        ("WAITFOR_TASKSHUTDOWN", 324),
        ("PREEMPTIVE_OS_WRITEFILE", 677),
    ],
    spinlock_keys: &[
        ("ALLOC_CACHES_HASH", 10),
        ("LOCK_HASH", 201),
        ("SOS_CACHESTORE", 258),
        ("LOCK_RW_ABTX_HASH_SET", 313),
    ],
    latch_class_keys: &[("BUF", 35), ("ACCESS_METHODS_BULK_ALLOC", 42)],
    lock_hash_template: "198",
    ..MANAGED_INSTANCE
};

const TASK_FRAMES: &[&str] = &[
    "sqldk!SOS_Task::Param::Execute+0x24e",
    "sqldk!SOS_Scheduler::RunTask+0xc8",
    "sqldk!SOS_Scheduler::ProcessTasks+0x401",
    "sqldk!Worker::EntryPoint+0x26f",
    "sqldk!ThreadScheduler::RunWorker+0x52",
    "sqldk!SystemThreadDispatcher::ProcessWorker+0x442",
    "sqldk!SchedulerManager::ThreadEntryPoint+0x41e",
];
