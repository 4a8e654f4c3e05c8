//! Target documents: no panic, slots in order, nothing expanded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xestack::parse::target::parse_targets;

fuzz_target!(|text: &str| {
    for target in parse_targets(text) {
        for (index, slot) in target.slots.iter().enumerate() {
            assert_eq!(slot.index, index);
            // U+FFFD may replace one byte by three.
            assert!(slot.value.len() <= text.len() * 3);
        }
    }
});
