//! Tests of report: golden text and JSON of whole reports, and what holds for any report.

mod arbitrary;
mod cases;
mod further_cases;
mod rows;

use proptest::prelude::*;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;
use xestack::model::{FilePoint, FileRow};
use xestack::{
    model::{Problem, Report, Severity},
    report::{Format, Style, json, render, text},
};

const SECTIONS: [&str; 7] = ["Verdict", "Why", "Stacks", "Counters", "Not shown by this", "Next", "Problems"];

fn plain(report: &Report) -> String {
    text::render(report, &Style::default())
}

#[test]
fn the_published_case_reads_as_it_should() {
    insta::assert_snapshot!("cpu_bound_yields_text", plain(&cases::cpu_bound_yields()));
    insta::assert_snapshot!("cpu_bound_yields_json", json::render(&cases::cpu_bound_yields()));
}

#[test]
fn a_capture_without_symbols_reads_as_it_should() {
    insta::assert_snapshot!("all_unresolved_text", plain(&cases::all_unresolved()));
}

#[test]
fn an_empty_offline_run_reads_as_it_should() {
    insta::assert_snapshot!("offline_empty_text", plain(&cases::offline_empty()));
    insta::assert_snapshot!("offline_empty_json", json::render(&cases::offline_empty()));
}

#[test]
fn a_narrow_page_turns_wide_tables_into_lists() {
    let narrow = text::render(&cases::cpu_bound_yields(), &Style { width: 40, colour: false });
    insta::assert_snapshot!("cpu_bound_yields_narrow", narrow);
}

#[test]
fn formats_have_names() {
    for format in Format::ALL {
        assert_eq!(format.name().to_uppercase().parse(), Ok(format));
    }
    let error = "html".parse::<Format>().unwrap_err();
    assert_eq!(error.to_string(), "unknown format `html`: use one of text, json");
    let report = cases::offline_empty();
    assert_eq!(render(Format::Text, &report, &Style::default()), plain(&report));
    assert_eq!(render(Format::Json, &report, &Style::default()), json::render(&report));
}

#[test]
fn colour_adds_nothing_but_colour() {
    for report in [cases::cpu_bound_yields(), cases::all_unresolved(), cases::offline_empty()] {
        let coloured = text::render(&report, &Style { width: 80, colour: true });
        assert!(coloured.contains("\x1b["));
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain(&report));
    }
}

#[test]
fn keys_stand_in_the_order_of_the_contract() {
    let rendered = json::render(&cases::cpu_bound_yields());
    let value: Value = serde_json::from_str(&rendered).unwrap();
    let keys = |pointer: &str| value.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(""),
        [
            "schema",
            "tool",
            "capture",
            "verdict",
            "findings",
            "stacks",
            "waits",
            "latches",
            "spinlocks",
            "files",
            "databases"
        ]
    );
    assert_eq!(keys("/capture"), ["id", "scenario", "server", "window", "sessions", "trace_flags", "problems"]);
    assert_eq!(keys("/verdict").first().map(String::as_str), Some("kind"));
    assert_eq!(keys("/verdict/shares").len(), 13);
}

#[test]
fn integers_beyond_a_double_have_exact_text_beside_them() {
    let mut report = cases::cpu_bound_yields();
    report.spinlocks[0].spins = (1 << 53) + 1;
    report.spinlocks[0].collisions = 1 << 53;
    report.stacks.total_events = u64::MAX;
    let point = FilePoint { at_ms: 0, reads: u64::MAX, writes: 0, read_latency_ms: None, write_latency_ms: None };
    report.files = vec![FileRow { growth_bytes: Some(i64::MIN), series: vec![point], ..FileRow::default() }];
    let value: Value = serde_json::from_str(&json::render(&report)).unwrap();
    assert_eq!(value["spinlocks"][0]["spins_exact"], "9007199254740993");
    assert_eq!(value["spinlocks"][0]["spins"], 9_007_199_254_740_993_u64);
    assert_eq!(value["spinlocks"][0].get("collisions_exact"), None);
    assert_eq!(value["stacks"]["total_events_exact"], "18446744073709551615");
    assert_eq!(value["files"][0]["growth_bytes_exact"], "-9223372036854775808");
    assert_eq!(value["files"][0]["series"][0]["reads_exact"], "18446744073709551615");
}

#[test]
fn what_is_not_a_number_is_null() {
    let mut report = cases::cpu_bound_yields();
    report.waits[0].share = f64::NAN;
    report.waits[1].share = f64::INFINITY;
    let value: Value = serde_json::from_str(&json::render(&report)).unwrap();
    assert_eq!((&value["waits"][0]["share"], &value["waits"][1]["share"]), (&Value::Null, &Value::Null));
    assert!(!plain(&report).contains("NaN"));
}

#[test]
fn a_hostile_server_cannot_steer_the_terminal() {
    let hostile = "\x1b]0;owned\x07\u{9b}2J\u{202e}\r\nVerdict";
    let mut report = cases::cpu_bound_yields();
    report.capture.server.as_mut().unwrap().name = hostile.to_owned();
    report.waits[0].wait_type = hostile.to_owned();
    std::sync::Arc::make_mut(&mut report.stacks.items[0].frames[3]).symbol = Some(hostile.to_owned());
    report.verdict.summary = hostile.to_owned();
    let text = plain(&report);
    assert!(text.contains("\\u{1b}]0;owned\\u{7}\\u{9b}2J\\u{202e}"), "{text}");
    assert_eq!(text.chars().find(|c| c.is_control() && *c != '\n'), None);
    assert_eq!(text.lines().filter(|line| *line == "Verdict").count(), 1);
    let json = json::render(&report);
    assert_eq!(json.chars().find(|c| c.is_control() && *c != '\n'), None);
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
}

#[test]
fn many_problems_are_summed_up_gravest_first() {
    let mut report = cases::offline_empty();
    report.capture.problems = (0..30).map(|n| Problem::new(&format!("p{n}"), Severity::Info, "seen")).collect();
    report.capture.problems.push(Problem::new("grave", Severity::Partial, "missing"));
    let text = plain(&report);
    let problems = text.split("\nProblems\n").nth(1).unwrap();
    assert!(problems.starts_with("  partial  grave: missing\n"), "{problems}");
    assert!(problems.ends_with("  and 11 more\n"), "{problems}");
}

#[test]
fn at_most_ten_stacks_are_shown_and_the_rest_is_counted() {
    let mut report = cases::cpu_bound_yields();
    let model = report.stacks.items[0].clone();
    report.stacks.items =
        (1..=40).map(|n| xestack::model::StackItem { id: format!("s{n}"), events: 10, ..model.clone() }).collect();
    report.stacks.total_events = 400;
    let text = plain(&report);
    assert!(text.contains("\n  s10  2.5 %, 10 events"), "{text}");
    assert!(!text.contains("\n  s11 "));
    assert!(text.contains("\n  30 more: 300 events, 75 %\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_line_is_wider_than_the_page_and_every_section_is_there(report in arbitrary::report(), width in 40..160usize) {
        let text = text::render(&report, &Style { width, colour: false });
        for line in text.lines() {
            prop_assert!(line.width() <= width, "{} > {width}: {line:?}", line.width());
            prop_assert_eq!(line.chars().find(|c| c.is_control()), None);
        }
        let mut lines = text.lines();
        for section in SECTIONS {
            prop_assert!(lines.any(|line| line == section), "{section}");
        }
    }

    #[test]
    fn json_reads_back_as_the_same_report(report in arbitrary::report()) {
        let rendered = json::render(&report);
        prop_assert_eq!(&serde_json::from_str::<Report>(&rendered).unwrap(), &report);
        prop_assert!(exact_texts_agree(&serde_json::from_str(&rendered).unwrap()));
    }
}

/// Whether `k_exact` stands beside exactly the integers above 2^53, with their digits.
fn exact_texts_agree(value: &Value) -> bool {
    match value {
        Value::Object(entries) => entries.iter().all(|(key, entry)| {
            let due = entry.as_i64().map(|n| u128::from(n.unsigned_abs())).or(entry.as_u64().map(u128::from));
            let due = due.filter(|&magnitude| magnitude > 1 << 53).map(|_| entry.to_string());
            let given = entries.get(&format!("{key}_exact")).and_then(Value::as_str).map(str::to_owned);
            due == given && exact_texts_agree(entry)
        }),
        Value::Array(entries) => entries.iter().all(exact_texts_agree),
        _ => true,
    }
}
