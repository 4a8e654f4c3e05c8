//! Tests of the simulated instance: event sessions, trace flags, views, the workload's truth.
//!
//! They speak to [`Host`] directly, with statements tokenised as the SQL engine hands them over.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod errors;
mod fidelity;
mod life_cycle;
mod targets;
mod trace_flags;
mod versions;
pub(crate) mod views;
mod waits;
mod workload;
mod workloads;

use secrecy::SecretString;
use std::sync::Arc;
use std::time::Duration;
use xestack::model::ServerVersion;
use xestack::simulator::clock::ManualClock;
use xestack::simulator::faults::Fault;
use xestack::simulator::host::{Host, Login, SessionContext};
use xestack::simulator::instance::Instance;
use xestack::simulator::instance::options::InstanceOptions;
use xestack::simulator::output::{Message, Output};
use xestack::simulator::sql::tokenizer::{Token, tokenize};
use xestack::simulator::value::Datum;
use xestack::simulator::workload::pace::Pace;

pub(crate) use views::fits;

/// An instance, a clock moved by hand, a session of `sa`.
struct Server {
    instance: Arc<Instance>,
    clock: Arc<ManualClock>,
    session: SessionContext,
}

/// Every version the simulator has.
const VERSIONS: [ServerVersion; 8] = [
    ServerVersion::V2008R2,
    ServerVersion::V2012,
    ServerVersion::V2014,
    ServerVersion::V2016,
    ServerVersion::V2017,
    ServerVersion::V2019,
    ServerVersion::V2022,
    ServerVersion::V2025,
];

/// How many events each slot of a histogram has, by its value.
type Slots = Vec<(String, u64)>;

impl Server {
    fn new(version: ServerVersion) -> Self {
        Self::with(version, &[], |_| ())
    }

    fn with(version: ServerVersion, faults: &[&str], change: impl FnOnce(&mut InstanceOptions)) -> Self {
        let mut options = InstanceOptions::new(version, SecretString::from("secret"));
        options.faults = faults.iter().map(|fault| fault.parse::<Fault>().unwrap()).collect();
        options.pace = Pace::Burst(Duration::from_secs(10));
        change(&mut options);
        let clock = Arc::new(ManualClock::default());
        let instance = Instance::new(options, clock.clone()).unwrap();
        let session = instance.open_session(&login("sa", "secret")).unwrap();
        Self { instance, clock, session }
    }

    fn pass(&self, time: Duration) {
        self.clock.advance_micros(i64::try_from(time.as_micros()).unwrap());
    }

    fn try_ddl(&self, sql: &str) -> Result<(), Vec<Message>> {
        self.instance.event_session(&self.session, &tokens(sql))
    }

    fn ddl(&self, sql: &str) {
        self.try_ddl(sql).unwrap_or_else(|messages| panic!("{sql}: {messages:?}"));
    }

    /// The number of the first error.
    fn ddl_error(&self, sql: &str) -> u32 {
        self.try_ddl(sql).err().and_then(|messages| messages.first().map(|message| message.number)).unwrap_or(0)
    }

    fn try_dbcc(&self, sql: &str) -> Result<Vec<Output>, Vec<Message>> {
        self.instance.dbcc(&self.session, &tokens(sql))
    }

    fn dbcc(&self, sql: &str) -> Vec<Output> {
        self.try_dbcc(sql).unwrap_or_else(|messages| panic!("{sql}: {messages:?}"))
    }

    /// Rows of a view, as the values of these columns.
    fn view(&self, name: &str, columns: &[&str]) -> Vec<Vec<Datum>> {
        self.view_as(&self.session, name, columns)
    }

    fn view_as(&self, session: &SessionContext, name: &str, columns: &[&str]) -> Vec<Vec<Datum>> {
        let known = self.instance.columns("sys", name).unwrap_or_else(|| panic!("no view {name}"));
        let places: Vec<usize> = columns
            .iter()
            .map(|wanted| known.iter().position(|c| c.name == *wanted).unwrap_or_else(|| panic!("{name}.{wanted}")))
            .collect();
        let rows = self.instance.rows(session, "sys", name, &[]).unwrap();
        for row in &rows {
            assert_eq!(row.len(), known.len(), "{name}");
        }
        rows.into_iter().map(|row| places.iter().map(|place| row[*place].clone()).collect()).collect()
    }

    /// One number of the row whose `key` column holds this text.
    fn number(&self, view: &str, key: (&str, &str), column: &str) -> i64 {
        self.view(view, &[key.0, column])
            .into_iter()
            .find(|row| row[0] == Datum::Text(key.1.to_owned()))
            .map_or_else(|| panic!("no {} in {view}", key.1), |row| int(&row[1]))
    }

    /// The target document of a running session's first target.
    fn target(&self, session: &str) -> String {
        self.target_as(&self.session, session)
    }

    fn target_as(&self, reader: &SessionContext, session: &str) -> String {
        let addresses = self.view("dm_xe_sessions", &["name", "address"]);
        let address = addresses.into_iter().find(|row| row[0] == Datum::Text(session.to_owned())).unwrap()[1].clone();
        let targets = self.view_as(reader, "dm_xe_session_targets", &["event_session_address", "target_data"]);
        let data = targets.into_iter().find(|row| row[0] == address).unwrap()[1].clone();
        let Datum::Text(document) = data else { panic!("target_data is text") };
        document
    }

    fn slots(&self, session: &str) -> Slots {
        slots(&self.target(session))
    }

    /// Creates and starts a session with this event and this target, by the name that the version has for it.
    fn start(&self, name: &str, event: &str, target: &str) {
        let is_old = self.instance.version() < ServerVersion::V2012;
        let old_name = target
            .replace("package0.histogram", "package0.asynchronous_bucketizer")
            .replace("package0.event_counter", "package0.synchronous_event_counter");
        let target = if is_old { &old_name } else { target };
        self.ddl(&format!(
            "CREATE EVENT SESSION [{name}] ON SERVER ADD EVENT {event} ADD TARGET {target}
            WITH (MAX_DISPATCH_LATENCY = 1 SECONDS)"
        ));
        self.ddl(&format!("ALTER EVENT SESSION [{name}] ON SERVER STATE = START"));
    }
}

fn tokens(sql: &str) -> Vec<Token> {
    tokenize(sql).unwrap()
}

fn login(user: &str, password: &str) -> Login {
    Login { user: user.into(), password: password.into(), ..Login::default() }
}

fn int(value: &Datum) -> i64 {
    match value {
        Datum::Int(number) => *number,
        other => panic!("{other:?} is no integer"),
    }
}

/// Slots of a histogram document, values unescaped.
fn slots(document: &str) -> Slots {
    let mut reader = document;
    let mut found = Vec::new();
    while let Some((_, rest)) = reader.split_once("<Slot count=\"") {
        let (count, rest) = rest.split_once('"').unwrap();
        let (_, rest) = rest.split_once("><value>").unwrap();
        let (value, rest) = rest.split_once("</value></Slot>").unwrap();
        let value = value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        found.push((value, count.parse().unwrap()));
        reader = rest;
    }
    found
}

fn total(slots: &Slots) -> u64 {
    slots.iter().map(|(_, count)| count).sum()
}

const CALLSTACKS: &str = "package0.histogram(SET slots = 1024, source_type = 1, source = N'package0.callstack')";

/// The bucketizing target under the name that a version has for it.
fn bucketizer(version: ServerVersion, parameters: &str) -> String {
    let name = if version < ServerVersion::V2012 { "asynchronous_bucketizer" } else { "histogram" };
    format!("package0.{name}({parameters})")
}

/// Ends of SOS_SCHEDULER_YIELD waits on 2017, with stacks.
const YIELDS: &str = "sqlos.wait_info(ACTION(package0.callstack) WHERE wait_type = 123 AND opcode = 1)";
