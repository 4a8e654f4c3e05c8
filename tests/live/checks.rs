//! The checks themselves. Each prints what is worth sending back.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use xestack::model::Table;
use xestack::sqlserver::{Authentication, ConnectOptions, Connection, Encryption, SqlServerError};

const LIMIT: Duration = Duration::from_secs(30);
const WINDOW: &str = "5s";

/// A server and how to reach it.
pub(super) struct TestServer {
    pub server: String,
    pub user: Option<String>,
    pub password: Option<String>,
    pub database: Option<String>,
    pub ca: Option<PathBuf>,
    pub trust: bool,
    /// Whether trace flags may be used: only on a server that nobody needs.
    pub trace_flags: bool,
}

impl TestServer {
    fn command(&self, name: &str, state_dir: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xestack"));
        command.args([name, "-S", &self.server]).args(arguments);
        for variable in ["SQLCMDSERVER", "SQLCMDUSER", "SQLCMDPASSWORD", "SQLCMDDBNAME", "XESTACK_STATE_DIR"] {
            command.env_remove(variable);
        }
        command.env("XESTACK_STATE_DIR", state_dir);
        if let Some(user) = &self.user {
            command.args(["-U", user]);
        }
        if let Some(password) = &self.password {
            command.env("SQLCMDPASSWORD", password);
        }
        if let Some(database) = &self.database {
            command.args(["-d", database]);
        }
        if let Some(ca) = &self.ca {
            command.arg("--ca").arg(ca);
        }
        if self.trust {
            command.arg("-C");
        }
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, name: &str, state_dir: &Path, arguments: &[&str]) -> (i32, Value, String) {
        let Output { status, stdout, stderr } = self.command(name, state_dir, arguments).output().unwrap();
        let err = String::from_utf8_lossy(&stderr).into_owned();
        let code = status.code().unwrap_or(-1);
        let answer = serde_json::from_slice(&stdout).unwrap_or_else(|_| panic!("{name} ended with {code}: {err}"));
        (code, answer, err)
    }

    fn ask(&self, sql: &str) -> Result<Vec<Table>, SqlServerError> {
        let options = ConnectOptions {
            address: self.server.parse().unwrap(),
            authentication: match (&self.user, &self.password) {
                (Some(user), Some(password)) => {
                    Authentication::Password { user: user.clone(), password: password.clone().into() }
                }
                _ => Authentication::Integrated,
            },
            database: self.database.clone(),
            encryption: Encryption::Mandatory,
            trust_certificate: self.trust,
            ca_pem: self.ca.as_ref().map(|ca| std::fs::read_to_string(ca).unwrap()),
            hostname_in_certificate: None,
            login_timeout: LIMIT,
            query_timeout: LIMIT,
            workstation: "live check".to_owned(),
            browser_port: 1434,
            read_only: false,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = Connection::open(&options).await?;
            let answer = connection.run(sql, LIMIT).await;
            connection.close().await;
            answer
        })
    }

    fn is_azure_database(&self) -> bool {
        let edition = self.ask("SELECT CAST(SERVERPROPERTY('EngineEdition') AS int) AS edition").unwrap();
        edition[0].integer(0, "edition") == Some(5)
    }

    /// Sessions of ours, and whether each runs.
    fn sessions_of_ours(&self) -> Vec<(String, bool)> {
        let (defined, running) = if self.is_azure_database() {
            ("sys.database_event_sessions", "sys.dm_xe_database_sessions")
        } else {
            ("sys.server_event_sessions", "sys.dm_xe_sessions")
        };
        let sql = format!(
            "SELECT s.name, CASE WHEN r.name IS NULL THEN 0 ELSE 1 END AS running FROM {defined} AS s \
             LEFT JOIN {running} AS r ON r.name = s.name"
        );
        let table = self.ask(&sql).unwrap().remove(0);
        let rows = 0..table.rows.len();
        rows.filter_map(|row| Some((table.text(row, "name")?.to_owned(), table.integer(row, "running") == Some(1))))
            .filter(|(name, _)| name.starts_with("xestack:"))
            .collect()
    }

    /// Rows of TRACESTATUS; nothing where the server does not have it.
    fn flags(&self) -> Vec<String> {
        let tables = self.ask("DBCC TRACESTATUS (-1) WITH NO_INFOMSGS").unwrap_or_default();
        tables.iter().flat_map(|table| &table.rows).map(|row| format!("{row:?}")).collect()
    }

    fn as_it_is(&self) -> (Vec<(String, bool)>, Vec<String>) {
        (self.sessions_of_ours(), self.flags())
    }
}

/// The server names a version that xestack knows, and doctor says what can be done on it.
pub(super) fn version_is_known(server: &TestServer) {
    let state = tempfile::tempdir().unwrap();
    let (code, doctor, err) = server.run("doctor", state.path(), &["--format", "json"]);
    assert!(matches!(code, 0 | 4 | 5), "doctor ended with {code}: {err}");
    assert!(doctor["server"]["version"].is_string(), "the version is not known: {}", doctor["server"]);
    println!("server: {}", doctor["server"]);
    println!("doctor, exit {code}: {doctor}");
}

/// doctor only looks.
pub(super) fn doctor_changes_nothing(server: &TestServer) {
    let state = tempfile::tempdir().unwrap();
    let before = server.as_it_is();
    let (code, ..) = server.run("doctor", state.path(), &["--format", "json"]);
    println!("doctor: exit {code}");
    assert_eq!(server.as_it_is(), before);
}

/// A capture of each scenario ends with a report and everything as before.
pub(super) fn captures_leave_nothing(server: &TestServer) {
    let state = tempfile::tempdir().unwrap();
    let before = server.as_it_is();
    for scenario in ["sos-yield", "spinlock", "latch", "pagelatch", "log-write", "snapshot", "file-latency"] {
        let mut arguments = vec!["--scenario", scenario, "--for", WINDOW, "--format", "json"];
        arguments.extend(["--max-events-per-second", "1000000"]);
        if server.trace_flags {
            arguments.extend(["--enable-trace-flags", "--force-flags"]);
        }
        let (code, report, err) = server.run("capture", state.path(), &arguments);
        // 5 is an answer too: call stacks without names are partial.
        assert!(matches!(code, 0 | 5), "{scenario} ended with {code}: {err}");
        assert_eq!(report["schema"], "xestack.report/1");
        println!("{scenario}, exit {code}: {}", report["verdict"]["summary"]);
        println!("{scenario}, problems: {}", report["capture"]["problems"]);
        println!("{scenario}, trace flags: {}", report["capture"]["trace_flags"]);
        assert_eq!(server.as_it_is(), before, "{scenario}");
    }
}

/// A capture that is killed leaves its session; `cleanup --dry-run` lists it, `cleanup` removes it.
pub(super) fn a_killed_capture_is_cleaned_up(server: &TestServer) {
    let state = tempfile::tempdir().unwrap();
    let before = server.as_it_is();
    let mut command = server.command("capture", state.path(), &["--scenario", "sos-yield", "--for", "10m"]);
    command.args(["--max-events-per-second", "1000000"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let since = Instant::now();
    while !server.sessions_of_ours().iter().any(|session| session.1 && !before.0.contains(session)) {
        assert!(since.elapsed() < Duration::from_secs(90), "the capture opened no window");
        std::thread::sleep(Duration::from_millis(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (code, listed, err) = server.run("cleanup", state.path(), &["--dry-run", "--format", "json"]);
    println!("cleanup --dry-run, exit {code}: {listed}");
    assert_eq!(code, 6, "{err}");
    assert_ne!(server.as_it_is(), before, "a dry run changes nothing");
    let (code, done, err) = server.run("cleanup", state.path(), &["--format", "json"]);
    println!("cleanup, exit {code}: {done}");
    assert_eq!(code, 0, "{err}");
    assert_eq!(server.as_it_is(), before);
}

/// What no document says, asked of the server: the answers settle rows of docs/fidelity.md.
pub(super) fn open_questions(server: &TestServer) {
    let (scope, name) = if server.is_azure_database() { ("DATABASE", "live_check") } else { ("SERVER", "live_check") };
    let session = |statement: &str| statement.replace("{name}", name).replace("{scope}", scope);
    let ask = |what: &str, sql: &str| match server.ask(sql) {
        Ok(tables) => {
            let shown = tables.iter().map(|table| format!("{:?} {:?}", table.columns, table.rows));
            println!("{what}: {}", shown.collect::<Vec<_>>().join("; "));
        }
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            println!("{what}: refused: {error}: {cause}");
        }
    };
    ask("product", "SELECT @@VERSION AS version");
    ask(
        "key of SOS_SCHEDULER_YIELD",
        "SELECT m.name, m.map_key FROM sys.dm_xe_map_values AS m WHERE m.map_value = N'SOS_SCHEDULER_YIELD'",
    );
    ask(
        "spinlock maps",
        "SELECT m.name, COUNT(*) AS n FROM sys.dm_xe_map_values AS m WHERE m.name LIKE N'%spinlock_types' GROUP BY m.name",
    );
    ask(
        "fields of spinlock_backoff",
        "SELECT c.name, c.type_name, c.column_type FROM sys.dm_xe_object_columns AS c WHERE c.object_name = N'spinlock_backoff'",
    );
    ask("a missing session", &session("DROP EVENT SESSION [{name}] ON {scope}"));
    ask(
        "CREATE with an old target name",
        &session(
            "CREATE EVENT SESSION [{name}] ON {scope} ADD EVENT sqlos.wait_info (WHERE package0.counter <= 1) \
             ADD TARGET package0.asynchronous_bucketizer (SET slots = 3, source_type = 0, source = N'wait_type')",
        ),
    );
    ask("START", &session("ALTER EVENT SESSION [{name}] ON {scope} STATE = START"));
    ask("START again", &session("ALTER EVENT SESSION [{name}] ON {scope} STATE = START"));
    ask(
        "the only event of a running session",
        &session("ALTER EVENT SESSION [{name}] ON {scope} DROP EVENT sqlos.wait_info"),
    );
    let targets = if scope == "DATABASE" { "sys.dm_xe_database_session_targets" } else { "sys.dm_xe_session_targets" };
    let running = if scope == "DATABASE" { "sys.dm_xe_database_sessions" } else { "sys.dm_xe_sessions" };
    ask(
        "its target afterwards",
        &format!(
            "SELECT t.target_name, CAST(t.target_data AS nvarchar(400)) AS target_data FROM {running} AS s \
             JOIN {targets} AS t ON t.event_session_address = s.address WHERE s.name = N'{name}'"
        ),
    );
    ask("STOP", &session("ALTER EVENT SESSION [{name}] ON {scope} STATE = STOP"));
    ask("STOP again", &session("ALTER EVENT SESSION [{name}] ON {scope} STATE = STOP"));
    ask("DROP", &session("DROP EVENT SESSION [{name}] ON {scope}"));
    assert!(server.sessions_of_ours().iter().all(|(other, _)| other != name));
}
