//! Names of nearest exports, told from real ones.

use super::support::{analyze, problem, session, stack, yield_stack, yields};
use xestack::{
    analyze::wrong_symbols::{Trust, trust},
    model::{Evidence, Severity, Stack, StackClass, VerdictKind},
};

fn wrong(lines: &[&str]) -> bool {
    matches!(trust([&stack(lines)]), Trust::Wrong(_))
}

#[test]
fn an_export_without_a_name_is_enough() {
    assert!(wrong(&["sqldk!SOS_Task::PostWait+0x9e", "sqllang!Ordinal947+0x10"]));
    assert!(!wrong(&["sqllang!OrdinalCache::Get+0x10", "sqllang!Ordinal"]));
}

#[test]
fn runs_of_one_name_at_spread_offsets_are_wrong() {
    assert!(wrong(&["a!F+0x10", "a!F+0x200", "a!F+0x900", "a!F+0x1500", "a!F+0x7000"]), "one run of five");
    assert!(wrong(&["a!F+0x10", "a!F+0x200", "a!F+0x900", "b!G+0x10", "b!G+0x600", "b!G+0x20"]), "two runs of three");
    assert!(wrong(&["a!F+1", "a!F+500", "b+2!G", "a!G+1", "a!G+500", "a!H+1", "a!H+500", "a!I+1", "a!I+500"]));
}

#[test]
fn recursion_and_large_offsets_are_genuine() {
    assert!(!wrong(&["a!Copy+0x41"; 20]), "one call site");
    let two_sites: Vec<&str> = (0..20).map(|n| if n % 2 == 0 { "a!Visit+0x41" } else { "a!Visit+0x2041" }).collect();
    assert!(!wrong(&two_sites), "two call sites far apart");
    assert!(!wrong(&["a!F+0x10", "a!F+0x20", "a!F+0x35", "a!F+0x70", "a!F+0x99", "a!F+0x3ff"]), "close together");
    assert!(
        !wrong(&["a!F+0x10", "b!G+0x1", "a!F+0x2000", "b!G+0x2", "a!F+0x7000", "b!G+0x3", "a!F+0x9000"]),
        "in turns"
    );
    assert!(!wrong(&["a!IndexDataSetSession::SetDataInternal+0x9a46"]), "large");
    assert!(!wrong(&["a!F", "a!F", "a!F", "a!F", "a!F"]), "no offsets");
    assert!(!wrong(&["a!F+0x10", "a!F+0x2000", "a!F+0x4000"]), "three call sites");
    // One function returns to many places over many stacks.
    let stacks: Vec<Stack> = (0..200).map(|n| stack(&[&format!("a!Execute+0x{:x}", n * 0x100), "a!Run+0x1"])).collect();
    assert_eq!(trust(&stacks), Trust::Trusted);
}

#[test]
fn a_doubtful_run_is_said_and_believed() {
    let doubtful = stack(&["a!F+0x10", "a!F+0x2000", "a!F+0x4000", "b!G+0x1"]);
    assert!(matches!(trust([&doubtful]), Trust::Suspect(name) if name.contains("`F`")));
    let evidence = Evidence { sessions: vec![session(yields(), vec![(5_000, doubtful)])], ..Evidence::default() };
    let report = analyze(&evidence);
    assert_eq!(problem(&report, "symbols_suspect").unwrap().severity, Severity::Warning);
    assert_eq!(report.stacks.items[0].class, StackClass::CpuYield);
}

#[test]
fn wrong_symbols_poison_the_whole_capture() {
    // Exports whose names hold the very names that rules look for.
    let nearest = stack(&[
        "sqldk!SpinlockBase::Backoff+0x3012",
        "sqldk!SpinlockBase::Backoff+0x2ff0",
        "sqldk!SpinlockBase::Backoff+0x5123",
        "sqlmin!LatchBase::Suspend+0x812",
        "sqlmin!LatchBase::Suspend+0x9812",
        "sqlmin!LatchBase::Suspend+0xa412",
    ]);
    let evidence = Evidence {
        sessions: vec![session(yields(), vec![(5_000, yield_stack()), (1, nearest)])],
        ..Evidence::default()
    };
    let report = analyze(&evidence);
    assert_eq!(report.verdict.kind, VerdictKind::Inconclusive);
    assert_eq!(problem(&report, "wrong_symbols").unwrap().severity, Severity::Partial);
    assert!(report.stacks.items.iter().all(|item| item.class == StackClass::Unresolved));
    assert_eq!(report.stacks.unresolved_events, 5_001);
    assert!(problem(&report, "spinlock_in_yield").is_none());
}
