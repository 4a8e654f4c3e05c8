//! Owns the rows about Extended Events objects: packages, events, actions, targets, maps.

use crate::simulator::events::catalogue::{self, ActionObject, FieldType, PACKAGES};
use crate::simulator::events::predicate;
use crate::simulator::maps;
use crate::simulator::seeded;
use crate::simulator::value::Datum;
use crate::simulator::views::Source;
use crate::simulator::views::schema::{Record, address};

/// A package's GUID.
pub fn package_guid(package: &str) -> Datum {
    Datum::Guid(seeded::guid(&["package", package]))
}

/// A module's GUID; the packages of the engine come from two modules.
fn module_guid(package: &str) -> Datum {
    let module = if package == "sqlserver" { "sqllang" } else { "sqldk" };
    Datum::Guid(seeded::guid(&["module", module]))
}

/// sys.dm_xe_packages.
pub fn packages(_: Source<'_>) -> Vec<Record> {
    let rows = PACKAGES.into_iter().map(|(name, description)| {
        Record::new()
            .with("name", name)
            .with("guid", package_guid(name))
            .with("description", description)
            .with("module_guid", module_guid(name))
            .with("module_address", address(0x7ff8_0000_0000))
    });
    rows.collect()
}

/// sys.dm_xe_objects.
pub fn objects(source: Source<'_>) -> Vec<Record> {
    let version = source.instance.version_data().version;
    let object = |name: &str, kind: &'static str, package: &str, description: &str| {
        Record::new()
            .with("name", name)
            .with("object_type", kind)
            .with("package_guid", package_guid(package))
            .with("description", description)
    };
    let mut rows = Vec::new();
    for event in catalogue::events(version) {
        let row = object(event.name, "event", event.package, event.description);
        let row = if event.no_block { row.with("capabilities_desc", "no_block") } else { row };
        rows.push(row.with("type_name", "null").with("type_package_guid", package_guid("package0")));
    }
    let typed = |row: Record, action: &ActionObject| {
        row.with("type_name", action.field_type.name()).with("type_package_guid", package_guid("package0"))
    };
    for action in catalogue::actions(version) {
        rows.push(typed(object(action.name, "action", action.package, action.description), action));
        if action.package != "package0" {
            rows.push(typed(object(action.name, "pred_source", action.package, action.description), action));
        }
    }
    rows.push(
        object("counter", "pred_source", "package0", "Counts the number of times evaluated.")
            .with("type_name", "uint64")
            .with("type_package_guid", package_guid("package0")),
    );
    for target in catalogue::targets(version) {
        rows.push(object(target.name, "target", "package0", target.description));
    }
    for name in predicate::function_names() {
        let compared = name.rsplit_once('_').map_or("", |(_, compared)| compared).to_owned();
        rows.push(
            object(&name, "pred_compare", "package0", "Compares a source with a value.").with("type_name", compared),
        );
    }
    for map in maps::maps(source.instance.version_data()) {
        rows.push(object(map.name, "map", map.package, map.name));
    }
    rows
}

/// sys.dm_xe_object_columns.
pub fn object_columns(source: Source<'_>) -> Vec<Record> {
    let version = source.instance.version_data().version;
    let column = |object: &str, package: &str, id: i32, name: &str, type_name: &str, kind: &'static str| {
        Record::new()
            .with("name", name)
            .with("column_id", id)
            .with("object_name", object)
            .with("object_package_guid", package_guid(package))
            .with("type_name", type_name)
            .with("type_package_guid", package_guid("package0"))
            .with("column_type", kind)
    };
    let mut rows = Vec::new();
    for event in catalogue::events(version) {
        let readonly = [("ID", "uint16", "0"), ("UUID", "guid_ptr", ""), ("VERSION", "uint8", "1")];
        for (id, (name, type_name, value)) in (0..).zip(readonly) {
            rows.push(column(event.name, event.package, id, name, type_name, "readonly").with("column_value", value));
        }
        for (id, (name, type_name, default)) in (0..).zip(event.attributes) {
            rows.push(
                column(event.name, event.package, id, name, type_name, "customizable").with("column_value", *default),
            );
        }
        for (id, (name, field_type)) in (0..).zip(event.fields) {
            let row = column(event.name, event.package, id, name, field_type.name(), "data");
            let owner = if matches!(field_type, FieldType::Map(_)) { event.package } else { "package0" };
            rows.push(row.with("type_package_guid", package_guid(owner)));
        }
    }
    for target in catalogue::targets(version) {
        for (id, (name, type_name, mandatory)) in (0..).zip(target.parameters) {
            let row = column(target.name, "package0", id, name, type_name, "customizable");
            let row = if *mandatory { row.with("capabilities", 1).with("capabilities_desc", "mandatory") } else { row };
            rows.push(row);
        }
    }
    rows
}

/// sys.dm_xe_map_values.
pub fn map_values(source: Source<'_>) -> Vec<Record> {
    let mut rows = Vec::new();
    for map in maps::maps(source.instance.version_data()) {
        for (key, text) in map.values {
            rows.push(
                Record::new()
                    .with("name", map.name)
                    .with("object_package_guid", package_guid(map.package))
                    .with("map_key", key)
                    .with("map_value", text),
            );
        }
    }
    rows
}
