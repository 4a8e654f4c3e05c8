//! Owns making a workload's events: as many as the counters say, shared out among its sessions and call paths.

use crate::simulator::maps;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::callers::Callers;
use crate::simulator::workload::kinds::{EventKind, FieldValue, Rhythm, WaitKind, number, push_wait, wait_key};
use crate::simulator::workload::paths::{self, Path};
use crate::simulator::workload::recipe::Recipe;
use crate::simulator::workload::shares::{seeded_weights, split};
use crate::simulator::workload::stacks::{self, StackTable};

/// A spinlock_backoff event is raised only when a back-off ends in a sleep, every eighth one (published remark). Published
/// histograms of some loads count far fewer.
pub const BACKOFFS_PER_EVENT: u64 = 8;

/// The length of a quantum in ms (documented).
const QUANTUM_MS: u64 = 4;

/// A run of equal yields: how many, how long each waited, how much of that for the scheduler.
type Run = (u64, u64, u64);

/// Gives `count` yields around `duration` ms, so that all of them together come to the exact totals.
struct Exactly {
    /// What every yield is longer by, in ms.
    lift: u64,
    /// Yields still to be lengthened by 1 ms more.
    longer: u64,
    /// Yields still to have 1 ms of resource wait.
    resource: u64,
}

impl Exactly {
    fn runs(&mut self, count: u64, duration: u64) -> Vec<Run> {
        let duration = duration + self.lift;
        let longer = count.min(self.longer);
        self.longer -= longer;
        let resource = count.min(self.resource);
        self.resource -= resource;
        let (both, all) = (longer.min(resource), longer.max(resource));
        let between = if longer >= resource { (duration + 1, duration + 1) } else { (duration, duration - 1) };
        [(both, duration + 1, duration), (all - both, between.0, between.1), (count - all, duration, duration)]
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .collect()
    }
}

/// The yields.
pub fn add_yields(
    version: &'static VersionData,
    recipe: &Recipe,
    callers: &Callers<'_>,
    stacks: &mut StackTable,
    kinds: &mut Vec<EventKind>,
    random: &mut fastrand::Rng,
) {
    let key = wait_key(version, "SOS_SCHEDULER_YIELD");
    let bottom = stacks::batch_bottom(version);
    for yields in &recipe.yields {
        // Each session has its own number of tasks ahead of it.
        let duration = |session: u16| yields.shortest_ms + QUANTUM_MS * u64::from(session % 5);
        let weights = seeded_weights(yields.paths.iter().map(|path| path.weight), random);
        let mut plan = Vec::new();
        for (path, count) in yields.paths.iter().zip(split(yields.count, &weights)) {
            let tops = [stacks::WAIT_BEGIN, stacks::WAIT_END, stacks::WAIT_COMPLETED];
            let numbers =
                tops.map(|top| stacks.add(top.into_iter().chain(path.frames()).chain(bottom.iter().copied())));
            plan.extend(callers.of(count, None).map(|(caller, count)| (caller, count, numbers)));
        }
        let planned: u64 = plan.iter().map(|(caller, count, _)| count * duration(caller.session)).sum();
        let missing = yields.wait_ms.saturating_sub(planned);
        let mut exactly = Exactly {
            lift: missing / yields.count.max(1),
            longer: missing % yields.count.max(1),
            resource: yields.wait_ms - yields.signal_ms,
        };
        for (caller, count, numbers) in plan {
            let common = caller.values(None);
            for (share, duration, signal) in exactly.runs(count, duration(caller.session)) {
                let rhythm = Rhythm::Load { share, phase: 0 };
                push_wait(
                    kinds,
                    version,
                    &common,
                    numbers,
                    &WaitKind { key, rhythm, duration, signal, resource: None },
                );
            }
        }
    }
}

/// The back-offs that end in a sleep.
pub fn add_backoffs(
    version: &'static VersionData,
    recipe: &Recipe,
    callers: &Callers<'_>,
    stacks: &mut StackTable,
    kinds: &mut Vec<EventKind>,
    random: &mut fastrand::Rng,
) {
    let bottom = stacks::batch_bottom(version);
    let types = maps::map(version, "spinlock_types");
    for row in &recipe.spins {
        // A version that does not have the spinlock counts nothing of it.
        let Some(key) = types.as_ref().and_then(|map| map.key(row.spinlock)) else { continue };
        let events = row.backoffs / recipe.backoffs_per_event;
        if events == 0 {
            continue;
        }
        let paths = match &recipe.special_backoffs {
            Some((spinlock, paths)) if *spinlock == row.spinlock => paths.clone(),
            _ => paths::backoffs::to_spinlock(version, row.spinlock),
        };
        let weights = seeded_weights(paths.iter().map(|path| path.weight), random);
        for (path, count) in paths.iter().zip(split(events, &weights)) {
            let stack = stacks.add(path.frames().chain(bottom.iter().copied()));
            for (caller, share) in callers.of(count, None) {
                let mut values = vec![
                    ("type", number(key)),
                    ("spins", number(row.spins / row.backoffs)),
                    ("backoffs", number(recipe.backoffs_per_event)),
                ];
                values.extend(caller.values(None));
                let rhythm = Rhythm::Load { share, phase: 0 };
                kinds.push(EventKind { event: "spinlock_backoff", values, stack, rhythm });
            }
        }
    }
}

/// Statements that complete, where somebody's event session looks at them.
pub fn add_statements(
    version: &'static VersionData,
    recipe: &Recipe,
    callers: &Callers<'_>,
    stacks: &mut StackTable,
    kinds: &mut Vec<EventKind>,
) {
    let Some((statements, _)) = recipe.observer else { return };
    let path = Path::new(paths::STATEMENT_COMPLETED, 1).below(paths::STATEMENTS);
    let stack = stacks.add(path.frames().chain(stacks::batch_bottom(version)));
    for (caller, share) in callers.of(statements, None) {
        let mut values = vec![
            ("duration", number(310_u64)),
            ("cpu_time", number(290_u64)),
            ("logical_reads", number(2_u64)),
            ("row_count", number(1_u64)),
            ("statement", FieldValue::Text(caller.statement_text().to_owned())),
        ];
        values.extend(caller.values(None));
        let rhythm = Rhythm::Load { share, phase: 0 };
        kinds.push(EventKind { event: "sql_statement_completed", values, stack, rhythm });
    }
}
