//! Owns `xestack capture`: one window on a real server.

use crate::agent::clock::MachineClock;
use crate::agent::progress::Interrupt;
use crate::agent::run::Owner;
use crate::agent::{self, CaptureOptions, GuardOptions, Outcome, Surroundings, TraceFlagOptions};
use crate::analyze::auto::AUTO;
use crate::catalog::Catalog;
use crate::cli::args::{CaptureArguments, FilterArguments};
use crate::cli::commands::auto::{self, Chosen};
use crate::cli::conclude::{answer, conclude, finish};
use crate::cli::connect;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Printer, check_writable};
use crate::cli::state_dir;
use crate::store::private_file;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The two lines that the opt-in to trace flags is told with.
const TRACE_FLAG_WARNING: &str = "\
trace flags are opted in: the server will load symbol files inside its own process for one read of the target;
large ones, or a symbol path that reaches the network, can stall it. The raw addresses are saved first.";

pub(in crate::cli) async fn run(
    arguments: CaptureArguments,
    catalog: &Catalog,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let surroundings = Surroundings {
        sessions: Arc::clone(&catalog.sessions),
        connect: connect::options(&arguments.connection, printer, interrupt).await?,
        clock: Arc::new(MachineClock::default()),
        observer: printer.observer(),
        interrupt: interrupt.clone(),
        here: Owner::this_process(),
    };
    if arguments.scenario != AUTO {
        surroundings
            .sessions
            .joined_scenarios(&arguments.scenario)
            .map_err(|error| Failure::new(Exit::Usage, error))?;
    }
    let state_dir = state_dir::resolve(arguments.state_dir.as_deref())?;
    check_writable(arguments.bundle.as_deref())?;
    check_writable(arguments.report.output.as_deref())?;
    let flags = &arguments.trace_flags;
    if flags.enable_trace_flags {
        printer.note(TRACE_FLAG_WARNING);
    }
    let (scenario, chosen) = match auto::choose(&arguments.scenario, &surroundings, catalog, printer).await? {
        Chosen::Scenario(scenario, chosen) => (scenario, chosen),
        Chosen::Nothing(evidence) => return answer(&evidence, catalog, &arguments.report, printer),
    };
    let options = CaptureOptions {
        slots: arguments.bounds.slots,
        max_events: arguments.bounds.max_events,
        max_events_per_second: arguments.bounds.max_events_per_second,
        trace_flags: TraceFlagOptions {
            enable: flags.enable_trace_flags,
            during_window: flags.flags_during_window,
            force: flags.force_flags,
        },
        counters_only: arguments.counters_only,
        every: arguments.every,
        guards: GuardOptions {
            max_dropped_events: arguments.guards.max_dropped_events,
            max_cpu_share: arguments.guards.max_cpu_share,
            max_cpu_growth: arguments.guards.max_cpu_growth,
            max_own_cpu_share: arguments.guards.max_own_cpu_share,
        },
        ..filtered(&arguments.filters, CaptureOptions::new(&scenario, arguments.window, state_dir.clone()))
    };
    let mut captures = Vec::new();
    for n in 1..=arguments.repeat {
        if n > 1 {
            printer.note(&format!("window {n} of {}", arguments.repeat));
        }
        let outcome = match Box::pin(agent::capture(&surroundings, &options)).await {
            Ok(mut outcome) => {
                outcome.evidence.problems.extend(chosen.clone());
                outcome
            }
            Err(error) => {
                // The windows before this one are an answer too.
                finish(&captures, &arguments.report, printer)?;
                return Err(failed(error, printer));
            }
        };
        let bundle = match &arguments.bundle {
            Some(path) => path.clone(),
            None => bundle_path(&state_dir, &outcome)?,
        };
        let was_stopped = outcome.evidence.problems.iter().any(|problem| problem.code == agent::WINDOW_STOPPED_EARLY);
        captures.push(conclude(outcome, catalog, Some(&bundle), printer)?);
        if was_stopped && n < arguments.repeat {
            printer.note("a limit ended this window for the server's sake; no further window is opened");
        }
        if was_stopped || interrupt.is_signalled() {
            break;
        }
    }
    finish(&captures, &arguments.report, printer)
}

/// Where a capture's bundle goes when nobody says where.
fn bundle_path(state_dir: &Path, outcome: &Outcome) -> Result<PathBuf, Failure> {
    let folder = state_dir.join("bundles");
    private_file::ensure_private_dir(&folder).map_err(|error| Failure::new(Exit::Usage, error))?;
    Ok(folder.join(format!("{}.zip", outcome.evidence.id)))
}

/// The options with what the filter arguments say.
pub(in crate::cli) fn filtered(filters: &FilterArguments, options: CaptureOptions) -> CaptureOptions {
    CaptureOptions {
        spinlocks: filters.spinlock.clone(),
        all_types: filters.all_types,
        queries: filters.queries,
        database: filters.database.clone(),
        session_id: filters.session_id,
        sample_one_in: filters.sample,
        ..options
    }
}

/// What remains on the server is named, each with the statement that removes it.
pub(in crate::cli) fn failed(error: agent::CaptureError, printer: &Printer) -> Failure {
    if let agent::CaptureError::LeftBehind { left_behind, .. } = &error {
        for left in left_behind {
            printer.note(&format!("xestack: still on the server: {left}"));
        }
    }
    Failure::from(error)
}
