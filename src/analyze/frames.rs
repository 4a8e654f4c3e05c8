//! Owns what the frames of a stack are to the analysis: plumbing, wait primitive, cause, and identity.

use crate::{
    catalog::Plumbing,
    model::{Frame, Stack},
};
use std::sync::Arc;

/// The function that a frame names; `None` for an unresolved one.
pub fn symbol(frame: &Frame) -> Option<&str> {
    frame.symbol.as_deref().filter(|_| frame.is_resolved())
}

/// How many leading frames are the event machinery's, an optional frame under them included.
pub fn plumbing_depth(stack: &Stack, plumbing: &Plumbing) -> usize {
    let depth = stack
        .frames
        .iter()
        .take_while(|frame| symbol(frame).is_some_and(|symbol| plumbing.is_event_frame(symbol)))
        .count();
    let name_at = |index: usize| stack.frames.get(index).and_then(|frame| symbol(frame));
    let optional = depth
        .checked_sub(1)
        .and_then(name_at)
        .zip(name_at(depth))
        .is_some_and(|(dropped, next)| plumbing.is_optional(dropped, next));
    depth + usize::from(optional)
}

/// How many leading frames are plumbing or the wait primitive under it: the next one is where the cause begins.
pub fn cause_depth(stack: &Stack, plumbing: &Plumbing) -> usize {
    let dropped = plumbing_depth(stack, plumbing);
    let primitives = stack
        .frames
        .iter()
        .skip(dropped)
        .take_while(|frame| symbol(frame).is_some_and(|symbol| plumbing.is_primitive(symbol)))
        .count();
    dropped + primitives
}

/// The function that wanted the spinlock: the one directly under the last of the spinlock's own frames that lead the
/// stack. `None` where no such frame leads it, or where the frame under it has no name.
pub fn spinlock_caller<'a>(stack: &'a [Arc<Frame>], plumbing: &Plumbing) -> Option<&'a str> {
    let own = |frame: &Arc<Frame>| symbol(frame).is_some_and(|symbol| plumbing.is_spinlock(symbol));
    let event = |frame: &Arc<Frame>| symbol(frame).is_some_and(|symbol| plumbing.is_event_frame(symbol));
    let leading = stack.iter().take_while(|frame| own(frame) || event(frame)).count();
    let last = stack.iter().take(leading).rposition(own)?;
    symbol(stack.get(last + 1)?)
}

/// The function that waits for a latch: the one directly under the last of the latch's own frames that lead the stack. `None`
/// where no such frame leads it, or where the frame under it has no name.
pub fn latch_waiter<'a>(stack: &'a [Arc<Frame>], plumbing: &Plumbing) -> Option<&'a str> {
    let own = |frame: &Arc<Frame>| symbol(frame).is_some_and(|symbol| plumbing.is_latch(symbol));
    let above = |frame: &Arc<Frame>| {
        symbol(frame).is_some_and(|symbol| plumbing.is_event_frame(symbol) || plumbing.is_primitive(symbol))
    };
    let leading = stack.iter().take_while(|frame| own(frame) || above(frame)).count();
    let last = stack.iter().take(leading).rposition(own)?;
    symbol(stack.get(last + 1)?)
}

/// The first number in the name of a spinlock's class, `143` of `Spinlock<143,7,1>::SpinToAcquire`. It is the key of the
/// spinlock's type on some builds and another number on others, so it names nothing.
pub fn spinlock_template_number(frame: &Frame) -> Option<u64> {
    let (number, _) = symbol(frame)?.strip_prefix("Spinlock<")?.split_once([',', '>'])?;
    number.trim().parse().ok()
}

/// What makes two frames of resolved stacks the same: the function's name without module and offset; for an unresolved
/// frame its place in its module, else its text.
pub fn merge_key(frame: &Frame) -> String {
    match symbol(frame) {
        Some(symbol) => symbol.to_owned(),
        None => exact_key(frame),
    }
}

/// What makes two frames of unresolved stacks the same: the very place in the code.
pub fn exact_key(frame: &Frame) -> String {
    match (&frame.module, &frame.symbol, frame.offset, frame.rva) {
        (module, Some(symbol), Some(offset), _) => {
            format!("{}!{symbol}+{offset:x}", module.as_deref().unwrap_or_default())
        }
        (Some(module), None, _, Some(rva)) => format!("{}+{rva:x}", module.to_ascii_lowercase()),
        _ => frame.text.clone(),
    }
}
