//! From context and frames to a class.

use super::support::{PUBLISHED_STACK, catalog, raw_stack, spin_stack, stack, yield_stack, yields};
use xestack::{
    analyze::classify::{classify, is_yield_capture},
    model::{EventContext, Stack, StackClass},
};

fn context(event: Option<&str>, wait_type: Option<&str>) -> EventContext {
    EventContext { event: event.map(ToOwned::to_owned), wait_type: wait_type.map(ToOwned::to_owned) }
}

fn class(context: &EventContext, stack: &Stack) -> (StackClass, Option<String>, Option<String>) {
    let found = classify(context, stack, &catalog());
    (found.class, found.area, found.rule)
}

#[test]
fn every_rule_decides_the_stacks_it_must_and_no_other() {
    let catalog = catalog();
    for rule in catalog.rules.iter() {
        for lines in &rule.must_match {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let found = classify(&EventContext::default(), &stack(&lines), &catalog);
            assert_eq!(found.rule.as_deref(), Some(rule.id.as_str()), "{lines:?}");
            assert_eq!(found.class, rule.class);
        }
        for lines in &rule.must_not_match {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let found = classify(&EventContext::default(), &stack(&lines), &catalog);
            assert_ne!(found.rule.as_deref(), Some(rule.id.as_str()), "{lines:?}");
        }
    }
}

#[test]
fn only_wait_events_of_the_yield_are_yields() {
    for (event, wait_type, expected) in [
        (Some("sqlos.wait_info"), Some("SOS_SCHEDULER_YIELD"), true),
        (Some("wait_completed"), Some("sos_scheduler_yield"), true),
        (None, Some("SOS_SCHEDULER_YIELD"), true),
        (Some("sqlos.wait_info"), None, false),
        (Some("sqlos.wait_info"), Some("LATCH_EX"), false),
        (Some("sqlos.spinlock_backoff"), Some("SOS_SCHEDULER_YIELD"), false),
        (Some("sqlos.wait_info_external"), Some("SOS_SCHEDULER_YIELD"), false),
        (None, None, false),
    ] {
        assert_eq!(is_yield_capture(&context(event, wait_type)), expected, "{event:?} {wait_type:?}");
    }
}

#[test]
fn the_published_stack_is_a_yield_by_its_context_alone() {
    for published in [stack(&PUBLISHED_STACK), yield_stack()] {
        let access_methods = Some("access methods".to_owned());
        assert_eq!(
            class(&yields(), &published),
            (StackClass::CpuYield, access_methods.clone(), Some("yield-by-predicate".to_owned()))
        );
        assert_eq!(class(&EventContext::default(), &published), (StackClass::Other, access_methods, None));
    }
}

#[test]
fn in_a_yield_capture_areas_do_not_decide_but_blocking_frames_do() {
    let under = |frame: &str| stack(&["SOS_Task::PostWait", "SOS_Task::Sleep", frame, "CSQLSource::Execute"]);
    let of = |frame: &str| classify(&yields(), &under(frame), &catalog());
    let log = of("SQLServerLogMgr::ReserveAndAppend");
    assert_eq!((log.class, log.area.as_deref()), (StackClass::CpuYield, Some("transaction log")));
    assert_eq!(of("CXPipe::GetRow").class, StackClass::CpuYield);
    assert_eq!(of("BPool::LazyWriter").class, StackClass::CpuYield);
    assert_eq!(of("lck_lockInternal").class, StackClass::CpuYield);
    assert_eq!(of("LatchBase::Suspend").class, StackClass::Latch);
    assert_eq!(of("LockOwner::Sleep").class, StackClass::Lock);
    assert_eq!(of("SOS_Task::AutoSwitchPreemptive::~AutoSwitchPreemptive").class, StackClass::Preemptive);
    assert_eq!(of("YieldAndCheckForAbort").rule.as_deref(), Some("yield-frames"));
    assert_eq!(class(&yields(), &spin_stack()).0, StackClass::SpinlockBackoff);
}

#[test]
fn areas_are_looked_for_under_the_wait_primitive() {
    let under = |frames: &[&str]| {
        let plumbing = ["XeSosPkg::wait_info::Publish", "SOS_Scheduler::UpdateWaitTimeStats", "SOS_Task::PostWait"];
        classify(&EventContext::default(), &stack(&[&plumbing[..], frames].concat()), &catalog())
    };
    for primitive in
        ["SOS_Task::Sleep", "EventInternal<SuspendQueueSLock>::Wait", "WaitableBase::Wait", "SOS_RWLock::GetLongWait"]
    {
        assert_eq!(under(&[primitive, "x", "y", "FCB::SyncRead"]).class, StackClass::Io, "{primitive}");
        assert_eq!(under(&[primitive, "x", "y", "z", "FCB::SyncRead"]).class, StackClass::Other, "{primitive}");
    }
    // Frames of a consumer further down do not give the area of the wait.
    let sort = under(&["EventInternal::Wait", "FCB::SyncRead", "CQScanSortNew::BuildSortTable"]);
    assert_eq!(sort.area.as_deref(), Some("file I/O"));
}

#[test]
fn a_spinlock_frame_counts_at_any_depth() {
    let mut lines = PUBLISHED_STACK.to_vec();
    lines.push("Spinlock<187,7,257>::SpinToAcquireOptimistic");
    assert_eq!(class(&yields(), &stack(&lines)).0, StackClass::SpinlockBackoff);
}

#[test]
fn an_unresolved_frame_decides_among_the_top_eight_under_the_plumbing_only() {
    let with_raw_at = |index: usize| {
        let mut lines = PUBLISHED_STACK.to_vec();
        lines[index] = "sqlmin.dll+0x1234";
        let plumbing = ["XeSosPkg::wait_info::Publish", "SOS_Scheduler::UpdateWaitTimeStats", "SOS_Task::PostWait"];
        class(&yields(), &stack(&[&plumbing[..], &lines[..]].concat())).0
    };
    assert_eq!(with_raw_at(0), StackClass::Unresolved);
    assert_eq!(with_raw_at(7), StackClass::Unresolved);
    assert_eq!(with_raw_at(8), StackClass::CpuYield);
    assert_eq!(class(&yields(), &raw_stack()).0, StackClass::Unresolved);
    assert_eq!(class(&yields(), &Stack::default()).0, StackClass::Unresolved);
    // Not even a spinlock frame decides beside an unknown one.
    let beside = stack(&["SpinlockBase::Sleep", "0x00007FFEABD0D919"]);
    assert_eq!(class(&yields(), &beside).0, StackClass::Unresolved);
}

/// Where a class is decided by the functions of the engine: every function that decides it, under a wait.
const DECIDING: [(StackClass, &[&str]); 9] = [
    (StackClass::Latch, &["LatchBase::Suspend", "LatchBase::AcquireInternal"]),
    (StackClass::Lock, &["LockOwner::Sleep"]),
    (
        StackClass::CpuYield,
        &[
            "YieldAndCheckForAbort",
            "OptimizerUtil::YieldAndCheckForMemoryAndAbort",
            "Worker::OSYieldNoAbort",
            "SOS_Task::OSYieldWithAbort",
            "SOS_Scheduler::YieldToOthers",
        ],
    ),
    (
        StackClass::Preemptive,
        &["SOS_Task::PopWait", "SOS_Task::AutoSwitchPreemptive::~AutoSwitchPreemptive", "SOS_ExternalAutoWait::End"],
    ),
    (
        StackClass::Idle,
        &[
            "WorkDispatcher::DequeueTask",
            "BPool::LazyWriter",
            "OfflineCheckpointWorker::GetNextLogBlock",
            "OfflineCheckpointWorker::DoWorkInternal",
        ],
    ),
    (StackClass::Log, &["SQLServerLogMgr::WaitLCFlush", "LogAppendContext::BackOff", "LogConsumer::Wait"]),
    (StackClass::Io, &["FCB::SyncRead", "BackupOperation::StartWorkers", "AsynchronousDiskPool::Wait"]),
    (
        StackClass::Parallelism,
        &[
            "CXPipe::GetRow",
            "CXTransLocal::ReceiveBuffers",
            "CXPacketList::RemoveHead",
            "CXPort::Open",
            "CQScanIndexSortNew::SyncEndInput",
            "CBpQScanSort::Wait",
        ],
    ),
    (StackClass::Memory, &["CPmoLock::GetAccessPmo", "RMResourceGrant::Wait"]),
];

/// Those of the network, which come after all others.
const NETWORK: [&str; 7] = [
    "SNIReadAsync",
    "Tcp::WriteAsync",
    "TDSSNIClient::ReadHandler",
    "CTds74::FlushBuffer",
    "CNetConnection::FDoWrite",
    "CSQLSatelliteConnection::Wait",
    "CSQLSatelliteCommunication::Wait",
];

fn class_of(lines: &[&str]) -> StackClass {
    class(&EventContext::default(), &stack(lines)).0
}

#[test]
fn every_deciding_function_decides_by_itself() {
    for (expected, functions) in DECIDING.into_iter().chain([(StackClass::Network, &NETWORK[..])]) {
        for function in functions {
            let lines = ["SOS_Task::PostWait", "EventInternal::Wait", function, "CQueryScan::GetRow"];
            assert_eq!(class_of(&lines), expected, "{function}");
        }
    }
}

#[test]
fn of_two_classes_in_one_stack_the_earlier_rule_decides() {
    for (first, second) in DECIDING.iter().zip(DECIDING.iter().skip(1)) {
        for (upper, lower) in [(first.1[0], second.1[0]), (second.1[0], first.1[0])] {
            let lines = ["SOS_Task::PostWait", "EventInternal::Wait", upper, lower, "CQueryScan::GetRow"];
            assert_eq!(class_of(&lines), first.0, "{upper} over {lower}");
        }
    }
    assert_eq!(
        class_of(&["SOS_Task::PostWait", "EventInternal::Wait", NETWORK[0], "CPmoLock::GetAccessPmo"]),
        StackClass::Memory
    );
}

#[test]
fn where_a_function_stands_decides_too() {
    for (expected, functions) in DECIDING {
        let below = |frames: usize| {
            let mut lines = vec!["SOS_Task::PostWait", "EventInternal::Wait"];
            lines.extend(std::iter::repeat_n("CQueryScan::GetRow", frames));
            lines.push(functions[0]);
            class_of(&lines)
        };
        // A consumer above names the cause of area rules; blocking frames count among the top eight.
        let blocking =
            matches!(expected, StackClass::Latch | StackClass::Lock | StackClass::CpuYield | StackClass::Preemptive);
        assert_eq!(below(4) == expected, blocking, "{}", functions[0]);
        assert_ne!(below(9), expected, "{}", functions[0]);
    }
}

#[test]
fn a_yield_inside_a_background_wait_is_no_yield() {
    for background in ["EventInternal::ExecutePreWaitSteps", "BPool::LazyWriter"] {
        let lines = ["SOS_Scheduler::SuspendNonPreemptive", "SOS_Task::Sleep", "Worker::OSYieldNoAbort", background];
        assert_ne!(class_of(&lines), StackClass::CpuYield, "{background}");
    }
}
