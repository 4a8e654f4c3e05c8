//! Connections that break and stay broken for a while, machines that sleep, and people who stop and start a session while
//! a window is open.

use crate::capture::{JumpingClock, Lab, WINDOW, connect_options};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use xestack::agent::clock::Clock;
use xestack::agent::{CaptureError, Refusal};
use xestack::model::{Report, ServerVersion, SessionOutcome, Severity, StoppedBy};
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use xestack::sqlserver::{ConnectOptions, Connection};

/// A way to a server that takes no new connection from a moment of a clock until another.
async fn outage(server: SocketAddr, clock: Arc<JumpingClock>, from: Duration, until: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            if (from..until).contains(&clock.monotonic()) {
                continue;
            }
            let mut server = TcpStream::connect(server).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        }
    });
    address
}

fn codes(report: &Report) -> BTreeSet<&str> {
    report.capture.problems.iter().map(|problem| problem.code.as_str()).collect()
}

/// The look before a window takes two seconds.
const OPENED: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn a_window_goes_on_after_an_outage_and_is_put_back_however_long_it_was() {
    let version = ServerVersion::V2019;
    let at = super::live::sample(version, 20).await;
    // Seconds after the window opened at which the server can be reached again. The window is ten seconds long, and a
    // connection is tried again for a minute at a time: inside, at the very end, after it, and only by restoring.
    for (back_after, is_counted) in [(7, true), (9, true), (40, true), (100, true), (150, false)] {
        let mut lab = Lab::new(version, |launch| launch.faults.push(format!("cut@{at}"))).await;
        let until = OPENED + Duration::from_secs(back_after);
        let way = outage(lab.simulator.local_addr(), lab.clock(), OPENED + WINDOW / 2, until).await;
        lab.surroundings.connect.address = format!("127.0.0.1,{}", way.port()).parse().unwrap();
        let (outcome, report) = lab.report().await;
        let context = format!("back after {back_after} s: {:?}", report.capture.problems);
        let session = &report.capture.sessions[0];
        assert!(outcome.left_behind.is_empty(), "{context}");
        if is_counted {
            assert_eq!(session.outcome, SessionOutcome::Counted, "{context}");
            assert_eq!(codes(&report), BTreeSet::from(["reconnected"]), "{context}");
            let gap = report.capture.problems[0].message.split_once(" s without samples").unwrap().0;
            let gap: f64 = gap.rsplit(' ').next().unwrap().parse().unwrap();
            assert!(gap >= back_after as f64 - 5.0, "{context}");
            assert_eq!(report.stacks.total_events, 20_647, "{context}");
            let yields = report.waits.iter().find(|row| row.wait_type == "SOS_SCHEDULER_YIELD").unwrap();
            assert_eq!(yields.waiting_tasks, 20_647, "{context}");
        } else {
            assert_eq!(session.outcome, SessionOutcome::Missing, "{context}");
            assert_eq!(codes(&report), BTreeSet::from(["capture_broke_off", "session_missing"]), "{context}");
            assert!(outcome.evidence.after.is_none() && report.waits.is_empty(), "{context}");
        }
        lab.assert_as_before(&context).await;
    }
}

/// At one statement of the run's first connection, something happens once.
fn at_statement(n: u64, act: impl Fn() + Send + Sync + 'static) -> Hooks {
    Hooks::new(move |point: &HookPoint<'_>| {
        if point.connection == 1 && point.request == n && point.phase == Phase::BeforeExecute {
            act();
        }
        HookAction::Continue
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_own_bound_is_told_from_someones_stop() {
    let version = ServerVersion::V2025;
    let at = super::live::sample(version, 20).await;
    // The machine of the collector sleeps. MAX_DURATION is 10 s + 2 s + a minute for reconnecting + a minute.
    for (asleep, outcome, code) in
        [(100, SessionOutcome::Counted, None), (200, SessionOutcome::StoppedByServer, Some("stopped_by_server"))]
    {
        let clock: Arc<OnceLock<Arc<JumpingClock>>> = Arc::default();
        let of_hook = Arc::clone(&clock);
        let hooks = at_statement(at, move || of_hook.get().unwrap().pass(Duration::from_secs(asleep)));
        let mut lab = Lab::new(version, |launch| launch.hooks = hooks).await;
        clock.set(lab.clock()).unwrap();
        lab.options.trace_flags.enable = false;
        let (_, report) = lab.report().await;
        let context = format!("asleep for {asleep} s: {:?}", report.capture.problems);
        let session = &report.capture.sessions[0];
        assert_eq!(session.outcome, outcome, "{context}");
        assert_eq!(session.stopped_by, code.map(|_| StoppedBy::MaxDuration), "{context}");
        let problem = report.capture.problems.iter().find(|problem| problem.code == "stopped_by_server");
        assert_eq!(problem.map(|problem| problem.code.as_str()), code, "{context}");
        if let Some(problem) = problem {
            assert!(problem.message.contains("its own bound, MAX_DURATION of 132 s"), "{context}");
            assert_eq!(problem.severity, Severity::Partial);
        }
        lab.assert_as_before(&context).await;
    }
}

/// Someone runs statements on every session of ours, over a connection and a thread of their own.
fn someone_runs(connect: ConnectOptions, statements: &'static [&'static str]) {
    let meddle = async move {
        let limit = Duration::from_secs(20);
        let mut connection = Connection::open(&connect).await.unwrap();
        let sql = "SELECT name FROM sys.server_event_sessions WHERE name LIKE N'xestack:%'";
        let names = connection.run(sql, limit).await.unwrap();
        for name in (0..names[0].rows.len()).filter_map(|row| names[0].text(row, "name")) {
            for statement in statements {
                connection.run(&statement.replace("NAME", &format!("[{name}]")), limit).await.unwrap();
            }
        }
        connection.close().await;
    };
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(move || runtime().block_on(meddle)).join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_started_again_is_another_one() {
    let version = ServerVersion::V2019;
    let at = super::live::sample(version, 20).await;
    let stop_and_start: &[&str] =
        &["ALTER EVENT SESSION NAME ON SERVER STATE = STOP", "ALTER EVENT SESSION NAME ON SERVER STATE = START"];
    let connect: Arc<OnceLock<ConnectOptions>> = Arc::default();
    let of_hook = Arc::clone(&connect);
    let hooks = at_statement(at, move || someone_runs(of_hook.get().unwrap().clone(), stop_and_start));
    let lab = Lab::new(version, |launch| launch.hooks = hooks).await;
    connect.set(connect_options(&lab.simulator)).unwrap();
    let (_, report) = lab.report().await;
    let context = format!("{:?}", report.capture.problems);
    let session = &report.capture.sessions[0];
    assert_eq!((session.outcome, session.stopped_by), (SessionOutcome::StoppedByServer, Some(StoppedBy::Someone)));
    assert_eq!(codes(&report), BTreeSet::from(["stopped_by_server", "window_cut_short"]), "{context}");
    assert!(report.capture.problems.iter().any(|problem| problem.message.contains("started again")), "{context}");
    assert_eq!(report.stacks.total_events, 0, "what it counted since is not of this window");
    lab.assert_as_before(&context).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_survey_that_someone_drops_opens_no_window() {
    let lab = |faults: Vec<String>| async move {
        let mut lab = Lab::new(ServerVersion::V2019, |launch| launch.faults = faults).await;
        lab.options.scenario = "spinlock".to_owned();
        lab.options.max_events_per_second = Some(1_000_000);
        lab
    };
    let (outcome, _) = lab(Vec::new()).await.report().await;
    let read = outcome.statements.iter().find(|statement| statement.sql.contains("target_data")).unwrap().n;
    for how in ["dropped", "stopped"] {
        let lab = lab(vec![format!("vanish={how}@{read}")]).await;
        let error = lab.capture().await.unwrap_err();
        let CaptureError::Refused { reason: Refusal::Busy, text, .. } = &error else { panic!("{how}: {error:?}") };
        assert!(text.contains("surveys the spinlocks"), "{text}");
        lab.assert_as_before(how).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn event_sessions_of_others_and_of_other_runs_are_told_apart() {
    let name = |scenario: &str| {
        // Of another machine and long before its deadline, so nothing is cleaned.
        use xestack::agent::run::{Marker, Owner, RunId};
        let owner = Owner { host: "01234567".into(), boot: "89abcdef".into(), pid: 7, start_ticks: 8 };
        let now = xestack::model::UtcMicros(1_796_067_092_000_000);
        let marker = Marker {
            scenario: String::new(),
            run_id: RunId::new(now, 9),
            owner,
            deadline_unix: now.unix_seconds() + 3_600,
            flags: Vec::new(),
        };
        marker.for_session(scenario).to_string()
    };
    let lab = Lab::new(ServerVersion::V2019, |_| {}).await;
    let limit = Duration::from_secs(20);
    let mut other = Connection::open(&lab.surroundings.connect).await.unwrap();
    let (run, watcher) = (name("spinlock"), "xestack watcher");
    for name in [run.as_str(), watcher] {
        let create = format!(
            "CREATE EVENT SESSION [{name}] ON SERVER ADD EVENT sqlserver.sql_batch_completed ADD TARGET package0.ring_buffer"
        );
        other.run(&create, limit).await.unwrap();
        other.run(&format!("ALTER EVENT SESSION [{name}] ON SERVER STATE = START"), limit).await.unwrap();
    }
    let (outcome, report) = lab.report().await;
    assert_eq!(outcome.evidence.other_runs, std::slice::from_ref(&run));
    assert!(outcome.evidence.other_event_sessions.iter().any(|name| name == watcher));
    let finding = report.findings.iter().find(|finding| finding.name == "other_event_sessions").unwrap();
    assert_eq!(finding.state, "running");
    let (of_others, of_runs) = finding.text.split_once(" Sessions of other runs of this program").unwrap();
    assert!(of_others.contains(watcher) && !of_others.contains("xestack:1:"), "{of_others}");
    assert!(of_runs.contains(&run) && !of_runs.contains(watcher), "{of_runs}");
    for name in [run.as_str(), watcher] {
        other.run(&format!("DROP EVENT SESSION [{name}] ON SERVER"), limit).await.unwrap();
    }
    other.close().await;
    lab.assert_as_before("others").await;
}
