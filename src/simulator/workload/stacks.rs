//! Owns the call stacks of the workloads' events: whole, from the event's own frames down to the thread's start.
//!
//! What a client sees is cut to the version's depth when it is written.

use crate::model::ServerVersion;
use crate::simulator::modules::{self, Module};
use crate::simulator::versions::VersionData;

/// A frame of a call stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// File name of its module.
    pub module: &'static str,
    /// Decorated as symbols are shown: `SOS_Task::PostWait`.
    pub function: String,
    /// Return address, from the function's start.
    pub offset: u32,
    /// Return address, from the module's start.
    pub rva: u32,
    /// Return address.
    pub address: u64,
}

/// Stacks by number, leaf first.
#[derive(Debug)]
pub struct StackTable {
    version: &'static VersionData,
    modules: Vec<Module>,
    stacks: Vec<Vec<Frame>>,
}

impl StackTable {
    /// An empty table over the modules that this version and seed load.
    pub fn new(version: &'static VersionData, seed: u64) -> Self {
        Self { version, modules: modules::loaded(version, seed), stacks: Vec::new() }
    }

    /// Adds a stack of `module!function+0xhex` texts and gives its number. Text of another shape is left out.
    pub fn add<'t>(&mut self, frames: impl IntoIterator<Item = &'t str>) -> usize {
        let frames = frames.into_iter().filter_map(|text| self.frame(text)).collect();
        self.stacks.push(frames);
        self.stacks.len() - 1
    }

    fn frame(&self, text: &str) -> Option<Frame> {
        let (module, rest) = text.split_once('!')?;
        let (function, offset) = rest.rsplit_once("+0x")?;
        let module = modules::holding(self.version, &self.modules, module)?;
        let offset = u32::from_str_radix(offset, 16).ok()?;
        let rva = modules::function_rva(self.version, module, function) + offset;
        let address = module.base + u64::from(rva);
        Some(Frame { module: module.file, function: function.to_owned(), offset, rva, address })
    }

    /// A stack by its number; empty for a number that was not given out.
    pub fn get(&self, stack: usize) -> &[Frame] {
        self.stacks.get(stack).map_or(&[], Vec::as_slice)
    }

    /// How many stacks there are.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// The loaded modules.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// A module by its file name.
    pub fn module(&self, file: &str) -> Option<&Module> {
        self.modules.iter().find(|module| module.file == file)
    }
}

/// On top of a wait that ended: the event's own frames, documented by published captures.
pub const WAIT_END: [&str; 3] = [
    "sqldk!XeSosPkg::wait_info::Publish+0x138",
    "sqldk!SOS_Scheduler::UpdateWaitTimeStats+0x2bc",
    "sqldk!SOS_Task::PostWait+0x9e",
];

/// On top of a wait that ended, in wait_completed.
pub const WAIT_COMPLETED: [&str; 3] = [
    "sqldk!XeSosPkg::wait_completed::Publish+0x1dc",
    "sqldk!SOS_Scheduler::UpdateWaitTimeStats+0x4a2",
    "sqldk!SOS_Task::PostWait+0x9e",
];

/// On top of a wait that begins.
pub const WAIT_BEGIN: [&str; 3] =
    ["sqldk!XeSosPkg::wait_info::Publish+0x138", "sqldk!SOS_Task::PreWait+0x1a9", "sqldk!SOS_Scheduler::Suspend+0x6b"];

/// On top of a wait outside of the scheduler that begins: the names of its end's, the rest invented.
pub const EXTERNAL_BEGIN: [&str; 3] = [
    "sqldk!XeSosPkg::wait_info_external::Publish+0x141",
    "sqldk!SOS_Task::PushWait+0x8d",
    "sqldk!SOS_Task::AutoSwitchPreemptive::AutoSwitchPreemptive+0x5e",
];

/// On top of a wait outside of the scheduler that ended: popped in a destructor (published captures).
pub const EXTERNAL_END: [&str; 4] = [
    "sqldk!XeSosPkg::wait_info_external::Publish+0x141",
    "sqldk!SOS_Scheduler::UpdateWaitTimeStats+0x33e",
    "sqldk!SOS_Task::PopWait+0x7b",
    "sqldk!SOS_Task::AutoSwitchPreemptive::~AutoSwitchPreemptive+0x49",
];

/// Under the event's own frames of any wait for a latch.
pub const LATCH_SUSPENDED: [&str; 2] = ["sqlmin!LatchBase::Suspend+0x5a7", "sqlmin!LatchBase::AcquireInternal+0x415"];

/// On top of a wait for a latch that ended, in latch_suspend_end (published captures).
pub const LATCH_SUSPEND_END: &str = "sqlmin!XeSqlPkg::latch_suspend_end::Publish+0x13c";

/// What a task that waits waits in: one class up to 2017, another in published stacks of later versions.
pub fn primitive(version: &VersionData) -> &'static str {
    if version.version >= ServerVersion::V2019 {
        "sqldk!WaitableBase::Wait+0x1c3"
    } else {
        "sqldk!EventInternal<SuspendQueueSLock>::Wait+0x1f2"
    }
}

/// Under a batch: from request processing to the thread's start.
pub fn batch_bottom(version: &VersionData) -> Vec<&'static str> {
    let mut frames = vec![
        "sqllang!process_request+0xe61",
        "sqllang!process_commands_internal+0x2df",
        "sqllang!process_messages+0x1f3",
    ];
    frames.extend(task_bottom(version));
    frames
}

/// Under any task: SQLOS's frames of the version, then the thread's.
pub fn task_bottom(version: &VersionData) -> Vec<&'static str> {
    let thread = ["KERNEL32!BaseThreadInitThunk+0x14", "ntdll!RtlUserThreadStart+0x21"];
    version.task_frames.iter().copied().chain(thread).collect()
}
