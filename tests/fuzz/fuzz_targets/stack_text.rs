//! Call-stack text: no panic, and a value without entities stands whole in its frames.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xestack::parse::stack::{parse_stack, parse_stacks};

fuzz_target!(|text: &str| {
    parse_stacks(text);
    let stack = parse_stack(text);
    if !text.contains('&') {
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        let kept: String = stack.frames.iter().map(|frame| squeezed(&frame.text)).collect();
        assert_eq!(kept, squeezed(text));
    }
});
