//! Clean-up: what a dead run left is undone, with its journal or without, and nothing of a live run or of anybody else is
//! touched.

mod commands;
mod hanging;
mod refusals;
#[cfg(target_os = "linux")]
mod sharing;
mod sweep;
mod torn;

use crate::capture::Lab;
use std::path::Path;
use std::time::Duration;
use xestack::agent::run::{Marker, Owner, RunId};
use xestack::agent::{self, CleanupOptions, CleanupOutcome, Surroundings};
use xestack::model::UtcMicros;
use xestack::sqlserver::Connection;

const LIMIT: Duration = Duration::from_secs(20);
/// Seconds since the epoch at which the lab's clock begins.
const START: i64 = 1_796_067_092;

/// A marker of a run of this process, told apart by a number.
fn marker(number: u32, owner: Owner, deadline_unix: i64, flags: &[u32]) -> Marker {
    Marker {
        scenario: "sos-yield".into(),
        run_id: RunId::new(UtcMicros(START * 1_000_000), number),
        owner,
        deadline_unix,
        flags: flags.to_vec(),
    }
}

/// A process of this machine that has ended.
fn ended() -> Owner {
    let here = Owner::this_process();
    Owner { start_ticks: here.start_ticks + 1, ..here }
}

/// A process of another machine.
fn of_another_machine() -> Owner {
    let here = Owner::this_process();
    let host = if here.host == "ffffffff" { "00000000" } else { "ffffffff" };
    Owner { host: host.into(), ..here }
}

/// Another client.
struct Client(Connection);

impl Client {
    async fn of(lab: &Lab) -> Self {
        Self(Connection::open(&lab.surroundings.connect).await.unwrap())
    }

    async fn run(&mut self, sql: &str) {
        self.0.run(sql, LIMIT).await.unwrap();
    }

    /// Makes an event session of any name, and starts it where that is wanted.
    async fn make(&mut self, name: &str, running: bool) {
        let name = name.replace(']', "]]");
        self.run(&format!(
            "CREATE EVENT SESSION [{name}] ON SERVER ADD EVENT sqlos.wait_info (WHERE package0.counter <= 1) \
             ADD TARGET package0.ring_buffer"
        ))
        .await;
        if running {
            self.run(&format!("ALTER EVENT SESSION [{name}] ON SERVER STATE = START")).await;
        }
    }

    /// Every event session but the server's own, sorted.
    async fn sessions(&mut self) -> Vec<String> {
        let tables = self.0.run("SELECT s.name FROM sys.server_event_sessions AS s", LIMIT).await.unwrap();
        let rows = 0..tables[0].rows.len();
        let mut names: Vec<String> = rows.filter_map(|row| tables[0].text(row, "name").map(str::to_owned)).collect();
        names.retain(|name| name.to_lowercase().starts_with("xestack"));
        names.sort_unstable();
        names
    }

    /// Flags on globally.
    async fn flags(&mut self) -> Vec<i64> {
        let tables = self.0.run("DBCC TRACESTATUS (3656, 2592, 1118, -1) WITH NO_INFOMSGS", LIMIT).await.unwrap();
        let rows = (0..tables[0].rows.len()).filter(|&row| tables[0].integer(row, "Global") == Some(1));
        let mut flags: Vec<i64> = rows.filter_map(|row| tables[0].integer(row, "TraceFlag")).collect();
        flags.sort_unstable();
        flags
    }
}

async fn clean(surroundings: &Surroundings, state_dir: &Path, dry_run: bool) -> CleanupOutcome {
    let options = CleanupOptions { dry_run, force: None, state_dir: state_dir.to_owned() };
    agent::cleanup(surroundings, &options).await.unwrap()
}
