//! Evidence made by hand that shows what each workload shows.

use super::RIGHT_ANSWERS;
use crate::analyze::support::{
    Host, WAIT_PLUMBING, analyze, cachestore_stack, lock_hash_stack, pasted, published_case, published_with, session,
    spin_stack, spinlock_case, stack, stack_session, type_session, wait_table, with_spins, yield_stack, yields,
};
use xestack::model::{EventContext, Evidence, Stack, Table};

const MAP: [(u64, &str); 2] = [(151, "LOCK_HASH"), (23, "SOS_CACHESTORE")];
/// Spins of the published case, and so many that they take half of 8 processors even at 10 cycles each.
const PUBLISHED_SPINS: i64 = 4_005_774_890;
const BURNING_SPINS: i64 = 11_000_000_000;

fn evidence(workload: &str, scenario: &str) -> Evidence {
    let yields_of = |slots: Vec<(u64, Stack)>| published_with(&Host::default(), vec![session(yields(), slots)]);
    match (workload, scenario) {
        ("lock-hash", "sos-yield") => published_case(&Host::default()),
        ("lock-hash", "spinlock") => lock_hash(PUBLISHED_SPINS),
        ("cachestore", "spinlock") => spinlock_case(
            &Host { eights: 4, ..Host::default() },
            vec![type_session(&[(23, 40_000), (151, 300)]), stack_session(&[23], vec![(250_000, cachestore_stack())])],
            &[("SOS_CACHESTORE", [14_752_117, 942_869_471_526, 122_474, 2_000_000]), ("LOCK_HASH", [9, 400, 0, 9])],
            &MAP,
        ),
        ("spin-burn", "sos-yield") => with_spins(published_case(&Host::default()), BURNING_SPINS),
        ("spin-burn", "spinlock") => lock_hash(BURNING_SPINS),
        ("vm-steal", "sos-yield") => published_case(&Host {
            cpu_percent: 20,
            runnable: [0; 8],
            virtual_machine: "HYPERVISOR",
            ..Host::default()
        }),
        ("capped-cpu", "sos-yield") => {
            published_case(&Host { cpu_percent: 50, idle_capped_ms: 4_500, ..Host::default() })
        }
        ("one-hot-node", "sos-yield") => {
            let host = Host {
                cpu_percent: 50,
                node_cpu_percent: Some([97, 3]),
                runnable: [11, 11, 11, 11, 0, 0, 0, 0],
                ..Host::default()
            };
            let evidence = published_with(&host, vec![session(yields(), vec![(9_000, yield_stack())])]);
            with_waits(evidence, wait_table(&[("SOS_SCHEDULER_YIELD", 9_005, 396_007, 396_007), ("LCK_M_S", 2, 20, 0)]))
        }
        ("few-events", "sos-yield") => with_waits(
            published_with(&Host::default(), vec![session(yields(), vec![(12, yield_stack())])]),
            wait_table(&[("SOS_SCHEDULER_YIELD", 17, 271, 271), ("LCK_M_S", 2, 20, 0)]),
        ),
        ("lock-manager-no-spin", "sos-yield") => {
            let in_lock_manager = |frames: &[&str]| stack(&[&WAIT_PLUMBING[..], frames].concat());
            let slots = vec![
                (
                    12_000,
                    in_lock_manager(&["sqlmin.dll!lck_lockInternal+0x7fa", "sqlmin.dll!MDL::LockGenericLocal+0x1"]),
                ),
                (
                    8_647,
                    in_lock_manager(&["sqllang.dll!YieldAndCheckForAbort+0x10", "sqlmin.dll!lck_lockInternal+0x20"]),
                ),
            ];
            with_spins(yields_of(slots), 1_000_000)
        }
        ("yield-with-spin-frame", "sos-yield") => yields_of(vec![(14_453, yield_stack()), (6_194, spin_stack())]),
        ("two-percent", "sos-yield") => yields_of(vec![(20_234, yield_stack()), (413, spin_stack())]),
        ("xe-observer", "spinlock") => Evidence {
            other_event_sessions: vec!["system_health".to_owned(), "watch everything".to_owned()],
            ..lock_hash(PUBLISHED_SPINS)
        },
        ("wrong-symbols", "sos-yield") => {
            let nearest =
                stack(&["sqldk!Ordinal298+0x1b2", "sqllang!SpinlockBase::Sleep+0x99", "sqlmin!Ordinal12+0x4"]);
            yields_of(vec![(20_000, nearest), (647, yield_stack())])
        }
        _ => panic!("{workload} with {scenario} has no evidence made by hand"),
    }
}

fn lock_hash(spins: i64) -> Evidence {
    spinlock_case(
        &Host::default(),
        vec![type_session(&[(151, 80_000), (23, 12)]), stack_session(&[151], vec![(200_000, lock_hash_stack())])],
        &[("LOCK_HASH", [6_191_134, spins, 686, 1_601_383]), ("SOS_CACHESTORE", [50, 3_000, 0, 40])],
        &MAP,
    )
}

fn with_waits(mut evidence: Evidence, after: Table) -> Evidence {
    evidence.after.as_mut().unwrap().tables.insert("dm_os_wait_stats".to_owned(), after);
    evidence
}

#[test]
fn every_workload_is_taken_for_what_it_is() {
    for answer in &RIGHT_ANSWERS {
        answer.check(&analyze(&evidence(answer.workload, answer.scenario)));
    }
}

#[test]
fn no_workload_shows_contention_that_it_does_not_have() {
    // The evidence of one scenario, asked the question of the other.
    for answer in &RIGHT_ANSWERS {
        let other = if answer.scenario == "spinlock" { "sos-yield" } else { "spinlock" };
        let evidence = Evidence { scenario: Some(other.to_owned()), ..evidence(answer.workload, answer.scenario) };
        let verdict = analyze(&evidence).verdict;
        assert_eq!(verdict.kind.name(), "inconclusive", "{} with {other}: {}", answer.workload, verdict.summary);
    }
}

#[test]
fn a_spin_that_burns_is_never_acquitted() {
    let report = analyze(&evidence("spin-burn", "sos-yield"));
    let summary = &report.verdict.summary;
    assert!(summary.contains("At least 50.9 % of the CPU went into spinning"), "{summary}");
    for acquittal in ["not spinlock", "not decided", "too little", "rules", "unlikely"] {
        assert!(!summary.contains(acquittal), "{summary}");
    }
}

#[test]
fn the_hot_node_is_named_and_judged_alone() {
    let report = analyze(&evidence("one-hot-node", "sos-yield"));
    let pressure = report.findings.iter().find(|finding| finding.name == "cpu_pressure").unwrap();
    assert!(
        pressure.text.contains("node 0 has a queue on 4 of 4 schedulers and 97 % of its CPU in use"),
        "{}",
        pressure.text
    );
    assert!(pressure.text.contains("node 1 has a queue on 0 of 4 schedulers and 3 %"), "{}", pressure.text);
    let met = |name: &str| pressure.gates.iter().find(|gate| gate.name == name).unwrap().met;
    assert!(met("sql_cpu_share_node_0") && !met("sql_cpu_share_node_1") && !met("sql_cpu_share"));
    assert!(met("mean_yield_wait_ms"), "44 ms fit 11 tasks ahead on the hot node");
}

#[test]
fn two_in_a_hundred_is_about_two_in_a_hundred() {
    let report = analyze(&evidence("two-percent", "sos-yield"));
    let share = report.verdict.shares[&xestack::model::StackClass::SpinlockBackoff];
    assert_eq!(format!("{:.3} {:.3}", share.low, share.high), "0.020 0.020");
}

#[test]
fn one_pasted_stack_is_told_for_what_it_shows() {
    let pasted = pasted(EventContext::default(), vec![(1, lock_hash_stack())]);
    let report = analyze(&Evidence { sessions: vec![pasted], ..Evidence::default() });
    assert_eq!(
        report.verdict.summary,
        "1 event is too few to tell the origin of a load; its frames show threads that back off from a spinlock, LOCK_HASH by the function that wants it."
    );
}
