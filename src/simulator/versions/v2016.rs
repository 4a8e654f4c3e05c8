//! SQL Server 2016 SP1, of which most published captures are.

use super::{RawStackForm, SymbolForm, VersionData, WINDOWS_2019};
use crate::model::ServerVersion;

pub(super) static DATA: VersionData = VersionData {
    version: ServerVersion::V2016,
    product: "2016",
    build: (13, 0, 4001, 0),
    level: "SP1",
    update_level: None,
    knows_product_parts: true,
    file_version: "2015.130",
    windows: &WINDOWS_2019,
    folder: "MSSQL13",
    engine_in_one_binary: false,
    stack_depth: 24,
    raw_stack: RawStackForm::Address,
    symbol_form: SymbolForm::Module,
    symbol_flags: &[3656],
    map_text_in_predicates: false,
    // 123 for SOS_SCHEDULER_YIELD is published for 2016 and 2017, 99 for NETWORK_IO likewise; the rest is invented.
    wait_type_keys: &[
        ("LCK_M_SCH_S", 1),
        ("LATCH_NL", 34),
        ("PAGELATCH_NL", 49),
        ("PAGEIOLATCH_NL", 65),
        ("IO_COMPLETION", 97),
        ("RESOURCE_SEMAPHORE", 106),
        ("SOS_SCHEDULER_YIELD", 123),
        ("SOS_WORKER_MIGRATION", 127),
        ("WRITELOG", 180),
        ("BROKER_EVENTHANDLER", 224),
        ("PREEMPTIVE_OS_WRITEFILE", 531),
    ],
    spinlock_keys: &[("ALLOC_CACHES_HASH", 3), ("LOCK_HASH", 151), ("SOS_CACHESTORE", 196)],
    latch_class_keys: &[("BUF", 27), ("ACCESS_METHODS_BULK_ALLOC", 32)],
    task_frames: &[
        "sqldk!SOS_Task::Param::Execute+0x231",
        "sqldk!SOS_Scheduler::RunTask+0xaa",
        "sqldk!SOS_Scheduler::ProcessTasks+0x3cd",
        "sqldk!SchedulerManager::WorkerEntryPoint+0x2a1",
        "sqldk!SystemThread::RunWorker+0x8f",
        "sqldk!SystemThreadDispatcher::ProcessWorker+0x2de",
        "sqldk!SchedulerManager::ThreadEntryPoint+0x1d8",
    ],
    lock_hash_template: "143",
};
