//! Every place, with every kind of login: what a capture gives there. The README shows the table.

use crate::capture::Lab;
use crate::right_answers::assert_in_readme;
use xestack::agent::CaptureError;
use xestack::model::{ServerVersion, Severity, VerdictKind};
use xestack::simulator::permissions::Account;
use xestack::simulator::workload::pace::Pace;
use xestack::sqlserver::Authentication;

/// A place: its name in the table, its version, and what makes it special.
type Place = (&'static str, ServerVersion, &'static [&'static str]);

const PLACES: [Place; 13] = [
    ("2008 R2", ServerVersion::V2008R2, &[]),
    ("2012", ServerVersion::V2012, &[]),
    ("2014", ServerVersion::V2014, &[]),
    ("2016", ServerVersion::V2016, &[]),
    ("2017", ServerVersion::V2017, &[]),
    ("2019", ServerVersion::V2019, &[]),
    ("2019 on Linux", ServerVersion::V2019, &["host=linux"]),
    ("2019, hosted without sysadmin", ServerVersion::V2019, &["host=rds"]),
    ("2019 Express, hosted", ServerVersion::V2019, &["edition=express"]),
    ("2022", ServerVersion::V2022, &[]),
    ("2025", ServerVersion::V2025, &[]),
    ("Azure SQL Managed Instance", ServerVersion::AzureMi, &[]),
    ("Azure SQL Database", ServerVersion::AzureDb, &[]),
];

/// Who logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Login {
    /// A sysadmin who opts in to trace flags where there are any.
    Sysadmin,
    /// With the rights for event sessions and counters, no more.
    EventSessions,
    /// With the right for counters only.
    Counters,
    /// With no right at all.
    None,
}

const LOGINS: [Login; 4] = [Login::Sysadmin, Login::EventSessions, Login::Counters, Login::None];

impl Login {
    fn permissions(self, version: ServerVersion) -> Vec<String> {
        let (counters, sessions) = match version {
            ServerVersion::AzureDb => ("VIEW DATABASE STATE", "ALTER ANY DATABASE EVENT SESSION"),
            ServerVersion::V2008R2 => ("VIEW SERVER STATE", "CONTROL SERVER"),
            version if version >= ServerVersion::V2022 => ("VIEW SERVER PERFORMANCE STATE", "ALTER ANY EVENT SESSION"),
            _ => ("VIEW SERVER STATE", "ALTER ANY EVENT SESSION"),
        };
        let held: &[&str] = match self {
            Self::Sysadmin | Self::None => &[],
            Self::EventSessions => &[counters, sessions],
            Self::Counters => &[counters],
        };
        held.iter().map(|right| (*right).to_owned()).collect()
    }
}

async fn lab(version: ServerVersion, faults: &[&str], login: Login, scenario: &str) -> Lab {
    let workload = if scenario == "spinlock" { "cachestore" } else { "lock-hash" };
    let mut lab = Lab::new(version, |launch| {
        launch.faults.extend(faults.iter().map(|fault| (*fault).to_owned()));
        launch.workload = workload.to_owned();
        // Counters alone see no burst, which waits for an event session.
        launch.pace = Pace::Steady;
        launch.accounts.push(Account {
            name: "other".into(),
            password: String::new(),
            sysadmin: false,
            permissions: login.permissions(version),
        });
    })
    .await;
    lab.options.scenario = scenario.to_owned();
    let no_flags = version >= ServerVersion::V2022 || faults.contains(&"host=rds");
    lab.options.trace_flags.enable = login == Login::Sysadmin && !no_flags;
    if login != Login::Sysadmin {
        lab.surroundings.connect.authentication =
            Authentication::Password { user: "other".to_owned(), password: lab.simulator.password().to_owned().into() };
    }
    lab
}

/// What a capture gives: the verdict and the exit code that goes with it.
async fn result(version: ServerVersion, faults: &[&str], login: Login, scenario: &str) -> String {
    let lab = lab(version, faults, login, scenario).await;
    let result = lab.try_report().await;
    let context = format!("{scenario} on {version} {faults:?} as {login:?}");
    lab.assert_as_before(&context).await;
    match result {
        Ok((outcome, report)) => {
            assert!(outcome.left_behind.is_empty(), "{context}");
            let problems = &report.capture.problems;
            let partial = problems.iter().any(|problem| problem.severity == Severity::Partial);
            let stacks = if problems.iter().any(|problem| problem.code == "counters_only") {
                "counters only: "
            } else if report.stacks.unresolved_events > 0 {
                "addresses: "
            } else {
                ""
            };
            format!("{stacks}{}, exit {}", report.verdict.kind.name(), if partial { 5 } else { 0 })
        }
        Err(CaptureError::Refused { reason, hint, .. }) => {
            assert!(login == Login::Sysadmin || hint.is_some(), "{context}: no remedy");
            format!("refused ({}), exit 4", format!("{reason:?}").to_lowercase())
        }
        Err(error) => panic!("{context}: {error:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_place_with_each_login_gives_what_the_readme_shows() {
    let mut table = "| place | login | sos-yield | spinlock |\n|---|---|---|---|\n".to_owned();
    for (place, version, faults) in PLACES {
        for login in LOGINS {
            if login == Login::Sysadmin && faults.contains(&"host=rds") {
                continue;
            }
            let name = match login {
                Login::Sysadmin if version >= ServerVersion::V2022 => "administrator",
                Login::Sysadmin => "sysadmin, trace flags opted in",
                Login::EventSessions => "counters and event sessions",
                Login::Counters => "counters",
                Login::None => "none of these rights",
            };
            let yields = result(version, faults, login, "sos-yield").await;
            let spinlocks = result(version, faults, login, "spinlock").await;
            table += &format!("| {place} | {name} | {yields} | {spinlocks} |\n");
        }
    }
    assert_in_readme("places", &table);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_place_is_captured_and_left_as_it_was() {
    for collation in
        ["SQL_Latin1_General_CP1_CI_AS", "Latin1_General_BIN2", "Latin1_General_CS_AS", "Turkish_100_CI_AS"]
    {
        for language in ["us_english", "German", "French", "Turkish"] {
            let faults = [format!("collation={collation}"), format!("language={language}")];
            let faults: Vec<&str> = faults.iter().map(String::as_str).collect();
            for scenario in ["sos-yield", "spinlock"] {
                let lab = lab(ServerVersion::V2019, &faults, Login::Sysadmin, scenario).await;
                let (_, report) = lab.report().await;
                let context = format!("{scenario}, {collation}, {language}: {:?}", report.capture.problems);
                let kind =
                    if scenario == "spinlock" { VerdictKind::SpinlockBackoff } else { VerdictKind::CpuBoundYields };
                assert_eq!(report.verdict.kind, kind, "{context}");
                let partial = |problem: &xestack::model::Problem| problem.severity == Severity::Partial;
                assert!(!report.capture.problems.iter().any(partial), "{context}");
                lab.assert_as_before(&context).await;
            }
        }
    }
}
