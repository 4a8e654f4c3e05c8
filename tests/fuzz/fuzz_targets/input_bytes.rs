//! Whole files of any bytes: no panic, and what is nothing is said to be nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use xestack::parse::{input, modules::parse_modules, text::decode};

fuzz_target!(|bytes: &[u8]| {
    let read = input::read(bytes);
    assert!(!read.is_empty() || !read.problems.is_empty());
    parse_modules(&decode(bytes).text);
});
