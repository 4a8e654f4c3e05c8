//! Owns running event sessions: which events fired since when, and when the targets get them.
//!
//! Nothing fires by itself. On each access a session takes what every kind of event did since the last dispatch, in
//! short slices of time, evaluates the predicates, and feeds its targets.

use crate::simulator::events::callstack::{StackWriter, Symbols};
use crate::simulator::events::catalogue::EventObject;
use crate::simulator::events::histogram::Overflow;
use crate::simulator::events::options::Options;
use crate::simulator::events::predicate::Predicate;
use crate::simulator::events::session::{BoundEvent, Definition, Scope};
use crate::simulator::events::targets::{Batch, RunningTarget};
use crate::simulator::instance::Moment;
use crate::simulator::workload::Truth;
use crate::simulator::workload::counters::Reading;
use crate::simulator::workload::kinds::EventKind;
use crate::simulator::workload::pace::Load;
use std::sync::Arc;

/// What the sessions look at.
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    /// What happens.
    pub truth: &'a Truth,
    /// When.
    pub load: &'a Load,
    /// When the simulated time began, on the monotonic clock.
    pub origin: i64,
    /// Now.
    pub now: Moment,
    /// Writes stacks.
    pub writer: StackWriter<'a>,
    /// Set when call stacks become text at dispatch.
    pub symbolise_at_dispatch: Option<Symbols>,
    /// What full histograms do.
    pub overflow: Overflow,
}

impl World<'_> {
    /// Where counters stand at a moment.
    pub fn reading(&self, at: i64) -> Reading {
        Reading { progress: self.load.progress(at), elapsed_micros: at.saturating_sub(self.origin).max(0) as u64 }
    }
}

/// An event of a running session.
#[derive(Debug, Clone)]
pub struct RunningEvent {
    /// Its definition.
    pub bound: Arc<BoundEvent>,
    /// How many passed its predicate and were dispatched.
    pub fired: u64,
    counters: Vec<u64>,
    from: i64,
    /// When it was dropped from the session; it stays until all it fired is dispatched.
    until: Option<i64>,
}

/// A running session.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct RunningSession {
    pub scope: Scope,
    pub name: String,
    pub address: u64,
    pub created: Moment,
    pub options: Options,
    pub events: Vec<RunningEvent>,
    pub targets: Vec<RunningTarget>,
    /// Everything fired before this moment is in the targets.
    dispatched: i64,
}

/// Events fire in slices of this length, so that a counter in a predicate meets them in about their order.
const SLICE_MICROS: i64 = 50_000;

/// Slices of one access, so that a session left alone for days does not take long.
const MAX_SLICES: i64 = 1_000;

impl RunningSession {
    /// Starts.
    pub fn start(definition: &Definition, address: u64, world: &World<'_>) -> Self {
        let now = world.now.monotonic;
        let mut session = Self {
            scope: definition.scope.clone(),
            name: definition.name.clone(),
            address,
            created: world.now,
            options: definition.options.clone(),
            events: Vec::new(),
            targets: Vec::new(),
            dispatched: now,
        };
        session.follow(definition, world);
        session
    }

    /// Takes over what ALTER did to the definition.
    pub fn follow(&mut self, definition: &Definition, world: &World<'_>) {
        let now = world.now.monotonic;
        self.options = definition.options.clone();
        for event in &mut self.events {
            let kept = definition.events.iter().any(|bound| Arc::ptr_eq(bound, &event.bound));
            if !kept && event.until.is_none() {
                event.until = Some(now);
            }
        }
        for bound in &definition.events {
            if !self.events.iter().any(|event| Arc::ptr_eq(bound, &event.bound)) {
                let counters = bound.predicate.as_ref().map(Predicate::new_counters).unwrap_or_default();
                self.events.push(RunningEvent { bound: Arc::clone(bound), fired: 0, counters, from: now, until: None });
            }
        }
        self.targets.retain(|target| definition.targets.iter().any(|bound| Arc::ptr_eq(bound, &target.bound)));
        for bound in &definition.targets {
            if !self.targets.iter().any(|target| Arc::ptr_eq(bound, &target.bound)) {
                self.targets.push(RunningTarget::new(bound, world.overflow));
            }
        }
    }

    /// Whether MAX_DURATION has passed: the session has stopped by itself.
    pub fn is_over(&self, now: i64) -> bool {
        let limit = self.options.max_duration_ms.and_then(|ms| i64::try_from(ms.saturating_mul(1_000)).ok());
        limit.is_some_and(|limit| now.saturating_sub(self.created.monotonic) >= limit)
    }

    /// Events that are still in the session.
    pub fn live_events(&self) -> impl Iterator<Item = &RunningEvent> {
        self.events.iter().filter(|event| event.until.is_none())
    }

    /// The last moment at which buffers were dispatched: every MAX_DISPATCH_LATENCY from the start on. Assumed: with
    /// INFINITE latency no buffer fills up, so none is dispatched.
    fn last_dispatch(&self, now: i64) -> i64 {
        let Some(latency) = self.options.dispatch_latency_ms.and_then(|ms| i64::try_from(ms * 1_000).ok()) else {
            return self.created.monotonic;
        };
        let running = now.saturating_sub(self.created.monotonic).max(0);
        self.created.monotonic + running - running % latency.max(1)
    }

    /// Dispatches what is due.
    pub fn advance(&mut self, world: &World<'_>) {
        let due = self.last_dispatch(world.now.monotonic);
        let (from, span) = (self.dispatched, due - self.dispatched);
        if span <= 0 {
            return;
        }
        let slices = (span / SLICE_MICROS).clamp(1, MAX_SLICES);
        let edge = |slice: i64| from + (i128::from(span) * i128::from(slice) / i128::from(slices)) as i64;
        let Self { events, targets, scope, .. } = self;
        let sees_workload = scope.has_workload(&world.truth.storage);
        let kinds: Vec<Vec<usize>> = events
            .iter()
            .map(|event| if sees_workload { kinds_of(event.bound.object, world.truth) } else { Vec::new() })
            .collect();
        for slice in 0..slices {
            for (event, kinds) in events.iter_mut().zip(&kinds) {
                let begin = edge(slice).max(event.from);
                let end = edge(slice + 1).min(event.until.unwrap_or(i64::MAX));
                if begin < end {
                    fire(event, targets, kinds, slice as usize, (begin, end), world);
                }
            }
        }
        let latency = self.options.dispatch_latency_ms.unwrap_or(0).saturating_mul(1_000).max(1);
        for target in targets.iter_mut() {
            target.executions += span as u64 / latency;
        }
        self.dispatched = due;
        self.events.retain(|event| event.until.is_none_or(|until| until > due));
    }
}

/// Numbers of the kinds of an event.
fn kinds_of(event: &EventObject, truth: &Truth) -> Vec<usize> {
    let of_event = |(index, kind): (usize, &EventKind)| (kind.event == event.name).then_some(index);
    truth.kinds.iter().enumerate().filter_map(of_event).collect()
}

/// Fires what happened between two moments, a different kind first each time.
fn fire(
    event: &mut RunningEvent,
    targets: &mut [RunningTarget],
    kinds: &[usize],
    slice: usize,
    (begin, end): (i64, i64),
    world: &World<'_>,
) {
    let (before, after) = (world.reading(begin), world.reading(end));
    let utc_micros = world.now.utc - (world.now.monotonic - end);
    let first = (slice * 7).checked_rem(kinds.len()).unwrap_or(0);
    let (later, sooner) = kinds.split_at(first);
    for &index in sooner.iter().chain(later) {
        let Some(kind) = world.truth.kinds.get(index) else { continue };
        let fired = kind.fired(after).saturating_sub(kind.fired(before));
        let count = match &event.bound.predicate {
            Some(predicate) if fired > 0 => predicate.passing(kind, fired, &mut event.counters),
            _ => fired,
        };
        if count == 0 {
            continue;
        }
        event.fired += count;
        let symbolise_now = world.symbolise_at_dispatch;
        let batch = Batch { kind, index, event: &event.bound, count, utc_micros, symbolise_now };
        for target in targets.iter_mut() {
            target.take(&batch, world.writer);
        }
    }
}
