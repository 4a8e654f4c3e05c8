//! Owns `xestack doctor`: what can be done on a server, and what is missing.

use crate::agent::Surroundings;
use crate::agent::clock::MachineClock;
use crate::agent::doctor::{DoctorOptions, doctor};
use crate::agent::progress::Interrupt;
use crate::agent::run::Owner;
use crate::catalog::Catalog;
use crate::cli::args::DoctorArguments;
use crate::cli::conclude::tool;
use crate::cli::connect;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Printer, check_writable};
use crate::model::{Doctor, ScenarioReadiness};
use crate::report;
use std::sync::Arc;

pub(in crate::cli) async fn run(
    arguments: DoctorArguments,
    catalog: &Catalog,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let sessions = Arc::clone(&catalog.sessions);
    let scenarios = if arguments.scenario.is_empty() {
        sessions.scenarios().iter().map(|scenario| scenario.name.clone()).collect()
    } else {
        arguments.scenario.clone()
    };
    for name in &scenarios {
        sessions.joined_scenarios(name).map_err(|error| Failure::new(Exit::Usage, error))?;
    }
    check_writable(arguments.report.output.as_deref())?;
    let surroundings = Surroundings {
        sessions,
        connect: connect::options(&arguments.connection, printer, interrupt).await?,
        clock: Arc::new(MachineClock::default()),
        observer: printer.observer(),
        interrupt: interrupt.clone(),
        here: Owner::this_process(),
    };
    let options = DoctorOptions { scenarios, window: arguments.window, tool: tool() };
    let found = Box::pin(doctor(&surroundings, &options)).await?;
    let format = arguments.report.format;
    printer.answer(&arguments.report, |style| report::render_doctor(format, &found, style))?;
    Ok(exit_of(&found))
}

fn exit_of(found: &Doctor) -> Exit {
    let are = |readiness| found.scenarios.iter().filter(|scenario| scenario.readiness == readiness).count();
    if are(ScenarioReadiness::Impossible) == found.scenarios.len() {
        return Exit::Refused;
    }
    if are(ScenarioReadiness::Ready) < found.scenarios.len() {
        return Exit::Partial;
    }
    Exit::of_problems(&found.problems)
}
