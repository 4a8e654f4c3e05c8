//! Owns what the instance answers to the SQL engine.

use crate::model::ServerVersion;
use crate::simulator::collation::Collation;
use crate::simulator::dbcc::{self, Action, Statistics};
use crate::simulator::events::session::Scope;
use crate::simulator::events::statement::{self, Change, Grammar, Level, Statement};
use crate::simulator::events::{Effect, errors};
use crate::simulator::faults::At;
use crate::simulator::faults::kinds::DdlTrigger;
use crate::simulator::faults::places::{Edition, OtherDialect};
use crate::simulator::host::{Disturbance, Host, SessionContext};
use crate::simulator::instance::moments::refuse_ended;
use crate::simulator::instance::{Instance, State};
use crate::simulator::language::Language;
use crate::simulator::output::{Message, Output};
use crate::simulator::properties;
use crate::simulator::seeded;
use crate::simulator::sql::tokenizer::Token;
use crate::simulator::value::{Column, Datum};
use crate::simulator::views;
use std::sync::MutexGuard;
use tokio_util::sync::CancellationToken;

impl Instance {
    fn may_run(&self, session: &SessionContext, statement: &Statement, scope: &Scope) -> bool {
        let rights = self.rights(&session.login);
        let may = |fine: &str| match scope {
            Scope::Server => rights.may_on_event_sessions(fine),
            Scope::Database(_) => rights.may_on_sessions_of_database(fine),
        };
        match statement {
            Statement::Create { .. } => may("CREATE ANY EVENT SESSION"),
            Statement::Drop { .. } => may("DROP ANY EVENT SESSION"),
            Statement::Alter { change, .. } => match change {
                Change::Start => may("ALTER ANY EVENT SESSION ENABLE"),
                Change::Stop => may("ALTER ANY EVENT SESSION DISABLE"),
                Change::Add { events, targets, options } => {
                    (events.is_empty() || may("ALTER ANY EVENT SESSION ADD EVENT"))
                        && (targets.is_empty() || may("ALTER ANY EVENT SESSION ADD TARGET"))
                        && (options.is_empty() || may("ALTER ANY EVENT SESSION OPTION"))
                }
                Change::Drop { events, targets, options } => {
                    (events.is_empty() || may("ALTER ANY EVENT SESSION DROP EVENT"))
                        && (targets.is_empty() || may("ALTER ANY EVENT SESSION DROP TARGET"))
                        && (options.is_empty() || may("ALTER ANY EVENT SESSION OPTION"))
                }
            },
        }
    }

    /// Where a statement's event session is. Errors: 25737.
    fn scope(&self, session: &SessionContext, level: Level) -> Result<Scope, Message> {
        let azure_database = self.version.is_azure_database();
        match level {
            Level::Server if azure_database => Err(errors::azure_scope()),
            Level::Server => Ok(Scope::Server),
            Level::Database if azure_database && session.database == "master" => Err(errors::azure_scope()),
            Level::Database => Ok(Scope::Database(session.database.clone())),
        }
    }

    fn grammar(&self) -> Grammar {
        let grammar = Grammar::of(self.version.version);
        Grammar { max_duration: grammar.max_duration && !self.switches.places.max_duration_absent, ..grammar }
    }

    /// The lock, for a session that the server has not ended.
    fn lock_for(&self, session: &SessionContext) -> Result<MutexGuard<'_, State>, Vec<Message>> {
        let state = self.lock();
        refuse_ended(&state, session)?;
        Ok(state)
    }

    /// A session's locks and trace flags go.
    fn let_go(&self, state: &mut State, session: &SessionContext) {
        let now = self.now();
        self.on_engine(state, now, |_, _| ());
        state.flags.end_session(session.spid);
        state.locks.retain(|_, (holder, _)| *holder != session.spid);
    }

    fn refusal(&self, statement: &Statement) -> Message {
        match statement {
            Statement::Alter { name, .. } if self.switches.refusal_hides => errors::session_missing("alter", name),
            Statement::Drop { name } if self.switches.refusal_hides => errors::session_missing("drop", name),
            _ => errors::no_permission(),
        }
    }
}

impl Host for Instance {
    fn version(&self) -> ServerVersion {
        self.version.version
    }

    fn collation(&self) -> Collation {
        self.switches.places.collation
    }

    fn language(&self) -> Language {
        self.switches.places.language
    }

    fn columns(&self, schema: &str, name: &str) -> Option<Vec<Column>> {
        views::columns(self, schema, name)
    }

    fn object_id(&self, schema: &str, name: &str) -> Option<i32> {
        self.columns(schema, name).map(|_| seeded::object_id(&name.to_lowercase()))
    }

    fn rows(
        &self,
        session: &SessionContext,
        schema: &str,
        name: &str,
        arguments: &[Datum],
    ) -> Result<Vec<Vec<Datum>>, Vec<Message>> {
        self.arrive(session, &At::Statement(format!("{schema}.{name}").to_lowercase()))?;
        if let Some(client) = self.lock().sessions.get_mut(&session.spid) {
            client.cpu_ms = client.cpu_ms.saturating_add(self.switches.read_cost_ms);
        }
        self.with_state(|state, now| views::rows(self, state, now, session, schema, name, arguments))
    }

    fn server_property(&self, name: &str) -> Datum {
        properties::server_property(self, name)
    }

    fn version_text(&self) -> String {
        properties::version_text(self)
    }

    fn has_permission(&self, session: &SessionContext, permission: &str) -> Option<bool> {
        self.rights(&session.login).has(permission)
    }

    fn has_database_permission(&self, session: &SessionContext, database: &str, permission: &str) -> Option<bool> {
        self.databases().iter().find(|(_, known)| self.collation().same(known, database))?;
        self.rights(&session.login).has_in_database(permission)
    }

    fn is_role_member(&self, session: &SessionContext, role: &str) -> Option<bool> {
        self.rights(&session.login).is_role_member(role)
    }

    fn reaches_other_databases(&self) -> bool {
        !self.version.is_azure_database()
    }

    fn databases(&self) -> Vec<(i32, String)> {
        let state = self.lock();
        state.databases.shown(&self.databases).map(|shown| (shown.database.id, shown.name.to_owned())).collect()
    }

    fn event_session(&self, session: &SessionContext, statement: &[Token]) -> Result<(), Vec<Message>> {
        let (parsed, level) = statement::parse(statement, self.grammar()).map_err(|message| vec![message])?;
        self.arrive(session, &At::Statement(parsed.fault_name().to_owned()))?;
        let scope = self.scope(session, level).map_err(|message| vec![message])?;
        if !self.may_run(session, &parsed, &scope) {
            return Err(vec![self.refusal(&parsed)]);
        }
        if self.switches.places.edition != Edition::Developer && !matches!(parsed, Statement::Drop { .. }) {
            return Err(errors::refused_by_edition(&parsed));
        }
        let mut state = self.lock_for(session)?;
        let now = self.now();
        let effect = self
            .on_engine(&mut state, now, |engine, world| {
                let before = (self.switches.ddl_trigger == Some(DdlTrigger::Rollback)).then(|| engine.clone());
                let effect = engine.execute(&parsed, &scope, self.version, world, &self.switches)?;
                if let Some(before) = before {
                    *engine = before;
                    return Err(errors::ended_in_trigger());
                }
                Ok(effect)
            })
            .map_err(|message| vec![message])?;
        if effect == Effect::Started {
            state.load.session_started(now.monotonic);
        }
        Ok(())
    }

    fn dbcc(&self, session: &SessionContext, statement: &[Token]) -> Result<Vec<Output>, Vec<Message>> {
        let command = dbcc::parse(statement).map_err(|message| vec![message])?;
        self.arrive(session, &At::Statement(command.action.name().to_lowercase()))?;
        if self.version.is_azure_database() {
            return Err(vec![dbcc::not_supported(command.action.name())]);
        }
        let rights = self.rights(&session.login);
        let mut state = self.lock_for(session)?;
        let now = self.now();
        self.on_engine(&mut state, now, |_, _| ());
        let mut output = Vec::new();
        match &command.action {
            Action::TraceFlags { on, flags, global } => {
                if !rights.is_sysadmin() {
                    return Err(vec![dbcc::not_permitted(&session.login, command.action.name())]);
                }
                if self.version.is_azure() && !dbcc::managed_instance_takes(flags, *global) {
                    return Err(vec![dbcc::not_supported(command.action.name())]);
                }
                dbcc::set_flags(&mut state.flags, session, flags, *global, *on);
            }
            Action::TraceStatus { flags, global } => {
                output.extend(dbcc::trace_status(
                    &state.flags,
                    session,
                    flags,
                    *global,
                    self.switches.trace_status_rowset,
                ));
            }
            Action::Clear(of) => {
                if rights.has("ALTER SERVER STATE") != Some(true) {
                    return Err(vec![errors::no_permission()]);
                }
                let reading = Some(self.reading(&state, now));
                match of {
                    Statistics::Waits => state.cleared.waits = reading,
                    Statistics::Latches => state.cleared.latches = reading,
                    Statistics::Spinlocks => state.cleared.spinlocks = reading,
                }
            }
        }
        if !command.quiet {
            output.push(dbcc::completed());
        }
        Ok(output)
    }

    fn get_app_lock(&self, session: &SessionContext, resource: &str) -> i32 {
        let Ok(mut state) = self.lock_for(session) else { return -1 };
        let (holder, count) =
            state.locks.entry((session.database.clone(), resource.to_owned())).or_insert((session.spid, 0));
        if *holder != session.spid {
            return -1;
        }
        *count += 1;
        0
    }

    fn release_app_lock(&self, session: &SessionContext, resource: &str) -> i32 {
        let mut state = self.lock();
        let lock = (session.database.clone(), resource.to_owned());
        match state.locks.get_mut(&lock) {
            Some((holder, count)) if *holder == session.spid => {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    state.locks.remove(&lock);
                }
                0
            }
            _ => -999,
        }
    }

    fn utc_micros(&self) -> i64 {
        self.now().utc
    }

    fn begin_request(&self, session: &SessionContext, number: u64) -> Result<(), Vec<Message>> {
        if self.switches.places.dialect == Some(OtherDialect::RefusesAll) {
            return Err(vec![Message::new(102, 15, "Incorrect syntax.")]);
        }
        self.arrive(session, &At::Number(number))
    }

    fn disturbances(&self, session: &SessionContext) -> Vec<Disturbance> {
        if !self.has_moments {
            return Vec::new();
        }
        self.lock().disturbances.remove(&session.spid).unwrap_or_default()
    }

    fn ended(&self, session: &SessionContext) -> CancellationToken {
        self.lock().sessions.get(&session.spid).map_or_else(cancelled, |client| client.ended.clone())
    }

    fn reset_session(&self, session: &SessionContext) {
        self.let_go(&mut self.lock(), session);
    }

    fn end_session(&self, session: &SessionContext) {
        let mut state = self.lock();
        if !state.ended.remove(&session.spid) {
            self.let_go(&mut state, session);
            state.sessions.remove(&session.spid);
        }
        state.disturbances.remove(&session.spid);
    }
}

/// Of a session that is gone already.
fn cancelled() -> CancellationToken {
    let token = CancellationToken::new();
    token.cancel();
    token
}
