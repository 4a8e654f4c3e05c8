//! Owns the command line: arguments, settings, printing and exit codes. The only room that prints, and the only one that
//! knows clap.

mod args;
mod commands;
mod conclude;
mod connect;
mod exit;
mod output;
mod rows;
mod signals;
mod site;
mod state_dir;

pub use exit::Exit;

use crate::agent::progress::Interrupt;
use crate::catalog::Catalog;
use args::{Arguments, CatalogCommand, Command};
use clap::Parser as _;
use exit::Failure;
use output::Printer;
use std::ffi::OsString;
use std::sync::Arc;

/// Runs the program with its arguments, program name first, and gives its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Printer::plain().failure(Exit::Internal, &anyhow::anyhow!(error)),
    };
    let interrupt = Interrupt::default();
    let exit = runtime.block_on(async {
        // Before anything else, so that no moment is without it.
        if let Err(error) = signals::listen(&interrupt) {
            return Printer::plain().failure(Exit::Internal, &anyhow::anyhow!(error));
        }
        dispatch(arguments, &interrupt).await
    });
    // A blocking read of standard input must not hold the exit.
    runtime.shutdown_background();
    exit
}

async fn dispatch(arguments: impl IntoIterator<Item = OsString>, interrupt: &Interrupt) -> Exit {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return output::usage(&error),
    };
    let printer = Printer::new(arguments.verbose);
    let result = match site::catalog(&arguments.catalog, &printer) {
        Ok(catalog) => obey(arguments.command, &Arc::new(catalog), &printer, interrupt).await,
        Err(failure) => Err(failure),
    };
    match result {
        Ok(Exit::Done) if interrupt.is_signalled() => Exit::Interrupted,
        Ok(exit) => exit,
        Err(failure) => printer.report_failure(&failure),
    }
}

async fn obey(
    command: Command,
    catalog: &Arc<Catalog>,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    match command {
        Command::Demo(arguments) => commands::demo::run(arguments, catalog, printer, interrupt).await,
        Command::Capture(arguments) => commands::capture::run(arguments, catalog, printer, interrupt).await,
        Command::Doctor(arguments) => commands::doctor::run(arguments, catalog, printer, interrupt).await,
        Command::Cleanup(arguments) => commands::cleanup::run(arguments, catalog, printer, interrupt).await,
        Command::Sql(arguments) => commands::sql::run(&arguments, catalog, printer),
        Command::Analyze(arguments) => {
            let reading = Arc::clone(catalog);
            let work = tokio::task::spawn_blocking(move || {
                commands::analyze::read(&arguments, &reading).map(|read| (arguments, read))
            });
            tokio::select! {
                read = work => match read {
                    Ok(Ok((arguments, read))) => commands::analyze::finish(&arguments, &read, catalog, printer),
                    Ok(Err(failure)) => Err(failure),
                    Err(panic) => Err(Failure::new(Exit::Internal, panic)),
                },
                () = interrupt.signalled() => Ok(Exit::Interrupted),
            }
        }
        Command::Report(arguments) => commands::report::run(&arguments, catalog, printer),
        Command::Catalog(CatalogCommand::Check { folders }) => commands::catalog::check(&folders, catalog, printer),
        Command::Simulate(arguments) => commands::simulate::run(arguments, printer, interrupt).await,
    }
}
