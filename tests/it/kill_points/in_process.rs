//! Ways to end that need no process of their own, at every point: a defect (panic), a broken connection, an interrupt.

use super::state::look;
use crate::capture::Lab;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xestack::agent;
use xestack::agent::clock::{Clock, Sleep};
use xestack::model::{ServerVersion, UtcMicros};
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};

const PHASES: [Phase; 3] = [Phase::BeforeExecute, Phase::ExecutedNotAnswered, Phase::Answered];

/// How the run ends at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A panic the next time that the run asks for the time, which it does around every statement.
    Panic,
    /// The connection breaks.
    Cut,
    /// The wish to stop.
    Interrupt,
}

/// A clock that panics once when it is told to.
struct DefectiveClock {
    clock: Arc<dyn Clock>,
    armed: Arc<AtomicBool>,
}

impl DefectiveClock {
    fn panic_if_armed(&self) {
        assert!(!self.armed.swap(false, Ordering::SeqCst), "a defect");
    }
}

impl Clock for DefectiveClock {
    fn utc(&self) -> UtcMicros {
        self.panic_if_armed();
        self.clock.utc()
    }

    fn monotonic(&self) -> std::time::Duration {
        self.panic_if_armed();
        self.clock.monotonic()
    }

    fn sleep_until(&self, deadline: std::time::Duration) -> Sleep<'_> {
        self.clock.sleep_until(deadline)
    }
}

/// Runs a capture that ends in this way at statement `n` of its first connection; false when it had fewer.
async fn ended_at(scenario: &str, flags: bool, way: Way, n: u64, phase: Phase) -> bool {
    let armed = Arc::new(AtomicBool::new(false));
    let reached = Arc::new(AtomicBool::new(false));
    let interrupt = agent::progress::Interrupt::default();
    let hooks = {
        let (armed, reached, interrupt) = (Arc::clone(&armed), Arc::clone(&reached), interrupt.clone());
        // The first connection is that of the look before.
        Hooks::new(move |point: &HookPoint<'_>| {
            if point.connection != 2 || point.request != n || point.phase != phase {
                return HookAction::Continue;
            }
            reached.store(true, Ordering::SeqCst);
            match way {
                Way::Panic => armed.store(true, Ordering::SeqCst),
                Way::Cut => return HookAction::Disconnect,
                Way::Interrupt => interrupt.signal(),
            }
            HookAction::Continue
        })
    };
    let mut lab = Lab::new(ServerVersion::V2019, |launch| {
        launch.hooks = hooks;
        launch.startup_flags = vec![1118];
    })
    .await;
    lab.options.scenario = scenario.to_owned();
    lab.options.max_events_per_second = Some(1_000_000);
    lab.options.trace_flags.enable = flags;
    let before = look(&lab.surroundings.connect).await;
    let mut surroundings = lab.surroundings.clone();
    surroundings.clock = Arc::new(DefectiveClock { clock: Arc::clone(&lab.surroundings.clock), armed });
    surroundings.interrupt = interrupt;
    let options = lab.options.clone();
    let result = tokio::spawn(async move { agent::capture(&surroundings, &options).await }).await;
    let context = format!("{scenario}, flags {flags}, {way:?} at statement {n}, {phase:?}");
    match &result {
        // Before anything is changed a panic may end the whole of it.
        Err(panic) => assert!(way == Way::Panic && panic.is_panic(), "{context}: {panic}"),
        Ok(Ok(outcome)) => assert!(outcome.left_behind.is_empty(), "{context}: {:?}", outcome.left_behind),
        Ok(Err(error)) => {
            assert!(!matches!(error, agent::CaptureError::LeftBehind { .. }), "{context}: {error:?}");
        }
    }
    assert_eq!(look(&lab.surroundings.connect).await, before, "{context}");
    reached.load(Ordering::SeqCst)
}

async fn at_every_point(way: Way) {
    let mut points = 0;
    for (scenario, flags) in [("sos-yield", false), ("sos-yield", true), ("spinlock", true), ("sos-yield+spinlock", true)]
    {
        for phase in PHASES {
            let mut n = 1;
            while ended_at(scenario, flags, way, n, phase).await {
                n += 1;
            }
            assert!(n > 30, "{scenario}: only {n} statements");
            points += n - 1;
        }
    }
    println!("kill points, {way:?}: {points} of {points} left the server as it was");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_at_any_statement_leaves_the_server_as_it_was() {
    at_every_point(Way::Panic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_at_any_statement_leaves_the_server_as_it_was() {
    at_every_point(Way::Cut).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_at_any_statement_leaves_the_server_as_it_was() {
    at_every_point(Way::Interrupt).await;
}
