//! Whether database snapshots make writes wait: the right answers, and what looks like it.

use super::storage::{
    all_said, databases, file_stats, gate, idle_host, in_samples, int, master_files, of_scenario, report, requests,
    text, waits_session, with_waits,
};
use super::support::{finding, stack, table};
use xestack::model::{Confidence, Evidence, Report, Stack, Table, Value, VerdictKind};

fn copy_stack() -> Stack {
    stack(&[
        "sqldk.dll!XeSosPkg::wait_info_external::Publish+0x138",
        "sqlmin.dll!FCB::SyncWritePreemptive+0x13f",
        "sqlmin.dll!FCB::PullPageToReplica+0x1c3",
        "sqlmin.dll!FCB::CopyPageToReplicas+0x10e",
        "sqlmin.dll!BUF::CopyOnWrite+0x6f",
        "sqlmin.dll!BPool::PrepareToDirty+0x18b",
    ])
}

fn trace_stack() -> Stack {
    stack(&[
        "sqldk.dll!XeSosPkg::wait_info_external::Publish+0x138",
        "sqllang.dll!CTraceFile::WriteBuffer+0x9d",
        "sqllang.dll!CTraceFileProvider::Flush+0x6e",
        "sqllang.dll!CTraceController::ProduceRow+0x1fa",
    ])
}

fn other_stack() -> Stack {
    stack(&["sqldk.dll!XeSosPkg::wait_info_external::Publish+0x138", "sqlmin.dll!SomethingElse::Writes+0x10"])
}

#[derive(Clone)]
struct Load {
    waits: Vec<(&'static str, i64, i64, i64)>,
    /// Snapshots: name, id; their files' writes, ms, growth.
    snapshots: Vec<(&'static str, i64, [i64; 3])>,
    slots: Vec<(u64, Stack)>,
    list: bool,
}

fn one_snapshot() -> Load {
    Load {
        waits: vec![("PREEMPTIVE_OS_WRITEFILE", 24_118, 5_406, 0), ("WRITE_COMPLETION", 3_052, 1_904, 31)],
        snapshots: vec![("Sales_0600", 6, [24_118, 5_298, 197_591_040])],
        slots: vec![(24_118, copy_stack())],
        list: true,
    }
}

impl Load {
    fn evidence(&self) -> Evidence {
        let tables = |factor: i64| -> Vec<(&'static str, Table)> {
            let mut list = vec![("Sales", 5, None, "DISABLED")];
            let mut stats = vec![((5, 1), [0, 0, 0, 10 * factor, 80_000 * factor, 30 * factor, 1 << 30])];
            let mut files = vec![(5, 1, "ROWS", "Sales", false)];
            for (name, id, [writes, ms, growth]) in &self.snapshots {
                list.push((name, *id, Some(5), "DISABLED"));
                files.push((*id, 1, "ROWS", "Sales", true));
                let at = |figure: &i64| figure * factor + 9;
                stats.push(((*id, 1), [0, 0, 0, at(writes), at(&(writes * 8_192)), at(ms), at(growth)]));
            }
            let mut tables =
                vec![("master_files", master_files(&files)), ("dm_io_virtual_file_stats", file_stats(&stats))];
            if self.list {
                tables.push(("databases", databases(&list)));
            }
            tables
        };
        let [(waits_before, waits_after)] = with_waits(&self.waits);
        let before = [tables(0), vec![("dm_os_wait_stats", waits_before)]].concat();
        let after = [tables(1), vec![("dm_os_wait_stats", waits_after)]].concat();
        let session =
            waits_session("snapshot", "sqlos.wait_info_external", "PREEMPTIVE_OS_WRITEFILE", self.slots.clone());
        of_scenario("snapshot", &idle_host(), vec![session], &before, &after)
    }

    fn report(&self) -> Report {
        report(&self.evidence())
    }
}

#[test]
fn pages_copied_for_one_snapshot() {
    let report = one_snapshot().report();
    let verdict = &report.verdict;
    assert_eq!((verdict.kind, verdict.subject.as_deref()), (VerdictKind::SnapshotCopyOnWrite, Some("Sales")));
    assert_eq!(verdict.confidence, Confidence::High, "{}", verdict.summary);
    assert!(verdict.summary.contains("1 snapshot") && verdict.summary.contains("24,118 writes"), "{}", verdict.summary);
    assert_eq!(gate(&report, "copy_on_write", "copy_on_write_events_share"), (Some(1.0), true));
    assert_eq!(gate(&report, "copy_on_write", "growing_sparse_files"), (Some(1.0), true));
    let replicas = finding(&report, "replica_writes");
    assert_eq!(replicas.state, "none");
    assert!(replicas.text.contains("no rule"), "{}", replicas.text);
    assert_eq!(finding(&report, "other_writers").state, "none");
}

#[test]
fn two_snapshots_are_told_with_the_cost_of_each() {
    let mut load = one_snapshot();
    load.waits.push(("FCB_REPLICA_WRITE", 1_288, 702, 11));
    load.snapshots.push(("Sales_1200", 7, [16_000, 6_100, 131_072]));
    let report = load.report();
    assert_eq!(
        (report.verdict.kind, report.verdict.subject.as_deref()),
        (VerdictKind::SnapshotCopyOnWrite, Some("Sales"))
    );
    assert!(report.verdict.summary.contains("2 snapshots"), "{}", report.verdict.summary);
    let cost = &finding(&report, "snapshots").text;
    assert!(cost.starts_with("2 snapshots: Sales_1200 of Sales took 16,000 writes in 6,100 ms"), "{cost}");
    assert!(
        cost.contains("Sales_0600 of Sales took 24,118 writes in 5,298 ms and grew by 197,591,040 bytes"),
        "{cost}"
    );
    assert_eq!(finding(&report, "replica_writes").state, "waited");
}

#[test]
fn frames_or_growing_files_are_enough_and_neither_is_not() {
    let no_frames = Load { slots: vec![(24_118, other_stack())], ..one_snapshot() };
    let report = no_frames.report();
    assert_eq!(
        (report.verdict.kind, report.verdict.confidence),
        (VerdictKind::SnapshotCopyOnWrite, Confidence::Medium)
    );
    for still in [[0, 0, 0], [24_118, 5_298, 0], [0, 0, 65_536]] {
        let frames = Load { snapshots: vec![("Sales_0600", 6, still)], ..one_snapshot() };
        let report = frames.report();
        assert_eq!(
            (report.verdict.kind, report.verdict.confidence),
            (VerdictKind::SnapshotCopyOnWrite, Confidence::Medium)
        );
        let neither = Load { slots: vec![(24_118, other_stack())], ..frames };
        let report = neither.report();
        assert_eq!((report.verdict.kind, report.verdict.subject.as_deref()), (VerdictKind::Inconclusive, None));
        assert_eq!(finding(&report, "copy_on_write").state, "not_copied");
    }
}

#[test]
fn half_of_the_events_must_be_copies() {
    let of = |copies: u64, others: u64| {
        let slots = vec![(copies, copy_stack()), (others, other_stack())];
        Load { snapshots: vec![("Sales_0600", 6, [0, 0, 0])], slots, ..one_snapshot() }.report().verdict.kind
    };
    assert_eq!(of(12_000, 12_000), VerdictKind::SnapshotCopyOnWrite);
    assert_eq!(of(11_999, 12_001), VerdictKind::Inconclusive);
}

#[test]
fn a_trace_that_writes_its_file_is_no_snapshot() {
    let load = Load { snapshots: Vec::new(), slots: vec![(18_204, trace_stack())], ..one_snapshot() };
    let report = load.report();
    assert_eq!((report.verdict.kind, report.verdict.subject.as_deref()), (VerdictKind::Inconclusive, None));
    assert!(report.verdict.summary.contains("SQL Trace"), "{}", report.verdict.summary);
    assert_eq!(finding(&report, "other_writers").state, "trace");
    // Without names in the stacks, the list of traces tells. The server's own, and one without a file, do not count.
    let mut evidence = Load { slots: vec![(18_204, other_stack())], ..load.clone() }.evidence();
    let traces = |status: i64, default: bool, rowset: bool| {
        let row = vec![int(2), int(status), text(r"D:\a.trc"), Value::Bool(rowset), Value::Bool(default)];
        table(&["id", "status", "path", "is_rowset", "is_default"], vec![row])
    };
    for (trace, state) in [
        (traces(1, false, false), "trace"),
        (traces(1, true, false), "no_snapshot"),
        (traces(0, false, false), "no_snapshot"),
        (traces(1, false, true), "no_snapshot"),
    ] {
        evidence.after.as_mut().unwrap().tables.insert("traces".to_owned(), trace);
        assert_eq!(finding(&report_of(&evidence), "copy_on_write").state, state);
    }
}

fn report_of(evidence: &Evidence) -> Report {
    report(evidence)
}

#[test]
fn a_trace_beside_a_snapshot_lowers_confidence() {
    let load = Load { slots: vec![(20_000, copy_stack()), (4_118, trace_stack())], ..one_snapshot() };
    let report = load.report();
    assert_eq!(
        (report.verdict.kind, report.verdict.confidence),
        (VerdictKind::SnapshotCopyOnWrite, Confidence::Medium)
    );
}

#[test]
fn a_check_of_pages_may_have_a_snapshot_of_its_own() {
    let load = Load { snapshots: Vec::new(), ..one_snapshot() };
    for command in ["DBCC TABLE CHECK", "DBCC CHECKDB", "DBCC CHECKALLOC"] {
        let report = report(&in_samples(load.evidence(), "dm_exec_requests", &requests(&[(command, 5)])));
        assert_eq!(report.verdict.kind, VerdictKind::Inconclusive);
        let summary = &report.verdict.summary;
        assert!(
            summary.contains("a snapshot of its own") && summary.contains(&format!("{command} in Sales")),
            "{summary}"
        );
    }
    let other = report(&in_samples(load.evidence(), "dm_exec_requests", &requests(&[("BACKUP DATABASE", 5)])));
    assert_eq!(finding(&other, "copy_on_write").state, "hidden_snapshot");
}

#[test]
fn without_a_snapshot_and_without_names_nothing_is_known() {
    let load = Load { snapshots: Vec::new(), slots: vec![(24_118, other_stack())], ..one_snapshot() };
    let report = load.report();
    assert_eq!(
        (report.verdict.kind, finding(&report, "copy_on_write").state.as_str()),
        (VerdictKind::Inconclusive, "no_snapshot")
    );
    assert_eq!(finding(&report, "snapshots").state, "none");
    let unlisted = Load { list: false, ..one_snapshot() }.report();
    assert_eq!(unlisted.verdict.kind, VerdictKind::Inconclusive);
    assert!(all_said(&unlisted).contains("sys.databases"));
}

#[test]
fn few_such_waits_are_nothing_to_explain_whatever_the_snapshot() {
    let of = |waits, ms, other| {
        let waits = vec![("PREEMPTIVE_OS_WRITEFILE", waits, ms, 0), ("LCK_M_X", 90, other, 0)];
        Load { waits, ..one_snapshot() }.report().verdict.kind
    };
    assert_eq!(of(99, 99, 9_901), VerdictKind::NoContention);
    assert_eq!(of(100, 99, 9_901), VerdictKind::SnapshotCopyOnWrite);
}

#[test]
fn waits_that_take_little_lower_confidence() {
    let of = |ms, other| {
        let waits = vec![("PREEMPTIVE_OS_WRITEFILE", 24_118, ms, 0), ("LCK_M_X", 90, other, 0)];
        Load { waits, ..one_snapshot() }.report().verdict.confidence
    };
    assert_eq!((of(1_000, 9_000), of(999, 9_001)), (Confidence::High, Confidence::Medium));
}

#[test]
fn the_events_alone_ask_this_question() {
    let evidence = Evidence { scenario: None, ..one_snapshot().evidence() };
    let mut evidence = evidence;
    evidence.sessions[0].scenario = None;
    assert_eq!(report(&evidence).verdict.kind, VerdictKind::SnapshotCopyOnWrite);
}
