//! Owns `xestack cleanup`: what dead runs left on a server is undone, or listed.

use crate::agent::clock::MachineClock;
use crate::agent::progress::Interrupt;
use crate::agent::run::{Life, Owner};
use crate::agent::{
    Answer, CleanupOptions, CleanupOutcome, LeftBehind, Sent, Surroundings,
    cleanup::{CleanupRun, Place},
};
use crate::catalog::Catalog;
use crate::cli::args::CleanupArguments;
use crate::cli::connect;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Printer, check_writable};
use crate::cli::state_dir;
use crate::report::{self, Format};
use serde::Serialize;
use std::fmt::Write as _;
use std::sync::Arc;

/// Columns of the text. Statements are not broken: they are there to be copied.
const WIDTH: usize = 80;

pub(in crate::cli) async fn run(
    arguments: CleanupArguments,
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
    let state_dir = state_dir::resolve(arguments.state_dir.as_deref())?;
    check_writable(arguments.report.output.as_deref())?;
    let options = CleanupOptions { dry_run: arguments.dry_run, force: arguments.force, state_dir };
    let outcome = Box::pin(crate::agent::cleanup(&surroundings, &options)).await?;
    let text = match arguments.report.format {
        Format::Json => json(&outcome)?,
        Format::Text => text(&outcome),
    };
    printer.answer(&arguments.report, |_| text)?;
    Ok(if outcome.left_behind.is_empty() { Exit::Done } else { Exit::LeftBehind })
}

fn json(outcome: &CleanupOutcome) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        #[serde(flatten)]
        outcome: &'a CleanupOutcome,
    }
    let document = Document { schema: "xestack.cleanup/1", outcome };
    let text = serde_json::to_string_pretty(&document).map_err(|error| Failure::new(Exit::Internal, error))?;
    Ok(text + "\n")
}

fn text(outcome: &CleanupOutcome) -> String {
    let mut text = Text::default();
    let CleanupOutcome { server, address, product_version, runs, .. } = outcome;
    let name = if server.is_empty() { address } else { server };
    text.line(0, &format!("Runs of xestack on {name} ({product_version})"));
    if runs.is_empty() {
        text.line(0, "none");
    }
    for run in runs {
        text.blank();
        text.run(run, outcome.dry_run);
    }
    if !outcome.foreign.is_empty() {
        text.blank();
        text.line(0, "Not xestack's, though alike; not touched");
        for name in &outcome.foreign {
            text.whole(2, name);
        }
    }
    if !outcome.elsewhere.is_empty() {
        text.blank();
        text.line(0, "Runs on other servers that this machine's journals show unfinished");
        for run in &outcome.elsewhere {
            text.line(2, &format!("{}: xestack cleanup -S {}", run.run_id, run.server));
        }
    }
    for problem in &outcome.problems {
        text.blank();
        text.line(0, &format!("{}: {}", problem.code, problem.message));
    }
    text.blank();
    text.conclusion(outcome);
    text.0
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn blank(&mut self) {
        self.0.push('\n');
    }

    /// A line of its own, whatever its length.
    fn whole(&mut self, indent: usize, line: &str) {
        // Writing to a String cannot fail.
        let _ignored = writeln!(self.0, "{:indent$}{}", "", report::visible(line));
    }

    /// Words, over as many lines as they need.
    fn line(&mut self, indent: usize, words: &str) {
        self.words(indent, "", words);
    }

    /// Words beside a label.
    fn field(&mut self, label: &str, words: &str) {
        self.words(2, &format!("{label:<9}"), words);
    }

    fn words(&mut self, indent: usize, label: &str, words: &str) {
        let indent = indent + label.len();
        let mut label = label;
        let mut line = String::new();
        for word in words.split_whitespace() {
            if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.whole(indent - label.len(), &format!("{label}{line}"));
                label = "";
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.whole(indent - label.len(), &format!("{label}{line}"));
    }

    fn run(&mut self, run: &CleanupRun, dry_run: bool) {
        self.whole(0, &format!("{}  {}", run.run_id, run.scenarios.join("+")));
        if let Some(started) = run.started_at {
            self.field("started", &seconds(&started.to_string()));
        }
        let owner = match run.owner {
            Place::ThisMachine => format!("this machine, process {}", run.process),
            Place::AnotherMachine => "another machine".to_owned(),
        };
        self.field("owner", &owner);
        self.field("state", &state(run));
        for session in &run.sessions {
            let how = match (session.shown, session.running) {
                (true, true) => "running",
                (true, false) => "stopped",
                (false, _) => "not shown by the server, known from the journal",
            };
            self.field("session", how);
            self.whole(4, &session.name);
        }
        if !run.flags.is_empty() {
            let flags: Vec<String> = run.flags.iter().map(ToString::to_string).collect();
            self.field("flags", &format!("{} on globally", flags.join(", ")));
        }
        for left in &run.handed_over {
            self.field("flag", &format!("{} stays on: run {} may use it", left.flag, left.to));
        }
        if !run.dead {
            return;
        }
        self.line(2, if dry_run { "to do" } else { "done" });
        if run.statements.is_empty() {
            self.line(4, "nothing");
        }
        for sent in &run.statements {
            let Sent { statement, result, error } = sent;
            self.whole(4, statement);
            if !dry_run {
                let number = error.map(|number| format!(" ({number})")).unwrap_or_default();
                self.line(6, &format!("{}{number}", answer(*result)));
            }
        }
    }

    fn conclusion(&mut self, outcome: &CleanupOutcome) {
        if outcome.left_behind.is_empty() {
            self.line(0, "Nothing of a dead run remains on the server.");
            return;
        }
        self.line(0, "Of dead runs there remains on the server");
        for LeftBehind { what, statement } in &outcome.left_behind {
            self.whole(2, what);
            self.whole(4, statement);
        }
        if outcome.dry_run {
            self.line(0, "xestack cleanup without --dry-run undoes it.");
        }
    }
}

/// How a run stands, and why.
fn state(run: &CleanupRun) -> String {
    let deadline = seconds(&run.deadline.to_string());
    match run.life {
        Life::Runs => "live: its process runs; left alone".to_owned(),
        Life::MayLive if run.forced => "given up as you say".to_owned(),
        Life::MayLive => format!("may be live until {deadline} of the server's clock; left alone"),
        Life::ProcessGone => "dead: its process is gone".to_owned(),
        Life::OtherBoot => "dead: this machine was started anew since".to_owned(),
        Life::DeadlinePassed => format!("dead: its deadline, {deadline}, has passed"),
    }
}

/// A time without its fraction.
fn seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, _)) => format!("{}Z", whole.replace('T', " ")),
        None => time.to_owned(),
    }
}

fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::NotSent => "not sent",
        Answer::Done => "done",
        Answer::AlreadySo => "was so already",
        Answer::Refused => "refused by the server",
        Answer::NotAnswered => "not answered",
    }
}
