//! Owns event sessions as they are defined: what CREATE and ALTER accept, with names looked up.

use crate::model::ServerVersion;
use crate::simulator::events::catalogue::{self, ActionObject, EventObject, TargetKind, TargetObject};
use crate::simulator::events::errors;
use crate::simulator::events::expression::Literal;
use crate::simulator::events::histogram::{DEFAULT_SLOTS, MAX_SLOTS, Source};
use crate::simulator::events::options::{OptionSetting, Options, Retention};
use crate::simulator::events::predicate::Predicate;
use crate::simulator::events::statement::{EventClause, ObjectName, TargetClause};
use crate::simulator::faults::switches::Switches;
use crate::simulator::output::Message;
use crate::simulator::versions::VersionData;
use crate::simulator::workload::storage::Storage;
use std::sync::Arc;

/// What names and combinations are accepted by.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The version.
    pub version: &'a VersionData,
    /// The faults.
    pub switches: &'a Switches,
}

/// An event of a session.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct BoundEvent {
    pub id: i32,
    pub object: &'static EventObject,
    pub settings: Vec<(String, Literal)>,
    pub actions: Vec<&'static ActionObject>,
    pub predicate: Option<Predicate>,
}

/// A target of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundTarget {
    /// Its number in the session.
    pub id: i32,
    /// Which.
    pub object: &'static TargetObject,
    /// The name it was asked for under, one of the object's.
    pub given_name: &'static str,
    /// Its parameters as given.
    pub settings: Vec<(&'static str, Literal)>,
}

/// Where a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// On the server: it sees every event.
    Server,
    /// In this database: it sees the events that happen there.
    Database(String),
}

impl Scope {
    /// Whether the workload's events happen in it.
    pub fn has_workload(&self, storage: &Storage) -> bool {
        match self {
            Self::Server => true,
            Self::Database(name) => name == storage.own_database_name(),
        }
    }
}

/// A session in the catalogue.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Definition {
    pub id: i32,
    pub scope: Scope,
    pub name: String,
    pub events: Vec<Arc<BoundEvent>>,
    pub targets: Vec<Arc<BoundTarget>>,
    pub options: Options,
    last_object: i32,
}

impl Definition {
    /// CREATE.
    pub fn create(
        (id, scope): (i32, &Scope),
        name: &str,
        events: &[EventClause],
        targets: &[TargetClause],
        options: &[OptionSetting],
        rules: Rules<'_>,
    ) -> Result<Self, Message> {
        let mut definition = Self {
            id,
            scope: scope.clone(),
            name: name.to_owned(),
            events: Vec::new(),
            targets: Vec::new(),
            options: Options::default().with(options)?,
            last_object: 0,
        };
        definition.add(events, targets, rules)?;
        Ok(definition)
    }

    /// ADD EVENT and ADD TARGET.
    pub fn add(&mut self, events: &[EventClause], targets: &[TargetClause], rules: Rules<'_>) -> Result<(), Message> {
        let before = (self.events.len(), self.targets.len());
        for clause in events {
            let event = self.bind_event(clause, rules)?;
            if let Some(at) = self.events.iter().position(|known| known.object == event.object) {
                let name = event.object.full_name();
                return Err(if at < before.0 {
                    errors::already_in_session("event", &name)
                } else {
                    errors::specified_twice("event", &name)
                });
            }
            self.events.push(Arc::new(event));
        }
        for clause in targets {
            let target = self.bind_target(clause, rules.version)?;
            // Old and new names of the bucketizers are one target. Assumed: a second one is refused like any other.
            if let Some(at) = self.targets.iter().position(|known| known.object == target.object) {
                let name = clause.name.to_string();
                return Err(if at < before.1 {
                    errors::already_in_session("target", &name)
                } else {
                    errors::specified_twice("target", &name)
                });
            }
            self.targets.push(Arc::new(target));
        }
        Ok(())
    }

    /// DROP EVENT and DROP TARGET.
    pub fn remove(
        &mut self,
        events: &[ObjectName],
        targets: &[ObjectName],
        version: &VersionData,
    ) -> Result<(), Message> {
        for name in events {
            let found = catalogue::event(version, &name.package, &name.name)
                .ok_or_else(|| errors::unknown_object("event", &name.to_string()))?;
            let before = self.events.len();
            self.events.retain(|event| event.object != found);
            if self.events.len() == before {
                return Err(errors::not_in_session("event", &name.to_string()));
            }
        }
        for name in targets {
            let found = catalogue::target(version, &name.package, &name.name)
                .ok_or_else(|| errors::unknown_object("target", &name.to_string()))?;
            let before = self.targets.len();
            self.targets.retain(|target| target.object != found);
            if self.targets.len() == before {
                return Err(errors::not_in_session("target", &name.to_string()));
            }
        }
        Ok(())
    }

    fn next_id(&mut self) -> i32 {
        self.last_object += 1;
        self.last_object
    }

    fn bind_event(&mut self, clause: &EventClause, rules: Rules<'_>) -> Result<BoundEvent, Message> {
        let version = rules.version;
        let name = clause.name.to_string();
        let object = catalogue::event(version, &clause.name.package, &clause.name.name)
            .ok_or_else(|| errors::unknown_object("event", &name))?;
        // Azure SQL Database takes the option and behaves as with single event loss (documented).
        let may_lose_none = rules.switches.no_event_loss_allowed || version.version == ServerVersion::AzureDb;
        if object.no_block && self.options.retention == Retention::NoEventLoss && !may_lose_none {
            return Err(errors::no_event_loss(&name));
        }
        let mut seen: Vec<&str> = Vec::new();
        for (setting, value) in &clause.settings {
            let known = object.attributes.iter().find(|(attribute, ..)| attribute.eq_ignore_ascii_case(setting));
            let (attribute, type_name, _) = known.ok_or_else(|| errors::unknown_attribute("event", &name, setting))?;
            check_type("event", &name, attribute, type_name, value)?;
            if seen.contains(attribute) {
                return Err(errors::attribute_twice("event", &name, attribute));
            }
            seen.push(attribute);
        }
        let mut actions: Vec<&'static ActionObject> = Vec::new();
        for action in &clause.actions {
            let found = catalogue::action(version, &action.package, &action.name)
                .ok_or_else(|| errors::unknown_object("action", &action.to_string()))?;
            if actions.contains(&found) {
                return Err(errors::specified_twice("action", &action.to_string()));
            }
            actions.push(found);
        }
        let predicate =
            clause.predicate.as_ref().map(|predicate| Predicate::bind(predicate, object, version)).transpose()?;
        Ok(BoundEvent { id: self.next_id(), object, settings: clause.settings.clone(), actions, predicate })
    }

    fn bind_target(&mut self, clause: &TargetClause, version: &VersionData) -> Result<BoundTarget, Message> {
        let name = clause.name.to_string();
        let object = catalogue::target(version, &clause.name.package, &clause.name.name)
            .ok_or_else(|| errors::unknown_object("target", &name))?;
        let mut settings: Vec<(&'static str, Literal)> = Vec::new();
        for (setting, value) in &clause.settings {
            let known = object.parameters.iter().find(|(parameter, ..)| parameter.eq_ignore_ascii_case(setting));
            let (parameter, type_name, _) = known.ok_or_else(|| errors::unknown_attribute("target", &name, setting))?;
            check_type("target", &name, parameter, type_name, value)?;
            if settings.iter().any(|(seen, _)| seen == parameter) {
                return Err(errors::attribute_twice("target", &name, parameter));
            }
            settings.push((parameter, value.clone()));
        }
        let missing = |parameter: &str| !settings.iter().any(|(given, _)| *given == parameter);
        if object.parameters.iter().any(|(parameter, _, mandatory)| *mandatory && missing(parameter)) {
            return Err(errors::mandatory_missing("target", &name));
        }
        let given_name = object.aliases.iter().copied().find(|alias| alias.eq_ignore_ascii_case(&clause.name.name));
        let target =
            BoundTarget { id: self.next_id(), object, given_name: given_name.unwrap_or(object.name), settings };
        if object.kind == TargetKind::Histogram {
            target.check_histogram(&name, version)?;
        }
        Ok(target)
    }
}

fn check_type(kind: &str, name: &str, attribute: &str, type_name: &str, value: &Literal) -> Result<(), Message> {
    let fits = match (type_name, value) {
        ("unicode_string_ptr", Literal::Text(_)) => true,
        ("boolean", Literal::Number(number)) => (0..=1).contains(number),
        ("uint8", Literal::Number(number)) => u8::try_from(*number).is_ok(),
        ("uint32", Literal::Number(number)) => u32::try_from(*number).is_ok(),
        ("uint64", Literal::Number(number)) => u64::try_from(*number).is_ok(),
        _ => false,
    };
    if fits { Ok(()) } else { Err(errors::attribute_type(kind, name, attribute, type_name)) }
}

impl BoundTarget {
    /// The name that views show.
    pub fn shown_name(&self, switches: &Switches) -> &'static str {
        if switches.target_name_given { self.given_name } else { self.object.name }
    }

    /// A parameter that is a number.
    pub fn number(&self, parameter: &str) -> Option<u64> {
        self.settings.iter().find(|(name, _)| *name == parameter).and_then(|(_, value)| match value {
            Literal::Number(number) => u64::try_from(*number).ok(),
            Literal::Text(_) => None,
        })
    }

    /// A parameter that is text.
    pub fn text(&self, parameter: &str) -> Option<&str> {
        self.settings.iter().find(|(name, _)| *name == parameter).and_then(|(_, value)| match value {
            Literal::Text(text) => Some(text.as_str()),
            Literal::Number(_) => None,
        })
    }

    /// Slots asked for.
    pub fn slots(&self) -> u64 {
        self.number("slots").unwrap_or(DEFAULT_SLOTS)
    }

    /// The event a histogram is for, `package.name` in lower case.
    pub fn filtering_event(&self) -> Option<String> {
        self.text("filtering_event_name").map(str::to_lowercase)
    }

    /// Where a histogram's values come from. Source type 0 is a field, 1 (the default) an action.
    pub fn source(&self) -> Source {
        let source = self.text("source").unwrap_or_default().to_lowercase();
        if self.number("source_type") == Some(0) { Source::Field(source) } else { Source::Action(source) }
    }

    /// Assumed: which of these the server tells with 25641, and the sentence after it.
    fn check_histogram(&self, name: &str, version: &VersionData) -> Result<(), Message> {
        let invalid = |parameter: &str, reason: &str| Err(errors::invalid_parameter(name, parameter, reason));
        if !(1..=MAX_SLOTS).contains(&self.slots()) {
            return invalid("slots", "The number of slots is out of range.");
        }
        if self.number("source_type").is_some_and(|kind| kind > 1) {
            return invalid("source_type", "It is 0 for an event field or 1 for an action.");
        }
        let filtering = self.filtering_event();
        let event = match &filtering {
            None => None,
            Some(full_name) => {
                let found =
                    full_name.split_once('.').and_then(|(package, event)| catalogue::event(version, package, event));
                if found.is_none() {
                    return invalid("filtering_event_name", "The event could not be found.");
                }
                found
            }
        };
        match self.source() {
            Source::Field(field) => match event {
                None => invalid("filtering_event_name", "It is needed when the source is an event field."),
                Some(event) if event.field(&field).is_none() => invalid("source", "The event has no such field."),
                Some(_) => Ok(()),
            },
            Source::Action(action) => {
                let found =
                    action.split_once('.').and_then(|(package, name)| catalogue::action(version, package, name));
                if found.is_some() { Ok(()) } else { invalid("source", "The action could not be found.") }
            }
        }
    }
}
