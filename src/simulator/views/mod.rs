//! Owns the system views of the simulated server: columns by version as data, rows from the instance.

pub mod counters;
pub mod databases;
pub mod event_catalogue;
pub mod event_objects;
pub mod event_running;
pub mod objects;
mod odd;
pub mod performance;
pub mod replicas;
pub mod schema;
pub mod security;
pub mod server;
pub mod sessions;
pub mod statements;
pub mod storage;
pub mod triggers;
pub mod waiting;

use crate::model::ServerVersion;
use crate::simulator::databases::{DatabaseFile, Shown};
use crate::simulator::events::running::RunningSession;
use crate::simulator::events::session::{Definition, Scope};
use crate::simulator::faults::places::Tier;
use crate::simulator::host::SessionContext;
use crate::simulator::instance::{Instance, Moment, State};
use crate::simulator::output::Message;
use crate::simulator::permissions::Rights;
use crate::simulator::value::{Column, Datum};
use crate::simulator::workload::counters::{Cumulative, Reading};
use schema::Record;

/// What a view's rows are made from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The instance.
    pub instance: &'a Instance,
    /// Its state.
    pub state: &'a State,
    /// Now.
    pub now: Moment,
    /// Who reads.
    pub session: &'a SessionContext,
    /// Arguments of a table-valued function.
    pub arguments: &'a [Datum],
    /// Whether the view is about the current database, not the server.
    of_database: bool,
}

impl<'a> Source<'a> {
    /// Where counters stand.
    pub fn reading(&self) -> Reading {
        self.instance.reading(self.state, self.now)
    }

    /// Microseconds the server has been up.
    pub fn uptime_micros(&self) -> i64 {
        self.now.monotonic - self.state.process.started.monotonic
    }

    /// Microseconds its machine has been up.
    pub fn machine_uptime_micros(&self) -> i64 {
        self.now.monotonic - self.instance.machine_started()
    }

    /// What a counter has counted since the server started.
    pub fn counted(&self, counter: Cumulative) -> u64 {
        self.since_start().plain(counter)
    }

    /// What counters have counted since an earlier reading; all that they have, since none.
    pub fn since(&self, from: Option<Reading>) -> Since {
        let lift = if self.instance.switches().places.huge_counters { HUGE } else { 0 };
        Since { now: self.reading(), from, lift }
    }

    /// What counters have counted since the server started.
    pub fn since_start(&self) -> Since {
        self.since(self.state.process.before.map(|before| before.reading))
    }

    /// What counters of a database's files have, which begin anew when it was offline.
    fn since_opened(&self, database_id: i32, since_start: Since) -> Since {
        match self.state.databases.anew.get(&database_id) {
            Some(from) => Since { from: Some(*from), ..since_start },
            None => since_start,
        }
    }

    /// What the load has added since the simulated time began, of what one burst adds.
    fn added_since_origin(&self, load: u64) -> u64 {
        let at = |moment: i64| self.state.load.progress(moment).amount(load);
        at(self.now.monotonic).saturating_sub(at(self.instance.origin().monotonic))
    }

    /// Whether the load is on.
    fn is_loaded(&self) -> bool {
        self.state.load.is_on(self.now.monotonic)
    }

    /// The databases there are now.
    pub fn databases(&self) -> impl Iterator<Item = Shown<'a>> + use<'a> {
        self.state.databases.shown(self.instance.all_databases())
    }

    /// A session's database, though it may have another name by now.
    fn database_of(&self, session: &SessionContext) -> Option<Shown<'a>> {
        let by_name = self.databases().find(|shown| shown.name == session.database);
        by_name.or_else(|| self.databases().find(|shown| shown.database.name == session.database))
    }

    /// Microseconds in which the load was on since the server started.
    pub fn busy_micros(&self) -> u64 {
        let before = self.state.process.before.map_or(0, |before| before.busy_micros);
        self.state.load.busy_micros(self.now.monotonic).saturating_sub(before)
    }

    /// What the reader may do.
    pub fn rights(&self) -> Rights<'a> {
        self.instance.rights(&self.session.login)
    }

    /// Whether the reader sees the server's state.
    pub fn sees_state(&self) -> bool {
        self.rights().sees_state()
    }

    /// Whether a session is one of those that the view is about.
    fn is_shown(&self, scope: &Scope) -> bool {
        match scope {
            Scope::Server => !self.of_database,
            Scope::Database(name) => self.of_database && *name == self.session.database,
        }
    }

    /// The event sessions of the catalogue that the view is about.
    pub fn definitions(&self) -> impl Iterator<Item = &'a Definition> {
        let source = *self;
        let hidden = source.instance.switches().places.catalogue_hidden;
        self.state.engine.definitions.iter().filter(move |session| !hidden && source.is_shown(&session.scope))
    }

    /// The running event sessions that the view is about.
    pub fn running(&self) -> impl Iterator<Item = &'a RunningSession> {
        let source = *self;
        self.state.engine.running.iter().filter(move |session| source.is_shown(&session.scope))
    }

    /// An argument that is a number; `None` for NULL or none: every one is meant.
    pub fn number(&self, argument: usize) -> Option<i64> {
        match self.arguments.get(argument) {
            Some(Datum::Int(number)) => Some(*number),
            _ => None,
        }
    }
}

/// What counters begin with under `huge-counters`: near 2^63, with room for what the load adds.
const HUGE: u64 = i64::MAX as u64 - (1 << 40);

/// Counters now, less what they were at an earlier moment.
#[derive(Debug, Clone, Copy)]
pub struct Since {
    now: Reading,
    from: Option<Reading>,
    lift: u64,
}

impl Since {
    /// What a counter has counted.
    pub fn plain(self, counter: Cumulative) -> u64 {
        counter.at(self.now).saturating_sub(self.from.map_or(0, |from| counter.at(from)))
    }

    /// The same of a counter that `huge-counters` is about.
    pub fn value(self, counter: Cumulative) -> u64 {
        self.plain(Cumulative { base: counter.base.max(self.lift), ..counter })
    }

    /// Bytes that the load has added to a file, whenever that was.
    fn grown_bytes(self, file: &DatabaseFile) -> u64 {
        Cumulative::loaded(0, file.load.growth_bytes).at(self.now)
    }
}

/// Who may read a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// VIEW SERVER STATE, or VIEW SERVER PERFORMANCE STATE from 2022 on; errors 300 and 297 without. On Azure SQL
    /// Database VIEW DATABASE PERFORMANCE STATE, by service objective; errors 262 or 300, and 297.
    State,
    /// On Azure SQL Database VIEW DATABASE PERFORMANCE STATE, whatever the service objective; else as [`Access::State`].
    EventState,
    /// VIEW DATABASE PERFORMANCE STATE; the view is about the current database.
    DatabaseState,
    /// Everyone; what is seen may depend on rights.
    Public,
}

type Rows = fn(Source<'_>) -> Vec<Record>;

/// No rows at all.
fn empty(_: Source<'_>) -> Vec<Record> {
    Vec::new()
}

const VIEWS: &[(&str, Access, Rows)] = &[
    ("dm_os_wait_stats", Access::State, counters::wait_stats),
    ("dm_exec_session_wait_stats", Access::Public, counters::session_wait_stats),
    ("dm_os_latch_stats", Access::State, counters::latch_stats),
    ("dm_os_spinlock_stats", Access::State, counters::spinlock_stats),
    ("dm_os_performance_counters", Access::State, performance::performance_counters),
    ("dm_os_schedulers", Access::State, server::schedulers),
    ("dm_os_nodes", Access::State, server::nodes),
    ("dm_os_sys_info", Access::State, server::sys_info),
    ("dm_os_host_info", Access::State, server::host_info),
    ("dm_os_ring_buffers", Access::State, server::ring_buffers),
    ("dm_os_loaded_modules", Access::State, server::loaded_modules),
    ("dm_os_cluster_nodes", Access::State, empty),
    ("dm_server_services", Access::State, server::services),
    ("dm_os_tasks", Access::State, sessions::tasks),
    ("dm_os_workers", Access::State, sessions::workers),
    ("dm_os_waiting_tasks", Access::State, waiting::waiting_tasks),
    ("dm_exec_requests", Access::Public, sessions::requests),
    ("dm_exec_sessions", Access::Public, sessions::sessions),
    ("dm_exec_connections", Access::State, sessions::connections),
    ("dm_exec_query_stats", Access::State, statements::query_stats),
    ("dm_exec_sql_text", Access::State, statements::sql_text),
    ("dm_xe_packages", Access::EventState, event_objects::packages),
    ("dm_xe_objects", Access::EventState, event_objects::objects),
    ("dm_xe_object_columns", Access::EventState, event_objects::object_columns),
    ("dm_xe_map_values", Access::EventState, event_objects::map_values),
    ("dm_xe_sessions", Access::State, event_running::sessions),
    ("dm_xe_session_targets", Access::State, event_running::targets),
    ("dm_xe_session_events", Access::State, event_running::events),
    ("dm_xe_session_event_actions", Access::State, event_running::actions),
    ("dm_xe_session_object_columns", Access::State, event_running::object_columns),
    ("server_event_sessions", Access::State, event_catalogue::sessions),
    ("server_event_session_events", Access::State, event_catalogue::events),
    ("server_event_session_actions", Access::State, event_catalogue::actions),
    ("server_event_session_targets", Access::State, event_catalogue::targets),
    ("server_event_session_fields", Access::State, event_catalogue::fields),
    ("database_event_sessions", Access::DatabaseState, event_catalogue::sessions),
    ("database_event_session_events", Access::DatabaseState, event_catalogue::events),
    ("database_event_session_actions", Access::DatabaseState, event_catalogue::actions),
    ("database_event_session_targets", Access::DatabaseState, event_catalogue::targets),
    ("database_event_session_fields", Access::DatabaseState, event_catalogue::fields),
    ("dm_xe_database_sessions", Access::DatabaseState, event_running::sessions),
    ("dm_xe_database_session_targets", Access::DatabaseState, event_running::targets),
    ("dm_xe_database_session_events", Access::DatabaseState, event_running::events),
    ("dm_xe_database_session_event_actions", Access::DatabaseState, event_running::actions),
    ("dm_xe_database_session_object_columns", Access::DatabaseState, event_running::object_columns),
    ("dm_db_wait_stats", Access::DatabaseState, counters::wait_stats),
    ("databases", Access::Public, databases::databases),
    ("master_files", Access::Public, databases::master_files),
    ("database_files", Access::Public, databases::database_files),
    ("dm_io_virtual_file_stats", Access::State, storage::virtual_file_stats),
    ("dm_io_pending_io_requests", Access::State, storage::pending_requests),
    ("dm_tran_version_store_space_usage", Access::State, storage::version_store_space),
    ("dm_tran_persistent_version_store_stats", Access::State, storage::persistent_version_store),
    ("dm_hadr_database_replica_states", Access::State, replicas::database_states),
    ("dm_hadr_availability_replica_states", Access::State, replicas::replica_states),
    ("availability_replicas", Access::Public, replicas::availability_replicas),
    ("configurations", Access::Public, security::configurations),
    ("server_principals", Access::Public, security::principals),
    ("server_permissions", Access::Public, empty),
    ("triggers", Access::Public, triggers::of_database),
    ("trigger_events", Access::Public, triggers::events_of_database),
    ("server_triggers", Access::Public, triggers::triggers),
    ("server_trigger_events", Access::Public, triggers::trigger_events),
    ("server_audits", Access::Public, triggers::audits),
    ("server_audit_specifications", Access::Public, triggers::audit_specifications),
    ("traces", Access::Public, security::traces),
    ("all_objects", Access::Public, objects::all_objects),
    ("all_columns", Access::Public, objects::all_columns),
];

fn view(instance: &Instance, schema: &str, name: &str) -> Option<&'static (&'static str, Access, Rows)> {
    let names = instance.switches().places.collation;
    VIEWS.iter().find(|(known, ..)| names.same("sys", schema) && names.same(known, name))
}

/// The columns of a view on an instance; none where it does not exist.
fn shown_columns(instance: &Instance, name: &str) -> Vec<schema::ViewColumn> {
    let places = &instance.switches().places;
    if !places.has_view(name) {
        return Vec::new();
    }
    let version = instance.version_data().version;
    let version = match places.wide_backoffs.filter(|_| name == "dm_os_spinlock_stats") {
        None => version,
        Some(true) => ServerVersion::V2019,
        Some(false) => ServerVersion::V2017,
    };
    let shown = schema::columns(version, name).filter(|column| places.has_column(name, column.name()));
    let odd = places.odd_rows && odd::has_odd_rows(name);
    shown.map(|column| if odd { column.nullable() } else { column.clone() }).collect()
}

/// The columns of a view; `None` where it does not exist.
pub fn columns(instance: &Instance, schema: &str, name: &str) -> Option<Vec<Column>> {
    let (name, ..) = view(instance, schema, name)?;
    let columns: Vec<Column> = shown_columns(instance, name).iter().map(schema::ViewColumn::to_column).collect();
    Some(columns).filter(|columns| !columns.is_empty())
}

/// Its rows now. Errors: 208; 300 or 262, with 297.
pub fn rows(
    instance: &Instance,
    state: &State,
    now: Moment,
    session: &SessionContext,
    schema: &str,
    name: &str,
    arguments: &[Datum],
) -> Result<Vec<Vec<Datum>>, Vec<Message>> {
    let found = view(instance, schema, name).map(|found| (found, shown_columns(instance, found.0)));
    let Some(((name, access, rows), columns)) = found.filter(|(_, columns)| !columns.is_empty()) else {
        return Err(vec![Message::new(208, 16, format!("Invalid object name '{schema}.{name}'."))]);
    };
    let of_database = *access == Access::DatabaseState;
    let source = Source { instance, state, now, session, arguments, of_database };
    source.check(*access)?;
    let mut rows = rows(source);
    if instance.switches().places.odd_rows {
        odd::add_rows(name, &mut rows);
    }
    Ok(rows.into_iter().map(|record| record.into_row(&columns)).collect())
}

impl Source<'_> {
    /// Errors: 300 or 262, with 297.
    fn check(&self, access: Access) -> Result<(), Vec<Message>> {
        let rights = self.rights();
        let azure_database = self.instance.version_data().is_azure_database();
        let by_database = match access {
            Access::Public => return Ok(()),
            Access::State => azure_database && self.instance.switches().places.tier == Tier::Single,
            Access::EventState => azure_database,
            Access::DatabaseState => true,
        };
        let sees = if by_database { rights.sees_database_state() } else { rights.sees_state() };
        if sees { Ok(()) } else { Err(rights.state_denied(by_database.then_some(&self.session.database))) }
    }
}

/// The views there are, for tests over all of them.
pub fn names() -> impl Iterator<Item = &'static str> {
    VIEWS.iter().map(|(name, ..)| *name)
}
