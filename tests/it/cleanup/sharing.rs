//! Two runs on one server that both use trace flags, in each order of ending and of dying.

use super::sweep::Gate;
use super::{Client, clean};
use crate::capture::Lab;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use xestack::agent::run::Owner;
use xestack::agent::{self, CaptureError, Outcome};
use xestack::model::ServerVersion;
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};

/// A process that stands for a run's: it can die.
struct Process(Child);

impl Process {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn owner(&self) -> Owner {
        let pid = self.0.id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let start_ticks = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
        Owner { pid, start_ticks, ..Owner::this_process() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A run at work, in a runtime of its own so that all of it can end at once.
struct Run {
    process: Process,
    runtime: Runtime,
    result: JoinHandle<Result<Outcome, CaptureError>>,
    gate: Arc<Gate>,
}

impl Run {
    fn start(lab: &Lab, scenario: &str, gate: &Arc<Gate>) -> Self {
        let process = Process::new();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (mut surroundings, mut options) = (lab.surroundings.clone(), lab.options.clone());
        surroundings.here = process.owner();
        options.scenario = scenario.to_owned();
        options.max_events_per_second = Some(10_000_000);
        let result = runtime.spawn(async move { agent::capture(&surroundings, &options).await });
        Self { process, runtime, result, gate: Arc::clone(gate) }
    }

    async fn end(self) {
        self.gate.release();
        let outcome = self.result.await.unwrap().unwrap();
        assert_eq!(outcome.left_behind, []);
        self.runtime.shutdown_background();
    }

    fn die(self) {
        self.runtime.shutdown_background();
        drop(self.process);
        self.gate.release();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    YieldEnds,
    YieldDies,
    SpinlockEnds,
    SpinlockDies,
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_of_two_runs_are_off_in_the_end_whoever_ends_or_dies_first() {
    use Event::{SpinlockDies, SpinlockEnds, YieldDies, YieldEnds};
    for events in [
        [YieldEnds, SpinlockEnds],
        [SpinlockEnds, YieldEnds],
        [YieldDies, SpinlockEnds],
        [SpinlockDies, YieldEnds],
        [YieldEnds, SpinlockDies],
        [SpinlockEnds, YieldDies],
        [YieldDies, SpinlockDies],
        [SpinlockDies, YieldDies],
    ] {
        let (yields, spinlocks) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
        let hooks = {
            let (yields, spinlocks) = (Arc::clone(&yields), Arc::clone(&spinlocks));
            Hooks::new(move |point: &HookPoint<'_>| {
                // The one is held with the flags on, the other with its session made.
                let is_on = point.sql.starts_with("DBCC TRACEON (3656, 2592, -1)");
                if is_on && point.phase == Phase::Answered {
                    yields.hold();
                }
                let is_window = point.sql.contains("[xestack:1:spinlock:") && point.sql.contains("ACTION");
                if is_window && point.phase == Phase::Answered {
                    spinlocks.hold();
                }
                HookAction::Continue
            })
        };
        let lab = Lab::new(ServerVersion::V2019, |launch| {
            launch.hooks = hooks;
            launch.startup_flags = vec![1118];
        })
        .await;
        let mut client = Client::of(&lab).await;
        let mut yield_run = Some(Run::start(&lab, "sos-yield", &yields));
        yields.reached().await;
        assert_eq!(client.flags().await, [1118, 2592, 3656]);
        let mut spinlock_run = Some(Run::start(&lab, "spinlock", &spinlocks));
        spinlocks.reached().await;
        for event in events {
            match event {
                YieldEnds => yield_run.take().unwrap().end().await,
                YieldDies => yield_run.take().unwrap().die(),
                SpinlockEnds => spinlock_run.take().unwrap().end().await,
                SpinlockDies => spinlock_run.take().unwrap().die(),
            }
        }
        if events.iter().any(|event| matches!(event, YieldDies | SpinlockDies)) {
            let state = tempfile::tempdir().unwrap();
            let done = clean(&lab.surroundings, state.path(), false).await;
            assert_eq!(done.left_behind, [], "{events:?}");
        }
        assert_eq!(client.flags().await, [1118], "{events:?}");
        assert_eq!(client.sessions().await, Vec::<String>::new(), "{events:?}");
    }
}
