//! Owns what differs from version to version of the simulated server, as data: builds, call-stack forms, map keys.
//!
//! A version is added by adding a [`VersionData`]. Numbers marked *invented* stand where no source gives one; they
//! differ between versions on purpose, because real map keys do (they must be looked up, never known).

use crate::model::ServerVersion;

/// How the `package0.callstack` action is written while no symbols are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawStackForm {
    /// One `0x%016X` virtual address a line (documented for versions up to 2017).
    Address,
    /// One `module.dll+0x%016X` a line (seen in call stacks of 2019 and later).
    ModuleOffset,
}

/// From one name of an ordered map on, keys run up from this number, until the next anchor.
pub type Anchor = (&'static str, u32);

/// Everything that one version does in its own way.
#[derive(Debug)]
pub struct VersionData {
    /// Which version.
    pub version: ServerVersion,
    /// Marketing year, for `@@VERSION`.
    pub year: &'static str,
    /// Major, minor, build, revision.
    pub build: (u8, u8, u16, u16),
    /// `ProductUpdateLevel`.
    pub update_level: &'static str,
    /// Number in installation paths (`MSSQL15.MSSQLSERVER`).
    pub path_number: u8,
    /// Frames that a call stack holds at most: 24 in every capture of 2016 and 2017, 25 later.
    pub stack_depth: usize,
    /// Unsymbolised form of a call stack.
    pub raw_stack: RawStackForm,
    /// Trace flags that must all be on for symbols in call stacks.
    pub symbol_flags: &'static [u32],
    /// Whether `package0.callstack_rva` exists (2022 CTP 2.0 and later).
    pub has_callstack_rva: bool,
    /// Whether a predicate takes the text of a map value (`wait_type = 'WRITELOG'`).
    pub map_text_in_predicates: bool,
    /// Whether the event-session permissions are finer than ALTER ANY EVENT SESSION, and VIEW SERVER PERFORMANCE
    /// STATE exists (2022 and later).
    pub fine_permissions: bool,
    /// Keys of the map `wait_types`.
    pub wait_type_keys: &'static [Anchor],
    /// Keys of the map `spinlock_types`.
    pub spinlock_keys: &'static [Anchor],
    /// Keys of the map `latch_class`.
    pub latch_class_keys: &'static [Anchor],
    /// SQLOS's frames under every task, leaf first. Names and offsets that differ between versions follow published
    /// stacks: SystemThread::RunWorker is gone in 2019, Worker::EntryPoint and ThreadScheduler::RunWorker are 2022's.
    pub task_frames: &'static [&'static str],
    /// First template argument of LOCK_HASH's `Spinlock<…>` in stacks; not the map key (2016: 143 beside key 151).
    pub lock_hash_template: &'static str,
}

impl VersionData {
    /// The data of a version, `None` where the simulator has none yet.
    pub fn of(version: ServerVersion) -> Option<&'static Self> {
        VERSIONS.iter().find(|data| data.version == version)
    }

    /// The versions there are data for, separated by commas.
    pub fn known() -> String {
        VERSIONS.iter().map(|data| data.version.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// `ProductVersion`, `15.0.4123.1`.
    pub fn product_version(&self) -> String {
        let (major, minor, build, revision) = self.build;
        format!("{major}.{minor}.{build}.{revision}")
    }
}

static VERSIONS: [VersionData; 3] = [
    VersionData {
        version: ServerVersion::V2017,
        year: "2017",
        build: (14, 0, 3192, 2),
        update_level: "CU15",
        path_number: 14,
        stack_depth: 24,
        raw_stack: RawStackForm::Address,
        symbol_flags: &[3656],
        has_callstack_rva: false,
        map_text_in_predicates: false,
        fine_permissions: false,
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
        spinlock_keys: &[("ALLOC_CACHES_HASH", 3), ("LOCK_HASH", 151)],
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
        lock_hash_template: "143",
    },
    VersionData {
        version: ServerVersion::V2019,
        year: "2019",
        build: (15, 0, 4123, 1),
        update_level: "CU10",
        path_number: 15,
        stack_depth: 25,
        raw_stack: RawStackForm::ModuleOffset,
        symbol_flags: &[3656, 2592],
        has_callstack_rva: false,
        map_text_in_predicates: false,
        fine_permissions: false,
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
    },
    VersionData {
        version: ServerVersion::V2022,
        year: "2022",
        build: (16, 0, 4135, 4),
        update_level: "CU14",
        path_number: 16,
        stack_depth: 25,
        raw_stack: RawStackForm::ModuleOffset,
        symbol_flags: &[3656, 2592],
        has_callstack_rva: true,
        map_text_in_predicates: true,
        fine_permissions: true,
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
    },
];
