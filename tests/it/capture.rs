//! Whole captures against the simulated server, on a clock that both sides share and that jumps over every pause: a window
//! of ten seconds takes as long as its statements.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use xestack::agent::clock::{Clock, Sleep};
use xestack::agent::progress::{Interrupt, Progress};
use xestack::agent::{self, CaptureError, CaptureOptions, Outcome, Refusal, Surroundings, TraceFlagOptions};
use xestack::analyze;
use xestack::catalog::Catalog;
use xestack::catalog::sessions::{EMBEDDED, Sessions};
use xestack::model::{Report, ServerVersion, Severity, StackClass, Tool, UtcMicros, VerdictKind};
use xestack::simulator::launch::{self, LaunchOptions, Simulator};
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use xestack::simulator::workload::pace::Pace;
use xestack::sqlserver::{Authentication, ConnectOptions, Connection, Encryption};
use xestack::statements::{DryRun, dry_run};

/// Time that passes only in pauses.
#[derive(Debug, Default)]
pub(crate) struct JumpingClock(AtomicI64);

impl JumpingClock {
    /// Lets time pass.
    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(time.as_micros() as i64, Ordering::SeqCst);
    }
}

impl Clock for JumpingClock {
    fn utc(&self) -> UtcMicros {
        UtcMicros(1_796_067_092_000_000 + self.0.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::SeqCst) as u64)
    }

    fn sleep_until(&self, deadline: Duration) -> Sleep<'_> {
        Box::pin(async move {
            self.0.fetch_max(deadline.as_micros() as i64, Ordering::SeqCst);
            tokio::task::yield_now().await;
        })
    }
}

impl xestack::simulator::clock::Clock for JumpingClock {
    fn utc_micros(&self) -> i64 {
        self.utc().0
    }

    fn monotonic_micros(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) const WINDOW: Duration = Duration::from_secs(10);

/// How to connect to a simulated server as `sa`, its certificate validated.
pub(crate) fn connect_options(simulator: &Simulator) -> ConnectOptions {
    const LIMIT: Duration = Duration::from_secs(20);
    ConnectOptions {
        address: format!("127.0.0.1,{}", simulator.local_addr().port()).parse().unwrap(),
        authentication: Authentication::Password {
            user: launch::USER.to_owned(),
            password: simulator.password().to_owned().into(),
        },
        database: None,
        encryption: Encryption::Mandatory,
        trust_certificate: false,
        ca_pem: simulator.certificate_pem().map(str::to_owned),
        hostname_in_certificate: Some("localhost".to_owned()),
        login_timeout: LIMIT,
        query_timeout: LIMIT,
        workstation: "test".to_owned(),
        read_only: false,
        browser_port: 1434,
    }
}

/// A simulated server, and all that a capture on it needs.
pub(crate) struct Lab {
    pub(crate) simulator: Simulator,
    pub(crate) surroundings: Surroundings,
    pub(crate) options: CaptureOptions,
    /// The administrator's login, which looks at what is left.
    admin: ConnectOptions,
    version: ServerVersion,
    clock: Arc<JumpingClock>,
    _state: tempfile::TempDir,
}

impl Lab {
    /// The clock that both sides share.
    pub(crate) fn clock(&self) -> Arc<JumpingClock> {
        Arc::clone(&self.clock)
    }

    pub(crate) async fn new(version: ServerVersion, change: impl FnOnce(&mut LaunchOptions)) -> Self {
        let clock = Arc::new(JumpingClock::default());
        let mut launch = LaunchOptions {
            version,
            pace: Pace::Burst(WINDOW),
            clock: Arc::clone(&clock) as Arc<dyn xestack::simulator::clock::Clock>,
            ..LaunchOptions::default()
        };
        change(&mut launch);
        let simulator = launch::launch(launch).await.unwrap();
        let state = tempfile::tempdir().unwrap();
        let mut connect = connect_options(&simulator);
        // The workload's database: without one a login is in master.
        connect.database = (version == ServerVersion::AzureDb).then(|| "OneRow".to_owned());
        let admin = connect.clone();
        let surroundings = Surroundings {
            sessions: Arc::new(Sessions::from_texts(EMBEDDED).unwrap()),
            connect,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            observer: Arc::new(|_| {}),
            interrupt: Interrupt::default(),
            here: xestack::agent::run::Owner::this_process(),
        };
        let options = CaptureOptions {
            trace_flags: TraceFlagOptions { enable: true, ..TraceFlagOptions::default() },
            ..CaptureOptions::new("sos-yield", WINDOW, state.path().to_owned())
        };
        Self { simulator, surroundings, options, admin, version, clock, _state: state }
    }

    pub(crate) async fn capture(&self) -> Result<Outcome, CaptureError> {
        agent::capture(&self.surroundings, &self.options).await
    }

    pub(crate) async fn report(&self) -> (Outcome, Report) {
        self.try_report().await.unwrap()
    }

    pub(crate) async fn try_report(&self) -> Result<(Outcome, Report), CaptureError> {
        let outcome = self.capture().await?;
        let tool = Tool { name: "xestack".into(), version: "test".into() };
        let report = analyze::analyze(&outcome.evidence, &Catalog::embedded().unwrap(), tool);
        Ok((outcome, report))
    }

    /// What another client sees: sessions of ours, and trace flags on globally.
    async fn left(&self) -> (Vec<String>, Vec<i64>) {
        let mut connection = Connection::open(&self.admin).await.unwrap();
        let limit = Duration::from_secs(20);
        let of_database = self.version == ServerVersion::AzureDb;
        let view = if of_database { "database_event_sessions" } else { "server_event_sessions" };
        let sql = format!("SELECT name FROM sys.{view} WHERE name LIKE N'xestack:%'");
        let sessions = connection.run(&sql, limit).await.unwrap();
        let names = (0..sessions[0].rows.len()).map(|row| sessions[0].text(row, "name").unwrap().to_owned()).collect();
        if of_database {
            // There are no trace flags.
            return (names, Vec::new());
        }
        let flags = connection.run("DBCC TRACESTATUS (3656, 2592, -1) WITH NO_INFOMSGS", limit).await.unwrap();
        let on = (0..flags[0].rows.len())
            .filter(|&row| flags[0].integer(row, "Global") == Some(1))
            .map(|row| flags[0].integer(row, "TraceFlag").unwrap())
            .collect();
        connection.close().await;
        (names, on)
    }

    pub(crate) async fn assert_as_before(&self, context: &str) {
        assert_eq!(self.left().await, (vec![], vec![]), "{context} on {}", self.version);
    }
}

const NOTHING: fn(&mut LaunchOptions) = |_| {};

fn with_fault(fault: &'static str) -> impl FnOnce(&mut LaunchOptions) {
    move |launch| launch.faults.push(fault.to_owned())
}

/// The published spinlock difference (2011): collisions, spins, spins per collision, sleep time, back-offs.
const PUBLISHED_SPINLOCKS: [(&str, u64, u64, u64, u64, u64); 5] = [
    ("LOCK_HASH", 6_191_134, 4_005_774_890, 647, 686, 1_601_383),
    ("OPT_IDX_STATS", 1_164_849, 126_549_245, 108, 57, 7_555),
    ("SOS_OBJECT_STORE", 73, 305, 4, 0, 0),
    ("SOS_WAITABLE_ADDRESS_HASHBUCKET", 115, 44_495, 386, 0, 3),
    ("XDESMGR", 1, 0, 0, 0, 0),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_published_case_is_reproduced_whatever_the_version_seed_and_length() {
    for (version, seed, seconds) in
        [(ServerVersion::V2017, 1, 10), (ServerVersion::V2019, 2, 3), (ServerVersion::V2019, 3, 47)]
    {
        let window = Duration::from_secs(seconds);
        let mut lab = Lab::new(version, |launch| {
            launch.seed = seed;
            launch.pace = Pace::Burst(window);
        })
        .await;
        lab.options.window = window;
        let (outcome, report) = lab.report().await;
        let context = format!("{version}, seed {seed}, {seconds} s: {:?}", report.capture.problems);
        assert_eq!(report.verdict.kind, VerdictKind::CpuBoundYields, "{context}");
        assert!(report.verdict.shares[&StackClass::SpinlockBackoff].high <= 0.05, "{context}");
        let mut rows: Vec<_> = report
            .spinlocks
            .iter()
            .map(|row| {
                (row.name.as_str(), row.collisions, row.spins, row.spins_per_collision, row.sleep_time_ms, row.backoffs)
            })
            .collect();
        rows.sort_unstable();
        assert_eq!(rows, PUBLISHED_SPINLOCKS, "{context}");
        let yields = report.waits.iter().find(|row| row.wait_type == "SOS_SCHEDULER_YIELD").unwrap();
        assert_eq!(report.stacks.total_events, yields.waiting_tasks, "{context}");
        assert!((yields.share - 0.994).abs() < 0.001, "{} {context}", yields.share);
        assert!((22.1..22.3).contains(&(yields.wait_ms as f64 / yields.waiting_tasks as f64)), "{context}");
        for name in ["yield_origin", "cpu_consumer"] {
            assert!(report.findings.iter().any(|finding| finding.name == name), "{name} {context}");
        }
        let spinning = report.findings.iter().find(|finding| finding.name == "cpu_consumer").unwrap();
        assert!(spinning.low.unwrap() < spinning.high.unwrap(), "{context}");
        assert!(!report.capture.problems.iter().any(|problem| problem.severity == Severity::Partial), "{context}");
        assert!(outcome.left_behind.is_empty());
        lab.assert_as_before(&context).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_gives_the_verdict_its_call_stacks_allow() {
    let all = [
        ServerVersion::V2008R2,
        ServerVersion::V2012,
        ServerVersion::V2014,
        ServerVersion::V2016,
        ServerVersion::V2017,
        ServerVersion::V2019,
        ServerVersion::V2022,
        ServerVersion::V2025,
    ];
    for version in all {
        let names_pdbs = version >= ServerVersion::V2022;
        for (enable, force, wanted) in
            [(true, names_pdbs, VerdictKind::CpuBoundYields), (false, false, VerdictKind::Inconclusive)]
        {
            let mut lab = Lab::new(version, NOTHING).await;
            lab.options.trace_flags = TraceFlagOptions { enable, force, ..TraceFlagOptions::default() };
            let (outcome, report) = lab.report().await;
            let context = format!("{version}, flags {enable}: {:?} {:?}", report.verdict, report.capture.problems);
            assert_eq!(report.verdict.kind, wanted, "{context}");
            assert_eq!(report.stacks.unresolved_events == 0, enable, "{context}");
            assert_eq!(report.stacks.total_events, 20_647, "{context}");
            assert!(outcome.left_behind.is_empty(), "{context}");
            assert_eq!(lab.left().await, (vec![], vec![]), "{context}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_names_the_answer_is_inconclusive_and_says_what_decides() {
    for (version, flags, hint) in
        [(ServerVersion::V2022, false, "PDB"), (ServerVersion::V2017, false, "--enable-trace-flags")]
    {
        let mut lab = Lab::new(version, NOTHING).await;
        lab.options.trace_flags.enable = flags;
        let (_, report) = lab.report().await;
        assert_eq!(report.verdict.kind, VerdictKind::Inconclusive);
        assert_eq!(report.stacks.unresolved_events, report.stacks.total_events);
        assert!(report.stacks.total_events > 20_000);
        let said =
            format!("{:?} {:?} {:?}", report.verdict.summary, report.verdict.next_steps, report.capture.problems);
        assert!(said.contains(hint), "{said}");
        lab.assert_as_before("unresolved").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_are_used_in_the_least_form_that_works() {
    for (fault, during_window, scope, resolved) in [
        ("symbolise-at=session-read", false, "session", true),
        ("symbolise-at=global-read", false, "global", true),
        ("symbolise-at=dispatch", false, "global", false),
        ("symbolise-at=dispatch", true, "global", true),
    ] {
        let mut lab = Lab::new(ServerVersion::V2019, with_fault(fault)).await;
        lab.options.trace_flags.during_window = during_window;
        let (outcome, report) = lab.report().await;
        let context = format!("{fault} {during_window}: {:?}", report.capture.problems);
        assert_eq!(report.stacks.unresolved_events == 0, resolved, "{context}");
        assert_eq!(report.verdict.kind == VerdictKind::CpuBoundYields, resolved, "{context}");
        for flag in &report.capture.trace_flags {
            assert_eq!(
                (flag.scope.as_str(), flag.global_before, flag.restored),
                (scope, Some(false), true),
                "{context}"
            );
        }
        let global_on: Vec<&str> = outcome
            .statements
            .iter()
            .filter(|statement| statement.sql.contains("TRACEON") && statement.sql.contains(", -1"))
            .map(|statement| statement.sql.as_str())
            .collect();
        assert_eq!(global_on.is_empty(), scope == "session", "{context}");
        lab.assert_as_before(&context).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flag_that_was_on_before_stays_on_and_is_not_ours() {
    let lab = Lab::new(ServerVersion::V2019, |launch| launch.startup_flags = vec![3656]).await;
    let (outcome, report) = lab.report().await;
    assert_eq!(report.verdict.kind, VerdictKind::CpuBoundYields);
    let of = |flag: u32| report.capture.trace_flags.iter().find(|state| state.flag == flag).unwrap();
    assert_eq!((of(3656).global_before, of(3656).enabled_by_us, of(3656).restored), (Some(true), false, true));
    assert_eq!((of(2592).global_before, of(2592).enabled_by_us, of(2592).restored), (Some(false), true, true));
    assert!(outcome.statements.iter().all(|statement| !statement.sql.contains("TRACEOFF (3656")));
    assert_eq!(lab.left().await, (vec![], vec![3656]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_its_last_event_is_read_while_it_counts() {
    let lab = Lab::new(ServerVersion::V2019, with_fault("drop-last-event=refused")).await;
    let (outcome, report) = lab.report().await;
    assert_eq!(report.verdict.kind, VerdictKind::CpuBoundYields);
    assert!(outcome.evidence.problems.iter().any(|problem| problem.code == "events_outlast_window"));
    lab.assert_as_before("kept event").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trace_flags_are_refused_where_they_are_not_needed() {
    let lab = Lab::new(ServerVersion::V2022, NOTHING).await;
    let error = lab.capture().await.unwrap_err();
    assert!(matches!(error, CaptureError::Refused { reason: Refusal::Policy, .. }), "{error:?}");
    lab.assert_as_before("policy").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_capture_of_the_scenario_is_refused_while_one_is_at_work() {
    let lab = Lab::new(ServerVersion::V2019, NOTHING).await;
    let mut other = Connection::open(&lab.surroundings.connect).await.unwrap();
    let take = "DECLARE @r int; EXEC @r = sys.sp_getapplock @Resource = N'xestack/sos-yield', @LockMode = N'Exclusive', \
                @LockOwner = N'Session', @LockTimeout = 0; SELECT @r AS result";
    let taken = other.run(take, Duration::from_secs(20)).await.unwrap();
    assert_eq!(taken[0].integer(0, "result"), Some(0));
    let error = lab.capture().await.unwrap_err();
    assert!(matches!(error, CaptureError::Refused { reason: Refusal::Busy, .. }), "{error:?}");
    lab.assert_as_before("busy").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_event_cap_is_reached_exactly_and_said() {
    let mut lab = Lab::new(ServerVersion::V2019, NOTHING).await;
    lab.options.max_events = Some(5_000);
    let (_, report) = lab.report().await;
    assert_eq!(report.stacks.total_events, 5_000);
    assert!(
        report.capture.problems.iter().any(|problem| problem.code == "event_cap_reached"),
        "{:?}",
        report.capture.problems
    );
    lab.assert_as_before("cap").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_inside_the_window_restores() {
    let mut lab = Lab::new(ServerVersion::V2019, NOTHING).await;
    lab.surroundings.observer = Arc::new(|progress| assert!(!matches!(progress, Progress::Reading), "a defect"));
    let error = lab.capture().await.unwrap_err();
    assert!(matches!(error, CaptureError::Internal(_)), "{error:?}");
    lab.assert_as_before("panic").await;
}

/// Runs a capture in which something happens at statement `n` of the run's connection; false when it had fewer.
async fn at_statement(n: u64, phase: Phase, act: impl Fn(&Interrupt) -> HookAction + Send + Sync + 'static) -> bool {
    let interrupt = Interrupt::default();
    let reached = Arc::new(AtomicU64::new(0));
    let hooks = {
        let (interrupt, reached) = (interrupt.clone(), Arc::clone(&reached));
        Hooks::new(move |point: &HookPoint<'_>| {
            if point.connection != 1 || point.request != n || point.phase != phase {
                return HookAction::Continue;
            }
            reached.fetch_add(1, Ordering::SeqCst);
            act(&interrupt)
        })
    };
    let mut lab = Lab::new(ServerVersion::V2019, |launch| launch.hooks = hooks).await;
    lab.surroundings.interrupt = interrupt;
    let result = lab.capture().await;
    let context = format!("statement {n}, {phase:?}: {:?}", result.as_ref().map(|outcome| &outcome.evidence.problems));
    if let Ok(outcome) = &result {
        assert!(outcome.left_behind.is_empty(), "{context}");
    }
    lab.assert_as_before(&context).await;
    lab.simulator.stop().await;
    reached.load(Ordering::SeqCst) > 0
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_at_any_statement_leaves_nothing() {
    let signal = |interrupt: &Interrupt| {
        interrupt.signal();
        HookAction::Continue
    };
    let mut n = 1;
    while at_statement(n, Phase::BeforeExecute, signal).await {
        n += 1;
    }
    assert!(n > 40, "only {n} statements were tried");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_at_any_statement_leaves_nothing() {
    for phase in [Phase::BeforeExecute, Phase::ExecutedNotAnswered] {
        let mut n = 1;
        while at_statement(n, phase, |_| HookAction::Disconnect).await {
            n += 1;
        }
        assert!(n > 40, "only {n} statements were tried");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dry_run_holds_every_statement_that_is_sent() {
    for (scenario, version, enable) in [
        ("sos-yield", ServerVersion::V2017, true),
        ("sos-yield", ServerVersion::V2019, true),
        ("sos-yield", ServerVersion::V2019, false),
        ("sos-yield", ServerVersion::V2022, false),
        ("spinlock", ServerVersion::V2019, true),
        ("sos-yield+spinlock", ServerVersion::V2022, false),
        ("sos-yield+spinlock", ServerVersion::AzureDb, false),
    ] {
        let mut lab = Lab::new(version, NOTHING).await;
        lab.options.scenario = scenario.to_owned();
        lab.options.max_events_per_second = Some(1_000_000);
        lab.options.trace_flags.enable = enable;
        let outcome = lab.capture().await.unwrap();
        let dry = dry_run(
            &lab.surroundings.sessions,
            &DryRun { trace_flags: enable, window_seconds: 10, ..DryRun::new(scenario, version) },
        )
        .unwrap();
        let dry: Vec<String> = dry.iter().map(|statement| comparable(&statement.sql)).collect();
        for statement in &outcome.statements {
            let sent = comparable(&statement.sql);
            assert!(dry.contains(&sent), "{version}: not in the dry run: {sent}\n{dry:#?}");
        }
    }
}

/// A statement without what only a run knows: its session's name and the looked-up key.
fn comparable(sql: &str) -> String {
    let mut text = String::new();
    let mut rest = sql;
    while let Some((before, after)) = rest.split_once("xestack:1:") {
        let end = after.find([']', '\'']).unwrap();
        text += before;
        text += "NAME";
        rest = &after[end..];
    }
    text += rest;
    // A predicate's test of its keys is what the map said, or what the survey found.
    let Some((before, after)) = text.split_once("WHERE ") else { return text };
    let keys = ["wait_type = ", "type = ", "(type = "].iter().find(|start| after.starts_with(**start));
    let Some((_, behind)) = after.split_once(" AND ").filter(|_| keys.is_some() && after.contains("package0.counter"))
    else {
        return text;
    };
    format!("{before}WHERE KEYS {behind}")
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_and_samples_count_what_they_say_and_the_report_accounts_for_it() {
    let filtered = async |change: &dyn Fn(&mut CaptureOptions)| {
        let mut lab = Lab::new(ServerVersion::V2019, NOTHING).await;
        change(&mut lab.options);
        let (outcome, report) = lab.report().await;
        lab.assert_as_before("filters").await;
        (outcome, report)
    };
    let (_, each_tenth) = filtered(&|options| options.sample_one_in = Some(10)).await;
    assert_eq!(each_tenth.stacks.total_events, 2_064);
    assert_eq!(each_tenth.verdict.kind, VerdictKind::CpuBoundYields);
    let (_, one_session) = filtered(&|options| options.session_id = Some(60)).await;
    assert!((400..430).contains(&one_session.stacks.total_events), "{}", one_session.stacks.total_events);
    let (outcome, elsewhere) = filtered(&|options| options.database = Some("master".to_owned())).await;
    assert_eq!(elsewhere.stacks.total_events, 0);
    assert!(outcome.statements.iter().any(|statement| statement.sql.contains("sqlserver.database_id = 1 AND")));
    for (report, name) in [(&each_tenth, "sample"), (&one_session, "session")] {
        let text: Vec<&str> = report.findings.iter().map(|finding| finding.text.as_str()).collect();
        assert!(report.findings.iter().any(|finding| finding.name == "events_left_out"), "{name}: {text:?}");
        let differs = report.capture.problems.iter().any(|problem| problem.code == "events_differ_from_counters");
        assert!(!differs, "{name}");
    }
    let mut lab = Lab::new(ServerVersion::V2019, NOTHING).await;
    lab.options.database = Some("nowhere".to_owned());
    assert!(matches!(lab.capture().await.unwrap_err(), CaptureError::Refused { reason: Refusal::Version, .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn both_scenarios_share_a_window() {
    let mut lab = Lab::new(ServerVersion::V2019, |launch| launch.pace = Pace::Burst(WINDOW + WINDOW)).await;
    lab.options.scenario = "sos-yield+spinlock".to_owned();
    let (outcome, report) = lab.report().await;
    assert_eq!(report.verdict.kind, VerdictKind::CpuBoundYields);
    let contention = report.findings.iter().find(|finding| finding.name == "spinlock_contention").unwrap();
    assert_eq!(contention.state, "contention", "{}", contention.text);
    let classes: Vec<StackClass> = report.stacks.classes.iter().map(|total| total.class).collect();
    assert!(classes.contains(&StackClass::CpuYield) && classes.contains(&StackClass::SpinlockBackoff), "{classes:?}");
    // The survey, and one session for each histogram.
    assert_eq!(outcome.evidence.sessions.len(), 3);
    lab.assert_as_before("both").await;
}

/// A wall clock that goes back an hour when it is told to.
struct AutumnClock {
    clock: Arc<dyn Clock>,
    back: Arc<AtomicBool>,
}

impl Clock for AutumnClock {
    fn utc(&self) -> UtcMicros {
        let back = if self.back.load(Ordering::SeqCst) { 3_600_000_000 } else { 0 };
        UtcMicros(self.clock.utc().0 - back)
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn sleep_until(&self, deadline: Duration) -> Sleep<'_> {
        self.clock.sleep_until(deadline)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wall_clock_that_goes_back_changes_no_figure() {
    let plain = Lab::new(ServerVersion::V2019, NOTHING).await.report().await.1;
    let mut lab = Lab::new(ServerVersion::V2019, NOTHING).await;
    let back = Arc::new(AtomicBool::new(false));
    lab.surroundings.clock =
        Arc::new(AutumnClock { clock: Arc::clone(&lab.surroundings.clock), back: Arc::clone(&back) });
    lab.surroundings.observer = Arc::new(move |progress| {
        if matches!(progress, Progress::WindowElapsed(_)) {
            back.store(true, Ordering::SeqCst);
        }
    });
    let (outcome, report) = lab.report().await;
    let figures = |report: &Report| {
        let window = report.capture.window.unwrap();
        (window.elapsed_ms, report.spinlocks.clone(), report.waits.clone(), report.stacks.clone(), report.verdict.kind)
    };
    assert_eq!(figures(&report), figures(&plain));
    assert!(report.capture.trace_flags.iter().all(|flag| flag.restored), "{:?}", report.capture.trace_flags);
    assert!(outcome.left_behind.is_empty());
    lab.assert_as_before("autumn").await;
    // The next run begins an hour before the first one did: its bundle has a name of its own all the same.
    assert_ne!(lab.report().await.1.capture.id, report.capture.id);
}
