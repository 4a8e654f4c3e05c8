//! Owns when the load is on and how far it is: the clock modes `burst` and `steady`.

use std::time::Duration;

/// How the load runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Counters stand still until an event session starts, rise to exactly the totals within this time, stand still
    /// again; a later start begins another burst when the last is over.
    Burst(Duration),
    /// The totals every ten seconds, for ever.
    Steady,
}

/// Microseconds in which `steady` does the totals once.
const STEADY_PERIOD: i64 = 10_000_000;

/// `steady` load has run this long when the simulated time begins (the server itself started days ago): short enough
/// that the `int` counters of old versions do not wrap soon.
const STEADY_BEFORE: i64 = 3_600_000_000;

/// The load's course. Times are microseconds of one monotonic clock.
#[derive(Debug, Clone)]
pub struct Load {
    pace: Pace,
    /// When the simulated time began.
    origin: i64,
    /// When each burst began.
    bursts: Vec<i64>,
}

/// A share of the totals: `whole` times all of them, and `done` / `of` of them once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    whole: u64,
    done: u64,
    of: u64,
}

impl Progress {
    /// The part of `total` that is done; exactly a multiple of it at the end of a burst.
    pub fn amount(self, total: u64) -> u64 {
        self.amount_with_phase(total, 0, 1)
    }

    /// As [`Self::amount`], rounded up once `phase` / `of_phase` of a unit are missing: members of a group with
    /// different phases do not all step together, and still end exactly.
    pub fn amount_with_phase(self, total: u64, phase: u64, of_phase: u64) -> u64 {
        let of = u128::from(self.of) * u128::from(of_phase.max(1));
        let part = u128::from(total) * u128::from(self.done) * u128::from(of_phase.max(1));
        let ahead = u128::from(phase) * u128::from(self.of);
        let whole = u128::from(total) * u128::from(self.whole);
        u64::try_from(whole + (part + ahead) / of.max(1)).unwrap_or(u64::MAX)
    }
}

impl Load {
    /// A load that begins at `origin`.
    pub fn new(pace: Pace, origin: i64) -> Self {
        Self { pace, origin, bursts: Vec::new() }
    }

    fn length(&self) -> i64 {
        match self.pace {
            Pace::Burst(length) => i64::try_from(length.as_micros()).unwrap_or(i64::MAX / 4).max(1),
            Pace::Steady => STEADY_PERIOD,
        }
    }

    /// Time between the start of a burst and the first movement of its counters: 1 s, at most a fifth of its length.
    fn lead(&self) -> i64 {
        (self.length() / 5).min(1_000_000)
    }

    /// An event session started: begins a burst unless one is running.
    pub fn session_started(&mut self, now: i64) {
        if matches!(self.pace, Pace::Steady) {
            return;
        }
        let over = |start: &i64| now >= start.saturating_add(self.length());
        if self.bursts.last().is_none_or(over) {
            self.bursts.push(now);
        }
    }

    /// The bursts over before `now`, and the start of the last that has begun.
    fn burst_at(&self, now: i64) -> (u64, Option<i64>) {
        let begun = self.bursts.partition_point(|start| *start <= now);
        (begun.saturating_sub(1) as u64, begun.checked_sub(1).and_then(|last| self.bursts.get(last)).copied())
    }

    /// How far the load is, now or at a past moment.
    pub fn progress(&self, now: i64) -> Progress {
        if matches!(self.pace, Pace::Steady) {
            let done = now.saturating_sub(self.origin).saturating_add(STEADY_BEFORE).max(0);
            return Progress { whole: 0, done: done as u64, of: STEADY_PERIOD as u64 };
        }
        let rise = (self.length() - self.lead()).max(1);
        let (whole, current) = self.burst_at(now);
        let done = current.map_or(0, |start| now.saturating_sub(start).saturating_sub(self.lead()).clamp(0, rise));
        Progress { whole, done: done as u64, of: rise as u64 }
    }

    /// Whether the schedulers are busy. A burst is busy from its start: the lead only lets a first reading come before
    /// the counters move.
    pub fn is_on(&self, now: i64) -> bool {
        match self.pace {
            Pace::Steady => true,
            Pace::Burst(_) => self.burst_at(now).1.is_some_and(|start| now < start.saturating_add(self.length())),
        }
    }

    /// Microseconds, since the simulated time began, in which it was on.
    pub fn busy_micros(&self, now: i64) -> u64 {
        let busy = match self.pace {
            Pace::Steady => now.saturating_sub(self.origin).max(0),
            Pace::Burst(_) => {
                let (whole, current) = self.burst_at(now);
                let current = current.map_or(0, |start| now.saturating_sub(start).clamp(0, self.length()));
                (whole as i64).saturating_mul(self.length()).saturating_add(current)
            }
        };
        busy as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Load, Pace};
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn a_burst_waits_for_a_session_leads_in_and_ends_exactly() {
        let mut load = Load::new(Pace::Burst(Duration::from_secs(10)), 0);
        assert_eq!(load.progress(5_000_000).amount(900), 0);
        assert!(!load.is_on(5_000_000));
        load.session_started(5_000_000);
        assert_eq!(load.progress(6_000_000).amount(900), 0);
        assert_eq!(load.progress(10_500_000).amount(900), 450);
        load.session_started(11_000_000);
        assert_eq!(load.progress(15_000_000).amount(900), 900);
        assert_eq!(load.progress(99_000_000).amount(900), 900);
        load.session_started(99_000_000);
        assert_eq!(load.progress(109_000_000).amount(900), 1_800);
        assert_eq!(load.busy_micros(109_000_000), 20_000_000);
    }

    #[test]
    fn a_short_burst_leads_in_for_a_fifth() {
        let mut load = Load::new(Pace::Burst(Duration::from_secs(3)), 0);
        load.session_started(0);
        assert_eq!(load.progress(600_000).amount(2_400), 0);
        assert_eq!(load.progress(601_000).amount(2_400), 1);
        assert_eq!(load.progress(1_800_000).amount(2_400), 1_200);
        assert!(load.is_on(0) && load.is_on(2_999_999) && !load.is_on(3_000_000));
    }

    #[test]
    fn steady_does_the_totals_every_ten_seconds() {
        let load = Load::new(Pace::Steady, 0);
        let before = load.progress(0).amount(20_647);
        assert_eq!(load.progress(10_000_000).amount(20_647) - before, 20_647);
        assert_eq!(load.progress(70_000_000).amount(20_647) - before, 7 * 20_647);
        assert!(load.is_on(0));
    }

    proptest! {
        #[test]
        fn any_burst_is_monotone_and_exact(
            length in 0_u64..400_000_000, total in 0_u64..10_000_000_000, phase in 0_u64..1_000,
            mut times in proptest::collection::vec(0_i64..500_000_000, 1..20),
        ) {
            let mut load = Load::new(Pace::Burst(Duration::from_micros(length)), 0);
            load.session_started(0);
            times.sort_unstable();
            let read = |at: i64| load.progress(at).amount_with_phase(total, phase, 1_000);
            for pair in times.windows(2) {
                prop_assert!(read(pair[0]) <= read(pair[1]));
            }
            prop_assert_eq!(read(0), 0);
            prop_assert_eq!(read(500_000_000), total);
        }
    }
}
