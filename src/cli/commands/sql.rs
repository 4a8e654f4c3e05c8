//! Owns `xestack sql`: every statement of a capture, in its order, without a server.

use crate::catalog::Catalog;
use crate::cli::args::SqlArguments;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Printer;
use crate::statements::{DryRun, Filters, dry_run};

pub(in crate::cli) fn run(arguments: &SqlArguments, catalog: &Catalog, printer: &Printer) -> Result<Exit, Failure> {
    let options = DryRun {
        scenario: arguments.scenario.clone(),
        version: arguments.server_version,
        slots: arguments.bounds.slots,
        max_events: arguments.bounds.max_events,
        database: arguments.filters.database.clone(),
        // The id of a database is only known to the server; 0 stands for it.
        filters: Filters {
            database_id: arguments.filters.database.as_ref().map(|_| 0),
            session_id: arguments.filters.session_id,
            sample_one_in: arguments.filters.sample.filter(|n| *n > 1),
        },
        all_types: arguments.filters.all_types,
        trace_flags: arguments.trace_flags.enable_trace_flags,
        flags_during_window: arguments.trace_flags.flags_during_window,
        force_flags: arguments.trace_flags.force_flags,
        queries: arguments.filters.queries,
        window_seconds: arguments.window.as_secs(),
    };
    if let Some(reason) = options.refusal() {
        printer
            .note(&format!("a capture would refuse these trace flags: {reason}; shown is what is sent without them"));
    }
    let statements = dry_run(&catalog.sessions, &options).map_err(|error| Failure::new(Exit::Usage, error))?;
    let text: Vec<String> =
        statements.iter().map(|statement| format!("-- {}\n{};\nGO\n", statement.purpose, statement.sql)).collect();
    printer.result(&text.join("\n"))?;
    Ok(Exit::Done)
}
