//! Whole reports of the other scenarios, with figures in the size of published ones.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use super::cases::{cpu_bound_yields, named, reason, session, shares, wait};
use xestack::model::{
    Answer, Basis, ClassTotal, Confidence, DatabaseRow, FilePoint, FileRow, LatchRow, NextStep, PageRow, QueryRow,
    Report, Share, Stack, StackClass, StackItem, Stacks, Verdict, VerdictKind, WaitRow,
};

fn categorised(category: &str, wait: WaitRow) -> WaitRow {
    WaitRow { category: Some(category.to_owned()), ..wait }
}

fn step(text: &str, risk: &str) -> NextStep {
    NextStep { text: text.to_owned(), risk: risk.to_owned() }
}

/// What all of these share: server and window, and nothing counted yet.
fn of_scenario(scenario: &str, verdict: Verdict) -> Report {
    let mut report = cpu_bound_yields();
    report.capture.scenario = Some(scenario.to_owned());
    report.capture.sessions = vec![];
    report.capture.trace_flags = vec![];
    report.verdict = verdict;
    report.findings = vec![];
    report.stacks = Stacks { total_events: 0, distinct: 0, unresolved_events: 0, classes: vec![], items: vec![] };
    report.waits = vec![];
    report.spinlocks = vec![];
    report
}

fn verdict(kind: VerdictKind, subject: &str, confidence: Confidence, summary: &str) -> Verdict {
    Verdict {
        kind,
        subject: Some(subject.to_owned()),
        confidence,
        summary: summary.to_owned(),
        shares: shares(0.0, &[]),
        reasons: vec![],
        next_steps: vec![],
    }
}

/// One stack that holds all events.
fn one_stack(
    report: &mut Report,
    class: StackClass,
    area: &str,
    rule: &str,
    frames: &[(&str, &str, u64)],
    events: u64,
) {
    let frames = frames.iter().map(named).collect::<Stack>().frames;
    report.capture.sessions = vec![session("xestack:1:sample", 512, 1)];
    report.verdict.shares = shares(0.0, &[(class, 1.0)]);
    report.stacks = Stacks {
        total_events: events,
        distinct: 1,
        unresolved_events: 0,
        classes: vec![ClassTotal { class, area: Some(area.to_owned()), events, share: 1.0 }],
        items: vec![StackItem {
            id: "s1".to_owned(),
            class,
            area: Some(area.to_owned()),
            rule: Some(rule.to_owned()),
            events,
            slots: vec!["0:0".to_owned()],
            plumbing: 0,
            frames,
        }],
    };
}

fn mean(sum: u64, operations: u64) -> Option<f64> {
    (operations > 0).then(|| sum as f64 / operations as f64)
}

/// Operations, bytes and milliseconds of reads, then of writes.
pub(super) fn file(
    (database, database_id): (&str, i64),
    (name, file_id, kind): (&str, i64, &str),
    (reads, read_bytes, read_stall_ms): (u64, u64, u64),
    (writes, write_bytes, write_stall_ms): (u64, u64, u64),
) -> FileRow {
    FileRow {
        database: database.to_owned(),
        database_id,
        file: name.to_owned(),
        file_id,
        kind: kind.to_owned(),
        reads,
        writes,
        read_bytes,
        write_bytes,
        read_stall_ms,
        write_stall_ms,
        queued_read_ms: Some(0),
        queued_write_ms: Some(0),
        read_latency_ms: mean(read_stall_ms, reads),
        write_latency_ms: mean(write_stall_ms, writes),
        latency_ms: mean(read_stall_ms + write_stall_ms, reads + writes),
        bytes_per_read: mean(read_bytes, reads),
        bytes_per_write: mean(write_bytes, writes),
        cumulative_read_latency_ms: Some(4.13),
        cumulative_write_latency_ms: Some(1.27),
        size_bytes: Some(10 << 30),
        growth_bytes: Some(0),
        series: vec![],
        mark: None,
    }
}

fn database(name: &str, database_id: i64) -> DatabaseRow {
    DatabaseRow {
        database: name.to_owned(),
        database_id,
        read_committed_snapshot: Some(false),
        snapshot_isolation: Some(false),
        accelerated_recovery: Some(false),
        delayed_durability: Some("DISABLED".to_owned()),
        readable_secondary: Some(false),
        version_store_kb: Some(0),
        version_store_growth_kb: Some(0),
        ..DatabaseRow::default()
    }
}

fn latch_row(latch_class: &str, requests: u64, wait_ms: u64, total_ms: u64) -> LatchRow {
    LatchRow {
        latch_class: latch_class.to_owned(),
        requests,
        wait_ms,
        share: wait_ms as f64 / total_ms as f64,
        mark: None,
    }
}

pub(super) fn latch() -> Report {
    let summary = "Tasks wait for the latch where row versions are appended in tempdb: updates of Orders make versions \
                   faster than one insert point takes them.";
    let class = "APPEND_ONLY_STORAGE_INSERT_POINT";
    let mut report = of_scenario("latch", verdict(VerdictKind::LatchContention, class, Confidence::High, summary));
    let frames = [
        ("sqldk", "LatchBase::Suspend", 0x8e),
        ("sqlmin", "AppendOnlyStorageMgr::InsertUsingCurrentPage", 0x1c5),
        ("sqlmin", "VersionMgr::PushVersion", 0x2f1),
    ];
    one_stack(&mut report, StackClass::Latch, "version store", "latch-wait", &frames, 41_220);
    report.verdict.reasons = vec![
        reason("All 41,220 latch waits stand in the insertion of row versions.", &["s1"]),
        reason(
            "The class has 97.9 % of the time of all latches that are not of pages.",
            &[&format!("latches:{class}")],
        ),
    ];
    report.verdict.next_steps = vec![step(
        "Ask which updates need versions: long transactions and readers of them keep the store large.",
        "None: it is a question.",
    )];
    report.waits = vec![
        categorised("latch", wait("LATCH_EX", 41_220, 78_310, 2_020, 92_130)),
        categorised("memory", wait("MEMORY_ALLOCATION_EXT", 812_004, 9_480, 0, 92_130)),
        WaitRow { category: None, ..wait("VERSIONING_NEW_WAIT", 12, 240, 0, 92_130) },
    ];
    report.latches = vec![
        latch_row(class, 41_220, 78_310, 82_120),
        latch_row("BUFFER", 310, 2_130, 82_120),
        latch_row("ACCESS_METHODS_DATASET_PARENT", 96, 1_680, 82_120),
    ];
    report.databases = vec![
        database("master", 1),
        DatabaseRow {
            read_committed_snapshot: Some(true),
            delayed_durability: Some("FORCED".to_owned()),
            version_store_kb: Some(3_276_800),
            version_store_growth_kb: Some(1_153_434),
            transactions: Some(604_120),
            log_flushes: Some(4_802),
            log_bytes_flushed: Some(294_912_000),
            log_flush_waits: Some(0),
            log_flush_wait_ms: Some(0),
            ..database("Orders", 7)
        },
        DatabaseRow { transactions: Some(1_210), log_flushes: Some(0), ..database("tempdb", 2) },
    ];
    report
}

pub(super) fn page_latch() -> Report {
    let summary = "Tasks wait for the allocation pages of one data file of tempdb: many sessions create tables there.";
    let mut report =
        of_scenario("pagelatch", verdict(VerdictKind::LatchContention, "tempdb", Confidence::Medium, summary));
    let frames = [
        ("sqldk", "LatchBase::Suspend", 0x8e),
        ("sqlmin", "BUF::AcquireLatch", 0x3a),
        ("sqlmin", "ModifyPFSRow", 0x11c),
        ("sqlmin", "AllocationReq::AllocatePage", 0x2d3),
    ];
    one_stack(&mut report, StackClass::Latch, "allocation", "latch-wait", &frames, 18_240);
    report.verdict.reasons =
        vec![reason("2:1:1 is a PFS page; 71.9 % of the waits seen were for it.", &["pages:2:1:1"])];
    report.verdict.next_steps = vec![step(
        "Give tempdb as many data files of one size as there are schedulers, up to 8.",
        "Disk space; a restart where files are to be made equal.",
    )];
    report.waits = vec![
        categorised("page latch", wait("PAGELATCH_UP", 15_103, 61_240, 1_110, 74_410)),
        categorised("page latch", wait("PAGELATCH_EX", 3_137, 10_120, 320, 74_410)),
    ];
    let hot = |page_id: i64, page_type: &str, waits: u64| PageRow {
        database: "tempdb".to_owned(),
        database_id: 2,
        file_id: 1,
        page_id,
        page_type: page_type.to_owned(),
        waits,
        share: waits as f64 / 640.0,
        basis: "samples".to_owned(),
    };
    report.pages = vec![hot(1, "PFS", 460), hot(3, "SGAM", 158), hot(8_456, "data or index", 22)];
    report
}

pub(super) fn log_write() -> Report {
    let summary = "Commits of Orders wait for one log flush each: 41,668 flushes of 1,052 bytes took 52 % of the time of \
                   its one session.";
    let mut report = of_scenario("log-write", verdict(VerdictKind::LogWriteBound, "Orders", Confidence::High, summary));
    report.verdict.reasons = vec![reason("A flush has 1,053 bytes: single rows are committed.", &["files:7:2"])];
    report.verdict.next_steps = vec![
        step("Commit more rows in one transaction.", "Locks are held longer; more is rolled back on an error."),
        step(
            "Consider delayed durability for this database only last.",
            "Commits of the last moments are lost when the server stops.",
        ),
    ];
    report.waits = vec![categorised("log", wait("WRITELOG", 41_668, 5_210, 390, 5_304))];
    report.files = vec![
        file(("Orders", 7), ("Orders_log", 2, "log"), (0, 0, 0), (41_668, 43_870_720, 2_966)),
        file(("Orders", 7), ("Orders_data", 1, "data"), (12, 98_304, 31), (40, 2_621_440, 44)),
        FileRow {
            cumulative_read_latency_ms: None,
            ..file(("tempdb", 2), ("tempdev", 1, "data"), (0, 0, 0), (3, 24_576, 1))
        },
    ];
    report.databases = vec![
        DatabaseRow {
            transactions: Some(41_702),
            log_flushes: Some(41_668),
            log_bytes_flushed: Some(43_870_720),
            log_flush_waits: Some(41_668),
            log_flush_wait_ms: Some(5_104),
            ..database("Orders", 7)
        },
        database("Archive", 8),
    ];
    report
}

pub(super) fn snapshot() -> Report {
    let summary = "Writers of Orders copy pages into its database snapshot before they change them.";
    let mut report =
        of_scenario("snapshot", verdict(VerdictKind::SnapshotCopyOnWrite, "Orders", Confidence::High, summary));
    let frames = [
        ("sqlmin", "FCB::SyncWritePreemptive", 0x1e1),
        ("sqlmin", "FCBReplicaSync::WriteCopy", 0x9a),
        ("sqlmin", "FCB::CopyPageToReplicas", 0x30c),
    ];
    one_stack(&mut report, StackClass::Io, "database snapshot", "copy-on-write", &frames, 61_300);
    report.verdict.reasons = vec![reason("The sparse file of Orders_0800 grew by 480 MB.", &["files:12:1"])];
    report.verdict.next_steps = vec![step(
        "Drop the snapshot when it is no longer needed.",
        "What reads it fails, and it cannot be restored from.",
    )];
    report.waits = vec![
        categorised("preemptive", wait("PREEMPTIVE_OS_WRITEFILE", 61_300, 7_930, 0, 9_120)),
        categorised("io", wait("WRITE_COMPLETION", 61_300, 1_110, 20, 9_120)),
    ];
    report.files = vec![
        FileRow {
            growth_bytes: Some(503_316_480),
            size_bytes: Some(1_342_177_280),
            ..file(
                ("Orders_0800", 12),
                ("Orders_data", 1, "snapshot"),
                (120, 983_040, 61),
                (61_300, 502_169_600, 7_930),
            )
        },
        file(("Orders", 7), ("Orders_data", 1, "data"), (61_300, 502_169_600, 4_120), (2_010, 65_863_680, 3_430)),
    ];
    report.databases = vec![
        DatabaseRow {
            transactions: Some(12),
            log_flushes: Some(2_210),
            log_bytes_flushed: Some(130_000_000),
            ..database("Orders", 7)
        },
        DatabaseRow { snapshot_of: Some("Orders".to_owned()), ..database("Orders_0800", 12) },
    ];
    report
}

pub(super) fn file_latency() -> Report {
    let summary = "Orders_data answered reads in 57 ms and writes in 612 ms while an index was rebuilt in it: the load of \
                   the rebuild may be all there is to it.";
    let mut report = of_scenario(
        "file-latency",
        verdict(VerdictKind::FileLatency, "Orders: Orders_data", Confidence::Medium, summary),
    );
    report.verdict.reasons = vec![
        reason("Its 2,410 writes took 612 ms each; 1.27 ms is its mean since the counters began.", &["files:7:1"]),
        reason("ALTER INDEX ran in the window.", &["findings:maintenance"]),
    ];
    report.verdict.next_steps = vec![step("Look again when the rebuild is over.", "None: it is a look.")];
    report.waits = vec![
        categorised("io", wait("PAGEIOLATCH_SH", 5_003, 281_200, 210, 402_300)),
        categorised("io", wait("IO_COMPLETION", 1_410, 120_600, 20, 402_300)),
    ];
    let point = |(n, write_ms): (u64, f64)| FilePoint {
        at_ms: (n + 1) * 500,
        reads: if n == 3 { 0 } else { 250 },
        writes: 120,
        read_latency_ms: (n != 3).then_some(57.0 + n as f64),
        write_latency_ms: Some(write_ms),
    };
    let write_ms = [401.0, 444.0, 512.0, 480.0, 530.0, 601.0, 640.0, 612.0, 1_950.0, 702.0];
    let longer: Vec<f64> = write_ms.iter().chain(&write_ms).chain(&write_ms).copied().collect();
    let series = |latencies: &[f64]| (0..).zip(latencies.iter().copied()).map(point).collect();
    report.files = vec![
        FileRow {
            queued_write_ms: Some(12_400),
            growth_bytes: Some(67_108_864),
            size_bytes: Some(10_804_527_104),
            series: series(&write_ms),
            ..file(
                ("Orders", 7),
                ("Orders_data", 1, "data"),
                (4_903, 321_323_008, 279_800),
                (2_410, 631_767_040, 1_475_000),
            )
        },
        FileRow {
            series: series(&longer),
            ..file(("Orders", 7), ("Orders_archive", 3, "data"), (210, 1_720_320, 2_700), (90, 5_898_240, 1_400))
        },
        file(("Orders", 7), ("Orders_log", 2, "log"), (0, 0, 0), (310, 18_874_368, 240)),
    ];
    report
}

/// Yields and spinlocks asked for together, and which statements yielded.
pub(super) fn joined() -> Report {
    let mut report = cpu_bound_yields();
    report.capture.scenario = Some("sos-yield+spinlock".to_owned());
    let mut spinlock = verdict(
        VerdictKind::SpinlockBackoff,
        "LOCK_HASH",
        Confidence::Medium,
        "Back-offs of LOCK_HASH took at least 18 % of the CPU. They are not the source of the yields.",
    );
    spinlock.shares = shares(0.0, &[(StackClass::SpinlockBackoff, 1.0)]);
    spinlock.reasons = vec![reason("LOCK_HASH spun 4,005,774,890 times, 647 a collision.", &["spinlocks:LOCK_HASH"])];
    spinlock.next_steps = vec![
        report.verdict.next_steps[1].clone(),
        step("Ask which statements take most locks.", "None: it is a question."),
    ];
    report.further = vec![Answer { scenario: "spinlock".to_owned(), verdict: spinlock }];
    let share = |low, high| Some(Share { low, high, basis: Basis::Events });
    let query = |query_hash: &str, events, share, statement: Option<&str>| QueryRow {
        query_hash: query_hash.to_owned(),
        events,
        share,
        statement: statement.map(str::to_owned),
        executions: statement.map(|_| 1_204_310),
        cpu_ms: statement.map(|_| 88_310),
    };
    let statement =
        "SELECT COUNT(*)\n  FROM dbo.OrderLines AS l\n  JOIN dbo.Orders AS o ON o.id = l.order_id\n  WHERE 1 = 1";
    report.queries = vec![
        query("0x8F3A12C0D4E5B697", 19_630, share(0.9507, 0.951), Some(statement)),
        query("0x0000000000000000", 812, share(0.0393, 0.0394), None),
        query("0x11AA22BB33CC44DD", 205, share(0.0099, 0.01), None),
    ];
    report
}
