//! Slots that show one path become one stack.

use super::support::{catalog, stack, yields};
use proptest::prelude::*;
use std::path::Path;
use xestack::{
    analyze::{
        cache::StackCache,
        merge::{Located, MergedStack, items, merge_on},
    },
    model::{EventContext, Stack, StackClass},
};

fn merge_in(context: &EventContext, stacks: &[(u64, Stack)]) -> Vec<MergedStack> {
    let located: Vec<Located<'_>> = stacks
        .iter()
        .enumerate()
        .map(|(slot, (count, stack))| Located { document: 0, slot, count: *count, context, stack })
        .collect();
    let catalog = catalog();
    merge_on(&located, &StackCache::new(&catalog, false), 1)
}

fn figures(merged: &[MergedStack]) -> Vec<(u128, Vec<usize>)> {
    merged.iter().map(|stack| (stack.events, stack.slots.iter().map(|(_, slot)| *slot).collect())).collect()
}

#[test]
fn offsets_modules_and_plumbing_do_not_tell_stacks_apart() {
    let merged = merge_in(
        &yields(),
        &[
            (
                5,
                stack(&["sqldk.dll!XeSosPkg::wait_info::Publish+0x1", "sqldk!SOS_Task::PostWait+0x9e", "sqlmin!A+0x1"]),
            ),
            (9, stack(&["SOS_Task::PostWait+7", "sqlmin.dll!A+0x77"])),
            (2, stack(&["sqlmin!B+0x1"])),
        ],
    );
    assert_eq!(figures(&merged), [(14, vec![0, 1]), (2, vec![2])]);
    assert_eq!(merged[0].stack.frames[1].text, "sqlmin.dll!A+0x77", "frames of the most frequent slot");
    let items = items(&merged);
    assert_eq!((items[0].id.as_str(), items[0].slots.join(" ")), ("s1", "0:0 0:1".to_owned()));
}

#[test]
fn only_the_deepest_stacks_are_taken_as_cut() {
    // Depth 5 is the deepest. One of its stacks has 4 frames left, the other 5, of which 4 count.
    let merged = merge_in(
        &yields(),
        &[
            (8, stack(&["SOS_Task::PostWait", "A", "B", "C", "D"])),
            (4, stack(&["A", "B", "C", "D", "E"])),
            (2, stack(&["A", "B", "C"])),
            (1, stack(&["SOS_Task::PostWait", "A", "B", "C"])),
        ],
    );
    assert_eq!(figures(&merged), [(12, vec![0, 1]), (3, vec![2, 3])]);
}

#[test]
fn a_complete_stack_is_compared_whole() {
    // Depth 4 is the deepest, with 2 frames left; the others are complete, and differ in their third frame.
    let merged = merge_in(
        &yields(),
        &[
            (8, stack(&["XeSosPkg::wait_info::Publish", "SOS_Task::PostWait", "A", "B"])),
            (4, stack(&["A", "B", "C"])),
            (2, stack(&["A", "B", "D"])),
        ],
    );
    assert_eq!(figures(&merged), [(8, vec![0]), (4, vec![1]), (2, vec![2])]);
}

#[test]
fn backoff_is_optional_under_sleep_only() {
    let spin = "Spinlock<143,7,1>::SpinToAcquireWithExponentialBackoff";
    let merged = merge_in(
        &EventContext::default(),
        &[
            (
                8,
                stack(&[
                    "XeSosPkg::spinlock_backoff::Publish",
                    "SpinlockBase::Sleep",
                    "SpinlockBase::Backoff",
                    spin,
                    "A",
                ]),
            ),
            (4, stack(&["XeSosPkg::spinlock_backoff::Publish", "SpinlockBase::Sleep", spin, "A", "B"])),
            (2, stack(&["SpinlockBase::Backoff", spin, "A"])),
        ],
    );
    assert_eq!(figures(&merged), [(12, vec![0, 1]), (2, vec![2])]);
}

#[test]
fn unresolved_stacks_merge_only_where_they_are_equal() {
    let merged = merge_in(
        &yields(),
        &[
            (8, stack(&["sqldk.dll+0x10", "sqlmin.dll+0x20"])),
            (4, stack(&["sqldk.dll+0x10", "sqlmin.dll+0x20"])),
            (2, stack(&["sqldk.dll+0x10", "sqlmin.dll+0x21"])),
            (1, stack(&["sqldk!SOS_Task::PostWait+0x1", "sqlmin.dll+0x20"])),
            (1, stack(&["sqldk!SOS_Task::PostWait+0x2", "sqlmin.dll+0x20"])),
        ],
    );
    assert_eq!(merged.len(), 4);
    assert_eq!(figures(&merged)[0], (12, vec![0, 1]));
    assert!(merged.iter().all(|stack| stack.classification.class == StackClass::Unresolved));
}

#[test]
fn stacks_of_plumbing_alone_do_not_swallow_others() {
    let merged = merge_in(&yields(), &[(3, stack(&["SOS_Task::PostWait"])), (2, stack(&["A"])), (1, stack(&["B"]))]);
    assert_eq!(merged.len(), 3);
}

#[test]
fn counts_are_summed_beyond_u64() {
    let merged = merge_in(&yields(), &[(u64::MAX, stack(&["A"])), (u64::MAX, stack(&["A"]))]);
    assert_eq!(merged[0].events, 2 * u128::from(u64::MAX));
    assert_eq!(items(&merged)[0].events, u64::MAX);
}

#[test]
fn the_published_demo_merges_from_four_to_two() {
    let path = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/data/callstackresolver/fork-demos/LOCK_HASH/resolved.txt"
    ));
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {} is not there", path.display());
        return;
    };
    let mut slots: Vec<(u64, Vec<&str>)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.split_once("[count:") {
            Some((_, count)) => slots.push((count.trim_end_matches("]:").parse().unwrap(), Vec::new())),
            None => slots.last_mut().unwrap().1.push(line),
        }
    }
    let slots: Vec<(u64, Stack)> = slots.into_iter().map(|(count, lines)| (count, stack(&lines))).collect();
    assert_eq!(slots.len(), 4);
    let merged = merge_in(&EventContext::default(), &slots);
    assert_eq!(merged.len(), 2);
    assert_eq!(merged.iter().map(|stack| stack.events).sum::<u128>(), 2_181_498);
    assert!(merged.iter().all(|stack| stack.classification.class == StackClass::SpinlockBackoff));
    assert!(merged.iter().all(|stack| stack.classification.area.as_deref() == Some("lock manager")));
}

/// Stacks of few names, so that they meet often.
fn stacks() -> impl Strategy<Value = Vec<(u64, Stack)>> {
    let frame = prop::sample::select(vec![
        "SOS_Task::PostWait+1",
        "XeSosPkg::wait_info::Publish",
        "SpinlockBase::Sleep",
        "SpinlockBase::Backoff",
        "LatchBase::Suspend",
        "A+1",
        "A+2",
        "m!B",
        "m.dll+0x10",
        "0x1234",
    ]);
    let stack = prop::collection::vec(frame, 0..6).prop_map(|lines| stack(&lines));
    prop::collection::vec((0..4_u64, stack), 0..40)
}

proptest! {
    #[test]
    fn neither_order_nor_threads_matter(stacks in stacks(), seed in any::<u64>(), threads in 2..9_usize) {
        let catalog = catalog();
        let contexts = [yields(), EventContext::default()];
        let located: Vec<Located<'_>> = stacks.iter().enumerate().map(|(slot, (count, stack))| Located {
            document: slot % 3, slot, count: *count, context: &contexts[slot % 2], stack,
        }).collect();
        let mut shuffled = located.clone();
        let mut state = seed;
        for index in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.swap(index, (state >> 33) as usize % (index + 1));
        }
        let alone = merge_on(&located, &StackCache::new(&catalog, false), 1);
        let together = merge_on(&shuffled, &StackCache::new(&catalog, false), threads);
        prop_assert_eq!(&alone, &together);
        let events: u128 = alone.iter().map(|stack| stack.events).sum();
        prop_assert_eq!(events, stacks.iter().map(|(count, _)| u128::from(*count)).sum::<u128>());
        prop_assert_eq!(alone.iter().map(|stack| stack.slots.len()).sum::<usize>(), stacks.len());
    }
}
