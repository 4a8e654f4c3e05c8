//! Which spinlock is contended, what it costs, and what is not said.

use super::support::{
    Host, analyze, cachestore_stack, finding, lock_hash_stack, met, problem, published_case, raw_stack, session,
    spinlock_case, stack, stack_session, table, type_session, yield_stack, yields,
};
use xestack::model::{
    Confidence, Evidence, Report, ServerVersion, SessionEvidence, Severity, Stack, StackClass, Value, VerdictKind,
};

const MAP: [(u64, &str); 3] = [(151, "LOCK_HASH"), (23, "SOS_CACHESTORE"), (9, "SPL_XE_BUFFER_MGR")];
/// Published growth of the cache store's spinlock on a large machine, as far as it matters here.
const CACHESTORE: (&str, [i64; 4]) = ("SOS_CACHESTORE", [14_752_117, 942_869_471_526, 122_474, 2_000_000]);

fn big_host() -> Host {
    Host { eights: 4, ..Host::default() }
}

fn cachestore() -> Evidence {
    spinlock_case(
        &big_host(),
        vec![type_session(&[(23, 40_000), (151, 300)]), stack_session(&[23], vec![(250_000, cachestore_stack())])],
        &[CACHESTORE, ("LOCK_HASH", [9_000, 400_000, 3, 900])],
        &MAP,
    )
}

fn kind(report: &Report) -> (VerdictKind, Option<&str>, Confidence) {
    (report.verdict.kind, report.verdict.subject.as_deref(), report.verdict.confidence)
}

fn all_text(report: &Report) -> String {
    let verdict = &report.verdict;
    let reasons = verdict.reasons.iter().map(|reason| reason.text.clone());
    let steps = verdict.next_steps.iter().map(|step| format!("{} ({})", step.text, step.risk));
    std::iter::once(verdict.summary.clone()).chain(reasons).chain(steps).collect::<Vec<_>>().join("\n")
}

#[test]
fn type_counters_and_callers_name_one_spinlock() {
    let report = analyze(&cachestore());
    assert_eq!(
        kind(&report),
        (VerdictKind::SpinlockBackoff, Some("SOS_CACHESTORE"), Confidence::High),
        "{}",
        all_text(&report)
    );
    let name = finding(&report, "spinlock_name");
    assert_eq!(name.state, "agree");
    assert!(name.text.contains("Spinlock<144,...>"), "{}", name.text);
    let types = finding(&report, "spinlock_types");
    assert_eq!(format!("{:.4} {:.4}", types.low.unwrap(), types.high.unwrap()), "0.9926 0.9926");
    assert!(types.text.contains("SOS_CACHESTORE (key 23) 99.3 %"), "{}", types.text);
    for gate in ["spin_cpu_share_low", "schedulers", "stack_events_per_minute"] {
        assert!(met(&report, "spinlock_contention", gate), "{gate}");
    }
    assert_eq!(finding(&report, "events_per_backoff").value, Some(0.125));
    // The values of the type session are no stacks.
    assert_eq!((report.stacks.total_events, report.stacks.distinct), (250_000, 1));
    assert!(report.capture.problems.is_empty(), "{:?}", report.capture.problems);
}

#[test]
fn few_schedulers_allow_medium_at_most() {
    let evidence = spinlock_case(
        &Host::default(),
        vec![type_session(&[(151, 80_000)]), stack_session(&[151], vec![(200_000, lock_hash_stack())])],
        &[("LOCK_HASH", [6_191_134, 4_005_774_890, 686, 1_601_383])],
        &MAP,
    );
    let report = analyze(&evidence);
    assert_eq!(
        kind(&report),
        (VerdictKind::SpinlockBackoff, Some("LOCK_HASH"), Confidence::Medium),
        "{}",
        all_text(&report)
    );
    assert!(
        report.verdict.summary.contains("known from 24 schedulers on, and here are 8"),
        "{}",
        report.verdict.summary
    );
    let low = finding(&report, "spinlock_contention").low.unwrap();
    assert_eq!(format!("{low:.3}"), "0.185");
    assert!(!met(&report, "spinlock_contention", "schedulers"));
}

fn lock_hash(spins: i64) -> Evidence {
    spinlock_case(
        &big_host(),
        vec![type_session(&[(151, 80_000)]), stack_session(&[151], vec![(200_000, lock_hash_stack())])],
        &[("LOCK_HASH", [6_191_134, spins, 686, 1_601_383])],
        &MAP,
    )
}

fn changed(mut evidence: Evidence, change: impl Fn(&mut SessionEvidence)) -> Report {
    evidence.sessions.iter_mut().for_each(change);
    analyze(&evidence)
}

#[test]
fn many_schedulers_begin_at_24() {
    for (eights, confidence) in [(2, Confidence::Medium), (3, Confidence::High)] {
        let evidence = spinlock_case(
            &Host { eights, ..Host::default() },
            vec![type_session(&[(23, 40_000)]), stack_session(&[23], vec![(250_000, cachestore_stack())])],
            &[CACHESTORE],
            &MAP,
        );
        assert_eq!(analyze(&evidence).verdict.confidence, confidence, "{eights} x 8");
    }
}

#[test]
fn the_cost_must_be_proven() {
    // 32 processors of 2.7 GHz over 10 s: 8.64e11 cycles; 5 % of them at 10 cycles a spin are 4.32e9 spins.
    for (spins, kind) in [
        (4_330_000_000, VerdictKind::SpinlockBackoff),
        (4_310_000_000, VerdictKind::Inconclusive),
        (1_000_000, VerdictKind::Inconclusive),
    ] {
        let report = analyze(&lock_hash(spins));
        assert_eq!(report.verdict.kind, kind, "{spins}: {}", all_text(&report));
        assert_eq!(met(&report, "spinlock_contention", "spin_cpu_share_low"), kind == VerdictKind::SpinlockBackoff);
        assert_eq!(report.verdict.subject.is_some(), kind == VerdictKind::SpinlockBackoff);
    }
    let open = analyze(&lock_hash(4_310_000_000));
    assert!(open.verdict.summary.contains("not proven"), "{}", open.verdict.summary);
    assert!(all_text(&open).contains("throughput against CPU"), "{}", all_text(&open));
    // A warning is proof enough, and a finding of its own.
    let mut evidence = lock_hash(4_310_000_000);
    let mut warning = stack_session(&[], vec![(1, lock_hash_stack())]);
    warning.context.event = Some("sqlos.spinlock_backoff_warning".to_owned());
    evidence.sessions.push(warning);
    let report = analyze(&evidence);
    assert_eq!(
        kind(&report),
        (VerdictKind::SpinlockBackoff, Some("LOCK_HASH"), Confidence::High),
        "{}",
        all_text(&report)
    );
    assert_eq!(finding(&report, "spinlock_backoff_warning").state, "critical");
    assert!(report.verdict.summary.contains("critical"), "{}", report.verdict.summary);
}

#[test]
fn few_back_offs_that_cost_little_are_no_contention() {
    // Back-offs, and spins of which 5 % of 8.64e11 cycles at 40 cycles each are 1.08e9.
    let quiet = |backoffs: i64, spins: i64| {
        analyze(&spinlock_case(
            &big_host(),
            vec![type_session(&[(151, 3)])],
            &[("LOCK_HASH", [100, spins, 0, backoffs])],
            &MAP,
        ))
    };
    let report = quiet(99, 1_070_000_000);
    assert_eq!(kind(&report), (VerdictKind::NoContention, None, Confidence::High), "{}", all_text(&report));
    assert_eq!(finding(&report, "spinlock_contention").state, "none");
    assert_eq!(quiet(101, 1_070_000_000).verdict.kind, VerdictKind::Inconclusive);
    assert_eq!(quiet(99, 1_090_000_000).verdict.kind, VerdictKind::Inconclusive);
}

#[test]
fn events_of_one_stack_a_minute_are_judged_where_counts_are_whole() {
    // 10 s: a sixth of a minute.
    let with = |events: u64| {
        let mut evidence = cachestore();
        evidence.sessions[1] = stack_session(&[23], vec![(events, cachestore_stack())]);
        analyze(&evidence)
    };
    let text = |report: &Report| finding(report, "spinlock_contention").text.clone();
    for (events, met_gate, words) in
        [(166, false, "not notable"), (168, true, ": notable"), (1_668, true, "likely a problem")]
    {
        let report = with(events);
        assert_eq!(met(&report, "spinlock_contention", "stack_events_per_minute"), met_gate, "{events}");
        assert!(text(&report).contains(words), "{}", text(&report));
        let expected = if met_gate { Confidence::High } else { Confidence::Medium };
        assert_eq!(report.verdict.confidence, expected, "{events}");
    }
    assert!(text(&with(1_660)).contains(": notable"), "{}", text(&with(1_660)));
    for change in [
        |session: &mut SessionEvidence| session.sample_one_in = Some(10),
        |session: &mut SessionEvidence| session.dropped_events = Some(1),
        |session: &mut SessionEvidence| session.dropped_buffers = Some(1),
        |session: &mut SessionEvidence| session.event_cap = Some(10),
        |session: &mut SessionEvidence| session.filters = vec!["database 5".to_owned()],
    ] {
        let report = changed(cachestore(), change);
        let gates = &finding(&report, "spinlock_contention").gates;
        assert_eq!(gates.iter().find(|gate| gate.name == "stack_events_per_minute").unwrap().value, None);
        assert_eq!(finding(&report, "events_per_backoff").state, "unknown");
        assert!(text(&report).contains("not judged"), "{}", text(&report));
    }
}

#[test]
fn sampling_and_filters_are_accounted_for() {
    let sampled = changed(cachestore(), |session| session.sample_one_in = Some(10));
    assert_eq!(sampled.verdict.confidence, Confidence::High, "{}", all_text(&sampled));
    let text = &finding(&sampled, "events_left_out").text;
    assert!(text.contains("one event in 10") && text.contains("not scaled"), "{text}");
    assert_eq!(finding(&sampled, "spinlock_types").low, finding(&analyze(&cachestore()), "spinlock_types").low);
    let filtered = changed(cachestore(), |session| session.filters = vec!["database 5".to_owned()]);
    assert_eq!(filtered.verdict.confidence, Confidence::Medium);
    assert!(finding(&filtered, "events_left_out").text.contains("database 5"));

    let yields_of = |change: fn(&mut SessionEvidence)| {
        let mut evidence = published_case(&Host::default());
        evidence.sessions = vec![session(yields(), vec![(2_000, yield_stack())])];
        changed(evidence, change)
    };
    assert!(problem(&yields_of(|_| ()), "events_differ_from_counters").is_some());
    let tenth = yields_of(|session| session.sample_one_in = Some(10));
    assert!(problem(&tenth, "events_differ_from_counters").is_none());
    assert_eq!((tenth.verdict.kind, tenth.verdict.confidence), (VerdictKind::CpuBoundYields, Confidence::High));
    assert_eq!(tenth.stacks.total_events, 2_000, "counts are never scaled");
    let one = yields_of(|session| session.filters = vec!["session 51".to_owned()]);
    assert!(problem(&one, "events_differ_from_counters").is_none());
    assert_eq!(one.verdict.confidence, Confidence::Medium);
}

#[test]
fn names_that_disagree_are_said_and_lower_confidence() {
    let with = |types: &[(u64, u64)], growth: &[(&str, [i64; 4])], stack: Stack| {
        let sessions = vec![type_session(types), stack_session(&[types[0].0], vec![(250_000, stack)])];
        analyze(&spinlock_case(&big_host(), sessions, growth, &MAP))
    };
    let rows = [CACHESTORE, ("LOCK_HASH", [6_191_134, 4_400_000_000, 686, 1_601_383])];
    // Most events are of the spinlock that has neither most spins nor most back-offs.
    let other = with(&[(151, 50_000), (23, 800)], &rows, lock_hash_stack());
    assert_eq!(
        kind(&other),
        (VerdictKind::SpinlockBackoff, Some("SOS_CACHESTORE"), Confidence::Low),
        "{}",
        all_text(&other)
    );
    assert_eq!(finding(&other, "spinlock_name").state, "disagree");
    assert!(all_text(&other).contains("name different spinlocks"), "{}", all_text(&other));
    // Most back-offs are of the events' spinlock, most spins of another.
    let split = [("SOS_CACHESTORE", [1, 5_000_000_000, 1, 2_000_000]), ("LOCK_HASH", [1, 9_000_000_000, 1, 900])];
    let report = with(&[(23, 50_000)], &split, cachestore_stack());
    assert_eq!(kind(&report), (VerdictKind::SpinlockBackoff, Some("SOS_CACHESTORE"), Confidence::Medium));
    assert_eq!(finding(&report, "spinlock_name").state, "counters_split");
    // The functions want another one than the events' type says.
    let callers = with(&[(23, 50_000)], &rows, lock_hash_stack());
    assert_eq!(kind(&callers), (VerdictKind::SpinlockBackoff, Some("SOS_CACHESTORE"), Confidence::Low));
    // Functions that no one knows confirm nothing.
    let unknown = stack(&["SpinlockBase::Sleep", "Spinlock<23,1,0>::SpinToAcquireOptimistic", "Someone::Wants"]);
    let report = with(&[(23, 50_000)], &rows, unknown);
    assert_eq!(kind(&report), (VerdictKind::SpinlockBackoff, Some("SOS_CACHESTORE"), Confidence::Medium));
    assert_eq!(finding(&report, "spinlock_name").state, "callers_unknown");
    // Two types that may be as frequent.
    let close = with(&[(23, 500), (151, 480)], &rows, cachestore_stack());
    assert!(all_text(&close).contains("another type may have as many events"), "{}", all_text(&close));
    assert_eq!(close.verdict.confidence, Confidence::Medium);
}

#[test]
fn the_template_number_names_nothing() {
    // 144 is the key of LOCK_HASH on this server; the type, the counters and the caller say SOS_CACHESTORE.
    let mut evidence = cachestore();
    evidence.map_names.insert(144, "LOCK_HASH".to_owned());
    assert_eq!(kind(&analyze(&evidence)), (VerdictKind::SpinlockBackoff, Some("SOS_CACHESTORE"), Confidence::High));
}

#[test]
fn stacks_without_names_leave_type_and_counters() {
    let mut evidence = cachestore();
    evidence.sessions[1] = stack_session(&[23], vec![(250_000, raw_stack())]);
    let report = analyze(&evidence);
    assert_eq!(kind(&report), (VerdictKind::SpinlockBackoff, Some("SOS_CACHESTORE"), Confidence::Medium));
    assert_eq!(problem(&report, "unresolved_frames").unwrap().severity, Severity::Warning);
    assert_eq!(report.verdict.shares[&StackClass::Unresolved].low, 1.0);
    // Resolved frames that show no spinlock are back-offs by their event.
    evidence.sessions[1] = stack_session(&[23], vec![(250_000, yield_stack())]);
    let report = analyze(&evidence);
    assert_eq!(report.stacks.items[0].rule.as_deref(), Some("backoff-by-event"));
    assert_eq!(report.verdict.shares[&StackClass::SpinlockBackoff].low, 1.0);
}

#[test]
fn without_counters_back_offs_are_believed_with_low_confidence() {
    let mut evidence = cachestore();
    (evidence.before, evidence.after) = (None, None);
    let report = analyze(&evidence);
    assert_eq!(kind(&report), (VerdictKind::SpinlockBackoff, Some("SOS_CACHESTORE"), Confidence::Low));
    assert!(report.verdict.summary.contains("takes its counters"), "{}", report.verdict.summary);
    evidence.sessions = vec![stack_session(&[], vec![(250_000, raw_stack())])];
    evidence.map_names.clear();
    assert_eq!(analyze(&evidence).verdict.kind, VerdictKind::Inconclusive);
    evidence.sessions = vec![stack_session(&[], vec![(250_000, cachestore_stack())])];
    let report = analyze(&evidence);
    assert_eq!(kind(&report), (VerdictKind::SpinlockBackoff, Some("SOS_CACHESTORE"), Confidence::Low));
}

#[test]
fn what_was_not_captured_is_said() {
    let mut evidence = cachestore();
    evidence.sessions.clear();
    assert_eq!(analyze(&evidence).verdict.kind, VerdictKind::Inconclusive);
    let gone = changed(cachestore(), |session| session.target = None);
    assert_eq!(gone.verdict.kind, VerdictKind::Inconclusive);
    assert!(gone.verdict.summary.contains("was gone"), "{}", gone.verdict.summary);
    let mut evidence = cachestore();
    evidence.sessions[1].target = None;
    assert_eq!(analyze(&evidence).verdict.confidence, Confidence::Low);
    evidence.sessions = vec![type_session(&[])];
    let none = analyze(&evidence);
    assert_eq!(none.verdict.kind, VerdictKind::Inconclusive);
    assert!(none.verdict.summary.contains("counted no back-off"), "{}", none.verdict.summary);
}

#[test]
fn others_event_sessions_are_named_unless_they_are_harmless() {
    let with = |names: &[&str]| {
        let other_event_sessions = names.iter().map(|name| (*name).to_owned()).collect();
        analyze(&Evidence { other_event_sessions, ..cachestore() })
    };
    for name in
        ["system_health", "AlwaysOn_health", "telemetry_xevents", "hkenginexesession", "sp_server_diagnostics session"]
    {
        let report = with(&[name]);
        assert_eq!(finding(&report, "other_event_sessions").state, "harmless", "{name}");
        assert_eq!(report.verdict.confidence, Confidence::High, "{name}");
    }
    let report = with(&["system_health", "audit everything"]);
    assert_eq!(report.verdict.confidence, Confidence::Low);
    let found = finding(&report, "other_event_sessions");
    assert!(found.text.contains("audit everything") && !found.text.contains("system_health"), "{}", found.text);
    // Our own sessions are no others.
    assert_eq!(finding(&with(&["types", "stacks"]), "other_event_sessions").state, "harmless");
}

#[test]
fn the_cost_of_an_event_session_is_called_that() {
    let report = analyze(&spinlock_case(
        &big_host(),
        vec![type_session(&[(9, 50_000)]), stack_session(&[9], vec![(250_000, yield_stack())])],
        &[("SPL_XE_BUFFER_MGR", CACHESTORE.1)],
        &MAP,
    ));
    assert_eq!(kind(&report), (VerdictKind::SpinlockBackoff, Some("SPL_XE_BUFFER_MGR"), Confidence::Low));
    assert!(report.verdict.summary.contains("event session's own cost"), "{}", report.verdict.summary);
}

#[test]
fn flags_are_named_on_2019_alone_and_comparison_ends_at_2022() {
    for (version, flags, changed) in
        [(ServerVersion::V2017, false, false), (ServerVersion::V2019, true, false), (ServerVersion::V2022, false, true)]
    {
        let mut evidence = cachestore();
        evidence.server.as_mut().unwrap().version = Some(version);
        let text = all_text(&analyze(&evidence));
        assert_eq!(text.contains("8101 and 8102"), flags, "{version}: {text}");
        assert_eq!(text.contains("compare these figures with no older version"), changed, "{version}: {text}");
    }
    assert!(all_text(&analyze(&cachestore())).contains("test server first"));
}

#[test]
fn throughput_stands_beside_it() {
    let mut evidence = cachestore();
    for (snapshot, batches) in [(&mut evidence.before, 1_000), (&mut evidence.after, 124_450)] {
        let row = |name: &str, value: i64| vec![Value::Text(name.to_owned()), Value::Integer(value)];
        let rows = vec![row("Batch Resp Statistics     ", 5), row("Batch Requests/sec        ", batches)];
        let counters = table(&["counter_name", "cntr_value"], rows);
        snapshot.as_mut().unwrap().tables.insert("dm_os_performance_counters".to_owned(), counters);
    }
    let text = finding(&analyze(&evidence), "spinlock_contention").text.clone();
    assert!(text.contains("12,345 batch requests a second"), "{text}");
}

#[test]
fn questions_captured_together_are_answered_each_by_its_own_sessions() {
    let both = |scenario: &str| {
        let spinlock = lock_hash(5_000_000_000);
        let sessions = [vec![session(yields(), vec![(20_000, yield_stack())])], spinlock.sessions.clone()].concat();
        analyze(&Evidence { scenario: Some(scenario.to_owned()), sessions, ..spinlock })
    };
    let yields_first = both("sos-yield+spinlock");
    assert_eq!(yields_first.verdict.kind, VerdictKind::CpuBoundYields, "{}", all_text(&yields_first));
    assert_eq!(yields_first.verdict.shares[&StackClass::CpuYield].low, 1.0);
    assert_eq!(finding(&yields_first, "spinlock_contention").state, "contention");
    assert!(problem(&yields_first, "spinlock_in_yield").is_none());
    let spinlock_first = both("spinlock+sos-yield");
    assert_eq!(kind(&spinlock_first), (VerdictKind::SpinlockBackoff, Some("LOCK_HASH"), Confidence::High));
    assert_eq!(spinlock_first.verdict.shares[&StackClass::SpinlockBackoff].low, 1.0);
    assert_eq!(finding(&spinlock_first, "yield_origin").state, "voluntary");
    assert_eq!(yields_first.stacks, spinlock_first.stacks);
    // Stacks that a verdict cites are of its own sessions.
    let class_of =
        |report: &Report, id: &str| report.stacks.items.iter().find(|item| item.id == id).map(|item| item.class);
    for (report, other) in [(&yields_first, StackClass::SpinlockBackoff), (&spinlock_first, StackClass::CpuYield)] {
        for id in report.verdict.reasons.iter().flat_map(|reason| &reason.evidence) {
            assert_ne!(class_of(report, id), Some(other), "{id}");
        }
    }
    // Without a scenario's name the events tell what is asked.
    let unnamed = Evidence { scenario: None, ..lock_hash(5_000_000_000) };
    assert_eq!(analyze(&unnamed).verdict.kind, VerdictKind::SpinlockBackoff);
}

#[test]
fn types_that_are_lost_or_unreadable_widen_the_shares() {
    let types = |change: fn(&mut SessionEvidence)| {
        let mut evidence = cachestore();
        evidence.sessions[0] = type_session(&[(23, 3_000), (151, 1_000)]);
        change(&mut evidence.sessions[0]);
        let report = analyze(&evidence);
        let found = finding(&report, "spinlock_types");
        (found.low.zip(found.high).map(|(low, high)| format!("{low:.3} {high:.3}")), found.text.clone())
    };
    assert_eq!(types(|_| ()).0.as_deref(), Some("0.750 0.750"));
    assert_eq!(types(|session| session.dropped_events = Some(1_000)).0.as_deref(), Some("0.600 0.800"));
    assert_eq!(types(|session| session.dropped_events = None).0, None, "no bound, no share");
    let slot_value = |session: &mut SessionEvidence| session.target.as_mut().unwrap().slots[1].value = "?".to_owned();
    let (share, text) = types(slot_value);
    assert_eq!(share.as_deref(), Some("0.750 1.000"));
    assert!(text.contains("1,000 events have a type that cannot be read"), "{text}");
    assert_eq!(types(|session| session.target.as_mut().unwrap().buckets = Some(2)).0, None, "at capacity");
    let few = |session: &mut SessionEvidence| session.target.as_mut().unwrap().slots[0].count = 30;
    assert_eq!(types(few).0.as_deref(), Some("0.971 0.971"));
}

#[test]
fn windows_that_disagree_cost_confidence() {
    let contended = analyze(&cachestore());
    let open = changed(cachestore(), |session| session.target = None);
    let other = analyze(&lock_hash(5_000_000_000));
    let combined = |reports: &[&Report]| {
        let reports: Vec<Report> = reports.iter().map(|report| (*report).clone()).collect();
        let report = xestack::analyze::combine(&reports).unwrap();
        let state = finding(&report, "windows").state.clone();
        (report.verdict.subject.clone(), report.verdict.confidence, state)
    };
    let subject = Some("SOS_CACHESTORE".to_owned());
    assert_eq!(combined(&[&contended, &contended]), (subject.clone(), Confidence::High, "agree".to_owned()));
    assert_eq!(combined(&[&open, &contended, &contended]), (subject.clone(), Confidence::Medium, "partly".to_owned()));
    assert_eq!(combined(&[&contended, &other, &contended]), (subject.clone(), Confidence::Low, "disagree".to_owned()));
    assert_eq!(combined(&[&contended, &other]).2, "disagree");
    assert_eq!(xestack::analyze::combine(&[]), None);
    assert_eq!(xestack::analyze::combine(std::slice::from_ref(&contended)), Some(contended.clone()));
    let report = xestack::analyze::combine(&[open, contended.clone(), contended]).unwrap();
    assert!(report.verdict.summary.contains("2 of 3 windows"), "{}", report.verdict.summary);
    assert!(problem(&report, "session_missing").unwrap().message.starts_with("window 1: "));
}
