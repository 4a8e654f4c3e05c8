//! Owns one simulated instance: its truth, and its state behind one lock.

mod answers;
mod moments;
pub mod options;

use crate::simulator::clock::Clock;
use crate::simulator::databases::{self, Changes, Database, Past};
use crate::simulator::dbcc::TraceFlags;
use crate::simulator::events::Engine;
use crate::simulator::events::callstack::{StackWriter, Symbols};
use crate::simulator::events::histogram::Overflow;
use crate::simulator::events::running::World;
use crate::simulator::faults::Fault;
use crate::simulator::faults::kinds::SymboliseAt;
use crate::simulator::faults::moments::Moments;
use crate::simulator::faults::switches::Switches;
use crate::simulator::host::{Disturbance, Host, Login, SessionContext};
use crate::simulator::instance::options::{InstanceError, InstanceOptions};
use crate::simulator::output::Message;
use crate::simulator::permissions::{Account, Rights};
use crate::simulator::properties;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::Truth;
use crate::simulator::workload::counters::Reading;
use crate::simulator::workload::pace::Load;
use secrecy::{ExposeSecret, SecretString};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// A moment on both clocks, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Moment {
    pub monotonic: i64,
    pub utc: i64,
}

/// A client's session.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct ClientSession {
    pub context: SessionContext,
    pub since: Moment,
    /// CPU that its statements have cost, as far as a fault makes them cost any.
    pub cpu_ms: u32,
    ended: CancellationToken,
}

/// The server process as it runs now, since its last start.
#[derive(Debug)]
pub struct Process {
    /// When it started.
    pub started: Moment,
    /// What had been counted before; `None` for the first one, whose counters come with the workload.
    pub before: Option<Before>,
    /// Cancelled when its sessions end.
    ended: CancellationToken,
}

/// What had been counted when a process started.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Before {
    pub reading: Reading,
    pub busy_micros: u64,
}

/// What changes, behind the instance's lock.
#[derive(Debug)]
pub struct State {
    /// Event sessions.
    pub engine: Engine,
    /// Trace flags.
    pub flags: TraceFlags,
    /// When the load is on.
    pub load: Load,
    /// Client sessions by id.
    pub sessions: BTreeMap<u16, ClientSession>,
    /// Application locks by database and resource: who holds each, how often.
    locks: BTreeMap<(String, String), (u16, u32)>,
    /// When statistics were last cleared.
    pub cleared: Cleared,
    /// The server process.
    pub process: Process,
    /// What has become of the databases.
    pub databases: Changes,
    last_spid: u16,
    /// Sessions that the server ended and whose connections may not know it yet.
    ended: BTreeSet<u16>,
    /// Faults that are still to come.
    moments: Moments,
    /// What they do to the next answer of a session.
    disturbances: BTreeMap<u16, Vec<Disturbance>>,
}

/// Where counters stood when they were last cleared.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs)]
pub struct Cleared {
    pub waits: Option<Reading>,
    pub latches: Option<Reading>,
    pub spinlocks: Option<Reading>,
}

/// One simulated server.
pub struct Instance {
    version: &'static VersionData,
    truth: Arc<Truth>,
    /// As they were when the simulated time began.
    databases: Vec<Database>,
    overflow: Overflow,
    switches: Switches,
    accounts: Vec<Account>,
    access_token: Option<SecretString>,
    startup_flags: Vec<u32>,
    clock: Arc<dyn Clock>,
    /// How far the UTC clock has jumped.
    jumped_micros: AtomicI64,
    /// When the simulated time began.
    origin: Moment,
    /// When the machine started, on the monotonic clock.
    machine_started: i64,
    name: String,
    is_second_node: bool,
    /// Whether faults of a moment were given.
    has_moments: bool,
    has_failed_over: AtomicBool,
    state: Mutex<State>,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("version", &self.version.version).finish_non_exhaustive()
    }
}

const MICROS_PER_HOUR: i64 = 3_600_000_000;

/// The machine started this long before the server.
const MACHINE_LEAD_MICROS: i64 = 600_000_000;

/// First session id of clients that come over the wire; those of a workload end below.
const FIRST_CLIENT_SESSION: u16 = 120;

impl Instance {
    /// Sets one up; its simulated time begins now.
    pub fn new(options: InstanceOptions, clock: Arc<dyn Clock>) -> Result<Arc<Self>, InstanceError> {
        let version =
            VersionData::of(options.version).ok_or(InstanceError::UnsupportedVersion { version: options.version })?;
        let truth = Arc::new(options.workload.truth(version, options.seed));
        Ok(Self::with_truth(options, version, truth, clock))
    }

    /// Sets one up whose workload does this, whatever the options say; instances may share it.
    pub fn with_truth(
        options: InstanceOptions,
        version: &'static VersionData,
        truth: Arc<Truth>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let faults: Vec<Fault> = options
            .faults
            .into_iter()
            .filter(|fault| fault.instance.is_none_or(|number| number == options.number))
            .collect();
        let switches = Switches::from_faults(&faults);
        let moments = Moments::from_faults(&faults);
        let origin = Moment { monotonic: clock.monotonic_micros(), utc: clock.utc_micros() };
        let mut accounts = vec![Account {
            name: "sa".into(),
            password: options.password.expose_secret().to_owned(),
            sysadmin: true,
            permissions: Vec::new(),
        }];
        accounts.extend(options.accounts.into_iter().map(|account| {
            let of_sa = account.password.is_empty();
            let password = if of_sa { options.password.expose_secret().to_owned() } else { account.password };
            Account { password, ..account }
        }));
        let load = Load::new(options.pace, origin.monotonic);
        let flags = TraceFlags::at_startup(&options.startup_flags);
        let world = World {
            truth: &truth,
            load: &load,
            origin: origin.monotonic,
            now: origin,
            writer: StackWriter::new(version, &truth.stacks, &switches),
            symbolise_at_dispatch: None,
            overflow: options.overflow,
        };
        let engine = Engine::new(version, &world, switches.places.collation);
        let up = i64::try_from(options.uptime_hours).unwrap_or(0).saturating_mul(MICROS_PER_HOUR);
        let started = Moment { monotonic: origin.monotonic - up, utc: origin.utc - up };
        let number = options.number;
        let by_number = || if number <= 1 { "XESTACK-SIM".to_owned() } else { format!("XESTACK-SIM{number}") };
        let past = Past { uptime_hours: options.uptime_hours, times: if options.name.is_some() { 2 } else { 1 } };
        let databases = databases::of_instance(version, &truth, &switches.places, past);
        let has_moments = !moments.is_empty();
        let state = State {
            engine,
            flags,
            load,
            sessions: BTreeMap::new(),
            locks: BTreeMap::new(),
            cleared: Cleared::default(),
            process: Process { started, before: None, ended: CancellationToken::new() },
            databases: Changes::default(),
            last_spid: FIRST_CLIENT_SESSION - 1,
            ended: BTreeSet::new(),
            moments,
            disturbances: BTreeMap::new(),
        };
        Arc::new(Self {
            version,
            truth,
            databases,
            overflow: options.overflow,
            switches,
            accounts,
            access_token: options.access_token,
            startup_flags: options.startup_flags,
            clock,
            jumped_micros: AtomicI64::new(0),
            origin,
            machine_started: started.monotonic - MACHINE_LEAD_MICROS,
            is_second_node: options.name.is_some(),
            name: options.name.unwrap_or_else(by_number),
            has_moments,
            has_failed_over: AtomicBool::new(false),
            state: Mutex::new(state),
        })
    }

    /// Its version's data.
    pub fn version_data(&self) -> &'static VersionData {
        self.version
    }

    /// What happens on it.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// Its databases as they were when its simulated time began.
    pub fn all_databases(&self) -> &[Database] {
        &self.databases
    }

    /// Its faults.
    pub fn switches(&self) -> &Switches {
        &self.switches
    }

    /// Its logins.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// When its simulated time began.
    pub fn origin(&self) -> Moment {
        self.origin
    }

    /// When its machine started, on the monotonic clock.
    pub fn machine_started(&self) -> i64 {
        self.machine_started
    }

    /// `@@SERVERNAME`: instances beside the first are told apart by their number.
    pub fn server_name(&self) -> String {
        self.name.clone()
    }

    /// The machine's name, a cluster's where it is a node of one.
    pub fn machine_name(&self) -> &str {
        if self.is_second_node { &self.name } else { "XESTACK-SIM" }
    }

    /// The name of the computer itself.
    pub fn computer_name(&self) -> &'static str {
        if self.is_second_node { "XESTACK-NODE-B" } else { "XESTACK-SIM" }
    }

    /// The name of the node that is to take over, if a fault makes this one fail over.
    pub fn second_node(&self) -> Option<String> {
        let state = self.lock();
        let given = state.moments.failover()?;
        Some(given.map_or_else(|| format!("{}-B", self.name), str::to_owned))
    }

    /// Whether another node answers on its address.
    pub fn has_failed_over(&self) -> bool {
        self.has_failed_over.load(Ordering::SeqCst)
    }

    /// Major, minor and build, for pre-login and LOGINACK.
    pub fn version_numbers(&self) -> (u8, u8, u16) {
        let (major, minor, build, _) = self.version.build;
        (major, minor, build)
    }

    /// Now, on both clocks.
    pub fn now(&self) -> Moment {
        let utc = self.clock.utc_micros().saturating_add(self.jumped_micros.load(Ordering::SeqCst));
        Moment { monotonic: self.clock.monotonic_micros(), utc }
    }

    /// Who logs in: by name and password, or by the access token, which is the first login's.
    fn account_of(&self, login: &Login) -> Result<&Account, Message> {
        let known = self.access_token.as_ref().map(SecretString::expose_secret);
        let account = match &login.access_token {
            Some(token) => self.accounts.first().filter(|_| known == Some(token)),
            None => self.accounts.iter().find(|account| {
                self.collation().same(&account.name, &login.user) && account.password == login.password
            }),
        };
        let user = if login.access_token.is_some() { "<token-identified principal>" } else { &login.user };
        account.ok_or_else(|| Message::new(18456, 14, format!("Login failed for user '{user}'.")))
    }

    /// Checks a login and opens a session. Errors: 18456, 4060.
    pub fn open_session(&self, login: &Login) -> Result<SessionContext, Message> {
        let account = self.account_of(login)?;
        let wanted = if login.database.is_empty() { "master" } else { &login.database };
        let database = self
            .databases()
            .into_iter()
            .map(|(_, name)| name)
            .find(|name| self.collation().same(name, wanted))
            .ok_or_else(|| {
                let text = format!("Cannot open database \"{wanted}\" requested by the login. The login failed.");
                Message::new(4060, 11, text)
            })?;
        let mut state = self.lock();
        let spid = free_session_id(&state);
        state.last_spid = spid;
        let context = SessionContext {
            spid,
            login: account.name.clone(),
            database,
            host: login.host.clone(),
            application: login.application.clone(),
        };
        let ended = state.process.ended.clone();
        state.sessions.insert(spid, ClientSession { context: context.clone(), since: self.now(), cpu_ms: 0, ended });
        Ok(context)
    }

    /// The lock; a panic of another thread does not make the state unusable, each change being whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a login may do.
    pub fn rights(&self, login: &str) -> Rights<'_> {
        let account = self.accounts.iter().find(|account| self.collation().same(&account.name, login));
        Rights { account, switches: &self.switches, version: self.version }
    }

    /// Symbols at hand when a call stack is written for this session, or at dispatch for none.
    pub fn symbols(&self, state: &State, reader: Option<u16>) -> Symbols {
        let on = |flag: &u32| {
            let in_session = reader.is_some_and(|spid| state.flags.is_in_session(spid, *flag));
            let session_counts = self.switches.symbolise_at == SymboliseAt::SessionRead;
            state.flags.is_global(*flag) || session_counts && in_session
        };
        // Nothing writes symbols on Linux, whatever the flags (no page tells how it could).
        if properties::is_on_linux(self) && !self.switches.symbols_missing {
            return Symbols::None;
        }
        let missing = self.switches.symbols_missing || self.truth.symbols_missing;
        match (self.version.symbol_flags.iter().all(on), missing) {
            (false, _) => Symbols::None,
            (true, false) => Symbols::Public,
            (true, true) => Symbols::ExportsOnly,
        }
    }

    fn world<'a>(&'a self, load: &'a Load, now: Moment, symbolise_at_dispatch: Option<Symbols>) -> World<'a> {
        World {
            truth: &self.truth,
            load,
            origin: self.origin.monotonic,
            now,
            writer: StackWriter::new(self.version, &self.truth.stacks, &self.switches),
            symbolise_at_dispatch,
            overflow: self.overflow,
        }
    }

    /// Dispatches what is due, then runs something on the engine and its world.
    fn on_engine<T>(&self, state: &mut State, now: Moment, run: impl FnOnce(&mut Engine, &World<'_>) -> T) -> T {
        let at_dispatch = self.switches.symbolise_at == SymboliseAt::Dispatch;
        let symbols = at_dispatch.then(|| self.symbols(state, None));
        let State { engine, load, .. } = state;
        let world = self.world(load, now, symbols);
        engine.advance(&world);
        run(engine, &world)
    }

    /// The state as of now, everything due dispatched.
    pub fn with_state<T>(&self, read: impl FnOnce(&State, Moment) -> T) -> T {
        let mut state = self.lock();
        let now = self.now();
        self.on_engine(&mut state, now, |_, _| ());
        read(&state, now)
    }

    /// Where counters stand now.
    pub fn reading(&self, state: &State, now: Moment) -> Reading {
        self.world(&state.load, now, None).reading(now.monotonic)
    }
}

/// The next session id that no client has.
fn free_session_id(state: &State) -> u16 {
    let after = state.last_spid.checked_add(1).unwrap_or(FIRST_CLIENT_SESSION);
    (after..=u16::MAX)
        .chain(FIRST_CLIENT_SESSION..after)
        .find(|spid| !state.sessions.contains_key(spid) && !state.ended.contains(spid))
        .unwrap_or(FIRST_CLIENT_SESSION)
}
