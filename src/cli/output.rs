//! Owns what is printed where: results on standard output, everything else on standard error, colours and progress bars
//! only where a person looks.

use crate::agent::progress::{Observer, Progress};
use crate::cli::args::ReportOutput;
use crate::cli::exit::{Exit, Failure};
use crate::model::Report;
use crate::report::{self, Style};
use crate::store::private_file;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Narrowest and widest report.
const WIDTHS: std::ops::RangeInclusive<usize> = 80..=120;

/// Prints.
#[derive(Clone)]
pub(super) struct Printer {
    bar: ProgressBar,
    verbose: u8,
}

impl Printer {
    /// A printer, with logging set up for as many `-v` as were given.
    pub(super) fn new(verbose: u8) -> Self {
        let filter = match verbose {
            // tiberius logs every error of a server, expected ones too.
            0 => "warn,tiberius=off",
            1 => "info,tiberius=off",
            2 => "debug,tiberius=info",
            // Never more of tiberius: it would write rows and messages as they pass.
            _ => "trace,tiberius=info",
        };
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
            .with_writer(io::stderr)
            .with_ansi(colour_on(&io::stderr()))
            .finish();
        // A second one in the same process (tests) leaves the first in place.
        let _ignored = tracing::subscriber::set_global_default(subscriber);
        let target =
            if io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        Self { bar, verbose }
    }

    /// A printer before anything is known.
    pub(super) fn plain() -> Self {
        Self { bar: ProgressBar::hidden(), verbose: 0 }
    }

    /// A line on standard error.
    #[expect(clippy::print_stderr, reason = "this is the one place that writes there")]
    pub(super) fn note(&self, text: &str) {
        self.bar.suspend(|| {
            for line in text.lines() {
                eprintln!("{}", report::visible(line));
            }
        });
    }

    /// Text on standard output. A reader that has gone away is no error of ours.
    #[expect(clippy::unused_self, reason = "printing goes through a printer")]
    pub(super) fn result(&self, text: &str) -> Result<(), Failure> {
        let mut out = anstream::AutoStream::auto(io::stdout());
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(Exit::Internal, error)),
            _ => Ok(()),
        }
    }

    /// A report where it was asked for.
    pub(super) fn report(&self, report: &Report, output: &ReportOutput) -> Result<(), Failure> {
        self.answer(output, |style| report::render(output.format, report, style))
    }

    /// What a command found, where it was asked for.
    pub(super) fn answer(&self, output: &ReportOutput, render: impl FnOnce(&Style) -> String) -> Result<(), Failure> {
        self.bar.finish_and_clear();
        let file = output.output.as_deref().filter(|path| !is_standard_output(path));
        let to_file = file.is_some();
        let width = terminal_width().clamp(*WIDTHS.start(), *WIDTHS.end());
        let style = Style {
            width: if to_file { *WIDTHS.start() } else { width },
            colour: !to_file && colour_on(&io::stdout()),
        };
        let text = render(&style);
        let Some(path) = file else { return self.result(&text) };
        private_file::write_atomic(path, text.as_bytes()).map_err(|error| {
            Failure::new(Exit::Usage, anyhow::Error::new(error).context(format!("cannot write {}", path.display())))
        })?;
        self.note(&format!("report: {}", path.display()));
        Ok(())
    }

    /// An error with its causes and remedy; gives its exit code.
    pub(super) fn report_failure(&self, failure: &Failure) -> Exit {
        self.bar.finish_and_clear();
        if failure.exit == Exit::Interrupted {
            self.note("interrupted; everything is as before");
            return failure.exit;
        }
        let mut causes: Vec<String> = failure.error.chain().map(ToString::to_string).collect();
        // Transparent wrappers say the same twice.
        causes.dedup();
        self.note(&format!("xestack: {}", causes.join(": ")));
        if let Some(hint) = &failure.hint {
            self.note(&format!("hint: {hint}"));
        }
        failure.exit
    }

    /// An error without a remedy.
    pub(super) fn failure(&self, exit: Exit, error: &anyhow::Error) -> Exit {
        self.note(&format!("xestack: {error:#}"));
        exit
    }

    /// Tells a capture's progress: a bar on a terminal, notes everywhere.
    pub(super) fn observer(&self) -> Observer {
        let printer = self.clone();
        Arc::new(move |progress| printer.show(progress))
    }

    fn show(&self, progress: &Progress) {
        match progress {
            Progress::Note(text) => self.note(text),
            Progress::Connected { server, product_version } => {
                self.spin(&format!("connected to {server} ({product_version}), looking at the event rate"));
                if self.verbose > 0 {
                    self.note(&format!("connected to {server} ({product_version})"));
                }
            }
            Progress::WindowOpened { length } => {
                self.bar.set_style(style("{msg} [{bar:30}] {pos}/{len} s"));
                self.bar.set_length(length.as_secs());
                self.bar.set_message("window open");
            }
            Progress::Surveying { length } => {
                self.spin(&format!("counting which types there are, {} s", length.as_secs()));
            }
            Progress::WindowElapsed(elapsed) => self.bar.set_position(elapsed.as_secs()),
            Progress::Reading => self.spin("window closed, reading the target"),
            Progress::Symbolising => self.spin("reading the target with trace flags on"),
            Progress::Restoring => self.spin("putting everything back"),
            Progress::Restored => {
                self.bar.finish_and_clear();
                if self.verbose > 0 {
                    self.note("everything is as before");
                }
            }
        }
    }

    fn spin(&self, message: &str) {
        self.bar.set_style(style("{spinner} {msg}"));
        self.bar.set_message(report::visible(message));
        self.bar.enable_steady_tick(Duration::from_millis(120));
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn colour_on(stream: &impl anstream::stream::RawStream) -> bool {
    anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never
}

fn terminal_width() -> usize {
    // `COLUMNS` is what a terminal's shell knows; without it 80 columns fit everywhere.
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(*WIDTHS.start())
}

/// Written to as it is: a file put in its place would take it away from every other program.
fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// Finds out that a file given for a result cannot be written before there is a result to lose.
pub(super) fn check_writable(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path.filter(|path| !is_standard_output(path)) else { return Ok(()) };
    private_file::check_writable(path).map_err(|error| {
        Failure::new(Exit::Usage, anyhow::Error::new(error).context(format!("cannot write {}", path.display())))
    })
}

/// clap's own word on wrong arguments, help and version.
pub(super) fn usage(error: &clap::Error) -> Exit {
    // Nothing can be done about a closed stream.
    let _ignored = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}
