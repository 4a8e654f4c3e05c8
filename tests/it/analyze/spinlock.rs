//! Which spinlock is contended, what it costs, and what is not said.

use super::support::{
    Host, analyze, cachestore_stack, finding, lock_hash_stack, met, problem, spinlock_case, stack, stack_session,
    type_session,
};
use xestack::model::{Confidence, Evidence, Report, VerdictKind};

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
    let _ = (problem(&report, "x"), stack(&["A"]));
}
