//! SQL Server 2022: callstack_rva, finer permissions.

use super::{RawStackForm, SymbolForm, VersionData, WINDOWS_2022};
use crate::model::ServerVersion;

pub(super) static DATA: VersionData = VersionData {
    version: ServerVersion::V2022,
    product: "2022",
    build: (16, 0, 4135, 4),
    level: "RTM",
    update_level: Some("CU14"),
    knows_product_parts: true,
    file_version: "2022.160",
    windows: &WINDOWS_2022,
    folder: "MSSQL16",
    engine_in_one_binary: false,
    stack_depth: 25,
    raw_stack: RawStackForm::ModuleOffset,
    symbol_form: SymbolForm::Module,
    symbol_flags: &[3656, 2592],
    map_text_in_predicates: true,
    // Invented, but for LOCK_HASH (187, published for 2022).
    wait_type_keys: &[
        ("LCK_M_SCH_S", 1),
        ("LATCH_NL", 38),
        ("PAGELATCH_NL", 52),
        ("PAGEIOLATCH_NL", 66),
        ("IO_COMPLETION", 103),
        ("RESOURCE_SEMAPHORE", 118),
        ("SOS_SCHEDULER_YIELD", 145),
        ("SOS_WORKER_MIGRATION", 152),
        ("WRITELOG", 203),
        ("BROKER_EVENTHANDLER", 251),
        ("PREEMPTIVE_OS_WRITEFILE", 617),
    ],
    spinlock_keys: &[("ALLOC_CACHES_HASH", 4), ("LOCK_HASH", 187), ("LOCK_RW_ABTX_HASH_SET", 260)],
    latch_class_keys: &[("BUF", 30), ("ACCESS_METHODS_BULK_ALLOC", 36)],
    task_frames: &[
        "sqldk!SOS_Task::Param::Execute+0x232",
        "sqldk!SOS_Scheduler::RunTask+0xbf",
        "sqldk!SOS_Scheduler::ProcessTasks+0x3c1",
        "sqldk!Worker::EntryPoint+0x250",
        "sqldk!ThreadScheduler::RunWorker+0x50",
        "sqldk!SystemThreadDispatcher::ProcessWorker+0x427",
        "sqldk!SchedulerManager::ThreadEntryPoint+0x404",
    ],
    lock_hash_template: "187",
};
