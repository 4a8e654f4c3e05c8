//! Ways to end that need no process of their own, at every point: a defect (panic), a broken connection, an interrupt.

use super::state::look;
use super::whose_turn;
use crate::capture::Lab;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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

/// What is run.
type Kind = (&'static str, bool);

const KINDS: [Kind; 5] = [
    ("sos-yield", false),
    ("sos-yield", true),
    ("spinlock", true),
    ("sos-yield+spinlock", true),
    // Two event sessions of one scenario.
    ("snapshot", false),
];

/// A statement of a run's connection, and how far it is.
type Point = (Kind, u64, Phase);

/// Runs a capture that ends in this way at a point, or by itself; gives how many statements its first connection sent and
/// whether the point was reached.
async fn ended_at(kind: Kind, way: Way, at: Option<(u64, Phase)>) -> (u64, bool) {
    let armed = Arc::new(AtomicBool::new(false));
    let reached = Arc::new(AtomicBool::new(false));
    let statements = Arc::new(AtomicU64::new(0));
    let interrupt = agent::progress::Interrupt::default();
    let hooks = {
        let (armed, reached, interrupt) = (Arc::clone(&armed), Arc::clone(&reached), interrupt.clone());
        let statements = Arc::clone(&statements);
        // The first connection is that of the look before.
        Hooks::new(move |point: &HookPoint<'_>| {
            if point.connection != 2 {
                return HookAction::Continue;
            }
            statements.fetch_max(point.request, Ordering::SeqCst);
            if at != Some((point.request, point.phase)) {
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
    let (scenario, flags) = kind;
    lab.options.scenario = scenario.to_owned();
    lab.options.max_events_per_second = Some(1_000_000);
    lab.options.trace_flags.enable = flags;
    let before = look(&lab.surroundings.connect).await;
    let mut surroundings = lab.surroundings.clone();
    surroundings.clock = Arc::new(DefectiveClock { clock: Arc::clone(&lab.surroundings.clock), armed });
    surroundings.interrupt = interrupt;
    let options = lab.options.clone();
    let result = tokio::spawn(async move { agent::capture(&surroundings, &options).await }).await;
    let context = format!("{kind:?}, {way:?} at {at:?}");
    match &result {
        // Before anything is changed a panic may end the whole of it.
        Err(panic) => assert!(way == Way::Panic && panic.is_panic(), "{context}: {panic}"),
        Ok(Ok(outcome)) => assert!(outcome.left_behind.is_empty(), "{context}: {:?}", outcome.left_behind),
        Ok(Err(error)) => {
            assert!(!matches!(error, agent::CaptureError::LeftBehind { .. }), "{context}: {error:?}");
        }
    }
    assert_eq!(look(&lab.surroundings.connect).await, before, "{context}");
    (statements.load(Ordering::SeqCst), reached.load(Ordering::SeqCst))
}

async fn at_the_points(way: Way) {
    let mut all: Vec<Point> = Vec::new();
    for kind in KINDS {
        let (statements, _) = ended_at(kind, way, None).await;
        assert!(statements > 30, "{kind:?}: only {statements} statements");
        for n in 1..=statements {
            all.extend(PHASES.map(|phase| (kind, n, phase)));
        }
    }
    let (known, due) = (all.len(), whose_turn(all));
    let count = due.len();
    for (kind, n, phase) in due {
        let (_, reached) = ended_at(kind, way, Some((n, phase))).await;
        assert!(reached, "{kind:?}, {way:?}: statement {n} was not reached");
    }
    println!("kill points, {way:?}: {count} of {known} run, all left the server as it was");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_at_any_statement_leaves_the_server_as_it_was() {
    at_the_points(Way::Panic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_at_any_statement_leaves_the_server_as_it_was() {
    at_the_points(Way::Cut).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_at_any_statement_leaves_the_server_as_it_was() {
    at_the_points(Way::Interrupt).await;
}
