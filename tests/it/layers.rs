//! The layers look down only, and each dependency has one home.

use std::fs;
use std::path::{Path, PathBuf};

/// Which folders a folder may name as `crate::<folder>`, beside itself (architecture: arrows go down only).
const MAY_USE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("parse", &["model"]),
    ("catalog", &["model"]),
    ("statements", &["model", "catalog", "parse"]),
    ("analyze", &["model", "catalog", "parse"]),
    ("report", &["model", "catalog", "parse"]),
    ("store", &["model", "catalog", "parse", "statements", "analyze", "report"]),
    ("sqlserver", &["model", "catalog", "parse", "statements", "analyze", "report"]),
    ("simulator", &["model"]),
    ("agent", &["model", "catalog", "parse", "statements", "analyze", "report", "store", "sqlserver"]),
    (
        "cli",
        &["model", "catalog", "parse", "statements", "analyze", "report", "store", "sqlserver", "simulator", "agent"],
    ),
];

/// Crates with one home.
const HOMES: &[(&str, &[&str])] = &[
    ("clap", &["cli"]),
    ("tiberius", &["sqlserver"]),
    ("quick_xml", &["parse"]),
    ("csv", &["parse"]),
    ("toml", &["catalog"]),
    ("chrono", &["agent", "sqlserver"]),
    ("tokio", &["sqlserver", "simulator", "store", "agent", "cli"]),
    ("rcgen", &["simulator"]),
    ("tokio_rustls", &["simulator", "sqlserver"]),
    ("zip", &["store"]),
    ("indicatif", &["cli"]),
    ("anyhow", &["cli"]),
    ("secrecy", &["sqlserver", "cli", "simulator"]),
    ("dashmap", &["analyze"]),
];

/// Rooms that touch no file, socket or clock.
const PURE: &[&str] = &["model", "parse", "catalog", "statements", "analyze", "report"];

fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inside = path.strip_prefix(&root).unwrap().to_owned();
                let layer = inside.components().next().unwrap().as_os_str().to_str().unwrap().to_owned();
                let text = fs::read_to_string(&path).unwrap();
                found.push((layer, inside, code_only(&text)));
            }
        }
    }
    assert!(found.len() > 50, "the sources were not found");
    found
}

/// The text without comments, and without its unit tests, which stand at a file's end and may look around.
fn code_only(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Every word that follows `prefix` in `text`, where `prefix` does not continue a longer word.
fn words_after<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(prefix).filter_map(move |(at, _)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + prefix.len()..];
        let word = after.split(|c| !is_word(c)).next().unwrap_or_default();
        (!before.is_some_and(is_word)).then_some(word)
    })
}

/// The first word of each path in the groups `crate::{a::b, c::{d, e}}`.
fn grouped_words(text: &str) -> impl Iterator<Item = &str> {
    const GROUP: &str = "crate::{";
    text.match_indices(GROUP).flat_map(|(at, _)| {
        let (mut depth, mut start, mut words) = (1, 0, Vec::new());
        let group = &text[at + GROUP.len()..];
        for (place, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 || (depth == 1 && c == ',') {
                words.push(group[start..place].trim().split("::").next().unwrap_or_default());
                start = place + 1;
            }
            if depth == 0 {
                break;
            }
        }
        words
    })
}

#[test]
fn groups_are_read_by_their_first_words() {
    let text = "use crate::{model::{A, B}, parse, catalog::C};";
    assert_eq!(grouped_words(text).collect::<Vec<_>>(), ["model", "parse", "catalog"]);
}

#[test]
fn layers_look_down_only() {
    let mut broken = Vec::new();
    for (layer, path, text) in sources() {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == layer) else {
            assert!(["lib.rs", "main.rs"].contains(&layer.as_str()), "{} belongs to no layer", path.display());
            continue;
        };
        for used in words_after(&text, "crate::").chain(grouped_words(&text)) {
            let is_known = MAY_USE.iter().any(|(name, _)| *name == used);
            if is_known && used != layer && !allowed.contains(&used) {
                broken.push(format!("{}: crate::{used}", path.display()));
            }
        }
        if text.contains("super::super") {
            broken.push(format!("{}: super::super", path.display()));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn each_dependency_has_its_home() {
    let mut broken = Vec::new();
    for (layer, path, text) in sources() {
        for (dependency, homes) in HOMES {
            let named = text.contains(&format!("{dependency}::")) && words_before(&text, &format!("{dependency}::"));
            if named && !homes.contains(&layer.as_str()) {
                broken.push(format!("{}: {dependency}", path.display()));
            }
        }
        if PURE.contains(&layer.as_str()) {
            for forbidden in ["std::fs", "std::net", "Instant::now", "SystemTime::now", "async fn"] {
                if text.contains(forbidden) {
                    broken.push(format!("{}: {forbidden}", path.display()));
                }
            }
        }
        if layer != "cli" {
            for printing in ["println!(", "eprintln!(", "print!(", "eprint!("] {
                if text.contains(printing) {
                    broken.push(format!("{}: {printing}", path.display()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Whether any occurrence starts a path (`x::zip::` and `.zip::<>` do not).
fn words_before(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.'))
    })
}

#[test]
fn the_root_re_exports_nothing() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    assert!(!text.contains("pub use"), "src/lib.rs re-exports");
}
