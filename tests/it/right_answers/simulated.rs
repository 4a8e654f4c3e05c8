//! Captures of the simulated server's workloads, three seeds each, held to the table.

use crate::capture::{Lab, WINDOW};
use crate::right_answers::{RIGHT_ANSWERS, markdown};
use std::time::Duration;
use xestack::model::ServerVersion;
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

/// The table in the README is this one; `XESTACK_BLESS=1` writes it there.
#[test]
fn the_readme_shows_the_table() {
    const BEGIN: &str = "<!-- right answers: begin -->\n";
    const END: &str = "<!-- right answers: end -->";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    let table = markdown();
    if std::env::var_os("XESTACK_BLESS").is_some() {
        use std::io::Write as _;
        let mut file = std::fs::File::create(path).unwrap();
        file.write_all(format!("{before}{BEGIN}{table}{END}{after}").as_bytes()).unwrap();
        return;
    }
    assert_eq!(shown, table, "XESTACK_BLESS=1 cargo test the_readme writes it");
}
