//! Owns `xestack demo`: a whole capture against an embedded simulated server, over a socket as against a real one.

use crate::agent::clock::MachineClock;
use crate::agent::progress::Interrupt;
use crate::agent::run::Owner;
use crate::agent::{self, CaptureOptions, Surroundings, TraceFlagOptions};
use crate::analyze::auto::AUTO;
use crate::catalog::Catalog;
use crate::catalog::sessions::{Scenario, Sessions};
use crate::cli::args::DemoArguments;
use crate::cli::commands::auto::{self, Chosen};
use crate::cli::commands::capture::{failed, filtered};
use crate::cli::conclude::{answer, conclude, finish};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Printer, check_writable};
use crate::cli::state_dir;
use crate::model::ServerVersion;
use crate::simulator::launch::{self, LaunchOptions, Simulator};
use crate::simulator::workload::pace::Pace;
use crate::sqlserver::{Authentication, ConnectOptions, Connection, Encryption, ServerAddress};
use crate::statements::latency_seconds;
use secrecy::SecretString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(in crate::cli) async fn run(
    arguments: DemoArguments,
    catalog: &Catalog,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let sessions = Arc::clone(&catalog.sessions);
    let is_auto = arguments.scenario == AUTO;
    let named = if is_auto { "sos-yield" } else { &arguments.scenario };
    let scenarios = sessions.joined_scenarios(named).map_err(|error| Failure::new(Exit::Usage, error))?;
    // A burst begins with an event session; what is looked at before one needs a load that is there already.
    let is_steady = is_auto || scenarios.iter().any(|scenario| looks_first(scenario));
    let own_workload = scenarios.first().map(|scenario| scenario.workload.clone()).unwrap_or_default();
    let workload = arguments.workload.clone().unwrap_or(own_workload);
    let load = load_length(&scenarios, arguments.window);
    check_writable(arguments.bundle.as_deref())?;
    check_writable(arguments.report.output.as_deref())?;
    let state = StateFolder::open(arguments.state_dir.clone())?;
    let simulator = launch::launch(LaunchOptions {
        listen: arguments.listen,
        version: arguments.server_version,
        workload: workload.clone(),
        pace: if is_steady { Pace::Steady } else { Pace::Burst(load) },
        seed: arguments.seed,
        faults: arguments.fault.clone(),
        ..LaunchOptions::default()
    })
    .await
    .map_err(|error| Failure::new(Exit::Usage, error))?;
    printer.note(&format!(
        "simulated SQL Server {} on {}, workload {workload}; no real server is involved",
        arguments.server_version,
        simulator.local_addr()
    ));
    let connect = connect_options(&simulator)?;
    let surroundings = Surroundings {
        sessions: Arc::clone(&sessions),
        connect: connect.clone(),
        clock: Arc::new(MachineClock::default()),
        observer: printer.observer(),
        interrupt: interrupt.clone(),
        here: Owner::this_process(),
    };
    let trace_flags = trace_flags(&arguments, printer);
    let (scenario, chosen) = match auto::choose(&arguments.scenario, &surroundings, catalog, printer).await? {
        Chosen::Scenario(scenario, chosen) => (scenario, chosen),
        Chosen::Nothing(evidence) => {
            simulator.stop().await;
            return answer(&evidence, catalog, &arguments.report, printer);
        }
    };
    let options = CaptureOptions {
        trace_flags,
        every: arguments.every,
        ..filtered(&arguments.filters, CaptureOptions::new(&scenario, arguments.window, state.path.clone()))
    };
    let mut result = Box::pin(agent::capture(&surroundings, &options)).await;
    if let Ok(outcome) = &mut result {
        outcome.evidence.problems.extend(chosen);
    }
    // Asked over a connection of its own, of the server and not of the run.
    let afterwards = afterwards(&connect, &sessions, arguments.server_version).await;
    let exit = match result {
        Ok(outcome) => conclude(outcome, catalog, arguments.bundle.as_deref(), printer)
            .and_then(|capture| finish(&[capture], &arguments.report, printer)),
        Err(error) => Err(failed(error, printer)),
    };
    match afterwards {
        Ok(text) => printer.note(&text),
        Err(error) => printer.note(&format!("the simulated server could not be asked what remains: {error}")),
    }
    if !arguments.linger.is_zero() && !interrupt.is_signalled() {
        printer.note(&format!(
            "the simulated server stays up on {} for {:.0} s: login {}, password {}",
            simulator.local_addr(),
            arguments.linger.as_secs_f64(),
            launch::USER,
            simulator.password()
        ));
        tokio::select! {
            () = tokio::time::sleep(arguments.linger) => {}
            () = interrupt.signalled() => {}
        }
    }
    simulator.stop().await;
    exit
}

/// Whether a scenario's answer takes a load that is there before its first event session.
fn looks_first(scenario: &Scenario) -> bool {
    scenario.sessions.is_empty() || scenario.sessions.iter().any(|session| session.values_from.is_some())
}

/// A survey starts the load before the window opens: the load then lasts as much longer.
fn load_length(scenarios: &[&Scenario], window: Duration) -> Duration {
    let of_survey = |scenario: &&Scenario| {
        let latency = latency_seconds(scenario);
        scenario.survey.as_ref().map_or(0, |survey| survey.seconds + 2 * latency)
    };
    window + Duration::from_secs(scenarios.iter().map(of_survey).sum())
}

/// Flags are opted in by default in a demo, but never needed where `callstack_rva` exists, and refused there unless forced.
fn trace_flags(arguments: &DemoArguments, printer: &Printer) -> TraceFlagOptions {
    let has_rva = arguments.server_version >= ServerVersion::V2022;
    if arguments.no_trace_flags || (has_rva && !arguments.force_flags) {
        if !arguments.no_trace_flags {
            printer.note(
                "trace flags are not used: this version names every frame's PDB by itself (callstack_rva); \
                 --force-flags shows them all the same",
            );
        }
        return TraceFlagOptions::default();
    }
    if has_rva {
        printer.note("trace flags are forced: this version would not need them (callstack_rva)");
    }
    TraceFlagOptions { enable: true, during_window: false, force: has_rva }
}

fn connect_options(simulator: &Simulator) -> Result<ConnectOptions, Failure> {
    let address = simulator.local_addr();
    let address: ServerAddress =
        format!("{},{}", address.ip(), address.port()).parse().map_err(|error| Failure::new(Exit::Internal, error))?;
    Ok(ConnectOptions {
        address,
        authentication: Authentication::Password {
            user: launch::USER.to_owned(),
            password: SecretString::from(simulator.password().to_owned()),
        },
        database: None,
        encryption: Encryption::Mandatory,
        trust_certificate: false,
        // The certificate is made anew for each demo; it is validated as any other.
        ca_pem: simulator.certificate_pem().map(str::to_owned),
        hostname_in_certificate: Some("localhost".to_owned()),
        login_timeout: Duration::from_secs(15),
        query_timeout: Duration::from_secs(30),
        workstation: "demo".to_owned(),
        read_only: false,
        browser_port: 1434,
    })
}

async fn afterwards(
    connect: &ConnectOptions,
    sessions: &Sessions,
    version: ServerVersion,
) -> Result<String, anyhow::Error> {
    let statements = crate::statements::Statements::new(sessions, version);
    let mut connection = Connection::open(connect).await?;
    let limit = connect.query_timeout;
    let tables = connection.run(&statements.common("list_sessions", &[])?, limit).await?;
    let ours = tables.first().map_or(0, |table| {
        (0..table.rows.len())
            .filter(|&row| table.text(row, "name").is_some_and(|name| name.starts_with("xestack:")))
            .count()
    });
    let flags = crate::statements::symbol_trace_flags(version);
    let status = connection.run(&statements.trace_status(flags)?, limit).await?;
    let on = status
        .first()
        .map_or(0, |table| (0..table.rows.len()).filter(|&row| table.integer(row, "Global") == Some(1)).count());
    connection.close().await;
    Ok(format!("afterwards on the server: {ours} sessions of ours, {on} trace flags on"))
}

/// Where the journal is kept: the folder given, or one that goes away with the demo's server.
struct StateFolder {
    path: PathBuf,
    is_temporary: bool,
}

impl StateFolder {
    fn open(given: Option<PathBuf>) -> Result<Self, Failure> {
        let is_temporary = given.is_none();
        let path = given.unwrap_or_else(|| {
            std::env::temp_dir().join(format!("xestack-demo-{}-{:08x}", std::process::id(), fastrand::u32(..)))
        });
        Ok(Self { path: state_dir::resolve(Some(&path))?, is_temporary })
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        if self.is_temporary {
            // Left to the system's own sweeping where it cannot be removed.
            let _ignored = std::fs::remove_dir_all(&self.path);
        }
    }
}
