//! What a login may do decides what a capture does: all of it, counters only, or nothing, each with the exact GRANT; and
//! what a server refuses in spite of the rights is told for what it is. Nothing stays changed in any case.

mod counters;
mod durations;
mod logins;
mod refusals;
mod triggers;

use crate::capture::{Lab, connect_options};
use std::sync::{Arc, Mutex};
use xestack::agent::progress::Progress;
use xestack::agent::{CaptureError, Outcome, Refusal};
use xestack::model::{Problem, Report, ServerVersion, SessionState, VerdictKind};
use xestack::report::text::{self, Style};
use xestack::simulator::clock::MachineClock;
use xestack::simulator::launch::LaunchOptions;
use xestack::simulator::wire::hooks::{HookAction, HookPoint, Hooks, Phase};
use xestack::simulator::workload::pace::Pace;
use xestack::sqlserver::ConnectOptions;

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

/// The database that a client connects to: that of the load where sessions belong to one.
fn database(version: ServerVersion) -> Option<String> {
    (version == ServerVersion::AzureDb).then(|| "OneRow".to_owned())
}

/// How `sa` connects, to look on.
fn sa(lab: &Lab) -> ConnectOptions {
    ConnectOptions { database: lab.surroundings.connect.database.clone(), ..connect_options(&lab.simulator) }
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
    std::mem::take(&mut *numbers.lock().unwrap())
}
