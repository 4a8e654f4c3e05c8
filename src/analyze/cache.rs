//! Owns what stacks that are worked on in parallel share: names turned into numbers, and classes once found.

use super::{
    classify::{Captured, Classification, WRONG_SYMBOLS, classify},
    frames::{exact_key, merge_key},
};
use crate::{
    catalog::Catalog,
    model::{EventContext, Frame, Stack},
};
use dashmap::DashMap;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// A frame's name as a number. Which number depends on the order of work; equality does not.
pub type NameId = u64;

/// Shared by all threads of one analysis.
#[derive(Debug)]
pub struct StackCache<'a> {
    catalog: &'a Catalog,
    names_are_wrong: bool,
    names: DashMap<String, NameId>,
    next: AtomicU64,
    classes: DashMap<(Captured, Vec<NameId>), Arc<Classification>>,
}

impl<'a> StackCache<'a> {
    /// An empty cache. `names_are_wrong` makes every stack unresolved.
    pub fn new(catalog: &'a Catalog, names_are_wrong: bool) -> Self {
        Self { catalog, names_are_wrong, names: DashMap::new(), next: AtomicU64::new(0), classes: DashMap::new() }
    }

    /// What the cache classifies by.
    pub fn catalog(&self) -> &'a Catalog {
        self.catalog
    }

    /// The frames as numbers that are equal where [`merge_key`] is.
    pub fn merge_ids(&self, frames: &[Arc<Frame>]) -> Vec<NameId> {
        frames.iter().map(|frame| self.intern(merge_key(frame))).collect()
    }

    /// The frames as numbers that are equal where [`exact_key`] is.
    pub fn exact_ids(&self, frames: &[Arc<Frame>]) -> Vec<NameId> {
        frames.iter().map(|frame| self.intern(exact_key(frame))).collect()
    }

    /// The class of a stack whose [`StackCache::merge_ids`] are given. Unresolved frames have ids of their own, so equal
    /// ids mean an equal class.
    pub fn classification(&self, context: &EventContext, stack: &Stack, ids: &[NameId]) -> Arc<Classification> {
        if self.names_are_wrong {
            return Arc::new(Classification::unresolved(WRONG_SYMBOLS));
        }
        let key = (Captured::of(context), ids.to_vec());
        if let Some(known) = self.classes.get(&key) {
            return Arc::clone(&known);
        }
        let found = Arc::new(classify(context, stack, self.catalog));
        self.classes.insert(key, Arc::clone(&found));
        found
    }

    fn intern(&self, name: String) -> NameId {
        *self.names.entry(name).or_insert_with(|| self.next.fetch_add(1, Ordering::Relaxed))
    }
}
