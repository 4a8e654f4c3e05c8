//! Owns the limits that keep an open window from hurting its server: what each sample is held against, and when the
//! window has to end for it. Pure: samples in, judgement out.

use crate::agent::counters;
use crate::agent::outcome::CaptureOptions;
use crate::catalog::sessions::{Limits, Scenario};
use crate::model::Snapshot;

/// Bytes of the smallest event, by which a dropped buffer is counted in events (as in `verdict.toml`).
const SMALLEST_EVENT_BYTES: i64 = 64;

/// How busy SQL Server was before the window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Load {
    /// Share of its schedulers that it used, 0 to 1.
    pub cpu_share: Option<f64>,
    /// Tasks that waited for a worker.
    pub queued: i64,
}

/// The limits of one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GuardLimits {
    max_dropped_events: u64,
    max_cpu_share: f64,
    max_cpu_growth: f64,
    max_own_cpu_share: f64,
    successive_samples: u32,
}

impl GuardLimits {
    /// The strictest of the scenarios', where the options do not say otherwise.
    pub(super) fn new(scenarios: &[Scenario], options: &CaptureOptions) -> Self {
        let limits = || scenarios.iter().map(|scenario| &scenario.limits);
        let least = |of: fn(&Limits) -> f64| limits().map(of).fold(1.0, f64::min);
        let given = &options.guards;
        Self {
            max_dropped_events: given
                .max_dropped_events
                .unwrap_or_else(|| limits().map(|limits| limits.max_dropped_events).min().unwrap_or_default()),
            max_cpu_share: given.max_cpu_share.unwrap_or_else(|| least(|limits| limits.max_cpu_share)),
            max_cpu_growth: given.max_cpu_growth.unwrap_or_else(|| least(|limits| limits.max_cpu_growth)),
            max_own_cpu_share: given.max_own_cpu_share.unwrap_or_else(|| least(|limits| limits.max_own_cpu_share)),
            successive_samples: limits().map(|limits| limits.successive_samples).min().unwrap_or(1).max(1),
        }
    }
}

/// What follows from a sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Judgement {
    /// Nothing.
    GoOn,
    /// Polling costs too much: it must become rarer.
    PollLess,
    /// The window must end: which limit, and the value that is beyond it.
    End(String),
}

/// Watches over one window, sample by sample.
#[derive(Debug)]
pub(super) struct Guard {
    limits: GuardLimits,
    load_before: Load,
    /// Event sessions of this run.
    sessions: Vec<String>,
    last: Snapshot,
    cpu_above: u32,
    queued: u32,
    /// Own session, its CPU and the server's clock from which own cost is counted, all in ms but the first.
    own_since: Option<OwnCost>,
    polls_less: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct OwnCost {
    session_id: i64,
    cpu_ms: i64,
    ms_ticks: i64,
}

impl Guard {
    /// A guard from the first counters on.
    pub(super) fn new(limits: GuardLimits, load_before: Load, sessions: Vec<String>, first: &Snapshot) -> Self {
        Self {
            limits,
            load_before,
            sessions,
            last: first.clone(),
            cpu_above: 0,
            queued: 0,
            own_since: own_cost(first),
            polls_less: false,
        }
    }

    /// Judges a sample. What a sample does not tell changes nothing.
    pub(super) fn judge(&mut self, sample: &Snapshot) -> Judgement {
        let cpu_share = counters::cpu_share(&self.last, sample);
        self.last = sample.clone();
        let judged = [self.drops(sample), self.cpu(cpu_share), self.workers(sample)];
        if let Some(reason) = judged.into_iter().flatten().next() {
            return Judgement::End(reason);
        }
        self.own_cost(sample)
    }

    fn drops(&self, sample: &Snapshot) -> Option<String> {
        let (events, buffers, most) = dropped(sample, &self.sessions)?;
        let limit = self.limits.max_dropped_events;
        (most > limit).then(|| {
            let whole = if buffers > 0 { format!(" and {buffers} buffers full of them") } else { String::new() };
            format!(
                "its event sessions dropped {events} events{whole}, more than the limit of {limit} (max_dropped_events)"
            )
        })
    }

    fn cpu(&mut self, cpu_share: Option<f64>) -> Option<String> {
        let GuardLimits { max_cpu_share, max_cpu_growth, successive_samples, .. } = self.limits;
        let (now, before) = (cpu_share?, self.load_before.cpu_share?);
        let is_above = now > max_cpu_share && now - before > max_cpu_growth;
        self.cpu_above = if is_above { self.cpu_above + 1 } else { 0 };
        (self.cpu_above >= successive_samples).then(|| {
            format!(
                "SQL Server's CPU rose from {:.0} % to {:.0} % of its schedulers and stayed there for {successive_samples} \
                 samples, beyond the limits of {:.0} % and {:.0} points of growth (max_cpu_share, max_cpu_growth)",
                before * 100.0,
                now * 100.0,
                max_cpu_share * 100.0,
                max_cpu_growth * 100.0
            )
        })
    }

    fn workers(&mut self, sample: &Snapshot) -> Option<String> {
        sample.tables.get("dm_os_schedulers")?;
        let queued = counters::work_queue(sample);
        self.queued = if queued > 0 && self.load_before.queued == 0 { self.queued + 1 } else { 0 };
        (self.queued >= self.limits.successive_samples).then(|| {
            format!(
                "tasks waited for a worker in {} successive samples, {queued} in the last, and none did before \
                 (successive_samples)",
                self.queued
            )
        })
    }

    fn own_cost(&mut self, sample: &Snapshot) -> Judgement {
        let Some(now) = own_cost(sample) else { return Judgement::GoOn };
        let since = match self.own_since {
            Some(since) if since.session_id == now.session_id && since.cpu_ms <= now.cpu_ms => since,
            // After a reconnect another session pays.
            _ => {
                self.own_since = Some(now);
                return Judgement::GoOn;
            }
        };
        let elapsed_ms = now.ms_ticks - since.ms_ticks;
        let share = (now.cpu_ms - since.cpu_ms) as f64 / elapsed_ms as f64;
        if elapsed_ms <= 0 || share <= self.limits.max_own_cpu_share {
            return Judgement::GoOn;
        }
        self.own_since = Some(now);
        if !std::mem::replace(&mut self.polls_less, true) {
            return Judgement::PollLess;
        }
        Judgement::End(format!(
            "its own polls took {:.1} % of one core, also when they were made rarer, more than the limit of {:.1} % \
             (max_own_cpu_share)",
            share * 100.0,
            self.limits.max_own_cpu_share * 100.0
        ))
    }
}

/// Dropped events, dropped buffers, and the most events that both can have been, over some sessions.
fn dropped(sample: &Snapshot, sessions: &[String]) -> Option<(u64, u64, u64)> {
    let table = sample.tables.get("dm_xe_sessions")?;
    let ours = (0..table.rows.len())
        .filter(|row| table.text(*row, "name").is_some_and(|name| sessions.iter().any(|ours| ours == name)));
    let count = |row: usize, column: &str| u64::try_from(table.integer(row, column).unwrap_or(0)).unwrap_or(0);
    let mut sums = (0_u64, 0_u64, 0_u64);
    for row in ours {
        let (events, buffers) = (count(row, "dropped_event_count"), count(row, "dropped_buffer_count"));
        let in_one = (count(row, "regular_buffer_size") / SMALLEST_EVENT_BYTES as u64).max(1);
        sums.0 = sums.0.saturating_add(events);
        sums.1 = sums.1.saturating_add(buffers);
        sums.2 = sums.2.saturating_add(events).saturating_add(buffers.saturating_mul(in_one));
    }
    Some(sums)
}

fn own_cost(sample: &Snapshot) -> Option<OwnCost> {
    let own = sample.tables.get("dm_exec_sessions")?;
    Some(OwnCost {
        session_id: own.integer(0, "session_id")?,
        cpu_ms: own.integer(0, "cpu_time")?,
        ms_ticks: sample.tables.get("dm_os_sys_info")?.integer(0, "ms_ticks")?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Guard, GuardLimits, Judgement, Load};
    use crate::model::{Snapshot, Table, Value};

    const LIMITS: GuardLimits = GuardLimits {
        max_dropped_events: 10_000,
        max_cpu_share: 0.98,
        max_cpu_growth: 0.10,
        max_own_cpu_share: 0.02,
        successive_samples: 3,
    };

    /// One sample: seconds, CPU ms of SQL Server, tasks queued on one of its two schedulers, dropped events and buffers
    /// of our session, own session and CPU ms.
    #[derive(Clone, Copy)]
    struct Given {
        second: i64,
        cpu_ms: i64,
        queued: i64,
        dropped: (i64, i64),
        own: (i64, i64),
    }

    const QUIET: Given = Given { second: 0, cpu_ms: 0, queued: 0, dropped: (0, 0), own: (60, 0) };

    fn table(columns: &[&str], rows: &[&[Value]]) -> Table {
        Table {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: rows.iter().map(|row| row.to_vec()).collect(),
        }
    }

    fn sample(given: Given) -> Snapshot {
        let int = Value::Integer;
        let name = |name: &str| Value::Text(name.to_owned());
        let schedulers =
            table(&["scheduler_id", "work_queue_count"], &[&[int(0), int(0)], &[int(1), int(given.queued)]]);
        let info = table(
            &["ms_ticks", "process_kernel_time_ms", "process_user_time_ms"],
            &[&[int(given.second * 1_000), int(0), int(given.cpu_ms)]],
        );
        let own = table(&["session_id", "cpu_time"], &[&[int(given.own.0), int(given.own.1)]]);
        let columns = ["name", "dropped_event_count", "dropped_buffer_count", "regular_buffer_size"];
        let sessions = table(
            &columns,
            &[
                &[name("ours"), int(given.dropped.0), int(given.dropped.1), int(640_000)],
                &[name("OURS"), int(1_000_000), int(9), int(640_000)],
            ],
        );
        let tables = [
            ("dm_os_schedulers", schedulers),
            ("dm_os_sys_info", info),
            ("dm_exec_sessions", own),
            ("dm_xe_sessions", sessions),
        ];
        Snapshot {
            tables: tables.into_iter().map(|(name, table)| (name.to_owned(), table)).collect(),
            ..Snapshot::default()
        }
    }

    fn guard(cpu_share: Option<f64>, queued: i64) -> Guard {
        Guard::new(LIMITS, Load { cpu_share, queued }, vec!["ours".to_owned()], &sample(QUIET))
    }

    fn ended(judgement: &Judgement, limit: &str) -> bool {
        matches!(judgement, Judgement::End(reason) if reason.contains(limit))
    }

    #[test]
    fn dropped_events_end_the_window_above_their_limit() {
        for (dropped, ends) in
            [((10_000, 0), false), ((10_001, 0), true), ((0, 1), false), ((1, 1), true), ((0, 2), true)]
        {
            let judgement = guard(Some(0.5), 0).judge(&sample(Given { second: 1, dropped, ..QUIET }));
            assert_eq!(ended(&judgement, "max_dropped_events"), ends, "{dropped:?}: {judgement:?}");
        }
    }

    /// Judges samples a second apart with such CPU shares of the two schedulers.
    fn shares(cpu_before: Option<f64>, shares: &[f64]) -> Vec<Judgement> {
        let mut guard = guard(cpu_before, 0);
        let mut cpu_ms = 0;
        let judge = |(second, share): (i64, &f64)| {
            cpu_ms += (share * 2_000.0) as i64;
            guard.judge(&sample(Given { second, cpu_ms, ..QUIET }))
        };
        (1..).zip(shares).map(judge).collect()
    }

    #[test]
    fn cpu_ends_the_window_where_it_is_high_and_has_risen_in_successive_samples() {
        for (before, given, ends) in [
            (Some(0.5), &[0.99, 0.99, 0.99][..], true),
            (Some(0.5), &[1.04, 1.04, 1.04], true),
            (Some(0.5), &[0.99, 0.99], false),
            (Some(0.5), &[0.99, 0.99, 0.97, 0.99, 0.99], false),
            (Some(0.5), &[0.97, 0.97, 0.97, 0.97], false),
            (Some(0.90), &[1.0, 1.0, 1.0, 1.0], false),
            (Some(0.88), &[1.0, 1.0, 1.0], true),
            (None, &[1.0, 1.0, 1.0, 1.0], false),
        ] {
            let judged = shares(before, given);
            let last = judged.last().unwrap();
            assert_eq!(ended(last, "max_cpu_share"), ends, "{before:?} {given:?}: {judged:?}");
            assert!(judged.iter().rev().skip(1).all(|judgement| *judgement == Judgement::GoOn), "{judged:?}");
        }
    }

    #[test]
    fn queued_tasks_end_the_window_where_none_queued_before() {
        for (before, queues, ends) in
            [(0, &[1, 4, 2][..], true), (0, &[1, 4], false), (0, &[1, 0, 1, 1], false), (3, &[3, 3, 3, 3], false)]
        {
            let mut guard = guard(Some(0.5), before);
            let judged: Vec<Judgement> = (1..)
                .zip(queues)
                .map(|(second, queued)| guard.judge(&sample(Given { second, queued: *queued, ..QUIET })))
                .collect();
            assert_eq!(ended(judged.last().unwrap(), "worker"), ends, "{before} {queues:?}: {judged:?}");
        }
    }

    #[test]
    fn own_polls_become_rarer_before_they_end_the_window() {
        // Seconds, own session, its CPU in ms; session 61 is that of a new connection.
        let given = [
            (1, (60, 20), Judgement::GoOn),
            (2, (60, 41), Judgement::PollLess),
            (3, (61, 500), Judgement::GoOn),
            (4, (61, 520), Judgement::GoOn),
        ];
        let mut guard = guard(Some(0.5), 0);
        for (second, own, expected) in given {
            assert_eq!(guard.judge(&sample(Given { second, own, ..QUIET })), expected, "second {second}");
        }
        let judgement = guard.judge(&sample(Given { second: 5, own: (61, 545), ..QUIET }));
        assert!(ended(&judgement, "max_own_cpu_share"), "{judgement:?}");
    }

    #[test]
    fn what_a_sample_does_not_tell_ends_nothing() {
        let mut guard = guard(Some(0.5), 0);
        for _ in 0..5 {
            assert_eq!(guard.judge(&Snapshot::default()), Judgement::GoOn);
        }
        let mut same_moment = sample(Given { own: (60, 5), ..QUIET });
        assert_eq!(guard.judge(&same_moment), Judgement::GoOn);
        same_moment.tables.remove("dm_os_sys_info");
        assert_eq!(guard.judge(&same_moment), Judgement::GoOn);
    }
}
