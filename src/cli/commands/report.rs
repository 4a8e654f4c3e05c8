//! Owns `xestack report`: a bundle analysed again from its raw members.

use crate::catalog::Catalog;
use crate::cli::args::ReportArguments;
use crate::cli::commands::analyze::{from_bundle, read_file};
use crate::cli::conclude::analyse;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Printer;
use crate::store::bundle;

pub(in crate::cli) fn run(arguments: &ReportArguments, catalog: &Catalog, printer: &Printer) -> Result<Exit, Failure> {
    let bytes = read_file(&arguments.bundle)?;
    if !bundle::is_bundle(&bytes) {
        return Err(Failure::new(Exit::Unreadable, anyhow::anyhow!("{} is no bundle", arguments.bundle.display()))
            .with_hint("xestack analyze reads target XML and pasted stacks"));
    }
    let report = analyse(&from_bundle(&bytes)?, catalog);
    printer.report(&report, &arguments.report)?;
    Ok(Exit::of_problems(&report.capture.problems))
}
