//! Owns waits other than the yields of a workload that yields: what they come to, and making their events.

use crate::simulator::maps;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::background::LatchIncrement;
use crate::simulator::workload::callers::Callers;
use crate::simulator::workload::kinds::{
    self, EventKind, FieldValue, Rhythm, WaitKind, number, push_external_wait, push_wait,
};
use crate::simulator::workload::paths::{self, Path};
use crate::simulator::workload::shares::{seeded_weights, split};
use crate::simulator::workload::stacks::{self, StackTable};
use crate::simulator::workload::{spinlocks, wait_types};

/// Waits of one burst that are of one type and for one thing.
#[derive(Debug, Clone)]
pub struct Waits {
    /// Name in sys.dm_os_wait_stats. A version that does not have it has none of these waits.
    pub wait_type: &'static str,
    /// How many.
    pub count: u64,
    /// Their wait time.
    pub wait_ms: u64,
    /// Part of it that is signal wait.
    pub signal_ms: u64,
    /// Where they wait: what stands under the frames of the wait itself, and of the latch where it is one.
    pub paths: Vec<Path>,
    /// What they wait for in words, `2:1:1` for a page.
    pub resource: Option<&'static str>,
    /// Of LATCH_*, the class in sys.dm_os_latch_stats.
    pub latch_class: Option<&'static str>,
    /// The database of the sessions that wait; `None`: the workload's own.
    pub database_id: Option<i32>,
    /// `query_hash` of the statement that waits; `None`: any of the workload's, by their shares.
    pub statement: Option<u64>,
}

impl Waits {
    /// Waits along the usual path of their type, for nothing that has a name.
    pub fn new(wait_type: &'static str, count: u64, wait_ms: u64, signal_ms: u64) -> Self {
        let paths = paths::waits::usual(wait_type);
        Self {
            wait_type,
            count,
            wait_ms,
            signal_ms,
            paths,
            resource: None,
            latch_class: None,
            database_id: None,
            statement: None,
        }
    }

    /// Along these paths.
    #[must_use]
    pub fn along(self, paths: Vec<Path>) -> Self {
        Self { paths, ..self }
    }

    /// For this.
    #[must_use]
    pub fn on(self, resource: &'static str) -> Self {
        Self { resource: Some(resource), ..self }
    }

    /// For latches of this class.
    #[must_use]
    pub fn of_class(self, latch_class: &'static str) -> Self {
        Self { latch_class: Some(latch_class), ..self }
    }

    /// By sessions in this database.
    #[must_use]
    pub fn in_database(self, database_id: i32) -> Self {
        Self { database_id: Some(database_id), ..self }
    }

    /// By this statement, which is one of the workload's.
    #[must_use]
    pub fn by(self, query_hash: u64) -> Self {
        Self { statement: Some(query_hash), ..self }
    }

    /// Whether they are for a page in memory, or one that is being read.
    fn is_for_page(&self) -> bool {
        self.wait_type.starts_with("PAGELATCH_") || self.wait_type.starts_with("PAGEIOLATCH_")
    }

    /// Whether the events are those of waits outside of the scheduler.
    fn is_external(&self) -> bool {
        self.wait_type.starts_with("PREEMPTIVE_")
    }

    /// Class in sys.dm_os_latch_stats.
    fn class(&self) -> Option<&'static str> {
        if self.is_for_page() { Some("BUFFER") } else { self.latch_class }
    }

    /// What they add to sys.dm_os_latch_stats. Assumed: it counts a wait's time a little shorter than
    /// sys.dm_os_wait_stats does, up to the moment at which the latch is granted.
    pub fn latches(&self) -> Option<LatchIncrement> {
        let wait_ms = if self.is_for_page() { self.wait_ms } else { self.wait_ms - self.wait_ms * 3 / 100 };
        self.class().map(|class| (class, self.count, wait_ms))
    }

    /// Runs of equal waits: how many, how long each, how much of that for the scheduler. Together they come to the exact
    /// totals; the signal wait is nowhere longer than the wait.
    fn runs(&self) -> Vec<(u64, u64, u64)> {
        let count = self.count.max(1);
        let (each, longer) = (self.wait_ms / count, self.wait_ms % count);
        let signal_ms = self.signal_ms.min(self.wait_ms);
        let (each_signal, longer_signal) = (signal_ms / count, signal_ms % count);
        let (both, one) = (longer.min(longer_signal), longer.max(longer_signal));
        let between = (each + u64::from(longer > both), each_signal + u64::from(longer_signal > both));
        let runs = [
            (both, each + 1, each_signal + 1),
            (one - both, between.0, between.1),
            (self.count.saturating_sub(one), each, each_signal),
        ];
        runs.into_iter().filter(|(count, ..)| *count > 0).collect()
    }
}

/// The numbers of a wait's stacks.
struct Stacks {
    begin: usize,
    end: usize,
    completed: usize,
    suspend_end: Option<usize>,
}

/// Fields of latch_suspend_end: those of the latch, and of the page where it is one.
struct Latch {
    class: u64,
    mode: u64,
    page: Vec<(&'static str, FieldValue)>,
}

impl Latch {
    fn of(version: &VersionData, waits: &Waits) -> Option<Self> {
        let class = waits.class()?;
        let map_text = spinlocks::latch_classes().iter().find(|known| known.name == class)?.map_text;
        let key = |map: &str, text: &str| maps::map(version, map).and_then(|map| map.key(text)).map_or(0, u64::from);
        let (_, mode) = waits.wait_type.rsplit_once('_')?;
        let parts = waits.resource.filter(|_| waits.is_for_page()).into_iter().flat_map(|page| page.split(':'));
        let page = ["database_id", "file_id", "page_id"].into_iter().zip(parts);
        Some(Self {
            class: key("latch_class", map_text),
            mode: key("latch_mode", mode),
            page: page.filter_map(|(field, part)| Some((field, number(part.parse::<u64>().ok()?)))).collect(),
        })
    }

    /// Assumed: the duration is in microseconds.
    fn event(
        &self,
        stack: usize,
        duration_ms: u64,
        common: &[(&'static str, FieldValue)],
        rhythm: Rhythm,
    ) -> EventKind {
        let mut values =
            vec![("class", number(self.class)), ("mode", number(self.mode)), ("duration", number(duration_ms * 1_000))];
        values.extend(self.page.iter().chain(common).cloned());
        EventKind { event: "latch_suspend_end", values, stack, rhythm }
    }
}

/// The events of all these waits.
pub fn add_waits(
    version: &'static VersionData,
    all: &[Waits],
    callers: &Callers<'_>,
    stacks: &mut StackTable,
    kinds: &mut Vec<EventKind>,
    random: &mut fastrand::Rng,
) {
    for waits in all {
        let weights = seeded_weights(waits.paths.iter().map(|path| path.weight), random);
        let known = wait_types::of_version(version.version).find(|known| known.name == waits.wait_type);
        let Some(known) = known else { continue };
        let key = kinds::wait_key(version, known.map_text);
        let latch = Latch::of(version, waits);
        // A line of waits in the order of their paths and callers, cut where the length of a wait changes.
        let mut runs = waits.runs().into_iter();
        let mut run = runs.next();
        for (path, count) in waits.paths.iter().zip(split(waits.count, &weights)) {
            let numbers = add_stacks(version, waits, path, stacks);
            for (caller, mut open) in callers.of(count, waits.statement) {
                let common = caller.values(waits.database_id);
                while let Some((left, duration, signal)) = run.filter(|_| open > 0) {
                    let share = open.min(left);
                    open -= share;
                    run = if share < left { Some((left - share, duration, signal)) } else { runs.next() };
                    let rhythm = Rhythm::Load { share, phase: 0 };
                    let wait = WaitKind { key, rhythm, duration, signal, resource: waits.resource };
                    if waits.is_external() {
                        push_external_wait(kinds, version, &common, [numbers.begin, numbers.end], &wait);
                    } else {
                        let of_wait = [numbers.begin, numbers.end, numbers.completed];
                        push_wait(kinds, version, &common, of_wait, &wait);
                    }
                    if let (Some(latch), Some(stack)) = (&latch, numbers.suspend_end) {
                        kinds.push(latch.event(stack, duration, &common, rhythm));
                    }
                }
            }
        }
    }
}

fn add_stacks(version: &VersionData, waits: &Waits, path: &Path, stacks: &mut StackTable) -> Stacks {
    let bottom = stacks::batch_bottom(version);
    let mut add = |top: &[&str]| stacks.add(top.iter().copied().chain(path.frames()).chain(bottom.iter().copied()));
    if waits.is_external() {
        let end = add(&stacks::EXTERNAL_END);
        return Stacks { begin: add(&stacks::EXTERNAL_BEGIN), end, completed: end, suspend_end: None };
    }
    // A path to a yield holds what it sleeps in.
    let primitive: &[&str] = if waits.wait_type == "SOS_SCHEDULER_YIELD" { &[] } else { &[stacks::primitive(version)] };
    let suspended: &[&str] = if waits.class().is_some() { &stacks::LATCH_SUSPENDED } else { &[] };
    let mut under = |top: &[&'static str]| add(&[top, primitive, suspended].concat());
    let [begin, end, completed] = [stacks::WAIT_BEGIN, stacks::WAIT_END, stacks::WAIT_COMPLETED].map(|top| under(&top));
    let suspend_end = waits.class().map(|_| add(&[[stacks::LATCH_SUSPEND_END].as_slice(), suspended].concat()));
    Stacks { begin, end, completed, suspend_end }
}

#[cfg(test)]
mod tests {
    use super::Waits;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_come_to_the_totals(count in 1_u64..10_000, wait_ms in 0_u64..1_000_000, part in 0_u64..=100) {
            let signal_ms = wait_ms * part / 100;
            let runs = Waits::new("WRITELOG", count, wait_ms, signal_ms).runs();
            let sum = |of: fn(&(u64, u64, u64)) -> u64| runs.iter().map(of).sum::<u64>();
            let found = (sum(|run| run.0), sum(|run| run.0 * run.1), sum(|run| run.0 * run.2));
            prop_assert_eq!(found, (count, wait_ms, signal_ms));
            prop_assert!(runs.iter().all(|(_, duration, signal)| signal <= duration));
        }
    }
}
