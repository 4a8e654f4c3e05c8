//! Captures of the simulated server's workloads, three seeds each, held to the table.

use crate::capture::{Lab, WINDOW};
use crate::right_answers::{RIGHT_ANSWERS, markdown};
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::model::VerdictKind::{self, CpuBoundYields, Inconclusive, SpinlockBackoff};
use xestack::simulator::workload::pace::Pace;

/// A survey starts the load before the window opens.
const SURVEY: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread")]
async fn every_workload_is_taken_for_what_it_is_by_every_seed() {
    for answer in &RIGHT_ANSWERS {
        for seed in [1, 20, 300] {
            let survey = if answer.scenario.contains("spinlock") { SURVEY } else { Duration::ZERO };
            let mut lab = Lab::new(ServerVersion::V2019, |launch| {
                launch.workload = answer.workload.to_owned();
                launch.pace = Pace::Burst(WINDOW + survey);
                launch.seed = seed;
            })
            .await;
            lab.options.scenario = answer.scenario.to_owned();
            let (_, report) = lab.report().await;
            eprintln!("{} with {}, seed {seed}", answer.workload, answer.scenario);
            answer.check(&report);
            lab.assert_as_before(answer.workload).await;
        }
    }
}

/// How a version's demo answers both scenarios: with the trace flags where they name frames, raw where `callstack_rva` does.
const VERSIONS: [(ServerVersion, &str, VerdictKind); 8] = [
    (ServerVersion::V2008R2, "trace flag 3656", CpuBoundYields),
    (ServerVersion::V2012, "trace flag 3656", CpuBoundYields),
    (ServerVersion::V2014, "trace flag 3656", CpuBoundYields),
    (ServerVersion::V2016, "trace flag 3656", CpuBoundYields),
    (ServerVersion::V2017, "trace flag 3656", CpuBoundYields),
    (ServerVersion::V2019, "trace flags 3656 and 2592", CpuBoundYields),
    (ServerVersion::V2022, "not: symbols are not read yet", Inconclusive),
    (ServerVersion::V2025, "not: symbols are not read yet", Inconclusive),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_version_answers_both_scenarios_and_the_readme_shows_it() {
    let mut table = "| version | frames are named by | sos-yield | spinlock |\n|---|---|---|---|\n".to_owned();
    for (version, named_by, yields) in VERSIONS {
        let mut cells = Vec::new();
        for (scenario, workload, kind) in
            [("sos-yield", "lock-hash", yields), ("spinlock", "cachestore", SpinlockBackoff)]
        {
            let mut lab = Lab::new(version, |launch| {
                launch.workload = workload.to_owned();
                launch.pace = Pace::Burst(if scenario == "spinlock" { WINDOW + SURVEY } else { WINDOW });
            })
            .await;
            lab.options.scenario = scenario.to_owned();
            lab.options.trace_flags.enable = version < ServerVersion::V2022;
            let (_, report) = lab.report().await;
            let verdict = &report.verdict;
            assert_eq!(verdict.kind, kind, "{scenario} on {version}: {}", verdict.summary);
            let subject = verdict.subject.as_ref().map_or_else(String::new, |subject| format!(", {subject}"));
            let confidence = format!("{:?}", verdict.confidence).to_lowercase();
            cells.push(format!("{}{subject} ({confidence})", kind.name()));
            lab.assert_as_before(scenario).await;
        }
        table += &format!("| {version} | {named_by} | {} |\n", cells.join(" | "));
    }
    assert_in_readme("versions", &table);
}

#[test]
fn the_readme_shows_the_table() {
    assert_in_readme("right answers", &markdown());
}

/// The README shows a table between its marks; `XESTACK_BLESS=1` writes it there.
pub(crate) fn assert_in_readme(name: &str, table: &str) {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(&begin).unwrap();
    let (shown, after) = rest.split_once(&end).unwrap();
    if std::env::var_os("XESTACK_BLESS").is_some() {
        std::fs::write(path, format!("{before}{begin}{table}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(shown, table, "XESTACK_BLESS=1 cargo test readme -- --test-threads 1 writes it");
}
