//! Before a capture dead runs are undone, and another run at work is named.

use super::{Client, START, ended, marker, of_another_machine};
use crate::capture::Lab;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use xestack::agent::clock::{Clock, Sleep};
use xestack::agent::run::{Marker, Owner};
use xestack::agent::{self, CaptureError, CleanupOptions, Refusal};
use xestack::model::{ServerVersion, UtcMicros};
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_undoes_dead_runs_first_and_leaves_the_others() {
    let lab = Lab::new(ServerVersion::V2019, |launch| launch.startup_flags = vec![1118]).await;
    let mut client = Client::of(&lab).await;
    let live = marker(2, of_another_machine(), START + 999, &[]);
    client.make(&live.to_string(), false).await;
    client.make("XESTACK:1:", true).await;
    let before = client.sessions().await;
    client.make(&marker(1, ended(), START, &[3656]).to_string(), true).await;
    client.run("DBCC TRACEON (3656, -1) WITH NO_INFOMSGS").await;
    let outcome = agent::capture(&lab.surroundings, &lab.options).await.unwrap();
    assert_eq!((client.sessions().await, client.flags().await), (before, vec![1118]));
    let problems = &outcome.evidence.problems;
    assert!(problems.iter().any(|problem| problem.code == "dead_run_cleaned"), "{problems:?}");
    let flag = outcome.evidence.trace_flags.iter().find(|flag| flag.flag == 3656).unwrap();
    assert_eq!((flag.global_before, flag.restored), (Some(false), true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_fails_is_told_and_stops_nothing() {
    let lab = Lab::new(ServerVersion::V2019, |launch| launch.faults.push("error=25699@drop#1".to_owned())).await;
    let mut client = Client::of(&lab).await;
    client.make(&marker(1, ended(), START, &[]).to_string(), true).await;
    let mut options = lab.options.clone();
    options.scenario = "sos-yield".into();
    options.trace_flags.enable = false;
    let outcome = agent::capture(&lab.surroundings, &options).await.unwrap();
    let remains = outcome.evidence.problems.iter().find(|problem| problem.code == "dead_run_remains").unwrap();
    assert!(remains.message.contains("DROP EVENT SESSION [xestack:1:") && remains.hint.is_some(), "{remains:?}");
    assert!(outcome.evidence.sessions[0].target.is_some());
}

/// Holds a connection at a statement until it is let go.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Waits at the gate, and says that somebody is there.
    pub(super) fn hold(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 = true;
        self.changed.notify_all();
        let _state = self.changed.wait_while(state, |state| !state.1).unwrap();
    }

    pub(super) fn release(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    /// Until somebody is at the gate.
    pub(super) async fn reached(self: &Arc<Self>) {
        let gate = Arc::clone(self);
        let reached = tokio::task::spawn_blocking(move || {
            let limit = Duration::from_secs(60);
            let state = gate.state.lock().unwrap();
            !gate.changed.wait_timeout_while(state, limit, |state| !state.0).unwrap().1.timed_out()
        });
        assert!(reached.await.unwrap(), "the gate was not reached");
    }
}

/// A lab in which a run is held with its window open.
async fn lab_with_a_run_held() -> (Lab, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let hooks = {
        let gate = Arc::clone(&gate);
        Hooks::new(move |point: &HookPoint<'_>| {
            if point.phase == Phase::BeforeExecute && point.sql.contains("DROP EVENT sqlos.") {
                gate.hold();
            }
            HookAction::Continue
        })
    };
    (Lab::new(ServerVersion::V2019, |launch| launch.hooks = hooks).await, gate)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_capture_is_told_who_is_at_work_and_the_first_ends_with_all_its_data() {
    let (lab, gate) = lab_with_a_run_held().await;
    let first = {
        let (surroundings, options) = (lab.surroundings.clone(), lab.options.clone());
        tokio::spawn(async move { agent::capture(&surroundings, &options).await })
    };
    gate.reached().await;
    let mut client = Client::of(&lab).await;
    let holder: Marker = client.sessions().await[0].parse().unwrap();
    for (here, place) in [(Owner::this_process(), "on this machine"), (of_another_machine(), "on another machine")] {
        let mut surroundings = lab.surroundings.clone();
        surroundings.here = here;
        let error = agent::capture(&surroundings, &lab.options).await.unwrap_err();
        let CaptureError::Refused { reason: Refusal::Busy, text, .. } = &error else { panic!("{error:?}") };
        assert!(text.contains(&holder.run_id.to_string()) && text.contains(place), "{text}");
    }
    gate.release();
    let outcome = first.await.unwrap().unwrap();
    let target = outcome.evidence.sessions[0].target.as_ref().unwrap();
    assert_eq!(target.slots.iter().map(|slot| slot.count).sum::<u64>(), 20_647);
    assert_eq!((client.sessions().await, client.flags().await), (vec![], vec![]));
}

/// A machine whose clock is wrong.
struct SkewedClock(Arc<dyn Clock>, i64);

impl Clock for SkewedClock {
    fn utc(&self) -> UtcMicros {
        UtcMicros(self.0.utc().0 + self.1 * 1_000_000)
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }

    fn sleep_until(&self, deadline: Duration) -> Sleep<'_> {
        self.0.sleep_until(deadline)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_run_of_a_machine_with_a_wrong_clock_looks_alive_from_another() {
    for skew in [-86_400, 86_400] {
        let (lab, gate) = lab_with_a_run_held().await;
        let first = {
            let (mut surroundings, options) = (lab.surroundings.clone(), lab.options.clone());
            surroundings.clock = Arc::new(SkewedClock(Arc::clone(&surroundings.clock), skew));
            surroundings.here = of_another_machine();
            tokio::spawn(async move { agent::capture(&surroundings, &options).await })
        };
        gate.reached().await;
        let mut client = Client::of(&lab).await;
        let names = client.sessions().await;
        let state = tempfile::tempdir().unwrap();
        let options = CleanupOptions { dry_run: false, force: None, state_dir: state.path().to_owned() };
        let seen = agent::cleanup(&lab.surroundings, &options).await.unwrap();
        assert_eq!((seen.runs.len(), seen.runs[0].dead), (1, false), "{skew}");
        assert_eq!(client.sessions().await, names);
        let deadline = names[0].parse::<Marker>().unwrap().deadline_unix;
        assert!((START..START + 300).contains(&deadline), "{deadline}");
        gate.release();
        first.await.unwrap().unwrap();
    }
}
