//! What documents say of tests and of each other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.extend(
                text.split("fn ").skip(1).filter_map(|after| after.split(['(', '<']).next()).map(str::to_owned),
            );
        }
    }
}

#[test]
fn every_field_report_is_held_by_tests_that_exist() {
    let mut known = BTreeSet::new();
    functions(&root().join("tests"), &mut known);
    functions(&root().join("src"), &mut known);
    let page = fs::read_to_string(root().join("docs/field-reports.md")).unwrap();
    let mut missing = Vec::new();
    for number in 1..=49 {
        let start = format!("| L-{number:02} |");
        let row = page.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no row {start}"));
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        assert!(tests.contains('`'), "{row}");
        let names = tests.split(", ").map(|name| name.trim_matches('`'));
        missing.extend(names.filter(|name| !known.contains(*name)).map(|name| format!("L-{number:02}: {name}")));
    }
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
}
