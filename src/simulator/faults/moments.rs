//! Owns the faults of a moment: what happens once, at a statement.

use crate::simulator::faults::{At, Fault, FaultKind};
use crate::simulator::host::{CutAt, Disturbance};
use std::time::Duration;

/// Bytes that `drip` without a value sends in a second: a short answer takes seconds.
const DRIP_BYTES_PER_SECOND: u32 = 1_000;

/// The farthest that `clock-jump` goes: a hundred years.
const FARTHEST_JUMP_SECONDS: i64 = 3_155_760_000;

/// The longest `stall` with a value.
const LONGEST_STALL: Duration = Duration::from_hours(24);

/// How event sessions of clients go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vanish {
    /// Dropped, from the catalogue too.
    Dropped,
    /// Stopped; the catalogue keeps them.
    Stopped,
}

/// What becomes of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseChange {
    /// It has another name.
    Renamed,
    /// It is gone.
    Dropped,
    /// It was offline and is online again: its files count anew.
    Offline,
}

/// What happens once, just before a statement or to its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// `cut`, `stall`, `drip`: to the answer of this statement.
    Answer(Disturbance),
    /// `restart`: the server process ends and runs again.
    Restart,
    /// `failover[=NAME]`: another node answers from now on.
    Failover(Option<String>),
    /// `vanish[=dropped|stopped]`: somebody else does this to the event sessions that clients made.
    Vanish(Vanish),
    /// `clock-jump=±SECONDS`: the UTC clock, by that many seconds.
    ClockJump(i64),
    /// `stats-cleared`: somebody clears wait, latch and spinlock statistics.
    StatsCleared,
    /// `renamed-database[=NAME]`, `dropped-database[=NAME]`, `offline-database[=NAME]`: of the database of that name,
    /// without one of the workload's own.
    Database(DatabaseChange, Option<String>),
}

impl Moment {
    /// By name and value; `None` for a name that is none of a moment, or a value that it does not take.
    pub(super) fn parse(name: &str, value: &str) -> Option<Self> {
        Some(match (name, value) {
            ("cut", "before") => Self::Answer(Disturbance::Cut(CutAt::Before)),
            ("cut", "" | "after") => Self::Answer(Disturbance::Cut(CutAt::After)),
            ("cut", "mid-row") => Self::Answer(Disturbance::Cut(CutAt::MidRow)),
            ("stall", "") => Self::Answer(Disturbance::Stall(None)),
            ("stall", seconds) => {
                let time = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
                Self::Answer(Disturbance::Stall(Some(time).filter(|time| *time <= LONGEST_STALL)?.into()))
            }
            ("drip", "") => Self::Answer(Disturbance::Drip(DRIP_BYTES_PER_SECOND)),
            ("drip", rate) => Self::Answer(Disturbance::Drip(rate.parse().ok().filter(|rate| *rate > 0)?)),
            ("restart", "") => Self::Restart,
            ("failover", "") => Self::Failover(None),
            ("failover", name) => Self::Failover(Some(name.to_owned())),
            ("vanish", "" | "dropped") => Self::Vanish(Vanish::Dropped),
            ("vanish", "stopped") => Self::Vanish(Vanish::Stopped),
            ("clock-jump", seconds) => {
                let seconds = seconds.parse().ok()?;
                let near = -FARTHEST_JUMP_SECONDS..=FARTHEST_JUMP_SECONDS;
                Self::ClockJump(Some(seconds).filter(|seconds| near.contains(seconds))?)
            }
            ("stats-cleared", "") => Self::StatsCleared,
            ("renamed-database", name) => Self::Database(DatabaseChange::Renamed, given(name)),
            ("dropped-database", name) => Self::Database(DatabaseChange::Dropped, given(name)),
            ("offline-database", name) => Self::Database(DatabaseChange::Offline, given(name)),
            _ => return None,
        })
    }
}

/// A value that may be left out.
fn given(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_owned())
}

/// The moments of one instance that are still to come.
#[derive(Debug, Clone, Default)]
pub struct Moments {
    waiting: Vec<(At, Moment)>,
}

impl Moments {
    /// Those of the faults.
    pub fn from_faults(faults: &[Fault]) -> Self {
        let of = |fault: &Fault| match (&fault.kind, &fault.at) {
            (FaultKind::Moment(moment), Some(at)) => Some((at.clone(), moment.clone())),
            _ => None,
        };
        Self { waiting: faults.iter().filter_map(of).collect() }
    }

    /// Whether none is to come.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The name that a failover gives, if there is one to come.
    pub fn failover(&self) -> Option<Option<&str>> {
        self.waiting.iter().find_map(|(_, moment)| match moment {
            Moment::Failover(name) => Some(name.as_deref()),
            _ => None,
        })
    }

    /// What happens at this statement, in the order given; it does not happen again. Of faults that were given twice,
    /// one happens at a time.
    pub fn take(&mut self, at: &At) -> Vec<Moment> {
        let mut taken = Vec::new();
        self.waiting.retain(|(place, moment)| {
            let now = place == at && !taken.contains(moment);
            if now {
                taken.push(moment.clone());
            }
            !now
        });
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::{At, Moment, Moments, Vanish};

    #[test]
    fn a_moment_comes_once_and_equal_ones_one_at_a_time() {
        let faults = ["restart@start", "restart@start", "vanish=stopped@start", "stats-cleared@3"];
        let faults: Vec<_> = faults.iter().map(|fault| fault.parse().unwrap()).collect();
        let mut moments = Moments::from_faults(&faults);
        let start = At::Statement("start".into());
        assert_eq!(moments.take(&At::Number(2)), []);
        assert_eq!(moments.take(&start), [Moment::Restart, Moment::Vanish(Vanish::Stopped)]);
        assert_eq!(moments.take(&At::Number(3)), [Moment::StatsCleared]);
        assert_eq!(moments.take(&start), [Moment::Restart]);
        assert_eq!(moments.take(&start), []);
    }
}
