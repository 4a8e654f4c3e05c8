//! A window on a server with 5,000 databases of 4 files each: what its snapshots and their analysis cost this process, in CPU
//! and memory, and the server, in rows.
//!
//! The simulated server is a process of its own, so that nothing of it counts. It ends with an error where a bound is not
//! kept. Linux only: CPU and memory are read from /proc.

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench is a test")]
#![allow(clippy::print_stdout, reason = "it reports")]
#![expect(clippy::disallowed_methods, reason = "a bench takes real time")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};
use xestack::agent::clock::MachineClock;
use xestack::agent::progress::Interrupt;
use xestack::agent::run::Owner;
use xestack::agent::{self, CaptureOptions, Outcome, Surroundings};
use xestack::analyze;
use xestack::catalog::Catalog;
use xestack::model::{Evidence, Report, Snapshot, Table, Tool, Value};
use xestack::report;
use xestack::sqlserver::{Authentication, ConnectOptions, Encryption};

const DATABASES: usize = 5_000;
const FILES: usize = 20_000;
/// Rows of wait and spinlock statistics together, as the largest servers have.
const COUNTER_ROWS: usize = 1_500;
const WINDOW: Duration = Duration::from_secs(10);
const MOST_CPU_SECONDS: f64 = 2.0;
const MOST_MEBIBYTES: f64 = 150.0;
const PASSWORD: &str = "Bench-of-a-Window-1";

/// Ends with the bench.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn simulated_server() -> Server {
    let mut child = Command::new(env!("CARGO_BIN_EXE_xestack"))
        .args(["simulate", "--listen", "127.0.0.1:0", "--workload", "small-commits", "--server-version", "2022"])
        .args(["--fault", &format!("databases={DATABASES}")])
        .env("XESTACK_SIM_PASSWORD", PASSWORD)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).unwrap();
    Server { child, address: address.trim_end_matches([',', ';', '.']).replace(':', ",") }
}

/// CPU seconds of this process.
fn cpu_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    ticks / TICKS_PER_SECOND
}

/// Most memory that this process has had, MiB.
fn peak_mebibytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1_024.0
}

async fn capture(server: &Server, catalog: &Catalog) -> Outcome {
    let state = tempfile::tempdir().unwrap();
    let mut connect = ConnectOptions::new(
        server.address.parse().unwrap(),
        Authentication::Password { user: "sa".to_owned(), password: PASSWORD.to_owned().into() },
    );
    connect.encryption = Encryption::Optional;
    connect.trust_certificate = true;
    let surroundings = Surroundings {
        sessions: Arc::clone(&catalog.sessions),
        connect,
        clock: Arc::new(MachineClock::default()),
        observer: Arc::new(|_| {}),
        interrupt: Interrupt::default(),
        here: Owner::this_process(),
    };
    let options = CaptureOptions::new("log-write+file-latency", WINDOW, state.path().to_owned());
    agent::capture(&surroundings, &options).await.unwrap()
}

/// Rows of a name of their own up to as many as the largest servers have, all of them growing.
fn with_more_counters(evidence: &mut Evidence) {
    let Evidence { before: Some(before), after: Some(after), .. } = evidence else { panic!("no counters") };
    let rows =
        |snapshot: &Snapshot| ["dm_os_wait_stats", "dm_os_spinlock_stats"].map(|name| snapshot.tables[name].rows.len());
    let missing = COUNTER_ROWS.saturating_sub(rows(before).iter().sum());
    for (snapshot, factor) in [(before, 1), (after, 2)] {
        let table: &mut Table = snapshot.tables.get_mut("dm_os_wait_stats").unwrap();
        let columns = table.columns.len();
        table.rows.extend((0..missing).map(|n| {
            let name = Value::Text(format!("MADE_UP_WAIT_{n}"));
            let counters = (1..columns).map(|column| Value::Integer((n + column) as i64 * factor));
            std::iter::once(name).chain(counters).collect()
        }));
    }
}

/// Rows that the server was asked for, in how many readings.
fn rows_read(evidence: &Evidence) -> Vec<(&'static str, usize, usize)> {
    let rows = |snapshot: &Snapshot| snapshot.tables.values().map(|table| table.rows.len()).sum::<usize>();
    let of =
        |name, snapshots: &[&Snapshot]| (name, snapshots.len(), snapshots.iter().map(|snapshot| rows(snapshot)).sum());
    let ends: Vec<&Snapshot> = evidence.before.iter().chain(&evidence.after).collect();
    vec![
        of("first and last counters", &ends),
        of("samples", &evidence.samples.iter().collect::<Vec<_>>()),
        of("series", &evidence.series.iter().collect::<Vec<_>>()),
    ]
}

fn answer(evidence: &Evidence, catalog: &Catalog) -> Report {
    let tool = Tool { name: "xestack".to_owned(), version: "bench".to_owned() };
    analyze::analyze(evidence, catalog, tool)
}

fn main() -> ExitCode {
    if env::args().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    let catalog = Catalog::embedded().unwrap();
    let server = simulated_server();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (started, began) = (cpu_seconds(), std::time::Instant::now());
    let outcome = runtime.block_on(capture(&server, &catalog));
    let captured = cpu_seconds() - started;
    let mut evidence = outcome.evidence;
    let read = rows_read(&evidence);
    with_more_counters(&mut evidence);
    let before_analysis = cpu_seconds();
    let report = answer(&evidence, &catalog);
    let text = report::text::render(&report, &report::Style::default());
    let analysed = cpu_seconds() - before_analysis;
    let (cpu, memory) = (captured + analysed, peak_mebibytes());

    let after = evidence.after.as_ref().unwrap();
    let rows = |name: &str| after.tables[name].rows.len();
    println!(
        "server: {} databases, {} files, {} wait and spinlock rows; verdict {}, {} lines of text",
        rows("databases"),
        rows("dm_io_virtual_file_stats"),
        rows("dm_os_wait_stats") + rows("dm_os_spinlock_stats"),
        report.verdict.kind.name(),
        text.lines().count()
    );
    for (name, readings, rows) in read {
        println!("server-side cost, {name}: {rows} rows in {readings} readings");
    }
    println!("a window of {} s took {:.1} s", WINDOW.as_secs(), began.elapsed().as_secs_f64());
    println!(
        "agent CPU: {captured:.2} s for the snapshots, {analysed:.2} s for the analysis, {cpu:.2} s together (bound {MOST_CPU_SECONDS} s)"
    );
    println!("agent memory: {memory:.0} MiB at most (bound {MOST_MEBIBYTES} MiB)");
    assert!(rows("databases") >= DATABASES && rows("dm_io_virtual_file_stats") >= FILES);
    if cpu < MOST_CPU_SECONDS && memory < MOST_MEBIBYTES { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
