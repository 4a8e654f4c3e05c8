//! Owns the list of stacks: the ones that make up most events, each by its telling frames.

use super::{
    figures::{count, counted, percent},
    page::{Ink, Page},
};
use crate::model::{ClassTotal, Frame, StackClass, StackItem, Stacks};
use std::collections::BTreeSet;

const MOST_CLASSES: usize = 6;

const MOST_STACKS: usize = 10;

/// The share of all events after which the rest is summed up.
const ENOUGH: f64 = 0.95;

/// Frames shown of a stack, after plumbing.
const TELLING_FRAMES: usize = 6;

/// Frames shown of a stack without names, which tell little.
const NAMELESS_FRAMES: usize = 3;

pub(super) fn print(page: &mut Page, stacks: &Stacks) {
    if stacks.items.is_empty() {
        page.line(2, Ink::Plain, "None.");
        return;
    }
    let summary = format!(
        "{}, {}, {} unresolved. Shares are of events; leaf first.",
        counted(stacks.total_events, "event", "events"),
        counted(stacks.distinct, "distinct stack", "distinct stacks"),
        counted(stacks.unresolved_events, "event", "events"),
    );
    page.paragraph(2, Ink::Plain, &summary);
    let sessions = session_count(stacks);
    if sessions > 1 {
        let note = format!("They are of {sessions} event sessions, and several can count one and the same wait.");
        page.paragraph(2, Ink::Plain, &note);
    }
    print_classes(page, &stacks.classes);
    let total = u128::from(stacks.total_events);
    let mut seen: u128 = 0;
    let mut shown = 0;
    for item in stacks.items.iter().take(MOST_STACKS) {
        if seen as f64 >= total as f64 * ENOUGH && shown > 0 {
            break;
        }
        print_item(page, item, total);
        seen += u128::from(item.events);
        shown += 1;
    }
    let rest = stacks.items.get(shown..).unwrap_or_default();
    if !rest.is_empty() {
        let events = rest.iter().map(|item| u128::from(item.events)).sum::<u128>();
        let line = format!(
            "{} more: {}, {}",
            count(rest.len() as u64),
            counted(u64::try_from(events).unwrap_or(u64::MAX), "event", "events"),
            share(events, total)
        );
        page.gap();
        page.paragraph(2, Ink::Dim, &line);
    }
}

/// How many event sessions or files the stacks are of.
fn session_count(stacks: &Stacks) -> usize {
    let slots = stacks.items.iter().flat_map(|item| &item.slots);
    slots.filter_map(|slot| Some(slot.split_once(':')?.0)).collect::<BTreeSet<&str>>().len()
}

fn print_classes(page: &mut Page, classes: &[ClassTotal]) {
    let told = |total: &ClassTotal| {
        let area = total.area.as_deref().map(|area| format!(" ({area})")).unwrap_or_default();
        format!("{}{area} {}", total.class.name(), percent(total.share))
    };
    let mut parts: Vec<String> = classes.iter().take(MOST_CLASSES).map(told).collect();
    if let Some(more) = classes.len().checked_sub(MOST_CLASSES).filter(|&more| more > 0) {
        parts.push(format!("and {more} more"));
    }
    if !parts.is_empty() {
        page.paragraph(2, Ink::Plain, &format!("By class: {}.", parts.join(", ")));
    }
}

fn share(events: u128, total: u128) -> String {
    percent(events as f64 / total as f64)
}

fn print_item(page: &mut Page, item: &StackItem, total: u128) {
    let area = item.area.as_deref().map(|area| format!(", {area}")).unwrap_or_default();
    let rule = item.rule.as_deref().map(|rule| format!(" (rule {rule})")).unwrap_or_default();
    let events = counted(item.events, "event", "events");
    let share = share(item.events.into(), total);
    page.gap();
    page.entry(
        2,
        (Ink::Strong, &format!("{}  ", item.id)),
        Ink::Strong,
        &format!("{share}, {events}: {}{area}{rule}", item.class.name()),
    );
    let plumbing = item.plumbing.min(item.frames.len());
    let frames = item.frames.get(plumbing..).unwrap_or_default();
    let enough = if item.class == StackClass::Unresolved { NAMELESS_FRAMES } else { TELLING_FRAMES };
    // One more frame takes no more room than the words that would stand for it.
    let shown = if frames.len() <= enough + 1 { frames.len() } else { enough };
    for frame in frames.iter().take(shown) {
        page.line(6, Ink::Plain, &name(frame));
    }
    let left_out = match (frames.len() - shown, plumbing) {
        (0, 0) => return,
        (0, above) => format!("{} of event plumbing above not shown", frame_count(above)),
        (below, 0) => format!("and {below} more"),
        (below, above) => format!("and {below} more; {} of event plumbing above not shown", frame_count(above)),
    };
    page.paragraph(6, Ink::Dim, &left_out);
}

fn frame_count(frames: usize) -> String {
    counted(frames as u64, "frame", "frames")
}

/// What a reader looks for in a frame: module and function, or the place in the module; else its text.
fn name(frame: &Frame) -> String {
    let module = frame.module.as_deref().map(|module| format!("{module}!")).unwrap_or_default();
    match (&frame.symbol, &frame.module, frame.rva) {
        (Some(symbol), _, _) => {
            let offset = frame.offset.map(|offset| format!("+0x{offset:x}")).unwrap_or_default();
            format!("{module}{symbol}{offset}")
        }
        (None, Some(module), Some(rva)) => format!("{module}+0x{rva:X}"),
        _ => frame.text.clone(),
    }
}
