//! Every scenario on every workload: the table of right answers, written by hand, held by captures of the simulated server
//! and shown in the README. No cell may claim anything else.

use super::simulated::assert_in_readme;
use crate::capture::{Lab, WINDOW};
use std::time::Duration;
use xestack::analyze::auto;
use xestack::catalog::Catalog;
use xestack::model::{Report, ServerVersion, Severity, VerdictKind};
use xestack::simulator::workload::Workload;
use xestack::simulator::workload::pace::Pace;

/// The scenarios, a column each.
const SCENARIOS: [&str; 7] = ["sos-yield", "spinlock", "latch", "pagelatch", "log-write", "snapshot", "file-latency"];

/// What a cell must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    /// `no_contention`.
    None,
    /// `inconclusive`.
    Open,
    /// `cpu_bound_yields`.
    Cpu,
    /// `mixed_yields`.
    Mixed,
    /// `spinlock_backoff`, this spinlock.
    Spin(&'static str),
    /// `latch_contention`, this latch class or database.
    Latch(&'static str),
    /// `log_write_bound`, this database.
    Log(&'static str),
    /// `snapshot_copy_on_write`, this source database.
    Snapshot(&'static str),
    /// `file_latency`, this file.
    File(&'static str),
}

use Cell::{Cpu, File, Latch, Log, Mixed, None, Open, Snapshot, Spin};

impl Cell {
    fn kind(self) -> VerdictKind {
        match self {
            None => VerdictKind::NoContention,
            Open => VerdictKind::Inconclusive,
            Cpu => VerdictKind::CpuBoundYields,
            Mixed => VerdictKind::MixedYields,
            Spin(_) => VerdictKind::SpinlockBackoff,
            Latch(_) => VerdictKind::LatchContention,
            Log(_) => VerdictKind::LogWriteBound,
            Snapshot(_) => VerdictKind::SnapshotCopyOnWrite,
            File(_) => VerdictKind::FileLatency,
        }
    }

    fn subject(self) -> Option<&'static str> {
        match self {
            None | Open | Cpu | Mixed => Option::None,
            Spin(name) | Latch(name) | Log(name) | Snapshot(name) | File(name) => Some(name),
        }
    }

    /// In words of the README.
    fn shown(self) -> String {
        match (self, self.subject()) {
            (None, _) => "-".to_owned(),
            (_, Some(subject)) => format!("**{}**, {subject}", self.kind().name()),
            (Open, _) => "inconclusive".to_owned(),
            _ => format!("**{}**", self.kind().name()),
        }
    }
}

/// A workload: its name, what `auto` must choose, and a cell for each scenario.
type Row = (&'static str, Option<&'static str>, [Cell; 7]);

const SOS_YIELD: Option<&str> = Some("sos-yield");

const ROWS: [Row; 27] = [
    ("lock-hash", SOS_YIELD, [Cpu, Spin("LOCK_HASH"), None, Open, None, None, None]),
    ("cachestore", Some("spinlock"), [Cpu, Spin("SOS_CACHESTORE"), None, Open, None, None, None]),
    ("spin-burn", Some("spinlock"), [Cpu, Spin("LOCK_HASH"), None, Open, None, None, None]),
    ("vm-steal", SOS_YIELD, [Open, Open, None, None, None, None, None]),
    ("capped-cpu", SOS_YIELD, [Cpu, Open, None, Open, None, None, None]),
    ("one-hot-node", SOS_YIELD, [Cpu, Open, None, Open, None, None, None]),
    ("few-events", SOS_YIELD, [Open, Open, None, Open, Open, None, None]),
    ("lock-manager-no-spin", SOS_YIELD, [Cpu, Open, None, Open, None, None, None]),
    ("yield-with-spin-frame", SOS_YIELD, [Mixed, Spin("LOCK_HASH"), None, Open, None, None, None]),
    ("two-percent", SOS_YIELD, [Cpu, Spin("LOCK_HASH"), None, Open, None, None, None]),
    ("xe-observer", SOS_YIELD, [Cpu, Spin("LOCK_HASH"), None, Open, None, None, None]),
    ("wrong-symbols", SOS_YIELD, [Open, Spin("LOCK_HASH"), None, Open, None, None, None]),
    ("version-store", Some("latch"), [None, None, Latch("APPEND_ONLY_STORAGE_INSERT_POINT"), None, None, None, None]),
    ("small-commits", Some("log-write"), [None, None, None, None, Log("Orders"), None, None]),
    ("small-commits-delayed", Some("log-write"), [None, None, None, None, Open, None, None]),
    ("large-transactions", Some("log-write"), [None, None, None, None, Open, None, None]),
    ("db-snapshot", Some("snapshot"), [None, None, None, None, None, Snapshot("Sales"), None]),
    ("db-snapshot-two", Some("snapshot"), [None, None, None, None, None, Snapshot("Sales"), None]),
    ("index-rebuild", Some("file-latency"), [None, None, None, None, None, None, File("Sales.Sales")]),
    ("tempdb-allocation", Some("pagelatch"), [None, None, None, Latch("tempdb"), None, None, None]),
    ("last-page-insert", Some("pagelatch"), [None, None, None, Latch("Sensors"), None, None, None]),
    ("idle", Option::None, [None, None, None, None, None, None, None]),
    ("trace-writes", Some("snapshot"), [None, None, None, None, None, Open, None]),
    ("checkdb-only", Some("snapshot"), [None, None, None, None, None, Open, None]),
    ("sync-replica", Some("log-write"), [None, None, None, None, Open, None, None]),
    ("backup-latency", Some("file-latency"), [None, None, None, None, None, None, File("Invoices.Invoices")]),
    ("high-signal-no-yield", SOS_YIELD, [None, None, None, None, None, None, None]),
];

/// A server whose load is there already: files have no event session that would begin a burst.
async fn lab(workload: &str, scenario: &str) -> Lab {
    let mut lab = Lab::new(ServerVersion::V2019, |launch| {
        launch.workload = workload.to_owned();
        launch.pace = Pace::Steady;
    })
    .await;
    lab.options.scenario = scenario.to_owned();
    lab.options.window = WINDOW;
    lab.options.every = Duration::from_secs(2);
    // A steady lock-hash raises a few more back-offs a second than the usual limit.
    lab.options.max_events_per_second = Some(50_000);
    lab
}

fn answer(report: &Report) -> String {
    let verdict = &report.verdict;
    let subject = verdict.subject.as_ref().map_or_else(String::new, |subject| format!(", {subject}"));
    format!("{}{subject}: {}", verdict.kind.name(), verdict.summary)
}

/// All that is wrong with a cell.
async fn faults(workload: &'static str, scenario: &'static str, cell: Cell) -> Vec<String> {
    let lab = lab(workload, scenario).await;
    let (_, report) = lab.report().await;
    let mut faults = Vec::new();
    let verdict = &report.verdict;
    if verdict.kind != cell.kind() || verdict.subject.as_deref() != cell.subject() {
        faults.push(format!("{workload} with {scenario} must be {cell:?} and is {}", answer(&report)));
    }
    let partial = report.capture.problems.iter().find(|problem| problem.severity == Severity::Partial);
    if let Some(problem) = partial.filter(|problem| problem.code != "wrong_symbols") {
        faults.push(format!("{workload} with {scenario} is partial: {} {}", problem.code, problem.message));
    }
    if verdict.summary.is_empty() || (cell != None && verdict.reasons.is_empty()) {
        faults.push(format!("{workload} with {scenario} says nothing: {verdict:?}"));
    }
    lab.assert_as_before(workload).await;
    faults
}

#[test]
fn the_table_holds_every_workload_once() {
    let mut listed: Vec<&str> = ROWS.iter().map(|(workload, ..)| *workload).collect();
    let mut all: Vec<&str> = Workload::ALL.iter().map(|(_, name)| *name).collect();
    listed.sort_unstable();
    all.sort_unstable();
    assert_eq!(listed, all);
    let catalog = Catalog::embedded().unwrap();
    let mut scenarios: Vec<&str> = catalog.sessions.scenarios().iter().map(|scenario| scenario.name.as_str()).collect();
    let mut columns = SCENARIOS;
    scenarios.sort_unstable();
    columns.sort_unstable();
    assert_eq!(scenarios, columns);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_on_every_workload_claims_what_the_table_says_and_nothing_else() {
    let mut wrong = Vec::new();
    for (workload, _, cells) in ROWS {
        let tasks: Vec<_> = SCENARIOS
            .into_iter()
            .zip(cells)
            .map(|(scenario, cell)| tokio::spawn(faults(workload, scenario, cell)))
            .collect();
        for task in tasks {
            wrong.extend(task.await.unwrap());
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn auto_names_the_right_scenario_on_every_workload() {
    let catalog = Catalog::embedded().unwrap();
    let length = Duration::from_secs(catalog.sessions.auto().look_seconds);
    let mut wrong = Vec::new();
    for (workload, scenario, _) in ROWS {
        let lab = lab(workload, auto::AUTO).await;
        let evidence = xestack::agent::look_around(&lab.surroundings, length).await.unwrap();
        let choice = auto::choose(&evidence, &catalog);
        if choice.scenario.as_deref() != scenario {
            wrong.push(format!("{workload} is for {scenario:?} and not {choice:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_readme_shows_the_matrix() {
    let mut table =
        format!("| workload | auto | {} |\n|---|---|{}\n", SCENARIOS.join(" | "), "---|".repeat(SCENARIOS.len()));
    for (workload, scenario, cells) in ROWS {
        let cells: Vec<String> = cells.into_iter().map(Cell::shown).collect();
        table += &format!("| {workload} | {} | {} |\n", scenario.unwrap_or("nothing waits"), cells.join(" | "));
    }
    assert_in_readme("matrix", &table);
}
