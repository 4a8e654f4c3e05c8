//! Owns the arguments, as clap reads them.

use crate::agent::run::RunId;
use crate::model::ServerVersion;
use crate::report::Format;
use crate::simulator::permissions::Account;
use clap::{Args, Parser, Subcommand, ValueEnum};
use secrecy::SecretString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  xestack demo                               a whole capture, on a simulated server
  xestack sql --scenario sos-yield --server-version 2019
                                             every statement a capture would send
  xestack doctor -S db1 -U dba               what this login may do there, and what is missing
  xestack capture -S db1 -U dba --scenario auto --for 60s
                                             one window on a real server, of what its counters point at
  xestack cleanup -S db1 -U dba --dry-run    what captures that died have left
  xestack analyze target.xml --event sqlos.wait_info --wait-type SOS_SCHEDULER_YIELD
                                             what a saved histogram shows
  xestack analyze --before waits1.csv --after waits2.csv --elapsed 60s
                                             what counters saved by hand show
  xestack report 20260131T024000Z-0a1b2c3d.zip
                                             a bundle's report again
  xestack catalog check ours                 whether a site's own scenarios and rules are right

Exit codes: 0 done, 1 internal error, 2 usage, 3 no connection or login, 4 refused,
5 done but partial, 6 something of ours remains on the server, 7 input unreadable,
130 interrupted and everything restored.";

/// Where do these waits come from? Bounded Extended Events and call-stack captures for SQL Server.
#[derive(Debug, Parser)]
#[command(name = "xestack", version, after_help = EXAMPLES, max_term_width = 100, propagate_version = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    /// Log what is done to standard error; twice for more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Folder with a site's scenarios, rules and glossaries, beside the built-in ones; may be given several times.
    #[arg(long, global = true, value_name = "DIR")]
    pub catalog: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "made once, by clap")]
pub(super) enum Command {
    /// A whole capture against an embedded simulated server.
    #[command(
        after_help = "Examples:\n  xestack demo\n  xestack demo --for 3s --format json\n  xestack demo --server-version 2022"
    )]
    Demo(DemoArguments),
    /// One capture window on a server; everything is put back.
    #[command(
        after_help = "Examples:\n  SQLCMDPASSWORD=... xestack capture -S db1 -U dba --scenario sos-yield --queries\n  \
                            xestack capture -S db1 -U dba --scenario auto\n  \
                            xestack capture -S db1 -U dba --scenario file-latency --every 5s --for 10m\n  \
                            xestack capture -S tcp:db1,14330 -U dba --scenario sos-yield --for 30s --enable-trace-flags"
    )]
    Capture(CaptureArguments),
    /// What this login may do on a server, what each scenario would run and cost there, and what is missing. Changes nothing.
    #[command(after_help = "Examples:\n  SQLCMDPASSWORD=... xestack doctor -S db1 -U dba\n  \
                            xestack doctor -S db1 -U dba --scenario sos-yield --format json\n\n\
                            Exit codes: 0 all scenarios ready, 5 some with counters only or something not known, 4 none possible.")]
    Doctor(DoctorArguments),
    /// Undoes what captures that died have left on a server.
    #[command(after_help = "Examples:\n  xestack cleanup -S db1 -U dba --dry-run\n  xestack cleanup -S db1 -U dba\n  \
                            xestack cleanup -S db1 -U dba --force 20260131T024000Z-0a1b2c3d\n\nWhat a run left is undone once it \
                            is dead: its process on this machine is gone, or, for one of another machine, its deadline has \
                            passed by a minute on the server's clock. What is not by name and checksum of xestack is never \
                            touched. A broken connection is tried again for 60 s.\n\nExit codes: 0 nothing of a dead run \
                            remains, 6 something does; others as for capture.")]
    Cleanup(CleanupArguments),
    /// Every statement that a capture would send; nothing is sent.
    Sql(SqlArguments),
    /// What saved target XML, pasted stacks, bundles or rows of views show.
    #[command(after_help = ANALYZE_HELP)]
    Analyze(AnalyzeArguments),
    /// Analyses a bundle again.
    Report(ReportArguments),
    /// A site's own scenarios, rules and glossaries.
    #[command(subcommand)]
    Catalog(CatalogCommand),
    /// The simulated server on its own.
    #[command(
        after_help = "Example:\n  xestack simulate --listen 127.0.0.1:14330 --workload lock-hash --server-version 2019"
    )]
    Simulate(SimulateArguments),
}

const ANALYZE_HELP: &str = "\
Examples:
  xestack analyze target.xml --event sqlos.wait_info --wait-type SOS_SCHEDULER_YIELD
  pbpaste | xestack analyze -
  xestack analyze --before waits1.csv --after waits2.csv --elapsed 60s
  xestack analyze --before a.json --after b.json --scenario log-write
  xestack analyze target.xml --before spins1.csv --before waits1.csv --after spins2.csv --after waits2.csv

Saved rows are CSV with a header line (comma, semicolon or tab) or JSON: an array of objects, {\"columns\": [..], \
\"rows\": [[..]]}, an object of such tables by their views' names, or an object a line. Which view a table is of is told by \
the names of its columns, as views or common tools write them, in any case. A CSV file holds one table. Columns in seconds \
(Wait_S) become milliseconds, rounded. In 1,234 and 1 234 the digits stand in groups; in 0,07 the comma is decimal. Without \
--elapsed the time is that of sys.dm_os_sys_info.ms_ticks or sample_ms of the files, where it is there.";

/// What is done with a site's folders.
#[derive(Debug, Subcommand)]
pub(super) enum CatalogCommand {
    /// Tells everything that is wrong in a site's folders, with path and line. Nothing is sent anywhere.
    #[command(
        after_help = "Examples:\n  xestack catalog check ours\n  xestack sql --catalog ours --scenario cmemthread \
                            --server-version 2019\n\nA folder holds sessions/<name>/scenario.toml, \
                            sessions/<name>/verdict.toml, and symbols/ with rules, plumbing, areas, spinlocks, latches and \
                            waits, each .toml.\n\nExit codes: 0 all is right, 2 something is not."
    )]
    Check {
        /// The site's folders, read together.
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
    },
}

/// How a report is printed.
#[derive(Debug, Clone, Args)]
pub(super) struct ReportOutput {
    /// Format of the report: text or json.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Write the report to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct DemoArguments {
    /// What is investigated; several are joined with `+`; `auto` looks at the counters first and chooses one.
    #[arg(long, value_name = "SCENARIO", default_value = "sos-yield")]
    pub scenario: String,
    /// What the simulated server does; the scenario's own without it.
    #[arg(long, value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// Version of the simulated server.
    #[arg(long, value_name = "VERSION", default_value = "2019")]
    pub server_version: ServerVersion,
    /// Length of the window.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = window_length)]
    pub window: Duration,
    /// Do not opt in to trace flags.
    #[arg(long)]
    pub no_trace_flags: bool,
    /// Use trace flags even where the server's version makes them needless.
    #[arg(long, conflicts_with = "no_trace_flags")]
    pub force_flags: bool,
    #[command(flatten)]
    pub filters: FilterArguments,
    /// Pace of the series of counters that scenario file-latency takes inside the window.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = pace)]
    pub every: Duration,
    /// Seed of the simulated server.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Make the simulated server behave otherwise: NAME[=VALUE][@STATEMENT][#INSTANCE].
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<String>,
    /// Let the simulated server listen here, so that other clients can look on.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Keep the simulated server up that long after the report.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub linger: Duration,
    /// Write a bundle with the raw evidence.
    #[arg(long, value_name = "FILE")]
    pub bundle: Option<PathBuf>,
    /// Folder for the journal; a temporary one without it.
    #[arg(long, value_name = "FOLDER")]
    pub state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOutput,
}

#[derive(Debug, Args)]
pub(super) struct CaptureArguments {
    /// What is investigated; several are joined with `+`; `auto` looks at the counters first and chooses one.
    #[arg(long, value_name = "SCENARIO")]
    pub scenario: String,
    /// Length of the window.
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = window_length)]
    pub window: Duration,
    #[command(flatten)]
    pub bounds: BoundArguments,
    #[command(flatten)]
    pub guards: GuardArguments,
    #[command(flatten)]
    pub filters: FilterArguments,
    #[command(flatten)]
    pub trace_flags: TraceFlagArguments,
    /// Take the counters only and make no event session: there are no call stacks then. Without the rights for event
    /// sessions a capture does this by itself, and says what is missing (exit 5).
    #[arg(long, conflicts_with = "enable_trace_flags")]
    pub counters_only: bool,
    /// Pace of the series of counters that scenario file-latency takes inside the window; at least 1 s.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = pace)]
    pub every: Duration,
    /// Take N windows, one after the other, and say how far they agree; each leaves its bundle in the state folder.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Write the bundle here instead of <state dir>/bundles/<run id>.zip.
    #[arg(long, value_name = "FILE", conflicts_with = "repeat")]
    pub bundle: Option<PathBuf>,
    /// Folder for journals and bundles.
    #[arg(long, value_name = "FOLDER", env = "XESTACK_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOutput,
    // Last: its heading would cover what comes after it.
    #[command(flatten)]
    pub connection: ConnectionArguments,
}

/// The scenario's bounds, otherwise.
#[derive(Debug, Clone, Args)]
pub(super) struct BoundArguments {
    /// Slots of the histogram.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub slots: Option<u64>,
    /// Events after which the session stops counting.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_events: Option<u64>,
    /// Predicted events a second above which the capture is refused.
    #[arg(long, value_name = "N")]
    pub max_events_per_second: Option<u64>,
}

/// What an open window may do to the server before it is ended.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_field_names, reason = "the names of the options")]
pub(super) struct GuardArguments {
    /// Dropped events above which the window is ended.
    #[arg(long, value_name = "N")]
    pub max_dropped_events: Option<u64>,
    /// SQL Server's share of its schedulers, in percent, above which the window is ended where it has grown.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_cpu_share: Option<f64>,
    /// Percentage points by which that share must have grown since before the window.
    #[arg(long, value_name = "POINTS", value_parser = percent)]
    pub max_cpu_growth: Option<f64>,
    /// Share of one core, in percent, that reading counters and samples may take.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_own_cpu_share: Option<f64>,
}

/// Which events are counted.
#[derive(Debug, Clone, Args)]
pub(super) struct FilterArguments {
    /// Only events in this database.
    #[arg(long, value_name = "DATABASE")]
    pub database: Option<String>,
    /// Only events of this session.
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u64).range(1..=32_767))]
    pub session_id: Option<u64>,
    /// Only each n-th event; shares stay, counts are of the sample.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub sample: Option<u64>,
    /// Scenario spinlock: this spinlock instead of the dominant ones; may be given several times.
    #[arg(long, value_name = "NAME", conflicts_with = "all_types")]
    pub spinlock: Vec<String>,
    /// Scenario spinlock: every spinlock.
    #[arg(long)]
    pub all_types: bool,
    /// Bucket the events by statement too, in a further event session, and name the statements where the login may see
    /// them. Their texts are then in the report and the bundle.
    #[arg(long)]
    pub queries: bool,
}

/// The opt-in to trace flags.
#[derive(Debug, Clone, Args)]
pub(super) struct TraceFlagArguments {
    /// Let the server name the frames: trace flag 3656 (from 2019 with 2592) around one read. It loads symbol files
    /// inside the server and can stall it; read about it in the README before using it in production.
    #[arg(long)]
    pub enable_trace_flags: bool,
    /// With it: on globally for the whole window.
    #[arg(long, requires = "enable_trace_flags")]
    pub flags_during_window: bool,
    /// With it: even where the policy refuses.
    #[arg(long, requires = "enable_trace_flags")]
    pub force_flags: bool,
}

#[derive(Debug, Args)]
pub(super) struct DoctorArguments {
    /// A scenario to judge; may be given several times. All without it.
    #[arg(long, value_name = "SCENARIO")]
    pub scenario: Vec<String>,
    /// Length of the window that is thought of.
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = window_length)]
    pub window: Duration,
    #[command(flatten)]
    pub report: ReportOutput,
    // Last: its heading would cover what comes after it.
    #[command(flatten)]
    pub connection: ConnectionArguments,
}

#[derive(Debug, Args)]
pub(super) struct SqlArguments {
    /// What is investigated; several are joined with `+`.
    #[arg(long, value_name = "SCENARIO")]
    pub scenario: String,
    /// Version of the server.
    #[arg(long, value_name = "VERSION")]
    pub server_version: ServerVersion,
    /// Length of the window.
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = window_length)]
    pub window: Duration,
    #[command(flatten)]
    pub bounds: BoundArguments,
    #[command(flatten)]
    pub filters: FilterArguments,
    #[command(flatten)]
    pub trace_flags: TraceFlagArguments,
}

#[derive(Debug, Args)]
pub(super) struct CleanupArguments {
    /// Only list what there is and what would be done.
    #[arg(long)]
    pub dry_run: bool,
    /// Give up this run of another machine before its deadline; only when it is certain that it is dead.
    #[arg(long, value_name = "RUN_ID")]
    pub force: Option<RunId>,
    /// Folder with the journals of this machine.
    #[arg(long, value_name = "FOLDER", env = "XESTACK_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOutput,
    // Last: its heading would cover what comes after it.
    #[command(flatten)]
    pub connection: ConnectionArguments,
}

#[derive(Debug, Args)]
pub(super) struct AnalyzeArguments {
    /// Bundles, target XML or pasted stacks; `-` is standard input. All are one set of evidence.
    #[arg(required_unless_present_any = ["before", "after"], value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Saved rows of a view at the start, CSV or JSON; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub before: Vec<PathBuf>,
    /// Saved rows of a view at the end; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub after: Vec<PathBuf>,
    /// What is asked of them, by a scenario's name; without it the files tell.
    #[arg(long, value_name = "SCENARIO")]
    pub scenario: Option<String>,
    /// The event that was counted, for example sqlos.wait_info.
    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,
    /// The wait type it was filtered to, for example SOS_SCHEDULER_YIELD.
    #[arg(long, value_name = "WAIT_TYPE")]
    pub wait_type: Option<String>,
    /// Version of the server it came from.
    #[arg(long, value_name = "VERSION")]
    pub server_version: Option<ServerVersion>,
    /// How long was counted, and between the saved rows.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub elapsed: Option<Duration>,
    #[command(flatten)]
    pub report: ReportOutput,
}

#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// The bundle.
    #[arg(value_name = "BUNDLE")]
    pub bundle: PathBuf,
    #[command(flatten)]
    pub report: ReportOutput,
}

#[derive(Debug, Args)]
pub(super) struct SimulateArguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:14330")]
    pub listen: SocketAddr,
    /// How many instances to simulate, on this port and those that follow, or on free ones.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub instances: u16,
    /// What the server does.
    #[arg(long, value_name = "WORKLOAD", default_value = "lock-hash")]
    pub workload: String,
    /// Version of the server.
    #[arg(long, value_name = "VERSION", default_value = "2019")]
    pub server_version: ServerVersion,
    /// NAME[=VALUE][@STATEMENT][#INSTANCE]: behave otherwise, or fail.
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<String>,
    /// Work in bursts of this length from the START of an event session, instead of steadily.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub burst: Option<Duration>,
    /// What a full histogram does with new values.
    #[arg(long, value_name = "HOW", default_value = "fold")]
    pub overflow: OverflowArgument,
    /// Seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// NAME[=RIGHT[,RIGHT]...]: one more login, with sa's password and these permissions or roles (sysadmin, VIEW SERVER
    /// STATE, VIEW DATABASE STATE, ...).
    #[arg(long, value_name = "LOGIN")]
    pub login: Vec<Account>,
    /// Trace flags on from the start, as with the server's -T.
    #[arg(long, value_name = "FLAG")]
    pub startup_flag: Vec<u32>,
    /// Encryption that the server offers.
    #[arg(long, value_name = "HOW", default_value = "on")]
    pub tls: TlsArgument,
    /// Let a SQL Server Browser answer here over UDP; it names the instances SIM1, SIM2 and so on.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub browser: Option<SocketAddr>,
    /// Write the certificate to trust (PEM) to this file; not with --tls off.
    #[arg(long, value_name = "FILE")]
    pub tls_cert_out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TlsArgument {
    /// None.
    Off,
    /// TDS 7 with TLS inside, as much of it as the client asks for.
    On,
    /// The same, and every client must (Force Encryption).
    Forced,
    /// TDS 8: TLS before everything (Encrypt=strict).
    Strict,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum OverflowArgument {
    /// Counted in slots that exist.
    Fold,
    /// Not counted.
    Ignore,
}

/// sqlcmd's flags and variables, and where secrets may come from.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection (as sqlcmd)")]
pub(super) struct ConnectionArguments {
    /// Server: [tcp:|admin:]host[\instance][,port].
    #[arg(short = 'S', long, value_name = "SERVER", env = "SQLCMDSERVER")]
    pub server: String,
    /// Login name [env: SQLCMDUSER].
    #[arg(short = 'U', long = "user-name", value_name = "LOGIN")]
    pub user: Option<String>,
    /// Password, for every user of this machine to see. Better: SQLCMDPASSWORD, a file, a command, or the prompt, in this
    /// order; what is given here or by one of the next two options goes before SQLCMDPASSWORD.
    #[arg(short = 'P', long, value_name = "PASSWORD", value_parser = secret, allow_hyphen_values = true,
          conflicts_with_all = ["password_file", "password_command", "trusted_connection"])]
    pub password: Option<SecretString>,
    /// File with the password, in one line; refused where others may read it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["password_command", "trusted_connection"])]
    pub password_file: Option<PathBuf>,
    /// Command that prints the password; run by the shell, for a minute at most.
    #[arg(long, value_name = "COMMAND", conflicts_with = "trusted_connection")]
    pub password_command: Option<String>,
    /// Windows authentication as the current user; also without -U.
    #[arg(short = 'E', long, conflicts_with_all = ["user", "entra"])]
    pub trusted_connection: bool,
    /// Microsoft Entra authentication with an access token [env: XESTACK_ACCESS_TOKEN].
    #[arg(short = 'G', long = "use-aad", id = "entra")]
    pub entra: bool,
    /// File with the access token; refused where others may read it.
    #[arg(long, value_name = "FILE", requires = "entra", conflicts_with = "access_token_command")]
    pub access_token_file: Option<PathBuf>,
    /// Command that prints the access token.
    #[arg(long, value_name = "COMMAND", requires = "entra")]
    pub access_token_command: Option<String>,
    /// Initial database.
    #[arg(short = 'd', long, value_name = "DATABASE", env = "SQLCMDDBNAME")]
    pub database_name: Option<String>,
    /// Encryption: strict (TDS 8), mandatory, optional (the login only) or disable.
    #[arg(short = 'N', long, value_name = "HOW", num_args = 0..=1, default_value = "mandatory", default_missing_value = "mandatory")]
    pub encrypt_connection: String,
    /// Trust the server's certificate without validating it; without effect with -N strict.
    #[arg(short = 'C', long)]
    pub trust_server_certificate: bool,
    /// Certificates to trust beside this machine's (PEM or DER).
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Name expected in the certificate instead of the host's.
    #[arg(short = 'F', long, value_name = "NAME")]
    pub host_name_in_certificate: Option<String>,
    /// Seconds for finding the server, connecting and logging in; 0 = no limit.
    #[arg(short = 'l', long, value_name = "SECONDS", env = "SQLCMDLOGINTIMEOUT", default_value_t = 15, value_parser = clap::value_parser!(u64).range(0..=65_534))]
    pub login_timeout: u64,
    /// Seconds for each statement; 0 = no limit, except while things are put back.
    #[arg(short = 't', long, value_name = "SECONDS", env = "SQLCMDSTATTIMEOUT", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=65_534))]
    pub query_timeout: u64,
    /// Workstation name shown to the server.
    #[arg(short = 'H', long, value_name = "NAME", env = "SQLCMDWORKSTATION")]
    pub workstation_name: Option<String>,
    /// ReadOnly or ReadWrite.
    #[arg(short = 'K', long, value_name = "INTENT")]
    pub application_intent: Option<String>,
    /// UDP port of the SQL Server Browser, which tells the ports of named instances.
    #[arg(long, value_name = "PORT", default_value_t = 1434, value_parser = clap::value_parser!(u16).range(1..))]
    pub browser_port: u16,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape that clap asks for")]
fn secret(text: &str) -> Result<SecretString, std::convert::Infallible> {
    Ok(SecretString::new(text.into()))
}

/// `90`, `90s`, `500ms`, `2m`, `1h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits).unwrap_or_default();
    let seconds_per_unit = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("unknown unit `{unit}`; use ms, s, m or h")),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{text}` is no time; write 90s, 500ms, 2m or 1h"))?;
    Duration::try_from_secs_f64(number * seconds_per_unit).map_err(|error| error.to_string())
}

/// A share from 0 to 100 percent, given with or without the sign.
fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim_end_matches('%').parse().map_err(|_| format!("`{text}` is no percentage"))?;
    if (0.0..=100.0).contains(&number) {
        Ok(number / 100.0)
    } else {
        Err("a share lies between 0 and 100 %".to_owned())
    }
}

/// A window is bounded: a second to a day.
fn window_length(text: &str) -> Result<Duration, String> {
    let length = duration(text)?;
    if length < Duration::from_secs(1) || length > Duration::from_hours(24) {
        return Err("a window lasts from 1s to 24h".to_owned());
    }
    Ok(length)
}

/// The pace of a series: a second to an hour.
fn pace(text: &str) -> Result<Duration, String> {
    let pace = duration(text)?;
    if pace < Duration::from_secs(1) || pace > Duration::from_hours(1) {
        return Err("a series has a pace from 1s to 1h".to_owned());
    }
    Ok(pace)
}

#[cfg(test)]
mod tests {
    use super::{Arguments, duration, percent};
    use clap::CommandFactory as _;
    use std::time::Duration;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn percentages_are_shares() {
        assert_eq!(percent("98"), Ok(0.98));
        assert_eq!(percent("2.5%"), Ok(0.025));
        for wrong in ["", "x", "-1", "101", "NaN", "%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_read_with_their_unit() {
        for (text, millis) in [("90", 90_000), ("1.5s", 1500), ("500ms", 500), ("2m", 120_000), ("1h", 3_600_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for wrong in ["", "s", "-1s", "1d", "x", "1e400", "NaN", "inf", "1 s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
