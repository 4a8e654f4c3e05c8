//! Real stacks with known labels.

use super::support::{catalog, frame};
use std::{collections::BTreeMap, path::Path};
use xestack::{
    analyze::{
        classify::classify,
        wrong_symbols::{Trust, trust},
    },
    model::{EventContext, Stack},
};

struct Row {
    id: String,
    label: String,
    group: String,
    unresolved: bool,
    wrong_symbols: bool,
    stack: Stack,
}

fn rows() -> Option<Vec<Row>> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/stacks/corpus.jsonl"));
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    };
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let frames = row["frames"].as_array().unwrap().iter().map(|line| frame(line.as_str().unwrap()));
        Row {
            id: text("id"),
            label: text("label"),
            group: if row["group"].is_null() { text("id") } else { text("group") },
            unresolved: row["unresolved"].as_bool().unwrap_or(false),
            wrong_symbols: row["wrong_symbols"].as_bool().unwrap_or(false),
            stack: frames.collect::<Stack>(),
        }
    };
    Some(text.lines().filter(|line| !line.trim().is_empty()).map(row).collect())
}

/// Classes that frames decide without context.
const DECIDED: [&str; 5] = ["spinlock_backoff", "latch", "lock", "cpu_yield", "preemptive"];

#[test]
fn no_stack_of_a_decided_class_is_taken_for_another() {
    let Some(rows) = rows() else { return };
    let catalog = catalog();
    let mut tallies: BTreeMap<(String, String, &str), usize> = BTreeMap::new();
    for row in &rows {
        let found = classify(&EventContext::default(), &row.stack, &catalog).class.name();
        *tallies.entry((row.group.clone(), row.label.clone(), found)).or_default() += 1;
        if row.unresolved {
            assert_eq!(found, "unresolved", "{}", row.id);
        } else if row.wrong_symbols {
            // Their names are not trusted, so no class is expected of them.
        } else if DECIDED.contains(&row.label.as_str()) {
            assert_eq!(found, row.label, "{}", row.id);
        } else {
            assert!(!DECIDED.contains(&found), "{} is {}, not {found}", row.id, row.label);
        }
    }
    for ((group, label, found), count) in tallies {
        println!("{group}: {count} of {label} found as {found}");
    }
}

#[test]
fn wrong_symbols_are_caught_and_no_genuine_stack_is() {
    let Some(rows) = rows() else { return };
    let (mut caught, mut genuine) = (0, 0);
    for row in &rows {
        let trust = trust([&row.stack]);
        if row.wrong_symbols {
            assert!(matches!(trust, Trust::Wrong(_)), "{}", row.id);
            caught += 1;
        } else {
            assert_eq!(trust, Trust::Trusted, "{}", row.id);
            genuine += 1;
        }
    }
    println!("wrong symbols: {caught} rows caught; {genuine} genuine rows trusted");
    assert!(caught > 0 && genuine > 0);
}
