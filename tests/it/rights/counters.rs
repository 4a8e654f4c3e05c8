//! Captures of counters alone: asked for, proving that there was nothing, or with counters that are refused.

use super::{assert_of_counters, counters_only, faults, grant, lab, real_time};
use crate::capture::Lab;
use crate::cli::xestack;
use serde_json::Value;
use xestack::agent::{CaptureError, Refusal};
use xestack::model::{ServerVersion, Severity, VerdictKind};

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
