//! Owns Extended Events: the catalogue of sessions, the running ones, and what the statements do to them.

pub mod callstack;
pub mod catalogue;
pub mod cursor;
pub mod cut;
pub mod errors;
pub mod expression;
pub mod histogram;
pub mod options;
pub mod predicate;
pub mod running;
pub mod session;
pub mod statement;
pub mod targets;
pub mod xml;

use crate::model::ServerVersion;
use crate::simulator::collation::Collation;
use crate::simulator::events::options::OptionSetting;
use crate::simulator::events::running::{RunningSession, World};
use crate::simulator::events::session::{Definition, Rules, Scope};
use crate::simulator::events::statement::{Change, Grammar, Statement};
use crate::simulator::faults::moments::Vanish;
use crate::simulator::faults::places::Tier;
use crate::simulator::faults::switches::Switches;
use crate::simulator::output::Message;
use crate::simulator::sql::tokenizer::tokenize;
use crate::simulator::versions::{VersionData, VersionRange};

/// Sessions that come with the server, as the DDL they would be made by, and the versions that have them so. Their events
/// are a selection. From 2022 on system_health has callstack_rva (measured).
const BUILT_IN: [(VersionRange, &str); 4] = [
    (
        VersionRange::until(ServerVersion::V2008R2),
        "CREATE EVENT SESSION [system_health] ON SERVER
     ADD EVENT sqlserver.error_reported(ACTION(package0.callstack, sqlserver.session_id, sqlserver.sql_text)
         WHERE ([severity] >= (20)))
     ADD TARGET package0.ring_buffer(SET max_memory = (4096))
     WITH (MAX_MEMORY = 4096 KB, MAX_DISPATCH_LATENCY = 120 SECONDS, STARTUP_STATE = ON)",
    ),
    (
        VersionRange::between(ServerVersion::V2012, ServerVersion::V2019),
        "CREATE EVENT SESSION [system_health] ON SERVER
     ADD EVENT sqlserver.error_reported(ACTION(package0.callstack, sqlserver.session_id, sqlserver.sql_text)
         WHERE ([severity] >= (20))),
     ADD EVENT sqlos.spinlock_backoff_warning(ACTION(package0.callstack, sqlserver.session_id))
     ADD TARGET package0.event_file(SET filename = N'system_health.xel', max_file_size = (5), max_rollover_files = (4)),
     ADD TARGET package0.ring_buffer(SET max_events_limit = (5000), max_memory = (4096))
     WITH (MAX_MEMORY = 4096 KB, EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS, MAX_DISPATCH_LATENCY = 120 SECONDS,
         STARTUP_STATE = ON)",
    ),
    (
        VersionRange::between(ServerVersion::V2022, ServerVersion::AzureMi),
        "CREATE EVENT SESSION [system_health] ON SERVER
     ADD EVENT sqlserver.error_reported(ACTION(package0.callstack_rva, sqlserver.session_id, sqlserver.sql_text)
         WHERE ([severity] >= (20))),
     ADD EVENT sqlos.spinlock_backoff_warning(ACTION(package0.callstack_rva, sqlserver.session_id))
     ADD TARGET package0.event_file(SET filename = N'system_health.xel', max_file_size = (5), max_rollover_files = (4)),
     ADD TARGET package0.ring_buffer(SET max_events_limit = (5000), max_memory = (4096))
     WITH (MAX_MEMORY = 4096 KB, EVENT_RETENTION_MODE = ALLOW_SINGLE_EVENT_LOSS, MAX_DISPATCH_LATENCY = 120 SECONDS,
         STARTUP_STATE = ON)",
    ),
    (
        VersionRange::between(ServerVersion::V2016, ServerVersion::AzureMi),
        "CREATE EVENT SESSION [telemetry_xevents] ON SERVER
     ADD EVENT sqlserver.error_reported(WHERE ([error_number] = (18456)))
     ADD TARGET package0.ring_buffer(SET max_memory = (4096))
     WITH (MAX_DISPATCH_LATENCY = 120 SECONDS, STARTUP_STATE = ON)",
    ),
];

/// Memory of all started sessions of a database, and of all databases of a pool, on Azure SQL Database (documented).
const DATABASE_MEMORY_KB: u64 = 128 * 1_024;
const POOL_MEMORY_KB: u64 = 512 * 1_024;

/// First catalogue number of a session that a client creates. Assumed: the server's own come before.
const FIRST_CLIENT_SESSION: i32 = 65_537;

/// All event sessions of an instance.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    /// The catalogue.
    pub definitions: Vec<Definition>,
    /// What runs.
    pub running: Vec<RunningSession>,
    last_id: i32,
    /// Numbers above are those of sessions that clients made.
    last_own_id: i32,
    started: u64,
    /// How names are told apart.
    collation: Collation,
}

/// What a statement did that concerns the rest of the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A session was started: a burst may begin.
    Started,
    /// Nothing.
    Nothing,
}

impl Engine {
    /// With the built-in sessions and the workload's, running.
    pub fn new(version: &VersionData, world: &World<'_>, collation: Collation) -> Self {
        let of = version.version;
        let built_in: Vec<&str> =
            BUILT_IN.into_iter().filter(|(versions, _)| versions.contains(of)).map(|(_, ddl)| ddl).collect();
        let last_id = FIRST_CLIENT_SESSION - 1 - built_in.len() as i32;
        let mut engine = Self { last_id, collation, ..Self::default() };
        // Azure SQL Database has none on the server; those of a workload are in its database.
        let scope = if of == ServerVersion::AzureDb {
            Scope::Database(world.truth.storage.own_database_name().to_owned())
        } else {
            Scope::Server
        };
        for ddl in built_in.iter().chain(&world.truth.event_sessions) {
            // The texts are ours; tests hold that the sessions run.
            if let Ok((create @ Statement::Create { .. }, _)) =
                tokenize(ddl).and_then(|tokens| statement::parse(&tokens, Grammar::of(of)))
                && engine.execute(&create, &scope, version, world, &Switches::default()).is_ok()
                && let Some(at) = engine.definitions.len().checked_sub(1)
            {
                engine.start(at, world);
            }
        }
        engine.last_own_id = engine.last_id;
        engine
    }

    /// The server process has ended and runs again: what ran is gone with its data, and what STARTUP_STATE asks for is
    /// started.
    pub fn restart(&mut self, world: &World<'_>) {
        self.running.clear();
        for at in 0..self.definitions.len() {
            if self.definitions.get(at).is_some_and(|definition| definition.options.startup_state) {
                self.start(at, world);
            }
        }
    }

    /// Somebody drops or stops the sessions that clients made.
    pub fn vanish(&mut self, how: Vanish) {
        let is_of_client = |definition: &Definition| definition.id > self.last_own_id;
        let gone: Vec<(Scope, String)> = self
            .definitions
            .iter()
            .filter(|&known| is_of_client(known))
            .map(|known| (known.scope.clone(), known.name.clone()))
            .collect();
        if how == Vanish::Dropped {
            self.definitions.retain(|definition| definition.id <= self.last_own_id);
        }
        let is_gone = |session: &RunningSession| {
            gone.iter().any(|(scope, name)| *scope == session.scope && *name == session.name)
        };
        self.running.retain(|session| !is_gone(session));
    }

    /// Whether a session that a client made runs.
    pub fn runs_for_clients(&self) -> bool {
        let mut made = self.definitions.iter().filter(|definition| definition.id > self.last_own_id);
        made.any(|made| self.running.iter().any(|session| session.name == made.name))
    }

    /// Dispatches what is due in all running sessions, and ends those whose MAX_DURATION has passed.
    pub fn advance(&mut self, world: &World<'_>) {
        for session in &mut self.running {
            session.advance(world);
        }
        self.running.retain(|session| !session.is_over(world.now.monotonic));
    }

    fn running(&self, scope: &Scope, name: &str) -> Option<&RunningSession> {
        self.running.iter().find(|session| session.scope == *scope && self.collation.same(&session.name, name))
    }

    fn position(&self, scope: &Scope, verb: &str, name: &str) -> Result<usize, Message> {
        self.definitions
            .iter()
            .position(|known| known.scope == *scope && self.collation.same(&known.name, name))
            .ok_or_else(|| errors::session_missing(verb, name))
    }

    /// Runs a statement; everything due has been dispatched before. An error leaves all as it was.
    pub fn execute(
        &mut self,
        statement: &Statement,
        scope: &Scope,
        version: &VersionData,
        world: &World<'_>,
        switches: &Switches,
    ) -> Result<Effect, Message> {
        match statement {
            Statement::Create { name, events, targets, options } => {
                if self.position(scope, "create", name).is_ok() {
                    return Err(errors::session_exists(name));
                }
                let rules = Rules { version, switches };
                let made = Definition::create((self.last_id + 1, scope), name, events, targets, options, rules)?;
                self.last_id += 1;
                self.definitions.push(made);
                Ok(Effect::Nothing)
            }
            Statement::Drop { name } => {
                let at = self.position(scope, "drop", name)?;
                self.definitions.remove(at);
                self.end(scope, name);
                Ok(Effect::Nothing)
            }
            Statement::Alter { name, change } => self.alter((scope, name), change, version, world, switches),
        }
    }

    fn alter(
        &mut self,
        (scope, name): (&Scope, &str),
        change: &Change,
        version: &VersionData,
        world: &World<'_>,
        switches: &Switches,
    ) -> Result<Effect, Message> {
        let at = self.position(scope, "alter", name)?;
        let mut changed = match self.definitions.get(at) {
            Some(definition) => definition.clone(),
            None => return Err(errors::session_missing("alter", name)),
        };
        let is_running = self.running(scope, name).is_some();
        let options = match change {
            Change::Start if is_running => return Err(errors::already_started()),
            Change::Start => {
                if version.version == ServerVersion::AzureDb {
                    self.check_memory(&changed, switches)?;
                }
                self.start(at, world);
                return Ok(Effect::Started);
            }
            Change::Stop if !is_running => return Err(errors::already_stopped()),
            Change::Stop => {
                self.end(scope, name);
                return Ok(Effect::Nothing);
            }
            Change::Add { events, targets, options } => {
                changed.add(events, targets, Rules { version, switches })?;
                options
            }
            Change::Drop { events, targets, options } => {
                changed.remove(events, targets, version)?;
                if let Some(last) = events
                    .first()
                    .filter(|_| is_running && switches.drop_last_event_refused && changed.events.is_empty())
                {
                    return Err(errors::last_event(&last.to_string()));
                }
                options
            }
        };
        let fixed = options.iter().find(|option| !matches!(option, OptionSetting::StartupState(_)));
        if let Some(option) = fixed.filter(|_| is_running) {
            return Err(errors::option_while_running(option.name()));
        }
        changed.options = changed.options.with(options)?;
        let collation = self.collation;
        let is_it = |session: &&mut RunningSession| session.scope == *scope && collation.same(&session.name, name);
        if let Some(running) = self.running.iter_mut().find(is_it) {
            running.follow(&changed, world);
        }
        if let Some(definition) = self.definitions.get_mut(at) {
            *definition = changed;
        }
        Ok(Effect::Nothing)
    }

    /// Starts the definition at this place.
    fn start(&mut self, at: usize, world: &World<'_>) {
        if let Some(definition) = self.definitions.get(at) {
            self.started += 1;
            let address = 0x0000_01f4_3c00_0000 + self.started * 0x0001_0000;
            self.running.push(RunningSession::start(definition, address, world));
        }
    }

    fn end(&mut self, scope: &Scope, name: &str) {
        let collation = self.collation;
        self.running.retain(|session| session.scope != *scope || !collation.same(&session.name, name));
    }

    /// Whether Azure SQL Database has memory for one more started session (documented limits).
    fn check_memory(&self, starting: &Definition, switches: &Switches) -> Result<(), Message> {
        let of_running = |counts: &dyn Fn(&RunningSession) -> bool| -> u64 {
            self.running.iter().filter(|session| counts(session)).map(|session| session.options.max_memory_kb).sum()
        };
        let asked = starting.options.max_memory_kb;
        if of_running(&|session| session.scope == starting.scope).saturating_add(asked) > DATABASE_MEMORY_KB {
            return Err(errors::database_memory());
        }
        let pooled = switches.places.tier == Tier::Pool;
        if pooled && of_running(&|_| true).saturating_add(asked) > POOL_MEMORY_KB {
            return Err(errors::pool_memory());
        }
        Ok(())
    }
}
