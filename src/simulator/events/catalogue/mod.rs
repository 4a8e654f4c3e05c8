//! Owns the objects of the Extended Events packages: events with their fields, actions, targets, as data.

mod actions;
mod events;
mod targets;

use crate::model::ServerVersion;
use crate::simulator::versions::{VersionData, VersionRange};

/// Type of a field or action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// An integer of this type name.
    Integer(&'static str),
    /// A key of this map.
    Map(&'static str),
    /// `unicode_string`.
    Text,
    /// `callstack`: no predicate compares it.
    CallStack,
}

impl FieldType {
    /// The type's name in sys.dm_xe_object_columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer(name) | Self::Map(name) => name,
            Self::Text => "unicode_string",
            Self::CallStack => "callstack",
        }
    }
}

/// A field.
pub type Field = (&'static str, FieldType);

/// An event.
#[derive(Debug, PartialEq, Eq)]
pub struct EventObject {
    /// Its package.
    pub package: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it tells.
    pub description: &'static str,
    /// Its data fields, in order.
    pub fields: &'static [Field],
    /// Attributes that SET takes: name, type name, default.
    pub attributes: &'static [(&'static str, &'static str, &'static str)],
    /// Whether it may not block, so that a session without event loss cannot have it (assumed for these events).
    pub no_block: bool,
    /// Versions that have it in this form.
    pub versions: VersionRange,
}

/// An action; those that are also predicate sources are compared by their type.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ActionObject {
    pub package: &'static str,
    pub name: &'static str,
    pub field_type: FieldType,
    pub description: &'static str,
    pub versions: VersionRange,
}

/// A parameter of a target: name, type name, whether it is mandatory.
pub type Parameter = (&'static str, &'static str, bool);

/// A target.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TargetObject {
    pub kind: TargetKind,
    pub name: &'static str,
    /// Older names under which it is still taken.
    pub aliases: &'static [&'static str],
    pub parameters: &'static [Parameter],
    pub description: &'static str,
    pub versions: VersionRange,
}

/// Which target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TargetKind {
    Histogram,
    RingBuffer,
    EventCounter,
    EventFile,
}

/// Sources that only predicates know.
pub const COUNTER: &str = "package0.counter";

/// Packages of the objects above: name, description.
pub const PACKAGES: [(&str, &str); 3] = [
    ("package0", "Default package. Contains all standard types, maps, compare operators, actions and targets"),
    ("sqlos", "Extended events for SQL Operating System"),
    ("sqlserver", "Extended events for Microsoft SQL Server"),
];

/// The events of a version.
pub fn events(version: ServerVersion) -> impl Iterator<Item = &'static EventObject> {
    events::EVENTS.iter().filter(move |event| event.versions.contains(version))
}

/// The actions of a version.
pub fn actions(version: ServerVersion) -> impl Iterator<Item = &'static ActionObject> {
    actions::ACTIONS.iter().filter(move |action| action.versions.contains(version))
}

/// The targets of a version.
pub fn targets(version: ServerVersion) -> impl Iterator<Item = &'static TargetObject> {
    targets::TARGETS.iter().filter(move |target| target.versions.contains(version))
}

/// An event by its package and name, without regard to case.
pub fn event(version: &VersionData, package: &str, name: &str) -> Option<&'static EventObject> {
    events(version.version)
        .find(|event| event.package.eq_ignore_ascii_case(package) && event.name.eq_ignore_ascii_case(name))
}

/// An action by its package and name.
pub fn action(version: &VersionData, package: &str, name: &str) -> Option<&'static ActionObject> {
    actions(version.version)
        .find(|action| action.package.eq_ignore_ascii_case(package) && action.name.eq_ignore_ascii_case(name))
}

/// A target by its name or an older one; all are in package0.
pub fn target(version: &VersionData, package: &str, name: &str) -> Option<&'static TargetObject> {
    let is_named = |known: &str| known.eq_ignore_ascii_case(name);
    targets(version.version)
        .filter(|_| package.eq_ignore_ascii_case("package0"))
        .find(|target| is_named(target.name) || target.aliases.iter().any(|alias| is_named(alias)))
}

impl EventObject {
    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// `package.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.package, self.name)
    }
}

impl ActionObject {
    /// `package.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.package, self.name)
    }
}
