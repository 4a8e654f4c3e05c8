//! SQL Server 2017.

use super::{RawStackForm, SymbolForm, VersionData, WINDOWS_2019};
use crate::model::ServerVersion;

pub(super) static DATA: VersionData = VersionData {
    version: ServerVersion::V2017,
    product: "2017",
    build: (14, 0, 3192, 2),
    level: "RTM",
    update_level: Some("CU15"),
    knows_product_parts: true,
    file_version: "2017.140",
    windows: &WINDOWS_2019,
    folder: "MSSQL14",
    engine_in_one_binary: false,
    stack_depth: 24,
    raw_stack: RawStackForm::Address,
    symbol_form: SymbolForm::Module,
    symbol_flags: &[3656],
    map_text_in_predicates: false,
    // 123 for SOS_SCHEDULER_YIELD is published for 2016 and 2017, 99 for NETWORK_IO likewise; the rest is invented.
    wait_type_keys: &[
        ("LCK_M_SCH_S", 1),
        ("LATCH_NL", 32),
        ("PAGELATCH_NL", 48),
        ("PAGEIOLATCH_NL", 64),
        ("IO_COMPLETION", 97),
        ("RESOURCE_SEMAPHORE", 107),
        ("SOS_SCHEDULER_YIELD", 123),
        ("SOS_WORKER_MIGRATION", 126),
        ("WRITELOG", 182),
        ("BROKER_EVENTHANDLER", 221),
        ("PREEMPTIVE_OS_WRITEFILE", 533),
    ],
    spinlock_keys: &[("ALLOC_CACHES_HASH", 3), ("LOCK_HASH", 153)],
    latch_class_keys: &[("BUF", 28), ("ACCESS_METHODS_BULK_ALLOC", 31)],
    task_frames: &[
        "sqldk!SOS_Task::Param::Execute+0x231",
        "sqldk!SOS_Scheduler::RunTask+0xaa",
        "sqldk!SOS_Scheduler::ProcessTasks+0x3cd",
        "sqldk!SchedulerManager::WorkerEntryPoint+0x2a1",
        "sqldk!SystemThread::RunWorker+0x8f",
        "sqldk!SystemThreadDispatcher::ProcessWorker+0x2de",
        "sqldk!SchedulerManager::ThreadEntryPoint+0x1d8",
    ],
    lock_hash_template: "146",
};
