//! Owns the histogram target: slots, their limit, the document.

use crate::model::ServerVersion;
use crate::simulator::events::targets::Reader;
use crate::simulator::events::xml;
use crate::simulator::seeded;
use std::collections::HashMap;

/// What happens to an event that has no slot when all are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// It is counted in some other slot, and nothing tells (measured on 2025).
    #[default]
    Fold,
    /// It is not counted (documented).
    Ignore,
}

/// What a slot stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SlotKey {
    /// A field's or an action's number.
    Number(u64),
    /// Text.
    Text(String),
    /// A call stack, written when it is read.
    Stack(usize),
    /// A call stack as `<frame>` elements.
    StackRva(usize),
}

/// Where a histogram's values come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The field of this name.
    Field(String),
    /// The action of this full name.
    Action(String),
}

/// How a version writes its document.
struct DocumentForm {
    root: &'static str,
    /// How many bytes of a slot's value are cut off; later versions do not say.
    cut_attribute: &'static str,
}

impl DocumentForm {
    /// 2008 R2's form is documented, that of 2012 and later measured.
    fn of(version: ServerVersion) -> Self {
        if version < ServerVersion::V2012 {
            Self { root: "BucketizerTarget", cut_attribute: " trunc=\"0\"" }
        } else {
            Self { root: "HistogramTarget", cut_attribute: "" }
        }
    }
}

/// A running histogram.
#[derive(Debug, Clone)]
pub struct Histogram {
    /// Event whose data are taken, `package.name` in lower case; every event when absent.
    pub filtering_event: Option<String>,
    /// Where the values come from.
    pub source: Source,
    buckets: usize,
    overflow: Overflow,
    slots: Vec<(SlotKey, u64)>,
    index: HashMap<SlotKey, usize>,
}

/// Slots when none are asked for.
pub const DEFAULT_SLOTS: u64 = 256;

/// Most slots that may be asked for. Assumed: no source names a limit.
pub const MAX_SLOTS: u64 = 1 << 20;

impl Histogram {
    /// An empty histogram; the number of slots is rounded up to a power of two.
    pub fn new(filtering_event: Option<String>, source: Source, slots: u64, overflow: Overflow) -> Self {
        let buckets = slots.clamp(1, MAX_SLOTS).next_power_of_two() as usize;
        Self { filtering_event, source, buckets, overflow, slots: Vec::new(), index: HashMap::new() }
    }

    /// Counts events.
    pub fn add(&mut self, key: SlotKey, count: u64) {
        if let Some((_, total)) = self.index.get(&key).and_then(|slot| self.slots.get_mut(*slot)) {
            *total = total.saturating_add(count);
        } else if self.slots.len() < self.buckets {
            self.index.insert(key.clone(), self.slots.len());
            self.slots.push((key, count));
        } else if self.overflow == Overflow::Fold {
            // Assumed: which slot takes it is the hash's choice.
            let slot = seeded::hash(&[&format!("{key:?}")]) as usize % self.buckets;
            if let Some((_, total)) = self.slots.get_mut(slot) {
                *total = total.saturating_add(count);
            }
        }
    }

    /// The document, slots by descending count.
    pub fn document(&self, reader: Reader<'_>) -> String {
        let Reader { writer, symbols, .. } = reader;
        let mut slots: Vec<&(SlotKey, u64)> = self.slots.iter().collect();
        slots.sort_by(|(left, more), (right, less)| less.cmp(more).then_with(|| left.cmp(right)));
        let form = DocumentForm::of(writer.version.version);
        let mut text = format!("<{} truncated=\"0\" buckets=\"{}\">", form.root, self.buckets);
        for (key, count) in slots {
            let value = match key {
                SlotKey::Number(number) => number.to_string(),
                SlotKey::Text(value) => reader.slot_text(value),
                SlotKey::Stack(stack) => reader.slot_text(&writer.callstack(*stack, symbols)),
                SlotKey::StackRva(stack) => reader.frames_text(&writer.callstack_rva(*stack)),
            };
            let cut = form.cut_attribute;
            xml::push(&mut text, format_args!("<Slot count=\"{count}\"{cut}><value>{value}</value></Slot>"));
        }
        text + &format!("</{}>", form.root)
    }
}
