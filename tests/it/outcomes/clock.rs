//! A wall clock that jumps changes no figure: durations are of the monotonic clock.

use crate::capture::{JumpingClock, Lab, WINDOW};
use std::sync::Arc;
use std::time::Duration;
use xestack::agent::clock::{Clock, Sleep};
use xestack::model::{ServerVersion, UtcMicros};

/// A clock whose wall time goes back an hour in the middle of a window.
struct GoesBack {
    clock: Arc<JumpingClock>,
    from: Duration,
}

impl Clock for GoesBack {
    fn utc(&self) -> UtcMicros {
        let back = if self.clock.monotonic() >= self.from { 3_600_000_000 } else { 0 };
        UtcMicros(self.clock.utc().0 - back)
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn sleep_until(&self, deadline: Duration) -> Sleep<'_> {
        self.clock.sleep_until(deadline)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_back_with_the_flags_on_changes_nothing_but_times_of_day() {
    let mut reports = Vec::new();
    for back in [false, true] {
        let mut lab = Lab::new(ServerVersion::V2019, |_| {}).await;
        lab.options.trace_flags.during_window = true;
        if back {
            // The look before it takes two seconds.
            let from = Duration::from_secs(2) + WINDOW / 2;
            lab.surroundings.clock = Arc::new(GoesBack { clock: lab.clock(), from });
        }
        let (outcome, mut report) = lab.report().await;
        let window = report.capture.window.unwrap();
        assert_eq!(window.elapsed_ms, WINDOW.as_millis() as u64);
        assert_eq!(window.ended_at < window.started_at, back, "the clock went back, and the times say so");
        assert!(outcome.statements.iter().all(|statement| statement.ms < 60_000));
        for flag in &report.capture.trace_flags {
            assert!((10_000..20_000).contains(&flag.on_ms), "{flag:?}");
        }
        lab.assert_as_before("an hour back").await;
        report.capture.id = String::new();
        report.capture.window = None;
        report.capture.sessions[0].name = String::new();
        reports.push(report);
    }
    assert_eq!(reports[0], reports[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_clock_may_jump_too() {
    let at = super::live::sample(ServerVersion::V2019, 20).await;
    let lab = Lab::new(ServerVersion::V2019, |launch| launch.faults.push(format!("clock-jump=-3600@{at}"))).await;
    let (_, report) = lab.report().await;
    assert!(report.capture.problems.is_empty(), "{:?}", report.capture.problems);
    assert_eq!(report.stacks.total_events, 20_647);
    lab.assert_as_before("the server's clock").await;
}
