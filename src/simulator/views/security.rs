//! Owns the rows about principals, configuration and traces.

use crate::simulator::value::{Datum, SqlType};
use crate::simulator::views::Source;
use crate::simulator::views::schema::{Record, time};

/// 2003-04-08, the product's for `sa`.
const PRINCIPAL_CREATED: i64 = 1_049_793_042_000_000;

/// sys.server_principals: fixed roles and the logins.
pub fn principals(source: Source<'_>) -> Vec<Record> {
    let base = |name: &str, id: i32, kind: &'static str, kind_desc: &'static str| {
        Record::new()
            .with("name", name)
            .with("principal_id", id)
            .with("sid", Datum::Binary(if id == 1 { vec![1] } else { id.to_le_bytes().to_vec() }))
            .with("type", kind)
            .with("type_desc", kind_desc)
            .with("create_date", time(PRINCIPAL_CREATED))
            .with("modify_date", time(PRINCIPAL_CREATED))
    };
    let role =
        |(name, id)| base(name, id, "R", "SERVER_ROLE").with("is_fixed_role", true).with("owning_principal_id", 1);
    let mut rows: Vec<Record> =
        [("public", 2), ("sysadmin", 3), ("securityadmin", 4), ("serveradmin", 5)].map(role).into();
    for (index, account) in (0_i32..).zip(source.instance.accounts()) {
        let id = if index == 0 { 1 } else { 258 + index };
        rows.push(
            base(&account.name, id, "S", "SQL_LOGIN")
                .with("is_disabled", false)
                .with("default_database_name", "master")
                .with("default_language_name", source.instance.switches().places.language.name()),
        );
    }
    rows
}

/// Number, name, value, minimum, maximum, whether it is dynamic, whether it is advanced.
const CONFIGURATIONS: [(i32, &str, i64, i64, i64, bool, bool); 12] = [
    (101, "recovery interval (min)", 0, 0, 32_767, true, true),
    (102, "allow updates", 0, 0, 1, true, false),
    (103, "user connections", 0, 0, 32_767, false, true),
    (503, "max worker threads", 0, 128, 65_535, true, true),
    (518, "show advanced options", 0, 0, 1, true, false),
    (1_517, "priority boost", 0, 0, 1, false, true),
    (1_538, "cost threshold for parallelism", 5, 0, 32_767, true, true),
    (1_539, "max degree of parallelism", 8, 0, 32_767, true, true),
    (1_543, "min server memory (MB)", 16, 0, 2_147_483_647, true, true),
    (1_544, "max server memory (MB)", 12_288, 128, 2_147_483_647, true, true),
    (1_568, "default trace enabled", 1, 0, 1, true, true),
    (1_581, "optimize for ad hoc workloads", 0, 0, 1, true, true),
];

/// sys.configurations.
pub fn configurations(_: Source<'_>) -> Vec<Record> {
    let variant = |value: i64| Datum::Variant(SqlType::Int, Box::new(Datum::Int(value)));
    let rows = CONFIGURATIONS.into_iter().map(|(id, name, value, minimum, maximum, dynamic, advanced)| {
        Record::new()
            .with("configuration_id", id)
            .with("name", name)
            .with("value", variant(value))
            .with("minimum", variant(minimum))
            .with("maximum", variant(maximum))
            .with("value_in_use", variant(value))
            .with("description", name)
            .with("is_dynamic", dynamic)
            .with("is_advanced", advanced)
    });
    rows.collect()
}

/// sys.traces: the default trace, and that of someone who writes a file; for those who may see traces.
pub fn traces(source: Source<'_>) -> Vec<Record> {
    if source.rights().has("ALTER TRACE") != Some(true) {
        return Vec::new();
    }
    let trace = |id: i32, path: &str, is_default: bool| {
        Record::new()
            .with("id", id)
            .with("status", 1)
            .with("path", path)
            .with("max_size", 20)
            .with("max_files", 5)
            .with("is_rowset", false)
            .with("is_rollover", true)
            .with("is_shutdown", false)
            .with("is_default", is_default)
            .with("event_count", 4_120)
            .with("dropped_event_count", 0)
    };
    let others = source.instance.truth().storage.trace_file;
    let others = others.map(|path| trace(2, path, false));
    [trace(1, "C:\\Log\\log_1.trc", true)].into_iter().chain(others).collect()
}
