//! Owns `xestack analyze`: files in, one report out.

use crate::catalog::Catalog;
use crate::catalog::sessions::Sessions;
use crate::cli::args::AnalyzeArguments;
use crate::cli::conclude::analyse;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Printer;
use crate::cli::rows;
use crate::model::{Evidence, Problem, ServerIdentity, SessionEvidence, Severity, UtcMicros, Window};
use crate::parse::{input, target};
use crate::store::bundle;
use std::io::Read as _;
use std::path::Path;

/// Reads every file into one set of evidence. Fails only when nothing at all could be read.
pub(in crate::cli) fn read(arguments: &AnalyzeArguments, catalog: &Catalog) -> Result<Evidence, Failure> {
    if let Some(names) = &arguments.scenario {
        catalog.sessions.joined_scenarios(names).map_err(|error| Failure::new(Exit::Usage, error))?;
    }
    let mut saved = rows::read(arguments, catalog.rows.tables())?;
    let mut evidence = Evidence { id: "offline".to_owned(), ..Evidence::default() };
    let mut first_failure = None;
    let mut readable = 0;
    for path in &arguments.files {
        match read_file(path).and_then(|bytes| add_file(&mut evidence, path, &bytes)) {
            Ok(()) => readable += 1,
            Err(failure) => {
                let message = format!("{}: {:#}", path.display(), failure.error);
                evidence.problems.push(Problem::new("input_unreadable", Severity::Partial, message));
                first_failure.get_or_insert(failure);
            }
        }
    }
    let nothing_read = readable == 0 && saved.is_empty();
    if let Some(failure) = first_failure.or_else(|| saved.take_failure()).filter(|_| nothing_read) {
        return Err(failure);
    }
    saved.complete(&mut evidence);
    apply_context(&mut evidence, arguments, &catalog.sessions);
    Ok(evidence)
}

/// Analyses and prints.
pub(in crate::cli) fn finish(
    arguments: &AnalyzeArguments,
    evidence: &Evidence,
    catalog: &Catalog,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let report = analyse(evidence, catalog);
    printer.report(&report, &arguments.report)?;
    Ok(Exit::of_problems(&report.capture.problems))
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(Exit::Unreadable, anyhow::Error::new(error).context(format!("could not read {}", path.display())))
    };
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
        return Ok(bytes);
    }
    std::fs::read(path).map_err(unreadable)
}

fn add_file(evidence: &mut Evidence, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let name = path.display().to_string();
    if bundle::is_bundle(bytes) {
        let mut found = from_bundle(bytes)
            .map_err(|failure| Failure { error: failure.error.context(format!("could not read {name}")), ..failure })?;
        found.problems.append(&mut evidence.problems);
        found.sessions.splice(0..0, evidence.sessions.drain(..));
        *evidence = found;
        return Ok(());
    }
    let unreadable = |what: String| Failure::new(Exit::Unreadable, anyhow::anyhow!(what));
    if bytes.is_empty() {
        return Err(unreadable(format!("{name} is empty")));
    }
    if input::is_event_file(bytes) {
        return Err(unreadable(format!("{name} is an event file (.xel), which is not read here")).with_hint(
            "SELECT event_data FROM sys.fn_xe_file_target_read_file(...) on a server gives its events as XML",
        ));
    }
    let read = input::read(bytes);
    if read.is_empty() {
        return Err(unreadable(format!("{name} holds no target document and no call stack")));
    }
    evidence.problems.extend(
        read.problems.into_iter().map(|problem| Problem { message: format!("{name}: {}", problem.message), ..problem }),
    );
    for target in read.targets {
        evidence.sessions.push(SessionEvidence { target: Some(target), ..offline_session(&name) });
    }
    if !read.pasted.is_empty() {
        evidence.sessions.push(SessionEvidence { pasted: read.pasted, ..offline_session(&name) });
    }
    Ok(())
}

fn offline_session(name: &str) -> SessionEvidence {
    SessionEvidence { name: name.to_owned(), ..SessionEvidence::default() }
}

/// A bundle's evidence, its targets parsed again from the bytes as received.
pub(super) fn from_bundle(bytes: &[u8]) -> Result<Evidence, Failure> {
    let bundle = bundle::from_bytes(bytes).map_err(|error| Failure::new(Exit::Unreadable, error))?;
    let mut evidence = bundle.evidence;
    // The symbolised document, where there is one, comes after the raw one of its session and stands.
    for member in &bundle.targets {
        let decoded = crate::parse::text::decode(&member.bytes);
        let parsed = target::parse_targets(&decoded.text).into_iter().next();
        if let (Some(session), Some(parsed)) = (evidence.sessions.get_mut(member.session), parsed) {
            session.target = Some(parsed);
        }
    }
    Ok(evidence)
}

/// What the command line says of files that do not say it themselves.
fn apply_context(evidence: &mut Evidence, arguments: &AnalyzeArguments, sessions: &Sessions) {
    for session in &mut evidence.sessions {
        if session.context.event.is_none() {
            session.context.event.clone_from(&arguments.event);
        }
        if session.context.wait_type.is_none() {
            session.context.wait_type.clone_from(&arguments.wait_type);
        }
    }
    if let (None, Some(version)) = (&evidence.server, arguments.server_version) {
        evidence.server = Some(ServerIdentity { version: Some(version), ..ServerIdentity::default() });
    }
    if evidence.window.is_none() {
        let given = arguments.elapsed.map(|elapsed| elapsed.as_millis() as u64);
        let nowhere = UtcMicros(0);
        evidence.window = given.or_else(|| rows::elapsed_ms(evidence)).map(|elapsed_ms| Window {
            started_at: nowhere,
            ended_at: nowhere,
            elapsed_ms,
        });
    }
    if arguments.scenario.is_some() {
        evidence.scenario.clone_from(&arguments.scenario);
    } else if evidence.scenario.is_none() {
        evidence.scenario = scenario_of(evidence, sessions);
    }
}

/// The scenario whose event and wait type the documents have.
fn scenario_of(evidence: &Evidence, sessions: &Sessions) -> Option<String> {
    let context = &evidence.sessions.first()?.context;
    sessions
        .scenarios()
        .iter()
        .find(|scenario| {
            scenario.main().is_some_and(|main| {
                context.event.as_deref() == Some(main.event.as_str()) && context.wait_type == main.wait_type()
            })
        })
        .map(|scenario| scenario.name.clone())
}
