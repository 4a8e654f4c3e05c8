//! The seeds of the fuzz targets, replayed: what each holds, and every shortened form of each without a panic.

use super::shown_stack;
use std::{fs, path::PathBuf};
use xestack::parse::{input, modules::parse_modules, stack::parse_stacks, text::decode};

fn seed(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/seeds")).join(name)).expect("a seed")
}

/// Slots and pasted stacks of a seed: count and frames.
fn read(name: &str) -> Vec<(u64, Vec<String>)> {
    let read = input::read(&seed(name));
    let slots = read.targets.iter().flat_map(|target| &target.slots).map(|slot| (slot.count, shown_stack(&slot.stack)));
    slots.chain(read.pasted.iter().map(|counted| (counted.count, shown_stack(&counted.stack)))).collect()
}

#[test]
fn each_seed_holds_what_its_name_says() {
    for (name, stacks) in [
        ("cdata_frames.xml", vec![(5, vec!["#0 a+1f"])]),
        ("escaped.xml", vec![(5, vec!["a!Lock<1,2>::Spin+1f"])]),
        (
            "unclosed_2008.xml",
            vec![(
                7,
                vec![
                    "Pkg::event::Publish",
                    "Base::Sleep+c7",
                    "Base::Backoff",
                    "Lock<9,1,0>::Spin",
                    "Plain",
                    "Group::`vector deleting destructor'",
                ],
            )],
        ),
        ("broken.xml", vec![(u64::MAX, vec!["? a \u{FFFD} \u{FFFD} \u{FFFD} b"]), (0, vec!["? x"])]),
        (
            "pasted.txt",
            vec![(12, vec!["a!B::c+1", "a!B<C<D> >::operator<"]), (1, vec!["@7ff812345678", "@7ff812345679"])],
        ),
        ("debugger.txt", vec![(1, vec!["#0 a!B::c+12", "#10 a!D::e+3"])]),
        ("dump_utf16.txt", vec![(1, vec!["@7ff812345678 a+1234", "@7ff812345679 b+91 Ordinal298+4a5"])]),
        ("events_cut.xml", vec![(1, vec!["a+1", "a+2"])]),
    ] {
        let read = read(name);
        let read: Vec<(u64, Vec<&str>)> =
            read.iter().map(|(count, frames)| (*count, frames.iter().map(String::as_str).collect())).collect();
        assert_eq!(read, stacks, "{name}");
    }
    let list = parse_modules(&decode(&seed("modules.txt")).text);
    assert_eq!((list.modules.len(), list.problems.len()), (2, 1));
}

#[test]
fn shortened_seeds_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/seeds");
    let mut seeds = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        for at in 0..=bytes.len() {
            for part in [&bytes[..at], &bytes[at..]] {
                let read = input::read(part);
                assert!(!read.is_empty() || !read.problems.is_empty());
                let text = decode(part).text;
                parse_modules(&text);
                parse_stacks(&text);
            }
        }
        seeds += 1;
    }
    assert!(seeds >= 9, "{seeds}");
}
