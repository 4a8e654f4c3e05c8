//! MAX_DURATION: where it stands, and what becomes of it where it is refused.

use super::{VERSIONS, creates, faults, lab, notes, refusal};
use crate::kill_points::state::look;
use xestack::model::{ServerVersion, Severity};

#[tokio::test(flavor = "multi_thread")]
async fn sessions_carry_a_duration_where_the_catalogue_has_one() {
    let absent = [(ServerVersion::V2025, true), (ServerVersion::AzureMi, true)];
    for (version, absent) in VERSIONS.map(|version| (version, false)).into_iter().chain(absent) {
        for (scenario, seconds) in [("sos-yield", 132), ("spinlock", 136), ("sos-yield+spinlock", 138)] {
            let (mut lab, sent) = lab(version, &faults(if absent { &["max-duration=absent"] } else { &[] })).await;
            lab.options.scenario = scenario.to_owned();
            lab.options.max_events_per_second = Some(1_000_000_000);
            let (outcome, _) = lab.report().await;
            assert!(outcome.left_behind.is_empty());
            let creates: Vec<String> =
                sent.changes().into_iter().filter(|sql| sql.starts_with("CREATE EVENT SESSION")).collect();
            assert!(!creates.is_empty());
            for sql in creates {
                let has = sql.contains(&format!("    MAX_DURATION = {seconds} SECONDS,\n"));
                assert_eq!(
                    (has, sql.contains("MAX_DURATION")),
                    (version >= ServerVersion::V2025 && !absent, has),
                    "{version}: {sql}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duration_that_is_refused_is_left_out_once_and_said() {
    let first = creates(ServerVersion::V2025, "sos-yield").await[0];
    for number in [102, 156, 25703, 25708] {
        let (mut lab, sent) = lab(ServerVersion::V2025, &[format!("error={number}@{first}")]).await;
        let notes = notes(&mut lab);
        let before = look(&lab.surroundings.connect).await;
        let (outcome, report) = lab.report().await;
        assert!(report.stacks.total_events > 20_000, "{number}: {:?}", report.capture.problems);
        let problem = report.capture.problems.iter().find(|problem| problem.code == "max_duration_refused").unwrap();
        assert!(
            problem.severity == Severity::Info && problem.message.contains(&format!("Msg {number}")),
            "{problem:?}"
        );
        assert!(notes.lock().unwrap().contains(&problem.message));
        let creates: Vec<bool> = sent
            .changes()
            .iter()
            .filter(|sql| sql.starts_with("CREATE"))
            .map(|sql| sql.contains("MAX_DURATION"))
            .collect();
        assert_eq!(creates, [true, false], "{number}");
        assert!(outcome.left_behind.is_empty());
        assert_eq!(look(&lab.surroundings.connect).await, before, "{number}");
    }
    // An error that is not about it is not taken for one, and a second refusal is the end.
    let (lab, sent) = lab(ServerVersion::V2025, &faults(&["error=25602@create"])).await;
    assert_eq!(refusal(&lab.capture().await.unwrap_err()).3, 25602);
    assert_eq!(sent.changes().len(), 1);
    let (lab, sent) = self::lab(ServerVersion::V2025, &faults(&["error=25703@create"])).await;
    assert_eq!(refusal(&lab.capture().await.unwrap_err()).3, 25703);
    assert_eq!(sent.changes().len(), 2);
}
