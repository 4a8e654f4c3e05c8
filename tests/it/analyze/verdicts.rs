//! What the evidence supports, and what it does not.

use super::support::{
    Host, PUBLISHED_STACK, WAIT_PLUMBING, analyze, backoffs, finding, met, pasted, problem, published_case,
    published_with, raw_stack, session, spin_stack, stack, wait_table, with_spins, yield_stack, yields,
};
use proptest::prelude::*;
use xestack::model::{
    Confidence, EventContext, Evidence, Report, ServerVersion, Severity, StackClass, Verdict, VerdictKind,
};

fn kind(report: &Report) -> (VerdictKind, Confidence) {
    (report.verdict.kind, report.verdict.confidence)
}

fn all_text(verdict: &Verdict) -> String {
    let reasons = verdict.reasons.iter().map(|reason| reason.text.clone());
    let steps = verdict.next_steps.iter().map(|step| step.text.clone());
    std::iter::once(verdict.summary.clone()).chain(reasons).chain(steps).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_published_case_is_cpu_bound_yields() {
    let report = analyze(&published_case(&Host::default()));
    assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, Confidence::High), "{}", all_text(&report.verdict));
    assert_eq!(report.verdict.shares[&StackClass::CpuYield].low, 1.0);
    assert_eq!(report.verdict.shares[&StackClass::SpinlockBackoff].high, 0.0);
    assert_eq!(finding(&report, "yield_origin").state, "voluntary");
    for (finding, gate) in [
        ("yield_origin", "yields"),
        ("cpu_pressure", "sql_cpu_share"),
        ("cpu_pressure", "runnable_schedulers_share"),
        ("cpu_pressure", "runnable_schedulers_share_node_1"),
        ("cpu_pressure", "yields_per_second"),
        ("cpu_pressure", "mean_yield_wait_ms"),
        ("cpu_pressure", "virtual_machine"),
        ("wait_exceeds_capacity", "wait_ms_of_capacity"),
    ] {
        assert!(met(&report, finding, gate), "{gate}");
    }
    assert!(!met(&report, "cpu_consumer", "spin_cpu_share_high"));
    assert!(report.capture.problems.is_empty(), "{:?}", report.capture.problems);
}

#[test]
fn the_spinlock_is_shown_and_never_acquitted() {
    let verdict = analyze(&published_case(&Host::default())).verdict;
    assert!(verdict.summary.contains("not spinlock back-offs"), "{}", verdict.summary);
    assert!(verdict.summary.contains("not decided here"), "{}", verdict.summary);
    let reason = verdict.reasons.iter().find(|reason| reason.evidence == ["spinlocks:LOCK_HASH"]).unwrap();
    for figure in ["6,191,134", "4,005,774,890", "647", "1,601,383", "18.5 to 74.2 %"] {
        assert!(reason.text.contains(figure), "{figure}: {}", reason.text);
    }
    let text = all_text(&verdict);
    assert!(text.contains("throughput against CPU over several loads"), "{text}");
    assert!(verdict.reasons.iter().any(|reason| reason.evidence.contains(&"s1".to_owned())));
    assert!(verdict.reasons.iter().any(|reason| reason.evidence.contains(&"waits:SOS_SCHEDULER_YIELD".to_owned())));
}

#[test]
fn little_spinning_is_not_called_undecided() {
    let mut evidence = published_case(&Host::default());
    for snapshot in [&mut evidence.before, &mut evidence.after] {
        snapshot.as_mut().unwrap().tables.remove("dm_os_spinlock_stats");
    }
    let report = analyze(&evidence);
    assert_eq!(finding(&report, "cpu_consumer").state, "unknown");
    assert!(!report.verdict.summary.contains("spinning"));
}

#[test]
fn the_share_that_spins_take_has_three_names() {
    // 8 processors of 2.7 GHz over 10 s: 2.16e11 cycles; 10 to 40 of them a spin.
    for (spins, state) in [
        (530_000_000, "unlikely"),
        (550_000_000, "undecided"),
        (10_700_000_000, "undecided"),
        (10_900_000_000, "spinning"),
    ] {
        let report = analyze(&with_spins(published_case(&Host::default()), spins));
        assert_eq!(finding(&report, "cpu_consumer").state, state, "{spins}");
        let summary = &report.verdict.summary;
        assert_eq!(summary.contains("not decided here"), state == "undecided", "{summary}");
        assert_eq!(summary.contains("went into spinning"), state == "spinning", "{summary}");
        let confidence = if state == "spinning" { Confidence::Medium } else { Confidence::High };
        assert_eq!(report.verdict.confidence, confidence, "{spins}");
    }
}

#[test]
fn the_published_quantum_rates_pass_and_faster_ones_do_not() {
    // 206,473 yields in 105 s on 8 schedulers, 20,647 in 10 s, and the same in 3 s.
    for (elapsed_ms, expected) in [(10_000, true), (9_600, true), (9_300, false), (3_000, false)] {
        let report = analyze(&published_case(&Host { elapsed_ms, ..Host::default() }));
        assert_eq!(met(&report, "cpu_pressure", "yields_per_second"), expected, "{elapsed_ms} ms");
    }
    let host = Host { elapsed_ms: 105_000, ..Host::default() };
    let report = analyze(&host.evidence(
        vec![session(yields(), vec![(206_473, yield_stack())])],
        &[("dm_os_wait_stats", wait_table(&[("SOS_SCHEDULER_YIELD", 0, 0, 0)]))],
        &[("dm_os_wait_stats", wait_table(&[("SOS_SCHEDULER_YIELD", 206_473, 4_574_770, 4_574_570)]))],
    ));
    assert!(met(&report, "cpu_pressure", "yields_per_second"));
    assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, Confidence::High), "{}", all_text(&report.verdict));
}

#[test]
fn counters_beyond_the_window_lower_confidence_and_not_the_kind() {
    let report = analyze(&published_case(&Host { elapsed_ms: 3_000, ..Host::default() }));
    assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, Confidence::Low));
    assert_eq!(finding(&report, "wait_exceeds_capacity").state, "exceeded");
    assert!(report.verdict.summary.contains("Confidence is low"), "{}", report.verdict.summary);
    let text = all_text(&report.verdict);
    assert!(text.contains("more wait time than all tasks can have waited"), "{text}");
    assert!(text.contains("gate yields_per_second"), "{text}");
    // Hidden schedulers' tasks do not count as tasks that can have waited.
    let few = analyze(&published_case(&Host { tasks: 5, ..Host::default() }));
    assert_eq!(finding(&few, "wait_exceeds_capacity").state, "exceeded");
    assert_eq!(kind(&few), (VerdictKind::CpuBoundYields, Confidence::Low));
}

#[test]
fn each_pressure_gate_lowers_confidence() {
    let confidence = |host: Host| kind(&analyze(&published_case(&host)));
    let low_cpu = Host { cpu_percent: 69, ..Host::default() };
    assert_eq!(confidence(low_cpu), (VerdictKind::CpuBoundYields, Confidence::Low));
    assert_eq!(confidence(Host { cpu_percent: 71, ..Host::default() }).1, Confidence::High);
    let unsampled = Host { samples: 9, ..Host::default() };
    assert_eq!(confidence(unsampled), (VerdictKind::CpuBoundYields, Confidence::Medium));
    assert_eq!(confidence(Host { samples: 10, ..Host::default() }).1, Confidence::High);
    // A mean wait of 22 ms fits 3 to 11 tasks ahead, not 2 and not 12.
    assert_eq!(confidence(Host { runnable: [3; 8], ..Host::default() }).1, Confidence::High);
    assert_eq!(confidence(Host { runnable: [11; 8], ..Host::default() }).1, Confidence::High);
    let short_queue = Host { runnable: [2; 8], ..Host::default() };
    assert_eq!(confidence(short_queue), (VerdictKind::CpuBoundYields, Confidence::Medium));
    let long_queue = Host { runnable: [12; 8], ..Host::default() };
    assert_eq!(confidence(long_queue), (VerdictKind::CpuBoundYields, Confidence::Medium));
}

#[test]
fn one_hot_node_is_told_from_a_busy_server() {
    let host = Host { runnable: [11, 11, 11, 11, 0, 0, 0, 0], ..Host::default() };
    let report = analyze(&published_case(&host));
    assert_eq!(finding(&report, "cpu_pressure").state, "some_nodes");
    assert!(met(&report, "cpu_pressure", "runnable_schedulers_share_node_0"));
    assert!(!met(&report, "cpu_pressure", "runnable_schedulers_share_node_1"));
    assert_ne!(report.verdict.confidence, Confidence::High);
}

#[test]
fn half_of_the_schedulers_are_not_most() {
    let gate = |runnable| {
        let report = analyze(&published_case(&Host { runnable, ..Host::default() }));
        met(&report, "cpu_pressure", "runnable_schedulers_share")
    };
    assert!(!gate([11, 11, 0, 0, 11, 11, 0, 0]));
    assert!(gate([11, 11, 1, 0, 11, 11, 0, 0]));
}

#[test]
fn a_virtual_machine_allows_medium_at_most() {
    let mut evidence = published_case(&Host::default());
    evidence.server.as_mut().unwrap().virtual_machine = Some("HYPERVISOR".to_owned());
    let report = analyze(&evidence);
    assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, Confidence::Medium));
    assert!(all_text(&report.verdict).contains("ready or steal time"));
}

#[test]
fn long_yields_without_cpu_and_queue_are_not_cpu_bound() {
    let host = Host { cpu_percent: 20, runnable: [0; 8], ..Host::default() };
    let report = analyze(&published_case(&host));
    assert_eq!(report.verdict.kind, VerdictKind::Inconclusive);
    assert_eq!(finding(&report, "yield_origin").state, "voluntary");
    assert_eq!(finding(&report, "cpu_pressure").state, "none");
}

#[test]
fn waits_that_the_queue_does_not_explain_are_named() {
    let remark = |runnable, wait_ms: i64| {
        let mut evidence = published_case(&Host { runnable, ..Host::default() });
        let waits = wait_table(&[("SOS_SCHEDULER_YIELD", 20_652, wait_ms, wait_ms), ("LCK_M_S", 31, 2_632, 26)]);
        evidence.after.as_mut().unwrap().tables.insert("dm_os_wait_stats".to_owned(), waits);
        let report = analyze(&evidence);
        (finding(&report, "cpu_pressure").text.clone(), met(&report, "cpu_pressure", "mean_yield_wait_ms"))
    };
    let (text, met) = remark([2; 8], 457_484);
    assert!(text.contains("longer than the tasks ahead") && !met, "{text}");
    for wait_ms in [8_000, 20_000] {
        let (text, met) = remark([0; 8], wait_ms);
        assert!(text.contains("without pressure") && !met, "{text}");
    }
    assert!(!remark([0; 8], 21_000).0.contains("without pressure"), "more than 1 ms a yield");
    let (text, met) = remark([5; 8], 457_484);
    assert!(!text.contains("Yields") && met, "{text}");
    assert!(!remark([5; 8], 100_000).1, "much shorter than the queue");
}

#[test]
fn a_cap_is_seen() {
    let host = Host { cpu_percent: 40, idle_capped_ms: 500, ..Host::default() };
    let report = analyze(&published_case(&host));
    assert_eq!(finding(&report, "cpu_capped").state, "capped");
    assert!(finding(&report, "cpu_capped").text.contains("4,000 ms"));
    assert!(!finding(&report, "cpu_capped").text.contains("explains"));
    assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, Confidence::Low));
    assert!(all_text(&report.verdict).contains("Resource Governor"));
    // Where used and capped time make up what is needed, the cap explains the low use.
    for (idle_capped_ms, confidence) in [(2_900, Confidence::Low), (3_000, Confidence::Medium)] {
        let host = Host { cpu_percent: 40, idle_capped_ms, ..Host::default() };
        let report = analyze(&published_case(&host));
        assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, confidence), "{idle_capped_ms}");
        let explains = finding(&report, "cpu_capped").text.contains("explains");
        assert_eq!(explains, confidence == Confidence::Medium, "{idle_capped_ms}");
    }
    let report = analyze(&published_case(&Host::default()));
    assert_eq!(finding(&report, "cpu_capped").state, "uncapped");
}

fn captured(slots: Vec<(u64, xestack::model::Stack)>) -> Report {
    analyze(&published_with(&Host::default(), vec![session(yields(), slots)]))
}

#[test]
fn spinlock_frames_decide_by_their_share() {
    let shares = |spins: u64| captured(vec![(20_647 - spins, yield_stack()), (spins, spin_stack())]);
    assert_eq!(shares(1_000).verdict.kind, VerdictKind::CpuBoundYields);
    let mixed = shares(1_100);
    assert_eq!(mixed.verdict.kind, VerdictKind::MixedYields);
    let seen = problem(&mixed, "spinlock_in_yield").unwrap();
    assert!(seen.message.starts_with("1,100 events"), "{}", seen.message);
    assert_eq!(shares(10_000).verdict.kind, VerdictKind::MixedYields);
    let backoffs = shares(10_400);
    assert_eq!(backoffs.verdict.kind, VerdictKind::SpinlockBackoff);
    assert_eq!(backoffs.verdict.subject.as_deref(), Some("LOCK_HASH"));
}

#[test]
fn other_frames_among_the_yields_make_them_mixed() {
    let latch = stack(&["SOS_Task::PostWait", "LatchBase::Suspend", "BUF::AcquireLatch"]);
    let kind_of =
        |latches: u64| captured(vec![(20_647 - latches, yield_stack()), (latches, latch.clone())]).verdict.kind;
    assert_eq!(kind_of(2_000), VerdictKind::CpuBoundYields);
    assert_eq!(kind_of(2_100), VerdictKind::MixedYields);
}

#[test]
fn unresolved_stacks_leave_it_open_and_say_what_decides() {
    let report = captured(vec![(20_647, raw_stack())]);
    assert_eq!(report.verdict.kind, VerdictKind::Inconclusive);
    let unresolved = problem(&report, "unresolved_frames").unwrap();
    assert_eq!(unresolved.severity, Severity::Partial);
    assert!(unresolved.hint.as_deref().unwrap().contains("--enable-trace-flags"));
    assert_eq!(report.stacks.unresolved_events, 20_647);
    assert_eq!(report.verdict.shares[&StackClass::CpuYield].high, 1.0);
    assert!(report.verdict.summary.contains("symbols"), "{}", report.verdict.summary);

    // Six in a hundred unresolved: possible back-offs are above 5 %.
    assert_eq!(captured(vec![(19_400, yield_stack()), (1_247, raw_stack())]).verdict.kind, VerdictKind::Inconclusive);
    // Four: the verdict holds whatever they are.
    let some = captured(vec![(19_847, yield_stack()), (800, raw_stack())]);
    assert_eq!(some.verdict.kind, VerdictKind::CpuBoundYields);
    assert_eq!(problem(&some, "unresolved_frames").unwrap().severity, Severity::Warning);
}

#[test]
fn callstack_rva_is_resolved_by_the_pdbs_it_names() {
    let mut evidence = published_with(&Host::default(), vec![session(yields(), vec![(20_647, raw_stack())])]);
    evidence.server.as_mut().unwrap().version = Some(ServerVersion::V2022);
    let report = analyze(&evidence);
    assert!(problem(&report, "unresolved_frames").unwrap().hint.as_deref().unwrap().contains("GUID"));
    assert!(!all_text(&report.verdict).contains("--enable-trace-flags"));
}

#[test]
fn few_events_decide_nothing() {
    let quiet = |yields_counted: i64| {
        let host = Host::default();
        analyze(&host.evidence(
            vec![session(yields(), vec![(12, yield_stack())])],
            &[("dm_os_wait_stats", wait_table(&[("SOS_SCHEDULER_YIELD", 0, 0, 0), ("LCK_M_S", 0, 0, 0)]))],
            &[(
                "dm_os_wait_stats",
                wait_table(&[("SOS_SCHEDULER_YIELD", yields_counted, 8, 8), ("LCK_M_S", 9, 9_000, 0)]),
            )],
        ))
    };
    let report = quiet(12);
    assert_eq!(kind(&report), (VerdictKind::NoContention, Confidence::High), "{}", all_text(&report.verdict));
    // Below ten a second, and not at ten.
    assert_eq!(quiet(99).verdict.kind, VerdictKind::NoContention);
    // Twelve events of many more: no contention cannot be said.
    assert_eq!(quiet(100).verdict.kind, VerdictKind::Inconclusive);
    assert!(problem(&quiet(100), "events_differ_from_counters").is_some());
    // Few, but all of the wait time.
    let host = Host::default();
    let all_of_it = analyze(&host.evidence(
        vec![session(yields(), vec![(12, yield_stack())])],
        &[("dm_os_wait_stats", wait_table(&[("SOS_SCHEDULER_YIELD", 0, 0, 0)]))],
        &[("dm_os_wait_stats", wait_table(&[("SOS_SCHEDULER_YIELD", 12, 40, 40)]))],
    ));
    assert_eq!(all_of_it.verdict.kind, VerdictKind::Inconclusive);
    assert!(all_of_it.verdict.summary.contains("too few"), "{}", all_of_it.verdict.summary);
    // Few, and 0.9 or 1.1 % of the wait time.
    for (wait_ms, expected) in [(9, VerdictKind::NoContention), (11, VerdictKind::Inconclusive)] {
        let yields_counted = ("SOS_SCHEDULER_YIELD", 12, wait_ms, wait_ms);
        let report = analyze(&host.evidence(
            vec![session(yields(), vec![(12, yield_stack())])],
            &[("dm_os_wait_stats", wait_table(&[("SOS_SCHEDULER_YIELD", 0, 0, 0), ("LCK_M_S", 0, 0, 0)]))],
            &[("dm_os_wait_stats", wait_table(&[yields_counted, ("LCK_M_S", 1, 1_000 - wait_ms, 0)]))],
        ));
        assert_eq!(report.verdict.kind, expected, "{wait_ms} of 1,000 ms");
    }
    // 999 events hold the interval and cost confidence; 1,000 do not fit the counters either, and that is all.
    let report = captured(vec![(999, yield_stack())]);
    assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, Confidence::Low));
    let report = captured(vec![(1_000, yield_stack())]);
    assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, Confidence::Medium));
}

#[test]
fn a_session_that_is_gone_is_not_one_that_counted_nothing() {
    let waits = |tasks: i64| {
        [
            [("dm_os_wait_stats", wait_table(&[("LCK_M_S", 0, 0, 0), ("SOS_SCHEDULER_YIELD", 0, 0, 0)]))],
            [(
                "dm_os_wait_stats",
                wait_table(&[("LCK_M_S", 5, 9_000, 0), ("SOS_SCHEDULER_YIELD", tasks, tasks * 4, tasks * 4)]),
            )],
        ]
    };
    let run = |gone: bool, tasks: i64| {
        let mut session = session(yields(), Vec::new());
        if gone {
            session.target = None;
        }
        let [before, after] = waits(tasks);
        analyze(&Host::default().evidence(vec![session], &before, &after))
    };
    let missing = run(true, 0);
    assert_eq!(missing.verdict.kind, VerdictKind::Inconclusive);
    assert_eq!(problem(&missing, "session_missing").unwrap().severity, Severity::Partial);
    assert!(problem(&missing, "no_events").is_none());
    let empty = run(false, 0);
    assert_eq!(empty.verdict.kind, VerdictKind::NoContention);
    assert_eq!(problem(&empty, "no_events").unwrap().severity, Severity::Info);
    assert!(problem(&empty, "session_missing").is_none());
    assert_eq!(run(false, 5_000).verdict.kind, VerdictKind::Inconclusive);
    // What is gone may have been of the yields where its kind is not known, and not where it was of back-offs.
    let beside = |context: EventContext| {
        let gone = xestack::model::SessionEvidence { target: None, ..session(context, Vec::new()) };
        let sessions = vec![session(yields(), vec![(20_647, yield_stack())]), gone];
        analyze(&published_with(&Host::default(), sessions)).verdict.kind
    };
    assert_eq!(beside(EventContext::default()), VerdictKind::Inconclusive);
    assert_eq!(beside(backoffs()), VerdictKind::CpuBoundYields);
}

#[test]
fn what_is_cut_full_or_lost_without_bound_decides_nothing() {
    let with = |change: &dyn Fn(&mut xestack::model::SessionEvidence)| {
        let mut session = session(yields(), vec![(20_647, yield_stack())]);
        change(&mut session);
        analyze(&published_with(&Host::default(), vec![session]))
    };
    let cut = with(&|session| session.target.as_mut().unwrap().cut = true);
    assert_eq!(cut.verdict.kind, VerdictKind::Inconclusive);
    assert_eq!(problem(&cut, "target_cut").unwrap().severity, Severity::Partial);
    assert!(cut.capture.sessions[0].target_cut);
    let full = with(&|session| session.target.as_mut().unwrap().buckets = Some(1));
    assert_eq!(full.verdict.kind, VerdictKind::Inconclusive);
    assert_eq!(problem(&full, "at_capacity").unwrap().severity, Severity::Partial);
    assert!(full.capture.sessions[0].at_capacity);
    let unknown = with(&|session| session.dropped_events = None);
    assert_eq!(unknown.verdict.kind, VerdictKind::Inconclusive);
    let few_lost = with(&|session| session.dropped_events = Some(500));
    assert_eq!(few_lost.verdict.kind, VerdictKind::CpuBoundYields);
    let many_lost = with(&|session| session.dropped_events = Some(1_500));
    assert_eq!(many_lost.verdict.kind, VerdictKind::Inconclusive);
    let capped = with(&|session| session.event_cap = Some(20_647));
    assert_eq!(capped.verdict.kind, VerdictKind::CpuBoundYields);
    assert_eq!(problem(&capped, "event_cap_reached").unwrap().severity, Severity::Info);
}

#[test]
fn stacks_alone_are_believed_with_low_confidence() {
    let offline = |context: EventContext, stack: xestack::model::Stack| {
        analyze(&Evidence { sessions: vec![pasted(context, vec![(5_000, stack)])], ..Evidence::default() })
    };
    let with_context = offline(yields(), stack(&PUBLISHED_STACK));
    assert_eq!(kind(&with_context), (VerdictKind::CpuBoundYields, Confidence::Low));
    assert_eq!(with_context.stacks.items[0].class, StackClass::CpuYield);
    assert!(with_context.verdict.summary.contains("no counters"), "{}", with_context.verdict.summary);

    let without = offline(EventContext::default(), stack(&PUBLISHED_STACK));
    assert_eq!(without.verdict.kind, VerdictKind::Inconclusive);
    assert_eq!(without.stacks.items[0].class, StackClass::Other);
    assert!(all_text(&without.verdict).contains("--event"), "{}", all_text(&without.verdict));

    let spins = offline(EventContext::default(), spin_stack());
    assert_eq!(kind(&spins), (VerdictKind::SpinlockBackoff, Confidence::Low));

    let latches = EventContext { wait_type: Some("LATCH_EX".to_owned()), ..yields() };
    assert_eq!(offline(latches, yield_stack()).verdict.kind, VerdictKind::Inconclusive);
}

#[test]
fn unknown_context_is_low_confidence_beside_counters_too() {
    let frames = [&WAIT_PLUMBING[..], &["sqllang!YieldAndCheckForAbort+0x10", "sqllang!COptExpr::Copy+0x1"]].concat();
    let bare = session(EventContext::default(), vec![(20_647, stack(&frames))]);
    let report = analyze(&published_with(&Host::default(), vec![bare]));
    assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, Confidence::Low), "{}", all_text(&report.verdict));
}

#[test]
fn a_reset_of_the_yields_lowers_confidence() {
    let mut evidence = published_case(&Host::default());
    let rows = [("SOS_SCHEDULER_YIELD", 99_999_999, 999_999_999, 9), ("LCK_M_S", 1, 10, 0), ("LCK_M_X", 1, 10, 0)];
    evidence.before.as_mut().unwrap().tables.insert("dm_os_wait_stats".to_owned(), wait_table(&rows));
    let report = analyze(&evidence);
    assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, Confidence::Low));
}

#[test]
fn nothing_at_all_is_a_report_too() {
    let report = analyze(&Evidence::default());
    assert_eq!(kind(&report), (VerdictKind::Inconclusive, Confidence::Low));
    assert_eq!(report.verdict.shares.len(), 13);
    assert_eq!(report.schema, "xestack.report/1");
    assert_eq!(report.stacks.total_events, 0);
}

#[test]
fn sums_beyond_u64_are_held_and_said() {
    let report = captured(vec![(u64::MAX, yield_stack()), (u64::MAX, stack(&["A"]))]);
    assert_eq!(report.stacks.total_events, u64::MAX);
    assert!(problem(&report, "count_overflow").is_some());
}

#[test]
fn the_same_evidence_gives_the_same_report() {
    let evidence = published_case(&Host::default());
    assert_eq!(analyze(&evidence), analyze(&evidence));
}

#[test]
fn three_limits_make_confidence_low() {
    let mut evidence = published_case(&Host { samples: 9, ..Host::default() });
    assert_eq!(analyze(&evidence).verdict.confidence, Confidence::Medium);
    evidence.server.as_mut().unwrap().virtual_machine = None;
    assert_eq!(analyze(&evidence).verdict.confidence, Confidence::Medium);
    evidence.sessions = vec![session(yields(), vec![(10_000, yield_stack())])];
    let report = analyze(&evidence);
    assert!(problem(&report, "events_differ_from_counters").is_some());
    assert_eq!(kind(&report), (VerdictKind::CpuBoundYields, Confidence::Low));
}

#[test]
fn events_and_counters_may_differ_a_little() {
    let differs =
        |events: u64| problem(&captured(vec![(events, yield_stack())]), "events_differ_from_counters").is_some();
    assert!(!differs(20_647) && !differs(19_700) && !differs(21_600));
    assert!(differs(19_500) && differs(21_800));
}

#[test]
fn back_offs_among_yields_are_not_trusted_far() {
    let report = captured(vec![(20_647, spin_stack())]);
    assert_eq!(kind(&report), (VerdictKind::SpinlockBackoff, Confidence::Medium), "{}", all_text(&report.verdict));
    let text = all_text(&report.verdict);
    assert!(text.contains("known from 24 schedulers on") && text.contains("no published evidence"), "{text}");
    let mut evidence = published_with(&Host::default(), vec![session(yields(), vec![(20_647, spin_stack())])]);
    let after = evidence.after.as_mut().unwrap();
    let before = evidence.before.as_ref().unwrap().tables["dm_os_spinlock_stats"].clone();
    after.tables.insert("dm_os_spinlock_stats".to_owned(), before);
    assert_eq!(kind(&analyze(&evidence)), (VerdictKind::SpinlockBackoff, Confidence::Low));
}

#[test]
fn counters_alone_and_unknown_context_are_said() {
    let counters = analyze(&published_with(&Host::default(), Vec::new()));
    assert_eq!(counters.verdict.kind, VerdictKind::Inconclusive);
    assert_eq!(problem(&counters, "counters_only").unwrap().severity, Severity::Partial);
    let bare = pasted(EventContext::default(), vec![(5, raw_stack())]);
    let report = analyze(&Evidence { sessions: vec![bare], ..Evidence::default() });
    assert_eq!(problem(&report, "context_unknown").unwrap().severity, Severity::Info);
    assert!(all_text(&report.verdict).contains("--wait-type"));
    assert!(all_text(&report.verdict).contains("PDBs"));
}

fn any_session() -> impl Strategy<Value = xestack::model::SessionEvidence> {
    let line = prop::sample::select(vec![
        "SOS_Task::PostWait+1",
        "SpinlockBase::Sleep",
        "LatchBase::Suspend",
        "YieldAndCheckForAbort",
        "A+10",
        "A+2000",
        "A+4000",
        "sqllang!Ordinal12+1",
        "m.dll+0x10",
        "0x1234",
        "",
    ]);
    let slots = prop::collection::vec((any::<u64>(), prop::collection::vec(line, 0..12)), 0..8);
    let number = || prop::option::of(prop_oneof![0..3_u64, any::<u64>()]);
    (slots, number(), number(), number(), any::<[bool; 5]>()).prop_map(
        |(slots, buckets, dropped, bytes, [known, cut, gone, live, paste])| {
            let context = if known { yields() } else { EventContext::default() };
            let slots: Vec<_> = slots.into_iter().map(|(count, lines)| (count, stack(&lines))).collect();
            if paste {
                return pasted(context, slots);
            }
            let mut session = session(context, slots);
            let target = session.target.as_mut().unwrap();
            (target.buckets, target.truncated, target.cut) = (buckets, bytes, cut);
            if gone {
                session.target = None;
            }
            (session.dropped_events, session.dropped_buffers, session.buffer_bytes) = (dropped, dropped, bytes);
            (session.event_cap, session.live) = (bytes, live);
            session
        },
    )
}

proptest! {
    #[test]
    fn every_evidence_gives_a_whole_report(sessions in prop::collection::vec(any_session(), 0..4)) {
        let slots: usize = sessions.iter().map(|s| s.pasted.len() + s.target.as_ref().map_or(0, |t| t.slots.len())).sum();
        let nameless = |stack: &xestack::model::Stack| stack.frames.iter().any(|frame| frame.is_ordinal());
        let wrong = sessions.iter().any(|s| {
            s.pasted.iter().any(|p| nameless(&p.stack)) || s.target.iter().flat_map(|t| &t.slots).any(|slot| nameless(&slot.stack))
        });
        let report = analyze(&published_with(&Host::default(), sessions));
        prop_assert_eq!(report.stacks.items.iter().map(|item| item.slots.len()).sum::<usize>(), slots);
        for (index, item) in report.stacks.items.iter().enumerate() {
            prop_assert_eq!(&item.id, &format!("s{}", index + 1));
            prop_assert!(!wrong || item.class == StackClass::Unresolved);
        }
        prop_assert!(report.stacks.items.is_sorted_by(|left, right| left.events >= right.events));
        prop_assert_eq!(report.verdict.shares.len(), 13);
        for share in report.verdict.shares.values() {
            prop_assert!(0.0 <= share.low && share.low <= share.high && share.high <= 1.0);
        }
        if wrong {
            prop_assert_eq!(report.verdict.kind, VerdictKind::Inconclusive);
            prop_assert!(problem(&report, "wrong_symbols").is_some());
        }
        let missing = problem(&report, "session_missing").is_some();
        prop_assert!(!missing || report.verdict.kind == VerdictKind::Inconclusive);
        if report.verdict.kind == VerdictKind::CpuBoundYields {
            prop_assert!(report.verdict.shares[&StackClass::CpuYield].low >= 0.90);
            prop_assert!(report.verdict.shares[&StackClass::SpinlockBackoff].high <= 0.05);
        }
        let cited = report.verdict.reasons.iter().flat_map(|reason| &reason.evidence);
        for id in cited.filter(|id| id.starts_with('s') && !id.contains(':')) {
            prop_assert!(report.stacks.items.iter().any(|item| item.id == *id), "{id}");
        }
        serde_json::to_string(&report).unwrap();
    }
}
