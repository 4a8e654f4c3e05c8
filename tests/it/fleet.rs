//! Many servers captured by one process at once: all complete, all restored. The captures run in a process of their own, so
//! that its memory is theirs alone.

use crate::capture::connect_options;
use serde::{Deserialize, Serialize};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use xestack::agent::clock::MachineClock;
use xestack::agent::progress::{Interrupt, Progress};
use xestack::agent::run::Owner;
use xestack::agent::{self, CaptureOptions, Surroundings, TraceFlagOptions};
use xestack::catalog::sessions::{EMBEDDED, Sessions};
use xestack::simulator::launch::{self, LaunchOptions, Simulator};
use xestack::sqlserver::{Authentication, ConnectOptions, Connection, Encryption};

const SERVERS: usize = 200;
const WINDOW: Duration = Duration::from_secs(3);
/// Two hundred logins at once on a small machine take their time.
const LIMIT: Duration = Duration::from_secs(300);
/// Names the file that lists the servers.
const LIST: &str = "XESTACK_FLEET_LIST";

#[derive(Serialize, Deserialize)]
struct Listed {
    address: String,
    password: String,
    ca_pem: String,
}

/// What the process of captures prints.
#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    complete: usize,
    peak_memory_kb: u64,
    /// From the end of each window to everything restored, sorted.
    restore_ms: Vec<u64>,
}

impl Measured {
    fn median(&self) -> u64 {
        self.restore_ms[self.restore_ms.len() / 2]
    }

    fn most(&self) -> u64 {
        *self.restore_ms.last().unwrap()
    }
}

async fn left_on(simulator: &Simulator) -> usize {
    let mut connection =
        Connection::open(&ConnectOptions { login_timeout: LIMIT, ..connect_options(simulator) }).await.unwrap();
    let sessions = connection.run("SELECT s.name FROM sys.server_event_sessions AS s", LIMIT).await.unwrap();
    let names = (0..sessions[0].rows.len()).filter_map(|row| sessions[0].text(row, "name"));
    let sessions = names.filter(|name| name.starts_with("xestack:")).count();
    let flags = connection.run("DBCC TRACESTATUS (3656, 2592, -1) WITH NO_INFOMSGS", LIMIT).await.unwrap();
    let on = flags
        .first()
        .map_or(0, |table| (0..table.rows.len()).filter(|&row| table.integer(row, "Global") == Some(1)).count());
    connection.close().await;
    sessions + on
}

/// Captures the first `count` servers in another process.
async fn capture_in_a_process(listed: &[Listed]) -> Measured {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("servers.json");
    std::fs::write(&list, serde_json::to_vec(listed).unwrap()).unwrap();
    let result = folder.path().join("servers.json.result");
    let output = tokio::task::spawn_blocking({
        let list = list.clone();
        move || {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["fleet::captures_of_the_listed_servers", "--exact", "--ignored"]).env(LIST, list);
            command.output().unwrap()
        }
    });
    let output = output.await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&std::fs::read(result).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_servers_are_captured_at_once_and_restored() {
    let mut simulators = Vec::new();
    let mut listed = Vec::new();
    for _server in 0..SERVERS {
        let simulator = launch::launch(LaunchOptions::default()).await.unwrap();
        listed.push(Listed {
            address: format!("localhost,{}", simulator.local_addr().port()),
            password: simulator.password().to_owned(),
            ca_pem: simulator.certificate_pem().unwrap().to_owned(),
        });
        simulators.push(simulator);
    }
    let one = capture_in_a_process(&listed[..1]).await;
    let all = capture_in_a_process(&listed).await;
    assert_eq!((one.complete, all.complete), (1, SERVERS));
    for simulator in &simulators {
        assert_eq!(left_on(simulator).await, 0);
    }
    println!(
        "{SERVERS} servers at once: all complete and restored; peak memory {} MB ({:.1} times that of one, {} MB); from the end \
         of a window to restored: median {} ms ({:.2} times that of one, {} ms), most {} ms ({:.2} times)",
        all.peak_memory_kb / 1024,
        all.peak_memory_kb as f64 / one.peak_memory_kb as f64,
        one.peak_memory_kb / 1024,
        all.median(),
        all.median() as f64 / one.median() as f64,
        one.median(),
        all.most(),
        all.most() as f64 / one.most() as f64,
    );
}

/// The process of captures.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by two_hundred_servers_are_captured_at_once_and_restored"]
async fn captures_of_the_listed_servers() {
    let list = std::env::var(LIST).unwrap();
    let listed: Vec<Listed> = serde_json::from_slice(&std::fs::read(&list).unwrap()).unwrap();
    let sessions = Arc::new(Sessions::from_texts(EMBEDDED).unwrap());
    let state = tempfile::tempdir().unwrap();
    let restore_ms = Arc::new(Mutex::new(Vec::new()));
    let mut captures = Vec::new();
    for server in listed {
        let window_ended: Mutex<Option<Instant>> = Mutex::new(None);
        let taken = Arc::clone(&restore_ms);
        let surroundings = Surroundings {
            sessions: Arc::clone(&sessions),
            connect: ConnectOptions {
                address: server.address.parse().unwrap(),
                authentication: Authentication::Password {
                    user: launch::USER.to_owned(),
                    password: server.password.into(),
                },
                database: None,
                encryption: Encryption::Mandatory,
                trust_certificate: false,
                ca_pem: Some(server.ca_pem),
                hostname_in_certificate: None,
                login_timeout: LIMIT,
                query_timeout: LIMIT,
                workstation: "fleet".to_owned(),
                browser_port: 1434,
                read_only: false,
            },
            clock: Arc::new(MachineClock::default()),
            observer: Arc::new(move |progress| match progress {
                Progress::Reading => *window_ended.lock().unwrap() = Some(Instant::now()),
                Progress::Restored => {
                    let ended = window_ended.lock().unwrap().unwrap();
                    taken.lock().unwrap().push(ended.elapsed().as_millis() as u64);
                }
                _ => {}
            }),
            interrupt: Interrupt::default(),
            here: Owner::this_process(),
        };
        let options = CaptureOptions {
            trace_flags: TraceFlagOptions { enable: true, force: true, ..TraceFlagOptions::default() },
            ..CaptureOptions::new("sos-yield", WINDOW, state.path().to_owned())
        };
        captures.push(tokio::spawn(async move {
            let outcome = agent::capture(&surroundings, &options).await.unwrap();
            let session = &outcome.evidence.sessions[0];
            let counted = session.target.as_ref().is_some_and(|target| !target.cut && !target.slots.is_empty());
            let resolved = outcome.targets.iter().any(|target| target.symbolised);
            counted && resolved && outcome.evidence.after.is_some() && outcome.left_behind.is_empty()
        }));
    }
    let mut complete = 0;
    for capture in captures {
        complete += usize::from(capture.await.unwrap());
    }
    let mut restore_ms = restore_ms.lock().unwrap().clone();
    restore_ms.sort_unstable();
    let measured = Measured { complete, peak_memory_kb: peak_memory_kb(), restore_ms };
    std::fs::write(format!("{list}.result"), serde_json::to_vec(&measured).unwrap()).unwrap();
}

/// The most memory that this process has had resident; 0 where the platform does not tell.
fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
