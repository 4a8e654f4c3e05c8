//! `xestack doctor` on the simulated server: what it tells of a login, and that it changes nothing.

use crate::capture::Lab;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xestack::agent::CaptureError;
use xestack::agent::doctor::{DoctorOptions, doctor};
use xestack::model::{Doctor, NeedState, ScenarioReadiness, ServerVersion, Tool};
use xestack::report::{self, Format, Style};
use xestack::simulator::launch::LaunchOptions;
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use xestack::simulator::workload::pace::Pace;

const ALL: [ServerVersion; 8] = [
    ServerVersion::V2008R2,
    ServerVersion::V2012,
    ServerVersion::V2014,
    ServerVersion::V2016,
    ServerVersion::V2017,
    ServerVersion::V2019,
    ServerVersion::V2022,
    ServerVersion::V2025,
];

fn options() -> DoctorOptions {
    DoctorOptions {
        scenarios: vec!["sos-yield".into(), "spinlock".into()],
        window: Duration::from_secs(60),
        tool: Tool { name: "xestack".into(), version: "0.0.0".into() },
    }
}

async fn ask(
    version: ServerVersion,
    faults: &[&str],
    change: impl FnOnce(&mut LaunchOptions),
) -> Result<Doctor, CaptureError> {
    let lab = Lab::new(version, |launch| {
        launch.pace = Pace::Steady;
        launch.faults.extend(faults.iter().map(|fault| (*fault).to_owned()));
        change(launch);
    })
    .await;
    doctor(&lab.surroundings, &options()).await
}

fn nothing(_: &mut LaunchOptions) {}

fn readiness(found: &Doctor) -> Vec<ScenarioReadiness> {
    found.scenarios.iter().map(|scenario| scenario.readiness).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sysadmin_reads_one_screen() {
    let found = ask(ServerVersion::V2019, &[], nothing).await.unwrap();
    let text = report::render_doctor(Format::Text, &found, &Style::default());
    assert!(text.lines().count() <= 55 && text.lines().all(|line| line.len() <= 80), "{text}");
    insta::assert_snapshot!("doctor_2019_sysadmin", text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_for_counters_reads_what_to_grant() {
    let found = ask(ServerVersion::V2022, &["deny=sysadmin", "deny=ALTER ANY EVENT SESSION"], nothing).await.unwrap();
    assert_eq!(readiness(&found), [ScenarioReadiness::CountersOnly; 2]);
    insta::assert_snapshot!("doctor_2022_counters", report::render_doctor(Format::Text, &found, &Style::default()));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_is_ready_for_a_sysadmin_and_says_what_it_would_run() {
    for version in ALL {
        let found = ask(version, &[], nothing).await.unwrap();
        assert_eq!(readiness(&found), [ScenarioReadiness::Ready; 2], "{version}: {found:?}");
        assert!(found.problems.is_empty(), "{version}: {:?}", found.problems);
        let run = found.scenarios[0].would_run.as_ref().unwrap();
        let newer = version >= ServerVersion::V2022;
        assert_eq!(run.action, if newer { "callstack_rva" } else { "callstack" }, "{version}");
        assert_eq!(run.target == "asynchronous_bucketizer", version == ServerVersion::V2008R2, "{version}");
        assert_eq!(run.slots, if newer { 512 } else { 1024 }, "{version}");
        assert_eq!(run.max_duration_seconds.is_some(), version == ServerVersion::V2025, "{version}");
        assert!((2_000.0..2_200.0).contains(&run.events_per_second.unwrap()), "{version}: {run:?}");
        assert_eq!(found.scenarios[1].would_run.as_ref().unwrap().survey_seconds, Some(4), "{version}");
        assert_eq!(found.trace_flags.opt_in_accepted, !newer, "{version}: {:?}", found.trace_flags);
        // 2022 CU14 is simulated, the last that tells of sessions in the error log; the survey is a session too.
        let lines: Vec<u64> = found.scenarios.iter().map(|scenario| scenario.error_log.session_lines).collect();
        assert_eq!(lines, if version == ServerVersion::V2022 { [2, 4] } else { [0, 0] }, "{version}");
        assert!(
            found.load.uptime_ms.unwrap() > 0 && found.load.cpu_share.unwrap() > 0.9,
            "{version}: {:?}",
            found.load
        );
        assert!(found.event_sessions.running.as_ref().unwrap().contains(&"system_health".to_owned()), "{version}");
        let poll = found.scenarios[0].poll.as_ref().unwrap();
        assert!(poll.cpu_ms.is_some() && poll.readings > 1, "{version}: {poll:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_right_that_is_missing_is_named_with_its_grant() {
    for (version, denied, state, grant) in [
        (ServerVersion::V2019, "VIEW SERVER STATE", ScenarioReadiness::Impossible, "GRANT VIEW SERVER STATE TO [sa];"),
        (
            ServerVersion::V2019,
            "ALTER ANY EVENT SESSION",
            ScenarioReadiness::CountersOnly,
            "GRANT ALTER ANY EVENT SESSION TO [sa];",
        ),
        (
            ServerVersion::V2012,
            "ALTER ANY EVENT SESSION",
            ScenarioReadiness::CountersOnly,
            "GRANT ALTER ANY EVENT SESSION TO [sa];",
        ),
        (
            ServerVersion::V2022,
            "VIEW SERVER PERFORMANCE STATE",
            ScenarioReadiness::Impossible,
            "GRANT VIEW SERVER PERFORMANCE STATE TO [sa];",
        ),
        (
            ServerVersion::V2022,
            "DROP ANY EVENT SESSION",
            ScenarioReadiness::CountersOnly,
            "GRANT DROP ANY EVENT SESSION TO [sa];",
        ),
        (
            ServerVersion::V2025,
            "ALTER ANY EVENT SESSION DROP EVENT",
            ScenarioReadiness::CountersOnly,
            "GRANT ALTER ANY EVENT SESSION DROP EVENT TO [sa];",
        ),
    ] {
        let context = format!("{denied} on {version}");
        let found = ask(version, &[&format!("deny={denied}")], nothing).await.unwrap();
        assert_eq!(readiness(&found), [state; 2], "{context}");
        for scenario in &found.scenarios {
            assert!(scenario.remedy.as_deref().unwrap().contains(grant), "{context}: {:?}", scenario.remedy);
            assert!(scenario.reason.is_some() && scenario.would_run.is_none(), "{context}");
        }
        let missing: Vec<&str> = found
            .login
            .needs
            .iter()
            .filter(|need| need.state == NeedState::Missing)
            .filter_map(|need| need.grant.as_deref())
            .collect();
        assert!(missing.contains(&grant), "{context}: {missing:?}");
        let text = report::render_doctor(Format::Text, &found, &Style::default());
        assert!(text.replace('\n', " ").contains("GRANT"), "{context}: {text}");
    }
    let found = ask(ServerVersion::V2019, &["deny=sysadmin"], nothing).await.unwrap();
    assert_eq!(readiness(&found), [ScenarioReadiness::Ready; 2]);
    assert!(
        !found.trace_flags.opt_in_accepted && found.trace_flags.opt_in.contains("sysadmin"),
        "{:?}",
        found.trace_flags
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_not_known_and_the_rest_stands() {
    for (fault, code) in [
        ("error=297@sys.server_event_sessions", "event_sessions_unknown"),
        ("error=297@sys.server_triggers", "side_effects_unknown"),
        ("error=297@sys.server_audits", "side_effects_unknown"),
        ("error=2571@tracestatus", "trace_status_unknown"),
        ("error=297@sys.dm_os_spinlock_stats", "counters_unreadable"),
    ] {
        let found = ask(ServerVersion::V2019, &[fault], nothing).await.unwrap();
        assert!(found.problems.iter().any(|problem| problem.code == code), "{fault}: {:?}", found.problems);
        assert!(found.scenarios.iter().all(|scenario| scenario.readiness != ScenarioReadiness::Impossible), "{fault}");
        let text = report::render_doctor(Format::Text, &found, &Style::default());
        assert!(text.contains(code), "{fault}: {text}");
    }
    let found = ask(ServerVersion::V2019, &["error=2571@tracestatus"], nothing).await.unwrap();
    assert_eq!(found.trace_flags.on_globally, None);
    assert!(!found.trace_flags.opt_in_accepted && found.trace_flags.opt_in.contains("unknown"));
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_triggers_and_audits_are_told() {
    let found = ask(ServerVersion::V2019, &["ddl-trigger=audit"], |launch| launch.startup_flags = vec![1118, 3656])
        .await
        .unwrap();
    assert_eq!(found.trace_flags.on_globally, Some(vec![1118, 3656]));
    assert!(!found.side_effects.ddl_triggers.is_empty(), "{:?}", found.side_effects);
    assert!(!found.side_effects.audits.is_empty(), "{:?}", found.side_effects);
    let text = report::render_doctor(Format::Text, &found, &Style::default());
    assert!(text.contains("DDL trigger: ") && text.contains("Audits on: ") && text.contains("1118, 3656"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_only_looks() {
    for version in ALL {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let hooks = {
            let sent = Arc::clone(&sent);
            Hooks::new(move |point: &HookPoint<'_>| {
                if point.phase == Phase::BeforeExecute {
                    sent.lock().unwrap().push(point.sql.to_owned());
                }
                HookAction::Continue
            })
        };
        ask(version, &[], |launch| launch.hooks = hooks).await.unwrap();
        let sent = sent.lock().unwrap();
        assert!(sent.len() > 10);
        for sql in sent.iter() {
            let statement = sql.lines().find(|line| !line.starts_with("--")).unwrap();
            let looks = statement.starts_with("SELECT ")
                || statement.starts_with("DBCC TRACESTATUS ")
                || statement.starts_with("SET LOCK_TIMEOUT");
            assert!(looks, "{version}: {sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_json_has_the_keys_of_the_contract() {
    let found = ask(ServerVersion::V2022, &["deny=ALTER ANY EVENT SESSION"], nothing).await.unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&report::render_doctor(Format::Json, &found, &Style::default())).unwrap();
    assert_eq!(json["schema"], "xestack.doctor/1");
    assert_eq!(json["server"]["version"], "2022");
    assert_eq!(json["scenarios"][0]["readiness"], "counters_only");
    assert_eq!(json["login"]["permissions"]["CREATE ANY EVENT SESSION"], false);
    assert_eq!(json["login"]["needs"][0]["state"], "held");
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "schema",
            "tool",
            "asked_at",
            "server",
            "load",
            "login",
            "scenarios",
            "trace_flags",
            "event_sessions",
            "side_effects",
            "symbols",
            "problems"
        ]
    );
    assert_eq!(serde_json::from_value::<Doctor>(json).unwrap(), found);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scenario_says_how_many_sessions_it_makes_and_one_without_any_lacks_no_right() {
    for (denied, latch, files) in [
        (&[][..], ScenarioReadiness::Ready, ScenarioReadiness::Ready),
        (&["deny=ALTER ANY EVENT SESSION", "deny=sysadmin"], ScenarioReadiness::CountersOnly, ScenarioReadiness::Ready),
    ] {
        let lab = Lab::new(ServerVersion::V2019, |launch| {
            launch.pace = Pace::Steady;
            launch.workload = "version-store".to_owned();
            launch.faults.extend(denied.iter().map(|fault| (*fault).to_owned()));
        })
        .await;
        let scenarios = vec!["latch".to_owned(), "file-latency".to_owned()];
        let found = doctor(&lab.surroundings, &DoctorOptions { scenarios, ..options() }).await.unwrap();
        assert_eq!(readiness(&found), [latch, files]);
        let text = report::render_doctor(Format::Text, &found, &Style::default());
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("Makes no event session: its counters answer."), "{text}");
        if latch == ScenarioReadiness::Ready {
            let run = found.scenarios[0].would_run.as_ref().unwrap();
            assert_eq!(run.further_events, ["sqlserver.latch_suspend_end"]);
            assert!(text.contains("in a session of its own") && text.contains("sqlserver.latch_suspend_end"), "{text}");
        }
        lab.assert_as_before("doctor").await;
    }
}
