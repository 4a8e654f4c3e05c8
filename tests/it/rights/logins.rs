//! Logins with few rights, while `sa` looks on: what each captures, and the GRANT of what it lacks.

use super::{Sent, VERSIONS, assert_of_counters, counters_only, database, grant, lab, sa};
use crate::capture::Lab;
use crate::kill_points::state::look;
use xestack::agent::run::{Marker, Owner, RunId};
use xestack::agent::{CaptureError, Refusal};
use xestack::model::{Problem, ServerVersion, Severity, UtcMicros};
use xestack::simulator::launch::LaunchOptions;
use xestack::simulator::workload::pace::Pace;
use xestack::sqlserver::{Authentication, Connection};

const COUNTERS: &str = "VIEW SERVER STATE";
const COUNTERS_2022: &str = "VIEW SERVER PERFORMANCE STATE";
const SESSIONS: &str = "ALTER ANY EVENT SESSION";
const PARTS: [&str; 5] = [
    "CREATE ANY EVENT SESSION",
    "ALTER ANY EVENT SESSION ENABLE",
    "ALTER ANY EVENT SESSION DISABLE",
    "ALTER ANY EVENT SESSION DROP EVENT",
    "DROP ANY EVENT SESSION",
];

const COUNTERS_OF_DATABASE: &str = "VIEW DATABASE PERFORMANCE STATE";
const PARTS_OF_DATABASE: [&str; 5] = [
    "CREATE ANY DATABASE EVENT SESSION",
    "ALTER ANY DATABASE EVENT SESSION ENABLE",
    "ALTER ANY DATABASE EVENT SESSION DISABLE",
    "ALTER ANY DATABASE EVENT SESSION DROP EVENT",
    "DROP ANY DATABASE EVENT SESSION",
];

/// The least rights with which a version captures everything: for counters, and for event sessions.
fn least_rights(version: ServerVersion) -> (&'static str, Vec<&'static str>) {
    match version {
        // It covers the right to read counters.
        ServerVersion::V2008R2 => (COUNTERS, vec!["CONTROL SERVER"]),
        ServerVersion::V2022 | ServerVersion::V2025 | ServerVersion::AzureMi => (COUNTERS_2022, PARTS.to_vec()),
        ServerVersion::AzureDb => (COUNTERS_OF_DATABASE, PARTS_OF_DATABASE.to_vec()),
        _ => (COUNTERS, vec![SESSIONS]),
    }
}

/// A server whose login `o'dba]` has these rights and no others, and captures; `sa` looks on.
async fn lab_of(version: ServerVersion, rights: &[&str]) -> (Lab, Sent) {
    lab_of_tier(version, rights, None).await
}

/// The same on a service objective.
async fn lab_of_tier(version: ServerVersion, rights: &[&str], tier: Option<&str>) -> (Lab, Sent) {
    let sent = Sent::default();
    let hooks = sent.hooks();
    let mut lab = Lab::new(version, |launch: &mut LaunchOptions| {
        launch.faults.extend(tier.map(|tier| format!("tier={tier}")));
        launch.accounts.push(format!("o'dba]={}", rights.join(",")).parse().unwrap());
        launch.pace = Pace::Steady;
        launch.hooks = hooks;
    })
    .await;
    lab.options.trace_flags.enable = false;
    let password = lab.simulator.password().to_owned().into();
    lab.surroundings.connect.database = database(version);
    lab.surroundings.connect.authentication = Authentication::Password { user: "o'dba]".to_owned(), password };
    (lab, sent)
}

/// The GRANT of some rights to that login.
fn grant_to_login(version: ServerVersion, rights: &[&str]) -> String {
    let place = database(version).map_or_else(|| "master".to_owned(), |name| format!("database [{name}]"));
    format!("in {place}: GRANT {} TO [o'dba]]];", rights.join(", "))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_with_the_least_rights_captures_all() {
    for version in VERSIONS {
        let (counters, sessions) = least_rights(version);
        let rights: Vec<&str> = [counters].into_iter().chain(sessions).collect();
        let (lab, sent) = lab_of(version, &rights).await;
        let before = look(&sa(&lab)).await;
        let (outcome, report) = lab.report().await;
        assert!(report.stacks.total_events > 20_000, "{version}: {:?}", report.capture.problems);
        let lacking = |problem: &&Problem| {
            matches!(problem.code.as_str(), "counters_only" | "counters_unreadable" | "loss_unknown")
        };
        assert_eq!(report.capture.problems.iter().find(lacking), None, "{version}");
        assert!(outcome.left_behind.is_empty() && sent.count("CREATE") == 1, "{version}");
        assert_eq!(look(&sa(&lab)).await, before, "{version}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_right_of_event_sessions_that_is_missing_leaves_the_counters() {
    for version in VERSIONS {
        let (counters, sessions) = least_rights(version);
        let one_less = |missing: &&'static str| {
            (vec![*missing], sessions.iter().copied().filter(|held| held != missing).collect())
        };
        let none_held = (sessions.len() > 1).then(|| (sessions.clone(), Vec::new()));
        for (missing, held) in sessions.iter().map(one_less).chain(none_held) {
            let held: Vec<&str> = held;
            let rights: Vec<&str> = [counters].into_iter().chain(held).collect();
            let context = format!("{version}: {rights:?}");
            let (lab, sent) = lab_of(version, &rights).await;
            let before = look(&sa(&lab)).await;
            let (outcome, report) = lab.report().await;
            assert_of_counters(&outcome, &report, &context);
            let problem = counters_only(&report);
            assert_eq!(problem.severity, Severity::Partial, "{context}");
            let lacks = format!("the login lacks {}", missing.join(", "));
            assert!(problem.message.ends_with(&lacks), "{context}: {}", problem.message);
            assert_eq!(problem.hint.as_deref(), Some(grant_to_login(version, &missing).as_str()), "{context}");
            assert_eq!(sent.changes(), Vec::<String>::new(), "{context}");
            assert_eq!(look(&sa(&lab)).await, before, "{context}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_read_counters_nothing_is_captured() {
    for version in VERSIONS {
        let (counters, mut sessions) = least_rights(version);
        if version == ServerVersion::V2008R2 {
            sessions.clear();
        }
        for (held, missing) in [
            (
                sessions.clone(),
                if version == ServerVersion::V2008R2 { vec![counters, "CONTROL SERVER"] } else { vec![counters] },
            ),
            (Vec::new(), [counters].into_iter().chain(least_rights(version).1).collect()),
        ] {
            let (mut lab, sent) = lab_of(version, &held).await;
            let before = look(&sa(&lab)).await;
            for (asked_for, missing) in [(false, missing), (true, vec![counters])] {
                lab.options.counters_only = asked_for;
                let error = lab.capture().await.unwrap_err();
                let CaptureError::Refused { reason: Refusal::Permission, text, hint: Some(hint), .. } = &error else {
                    panic!("{version}: {error:?}");
                };
                assert_eq!(*text, format!("the login lacks {}", missing.join(", ")), "{version}");
                assert_eq!(*hint, grant_to_login(version, &missing), "{version}");
            }
            assert_eq!(sent.changes(), Vec::<String>::new(), "{version}");
            assert_eq!(look(&sa(&lab)).await, before, "{version}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_objective_that_shows_counters_to_a_role_only_is_told() {
    let role = "in master: ALTER SERVER ROLE [##MS_ServerStateReader##] ADD MEMBER [o'dba]]];";
    for tier in ["basic", "pool"] {
        let rights: Vec<&str> = [COUNTERS_OF_DATABASE].into_iter().chain(PARTS_OF_DATABASE).collect();
        for (more, refused) in [(None, true), (Some("##MS_ServerStateReader##"), false)] {
            let rights: Vec<&str> = rights.iter().copied().chain(more).collect();
            let (lab, _) = lab_of_tier(ServerVersion::AzureDb, &rights, Some(tier)).await;
            let before = look(&sa(&lab)).await;
            let result = lab.capture().await;
            let told = match &result {
                Ok(outcome) => {
                    let problems = &outcome.evidence.problems;
                    problems.iter().any(|problem| problem.hint.as_ref().is_some_and(|hint| hint.ends_with(role)))
                }
                Err(CaptureError::Refused { hint: Some(hint), reason: Refusal::Permission, .. }) => {
                    hint.ends_with(role)
                }
                Err(error) => panic!("{tier}: {error:?}"),
            };
            assert_eq!(told, refused, "{tier}, {more:?}: {result:?}");
            assert_eq!(look(&sa(&lab)).await, before, "{tier}");
        }
    }
}

/// A part that is denied beside the whole: what could not be dropped is not created.
#[tokio::test(flavor = "multi_thread")]
async fn a_denied_part_of_the_right_weighs_more_than_the_whole() {
    for part in PARTS {
        let (lab, sent) = lab(ServerVersion::V2022, &[format!("deny={part}")]).await;
        let (outcome, report) = lab.report().await;
        assert_of_counters(&outcome, &report, part);
        assert_eq!(counters_only(&report).hint.as_deref(), Some(grant(&[part]).as_str()));
        assert_eq!(sent.changes(), Vec::<String>::new(), "{part}");
    }
}

/// What a dead run has left needs rights to be removed: without them it is told, and the counters are taken all the same.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_run_left_does_not_stop_a_login_with_few_rights() {
    let (lab, _) = lab_of(ServerVersion::V2019, &[COUNTERS]).await;
    let dead = Marker {
        scenario: "sos-yield".to_owned(),
        run_id: RunId::new(UtcMicros(1_796_067_092_000_000), 7),
        owner: Owner { pid: 4_194_303, start_ticks: 1, ..lab.surroundings.here.clone() },
        deadline_unix: 1_796_067_093,
        flags: Vec::new(),
    };
    let sa = sa(&lab);
    let mut connection = Connection::open(&sa).await.unwrap();
    let create = format!("CREATE EVENT SESSION [{dead}] ON SERVER ADD EVENT sqlos.wait_info");
    connection.run(&create, sa.query_timeout).await.unwrap();
    connection.close().await;
    let before = look(&sa).await;
    let (outcome, report) = lab.report().await;
    assert_of_counters(&outcome, &report, "beside a dead run");
    let remains = report.capture.problems.iter().find(|problem| problem.code == "dead_run_remains");
    assert!(
        remains.is_some_and(|problem| problem.message.contains(&dead.to_string())),
        "{:?}",
        report.capture.problems
    );
    assert_eq!(look(&sa).await, before);
}
