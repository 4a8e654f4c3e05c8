//! Which statements events came from.

use super::support::{
    Host, analyze, bucketed_session, finding, published_case, session, table, words_of, yield_stack, yields,
};
use xestack::model::{Evidence, Report, SessionState, Table, Value};

/// 0x0123456789ABCDEF and 0xFFFFFFFFFFFFFFFF as targets show them.
const FIRST: &str = "81985529216486895";
const LAST: &str = "18446744073709551615";

fn statements() -> Table {
    let row = |hash: &str, text: &str, executions: i64, worker_us: i64| {
        vec![
            Value::Text(hash.to_owned()),
            Value::Integer(executions),
            Value::Integer(worker_us),
            Value::Text(text.to_owned()),
        ]
    };
    table(
        &["query_hash", "execution_count", "total_worker_time", "statement_text"],
        vec![
            row("0x0123456789abcdef", "SELECT COUNT(*)\n  FROM t WHERE c1 = 1", 50, 9_000_000),
            row("0x0123456789ABCDEF", "SELECT COUNT(*) FROM t WHERE c1 = 2", 7, 1_000_999),
            row("0x00000000000000FF", "SELECT 1", 1, 1),
        ],
    )
}

fn with_queries(counts: &[(&str, u64)]) -> Evidence {
    let mut evidence = published_case(&Host::default());
    evidence.sessions.push(bucketed_session(yields(), "sqlserver.query_hash", counts));
    evidence.statements = Some(statements());
    evidence
}

fn state(report: &Report) -> &str {
    &finding(report, "query_origin").state
}

#[test]
fn the_leading_statement_is_the_next_question_after_yields() {
    let report = analyze(&with_queries(&[(FIRST, 19_000), (LAST, 1_000), ("0", 647)]));
    let rows: Vec<(&str, u64)> = report.queries.iter().map(|row| (row.query_hash.as_str(), row.events)).collect();
    assert_eq!(rows, [("0x0123456789ABCDEF", 19_000), ("0xFFFFFFFFFFFFFFFF", 1_000), ("0x0000000000000000", 647)]);
    let first = &report.queries[0];
    assert_eq!(first.statement.as_deref(), Some("SELECT COUNT(*)\n  FROM t WHERE c1 = 1"));
    assert_eq!((first.executions, first.cpu_ms), (Some(57), Some(10_000)));
    let share = first.share.unwrap();
    assert_eq!(format!("{:.3} {:.3}", share.low, share.high), "0.920 0.920");
    assert_eq!((report.queries[1].statement.as_deref(), report.queries[1].executions), (None, None));
    assert_eq!(state(&report), "one_statement");
    assert!(finding(&report, "query_origin").text.contains("647 events of no cached statement"));
    let step = &report.verdict.next_steps[0].text;
    assert!(
        step.contains("0x0123456789ABCDEF (SELECT COUNT(*) FROM t WHERE c1 = 1), with 57 executions and 10,000 ms"),
        "{step}"
    );
    assert!(!words_of(&report).contains("--queries"));

    // The session counts the same yields once more: nothing else of the report changes.
    let without = analyze(&published_case(&Host::default()));
    assert_eq!((&report.verdict.shares, report.verdict.kind), (&without.verdict.shares, without.verdict.kind));
    assert_eq!((&report.stacks, report.verdict.confidence), (&without.stacks, without.verdict.confidence));
    assert!(without.queries.is_empty() && words_of(&without).contains("Repeat the capture with --queries"));
}

#[test]
fn most_is_more_than_half_whatever_is_missing() {
    for (first, others, lost, expected) in [
        (10_001, 9_999, 0, "one_statement"),
        (10_000, 10_000, 0, "several"),
        (10_001, 9_999, 3, "unknown"),
        (9_000, 11_000, 1_000, "several"),
        (9_000, 11_000, 2_000, "unknown"),
    ] {
        let mut evidence = with_queries(&[(FIRST, first), ("1", others / 2), ("2", others - others / 2)]);
        evidence.sessions[1].dropped_events = Some(lost);
        assert_eq!(state(&analyze(&evidence)), expected, "{first} of {} and {lost}", first + others);
    }
}

#[test]
fn what_is_not_bounded_proves_no_share() {
    type Change = fn(&mut Evidence);
    let changes: [Change; 4] = [
        |e| e.sessions[1].target.as_mut().unwrap().cut = true,
        |e| e.sessions[1].target.as_mut().unwrap().buckets = Some(1),
        |e| e.sessions[1].dropped_events = None,
        |e| {
            e.sessions[1].target = None;
            e.sessions[1].state = Some(SessionState::Gone);
        },
    ];
    for change in changes {
        let mut evidence = with_queries(&[(FIRST, 20_000)]);
        change(&mut evidence);
        let report = analyze(&evidence);
        assert_eq!(state(&report), "unknown");
        assert!(report.queries.iter().all(|row| row.share.is_none()));
        // The yields are decided by their own session.
        assert_eq!(report.verdict.kind.name(), "cpu_bound_yields", "{}", words_of(&report));
    }
    let nameless = analyze(&with_queries(&[("0", 15_000), (FIRST, 5_000)]));
    assert_eq!(state(&nameless), "unknown");
    let odd = analyze(&with_queries(&[("no hash", 15_000), ("-1", 5_000)]));
    assert_eq!(odd.queries[0].query_hash, "0xFFFFFFFFFFFFFFFF");
    assert_eq!(odd.queries[0].share.unwrap().low, 0.25);
}

#[test]
fn statements_of_another_scenario_say_nothing_of_the_yields() {
    let mut evidence = with_queries(&[(FIRST, 20_000)]);
    evidence.sessions[0].scenario = Some("sos-yield".to_owned());
    evidence.sessions[1].scenario = Some("latch".to_owned());
    let report = analyze(&evidence);
    assert!(report.findings.iter().all(|finding| finding.name != "query_origin"));
    assert_eq!(report.queries.len(), 1);
    assert_eq!(session(yields(), vec![(1, yield_stack())]).bucket, None);
}
