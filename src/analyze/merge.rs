//! Owns merging slots that show the same path: the same frames at other offsets, under other plumbing, cut at another
//! depth.

use super::{
    cache::{NameId, StackCache},
    classify::Classification,
    frames::{exact_key, merge_key, plumbing_depth},
    parallel,
};
use crate::model::{EventContext, Stack, StackClass, StackItem};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Fewer stacks than this are not worth a second thread.
const PARALLEL_FROM: usize = 512;
/// Threads for more; fixed, so that nothing depends on the machine.
const THREADS: usize = 4;

/// One slot's stack and where it stood.
#[derive(Debug, Clone, Copy)]
pub struct Located<'a> {
    /// Index of its document among the sessions.
    pub document: usize,
    /// Index of its slot in the document.
    pub slot: usize,
    /// Events.
    pub count: u64,
    /// What the events are.
    pub context: &'a EventContext,
    /// The stack.
    pub stack: &'a Stack,
}

/// One merged stack before it is numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedStack {
    /// Class, area and rule, of the most frequent slot.
    pub classification: Arc<Classification>,
    /// Events, without overflow.
    pub events: u128,
    /// (document, slot) of what was merged, ascending.
    pub slots: Vec<(usize, usize)>,
    /// Leading frames of it that are event plumbing.
    pub plumbing: usize,
    /// The stack of the most frequent slot; of the first of several.
    pub stack: Stack,
}

/// Merges slots, most events first, on as many threads as they are worth.
pub fn merge(stacks: &[Located<'_>], cache: &StackCache<'_>) -> Vec<MergedStack> {
    merge_on(stacks, cache, if stacks.len() < PARALLEL_FROM { 1 } else { THREADS })
}

/// [`merge`] on a number of threads, on which the result does not depend.
///
/// Leading plumbing is dropped. Of one document, let `max` be the depth of its deepest stack and `keep` the fewest frames
/// left among stacks of that depth: those are taken as cut, and compared by their first `keep` frames; a shorter stack
/// is complete and is compared whole. Unresolved stacks merge only where they are equal. Stacks of different context or
/// class do not merge.
pub fn merge_on(stacks: &[Located<'_>], cache: &StackCache<'_>, threads: usize) -> Vec<MergedStack> {
    let plumbing = &cache.catalog().plumbing;
    let prepared = parallel::map(stacks, threads, |located| {
        let ids = cache.merge_ids(&located.stack.frames);
        let classification = cache.classification(located.context, located.stack, &ids);
        if classification.class == StackClass::Unresolved {
            let ids = cache.exact_ids(&located.stack.frames);
            return Prepared { ids, dropped: 0, classification };
        }
        Prepared { ids, dropped: plumbing_depth(located.stack, plumbing), classification }
    });

    let mut cuts: BTreeMap<usize, Cut> = BTreeMap::new();
    for (located, prepared) in stacks.iter().zip(&prepared) {
        let left = prepared.ids.len() - prepared.dropped;
        cuts.entry(located.document).or_default().see(prepared.ids.len(), left);
    }

    let mut groups: HashMap<_, Vec<usize>> = HashMap::new();
    for (index, (located, prepared)) in stacks.iter().zip(&prepared).enumerate() {
        let class = prepared.classification.class;
        let depth = prepared.ids.len();
        let left = prepared.ids.get(prepared.dropped..).unwrap_or_default();
        let key = match cuts.get(&located.document) {
            Some(cut) if class != StackClass::Unresolved && cut.max == depth => left.get(..cut.keep).unwrap_or(left),
            _ => left,
        };
        let context = (located.context.event.as_deref(), located.context.wait_type.as_deref());
        groups.entry((context, class, key)).or_default().push(index);
    }

    let mut merged: Vec<MergedStack> = groups
        .into_values()
        .filter_map(|members| {
            let of = |index: &usize| stacks.get(*index).zip(prepared.get(*index));
            let (most, its) = members
                .iter()
                .filter_map(of)
                .max_by_key(|(located, _)| (located.count, Reverse((located.document, located.slot))))?;
            let mut slots: Vec<(usize, usize)> =
                members.iter().filter_map(of).map(|(located, _)| (located.document, located.slot)).collect();
            slots.sort_unstable();
            Some(MergedStack {
                classification: Arc::clone(&its.classification),
                events: members.iter().filter_map(of).map(|(located, _)| u128::from(located.count)).sum(),
                slots,
                plumbing: its.dropped,
                stack: most.stack.clone(),
            })
        })
        .collect();
    merged.sort_by_cached_key(|stack| {
        let names: Vec<String> = stack.stack.frames.iter().map(|frame| merge_key(frame)).collect();
        let places: Vec<String> = stack.stack.frames.iter().map(|frame| exact_key(frame)).collect();
        (Reverse(stack.events), stack.classification.class, names, places, stack.slots.clone())
    });
    merged
}

/// Merged stacks numbered `s1`, `s2`, …; counts above `u64` are held at its end.
pub fn items(merged: &[MergedStack]) -> Vec<StackItem> {
    merged
        .iter()
        .enumerate()
        .map(|(index, stack)| StackItem {
            id: format!("s{}", index + 1),
            class: stack.classification.class,
            area: stack.classification.area.clone(),
            rule: stack.classification.rule.clone(),
            events: u64::try_from(stack.events).unwrap_or(u64::MAX),
            slots: stack.slots.iter().map(|(document, slot)| format!("{document}:{slot}")).collect(),
            plumbing: stack.plumbing,
            frames: stack.stack.frames.clone(),
        })
        .collect()
}

/// A stack as numbers.
struct Prepared {
    ids: Vec<NameId>,
    dropped: usize,
    classification: Arc<Classification>,
}

/// Where a document's stacks are cut.
#[derive(Default)]
struct Cut {
    max: usize,
    keep: usize,
}

impl Cut {
    /// A stack of nothing but plumbing has nothing to compare, and does not shorten the others.
    fn see(&mut self, depth: usize, left: usize) {
        if left == 0 {
            return;
        }
        if depth > self.max {
            *self = Self { max: depth, keep: left };
        } else if depth == self.max {
            self.keep = self.keep.min(left);
        }
    }
}
