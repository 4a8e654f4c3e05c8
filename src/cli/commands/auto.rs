//! Owns `--scenario auto`: a look at the counters, and the scenario that they speak for.

use crate::agent::{self, Surroundings};
use crate::analyze::auto::{self, AUTO};
use crate::catalog::Catalog;
use crate::cli::exit::Failure;
use crate::cli::output::Printer;
use crate::model::{Evidence, Problem, Severity};
use std::time::Duration;

/// What `--scenario` comes to.
pub(super) enum Chosen {
    /// These scenarios, and how they were chosen where nobody named them.
    Scenario(String, Option<Problem>),
    /// None: the look itself is the answer.
    Nothing(Box<Evidence>),
}

/// The scenario to capture: as named, or chosen by a look.
pub(super) async fn choose(
    scenario: &str,
    surroundings: &Surroundings,
    catalog: &Catalog,
    printer: &Printer,
) -> Result<Chosen, Failure> {
    if scenario != AUTO {
        return Ok(Chosen::Scenario(scenario.to_owned(), None));
    }
    let length = Duration::from_secs(surroundings.sessions.auto().look_seconds);
    printer.note(&format!("looking at the counters for {} s to choose a scenario", length.as_secs()));
    let mut evidence = Box::pin(agent::look_around(surroundings, length)).await?;
    let choice = auto::choose(&evidence, catalog);
    let Some(scenario) = choice.scenario else {
        AUTO.clone_into(&mut evidence.id);
        evidence.scenario = Some(AUTO.to_owned());
        printer.note(&format!("no scenario is chosen, and no window is opened: {}", choice.why));
        return Ok(Chosen::Nothing(Box::new(evidence)));
    };
    let message = format!("scenario {scenario} was chosen by a look at the counters: {}", choice.why);
    printer.note(&message);
    Ok(Chosen::Scenario(scenario, Some(Problem::new("scenario_chosen", Severity::Info, message))))
}
