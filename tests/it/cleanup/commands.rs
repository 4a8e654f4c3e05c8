//! What clean-up takes and what it leaves.

use super::{Client, START, clean, ended, marker, of_another_machine};
use crate::capture::Lab;
use xestack::agent::run::{Life, Owner};
use xestack::agent::{self, CaptureError, CleanupOptions, Refusal};
use xestack::model::ServerVersion;

#[tokio::test(flavor = "multi_thread")]
async fn of_foreign_live_and_dead_sessions_only_the_dead_runs_goes() {
    let lab = Lab::new(ServerVersion::V2019, |launch| launch.startup_flags = vec![1118]).await;
    let mut client = Client::of(&lab).await;
    let dead = marker(1, ended(), START + 9999, &[3656]);
    let live = marker(2, Owner::this_process(), START - 9999, &[]);
    let may_live = marker(3, of_another_machine(), START, &[]);
    let other = marker(4, ended(), START, &[]).to_string();
    let foreign = [
        "xestack".to_owned(),
        "xestack:1:".to_owned(),
        other.to_uppercase(),
        format!("{other}0"),
        format!("{other}]"),
        format!("{}x", &other[..other.len() - 1]),
        other.replace("xestack:1:", "xestack:2:"),
        marker(5, ended(), START, &[]).to_string().replace("sos-yield", "sos-yielD"),
    ];
    for name in foreign.iter().chain([&live.to_string(), &may_live.to_string()]) {
        client.make(name, true).await;
    }
    let mut kept = client.sessions().await;
    client.make(&dead.to_string(), true).await;
    client.run("DBCC TRACEON (3656, -1) WITH NO_INFOMSGS").await;
    let state = tempfile::tempdir().unwrap();
    let shown = clean(&lab.surroundings, state.path(), true).await;
    assert_eq!(shown.left_behind.len(), 2, "{:?}", shown.left_behind);
    assert_eq!(client.flags().await, [1118, 3656], "a dry run changes nothing");
    assert_eq!(client.sessions().await.len(), kept.len() + 1);
    let done = clean(&lab.surroundings, state.path(), false).await;
    assert_eq!(done.left_behind, []);
    assert_eq!(client.flags().await, [1118]);
    assert_eq!(client.sessions().await, kept);
    let lives: Vec<Life> = done.runs.iter().map(|run| run.life).collect();
    assert_eq!(lives, [Life::ProcessGone, Life::Runs, Life::MayLive]);
    let order: Vec<&str> = done.runs[0].statements.iter().map(|sent| sent.statement.as_str()).collect();
    let [stop, off, drop] = order.as_slice() else { panic!("{order:?}") };
    assert!(stop.ends_with("STATE = STOP") && off.starts_with("DBCC TRACEOFF (3656, -1)"), "{order:?}");
    assert!(drop.starts_with("DROP EVENT SESSION"), "{order:?}");
    kept.retain(|name| *name != live.to_string() && *name != may_live.to_string());
    let mut told = done.foreign;
    told.sort_unstable();
    assert_eq!(told, kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_another_machine_goes_a_minute_after_its_deadline_or_when_it_is_given_up() {
    let lab = Lab::new(ServerVersion::V2019, |_| {}).await;
    let mut client = Client::of(&lab).await;
    let state = tempfile::tempdir().unwrap();
    let (past, young) = (marker(1, of_another_machine(), START - 61, &[]), marker(2, of_another_machine(), START, &[]));
    client.make(&past.to_string(), false).await;
    client.make(&young.to_string(), true).await;
    assert_eq!(clean(&lab.surroundings, state.path(), false).await.left_behind, []);
    assert_eq!(client.sessions().await, [young.to_string()]);
    let force = |run| CleanupOptions { dry_run: false, force: Some(run), state_dir: state.path().to_owned() };
    let unknown = agent::cleanup(&lab.surroundings, &force(past.run_id.clone())).await.unwrap();
    assert!(unknown.problems.iter().any(|problem| problem.code == "run_not_found"), "{:?}", unknown.problems);
    assert_eq!(client.sessions().await, [young.to_string()]);
    let mut there = lab.surroundings.clone();
    there.here = of_another_machine();
    let refused = agent::cleanup(&there, &force(young.run_id.clone())).await.unwrap_err();
    assert!(matches!(refused, CaptureError::Refused { reason: Refusal::Policy, .. }), "{refused:?}");
    assert_eq!(client.sessions().await, [young.to_string()]);
    assert_eq!(agent::cleanup(&lab.surroundings, &force(young.run_id)).await.unwrap().left_behind, []);
    assert_eq!(client.sessions().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_is_named_with_its_grant_and_nothing_is_changed() {
    let lab = Lab::new(ServerVersion::V2019, |launch| {
        launch.faults.extend(["deny=sysadmin".to_owned(), "deny=ALTER ANY EVENT SESSION".to_owned()]);
    })
    .await;
    let options = |dry_run| CleanupOptions { dry_run, force: None, state_dir: lab.options.state_dir.clone() };
    // Nothing to do needs no right to do it.
    assert_eq!(agent::cleanup(&lab.surroundings, &options(false)).await.unwrap().runs, []);
    let lab = Lab::new(ServerVersion::V2019, |launch| launch.faults.push("deny=VIEW SERVER STATE".to_owned())).await;
    let error = agent::cleanup(&lab.surroundings, &options(true)).await.unwrap_err();
    let CaptureError::Refused { reason: Refusal::Permission, hint: Some(hint), .. } = &error else {
        panic!("{error:?}");
    };
    assert!(hint.contains("GRANT VIEW SERVER STATE"), "{hint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_lists_and_undoes_and_its_exit_code_tells() {
    let lab = Lab::new(ServerVersion::V2019, |_| {}).await;
    let mut client = Client::of(&lab).await;
    client.make(&marker(1, ended(), START, &[3656]).to_string(), true).await;
    client.make(&marker(2, of_another_machine(), START, &[]).to_string(), true).await;
    let state = tempfile::tempdir().unwrap();
    let ca = state.path().join("ca.pem");
    std::fs::write(&ca, lab.simulator.certificate_pem().unwrap()).unwrap();
    let server = format!("localhost,{}", lab.simulator.local_addr().port());
    let password = lab.simulator.password().to_owned();
    let run = |arguments: Vec<&'static str>| {
        let mut command = crate::cli::xestack(&["cleanup", "-S", &server, "-U", "sa"]);
        command.arg("--ca").arg(&ca).arg("--state-dir").arg(state.path()).args(arguments);
        command.env("SQLCMDPASSWORD", &password);
        async move { tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap() }
    };
    let shown = run(vec!["--dry-run"]).await;
    let text = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(shown.status.code(), Some(6), "{text}");
    let is_wide = |line: &&str| line.chars().count() > 80 && !line.contains("xestack:1:");
    assert_eq!(text.lines().find(is_wide), None);
    for told in [
        "20261130T193132Z-00000001  sos-yield",
        "started  2026-11-30 19:31:32Z",
        "its process is gone",
        "another machine",
    ] {
        assert!(text.contains(told), "{told} is not in\n{text}");
    }
    let done = run(vec!["--format", "json"]).await;
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(0), "{json:#}");
    assert_eq!((json["schema"].as_str(), json["dry_run"].as_bool()), (Some("xestack.cleanup/1"), Some(false)));
    assert_eq!(json["runs"][0]["statements"][1]["result"], "done");
    assert_eq!((&json["runs"][0]["dead"], &json["runs"][1]["dead"]), (&true.into(), &false.into()));
    assert_eq!(client.sessions().await.len(), 1);
}
