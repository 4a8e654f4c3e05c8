//! SQL Server 2019: symbols need two flags.

use super::{RawStackForm, SymbolForm, VersionData, WINDOWS_2019};
use crate::model::ServerVersion;

pub(super) static DATA: VersionData = VersionData {
    version: ServerVersion::V2019,
    product: "2019",
    build: (15, 0, 4123, 1),
    level: "RTM",
    update_level: Some("CU10"),
    knows_product_parts: true,
    file_version: "2019.150",
    windows: &WINDOWS_2019,
    folder: "MSSQL15",
    engine_in_one_binary: false,
    stack_depth: 25,
    raw_stack: RawStackForm::ModuleOffset,
    symbol_form: SymbolForm::Module,
    symbol_flags: &[3656, 2592],
    map_text_in_predicates: false,
    // Invented, but for LOCK_HASH (156, published for a 2019 lab) and BUF (28, likewise).
    wait_type_keys: &[
        ("LCK_M_SCH_S", 2),
        ("LATCH_NL", 41),
        ("PAGELATCH_NL", 57),
        ("PAGEIOLATCH_NL", 71),
        ("IO_COMPLETION", 101),
        ("RESOURCE_SEMAPHORE", 112),
        ("SOS_SCHEDULER_YIELD", 137),
        ("SOS_WORKER_MIGRATION", 139),
        ("WRITELOG", 196),
        ("BROKER_EVENTHANDLER", 240),
        ("PREEMPTIVE_OS_WRITEFILE", 581),
    ],
    spinlock_keys: &[("ALLOC_CACHES_HASH", 5), ("LOCK_HASH", 156), ("LOCK_RW_ABTX_HASH_SET", 230)],
    latch_class_keys: &[("BUF", 28), ("ACCESS_METHODS_BULK_ALLOC", 33)],
    task_frames: &[
        "sqldk!SOS_Task::Param::Execute+0x232",
        "sqldk!SOS_Scheduler::RunTask+0xa5",
        "sqldk!SOS_Scheduler::ProcessTasks+0x39d",
        "sqldk!SchedulerManager::WorkerEntryPoint+0x2a1",
        "sqldk!SystemThreadDispatcher::ProcessWorker+0x402",
        "sqldk!SchedulerManager::ThreadEntryPoint+0x3d8",
    ],
    lock_hash_template: "129",
};
