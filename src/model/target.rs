//! Owns what a bucketing target returned.

use crate::model::Stack;
use serde::{Deserialize, Serialize};

/// The root element of a bucketing target's document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetRoot {
    /// `<HistogramTarget>`, SQL Server 2012 and later.
    HistogramTarget,
    /// `<BucketizerTarget>`, SQL Server 2008 and 2008 R2.
    BucketizerTarget,
}

/// One bucket of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Position in its document, from 0.
    pub index: usize,
    /// Events; 0 with a problem in [`Target::problems`] where the attribute was missing or no number.
    pub count: u64,
    /// The `trunc` attribute: bytes cut from the value (2008 and 2008 R2 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated_bytes: Option<u64>,
    /// The value's text: entities decoded, CDATA unwrapped, raw `<frame/>` children kept as written.
    pub value: String,
    /// The value read as a call stack.
    pub stack: Stack,
}

/// A bucketing target's document, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Which root it had.
    pub root: TargetRoot,
    /// Effective slots (`buckets`).
    pub buckets: Option<u64>,
    /// The `truncated` attribute, as written.
    pub truncated: Option<u64>,
    /// Complete slots, in document order.
    pub slots: Vec<Slot>,
    /// Whether the document ended before its root was closed: complete slots survive, the rest is lost.
    pub cut: bool,
    /// Text that stood before the document (a heading of pasted material).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotation: Option<String>,
    /// What was odd and how it was read, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl Target {
    /// All events counted, without overflow.
    pub fn events(&self) -> u128 {
        self.slots.iter().map(|slot| u128::from(slot.count)).sum()
    }
}
