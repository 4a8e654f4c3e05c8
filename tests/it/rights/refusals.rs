//! What a refused CREATE or START is told for, and that nothing stays changed.

use super::{Sent, assert_of_counters, counters_only, creates, database, faults, lab, notes, refusal, sa};
use crate::capture::Lab;
use crate::kill_points::state::look;
use std::sync::{Arc, Mutex};
use xestack::agent::{CaptureError, Refusal};
use xestack::model::{ServerVersion, SessionState, Severity};
use xestack::simulator::launch::LaunchOptions;
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use xestack::sqlserver::{ConnectOptions, Connection};

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_create_is_told_for_what_it_is_and_nothing_more_is_sent() {
    for (version, number, kind, needle) in [
        (ServerVersion::V2019, 15247, Refusal::Permission, "GRANT ALTER ANY EVENT SESSION TO [sa];"),
        (
            ServerVersion::V2022,
            15247,
            Refusal::Permission,
            "GRANT CREATE ANY EVENT SESSION, ALTER ANY EVENT SESSION ENABLE,",
        ),
        (ServerVersion::V2008R2, 15247, Refusal::Permission, "GRANT CONTROL SERVER TO [sa];"),
        (ServerVersion::V2019, 25602, Refusal::Version, "ADD EVENT sqlos.wait_info"),
        (ServerVersion::V2012, 25623, Refusal::Version, "ADD TARGET package0.histogram"),
        (
            ServerVersion::V2019,
            25629,
            Refusal::Version,
            "the statement was: CREATE EVENT SESSION [xestack:1:sos-yield:",
        ),
        (ServerVersion::V2019, 25640, Refusal::Version, "MAX_MEMORY"),
        (ServerVersion::V2019, 25641, Refusal::Version, "slots"),
        (ServerVersion::V2019, 102, Refusal::Version, "the statement was"),
    ] {
        let context = format!("{number} on {version}");
        let (lab, sent) = lab(version, &[format!("error={number}@create")]).await;
        let before = look(&lab.surroundings.connect).await;
        let error = lab.capture().await.unwrap_err();
        let (reason, text, hint, cause) = refusal(&error);
        assert_eq!((reason, cause), (kind, number), "{context}: {error:?}");
        assert!(hint.contains(needle), "{context}: {hint}");
        if kind != Refusal::Permission {
            let blames = |text: &str| text.contains("GRANT") || text.contains("may not") || text.contains("permission");
            assert!(!blames(text) && !blames(hint), "{context}: {error:?}");
        }
        // The first error is the cause: no START, no DROP, nothing that could hide it.
        assert_eq!(sent.changes().len(), 1, "{context}: {:?}", sent.changes());
        assert_eq!(look(&lab.surroundings.connect).await, before, "{context}");
    }
    // What is not about event sessions keeps its number and its statement.
    let (lab, sent) = lab(ServerVersion::V2019, &faults(&["error=1222@create"])).await;
    let CaptureError::Server(error) = lab.capture().await.unwrap_err() else { panic!() };
    assert_eq!((error.number(), sent.changes().len()), (Some(1222), 1));
    assert!(error.to_string().contains("CREATE EVENT SESSION"), "{error}");
}

/// Somebody makes a session of the run's own name in the moment before its CREATE: the server's own 25631.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_exists_already_is_left_alone_whether_it_can_be_seen_or_not() {
    for (version, hidden) in [
        (ServerVersion::V2019, true),
        (ServerVersion::V2019, false),
        (ServerVersion::AzureDb, true),
        (ServerVersion::AzureDb, false),
    ] {
        let context = format!("{version}, hidden {hidden}");
        let connect: Arc<Mutex<Option<ConnectOptions>>> = Arc::default();
        let sent = Sent::default();
        let hooks = {
            let (connect, sent) = (Arc::clone(&connect), sent.clone());
            Hooks::new(move |point: &HookPoint<'_>| {
                let is_create = point.phase == Phase::BeforeExecute && point.sql.starts_with("CREATE EVENT SESSION");
                let other = if is_create { connect.lock().unwrap().take() } else { None };
                if let Some(other) = other {
                    run_beside(other, point.sql.to_owned());
                }
                sent.note(point);
                HookAction::Continue
            })
        };
        let mut lab = Lab::new(version, |launch: &mut LaunchOptions| {
            launch.faults.extend(hidden.then(|| "catalogue=hidden".to_owned()));
            launch.hooks = hooks;
        })
        .await;
        lab.options.trace_flags.enable = false;
        lab.surroundings.connect.database = database(version);
        *connect.lock().unwrap() = Some(sa(&lab));
        let error = lab.capture().await.unwrap_err();
        let (reason, text, hint, cause) = refusal(&error);
        assert_eq!(cause, 25631, "{context}: {error:?}");
        if hidden {
            assert_eq!(reason, Refusal::Permission, "{context}");
            assert!(text.contains("event_session_hidden") && text.contains("cannot be seen"), "{text}");
            let grant = match version {
                ServerVersion::AzureDb => {
                    "to see it, in database [OneRow]: GRANT VIEW DATABASE PERFORMANCE STATE, CREATE ANY DATABASE EVENT SESSION,"
                }
                _ => "to see it, in master: GRANT VIEW SERVER STATE, ALTER ANY EVENT SESSION TO [sa];",
            };
            assert!(hint.starts_with(grant), "{context}: {hint}");
        } else {
            assert!(reason == Refusal::Busy && text.contains("is on the server already"), "{context}: {text}");
        }
        let creates = sent.changes().iter().filter(|sql| sql.starts_with("CREATE")).count();
        // The other's and ours: no second try, and nothing after it.
        assert_eq!((creates, sent.changes().len()), (2, 2), "{context}: {:?}", sent.changes());
    }
}

/// Runs a statement over another connection while the server holds one.
fn run_beside(connect: ConnectOptions, sql: String) {
    let other = std::thread::spawn(move || {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut connection = Connection::open(&connect).await.unwrap();
            connection.run(&sql, connect.query_timeout).await.unwrap();
            connection.close().await;
        });
    });
    other.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_engine_makes_no_session_the_window_goes_on_with_the_counters() {
    for (scenario, fault, changes) in [
        ("sos-yield", "error=25601@create", 1),
        ("sos-yield", "error=25604@create", 1),
        ("sos-yield", "error=25607@create", 1),
        ("sos-yield", "error=701@create", 1),
        // The survey comes first.
        ("spinlock", "error=25604@create", 1),
        // Made, and refused when it is started: stopped, to be sure, and dropped at once.
        ("sos-yield", "error=25601@start", 4),
    ] {
        let (mut lab, sent) = lab(ServerVersion::V2019, &faults(&[fault])).await;
        lab.options.scenario = scenario.to_owned();
        let notes = notes(&mut lab);
        let before = look(&lab.surroundings.connect).await;
        let (outcome, report) = lab.report().await;
        let context = format!("{scenario}, {fault}: {:?}", sent.changes());
        assert_of_counters(&outcome, &report, &context);
        let problem = counters_only(&report);
        assert_eq!(problem.severity, Severity::Partial, "{context}");
        let number: String = fault.chars().filter(char::is_ascii_digit).collect();
        assert!(problem.message.contains(&format!("Msg {number}")), "{}", problem.message);
        assert!(!problem.message.contains("permission") && problem.hint.is_none(), "{problem:?}");
        assert!(notes.lock().unwrap().contains(&problem.message), "{context}");
        assert_eq!(sent.changes().len(), changes, "{context}");
        assert_eq!(look(&lab.surroundings.connect).await, before, "{context}");
    }
}

/// Field report L-32: a hosted edition without event sessions refuses with the host's own words first.
#[tokio::test(flavor = "multi_thread")]
async fn an_edition_without_event_sessions_leaves_the_counters() {
    for (edition, scenario) in [("express", "sos-yield"), ("web", "sos-yield"), ("web", "spinlock")] {
        let (mut lab, sent) = lab(ServerVersion::V2022, &[format!("edition={edition}"), "host=rds".to_owned()]).await;
        lab.options.scenario = scenario.to_owned();
        let before = look(&lab.surroundings.connect).await;
        let (outcome, report) = lab.report().await;
        let context = format!("{edition}, {scenario}: {:?}", sent.changes());
        assert_of_counters(&outcome, &report, &context);
        let problem = counters_only(&report);
        assert_eq!(problem.severity, Severity::Partial, "{context}");
        // The first error is the cause, whole; no right is blamed.
        assert!(problem.message.contains("Msg 50000") && problem.message.contains("RDS for SQL Server"), "{problem:?}");
        assert!(!problem.message.contains("GRANT") && problem.hint.is_none(), "{problem:?}");
        let others = sent.changes().iter().filter(|sql| sql.starts_with("ALTER")).count();
        assert_eq!((sent.count("CREATE EVENT SESSION"), others), (1, 0), "{context}");
        assert_eq!(look(&lab.surroundings.connect).await, before, "{context}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_of_one_scenario_is_put_back_when_that_of_the_other_is_refused() {
    // The survey of spinlock, then a session of each.
    let creates = creates(ServerVersion::V2019, "sos-yield+spinlock").await;
    assert_eq!(creates.len(), 3);
    for (n, number, goes_on) in
        [(1, 25601, true), (2, 25601, true), (0, 25641, false), (1, 25641, false), (2, 25641, false), (2, 15247, false)]
    {
        let context = format!("CREATE {n}, {number}");
        let (mut lab, _) = lab(ServerVersion::V2019, &[format!("error={number}@{}", creates[n])]).await;
        lab.options.scenario = "sos-yield+spinlock".to_owned();
        lab.options.max_events_per_second = Some(1_000_000_000);
        let before = look(&lab.surroundings.connect).await;
        if goes_on {
            let (outcome, report) = lab.report().await;
            assert_eq!(counters_only(&report).severity, Severity::Partial, "{context}");
            assert!(outcome.left_behind.is_empty() && outcome.evidence.after.is_some(), "{context}");
            // What the survey has counted stays evidence.
            let (never, surveyed): (Vec<_>, Vec<_>) =
                outcome.evidence.sessions.iter().partition(|session| session.state == Some(SessionState::NotCreated));
            assert_eq!((never.len(), surveyed.len()), (2, 1), "{context}");
            assert_eq!(report.stacks.total_events, 0, "{context}");
        } else {
            let error = lab.capture().await.unwrap_err();
            assert_eq!(refusal(&error).3, number, "{context}");
        }
        assert_eq!(look(&lab.surroundings.connect).await, before, "{context}");
    }
}
