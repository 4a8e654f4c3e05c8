//! Owns the question whether names can be trusted: without symbols a server shows the nearest export, far from the
//! function that ran.

use crate::model::{Frame, Stack};
use std::collections::BTreeMap;

/// Spread of one name's offsets from which they can hardly lie in one function that calls itself, bytes.
const SPREAD_BYTES: u64 = 0x400;
/// Repeats in one stack from which names are wrong.
const WRONG_REPEATS: usize = 4;
/// Repeats in one stack from which names are worth a doubt.
const SUSPECT_REPEATS: usize = 2;

/// How far the names of a capture can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Nothing speaks against them.
    Trusted,
    /// One name is repeated oddly.
    Suspect(String),
    /// Nearest exports are shown.
    Wrong(String),
}

/// Judges the names of a whole capture by its worst stack.
///
/// Names are wrong where a frame is `module!OrdinalN`, or where one stack holds four repeats. A repeat is a frame
/// that continues a run of adjacent frames of one function, all at different offsets that spread over at least 1 KiB;
/// of each name the longest run counts. Real recursion comes back to the same one or two call sites, lies close
/// together, or is not adjacent; a stack of nearest exports fills runs, because one export stands for a whole stretch
/// of the module. An offset that is merely large is no sign.
pub fn trust<'a>(stacks: impl IntoIterator<Item = &'a Stack>) -> Trust {
    let mut worst = (0, String::new());
    for stack in stacks {
        if let Some(frame) = stack.frames.iter().find(|frame| frame.is_ordinal()) {
            return Trust::Wrong(format!("`{}` is an export without a name", frame.text));
        }
        let found = spread_repeats(stack);
        if found.0 > worst.0 {
            worst = found;
        }
    }
    match worst {
        (repeats, name) if repeats >= WRONG_REPEATS => {
            Trust::Wrong(format!("`{name}` is repeated at offsets too far apart for one function"))
        }
        (repeats, name) if repeats >= SUSPECT_REPEATS => {
            Trust::Suspect(format!("`{name}` is repeated at offsets far apart"))
        }
        _ => Trust::Trusted,
    }
}

/// The repeats of a stack over all its names, and the name with most of them.
fn spread_repeats(stack: &Stack) -> (usize, String) {
    let mut by_name: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for run in stack.frames.chunk_by(|frame, next| same_function(frame, next)) {
        let mut offsets: Vec<u64> = run.iter().filter_map(|frame| frame.offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let spread = offsets.last().zip(offsets.first()).map_or(0, |(last, first)| last - first);
        let Some(name) = run.first().and_then(|frame| name(frame)) else { continue };
        if offsets.len() == run.len() && spread >= SPREAD_BYTES {
            let longest = by_name.entry(name).or_default();
            *longest = (*longest).max(run.len() - 1);
        }
    }
    let name = by_name.iter().max_by_key(|(_, repeats)| **repeats).map_or("", |((_, symbol), _)| symbol);
    (by_name.values().sum(), name.to_owned())
}

fn name(frame: &Frame) -> Option<(&str, &str)> {
    frame.symbol.as_deref().map(|symbol| (frame.module.as_deref().unwrap_or_default(), symbol))
}

fn same_function(left: &Frame, right: &Frame) -> bool {
    name(left).is_some() && name(left) == name(right)
}
