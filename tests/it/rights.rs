//! What a login may do decides what a capture does: all of it, counters only, or nothing, each with the exact GRANT; and
//! what a server refuses in spite of the rights is told for what it is. Nothing stays changed in any case.

use crate::capture::{Lab, connect_options};
use crate::cli::xestack;
use crate::kill_points::state::look;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use xestack::agent::progress::Progress;
use xestack::agent::run::{Marker, Owner, RunId};
use xestack::agent::{CaptureError, Outcome, Refusal};
use xestack::model::{Problem, Report, ServerVersion, SessionState, Severity, UtcMicros, VerdictKind};
use xestack::report::text::{self, Style};
use xestack::simulator::clock::MachineClock;
use xestack::simulator::launch::LaunchOptions;
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use xestack::simulator::workload::pace::Pace;
use xestack::sqlserver::{Authentication, ConnectOptions, Connection};

const VERSIONS: [ServerVersion; 10] = [
    ServerVersion::V2008R2,
    ServerVersion::V2012,
    ServerVersion::V2014,
    ServerVersion::V2016,
    ServerVersion::V2017,
    ServerVersion::V2019,
    ServerVersion::V2022,
    ServerVersion::V2025,
    ServerVersion::AzureMi,
    ServerVersion::AzureDb,
];

/// The statements that a server gets, in their order.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<String>>>);

impl Sent {
    fn hooks(&self) -> Hooks {
        let sent = self.clone();
        Hooks::new(move |point: &HookPoint<'_>| {
            sent.note(point);
            HookAction::Continue
        })
    }

    fn note(&self, point: &HookPoint<'_>) {
        if point.phase == Phase::BeforeExecute {
            self.0.lock().unwrap().push(point.sql.to_owned());
        }
    }

    /// Those that make, change or remove something.
    fn changes(&self) -> Vec<String> {
        let is_change = |sql: &&String| sql.contains(" EVENT SESSION [") || sql.contains("TRACEON");
        self.0.lock().unwrap().iter().filter(is_change).cloned().collect()
    }

    fn count(&self, beginning: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|sql| sql.starts_with(beginning)).count()
    }
}

/// A server with faults and a steady load, and the statements that it gets. Trace flags are not opted in.
async fn lab(version: ServerVersion, faults: &[String]) -> (Lab, Sent) {
    let sent = Sent::default();
    let hooks = sent.hooks();
    let mut lab = Lab::new(version, |launch: &mut LaunchOptions| {
        launch.faults.extend(faults.iter().cloned());
        launch.pace = Pace::Steady;
        launch.hooks = hooks;
    })
    .await;
    lab.options.trace_flags.enable = false;
    lab.surroundings.connect.database = database(version);
    (lab, sent)
}

/// A server on the machine's own clock, for a capture of another process.
async fn real_time(texts: &[&str]) -> Lab {
    Lab::new(ServerVersion::V2019, |launch: &mut LaunchOptions| {
        launch.faults.extend(faults(texts));
        launch.pace = Pace::Steady;
        launch.clock = Arc::new(MachineClock::default());
    })
    .await
}

fn faults(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// The one problem that says why there are no call stacks.
fn counters_only(report: &Report) -> &Problem {
    let mut found = report.capture.problems.iter().filter(|problem| problem.code == "counters_only");
    let problem = found.next().unwrap_or_else(|| panic!("{:?}", report.capture.problems));
    assert!(found.next().is_none(), "said twice: {:?}", report.capture.problems);
    problem
}

/// The counters are whole, the stacks are missing and said to be, and no origin is claimed.
fn assert_of_counters(outcome: &Outcome, report: &Report, context: &str) {
    let none_created = outcome.evidence.sessions.iter().all(|session| session.state == Some(SessionState::NotCreated));
    assert!(outcome.left_behind.is_empty() && none_created, "{context}: {:?}", outcome.evidence.sessions);
    assert!(outcome.evidence.samples.len() >= 20, "{context}: {} samples", outcome.evidence.samples.len());
    let yields = report.waits.iter().find(|row| row.wait_type == "SOS_SCHEDULER_YIELD").unwrap();
    assert_eq!(yields.waiting_tasks, 20_647, "{context}");
    let spins = report.spinlocks.iter().find(|row| row.name == "LOCK_HASH").unwrap();
    assert_eq!((spins.collisions, spins.backoffs), (6_191_134, 1_601_383), "{context}");
    assert_eq!(report.verdict.kind, VerdictKind::Inconclusive, "{context}: {}", report.verdict.summary);
    assert!(report.verdict.subject.is_none() && report.stacks.total_events == 0, "{context}");
    let text = text::render(report, &Style::default());
    assert!(text.contains("Where waits come from: there are no stacks."), "{context}: {text}");
}

/// The GRANT of some rights to the login of the tests.
fn grant(rights: &[&str]) -> String {
    format!("in master: GRANT {} TO [sa];", rights.join(", "))
}

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

/// The database that a client connects to: that of the load where sessions belong to one.
fn database(version: ServerVersion) -> Option<String> {
    (version == ServerVersion::AzureDb).then(|| "OneRow".to_owned())
}

/// How `sa` connects, to look on.
fn sa(lab: &Lab) -> ConnectOptions {
    ConnectOptions { database: lab.surroundings.connect.database.clone(), ..connect_options(&lab.simulator) }
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

#[tokio::test(flavor = "multi_thread")]
async fn counters_alone_are_taken_where_that_is_asked_for() {
    for scenario in ["sos-yield", "spinlock", "sos-yield+spinlock"] {
        let (mut lab, sent) = lab(ServerVersion::V2019, &[]).await;
        lab.options.scenario = scenario.to_owned();
        lab.options.counters_only = true;
        let (outcome, report) = lab.report().await;
        assert_of_counters(&outcome, &report, scenario);
        let problem = counters_only(&report);
        assert_eq!((problem.severity, problem.hint.as_deref()), (Severity::Info, None), "{scenario}");
        assert!(!report.capture.problems.iter().any(|problem| problem.severity == Severity::Partial), "{scenario}");
        assert_eq!(sent.changes(), Vec::<String>::new(), "{scenario}");
        // The lock of each scenario is taken all the same.
        assert_eq!(sent.count("DECLARE @result int"), scenario.split('+').count(), "{scenario}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_alone_prove_that_there_was_nothing_to_explain() {
    for (scenario, workload) in [("sos-yield", "lock-hash"), ("spinlock", "cachestore")] {
        // The load of a burst begins with an event session: without one the counters stand still.
        let mut lab = Lab::new(ServerVersion::V2019, |launch| launch.workload = workload.to_owned()).await;
        lab.options.scenario = scenario.to_owned();
        lab.options.trace_flags.enable = false;
        lab.options.counters_only = true;
        let (_, report) = lab.report().await;
        assert_eq!(report.verdict.kind, VerdictKind::NoContention, "{scenario}: {}", report.verdict.summary);
        lab.assert_as_before(scenario).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_is_refused_costs_itself_and_all_of_them_the_capture() {
    let (lab, _) = lab(ServerVersion::V2019, &faults(&["error=300@sys.dm_os_latch_stats"])).await;
    let (outcome, report) = lab.report().await;
    assert!(report.stacks.total_events > 20_000 && outcome.left_behind.is_empty());
    let unreadable: Vec<&str> = report
        .capture
        .problems
        .iter()
        .filter(|problem| problem.code == "counters_unreadable" && problem.severity == Severity::Partial)
        .map(|problem| problem.message.as_str())
        .collect();
    assert!(
        matches!(unreadable[..], [only] if only.contains("dm_os_latch_stats") && only.contains("Msg 300")),
        "{unreadable:?}"
    );
    for (number, expected) in [(300, Refusal::Permission), (1222, Refusal::Version)] {
        let views = ["sys_info", "schedulers", "spinlock_stats", "latch_stats", "wait_stats", "performance_counters"];
        let failing: Vec<String> = views.iter().map(|view| format!("error={number}@sys.dm_os_{view}")).collect();
        let (mut lab, sent) = self::lab(ServerVersion::V2019, &failing).await;
        lab.options.counters_only = true;
        let error = lab.capture().await.unwrap_err();
        let CaptureError::Refused { reason, source: Some(source), .. } = &error else { panic!("{error:?}") };
        assert_eq!((*reason, source.number()), (expected, Some(number)));
        assert_eq!(sent.changes(), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_and_outputs_say_that_the_stacks_are_missing() {
    let run = |lab: &Lab, more: &[&str]| {
        let address = lab.surroundings.connect.address.to_string();
        let folder = tempfile::tempdir().unwrap();
        let mut command =
            xestack(&["capture", "-S", &address, "-U", "sa", "-C", "--scenario", "sos-yield", "--for", "1s"]);
        command.args(more).env("SQLCMDPASSWORD", lab.simulator.password()).env("XESTACK_STATE_DIR", folder.path());
        async move {
            let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            let _kept = folder;
            (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
        }
    };
    let grant = grant(&["ALTER ANY EVENT SESSION"]);
    let denied = real_time(&["deny=ALTER ANY EVENT SESSION"]).await;
    let (code, out, err) = run(&denied, &["--format", "json"]).await;
    assert_eq!(code, 5, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let problems = report["capture"]["problems"].as_array().unwrap();
    let problem = problems.iter().find(|problem| problem["code"] == "counters_only").unwrap();
    assert_eq!((&problem["severity"], &problem["hint"]), (&"partial".into(), &grant.as_str().into()));
    assert_eq!(report["stacks"]["total_events"], 0);
    // Told before the window, too.
    assert!(err.contains("the login lacks ALTER ANY EVENT SESSION") && err.contains(&grant), "{err}");
    let (code, out, _) = run(&denied, &[]).await;
    assert_eq!(code, 5);
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("no call stacks") && flat.contains(&grant), "{out}");
    let (code, _, err) = run(&denied, &["--counters-only"]).await;
    assert_eq!(code, 0, "{err}");
    let blind = real_time(&["deny=VIEW SERVER STATE"]).await;
    let (code, _, err) = run(&blind, &[]).await;
    assert!(code == 4 && err.contains("GRANT VIEW SERVER STATE TO [sa];"), "{code}: {err}");
}

/// What the progress notes say.
fn notes(lab: &mut Lab) -> Arc<Mutex<Vec<String>>> {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&notes);
    lab.surroundings.observer = Arc::new(move |progress| {
        if let Progress::Note(text) = progress {
            told.lock().unwrap().push(text.clone());
        }
    });
    notes
}

/// A refusal of a capture: its kind, its text, its remedy, and the number of the server's error that is its cause.
fn refusal(error: &CaptureError) -> (Refusal, &str, &str, u32) {
    let CaptureError::Refused { reason, text, hint, source: Some(source) } = error else { panic!("{error:?}") };
    (*reason, text, hint.as_deref().unwrap_or_default(), source.number().unwrap())
}

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

/// The numbers of the CREATE statements in the connection of a capture, from 1.
async fn creates(version: ServerVersion, scenario: &str) -> Vec<u64> {
    let numbers = Arc::new(Mutex::new(Vec::new()));
    let hooks = {
        let numbers = Arc::clone(&numbers);
        Hooks::new(move |point: &HookPoint<'_>| {
            if point.phase == Phase::BeforeExecute && point.sql.starts_with("CREATE EVENT SESSION") {
                numbers.lock().unwrap().push(point.request);
            }
            HookAction::Continue
        })
    };
    let mut lab = Lab::new(version, |launch| {
        launch.pace = Pace::Steady;
        launch.hooks = hooks;
    })
    .await;
    lab.options.trace_flags.enable = false;
    lab.options.scenario = scenario.to_owned();
    lab.options.max_events_per_second = Some(1_000_000_000);
    lab.capture().await.unwrap();
    let numbers = numbers.lock().unwrap().clone();
    numbers
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

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_that_rolls_back_is_policy_and_named_where_it_can_be_seen() {
    for (denied, needle) in [
        (&[][..], "enabled server triggers on event sessions: refuse_event_sessions"),
        (&["deny=VIEW ANY DEFINITION"], "VIEW ANY DEFINITION"),
    ] {
        let all: Vec<&str> = ["ddl-trigger=rollback"].iter().chain(denied).copied().collect();
        let (mut lab, sent) = lab(ServerVersion::V2019, &faults(&all)).await;
        let notes = notes(&mut lab);
        let before = look(&lab.surroundings.connect).await;
        let error = lab.capture().await.unwrap_err();
        let (reason, text, hint, number) = refusal(&error);
        assert_eq!((reason, number), (Refusal::Policy, 3609), "{error:?}");
        assert!(text.contains("trigger") && text.contains("rolled back") && hint.contains(needle), "{text}; {hint}");
        assert_eq!(sent.changes().len(), 1, "{:?}", sent.changes());
        let told = notes.lock().unwrap().iter().any(|note| note.contains("refuse_event_sessions"));
        assert_eq!(told, denied.is_empty(), "told before the change where it can be seen");
        assert_eq!(look(&lab.surroundings.connect).await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn triggers_and_audits_that_only_look_on_are_told_before_the_change() {
    let (mut lab, sent) = lab(ServerVersion::V2019, &faults(&["ddl-trigger=audit"])).await;
    let notes = notes(&mut lab);
    let changes_when_told = Arc::new(Mutex::new(None));
    let (observer, inside, told) = (lab.surroundings.observer.clone(), sent.clone(), Arc::clone(&changes_when_told));
    lab.surroundings.observer = Arc::new(move |progress| {
        observer(progress);
        if matches!(progress, Progress::Note(text) if text.contains("note_event_sessions")) {
            *told.lock().unwrap() = Some(inside.changes().len());
        }
    });
    lab.capture().await.unwrap();
    assert_eq!(*changes_when_told.lock().unwrap(), Some(0));
    let notes = notes.lock().unwrap().join("\n");
    assert!(notes.contains("CREATE_EVENT_SESSION") && notes.contains("the audit changes is on"), "{notes}");
}

/// An error of RAISERROR or THROW comes from code beside the statement, which may stand all the same: it is dropped.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_a_trigger_raises_does_not_mean_that_nothing_was_done() {
    let (lab, sent) = lab(ServerVersion::V2019, &faults(&["error=50000@create"])).await;
    let before = look(&lab.surroundings.connect).await;
    let error = lab.capture().await.unwrap_err();
    let (reason, _, _, number) = refusal(&error);
    assert_eq!((reason, number), (Refusal::Policy, 50_000));
    let changes = sent.changes();
    assert!(changes.len() == 2 && changes[1].starts_with("DROP EVENT SESSION"), "{changes:?}");
    assert_eq!(look(&lab.surroundings.connect).await, before);
}

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
