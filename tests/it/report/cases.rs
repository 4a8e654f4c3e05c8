//! Whole reports with known figures: the published lock-hash case, a capture without symbols, an empty offline run.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::collections::BTreeMap;
use std::sync::Arc;
use xestack::model::{
    Basis, Capture, ClassTotal, Confidence, Finding, Frame, Gate, Interval, NextStep, Problem, Reason, Report, SCHEMA,
    ServerIdentity, ServerVersion, SessionOutcome, SessionReport, Severity, Share, SpinlockRow, Stack, StackClass,
    StackItem, Stacks, Tool, TraceFlagUse, UtcMicros, Verdict, VerdictKind, WaitRow, Window,
};

const CYCLES_OF_WINDOW: f64 = 2.7e9 * 8.0 * 10.0;

/// The published leaf-first stack with the frames that the event machinery puts on top of it.
const YIELD_FRAMES: [(&str, &str, u64); 17] = [
    ("sqldk", "XeSosPkg::wait_info::Publish", 0x138),
    ("sqldk", "SOS_Scheduler::UpdateWaitTimeStats", 0x2bc),
    ("sqldk", "SOS_Task::PostWait", 0x9e),
    ("sqlmin", "IndexPageManager::GetPageWithKey", 0xef),
    ("sqlmin", "GetRowForKeyValue", 0x146),
    ("sqlmin", "IndexRowScanner::EstablishInitialKeyOrderPosition", 0x10a),
    ("sqlmin", "IndexDataSetSession::GetNextRowValuesInternal", 0x7d7),
    ("sqlmin", "RowsetNewSS::FetchNextRow", 0x12a),
    ("sqlmin", "CQScanRangeNew::GetRow", 0x6a1),
    ("sqlmin", "CQScanCountStarNew::GetRowHelper", 0x44),
    ("sqlmin", "CQScanStreamAggregateNew::Open", 0x70),
    ("sqlmin", "CQueryScan::Uncache", 0x32f),
    ("sqllang", "CXStmtQuery::SetupQueryScanAndExpression", 0x2a2),
    ("sqllang", "CXStmtQuery::ErsqExecuteQuery", 0x2f8),
    ("sqllang", "CMsqlExecContext::ExecuteStmts<1,1>", 0xcca),
    ("sqllang", "CMsqlExecContext::FExecute", 0x58b),
    ("sqllang", "CSQLSource::Execute", 0x319),
];

pub(super) fn named((module, symbol, offset): &(&str, &str, u64)) -> Frame {
    Frame {
        text: format!("{module}!{symbol}+0x{offset:x}"),
        module: Some((*module).to_owned()),
        symbol: Some((*symbol).to_owned()),
        offset: Some(*offset),
        ..Frame::default()
    }
}

pub(super) fn shares(unresolved: f64, proven: &[(StackClass, f64)]) -> BTreeMap<StackClass, Share> {
    let low = |class| proven.iter().find(|(of, _)| *of == class).map_or(0.0, |(_, share)| *share);
    let share = |class| Share { low: low(class), high: (low(class) + unresolved).min(1.0), basis: Basis::Events };
    StackClass::ALL.into_iter().map(|class| (class, share(class))).collect()
}

pub(super) fn session(name: &str, buckets: u64, used: u64) -> SessionReport {
    SessionReport {
        name: name.to_owned(),
        event: Some("sqlos.wait_info".to_owned()),
        outcome: SessionOutcome::Counted,
        stopped_by: None,
        slots_requested: Some(1024),
        buckets: Some(buckets),
        slots_used: used,
        at_capacity: false,
        events_without_slot: Some(0),
        dropped_events: Some(0),
        dropped_buffers: Some(0),
        target_cut: false,
        event_cap_reached: false,
    }
}

fn server(version: ServerVersion, product_version: &str, virtual_machine: &str) -> ServerIdentity {
    ServerIdentity {
        name: "SIM-2019".to_owned(),
        product_version: product_version.to_owned(),
        version: Some(version),
        edition: "Developer Edition (64-bit)".to_owned(),
        engine_edition: 3,
        virtual_machine: Some(virtual_machine.to_owned()),
        ..ServerIdentity::default()
    }
}

fn window() -> Window {
    let started_at = UtcMicros::parse("2026-11-30T19:31:32.250000Z").unwrap();
    Window { started_at, ended_at: UtcMicros(started_at.0 + 10_004_000), elapsed_ms: 10_004 }
}

pub(super) fn wait(wait_type: &str, waiting_tasks: u64, wait_ms: u64, signal_ms: u64, total_ms: u64) -> WaitRow {
    WaitRow {
        wait_type: wait_type.to_owned(),
        category: Some("other".to_owned()),
        waiting_tasks,
        wait_ms,
        resource_ms: wait_ms - signal_ms,
        signal_ms,
        share: wait_ms as f64 / total_ms as f64,
        mark: None,
    }
}

pub(super) fn spinlock(name: &str, collisions: u64, spins: u64, sleep_time_ms: u64, backoffs: u64) -> SpinlockRow {
    let cycles = |each: f64| (spins as f64 * each / CYCLES_OF_WINDOW).min(1.0);
    SpinlockRow {
        name: name.to_owned(),
        collisions,
        spins,
        spins_per_collision: spins / collisions,
        sleep_time_ms,
        backoffs,
        spins_per_second_per_cpu: Some(spins as f64 / 10.0 / 8.0),
        spin_cpu_share: Some(Interval { low: cycles(10.0), high: cycles(40.0) }),
        mark: None,
    }
}

pub(super) fn gate(name: &str, value: Option<f64>, needed: &str, met: bool) -> Gate {
    Gate { name: name.to_owned(), value, needed: needed.to_owned(), met }
}

pub(super) fn reason(text: &str, evidence: &[&str]) -> Reason {
    Reason { text: text.to_owned(), evidence: evidence.iter().map(|&cited| cited.to_owned()).collect() }
}

/// The published case: 8 schedulers, 50 connections, LOCK_HASH busy, yields deep in the access methods.
pub(super) fn cpu_bound_yields() -> Report {
    let frames = YIELD_FRAMES.iter().map(named).collect::<Stack>().frames;
    let mut other_path = frames.clone();
    other_path.remove(3);
    let short_path = frames.iter().take(5).cloned().collect();
    let stack = |id: &str, events, slot: &str, frames| StackItem {
        id: id.to_owned(),
        class: StackClass::CpuYield,
        area: Some("access methods".to_owned()),
        rule: Some("yield-by-predicate".to_owned()),
        events,
        slots: vec![slot.to_owned()],
        plumbing: 3,
        frames,
    };
    Report {
        schema: SCHEMA.to_owned(),
        tool: Tool { name: "xestack".to_owned(), version: "0.1.0".to_owned() },
        capture: Capture {
            id: "20261130T193132Z-1a2b3c4d".to_owned(),
            scenario: Some("sos-yield".to_owned()),
            server: Some(server(ServerVersion::V2019, "15.0.4198.2", "NONE")),
            window: Some(window()),
            sessions: vec![session(
                "xestack:1:sos-yield:20261130T193132Z-1a2b3c4d:0badc0de:12345678:4242.99887766:1796067212:3656.2592:9f8e7d6c",
                1024,
                3,
            )],
            trace_flags: vec![
                TraceFlagUse {
                    flag: 3656,
                    global_before: Some(false),
                    enabled_by_us: true,
                    scope: "global".to_owned(),
                    on_ms: 212,
                    restored: true,
                },
                TraceFlagUse {
                    flag: 2592,
                    global_before: Some(false),
                    enabled_by_us: true,
                    scope: "session".to_owned(),
                    on_ms: 0,
                    restored: true,
                },
            ],
            problems: vec![],
        },
        verdict: Verdict {
            kind: VerdictKind::CpuBoundYields,
            subject: None,
            confidence: Confidence::High,
            summary: "The yields are voluntary: threads used up their quanta in the access methods. They are not \
                      spinlock back-offs; whether spinning burns this CPU is not decided here: throughput against CPU \
                      over several loads, or an OS CPU profile, decides it."
                .to_owned(),
            shares: shares(0.0, &[(StackClass::CpuYield, 1.0)]),
            reasons: vec![
                reason(
                    "All 20,647 yields ended in voluntary yields; none holds a spinlock frame.",
                    &["s1", "s2", "s3"],
                ),
                reason(
                    "SOS_SCHEDULER_YIELD is 99.4 % of the wait time, all of it signal wait: threads waited for a CPU.",
                    &["waits:SOS_SCHEDULER_YIELD"],
                ),
                reason(
                    "LOCK_HASH collided 6,191,134 times; its spins took between 18 % and 75 % of the CPU.",
                    &["spinlocks:LOCK_HASH", "findings:cpu_consumer"],
                ),
            ],
            next_steps: vec![
                NextStep {
                    text: "Run the same load at several levels and compare throughput with CPU.".to_owned(),
                    risk: "Load on the server; choose a quiet hour.".to_owned(),
                },
                NextStep {
                    text: "Consider read committed snapshot isolation: it takes no shared row locks.".to_owned(),
                    risk: "Version store in tempdb; behaviour of readers changes.".to_owned(),
                },
            ],
        },
        further: vec![],
        findings: vec![
            Finding {
                name: "yield_origin".to_owned(),
                state: "voluntary".to_owned(),
                value: Some(1.0),
                low: Some(0.9998),
                high: Some(1.0),
                gates: vec![
                    gate("yields", Some(20_647.0), ">= 1000", true),
                    gate("sql_cpu_share", Some(0.962), ">= 0.7", true),
                    gate("yields_per_second", Some(2063.9), "<= 2000 (8 schedulers x 250)", false),
                    gate("mean_yield_wait_ms", Some(22.163), "near 4 ms x runnable tasks", true),
                    gate("runnable_samples_share", None, "> 0.5", false),
                ],
                text: "The yields are voluntary ones.".to_owned(),
            },
            Finding {
                name: "cpu_consumer".to_owned(),
                state: "undecided".to_owned(),
                value: None,
                low: Some(0.191),
                high: Some(0.765),
                gates: vec![],
                text: "All spinlocks together can have taken this share of the CPU.".to_owned(),
            },
        ],
        stacks: Stacks {
            total_events: 20_647,
            distinct: 3,
            unresolved_events: 0,
            classes: vec![ClassTotal {
                class: StackClass::CpuYield,
                area: Some("access methods".to_owned()),
                events: 20_647,
                share: 1.0,
            }],
            items: vec![
                stack("s1", 17_550, "0:0", frames),
                stack("s2", 2_200, "0:1", other_path),
                stack("s3", 897, "0:2", short_path),
            ],
        },
        waits: vec![
            wait("SOS_SCHEDULER_YIELD", 20_647, 457_477, 457_457, 460_102),
            wait("PREEMPTIVE_OS_QUERYREGISTRY", 40, 1_400, 0, 460_102),
            wait("ASYNC_NETWORK_IO", 310, 1_225, 84, 460_102),
        ],
        latches: vec![],
        spinlocks: vec![
            spinlock("LOCK_HASH", 6_191_134, 4_005_774_890, 686, 1_601_383),
            spinlock("OPT_IDX_STATS", 1_164_849, 126_549_245, 57, 7_555),
            spinlock("SOS_WAITABLE_ADDRESS_HASHBUCKET", 115, 44_495, 0, 3),
            spinlock("SOS_OBJECT_STORE", 73, 305, 0, 0),
            spinlock("XDESMGR", 1, 0, 0, 0),
        ],
        files: vec![],
        databases: vec![],
        pages: vec![],
        queries: vec![],
    }
}

/// A 2022 server with `callstack_rva` and no symbols at hand.
pub(super) fn all_unresolved() -> Report {
    let frame = |module: &str, rva: u64| Frame {
        text: format!("<frame module=\"{module}.dll\" rva=\"0x{rva:x}\" />"),
        module: Some(module.to_owned()),
        rva: Some(rva),
        ..Frame::default()
    };
    let item = |id: &str, events, depth: u64| StackItem {
        id: id.to_owned(),
        class: StackClass::Unresolved,
        area: None,
        rule: None,
        events,
        slots: vec![format!("0:{depth}")],
        plumbing: 0,
        frames: (0..depth)
            .map(|at| Arc::new(frame(if at < 3 { "sqldk" } else { "sqlmin" }, 0x11a3 + at * 0x20f1)))
            .collect(),
    };
    let mut report = cpu_bound_yields();
    report.capture.server = Some(server(ServerVersion::V2022, "16.0.4125.3", "HYPERVISOR"));
    report.capture.trace_flags = vec![];
    report.capture.problems = vec![
        Problem::new("virtual_machine", Severity::Info, "The server is a virtual machine."),
        Problem::new("unresolved_frames", Severity::Partial, "20,647 of 20,647 events have stacks without names.")
            .with_hint("Resolve the bundle with the PDB files of this build: xestack resolve --symbols DIR BUNDLE"),
        Problem::new("window_mismatch", Severity::Warning, "Events and counters differ by 6.1 %."),
    ];
    report.verdict = Verdict {
        kind: VerdictKind::Inconclusive,
        subject: None,
        confidence: Confidence::Low,
        summary: "No stack has function names, so nothing says where the yields come from.".to_owned(),
        shares: shares(1.0, &[]),
        reasons: vec![reason("Every stack is unresolved.", &["s1", "s2"])],
        next_steps: vec![],
    };
    report.findings = vec![];
    report.latches = vec![];
    report.stacks = Stacks {
        total_events: 20_647,
        distinct: 12,
        unresolved_events: 20_647,
        classes: vec![],
        items: (1..=12).map(|n| item(&format!("s{n}"), if n == 1 { 9_647 } else { 1_000 }, 14 + n)).collect(),
    };
    report
}

/// A file without anything in it.
pub(super) fn offline_empty() -> Report {
    let mut report = cpu_bound_yields();
    report.capture = Capture {
        id: "offline".to_owned(),
        scenario: None,
        server: None,
        window: None,
        sessions: vec![],
        trace_flags: vec![],
        problems: vec![Problem::new("no_stacks", Severity::Partial, "The input holds no stack.")],
    };
    report.verdict = Verdict {
        kind: VerdictKind::Inconclusive,
        subject: None,
        confidence: Confidence::Low,
        summary: "There is no evidence.".to_owned(),
        shares: shares(0.0, &[]),
        reasons: vec![],
        next_steps: vec![],
    };
    report.findings = vec![];
    report.stacks = Stacks { total_events: 0, distinct: 0, unresolved_events: 0, classes: vec![], items: vec![] };
    report.waits = vec![];
    report.spinlocks = vec![];
    report
}
