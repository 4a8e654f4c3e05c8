//! Owns shares of events as intervals that hold the true share.

use crate::{
    catalog::ShareSettings,
    model::{Basis, Interval, SessionEvidence, Share, StackClass},
};
use std::collections::BTreeMap;

/// Events of one or more sessions, by what is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Events whose class is proven.
    pub placed: BTreeMap<StackClass, u128>,
    /// Events with a stack that may belong to any class, because the target was at capacity.
    pub unplaced: u128,
    /// Events that found no slot, as the target says.
    pub without_slot: u128,
    /// Events that the session lost, at most.
    pub lost: u128,
    /// Whether `lost` and the document bound what is missing. Without a bound nothing is proven.
    pub bounded: bool,
}

impl Default for Tally {
    fn default() -> Self {
        Self { placed: BTreeMap::new(), unplaced: 0, without_slot: 0, lost: 0, bounded: true }
    }
}

impl Tally {
    /// Adds one session: the class and events of each of its slots.
    pub fn add(&mut self, session: &SessionEvidence, slots: &[(StackClass, u64)], settings: &ShareSettings) {
        let overfull = is_at_capacity(session) && events_without_slot(session).is_none();
        for &(class, count) in slots {
            let count = u128::from(count);
            let proven = if overfull { count.min(1) } else { count };
            let placed = self.placed.entry(class).or_default();
            *placed = placed.saturating_add(proven);
            self.unplaced = self.unplaced.saturating_add(count - proven);
        }
        self.without_slot = self.without_slot.saturating_add(events_without_slot(session).unwrap_or(0).into());
        match lost_events(session, settings) {
            Some(lost) => self.lost = self.lost.saturating_add(lost),
            None => self.bounded = false,
        }
    }

    /// Events with a stack.
    pub fn with_stack(&self) -> u128 {
        self.placed.values().fold(self.unplaced, |sum, events| sum.saturating_add(*events))
    }

    /// Events that may belong to any class.
    fn open(&self) -> u128 {
        self.unplaced.saturating_add(self.without_slot).saturating_add(self.lost)
    }

    /// The share of every class: low = proven; high = low + unresolved + without slot + lost. Fewer events than the
    /// setting widen by a Wilson interval; no events, or no bound on what is missing, leave everything open.
    pub fn shares(&self, settings: &ShareSettings) -> BTreeMap<StackClass, Share> {
        StackClass::ALL.iter().map(|class| (*class, self.share(*class, settings))).collect()
    }

    fn share(&self, class: StackClass, settings: &ShareSettings) -> Share {
        let with_stack = self.with_stack();
        let total = with_stack.saturating_add(self.without_slot).saturating_add(self.lost) as f64;
        if !self.bounded || with_stack == 0 {
            return Share { low: 0.0, high: 1.0, basis: Basis::Events };
        }
        let of = |class: StackClass| self.placed.get(&class).copied().unwrap_or(0);
        let proven = of(class);
        let unresolved = if class == StackClass::Unresolved { 0 } else { of(StackClass::Unresolved) };
        let possible = proven.saturating_add(unresolved).saturating_add(self.open());
        let Interval { low, high } = interval(proven as f64 / total, possible as f64 / total, with_stack, settings);
        Share { low, high, basis: Basis::Events }
    }
}

/// The interval of a share from the proven and the possible share among `events`; few of them widen it.
pub fn interval(proven: f64, possible: f64, events: u128, settings: &ShareSettings) -> Interval {
    let mut low = proven.clamp(0.0, 1.0);
    let mut high = possible.clamp(low, 1.0);
    if events < u128::from(settings.few_events) {
        low = low.min(wilson(low, events as f64, settings.wilson_z).0);
        high = high.max(wilson(high, events as f64, settings.wilson_z).1);
    }
    Interval { low, high }
}

/// Whether every bucket of the target is in use, so that more stacks may have come than are shown.
pub fn is_at_capacity(session: &SessionEvidence) -> bool {
    let target = session.target.as_ref();
    target
        .is_some_and(|target| target.buckets.is_some_and(|buckets| buckets > 0 && target.slots.len() as u64 >= buckets))
}

/// Events that found no slot, where the target says so. Not every build does: `truncated="0"` says nothing.
pub fn events_without_slot(session: &SessionEvidence) -> Option<u64> {
    session.target.as_ref().and_then(|target| target.truncated).filter(|events| *events > 0)
}

/// Events missing from the target, at most: those dropped, and dropped buffers full of the smallest events. `None`
/// where there is no bound: the document is cut or missing, or a server's session does not say what it dropped.
pub fn lost_events(session: &SessionEvidence, settings: &ShareSettings) -> Option<u128> {
    let readable = session.target.as_ref().is_some_and(|target| !target.cut)
        || (session.target.is_none() && !session.pasted.is_empty());
    if !readable || (session.live && session.dropped_events.is_none()) {
        return None;
    }
    let events = u128::from(session.dropped_events.unwrap_or(0));
    match session.dropped_buffers.unwrap_or(0) {
        0 => Some(events),
        buffers => {
            let in_one = session.buffer_bytes?.div_ceil(settings.smallest_event_bytes.max(1));
            Some(events.saturating_add(u128::from(buffers).saturating_mul(in_one.into())))
        }
    }
}

/// The Wilson score interval of a share among `n` events.
fn wilson(share: f64, n: f64, z: f64) -> (f64, f64) {
    let z2 = z * z;
    let center = share + z2 / (2.0 * n);
    let reach = z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    (((center - reach) / scale).clamp(0.0, 1.0), ((center + reach) / scale).clamp(0.0, 1.0))
}
