//! Ways to end that only a process can: SIGKILL, and the signals that ask. After SIGKILL nothing of the run can clean up;
//! the next start does, or `xestack cleanup`, with the journal or without.

use super::state::{ServerState, look};
use super::whose_turn;
use crate::capture::connect_options;
use crate::cli::xestack;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use xestack::model::ServerVersion;
use xestack::simulator::launch::{self, LaunchOptions, Simulator};
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use xestack::simulator::workload::pace::Pace;

const PHASES: [Phase; 3] = [Phase::BeforeExecute, Phase::ExecutedNotAnswered, Phase::Answered];
/// Runs at work at a time: they mostly wait.
const SIDE_BY_SIDE: usize = 24;
const LONGEST: Duration = Duration::from_secs(120);

/// How a run is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Kill(Recovery),
    Interrupt,
    Terminate,
}

/// Who puts back what a killed run left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    NextStart,
    Cleanup,
    CleanupWithoutJournal,
}

/// What is run, and whether another capture is at work on the server meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    scenario: &'static str,
    flags: bool,
    beside: Option<&'static str>,
}

/// A point: a statement of the run's connection, and how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    kind: Kind,
    n: u64,
    phase: Phase,
    signal: Signal,
}

const KINDS: [Kind; 4] = [
    Kind { scenario: "sos-yield", flags: false, beside: None },
    Kind { scenario: "sos-yield", flags: true, beside: None },
    Kind { scenario: "sos-yield+spinlock", flags: true, beside: None },
    Kind { scenario: "spinlock", flags: true, beside: Some("sos-yield") },
];

/// What the hook works from.
#[derive(Debug, Default)]
struct Aim {
    /// Connections up to this number are others'.
    after_connection: u64,
    /// Where the run is to be ended; none only counts.
    at: Option<(u64, Phase, Signal)>,
    /// The run's process, known a little after its start.
    pid: Option<u32>,
    /// The connection aimed at.
    connection: Option<u64>,
    /// The last connection seen.
    last_connection: u64,
    /// Statements of it so far.
    statements: u64,
    reached: bool,
    /// Whether a START has been answered on any connection.
    started: bool,
}

#[derive(Debug, Default)]
struct Sight {
    aim: Mutex<Aim>,
    changed: Condvar,
}

impl Sight {
    fn on(&self, point: &HookPoint<'_>) -> HookAction {
        let mut aim = self.aim.lock().unwrap();
        aim.last_connection = aim.last_connection.max(point.connection);
        if point.phase == Phase::Answered && point.sql.contains("STATE = START") {
            aim.started = true;
            self.changed.notify_all();
        }
        if point.connection <= aim.after_connection
            || *aim.connection.get_or_insert(point.connection) != point.connection
        {
            return HookAction::Continue;
        }
        aim.statements = aim.statements.max(point.request);
        let Some((n, phase, signal)) = aim.at else { return HookAction::Continue };
        if aim.reached || point.request != n || point.phase != phase {
            return HookAction::Continue;
        }
        aim.reached = true;
        let aim = self.changed.wait_while(aim, |aim| aim.pid.is_none()).unwrap();
        let pid = aim.pid.unwrap();
        drop(aim);
        match signal {
            Signal::Kill(_) => {
                send("-KILL", pid);
                await_death(pid);
                // Not executed, or executed and never answered.
                HookAction::Disconnect
            }
            Signal::Interrupt => {
                send("-INT", pid);
                HookAction::Continue
            }
            Signal::Terminate => {
                send("-TERM", pid);
                HookAction::Continue
            }
        }
    }

    fn aim(&self, at: Option<(u64, Phase, Signal)>) {
        let mut aim = self.aim.lock().unwrap();
        *aim =
            Aim { after_connection: aim.last_connection, last_connection: aim.last_connection, at, ..Aim::default() };
    }

    fn set_pid(&self, pid: u32) {
        self.aim.lock().unwrap().pid = Some(pid);
        self.changed.notify_all();
    }

    fn await_start(&self) {
        let (_aim, waited) =
            self.changed.wait_timeout_while(self.aim.lock().unwrap(), LONGEST, |aim| !aim.started).unwrap();
        assert!(!waited.timed_out(), "the run beside did not open its window");
    }

    fn result(&self) -> (bool, u64) {
        let aim = self.aim.lock().unwrap();
        (aim.reached, aim.statements)
    }
}

fn send(signal: &str, pid: u32) -> bool {
    let status = Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status();
    status.unwrap().success()
}

/// Until the parent has taken the process's end.
fn await_death(pid: u32) {
    let since = Instant::now();
    while send("-0", pid) {
        assert!(since.elapsed() < LONGEST, "process {pid} outlives SIGKILL");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A server and a place for state; points are run on it one after the other.
struct Bench {
    simulator: Simulator,
    sight: Arc<Sight>,
    folder: tempfile::TempDir,
}

impl Bench {
    async fn new() -> Self {
        let sight = Arc::new(Sight::default());
        let hooks = {
            let sight = Arc::clone(&sight);
            Hooks::new(move |point: &HookPoint<'_>| sight.on(point))
        };
        let simulator = launch::launch(LaunchOptions {
            version: ServerVersion::V2019,
            pace: Pace::Steady,
            startup_flags: vec![1118],
            hooks,
            ..LaunchOptions::default()
        })
        .await
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), simulator.certificate_pem().unwrap()).unwrap();
        Self { simulator, sight, folder }
    }

    fn command(&self, name: &str, state_dir: &Path, arguments: &[&str]) -> Command {
        let server = format!("localhost,{}", self.simulator.local_addr().port());
        let mut command = Command::new(env!("CARGO_BIN_EXE_xestack"));
        command.args([name, "-S", &server, "-U", launch::USER]).args(arguments);
        command.arg("--ca").arg(self.folder.path().join("ca.pem")).arg("--state-dir").arg(state_dir);
        command.env("SQLCMDPASSWORD", self.simulator.password()).env_remove("RUST_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn capture(&self, scenario: &str, seconds: u32, flags: bool, state_dir: &Path) -> Command {
        let length = format!("{seconds}s");
        let mut command = self.command("capture", state_dir, &["--scenario", scenario, "--for", &length]);
        command.args(["--max-events-per-second", "1000000"]);
        if flags {
            command.arg("--enable-trace-flags");
        }
        command
    }

    fn state_dir(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a capture to a point, or to its end; whether the point was reached, its statements, and its exit code.
    fn run_to(&self, kind: Kind, at: Option<(u64, Phase, Signal)>, state_dir: &Path) -> (bool, u64, Option<i32>) {
        self.sight.aim(at);
        let mut child = self.capture(kind.scenario, 1, kind.flags, state_dir).spawn().unwrap();
        self.sight.set_pid(child.id());
        let status = child.wait().unwrap();
        let (reached, statements) = self.sight.result();
        (reached, statements, status.code())
    }

    /// Runs a point, recovers where that is somebody else's task, and tells whether it was reached.
    fn run(&self, point: Point) -> bool {
        let Point { kind, n, phase, signal } = point;
        let state_dir = self.state_dir("state");
        let other_state = self.state_dir("other");
        let beside = kind.beside.map(|scenario| {
            self.sight.aim(None);
            let child = self.capture(scenario, 12, true, &other_state).spawn().unwrap();
            self.sight.await_start();
            child
        });
        let (reached, _, code) = self.run_to(kind, Some((n, phase, signal)), &state_dir);
        match signal {
            Signal::Kill(recovery) => {
                assert_eq!(code.is_none(), reached, "{point:?}: ended with {code:?}");
                if reached {
                    self.recover(recovery, kind, &state_dir, point);
                }
            }
            Signal::Interrupt | Signal::Terminate => {
                assert!(matches!(code, Some(0 | 5 | 130)), "{point:?}: ended with {code:?}");
            }
        }
        if let Some(mut child) = beside {
            let code = child.wait().unwrap().code();
            assert!(matches!(code, Some(0 | 5)), "{point:?}: the run beside ended with {code:?}");
        }
        reached
    }

    fn recover(&self, recovery: Recovery, kind: Kind, state_dir: &Path, point: Point) {
        let cleanup = |state_dir: &Path| {
            let output = self.command("cleanup", state_dir, &[]).stderr(Stdio::piped()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{point:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        match recovery {
            Recovery::Cleanup => cleanup(state_dir),
            Recovery::CleanupWithoutJournal => {
                let _ignored = std::fs::remove_dir_all(state_dir);
                cleanup(&self.state_dir("empty"));
            }
            Recovery::NextStart => {
                self.sight.aim(None);
                let mut next = self.capture(kind.scenario, 1, false, state_dir);
                let output = next.stderr(Stdio::piped()).output().unwrap();
                let code = output.status.code();
                assert!(matches!(code, Some(0 | 5)), "{point:?}: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
    }
}

/// How many statements each kind sends, and from that its points.
async fn all_points() -> Vec<Point> {
    let mut counting = Vec::new();
    for kind in KINDS {
        counting.push(tokio::spawn(async move {
            let bench = Bench::new().await;
            let counted = tokio::task::spawn_blocking(move || {
                let state_dir = bench.state_dir("state");
                let (_, statements, code) = bench.run_to(kind, None, &state_dir);
                assert!(matches!(code, Some(0 | 5)), "{kind:?} ended with {code:?}");
                statements
            });
            (kind, counted.await.unwrap())
        }));
    }
    let recoveries = [Recovery::NextStart, Recovery::Cleanup, Recovery::CleanupWithoutJournal];
    let mut points = Vec::new();
    for counted in counting {
        let (kind, statements) = counted.await.unwrap();
        assert!(statements > 30, "{kind:?}: only {statements} statements");
        let mut signals: Vec<Signal> = recoveries.map(Signal::Kill).to_vec();
        // Beside another run it is the death that matters.
        if kind.beside.is_none() {
            signals.extend([Signal::Interrupt, Signal::Terminate]);
        }
        for n in 1..=statements {
            for phase in PHASES {
                points.extend(signals.iter().map(|&signal| Point { kind, n, phase, signal }));
            }
        }
    }
    points
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_or_signalled_process_leaves_the_server_as_it_was_once_recovered() {
    let all = all_points().await;
    let (known, due) = (all.len(), whose_turn(all));
    let count = due.len();
    let queue = Arc::new(Mutex::new(due));
    let mut workers = Vec::new();
    for _worker in 0..SIDE_BY_SIDE {
        let queue = Arc::clone(&queue);
        workers.push(tokio::spawn(async move {
            let mut bench = Arc::new(Bench::new().await);
            let mut before: ServerState = look(&connect_options(&bench.simulator)).await;
            let mut reached = 0_usize;
            while let Some(point) = { queue.lock().unwrap().pop() } {
                let at_work = Arc::clone(&bench);
                let was_reached = tokio::task::spawn_blocking(move || at_work.run(point)).await.unwrap();
                reached += usize::from(was_reached);
                assert_eq!(look(&connect_options(&bench.simulator)).await, before, "{point:?}");
                if !was_reached {
                    // The run beside has moved on: a fresh server keeps points apart.
                    bench = Arc::new(Bench::new().await);
                    before = look(&connect_options(&bench.simulator)).await;
                }
            }
            reached
        }));
    }
    let mut reached = 0;
    for worker in workers {
        reached += worker.await.unwrap();
    }
    println!("kill points by processes: {count} of {known} run, {reached} reached, all left the server as it was");
    // Samples and retries make runs differ by a statement or two.
    assert!(reached * 100 >= count * 95, "only {reached} of {count} points were reached");
}

#[test]
fn a_run_id_that_is_none_is_a_usage_error() {
    let output = xestack(&["cleanup", "-S", "localhost,1", "-U", "sa", "--force", "no-run"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
