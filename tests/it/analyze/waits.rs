//! A site's own scenario shows where its waits come from, and draws no verdict beyond that there is nothing to explain.

use super::support::{
    Host, analyze, answer, catalog, finding, latch_stack, pasted, published_case, raw_stack, session, stack,
    wait_table, waits_of, words_of,
};
use std::sync::Arc;
use xestack::{
    catalog::{
        Catalog, WaitsSettings,
        sessions::{EMBEDDED, Sessions},
    },
    model::{
        Confidence::{High, Low},
        EventContext, Evidence, Report, Stack, Tool,
        VerdictKind::{Inconclusive, NoContention},
    },
};

/// The built-in scenarios, and one of a site's own.
fn with_site(settings: Option<WaitsSettings>) -> Catalog {
    let (_, text) = EMBEDDED.iter().find(|(path, _)| *path == "sos-yield/scenario.toml").unwrap();
    let site = text
        .replace("name = \"sos-yield\"", "name = \"memory\"")
        .replace("question = \"yields\"", "question = \"waits\"")
        .replace("values = [\"SOS_SCHEDULER_YIELD\"]", "values = [\"CMEMTHREAD\", \"RESOURCE_SEMAPHORE\"]");
    let mut files: Vec<(&str, &str)> = EMBEDDED.to_vec();
    files.push(("memory/scenario.toml", &site));
    let mut catalog = catalog();
    catalog.sessions = Arc::new(Sessions::from_texts(&files).unwrap());
    catalog.site_waits.extend(settings.map(|settings| ("memory".to_owned(), settings)));
    catalog
}

fn memory_stack() -> Stack {
    stack(&[
        "sqldk.dll!XeSosPkg::wait_info::Publish+0x138",
        "sqldk.dll!SOS_Scheduler::UpdateWaitTimeStats+0x2bc",
        "sqldk.dll!SOS_Task::PostWait+0x9e",
        "sqldk.dll!UnfairRecursiveMutexInternal<1>::LongWait+0x1",
        "sqldk.dll!CPmoLock::GetAccessPmo+0x1",
    ])
}

fn evidence(waits: i64, wait_ms: i64, slots: Vec<(u64, Stack)>) -> Evidence {
    let table = |factor: i64| {
        wait_table(&[
            ("CMEMTHREAD", waits * factor, wait_ms * factor, 0),
            ("LCK_M_S", factor, (100_000 - wait_ms) * factor, 0),
        ])
    };
    let stacks = session(waits_of("CMEMTHREAD,RESOURCE_SEMAPHORE"), slots);
    let host = Host { cpu_percent: 30, ..Host::default() };
    let mut evidence =
        host.evidence(vec![stacks], &[("dm_os_wait_stats", table(0))], &[("dm_os_wait_stats", table(1))]);
    evidence.scenario = Some("memory".to_owned());
    evidence.sessions[0].scenario = Some("memory".to_owned());
    evidence
}

fn report(evidence: &Evidence, settings: Option<WaitsSettings>) -> Report {
    let tool = Tool { name: "xestack".to_owned(), version: "0".to_owned() };
    xestack::analyze::analyze(evidence, &with_site(settings), tool)
}

#[test]
fn it_shows_parts_of_the_engine_with_intervals() {
    let slots = vec![
        (6_000, memory_stack()),
        (3_000, latch_stack(&["sqlmin.dll!BUF::AcquireLatch+0x1"])),
        (1_000, raw_stack()),
    ];
    let report = report(&evidence(10_000, 40_000, slots), None);
    assert_eq!(answer(&report), (Inconclusive, None, Low));
    let summary = &report.verdict.summary;
    for words in
        ["draws no verdict", "40 % of the wait time", "(1,000 a second)", "60 to 70 % class memory in memory leads"]
    {
        assert!(summary.contains(words), "{words}: {summary}");
    }
    let origin = finding(&report, "wait_origin");
    assert_eq!((origin.state.as_str(), origin.low, origin.high), ("one_area", Some(0.6), Some(0.7)));
    assert!(
        origin.text.contains("30 to 40 % class latch") && origin.text.contains("10 % class unresolved"),
        "{}",
        origin.text
    );
    assert!(report.verdict.next_steps[0].text.contains("stack s1"));
}

#[test]
fn below_both_limits_there_is_nothing_to_explain() {
    let of = |waits: i64, wait_ms: i64, settings: Option<WaitsSettings>| {
        report(&evidence(waits, wait_ms, vec![(u64::try_from(waits).unwrap(), memory_stack())]), settings)
    };
    for (waits, wait_ms, kind) in
        [(99, 999, NoContention), (100, 999, Inconclusive), (99, 1_000, Inconclusive), (0, 0, NoContention)]
    {
        let report = of(waits, wait_ms, None);
        assert_eq!(report.verdict.kind, kind, "{waits} {wait_ms}: {}", words_of(&report));
        assert_eq!(report.verdict.confidence, if kind == NoContention { High } else { Low }, "{}", words_of(&report));
    }
    let own = |share_of_wait_time: f64, events_per_second: f64| {
        of(100, 1_000, Some(WaitsSettings { share_of_wait_time, events_per_second })).verdict.kind
    };
    assert_eq!((own(0.02, 11.0), own(0.02, 9.0), own(0.005, 11.0)), (NoContention, Inconclusive, Inconclusive));
}

#[test]
fn without_waits_the_stacks_are_still_shown() {
    let mut other = evidence(10, 10, vec![(5_000, raw_stack())]);
    other.sessions[0].context = EventContext { event: Some("sqlserver.page_split".to_owned()), wait_type: None };
    let shown = report(&other, None);
    assert_eq!(finding(&shown, "wait_origin").state, "unresolved");
    let mut missing = evidence(10_000, 40_000, vec![]);
    missing.sessions[0].target = None;
    let shown = report(&missing, None);
    assert_eq!((answer(&shown), finding(&shown, "wait_origin").state.as_str()), ((Inconclusive, None, Low), "unknown"));
    assert!(words_of(&shown).contains("was gone before its target"), "{}", words_of(&shown));
    // Stacks of a file are taken as the scenario's, whatever they wait for.
    let file = pasted(waits_of("LATCH_EX"), vec![(1, memory_stack())]);
    let of_file = Evidence { scenario: Some("memory".to_owned()), sessions: vec![file], ..Evidence::default() };
    let shown = report(&of_file, None);
    assert!(finding(&shown, "wait_origin").text.starts_with("Of 1 event:"), "{}", finding(&shown, "wait_origin").text);
}

#[test]
fn waits_of_no_category_are_shown() {
    let with = |name: &str, ms: i64| {
        let mut evidence = published_case(&Host::default());
        for (snapshot, factor) in [(&mut evidence.before, 0), (&mut evidence.after, 1)] {
            let rows = [(name, factor, ms * factor, 0), ("LCK_M_S", factor, 900 * factor, 0)];
            snapshot.as_mut().unwrap().tables.insert("dm_os_wait_stats".to_owned(), wait_table(&rows));
        }
        analyze(&evidence)
    };
    let shown = with("NEVER_SEEN", 100);
    let found = finding(&shown, "uncategorised_waits");
    assert_eq!((found.state.as_str(), found.value), ("counted_as_work", Some(0.1)));
    assert!(
        found.text.contains("100 ms, 10 % of the wait time") && found.text.contains("NEVER_SEEN"),
        "{}",
        found.text
    );
    for (name, ms) in [("NEVER_SEEN", 0), ("WRITELOG", 100), ("SLEEP_TASK", 100)] {
        assert!(with(name, ms).findings.iter().all(|finding| finding.name != "uncategorised_waits"), "{name}");
    }
}
