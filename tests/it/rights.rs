//! What a login may do decides what a capture does: all of it, counters only, or nothing, each with the exact GRANT; and
//! what a server refuses in spite of the rights is told for what it is. Nothing stays changed in any case.

use crate::capture::Lab;
use crate::cli::xestack;
use crate::kill_points::state::look;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use xestack::agent::{CaptureError, Outcome, Refusal};
use xestack::model::{Problem, Report, ServerVersion, Severity, VerdictKind};
use xestack::report::text::{self, Style};
use xestack::simulator::clock::MachineClock;
use xestack::simulator::launch::LaunchOptions;
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use xestack::simulator::workload::pace::Pace;

const VERSIONS: [ServerVersion; 8] = [
    ServerVersion::V2008R2,
    ServerVersion::V2012,
    ServerVersion::V2014,
    ServerVersion::V2016,
    ServerVersion::V2017,
    ServerVersion::V2019,
    ServerVersion::V2022,
    ServerVersion::V2025,
];

/// The statements that a server gets, in their order.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<String>>>);

impl Sent {
    fn hooks(&self) -> Hooks {
        let sent = Arc::clone(&self.0);
        Hooks::new(move |point: &HookPoint<'_>| {
            if point.phase == Phase::BeforeExecute {
                sent.lock().unwrap().push(point.sql.to_owned());
            }
            HookAction::Continue
        })
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
    assert!(outcome.left_behind.is_empty() && outcome.evidence.sessions.is_empty(), "{context}");
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

#[tokio::test(flavor = "multi_thread")]
async fn each_right_of_event_sessions_that_is_missing_leaves_the_counters() {
    const PARTS: [&str; 5] = [
        "CREATE ANY EVENT SESSION",
        "ALTER ANY EVENT SESSION ENABLE",
        "ALTER ANY EVENT SESSION DISABLE",
        "ALTER ANY EVENT SESSION DROP EVENT",
        "DROP ANY EVENT SESSION",
    ];
    let mut cases: Vec<(ServerVersion, &str, Vec<&str>)> = Vec::new();
    for version in VERSIONS {
        match version {
            ServerVersion::V2008R2 => cases.push((version, "CONTROL SERVER", vec!["CONTROL SERVER"])),
            ServerVersion::V2022 | ServerVersion::V2025 => {
                cases.push((version, "ALTER ANY EVENT SESSION", PARTS.to_vec()));
                cases.extend(PARTS.map(|part| (version, part, vec![part])));
            }
            _ => cases.push((version, "ALTER ANY EVENT SESSION", vec!["ALTER ANY EVENT SESSION"])),
        }
    }
    for (version, denied, granted) in cases {
        let context = format!("{denied} on {version}");
        let mut denials = faults(&["deny=sysadmin"]);
        denials.push(format!("deny={denied}"));
        // CONTROL SERVER covers the right to read the counters too: without it there is nothing to see here.
        if denied == "CONTROL SERVER" {
            let (lab, sent) = lab(version, &denials).await;
            let error = lab.capture().await.unwrap_err();
            let CaptureError::Refused { reason: Refusal::Permission, hint: Some(hint), .. } = &error else {
                panic!("{context}: {error:?}");
            };
            assert_eq!(*hint, grant(&["VIEW SERVER STATE", "CONTROL SERVER"]), "{context}");
            assert_eq!(sent.changes(), Vec::<String>::new(), "{context}");
            continue;
        }
        let (lab, sent) = lab(version, &denials).await;
        let before = look(&lab.surroundings.connect).await;
        let (outcome, report) = lab.report().await;
        assert_of_counters(&outcome, &report, &context);
        let problem = counters_only(&report);
        assert_eq!(problem.severity, Severity::Partial, "{context}");
        assert!(problem.message.ends_with(&format!("the login lacks {}", granted.join(", "))), "{}", problem.message);
        assert_eq!(problem.hint.as_deref(), Some(grant(&granted).as_str()), "{context}");
        assert_eq!(sent.changes(), Vec::<String>::new(), "{context}");
        assert_eq!(look(&lab.surroundings.connect).await, before, "{context}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_read_counters_nothing_is_captured() {
    for version in VERSIONS {
        let right = if version >= ServerVersion::V2022 { "VIEW SERVER PERFORMANCE STATE" } else { "VIEW SERVER STATE" };
        for asked_for in [false, true] {
            let (mut lab, sent) = lab(version, &[format!("deny={right}")]).await;
            lab.options.counters_only = asked_for;
            let error = lab.capture().await.unwrap_err();
            let CaptureError::Refused { reason: Refusal::Permission, text, hint: Some(hint), .. } = &error else {
                panic!("{version}: {error:?}");
            };
            assert_eq!(
                (text.as_str(), hint.as_str()),
                (format!("the login lacks {right}").as_str(), grant(&[right]).as_str())
            );
            assert_eq!(sent.changes(), Vec::<String>::new(), "{version}");
            assert_eq!(sent.count("EXEC"), 0, "{version}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_with_just_the_rights_captures_all() {
    for version in VERSIONS {
        let (lab, sent) = lab(version, &faults(&["deny=sysadmin"])).await;
        let before = look(&lab.surroundings.connect).await;
        let (outcome, report) = lab.report().await;
        assert!(report.stacks.total_events > 20_000, "{version}: {:?}", report.capture.problems);
        assert!(outcome.left_behind.is_empty() && sent.count("CREATE") == 1, "{version}");
        assert_eq!(look(&lab.surroundings.connect).await, before, "{version}");
    }
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
