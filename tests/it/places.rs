//! The places that a server runs in: what is asked of each, and that nothing is taken for granted.

use crate::capture::Lab;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xestack::agent::progress::Interrupt;
use xestack::agent::run::{Marker, Owner, RunId};
use xestack::agent::{self, CaptureError, CleanupOptions, Refusal};
use xestack::catalog::sessions::{EMBEDDED, Sessions};
use xestack::model::{Problem, ServerVersion, Severity, UtcMicros, VerdictKind};
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use xestack::sqlserver::Connection;
use xestack::statements::{Statements, snapshot_names};

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_says_who_answered_and_since_when() {
    for version in [ServerVersion::V2008R2, ServerVersion::V2016, ServerVersion::V2019, ServerVersion::V2022] {
        let mut lab = Lab::new(version, |_| {}).await;
        lab.options.trace_flags.enable = false;
        let (outcome, _) = lab.report().await;
        let server = outcome.evidence.server.unwrap();
        assert_eq!(server.version, Some(version));
        assert_eq!(server.host_platform.as_deref(), Some("Windows"), "{version}");
        assert_eq!(server.collation.as_deref(), Some("SQL_Latin1_General_CP1_CI_AS"), "{version}");
        assert_eq!(server.database.as_deref(), Some("master"), "{version}");
        assert!(server.machine.is_some() && server.instance.is_none(), "{version}: {server:?}");
        // Availability groups came with 2012.
        assert_eq!(server.hadr_enabled, (version > ServerVersion::V2008R2).then_some(false), "{version}");
        assert_eq!(server.clustered, Some(false), "{version}");
        assert!(server.started_ms_ticks.unwrap() < server.ms_ticks.unwrap(), "{version}: {server:?}");
        lab.assert_as_before("identity").await;
    }
}

/// The catalogue with one of its files changed: to a build that lacks what the change names, it is a lacking build.
fn catalogue(changes: &[(&str, &str, &str)]) -> Arc<Sessions> {
    let mut files: Vec<(&str, String)> = EMBEDDED.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
    for (path, from, to) in changes {
        let (_, text) = files.iter_mut().find(|(known, _)| known == path).unwrap();
        assert!(text.contains(from), "{path} has no {from}");
        *text = text.replace(from, to);
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    Arc::new(Sessions::from_texts(&files).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_lacks_columns_is_read_without_them() {
    const NEW: &str = "common/dm_os_schedulers@2016.sql";
    const OLD: &str = "common/dm_os_schedulers.sql";
    const UNKNOWN: (&str, &str) = ("s.scheduler_id,", "s.scheduler_id, s.never_there,");
    for (changed, refused, lacks) in [
        (&[NEW][..], 1, "never_there, total_cpu_usage_ms, total_cpu_idle_capped_ms"),
        // Then whatever the view has, which is all but what no build has.
        (&[NEW, OLD], 2, "never_there"),
    ] {
        let mut lab = Lab::new(ServerVersion::V2019, |_| {}).await;
        let changes: Vec<_> = changed.iter().map(|path| (*path, UNKNOWN.0, UNKNOWN.1)).collect();
        lab.surroundings.sessions = catalogue(&changes);
        let (outcome, report) = lab.report().await;
        let problems: Vec<&Problem> =
            report.capture.problems.iter().filter(|problem| problem.code == "figures_missing").collect();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].severity, Severity::Warning);
        assert_eq!(
            problems[0].message,
            format!("sys.dm_os_schedulers has no {lacks} on this build: what needs that is missing")
        );
        // Nothing that decides is missing.
        assert_eq!(report.verdict.kind, VerdictKind::CpuBoundYields);
        assert!(outcome.evidence.samples.iter().all(|sample| sample.tables["dm_os_schedulers"].rows.len() >= 8));
        // Found out once: the batch, then each way by itself.
        let refusals = outcome.statements.iter().filter(|statement| statement.error == Some(207)).count();
        assert_eq!(refusals, 1 + refused, "{changed:?}");
        lab.assert_as_before("lacking columns").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_that_does_not_exist_costs_its_own_figures_only() {
    let mut lab = Lab::new(ServerVersion::V2019, |_| {}).await;
    lab.surroundings.sessions =
        catalogue(&[("common/dm_os_latch_stats.sql", "sys.dm_os_latch_stats", "sys.dm_os_latch_statistics")]);
    let (outcome, report) = lab.report().await;
    assert_eq!(report.verdict.kind, VerdictKind::CpuBoundYields);
    assert!(report.latches.is_empty() && !report.waits.is_empty() && !report.spinlocks.is_empty());
    let told: Vec<&Problem> = report
        .capture
        .problems
        .iter()
        .filter(|problem| problem.message.contains("dm_os_latch_statistics could not be read"))
        .collect();
    assert_eq!(told.len(), 1, "{:?}", report.capture.problems);
    let refusals = outcome.statements.iter().filter(|statement| statement.error == Some(208)).count();
    assert_eq!(refusals, 3, "the batch, the text, all of its columns; never again");
    lab.assert_as_before("lacking view").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_event_or_a_map_lacks_is_said_before_any_change() {
    const YIELDS: &str = "sos-yield/scenario.toml";
    const SPINS: &str = "spinlock/scenario.toml";
    for (scenario, change, told, near) in [
        (
            "sos-yield",
            (YIELDS, "tests = [\"opcode = 1\"]", "tests = [\"opcode = 1\", \"colour = 1\"]"),
            "the event sqlos.wait_info has no field colour: scenario sos-yield is not available on build 15.0.",
            None,
        ),
        (
            "spinlock",
            (SPINS, "field = \"type\"", "field = \"kind\""),
            "the event sqlos.spinlock_backoff has no field kind: scenario spinlock is not available on build 15.0.",
            None,
        ),
        (
            "sos-yield",
            (YIELDS, "values = [\"SOS_SCHEDULER_YIELD\"]", "values = [\"SOS_YIELD\"]"),
            "SOS_YIELD is not in this server's map wait_types",
            Some("SOS_SCHEDULER_YIELD"),
        ),
    ] {
        let mut lab = Lab::new(ServerVersion::V2019, |_| {}).await;
        lab.surroundings.sessions = catalogue(&[change]);
        lab.options.scenario = scenario.to_owned();
        let error = lab.capture().await.unwrap_err();
        let CaptureError::Refused { reason: Refusal::Version, text, hint, .. } = &error else { panic!("{error:?}") };
        assert!(text.starts_with(told), "{text}");
        assert_eq!(hint.is_some(), near.is_some(), "{hint:?}");
        assert!(near.is_none_or(|near| hint.as_ref().unwrap().contains(near)), "{hint:?}");
        lab.assert_as_before(told).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_the_map_names_otherwise_is_found() {
    let mut lab = Lab::new(ServerVersion::V2017, |_| {}).await;
    let yields = "sos-yield/scenario.toml";
    lab.surroundings.sessions = catalogue(&[(yields, "\"SOS_SCHEDULER_YIELD\"", "\"ASYNC_NETWORK_IO\"")]);
    let outcome = lab.capture().await.unwrap();
    // 99 is NETWORK_IO on 2017 (published).
    let [key] = outcome.map_keys.as_slice() else { panic!("{:?}", outcome.map_keys) };
    assert_eq!((key.map.as_str(), key.value.as_str(), key.key), ("wait_types", "ASYNC_NETWORK_IO", 99));
    assert!(outcome.statements.iter().any(|statement| statement.sql.contains("WHERE wait_type = 99 AND opcode = 1")));
    lab.assert_as_before("alias").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn azure_sql_database_is_captured_in_the_scope_of_the_database() {
    for scenario in ["sos-yield", "spinlock", "sos-yield+spinlock"] {
        let mut lab = Lab::new(ServerVersion::AzureDb, |_| {}).await;
        lab.options.scenario = scenario.to_owned();
        lab.options.trace_flags.enable = false;
        lab.options.max_events_per_second = Some(1_000_000);
        let (outcome, report) = lab.report().await;
        let context = format!("{scenario}: {:?}", report.capture.problems);
        assert!(report.stacks.total_events > 0, "{context}");
        assert!(!report.waits.is_empty() && !report.spinlocks.is_empty(), "{context}");
        // The frames name their PDBs, and nothing else is missing.
        let partial = report.capture.problems.iter().filter(|problem| problem.severity == Severity::Partial);
        assert!(partial.clone().all(|problem| problem.code == "unresolved_frames"), "{context}");
        let server = outcome.evidence.server.as_ref().unwrap();
        assert_eq!((server.version, server.database.as_deref()), (Some(ServerVersion::AzureDb), Some("OneRow")));
        for statement in &outcome.statements {
            assert_eq!(statement.error, None, "{}", statement.sql);
            for foreign in ["ON SERVER", "sys.server_", "sys.dm_xe_sessions", "sys.dm_os_wait_stats", "DBCC", "master."]
            {
                assert!(!statement.sql.contains(foreign), "{foreign}: {}", statement.sql);
            }
        }
        // That only this database was seen is told, and which view the waits are of.
        assert!(outcome.evidence.sessions.iter().all(|session| session.filters == ["database OneRow"]), "{context}");
        let told = report.findings.iter().find(|finding| finding.name == "events_left_out").unwrap();
        assert!(told.text.contains("Only events of database OneRow were counted"), "{}", told.text);
        assert!(told.text.contains("sys.dm_db_wait_stats"), "{}", told.text);
        assert!(outcome.left_behind.is_empty());
        lab.assert_as_before(&context).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn azure_sql_database_says_what_it_does_not_have() {
    let refused = async |change: &dyn Fn(&mut Lab)| {
        let sent = Arc::new(Mutex::new(String::new()));
        let hooks = {
            let sent = Arc::clone(&sent);
            Hooks::new(move |point: &HookPoint<'_>| {
                sent.lock().unwrap().push_str(point.sql);
                HookAction::Continue
            })
        };
        let mut lab = Lab::new(ServerVersion::AzureDb, |launch| launch.hooks = hooks).await;
        lab.options.trace_flags.enable = false;
        change(&mut lab);
        let error = lab.capture().await.unwrap_err();
        let CaptureError::Refused { reason, text, hint, .. } = error else { panic!("{error:?}") };
        assert!(!sent.lock().unwrap().contains("EVENT SESSION ["), "{text}");
        lab.assert_as_before(&text).await;
        (reason, text, hint.unwrap_or_default())
    };
    let (reason, text, hint) = refused(&|lab| lab.surroundings.connect.database = None).await;
    assert_eq!(reason, Refusal::Version);
    assert!(text.contains("belong to one database") && hint.contains("-d DATABASE"), "{text} {hint}");
    let (reason, text, hint) = refused(&|lab| lab.options.trace_flags.enable = true).await;
    assert_eq!((reason, text.as_str()), (Refusal::Policy, "Azure SQL Database has no trace flags"));
    assert!(hint.contains("callstack_rva needs none"), "{hint}");
    let (reason, text, hint) = refused(&|lab| lab.options.database = Some("Archive".to_owned())).await;
    assert_eq!(reason, Refusal::Version);
    assert!(text.contains("which is OneRow") && hint.contains("-d Archive"), "{text} {hint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connected_database_of_azure_needs_no_filter() {
    let mut lab = Lab::new(ServerVersion::AzureDb, |_| {}).await;
    lab.options.trace_flags.enable = false;
    lab.options.database = Some("onerow".to_owned());
    let outcome = lab.capture().await.unwrap();
    assert!(!outcome.statements.iter().any(|statement| statement.sql.contains("database_id =")));
    assert_eq!(outcome.evidence.sessions[0].filters, ["database OneRow"]);
    lab.assert_as_before("filter").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_managed_instance_is_captured_without_trace_flags() {
    for scenario in ["sos-yield", "spinlock"] {
        let mut lab = Lab::new(ServerVersion::AzureMi, |_| {}).await;
        lab.options.scenario = scenario.to_owned();
        lab.options.max_events_per_second = Some(1_000_000);
        for force in [false, true] {
            lab.options.trace_flags.enable = true;
            lab.options.trace_flags.force = force;
            let error = lab.capture().await.unwrap_err();
            let CaptureError::Refused { reason: Refusal::Policy, text, hint, .. } = &error else { panic!("{error:?}") };
            assert!(text.contains("Managed Instance has no trace flags"), "{text}");
            assert!(hint.as_ref().unwrap().contains("callstack_rva needs none"), "{hint:?}");
        }
        lab.options.trace_flags.enable = false;
        lab.options.trace_flags.force = false;
        let (outcome, report) = lab.report().await;
        let context = format!("{scenario}: {:?}", report.capture.problems);
        assert!(report.stacks.total_events > 0 && report.capture.trace_flags.is_empty(), "{context}");
        let sent = |text: &str| outcome.statements.iter().any(|statement| statement.sql.contains(text));
        assert!(
            sent("ON SERVER") && sent("package0.callstack_rva") && !sent("ON DATABASE") && !sent("DBCC"),
            "{context}"
        );
        assert!(outcome.statements.iter().all(|statement| statement.error.is_none()), "{context}");
        assert!(outcome.evidence.sessions.iter().all(|session| session.filters.is_empty()), "{context}");
        lab.assert_as_before(&context).await;
    }
}

/// What another client of Azure SQL Database sees of event sessions.
async fn sessions_of_database(lab: &Lab) -> Vec<String> {
    let mut client = Connection::open(&lab.surroundings.connect).await.unwrap();
    let names = client.run("SELECT name FROM sys.database_event_sessions ORDER BY name", LIMIT).await.unwrap();
    client.close().await;
    (0..names[0].rows.len()).map(|row| names[0].text(row, "name").unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_run_left_in_a_database_goes_and_nothing_else() {
    for by_command in [false, true] {
        let mut lab = Lab::new(ServerVersion::AzureDb, |_| {}).await;
        lab.options.trace_flags.enable = false;
        let dead = Marker {
            scenario: "sos-yield".to_owned(),
            run_id: RunId::new(UtcMicros(1_796_067_092_000_000), 7),
            owner: Owner { start_ticks: 1, ..Owner::this_process() },
            deadline_unix: 1_796_067_093,
            flags: Vec::new(),
        };
        let mut client = Connection::open(&lab.surroundings.connect).await.unwrap();
        for name in [dead.to_string(), dead.to_string().to_uppercase(), "xestack:1:x]]".to_owned()] {
            let create = format!("CREATE EVENT SESSION [{name}] ON DATABASE ADD EVENT sqlos.wait_info");
            if let Err(error) = client.run(&create, LIMIT).await {
                // Names that differ in case only are one name there.
                assert_eq!(error.number(), Some(25631), "{name}");
            }
        }
        let start = format!("ALTER EVENT SESSION [{dead}] ON DATABASE STATE = START");
        client.run(&start, LIMIT).await.unwrap();
        let mut kept = sessions_of_database(&lab).await;
        kept.retain(|name| *name != dead.to_string());
        assert!(!kept.is_empty());
        if by_command {
            let options = CleanupOptions { dry_run: false, force: None, state_dir: lab.options.state_dir.clone() };
            agent::cleanup(&lab.surroundings, &options).await.unwrap();
        } else {
            let outcome = lab.capture().await.unwrap();
            let problems = &outcome.evidence.problems;
            assert!(problems.iter().any(|problem| problem.code == "dead_run_cleaned"), "{problems:?}");
        }
        assert_eq!(sessions_of_database(&lab).await, kept, "by command: {by_command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_of_azure_that_is_cut_or_interrupted_at_any_change_leaves_nothing() {
    let mut tried = 0;
    for phase in [Phase::BeforeExecute, Phase::ExecutedNotAnswered] {
        for cut in [false, true] {
            for change in 0.. {
                let seen = Arc::new(AtomicUsize::new(0));
                let interrupt = Interrupt::default();
                let hooks = {
                    let (seen, interrupt) = (Arc::clone(&seen), interrupt.clone());
                    Hooks::new(move |point: &HookPoint<'_>| {
                        let is_change = point.connection == 1 && point.sql.contains("EVENT SESSION [");
                        if !is_change || point.phase != phase || seen.fetch_add(1, Ordering::SeqCst) != change {
                            return HookAction::Continue;
                        }
                        if cut {
                            return HookAction::Disconnect;
                        }
                        interrupt.signal();
                        HookAction::Continue
                    })
                };
                let mut lab = Lab::new(ServerVersion::AzureDb, |launch| launch.hooks = hooks).await;
                lab.surroundings.interrupt = interrupt;
                lab.options.trace_flags.enable = false;
                let result = lab.capture().await;
                let context = format!("{phase:?}, cut {cut}, change {change}: {:?}", result.err());
                lab.assert_as_before(&context).await;
                if seen.load(Ordering::SeqCst) <= change {
                    break;
                }
                tried += 1;
            }
        }
    }
    // CREATE, START, DROP EVENT, STOP and DROP, in each of four ways.
    assert!(tried >= 18, "only {tried} points were tried");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_sql_server_is_refused_in_one_plain_sentence() {
    for dialect in ["other", "refusing"] {
        let lab = Lab::new(ServerVersion::V2019, |launch| launch.faults.push(format!("dialect={dialect}"))).await;
        let error = lab.capture().await.unwrap_err();
        let CaptureError::Refused { reason, text, .. } = &error else { panic!("{dialect}: {error:?}") };
        assert_eq!((*reason, text.as_str()), (Refusal::Version, "what answers there is not SQL Server"), "{dialect}");
    }
}

/// Scenarios whose counters together are most of those that there are.
const COUNTED: [&str; 2] = ["sos-yield+spinlock", "log-write+file-latency+latch"];

/// The counter tables that such scenarios read on a version, those left out that are read as on 2019; each with the first of them that reads it, its view, and the
/// columns that its statement names.
fn named_columns(version: ServerVersion) -> Vec<(&'static str, String, Vec<String>)> {
    let sessions = Sessions::from_texts(EMBEDDED).unwrap();
    let statements = Statements::new(&sessions, version);
    let of_2019 = Statements::new(&sessions, ServerVersion::V2019);
    let is_as_in_2019 = |name: &str| {
        let text = |statements: &Statements<'_>| statements.counter(name).map(|ways| ways[0].sql.clone()).ok();
        version != ServerVersion::V2019 && text(&statements) == text(&of_2019)
    };
    let mut seen = Vec::new();
    let mut named = Vec::new();
    for scenario in COUNTED {
        for name in snapshot_names(sessions.joined_scenarios(scenario).unwrap()) {
            // One reads two views: of which of them a column is, its name does not tell.
            let is_join = name == "dm_hadr_database_replica_states";
            let is_known = seen.contains(&name) || is_as_in_2019(&name);
            if statements.is_offered(&name) && !is_known && !is_join {
                let way = statements.counter(&name).unwrap().remove(0);
                named.push((scenario, way.view, way.columns));
                seen.push(name);
            }
        }
    }
    named
}

#[tokio::test(flavor = "multi_thread")]
async fn any_column_of_the_counters_may_be_missing() {
    let mut columns = 0;
    for version in [ServerVersion::V2012, ServerVersion::V2019, ServerVersion::AzureDb] {
        let of_version = named_columns(version).into_iter();
        // The counters of files and databases are read alike on all versions.
        for (scenario, view, names) in of_version.filter(|(s, ..)| *s == COUNTED[0] || version == ServerVersion::V2019)
        {
            for column in names {
                // Every build has the names of rows; `server_name` is not of the view.
                const ALWAYS: [&str; 10] = [
                    "name",
                    "wait_type",
                    "latch_class",
                    "status",
                    "counter_name",
                    "session_id",
                    "server_name",
                    "database_id",
                    "file_id",
                    "instance_name",
                ];
                if ALWAYS.contains(&column.as_str()) {
                    continue;
                }
                let mut lab =
                    Lab::new(version, |launch| launch.faults.push(format!("missing-column={view}.{column}"))).await;
                lab.options.trace_flags.enable = false;
                lab.options.scenario = scenario.to_owned();
                lab.options.max_events_per_second = Some(1_000_000);
                let (outcome, report) = lab.report().await;
                let context = format!("{version}, {view}.{column}: {:?}", report.capture.problems);
                assert!(report.stacks.total_events > 0, "{context}");
                let told = |problem: &&Problem| {
                    let message = &problem.message;
                    message.contains(&view) && (message.contains(&column) || message.contains("was read instead"))
                };
                assert!(report.capture.problems.iter().any(|problem| told(&problem)), "{context}");
                let refusals = outcome.statements.iter().filter(|statement| statement.error == Some(207)).count();
                assert!((1..=8).contains(&refusals), "{refusals} refused: {context}");
                lab.assert_as_before(&context).await;
                columns += 1;
            }
        }
    }
    assert!(columns > 60, "only {columns} columns");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_view_of_the_counters_may_be_missing() {
    for version in [ServerVersion::V2008R2, ServerVersion::V2019, ServerVersion::AzureDb] {
        for (scenario, view, _) in named_columns(version) {
            let mut lab = Lab::new(version, |launch| launch.faults.push(format!("missing-view={view}"))).await;
            lab.options.trace_flags.enable = false;
            // Targets are read through these views: without them there is no survey.
            lab.options.scenario = if view.starts_with("dm_xe_") { "sos-yield" } else { scenario }.to_owned();
            lab.options.max_events_per_second = Some(1_000_000);
            let result = lab.try_report().await;
            lab.assert_as_before(&view).await;
            // Targets are read through one of them.
            let is_needed = view.starts_with("dm_xe_");
            let (_, report) = match result {
                Err(error) if is_needed => panic!("{version}, {view}: {error:?}"),
                result => result.unwrap(),
            };
            let told = report.capture.problems.iter().any(|problem| problem.message.contains(&view));
            assert!(told, "{version}, {view}: {:?}", report.capture.problems);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_read_whatever_its_width() {
    let spinlocks = async |version: ServerVersion, fault: Option<&str>| {
        let mut lab = Lab::new(version, |launch| launch.faults.extend(fault.map(str::to_owned))).await;
        lab.options.trace_flags.enable = false;
        lab.report().await.1.spinlocks
    };
    for (version, width) in
        [(ServerVersion::V2016, "bigint"), (ServerVersion::V2019, "int"), (ServerVersion::V2022, "int")]
    {
        let usual = spinlocks(version, None).await;
        assert!(usual.iter().any(|row| row.backoffs > 0), "{version}");
        assert_eq!(spinlocks(version, Some(&format!("backoffs={width}"))).await, usual, "{version}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_rows_cost_nothing_but_themselves() {
    for version in [ServerVersion::V2008R2, ServerVersion::V2019, ServerVersion::V2025, ServerVersion::AzureDb] {
        for scenario in ["sos-yield", "spinlock"] {
            let mut lab = Lab::new(version, |launch| launch.faults.push("odd-rows".to_owned())).await;
            lab.options.trace_flags.enable = false;
            lab.options.scenario = scenario.to_owned();
            lab.options.max_events_per_second = Some(1_000_000);
            let (_, report) = lab.report().await;
            let context = format!("{version} {scenario}: {:?}", report.capture.problems);
            assert!(
                report.stacks.total_events > 0 && !report.waits.is_empty() && !report.spinlocks.is_empty(),
                "{context}"
            );
            let mut names: Vec<&str> = report.spinlocks.iter().map(|row| row.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), report.spinlocks.len(), "a name twice: {context}");
            lab.assert_as_before(&context).await;
        }
    }
}

const COLLATIONS: [&str; 4] =
    ["SQL_Latin1_General_CP1_CI_AS", "Latin1_General_CS_AS", "Latin1_General_BIN2", "Turkish_100_CI_AS"];
const LANGUAGES: [&str; 4] = ["us_english", "German", "French", "Turkish"];

#[tokio::test(flavor = "multi_thread")]
async fn no_collation_and_no_language_changes_an_answer() {
    let everywhere = COLLATIONS.iter().flat_map(|collation| LANGUAGES.map(|language| (*collation, language)));
    let mut places: Vec<_> =
        everywhere.map(|(collation, language)| (ServerVersion::V2019, collation, language)).collect();
    for version in [ServerVersion::V2008R2, ServerVersion::V2022, ServerVersion::AzureMi, ServerVersion::AzureDb] {
        places.extend([(version, "Latin1_General_BIN2", "French"), (version, "Turkish_100_CI_AS", "Turkish")]);
    }
    for (version, collation, language) in places {
        let place = [format!("collation={collation}"), format!("language={language}")];
        for scenario in ["sos-yield", "spinlock"] {
            let usual = async |faults: &[String]| {
                let mut lab = Lab::new(version, |launch| launch.faults.extend_from_slice(faults)).await;
                lab.options.scenario = scenario.to_owned();
                lab.options.max_events_per_second = Some(1_000_000);
                lab.options.trace_flags.enable = version < ServerVersion::V2022;
                let (outcome, report) = lab.report().await;
                lab.assert_as_before(scenario).await;
                (outcome, report)
            };
            let (outcome, report) = usual(&place).await;
            let (_, elsewhere) = usual(&[]).await;
            let context = format!("{version}, {collation}, {language}, {scenario}: {:?}", report.capture.problems);
            assert_eq!(report.verdict, elsewhere.verdict, "{context}");
            assert_eq!(report.stacks.total_events, elsewhere.stacks.total_events, "{context}");
            assert_eq!(report.spinlocks, elsewhere.spinlocks, "{context}");
            assert_eq!(report.waits.len(), elsewhere.waits.len(), "{context}");
            assert_eq!(outcome.evidence.server.unwrap().collation.as_deref(), Some(collation), "{context}");
            let refused: Vec<&str> = outcome
                .statements
                .iter()
                .filter(|statement| statement.error.is_some())
                .map(|statement| statement.sql.as_str())
                .collect();
            assert!(refused.is_empty(), "{context}: {refused:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_spinlocks_are_found_whatever_case_the_server_tells_apart() {
    for collation in COLLATIONS {
        let mut lab =
            Lab::new(ServerVersion::V2019, |launch| launch.faults.push(format!("collation={collation}"))).await;
        lab.options.scenario = "spinlock".to_owned();
        lab.options.max_events_per_second = Some(1_000_000);
        lab.options.spinlocks = vec!["lock_hash".to_owned(), "Opt_Idx_Stats".to_owned()];
        let outcome = lab.capture().await.unwrap();
        let mut found: Vec<&str> = outcome.map_keys.iter().map(|key| key.value.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, ["LOCK_HASH", "OPT_IDX_STATS"], "{collation}");
        lab.assert_as_before(collation).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn linux_is_told_and_changes_nothing_else() {
    for version in [ServerVersion::V2017, ServerVersion::V2019, ServerVersion::V2022, ServerVersion::V2025] {
        for scenario in ["sos-yield", "spinlock"] {
            let mut lab = Lab::new(version, |launch| launch.faults.push("host=linux".to_owned())).await;
            lab.options.trace_flags.enable = false;
            lab.options.scenario = scenario.to_owned();
            lab.options.max_events_per_second = Some(1_000_000);
            let (outcome, report) = lab.report().await;
            let context = format!("{version}, {scenario}: {:?}", report.capture.problems);
            assert!(report.stacks.total_events > 0, "{context}");
            assert_eq!(outcome.evidence.server.unwrap().host_platform.as_deref(), Some("Linux"), "{context}");
            assert!(
                outcome.evidence.modules.iter().any(|module| module.path.to_lowercase().contains("sqldk")),
                "{context}"
            );
            assert!(outcome.statements.iter().all(|statement| statement.error.is_none()), "{context}");
            lab.assert_as_before(&context).await;
        }
    }
}
