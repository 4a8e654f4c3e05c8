//! Owns what every capture ends with: analysis, bundle, report, exit code.

use crate::agent::{LeftBehind, Outcome};
use crate::analyze;
use crate::catalog::Catalog;
use crate::cli::args::ReportOutput;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Printer;
use crate::model::{Evidence, Report, Tool};
use crate::report;
use crate::store::bundle::{self, Bundle, TargetMember};
use std::path::Path;

/// This program, as reports and bundles name it.
pub(super) fn tool() -> Tool {
    Tool { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// Evidence in, report out, by the thresholds of the scenario that it names.
pub(super) fn analyse(evidence: &Evidence, catalog: &Catalog) -> Report {
    analyze::analyze(evidence, &catalog.settled_for(evidence.scenario.as_deref()), tool())
}

/// Prints the report of evidence that no window was opened for, and gives the exit code.
pub(super) fn answer(
    evidence: &Evidence,
    catalog: &Catalog,
    output: &ReportOutput,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let report = analyse(evidence, catalog);
    printer.report(&report, output)?;
    Ok(Exit::of_problems(&report.capture.problems))
}

/// A capture that is analysed and, where one is wanted, in its bundle.
pub(super) struct Concluded {
    pub report: Report,
    left_behind: Vec<LeftBehind>,
    interrupted: bool,
}

/// Analyses a capture and writes its bundle where one is wanted.
pub(super) fn conclude(
    outcome: Outcome,
    catalog: &Catalog,
    bundle_path: Option<&Path>,
    printer: &Printer,
) -> Result<Concluded, Failure> {
    let report = analyse(&outcome.evidence, catalog);
    let concluded = Concluded { report, left_behind: outcome.left_behind.clone(), interrupted: outcome.interrupted };
    for left in &concluded.left_behind {
        printer.note(&format!("xestack: still on the server: {left}"));
    }
    if let Some(path) = bundle_path {
        write_bundle(path, outcome, &concluded.report, printer)?;
    }
    Ok(concluded)
}

/// Prints the report of one or several windows and gives the exit code.
pub(super) fn finish(captures: &[Concluded], output: &ReportOutput, printer: &Printer) -> Result<Exit, Failure> {
    let reports: Vec<Report> = captures.iter().map(|capture| capture.report.clone()).collect();
    let Some(report) = analyze::combine::combine(&reports) else { return Ok(Exit::Interrupted) };
    printer.report(&report, output)?;
    Ok(if captures.iter().any(|capture| !capture.left_behind.is_empty()) {
        Exit::LeftBehind
    } else if captures.iter().any(|capture| capture.interrupted) {
        Exit::Interrupted
    } else {
        Exit::of_problems(&report.capture.problems)
    })
}

fn write_bundle(path: &Path, outcome: Outcome, report: &Report, printer: &Printer) -> Result<(), Failure> {
    let sessions = &outcome.evidence.sessions;
    let targets = outcome.targets.into_iter().map(|target| TargetMember {
        session: sessions
            .iter()
            .position(|session| session.name == target.session && session.bucket == target.bucket)
            .unwrap_or(0),
        symbolised: target.symbolised,
        bytes: target.text.into_bytes(),
    });
    let bundle = Bundle {
        tool: Some(tool()),
        map_keys: outcome.map_keys,
        statements: outcome.statements,
        targets: targets.collect(),
        evidence: outcome.evidence.clone(),
        report_json: Some(report::json::render(report)),
    };
    bundle::write(path, &bundle).map_err(|error| Failure::new(Exit::Usage, error))?;
    printer.note(&format!("bundle: {}", path.display()));
    Ok(())
}
