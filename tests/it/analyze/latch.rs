//! Which latch class is contended, by whom it is named, and what is not said.

use super::support::{
    Host, analyze, answer, finding, latch_stack, latch_table, met, performance_table, problem, raw_stack, session,
    stack, table, wait_table, waits_of, words_of, yield_stack, yields,
};
use xestack::model::{
    Confidence::{self, High, Low, Medium},
    EventContext, Evidence, Report, SessionEvidence, SessionState, Stack, Value,
    VerdictKind::{self, Inconclusive, LatchContention, NoContention},
};

const LATCH_WAITS: &str = "LATCH_NL,LATCH_KP,LATCH_SH,LATCH_UP,LATCH_EX,LATCH_DT";
const INSERT_POINT: &str = "APPEND_ONLY_STORAGE_INSERT_POINT";

fn add_record() -> Stack {
    latch_stack(&[
        "sqlmin.dll!AppendOnlyVerStoreMgr::AddRecord+0x1a1",
        "sqlmin.dll!VersionStoreMgr::AddVersion+0x55",
        "sqlmin.dll!IndexDataSetSession::SetDataInternal+0x9a46",
    ])
}

/// The published case over ten seconds, scaled: ten connections update rows of a versioned database.
#[derive(Clone)]
struct Case {
    host: Host,
    /// LATCH_EX: waits and their time; time of other waits.
    latch: (i64, i64),
    others_ms: i64,
    others: &'static str,
    classes: Vec<(&'static str, i64)>,
    versions_kb: Option<i64>,
    stack: Stack,
    events: Option<u64>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            host: Host { cpu_percent: 30, runnable: [0; 8], ..Host::default() },
            latch: (300_000, 85_000),
            others_ms: 15_000,
            others: "MEMORY_ALLOCATION_EXT",
            classes: vec![(INSERT_POINT, 85_000), ("BUFFER", 2_000)],
            versions_kb: Some(400_000),
            stack: add_record(),
            events: None,
        }
    }
}

impl Case {
    fn evidence(&self) -> Evidence {
        let (waits, wait_ms) = self.latch;
        let grown = |factor: i64| {
            let classes: Vec<(&str, i64, i64)> =
                self.classes.iter().map(|&(class, ms)| (class, ms * factor, 10 + ms * factor)).collect();
            let mut counters = vec![("Index Searches/sec", 5 + 600_000 * factor)];
            counters.extend(self.versions_kb.map(|kb| ("Version Generation rate (KB/s)", 7 + kb * factor)));
            vec![
                (
                    "dm_os_wait_stats",
                    wait_table(&[
                        ("LATCH_EX", 9 + waits * factor, 30 + wait_ms * factor, wait_ms * factor / 20),
                        (self.others, 9 + factor, 40 + self.others_ms * factor, 0),
                    ]),
                ),
                ("dm_os_latch_stats", latch_table(&classes)),
                ("dm_os_performance_counters", performance_table(&counters)),
                ("databases", databases()),
                (
                    "dm_tran_version_store_space_usage",
                    table(
                        &["database_id", "reserved_space_kb"],
                        vec![vec![Value::Integer(5), Value::Integer(1_000 + factor * 400_000)]],
                    ),
                ),
            ]
        };
        let events = self.events.unwrap_or(u64::try_from(waits).unwrap());
        let stacks = session(waits_of(LATCH_WAITS), vec![(events, self.stack.clone())]);
        let mut evidence = self.host.evidence(vec![stacks], &grown(0), &grown(1));
        evidence.scenario = Some("latch".to_owned());
        evidence
    }

    fn report(&self) -> Report {
        analyze(&self.evidence())
    }

    /// The same load with other figures of the LATCH waits, and one class that holds all of their time.
    fn with_waits(waits: i64, wait_ms: i64, others_ms: i64) -> Self {
        Self { latch: (waits, wait_ms), others_ms, classes: vec![(INSERT_POINT, wait_ms)], ..Self::default() }
    }
}

fn databases() -> xestack::model::Table {
    let row = |name: &str, id: i64, isolation: i64, committed: bool| {
        vec![
            Value::Text(name.to_owned()),
            Value::Integer(id),
            Value::Null,
            Value::Text("ONLINE".to_owned()),
            Value::Integer(isolation),
            Value::Bool(committed),
        ]
    };
    table(
        &[
            "name",
            "database_id",
            "source_database_id",
            "state_desc",
            "snapshot_isolation_state",
            "is_read_committed_snapshot_on",
        ],
        vec![row("master", 1, 1, false), row("orders", 5, 0, true), row("plain", 6, 0, false)],
    )
}

/// The session of the latch's own event, filtered to key 77.
fn class_session(class: &str, events: u64) -> SessionEvidence {
    let context = EventContext { event: Some("sqlserver.latch_suspend_end".to_owned()), wait_type: None };
    let stack = stack(&[
        "sqlmin.dll!XeSqlPkg::latch_suspend_end::Publish+0x138",
        "sqlmin.dll!LatchBase::Suspend+0x812",
        "sqlmin.dll!LatchBase::AcquireInternal+0x2c1",
        "sqlmin.dll!AppendOnlyVerStoreMgr::AddRecord+0x1a1",
    ]);
    SessionEvidence {
        name: "class".to_owned(),
        filter_keys: vec![77],
        filter_names: vec![class.to_owned()],
        ..session(context, vec![(events, stack)])
    }
}

#[test]
fn the_published_case_is_contention_for_the_insert_point_of_versions() {
    let mut evidence = Case::default().evidence();
    evidence.sessions.push(class_session(INSERT_POINT, 300_000));
    let report = analyze(&evidence);
    assert_eq!(answer(&report), (LatchContention, Some(INSERT_POINT), High), "{}", words_of(&report));
    assert!(report.verdict.summary.contains("85 % of the wait time that is not idle"), "{}", report.verdict.summary);
    assert!(report.verdict.summary.contains("100 % of the latch wait time is of this class"));
    // The class of pages keeps its figures and takes no part.
    let shares: Vec<(&str, u64, f64)> =
        report.latches.iter().map(|row| (row.latch_class.as_str(), row.wait_ms, row.share)).collect();
    assert_eq!(shares, [(INSERT_POINT, 85_000, 1.0), ("BUFFER", 2_000, 0.0)]);
    let found = finding(&report, "latch_contention");
    assert_eq!((found.state.as_str(), found.low, found.high), ("contention", Some(1.0), Some(1.0)));
    assert!(found.text.contains("60,000 index searches a second"), "{}", found.text);
    for gate in ["wait_share", "waits", "class_share_low", "classes_apart_from_waits", "versions_generated_kb"] {
        assert!(met(&report, "latch_contention", gate), "{gate}");
    }
    let class = finding(&report, "latch_class");
    assert_eq!(class.state, "agree");
    assert_eq!(class.text.matches(INSERT_POINT).count(), 3, "{}", class.text);
    let versions = finding(&report, "row_versions");
    assert_eq!(versions.state, "generated");
    for words in [
        "400,000 KB of row versions",
        "orders (read committed snapshot)",
        "401,000 KB of tempdb, 400,000 KB more",
        "Triggers, MARS",
    ] {
        assert!(versions.text.contains(words), "{words}: {}", versions.text);
    }
    assert!(!versions.text.contains("master") && !versions.text.contains("plain"), "{}", versions.text);
    assert!(report.capture.problems.is_empty(), "{:?}", report.capture.problems);
}

#[test]
fn what_costs_most_is_never_the_first_step() {
    let report = Case::default().report();
    let steps = &report.verdict.next_steps;
    let at = |words: &str| steps.iter().position(|step| step.text.contains(words)).unwrap();
    assert!(at("Read the path of stack s1") == 0 && at("Accelerated database recovery") == steps.len() - 1);
    assert!(steps[at("Accelerated")].risk.contains("far more throughput than the latch"));
    assert!(steps[at("row versioning is needed")].text.contains("25 %"));
    assert!(!words_of(&report).contains("3459"), "there is no redo here");

    let redo = Case { others: "PARALLEL_REDO_FLOW_CONTROL", ..Case::default() }.report();
    let step = redo.verdict.next_steps.iter().position(|step| step.text.contains("3459")).unwrap();
    assert!(step > 2, "{}", words_of(&redo));
    assert!(finding(&redo, "row_versions").text.contains("Parallel redo ran"));
    let old = Case {
        host: Host { version: xestack::model::ServerVersion::V2017, ..Case::default().host },
        ..Case::default()
    };
    assert!(!words_of(&old.report()).contains("Accelerated"));
}

#[test]
fn every_gate_has_its_edge() {
    let three = |leading: i64, second: i64, third: i64| Case {
        classes: vec![(INSERT_POINT, leading), ("FCB", second), ("ALLOC_FREESPACE_CACHE", third)],
        ..Case::default()
    };
    let classes = |ms: i64| Case { classes: vec![(INSERT_POINT, ms)], ..Case::default() };
    let cases: [(&str, Case, VerdictKind, Confidence); 14] = [
        ("a tenth of the time", Case::with_waits(300_000, 10_000, 90_000), LatchContention, High),
        ("less than a tenth", Case::with_waits(300_000, 9_999, 90_001), Inconclusive, Low),
        ("a thousand waits", Case::with_waits(1_000, 85_000, 15_000), LatchContention, High),
        ("fewer", Case::with_waits(999, 85_000, 15_000), Inconclusive, Low),
        ("half of the class", three(42_500, 21_250, 21_250), LatchContention, High),
        ("less than half", three(42_499, 21_250, 21_251), Inconclusive, Low),
        ("a tenth apart", classes(76_500), LatchContention, High),
        ("more than a tenth apart", classes(76_499), LatchContention, Medium),
        ("few and short", Case::with_waits(99, 999, 99_001), NoContention, High),
        ("ten a second", Case::with_waits(100, 999, 99_001), Inconclusive, Low),
        ("one in a hundred", Case::with_waits(99, 1_000, 99_000), Inconclusive, Low),
        ("no versions", Case { versions_kb: Some(0), ..Case::default() }, Inconclusive, Low),
        ("one version", Case { versions_kb: Some(1), ..Case::default() }, LatchContention, High),
        ("versions unknown", Case { versions_kb: None, ..Case::default() }, LatchContention, Medium),
    ];
    for (what, case, kind, confidence) in cases {
        let report = case.report();
        assert_eq!(
            (report.verdict.kind, report.verdict.confidence),
            (kind, confidence),
            "{what}: {}",
            words_of(&report)
        );
        assert_eq!(report.verdict.subject.is_some(), kind == LatchContention, "{what}");
    }
}

#[test]
fn time_that_only_the_waits_show_may_be_of_any_class() {
    let found = |ms: i64| {
        let report = Case { classes: vec![(INSERT_POINT, ms)], ..Case::default() }.report();
        let found = finding(&report, "latch_contention");
        (found.low.unwrap(), found.high.unwrap())
    };
    assert_eq!(found(42_500), (0.5, 1.0));
    // More time in the classes than in the waits leaves their own shares.
    assert_eq!(found(170_000), (1.0, 1.0));
}

#[test]
fn who_names_the_class_decides_how_far_to_trust_it() {
    let elsewhere = latch_stack(&["sqlmin.dll!VisibleHoBt::Refresh+0x11"]);
    let unknown = latch_stack(&["sqlmin.dll!SomeThing::Unheard+0x11"]);
    let cases = [
        (Case { stack: elsewhere.clone(), ..Case::default() }, None, "disagree", Low),
        (Case { stack: unknown.clone(), ..Case::default() }, None, "counters_only", Medium),
        (Case { stack: unknown.clone(), ..Case::default() }, Some((INSERT_POINT, 300_000)), "disagree_not", High),
        // A key of another map names nothing, nor does a session that counted nothing.
        (Case { stack: unknown.clone(), ..Case::default() }, Some(("LOCK_HASH", 300_000)), "disagree_not", High),
        (Case::default(), Some(("BUFFER", 300_000)), "disagree", Low),
        (Case::default(), Some(("BUFFER", 0)), "agree", High),
    ];
    for (case, event, state, confidence) in cases {
        let mut evidence = case.evidence();
        if let Some((name, events)) = event {
            evidence.sessions.push(class_session(name, events));
        }
        let report = analyze(&evidence);
        let state = if state == "disagree_not" { "agree" } else { state };
        assert_eq!(finding(&report, "latch_class").state, state, "{event:?}");
        assert_eq!(answer(&report), (LatchContention, Some(INSERT_POINT), confidence), "{}", words_of(&report));
    }
    for (waiter, class) in [
        ("VisibleHoBt::Refresh", "ACCESS_METHODS_HOBT"),
        ("XVMgr::RemoveInactiveXVB", "VERSIONING_TRANSACTION_LIST"),
        ("CMEDSeqGen::AddGeneratedValue", "METADATA_CLONE_ACCESS_TICKET"),
        ("CheckTables::ProcessNextData", "DBCC_CHECK_TABLE_INIT"),
        ("HoBtColumnAttribute::SetupComparisonFunction", "ACCESS_METHODS_STRING_COMPARE"),
        ("AutoAllocationCaches::AddExtentToAllocCache", "SPACEMGR_ALLOCEXTENT_CACHE"),
    ] {
        let case = Case {
            stack: latch_stack(&[&format!("sqlmin.dll!{waiter}+0x1")]),
            classes: vec![(class, 85_000)],
            ..Case::default()
        };
        assert_eq!(answer(&case.report()), (LatchContention, Some(class), High), "{waiter}");
    }
}

#[test]
fn the_hand_out_of_a_parallel_scan_is_told_apart() {
    let scan = |others: &'static str| {
        Case { others, classes: vec![("ACCESS_METHODS_DATASET_PARENT", 85_000)], ..Case::default() }.report()
    };
    let parallel = scan("CXPACKET");
    assert_eq!(answer(&parallel), (Inconclusive, None, Low));
    assert!(parallel.verdict.summary.contains("this is parallelism"), "{}", parallel.verdict.summary);
    let alone = scan("MEMORY_ALLOCATION_EXT");
    assert_eq!(alone.verdict.kind, LatchContention);
    assert!(alone.verdict.confidence < High, "{}", words_of(&alone));
}

#[test]
fn what_the_sessions_lack_lowers_confidence_and_keeps_what_counters_prove() {
    type Change = fn(&mut Evidence);
    let few: Change = |e| e.sessions[0].target.as_mut().unwrap().slots[0].count = 12;
    let missing: Change = |e| {
        e.sessions[0].target = None;
        e.sessions[0].state = Some(SessionState::Gone);
    };
    let cases: [(&str, Change, Confidence, &str); 8] = [
        ("gone", missing, Low, "gone before its target could be read"),
        ("none", |e| e.sessions.clear(), Low, "no event session shows"),
        ("cut", |e| e.sessions[0].target.as_mut().unwrap().cut = true, Low, "no upper bound"),
        ("loss unknown", |e| e.sessions[0].dropped_events = None, Low, "no upper bound"),
        ("few", few, Medium, "12 events are fewer than 1,000"),
        ("full", |e| e.sessions[0].target.as_mut().unwrap().buckets = Some(1), Medium, "every slot"),
        ("filtered", |e| e.sessions[0].filters = vec!["database 5".to_owned()], Medium, "events are filtered"),
        (
            "tasks unknown",
            |e| {
                for snapshot in e.samples.iter_mut().chain(&mut e.before).chain(&mut e.after) {
                    snapshot.tables.remove("dm_os_schedulers");
                }
            },
            Medium,
            "how many tasks",
        ),
    ];
    for (what, change, most, words) in cases {
        let mut evidence = Case::default().evidence();
        change(&mut evidence);
        let report = analyze(&evidence);
        assert_eq!(report.verdict.kind, LatchContention, "{what}: {}", words_of(&report));
        assert!(report.verdict.confidence <= most, "{what}: {}", words_of(&report));
        assert!(words_of(&report).contains(words), "{what}: {}", words_of(&report));
    }
    let wrong = Case {
        stack: stack(&["sqldk!Ordinal298+0x1b2", "sqlmin!LatchBase::Suspend+0x99", "sqlmin!Ordinal12+0x4"]),
        ..Case::default()
    };
    assert_eq!(wrong.report().verdict.confidence, Low);
    assert!(problem(&wrong.report(), "wrong_symbols").is_some());
    let nameless = Case { stack: raw_stack(), ..Case::default() }.report();
    assert!(
        words_of(&nameless).contains("300,000 of 300,000 events have stacks without names"),
        "{}",
        words_of(&nameless)
    );
    assert!(nameless.verdict.confidence < High);
    let exceeded = Case::with_waits(300_000, 641_000, 15_000).report();
    assert_eq!(exceeded.verdict.confidence, Low, "64 tasks wait 640 s in 10 s at most: {}", words_of(&exceeded));
    let differ = Case { events: Some(280_000), ..Case::default() }.report();
    assert_eq!(differ.verdict.confidence, Medium, "{}", words_of(&differ));
    assert!(problem(&differ, "events_differ_from_counters").is_some());
}

#[test]
fn counters_that_do_not_hold_decide_nothing() {
    let mut reset = Case::default().evidence();
    let rows = [("LATCH_EX", 999_999_999, 999_999_999, 9), ("MEMORY_ALLOCATION_EXT", 1, 1, 0), ("LCK_M_S", 0, 0, 0)];
    reset.before.as_mut().unwrap().tables.insert("dm_os_wait_stats".to_owned(), wait_table(&rows));
    let mut without = Case::default().evidence();
    (without.before, without.after, without.window) = (None, None, None);
    for evidence in [reset, without] {
        let report = analyze(&evidence);
        assert_eq!(answer(&report), (Inconclusive, None, Low), "{}", words_of(&report));
        assert!(report.verdict.summary.contains("is not known"), "{}", report.verdict.summary);
    }
    let mut no_classes = Case::default().evidence();
    no_classes.after.as_mut().unwrap().tables.remove("dm_os_latch_stats");
    let report = analyze(&no_classes);
    // The functions name it, and nothing confirms how long.
    assert_eq!(answer(&report), (LatchContention, Some(INSERT_POINT), Low), "{}", words_of(&report));
}

#[test]
fn questions_of_one_window_depend_on_their_own_sessions_only() {
    let named = |scenario: &str, session: SessionEvidence| SessionEvidence {
        scenario: Some(scenario.to_owned()),
        name: scenario.to_owned(),
        ..session
    };
    let joined = |latch_missing: bool, yields_missing: bool| {
        let mut evidence = Case::default().evidence();
        let mut latch = named("latch", evidence.sessions.remove(0));
        let mut of_yields = named("sos-yield", session(yields(), vec![(20_000, yield_stack())]));
        if latch_missing {
            latch.target = None;
        }
        if yields_missing {
            of_yields.target = None;
        }
        evidence.sessions = vec![of_yields, latch];
        evidence.scenario = Some("sos-yield+latch".to_owned());
        for (snapshot, factor) in [(&mut evidence.before, 0), (&mut evidence.after, 1)] {
            let rows = [
                ("LATCH_EX", 300_000 * factor, 85_000 * factor, 0),
                ("SOS_SCHEDULER_YIELD", 20_000 * factor, 440_000 * factor, 440_000 * factor),
            ];
            snapshot.as_mut().unwrap().tables.insert("dm_os_wait_stats".to_owned(), wait_table(&rows));
        }
        evidence.samples = vec![Host::default().snapshot(false, &[]); 20];
        analyze(&evidence)
    };
    let both = joined(false, false);
    assert_eq!(both.further[0].verdict.kind, LatchContention, "{}", both.further[0].verdict.summary);
    // The latch stacks are no yields.
    let shares = &both.verdict.shares;
    assert_eq!(shares[&xestack::model::StackClass::CpuYield].low, 1.0);
    assert_eq!(both.further[0].verdict.shares[&xestack::model::StackClass::Latch].low, 1.0);

    let without_latch = joined(true, false);
    assert_eq!(without_latch.verdict.kind, both.verdict.kind);
    assert_eq!(without_latch.further[0].verdict.confidence, Low);
    let without_yields = joined(false, true);
    assert!(without_yields.verdict.summary.contains("gone before its target"), "{}", without_yields.verdict.summary);
    assert_eq!(without_yields.further[0].verdict, both.further[0].verdict);
}

#[test]
fn a_file_of_latch_stacks_asks_its_own_question() {
    let file = super::support::pasted(waits_of("LATCH_EX"), vec![(5_000, add_record())]);
    let report = analyze(&Evidence { sessions: vec![file], ..Evidence::default() });
    assert_eq!(answer(&report), (Inconclusive, None, Low));
    assert!(
        report.verdict.summary.contains(&format!("The stacks show latch {INSERT_POINT}")),
        "{}",
        report.verdict.summary
    );
}
