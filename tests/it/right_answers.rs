//! The table of right answers, written by hand before the code: what each workload must be taken for, and what must hold
//! besides. Evidence made by hand and captures of the simulated server are both held to it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that panics or prints says what is wrong")]

mod matrix;
mod simulated;
mod synthetic;

pub(crate) use simulated::assert_in_readme;

use std::fmt::Write;
use xestack::model::{
    Confidence::{self, High, Low, Medium},
    Report, Severity,
    VerdictKind::{self, CpuBoundYields, Inconclusive, MixedYields, SpinlockBackoff},
};

/// What one scenario must make of one workload.
pub(crate) struct RightAnswer {
    pub(crate) workload: &'static str,
    pub(crate) scenario: &'static str,
    pub(crate) kind: VerdictKind,
    pub(crate) subject: Option<&'static str>,
    pub(crate) confidence: Confidence,
    /// Findings and their states.
    pub(crate) findings: &'static [(&'static str, &'static str)],
    /// Gates that must be met, of findings: (finding, gate).
    pub(crate) gates: &'static [(&'static str, &'static str)],
    /// Codes of problems that must be there; others may be.
    pub(crate) problems: &'static [&'static str],
    /// What the summary or a next step must say.
    pub(crate) says: &'static [&'static str],
    /// Exit code of the capture.
    pub(crate) exit: u8,
}

const NOTHING_MORE: RightAnswer = RightAnswer {
    workload: "",
    scenario: "sos-yield",
    kind: Inconclusive,
    subject: None,
    confidence: Low,
    findings: &[],
    gates: &[],
    problems: &[],
    says: &[],
    exit: 0,
};

pub(crate) const RIGHT_ANSWERS: [RightAnswer; 14] = [
    RightAnswer {
        workload: "lock-hash",
        kind: CpuBoundYields,
        confidence: High,
        findings: &[("yield_origin", "voluntary"), ("cpu_consumer", "undecided")],
        says: &["not decided here"],
        ..NOTHING_MORE
    },
    RightAnswer {
        workload: "lock-hash",
        scenario: "spinlock",
        kind: SpinlockBackoff,
        subject: Some("LOCK_HASH"),
        confidence: Medium,
        findings: &[("spinlock_contention", "contention"), ("spinlock_name", "agree")],
        gates: &[("spinlock_contention", "spin_cpu_share_low")],
        says: &["from 24 schedulers on, and here are 8"],
        ..NOTHING_MORE
    },
    RightAnswer {
        workload: "cachestore",
        scenario: "spinlock",
        kind: SpinlockBackoff,
        subject: Some("SOS_CACHESTORE"),
        confidence: High,
        findings: &[("spinlock_contention", "contention"), ("spinlock_name", "agree")],
        gates: &[("spinlock_contention", "spin_cpu_share_low"), ("spinlock_contention", "schedulers")],
        ..NOTHING_MORE
    },
    RightAnswer {
        workload: "spin-burn",
        kind: CpuBoundYields,
        confidence: Medium,
        findings: &[("yield_origin", "voluntary"), ("cpu_consumer", "spinning")],
        says: &["of the CPU went into spinning"],
        ..NOTHING_MORE
    },
    RightAnswer {
        workload: "spin-burn",
        scenario: "spinlock",
        kind: SpinlockBackoff,
        subject: Some("LOCK_HASH"),
        confidence: Medium,
        findings: &[("spinlock_contention", "contention")],
        ..NOTHING_MORE
    },
    RightAnswer {
        workload: "vm-steal",
        findings: &[("yield_origin", "voluntary"), ("cpu_pressure", "none")],
        says: &["CPU ready or steal time"],
        ..NOTHING_MORE
    },
    RightAnswer {
        workload: "capped-cpu",
        kind: CpuBoundYields,
        confidence: Medium,
        findings: &[("yield_origin", "voluntary"), ("cpu_capped", "capped")],
        says: &["Look for a CPU cap"],
        ..NOTHING_MORE
    },
    RightAnswer {
        workload: "one-hot-node",
        kind: CpuBoundYields,
        confidence: Medium,
        findings: &[("yield_origin", "voluntary"), ("cpu_pressure", "some_nodes")],
        ..NOTHING_MORE
    },
    RightAnswer { workload: "few-events", says: &["12 events are too few"], ..NOTHING_MORE },
    RightAnswer {
        workload: "lock-manager-no-spin",
        kind: CpuBoundYields,
        confidence: High,
        findings: &[("yield_origin", "voluntary"), ("cpu_consumer", "unlikely")],
        ..NOTHING_MORE
    },
    RightAnswer {
        workload: "yield-with-spin-frame",
        kind: MixedYields,
        confidence: Medium,
        findings: &[("yield_origin", "mixed")],
        problems: &["spinlock_in_yield"],
        ..NOTHING_MORE
    },
    RightAnswer {
        workload: "two-percent",
        kind: CpuBoundYields,
        confidence: Medium,
        findings: &[("yield_origin", "voluntary")],
        problems: &["spinlock_in_yield"],
        ..NOTHING_MORE
    },
    RightAnswer {
        workload: "xe-observer",
        scenario: "spinlock",
        kind: SpinlockBackoff,
        subject: Some("LOCK_HASH"),
        findings: &[("other_event_sessions", "running")],
        says: &["Another event session"],
        ..NOTHING_MORE
    },
    RightAnswer { workload: "wrong-symbols", problems: &["wrong_symbols"], exit: 5, ..NOTHING_MORE },
];

impl RightAnswer {
    /// Panics where a report gives another answer, and says what it gives.
    pub(crate) fn check(&self, report: &Report) {
        let verdict = &report.verdict;
        let at = format!("{} with {}: {}", self.workload, self.scenario, verdict.summary);
        assert_eq!(verdict.kind, self.kind, "{at}");
        assert_eq!(verdict.subject.as_deref(), self.subject, "{at}");
        assert_eq!(verdict.confidence, self.confidence, "{at}\n{:?}", verdict.reasons);
        for (name, state) in self.findings {
            let found = report.findings.iter().find(|finding| finding.name == *name);
            assert_eq!(found.map(|finding| finding.state.as_str()), Some(*state), "{name}, {at}");
        }
        for (finding, gate) in self.gates {
            let found = report.findings.iter().find(|found| found.name == *finding).unwrap();
            assert!(found.gates.iter().any(|found| found.name == *gate && found.met), "{gate}, {at}");
        }
        for code in self.problems {
            assert!(report.capture.problems.iter().any(|problem| problem.code == *code), "{code}, {at}");
        }
        let steps: Vec<&str> = verdict.next_steps.iter().map(|step| step.text.as_str()).collect();
        for words in self.says {
            assert!(verdict.summary.contains(words) || steps.iter().any(|step| step.contains(words)), "{words}, {at}");
        }
        let is_partial = report.capture.problems.iter().any(|problem| problem.severity == Severity::Partial);
        assert_eq!(is_partial, self.exit == 5, "{:?}, {at}", report.capture.problems);
    }
}

/// The table in Markdown.
pub(crate) fn markdown() -> String {
    let mut text = "| workload | scenario | verdict | confidence | findings |\n|---|---|---|---|---|\n".to_owned();
    for answer in &RIGHT_ANSWERS {
        let subject = answer.subject.map_or_else(String::new, |subject| format!(", {subject}"));
        let confidence = format!("{:?}", answer.confidence).to_lowercase();
        let states = answer.findings.iter().map(|(name, state)| format!("{name}: {state}"));
        let problems = answer.problems.iter().map(|code| format!("problem {code}"));
        let findings = states.chain(problems).collect::<Vec<_>>().join("; ");
        writeln!(
            text,
            "| {} | {} | {}{subject} | {confidence} | {findings} |",
            answer.workload,
            answer.scenario,
            answer.kind.name()
        )
        .unwrap();
    }
    text
}

#[test]
fn the_table_names_each_question_once() {
    let mut questions: Vec<(&str, &str)> =
        RIGHT_ANSWERS.iter().map(|answer| (answer.workload, answer.scenario)).collect();
    questions.sort_unstable();
    questions.dedup();
    assert_eq!(questions.len(), RIGHT_ANSWERS.len());
    let table = markdown();
    assert_eq!(table.lines().count(), 2 + RIGHT_ANSWERS.len());
    assert!(
        table.contains(
            "| cachestore | spinlock | spinlock_backoff, SOS_CACHESTORE | high | spinlock_contention: contention; spinlock_name: agree |"
        ),
        "{table}"
    );
}
