//! Owns the command line: arguments, settings, printing and exit codes. The only room that prints, and the only one that
//! knows clap.

mod args;
mod commands;
mod conclude;
mod connect;
mod exit;
mod output;
mod signals;
mod state_dir;

pub use exit::Exit;

use crate::agent::progress::Interrupt;
use args::{Arguments, Command};
use clap::Parser as _;
use output::Printer;
use std::ffi::OsString;

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
    let result = match arguments.command {
        Command::Demo(arguments) => commands::demo::run(arguments, &printer, interrupt).await,
        Command::Capture(arguments) => commands::capture::run(arguments, &printer, interrupt).await,
        Command::Doctor(arguments) => commands::doctor::run(arguments, &printer, interrupt).await,
        Command::Cleanup(arguments) => commands::cleanup::run(arguments, &printer, interrupt).await,
        Command::Sql(arguments) => commands::sql::run(&arguments, &printer),
        Command::Analyze(arguments) => {
            let work =
                tokio::task::spawn_blocking(move || commands::analyze::read(&arguments).map(|read| (arguments, read)));
            tokio::select! {
                read = work => match read {
                    Ok(Ok((arguments, read))) => commands::analyze::finish(&arguments, &read, &printer),
                    Ok(Err(failure)) => Err(failure),
                    Err(panic) => Err(exit::Failure::new(Exit::Internal, panic)),
                },
                () = interrupt.signalled() => Ok(Exit::Interrupted),
            }
        }
        Command::Report(arguments) => commands::report::run(&arguments, &printer),
        Command::Simulate(arguments) => commands::simulate::run(arguments, &printer, interrupt).await,
    };
    match result {
        Ok(Exit::Done) if interrupt.is_signalled() => Exit::Interrupted,
        Ok(exit) => exit,
        Err(failure) => printer.report_failure(&failure),
    }
}
